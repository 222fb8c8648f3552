//! What a file is for: its name in performance_schema, and the device it lies on.

macro_rules! file_kinds {
    ($( $(#[$doc:meta])* $variant:ident = $name:literal; )*) => {
        /// What a file is for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum FileKind { $( $(#[$doc])* $variant, )* }

        impl FileKind {
            /// All kinds, in the order of the report.
            pub const ALL: [FileKind; Self::COUNT] = [ $( FileKind::$variant, )* ];
            /// How many there are.
            pub const COUNT: usize = [ $( $name, )* ].len();

            /// The event name under which users find the kind's I/O.
            pub const fn event_name(self) -> &'static str {
                const NAMES: &[&str] = &[ $( $name, )* ];
                NAMES[self as usize]
            }
        }
    };
}

file_kinds! {
    /// Tablespaces: tables, undo, the system tablespace (and, before 8.0.20, the
    /// doublewrite area in it).
    Data = "wait/io/file/innodb/innodb_data_file";
    /// The redo log.
    Log = "wait/io/file/innodb/innodb_log_file";
    /// Doublewrite files of their own (8.0.20 and later).
    Doublewrite = "wait/io/file/innodb/innodb_dblwr_file";
    /// Temporary tablespaces.
    Temporary = "wait/io/file/innodb/innodb_temp_file";
    /// What InnoDB does not instrument: the buffer pool's dump, files of this program.
    Other = "wait/io/file/innosim/other_file";
}

/// On which device each kind of file lies, by the device's place in the machine's list.
/// A machine without devices has files whose I/O takes no time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement([u16; FileKind::COUNT]);

impl Placement {
    /// The same placement with one kind of file elsewhere.
    #[must_use]
    pub fn with(mut self, kind: FileKind, device: u16) -> Self {
        self.0[kind as usize] = device;
        self
    }

    /// The device of a kind of file.
    pub fn device(&self, kind: FileKind) -> u16 {
        self.0[kind as usize]
    }
}
