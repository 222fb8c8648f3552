//! The enumerated variables that the engine reads, as Rust enumerations.
//!
//! The registry takes each variable's accepted names from here, so the table and
//! the type cannot disagree.

use std::fmt;

/// Declares an enumeration with the option-file name of every variant, in the order
/// of MySQL's numbers for them.
macro_rules! choices {
    ($($(#[$outer:meta])* $type:ident { $($(#[$inner:meta])* $variant:ident = $name:literal,)+ })+) => {$(
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type { $($(#[$inner])* $variant,)+ }

        impl $type {
            /// The accepted names, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name in option files and outputs.
            pub const fn name(self) -> &'static str {
                match self { $($type::$variant => $name,)+ }
            }

            /// The variant of that name; case matters.
            pub fn from_name(name: &str) -> Option<$type> {
                match name { $($name => Some($type::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(self.name())
            }
        }
    )+};
}

choices! {
    /// `innodb_flush_method`: how data files are opened and made durable
    /// (MySQL manual, and InnoDB 5.6 to 8.4).
    FlushMethod {
        /// Buffered files, `fsync` after writes.
        Fsync = "fsync",
        /// Redo opened with `O_SYNC`; data files as under `fsync`.
        ODsync = "O_DSYNC",
        /// As `fsync` in today's servers; meant for tests.
        Littlesync = "littlesync",
        /// No `fsync` at checkpoint and commit; meant for tests.
        Nosync = "nosync",
        /// Data files bypass the page cache and are still synced.
        ODirect = "O_DIRECT",
        /// Data files bypass the page cache and are synced only when their size changes.
        ODirectNoFsync = "O_DIRECT_NO_FSYNC",
    }

    /// `innodb_doublewrite`: what is written before a page goes to its own place.
    DoublewriteMode {
        /// Nothing: a torn page is lost.
        Off = "OFF",
        /// Whole pages, so a torn page is repaired (also called DETECT_AND_RECOVER).
        On = "ON",
        /// Page ids and LSNs only: a torn page is found but cannot be repaired (8.0.30).
        DetectOnly = "DETECT_ONLY",
    }

    /// `transaction_isolation`: the isolation level of new sessions.
    TransactionIsolation {
        /// Reads see the newest version, committed or not.
        ReadUncommitted = "READ-UNCOMMITTED",
        /// Each statement opens a read view of its own.
        ReadCommitted = "READ-COMMITTED",
        /// One read view for the whole transaction.
        RepeatableRead = "REPEATABLE-READ",
        /// Plain selects lock what they read.
        Serializable = "SERIALIZABLE",
    }

    /// `innosim_read_view`: how a read view is opened (a hypothesis switch).
    ReadViewAlgorithm {
        /// Walk the list of active transactions under the global mutex (5.1 to 5.6).
        TrxListWalk = "trx_list_walk",
        /// Copy the sorted vector of active ids under the global mutex (5.7 to 8.4).
        IdVectorCopy = "id_vector_copy",
    }

    /// `innosim_flush_latch`: how long a page under flush keeps writers out.
    FlushLatch {
        /// From the choice of the page to the end of the data write, as in every server.
        Full = "full",
        /// Until the page image is copied to the doublewrite buffer: the proposal of
        /// MySQL bug 104779, and the control that shows what the wait costs.
        AfterCopy = "after_copy",
    }

    /// `innosim_doublewrite_fsync`: whether a doublewrite batch is flushed to the device.
    DoublewriteFsync {
        /// As the version does for its flush method (8.0.20 on skips it under `O_DIRECT`).
        Method = "method",
        /// After every batch.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

impl DoublewriteMode {
    /// Whether whole page images are written first.
    pub const fn writes_page_copies(self) -> bool {
        matches!(self, DoublewriteMode::On)
    }
}

impl FlushMethod {
    /// Whether data files are opened with `O_DIRECT`.
    pub const fn is_direct(self) -> bool {
        matches!(self, FlushMethod::ODirect | FlushMethod::ODirectNoFsync)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_variant() {
        for name in FlushMethod::NAMES {
            assert_eq!(
                FlushMethod::from_name(name).map(FlushMethod::name),
                Some(*name)
            );
        }
        assert_eq!(FlushMethod::NAMES[4], FlushMethod::ODirect.name());
        assert_eq!(FlushMethod::from_name("o_direct"), None);
        assert_eq!(
            TransactionIsolation::RepeatableRead.to_string(),
            "REPEATABLE-READ"
        );
    }

    #[test]
    fn only_full_copies_can_repair_a_page() {
        assert!(DoublewriteMode::On.writes_page_copies());
        assert!(!DoublewriteMode::DetectOnly.writes_page_copies());
        assert!(FlushMethod::ODirectNoFsync.is_direct());
        assert!(!FlushMethod::ODsync.is_direct());
    }
}
