//! What a run tells: counters, latencies, sysbench's texts, JSON.
//!
//! ```text
//!   driver --- statement done ---> counters --+
//!          --- event done -------> latency ---+--> sysbench_1, sysbench_0   (text)
//!   engine --- metrics, files, latches -------+--> json                     (documents)
//! ```
//!
//! The texts are those of the sysbench that the script belongs to, column by column,
//! so that a user's scripts that read sysbench's output read ours.
