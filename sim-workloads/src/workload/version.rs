//! The generations of sysbench and what each of them decides.
//!
//! ```text
//!   version  script     tables per transaction  statements  hot rows (default)   k index
//!   0.4      in C       the only one            prepared    middle 1 %           before load
//!   0.5      oltp.lua   one                     text        middle 1 %           after load
//!   1.0      oltp_*     one per group           prepared    0.75 %, off centre   after load
//!   1.1      oltp_*     one per group           prepared    none: uniform        after load
//! ```
//!
//! The last two columns are why results of different years do not compare: with
//! "special" nearly every access falls on a few thousand rows whatever the size of
//! the table, with "uniform" on all of them.

use super::random::RandomType;

/// A generation of sysbench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SysbenchVersion {
    /// 0.4 (2004-2009, `--test=oltp`): one table, constant rows, C code.
    V0_4,
    /// 0.5 (2010-2016, `oltp.lua`): several tables, one per transaction, text protocol.
    V0_5,
    /// 1.0 (2017 on, `oltp_read_write` and its siblings).
    V1_0,
    /// 1.1 (the development branch since 2020): 1.0's scripts, uniform by default.
    V1_1,
}

/// How statements reach the server; the server layer charges them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Prepared once per connection, then executed with parameters only.
    Prepared,
    /// Sent, parsed and optimised as text each time.
    Text,
}

/// What a client does with an event that ended in a deadlock or a lock timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetryRule {
    /// Send the same statements again (sysbench 0.4).
    SameStatements,
    /// Call the script again, which draws new rows (0.5 and later).
    NewStatements,
}

impl SysbenchVersion {
    /// The distribution that `--rand-type` (0.4: `--oltp-dist-type`) defaults to.
    pub fn default_random_type(self) -> RandomType {
        match self {
            Self::V0_4 | Self::V0_5 | Self::V1_0 => RandomType::Special,
            Self::V1_1 => RandomType::Uniform,
        }
    }

    /// Whether a write that changed no row is counted as "other" (the MySQL driver
    /// of sysbench 1.0 and later) and not as "write".
    pub fn counts_unaffected_writes_as_other(self) -> bool {
        self >= Self::V1_0
    }

    /// What happens to an event that met an ignored error.
    pub fn retry_rule(self) -> RetryRule {
        match self {
            Self::V0_4 => RetryRule::SameStatements,
            _ => RetryRule::NewStatements,
        }
    }

    /// The version as users write it: `"0.4"`, `"1.0"`, ...
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_4 => "0.4",
            Self::V0_5 => "0.5",
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
        }
    }
}

impl std::fmt::Display for SysbenchVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_distribution_changed_only_in_1_1() {
        let defaults = [
            SysbenchVersion::V0_4,
            SysbenchVersion::V0_5,
            SysbenchVersion::V1_0,
        ]
        .map(SysbenchVersion::default_random_type);
        assert_eq!(defaults, [RandomType::Special; 3]);
        assert_eq!(
            SysbenchVersion::V1_1.default_random_type(),
            RandomType::Uniform
        );
    }

    #[test]
    fn only_the_newer_drivers_look_at_affected_rows() {
        assert!(!SysbenchVersion::V0_5.counts_unaffected_writes_as_other());
        assert!(SysbenchVersion::V1_0.counts_unaffected_writes_as_other());
    }
}
