//! What the registry knows about a figure.

use super::{Counter, Gauge, Level, Reading, Set, WaitFamily};
use crate::metrics::snapshot::MetricsSnapshot;

/// One figure: its names, its meaning and where its value comes from.
#[derive(Clone, Copy, Debug)]
pub struct MetricDefinition {
    /// Its name in `SHOW GLOBAL STATUS`, if it is there.
    pub status_name: Option<&'static str>,
    /// Its row in `INNODB_METRICS`, if it has one.
    pub metric: Option<InnodbMetric>,
    /// What it counts, with its unit where that is not the thing counted.
    pub comment: &'static str,
    pub(in crate::metrics) origin: Origin,
}

/// The fixed columns of a row of `INFORMATION_SCHEMA.INNODB_METRICS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnodbMetric {
    /// Column NAME.
    pub name: &'static str,
    /// Column SUBSYSTEM.
    pub subsystem: Subsystem,
    /// Column TYPE.
    pub metric_type: MetricType,
    /// Whether InnoDB 8.4 counts it without `innodb_monitor_enable`. innosim always does.
    pub enabled_by_default: bool,
}

/// Column TYPE of `INNODB_METRICS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricType {
    /// A current value.
    Value,
    /// The same number as a status variable.
    StatusCounter,
    /// The total of a set whose other members are the number of calls and the share of
    /// one call.
    SetOwner,
    /// Another member of a set.
    SetMember,
    /// Anything else.
    Counter,
}

impl MetricType {
    /// The word in the column.
    pub const fn name(self) -> &'static str {
        match self {
            MetricType::Value => "value",
            MetricType::StatusCounter => "status_counter",
            MetricType::SetOwner => "set_owner",
            MetricType::SetMember => "set_member",
            MetricType::Counter => "counter",
        }
    }
}

/// Column SUBSYSTEM of `INNODB_METRICS`, in the order in which data flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subsystem {
    /// The engine as a whole.
    Server,
    /// Buffer pool and flushing.
    Buffer,
    /// The same, as two counters of InnoDB spell it: `Buffer` with a capital.
    BufferCapital,
    /// Pages read and written by type.
    BufferPageIo,
    /// Doublewrite.
    Doublewrite,
    /// Files.
    Os,
    /// Open files.
    FileSystem,
    /// Redo (5.7 and older call it `recovery`).
    Log,
    /// Transactions.
    Transaction,
    /// Purge.
    Purge,
    /// Locks.
    Lock,
    /// B-trees.
    Index,
    /// Rows.
    Dml,
}

impl Subsystem {
    /// The word in the column.
    pub const fn name(self) -> &'static str {
        match self {
            Subsystem::Server => "server",
            Subsystem::Buffer => "buffer",
            Subsystem::BufferCapital => "Buffer",
            Subsystem::BufferPageIo => "buffer_page_io",
            Subsystem::Doublewrite => "dblwr",
            Subsystem::Os => "os",
            Subsystem::FileSystem => "file_system",
            Subsystem::Log => "log",
            Subsystem::Transaction => "transaction",
            Subsystem::Purge => "purge",
            Subsystem::Lock => "lock",
            Subsystem::Index => "index",
            Subsystem::Dml => "dml",
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug)]
pub(in crate::metrics) enum Origin {
    Counter(Counter),
    Set(Set, SetMember),
    Wait(WaitFamily, WaitMember),
    Level(Level),
    Gauge(Gauge),
    Reading(Reading),
    /// Worked out from other values of the same snapshot.
    Rule(fn(&MetricsSnapshot) -> i64),
}

/// The three figures of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::metrics) enum SetMember {
    Total,
    Calls,
    PerCall,
}

/// The three figures of a family of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::metrics) enum WaitMember {
    NoWaits,
    Waits,
    WaitLoops,
}
