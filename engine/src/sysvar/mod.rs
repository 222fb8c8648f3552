//! System variables: the one registry of them, option files by MySQL's rules, and the
//! settings of a run.
//!
//! ```text
//!   my.cnf ─▶ option_line ─▶ option_file ─┐
//!                                         ├─▶ options ─▶ resolve ─▶ settings
//!   --set NAME=VALUE ─────────────────────┘        │
//!                                               option_name   who is meant
//!   registry   every variable, its history      value         which value
//!   modelled   which of them the engine obeys   settle        defaults
//!   derive     defaults that are computed       fit           what depends on what
//! ```
//!
//! A student who wants to know what `innodb_io_capacity` is and was finds one entry in
//! [`registry`]; one who wants to know why a run has the value it has finds the chain
//! of assignments in its [`Setting`].
//!
//! ```
//! use innosim_engine::sysvar::{Flavor, MachineFacts, Options, resolve};
//!
//! let mut options = Options::new();
//! options.set("innodb-buffer-pool-size=64G");
//! let machine = MachineFacts { logical_cpus: 32, memory_bytes: 128 << 30 };
//! let settings = resolve(Flavor::MySql8_4, &options, machine, 16.try_into().unwrap()).unwrap();
//!
//! assert_eq!(settings.scaled().innodb_buffer_pool_size(), 4 << 30);
//! // Derived from the 64 GiB and the 32 CPUs, not from the 4 GiB:
//! assert_eq!(settings.scaled().innodb_buffer_pool_instances(), 8);
//! ```

mod change;
mod choices;
mod derive;
mod errors;
mod excerpt;
mod explain;
mod fit;
mod flavor;
mod modelled;
mod nearest;
mod number;
mod option_file;
mod option_line;
mod option_name;
mod options;
pub mod registry;
mod resolve;
mod settings;
mod settle;
mod value;

#[cfg(test)]
mod tests;

pub use change::{ChangeError, ChangedSettings, ChangedVariable};
pub use choices::{
    DoublewriteFsync, DoublewriteMode, FlushLatch, FlushMethod, ReadViewAlgorithm,
    TransactionIsolation,
};
pub use derive::DerivedDefault;
pub use errors::{IncludeBase, Level, Location, OptionError, OptionWarning, Problem, WarningKind};
pub use excerpt::Excerpt;
pub use explain::{Explanation, FlavorRow, explain, explain_definition};
pub use flavor::{Flavor, UnknownFlavor};
pub use modelled::{MODELLED, Values, is_modelled};
pub use nearest::nearest;
pub use number::size_with_suffix;
pub use option_file::{INCLUDE_DEPTH_MAX, INCLUDED_FILES_MAX, OptionFileSource};
pub use options::Options;
pub use resolve::{Examination, examine, resolve};
pub use settings::{Assignment, MachineFacts, Origin, PAGE_SIZE, Setting, Settings};
pub use value::{Malformed, Remark, Value};
