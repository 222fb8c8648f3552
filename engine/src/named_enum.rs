//! Enumerations whose values have names.
//!
//! Values and names are declared in one table, so that the list of all values, their number
//! and their names cannot disagree:
//!
//! ```text
//!   named_enum! {
//!       /// A kind of wait.
//!       pub enum WaitKind;
//!       /// The key in reports.
//!       fn name;
//!
//!       /// For a latch.
//!       Latch = "latch";
//!   }
//! ```

macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        pub enum $type:ident;
        $(#[$name_attribute:meta])*
        fn name;
        $( $(#[$value_attribute:meta])* $value:ident = $name:literal; )*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $type { $( $(#[$value_attribute])* $value, )* }

        impl $type {
            /// All of them, in the order of reports.
            pub const ALL: &'static [$type] = &[ $( $type::$value, )* ];
            /// How many there are.
            pub const COUNT: usize = $type::ALL.len();

            $(#[$name_attribute])*
            pub const fn name(self) -> &'static str {
                const NAMES: &[&str] = &[ $( $name, )* ];
                NAMES[self as usize]
            }
        }
    };
}
