//! What the clients do: sysbench's OLTP load, without sysbench.
//!
//! A workload is four pure functions of a seed. None of them touches a clock, a
//! thread or the engine, so the same stream of statements can drive the virtual
//! machine, a real run, a test or a printout:
//!
//! ```text
//!   schema   which tables, which index, built when            (prepare)
//!   rows     (seed, table, id) -> k, c, pad                   (prepare)
//!   script   thread, generator -> one transaction's statements   (run)
//!   arrivals generator -> gap until the next transaction         (run, --rate)
//!
//!                 options, version
//!                        |
//!   generator --> random::Distribution --> ids, k
//!                        |
//!                 script::Script --> [Begin, PointSelect 5012, ..., Commit]
//! ```
//!
//! sysbench changed three times in ways that change results: which rows are hot,
//! whether a transaction stays in one table, and whether statements are prepared.
//! [`SysbenchVersion`] names the generation and every default follows from it.

pub mod arrivals;
pub mod options;
pub mod random;
pub mod schema;
pub mod script;
pub mod statement;
pub mod version;

pub use options::ScriptOptions;
pub use script::Script;
pub use statement::{Statement, StatementClass};
pub use version::SysbenchVersion;
