//! What a statement costs outside the engine: the server layer and, where it shares the
//! machine, the client.
//!
//! A profile gives one mean, and weights that split it by kind of statement. With the
//! default weights the mean of the twenty statements of `oltp_read_write` is the
//! profile's `statement_us`:
//!
//! ```text
//!   BEGIN  10 point selects  4 ranges   4 writes   COMMIT
//!   0.45   10 x 0.75         4 x 1.35   4 x 1.4    0.9        sum 19.85 for 20
//! ```

use serde::Deserialize;

/// CPU that a statement costs outside the engine: network, parser, optimizer, and the
/// client where it runs on the same machine.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerProfile {
    /// Mean of a statement, µs at full speed, 0 to 100,000.
    pub statement_us: f64,
    /// Its spread: standard deviation over mean of a lognormal distribution, 0 to 5.
    pub statement_cv: f64,
    /// From a statement's reply to the next statement's arrival, where the client is on
    /// another host: network and client, µs without CPU of this machine, 0 to 100,000. The
    /// wait ends with a timer, so one that is shorter than `cpu.timer_slack_us` takes that.
    #[serde(default)]
    pub network_us: f64,
    /// How the mean is split by kind of statement.
    #[serde(default)]
    pub weights: StatementWeights,
}

/// The mean cost of each kind of statement, as a multiple of the profile's
/// `statement_us`; each 0 to 100.
///
/// The defaults are estimates from the costs of a prepared statement inside a server
/// (point select 1, range of 100 rows 1.8, write 1.9, BEGIN 0.6, COMMIT 1.2), scaled to
/// the mean of `oltp_read_write`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StatementWeights {
    /// BEGIN.
    pub begin: f64,
    /// A select by primary key.
    pub point_select: f64,
    /// A select of a range, with the sort of those that order.
    pub range: f64,
    /// An insert, update or delete.
    pub write: f64,
    /// COMMIT.
    pub commit: f64,
    /// Factor for a statement that is sent as text, to be parsed and optimised, and not
    /// as the parameters of a prepared one. Estimate.
    pub text_protocol: f64,
}

impl Default for StatementWeights {
    fn default() -> Self {
        Self {
            begin: 0.45,
            point_select: 0.75,
            range: 1.35,
            write: 1.4,
            commit: 0.9,
            text_protocol: 1.2,
        }
    }
}

impl ServerProfile {
    /// Every number with its key and accepted range.
    pub(super) fn numbers(&self) -> [(&'static str, f64, f64, f64); 9] {
        let weights = &self.weights;
        [
            ("server.statement_us", self.statement_us, 0.0, 1e5),
            ("server.statement_cv", self.statement_cv, 0.0, 5.0),
            ("server.network_us", self.network_us, 0.0, 1e5),
            ("server.weights.begin", weights.begin, 0.0, 100.0),
            (
                "server.weights.point_select",
                weights.point_select,
                0.0,
                100.0,
            ),
            ("server.weights.range", weights.range, 0.0, 100.0),
            ("server.weights.write", weights.write, 0.0, 100.0),
            ("server.weights.commit", weights.commit, 0.0, 100.0),
            (
                "server.weights.text_protocol",
                weights.text_protocol,
                0.0,
                100.0,
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_weights_keep_the_mean_of_oltp_read_write() {
        let w = StatementWeights::default();
        let sum = w.begin + 10.0 * w.point_select + 4.0 * w.range + 4.0 * w.write + w.commit;
        assert!((sum / 20.0 - 1.0).abs() < 0.01, "{sum}");
    }
}
