//! The one registry of counters: every name, once.
//!
//! ```text
//!   counters   only grow                     Counter   bumped where the event happens
//!   sets       total, calls, mean of a call  Set       added to once a call
//!   waits      waited or not, rounds         WaitFamily  "    "
//!   levels     go up and down                Level     raised and lowered
//!   gauges     the last value set            Gauge     set by their one owner
//!   readings   asked for at a snapshot       Reading   the engine answers
//!   derived    worked out from the others    a rule    a function of a snapshot
//! ```
//!
//! One entry is one figure: its Rust name, the name it has in `SHOW GLOBAL STATUS`
//! (`Innodb_…`) and in `INFORMATION_SCHEMA.INNODB_METRICS`, or one of the two, and a line
//! that says what it counts. Figures that no part of the engine keeps are not here: a
//! name that always says 0 would be a lie.
//!
//! Names, subsystems, types and defaults are those of InnoDB 8.4; `INNODB_METRICS` itself
//! appeared in 5.6.

/// `Some` of what is there, or `None`.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// The word by which a table says whether a server counts without being asked.
macro_rules! is_on {
    (on) => {
        true
    };
    (off) => {
        false
    };
}

/// What every kind of figure can tell: how many there are, and which.
macro_rules! enumerated {
    ($kind:ident: $($name:ident),*) => {
        impl $kind {
            /// Every one, in the order of its table.
            pub const ALL: &[Self] = &[$(Self::$name),*];
            /// How many there are.
            pub(in crate::metrics) const COUNT: usize = Self::ALL.len();
        }
    };
}

/// A table of plain figures: an enum, and a definition for each of its members. One
/// doc line becomes both the documentation and the column COMMENT.
macro_rules! figures {
    (
        $(#[$attribute:meta])*
        pub enum $kind:ident;
        $(
            #[doc = $comment:literal]
            $name:ident:
                $(status $status:literal)? $(,)?
                $(metric $subsystem:ident $metric_type:ident $default:ident $metric:literal)?;
        )*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $kind {
            $( #[doc = $comment] $name, )*
        }

        enumerated!($kind: $($name),*);

        pub(super) static DEFINITIONS: &[MetricDefinition] = &[
            $(
                MetricDefinition {
                    status_name: optional!($($status)?),
                    metric: optional!($(InnodbMetric {
                        name: $metric,
                        subsystem: Subsystem::$subsystem,
                        metric_type: MetricType::$metric_type,
                        enabled_by_default: is_on!($default),
                    })?),
                    comment: $comment.trim_ascii_start(),
                    origin: Origin::$kind($kind::$name),
                },
            )*
        ];
    };
}

mod counters;
mod definition;
mod derived;
mod gauges;
mod levels;
mod readings;
mod sets;

pub use counters::Counter;
pub use definition::{InnodbMetric, MetricDefinition, MetricType, Subsystem};
pub(super) use definition::{Origin, SetMember, WaitMember};
pub use gauges::Gauge;
pub use levels::Level;
pub use readings::Reading;
pub use sets::{Set, WaitFamily};

static TABLES: [&[MetricDefinition]; 7] = [
    counters::DEFINITIONS,
    sets::SET_DEFINITIONS,
    sets::WAIT_DEFINITIONS,
    levels::DEFINITIONS,
    gauges::DEFINITIONS,
    readings::DEFINITIONS,
    derived::DEFINITIONS,
];

/// Every figure, table by table.
pub fn all() -> impl Iterator<Item = &'static MetricDefinition> {
    TABLES.iter().flat_map(|table| table.iter())
}
