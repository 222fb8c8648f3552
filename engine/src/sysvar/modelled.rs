//! The variables that the engine obeys, each with a typed getter.
//!
//! This list is the only place that says what is modelled. To model one more
//! variable, add its line here and read it with the getter of its name:
//!
//! ```text
//! settings.scaled().innodb_io_capacity()             what the engine works with
//! settings.unscaled().innodb_redo_log_capacity()     what a server of full size has
//! ```
//!
//! A getter looks its variable up by name, which is right for setting a component up
//! and wrong for an inner loop: components copy what they need.

use super::choices::{
    DoublewriteFsync, DoublewriteMode, FlushLatch, FlushMethod, ReadViewAlgorithm,
    TransactionIsolation,
};
use super::settings::{Setting, Settings};
use super::value::Value;

/// The values of a run, either as a server of full size has them or divided by the
/// scale. See [`Settings::scaled`] and [`Settings::unscaled`].
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    settings: &'a Settings,
    value_of: fn(&Setting) -> &Value,
}

impl<'a> Values<'a> {
    pub(super) fn new(settings: &'a Settings, value_of: fn(&Setting) -> &Value) -> Values<'a> {
        Values { settings, value_of }
    }

    /// The value of a variable by name, modelled or not; none where the flavor has
    /// neither the variable nor anything that corresponds to it.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.settings.get(name).map(self.value_of)
    }

    fn typed<T: FromValue<'a>>(&self, name: &'static str) -> T {
        let value = self
            .get(name)
            .unwrap_or_else(|| panic!("{name} has no value in this flavor"));
        T::from_value(value)
            .unwrap_or_else(|| panic!("{name} does not have the type of its getter: {value}"))
    }
}

/// A Rust type that a [`Value`] can be read as.
trait FromValue<'a>: Sized {
    fn from_value(value: &'a Value) -> Option<Self>;
}

impl<'a> FromValue<'a> for u64 {
    fn from_value(value: &'a Value) -> Option<u64> {
        value.as_integer()
    }
}

impl<'a> FromValue<'a> for f64 {
    fn from_value(value: &'a Value) -> Option<f64> {
        match value {
            Value::Real(value) => Some(*value),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for bool {
    fn from_value(value: &'a Value) -> Option<bool> {
        match value {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for &'a str {
    fn from_value(value: &'a Value) -> Option<&'a str> {
        match value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

macro_rules! choices_from_value {
    ($($type:ty),+ $(,)?) => {$(
        impl<'a> FromValue<'a> for $type {
            fn from_value(value: &'a Value) -> Option<$type> {
                match value {
                    Value::Choice(name) => <$type>::from_name(name),
                    _ => None,
                }
            }
        }
    )+};
}

choices_from_value!(
    DoublewriteFsync,
    DoublewriteMode,
    FlushLatch,
    FlushMethod,
    ReadViewAlgorithm,
    TransactionIsolation,
);

/// Declares the modelled variables: their names for the registry, their getters for
/// the engine.
macro_rules! modelled {
    ($($name:ident: $type:ty,)+) => {
        /// The names of the modelled variables, in the order of the list.
        pub const MODELLED: &[&str] = &[$(stringify!($name)),+];

        impl<'a> Values<'a> {$(
            #[doc = concat!("`", stringify!($name), "`, in the unit that the registry states.")]
            pub fn $name(&self) -> $type {
                self.typed(stringify!($name))
            }
        )+}

        #[cfg(test)]
        pub(super) fn read_every_getter<'a>(values: Values<'a>) {
            $(let _: $type = values.$name();)+
        }
    };
}

modelled! {
    // Buffer pool.
    innodb_buffer_pool_size: u64,
    innodb_buffer_pool_instances: u64,
    innodb_buffer_pool_chunk_size: u64,
    innodb_old_blocks_pct: u64,
    innodb_old_blocks_time: u64,
    innodb_lru_scan_depth: u64,
    innodb_page_size: u64,
    // Flushing.
    innodb_page_cleaners: u64,
    innodb_io_capacity: u64,
    innodb_io_capacity_max: u64,
    innodb_max_dirty_pages_pct: f64,
    innodb_max_dirty_pages_pct_lwm: f64,
    innodb_adaptive_flushing: bool,
    innodb_adaptive_flushing_lwm: u64,
    innodb_flushing_avg_loops: u64,
    innodb_flush_sync: bool,
    innodb_idle_flush_pct: u64,
    // Files.
    innodb_flush_method: FlushMethod,
    innodb_use_fdatasync: bool,
    innodb_read_io_threads: u64,
    innodb_write_io_threads: u64,
    innodb_use_native_aio: bool,
    innodb_doublewrite: DoublewriteMode,
    innodb_doublewrite_dir: &'a str,
    innodb_doublewrite_files: u64,
    innodb_doublewrite_pages: u64,
    // Redo.
    innodb_log_buffer_size: u64,
    innodb_redo_log_capacity: u64,
    innodb_log_file_size: u64,
    innodb_log_files_in_group: u64,
    innodb_log_write_ahead_size: u64,
    innodb_log_writer_threads: bool,
    innodb_log_checkpoint_every: u64,
    innodb_flush_log_at_trx_commit: u64,
    innodb_flush_log_at_timeout: u64,
    innodb_dedicated_server: bool,
    // Transactions, undo, locks.
    transaction_isolation: TransactionIsolation,
    innodb_purge_threads: u64,
    innodb_purge_batch_size: u64,
    innodb_rollback_segments: u64,
    innodb_undo_tablespaces: u64,
    innodb_lock_wait_timeout: u64,
    innodb_rollback_on_timeout: bool,
    // Admission and spinning.
    innodb_thread_concurrency: u64,
    innodb_concurrency_tickets: u64,
    innodb_thread_sleep_delay: u64,
    innodb_adaptive_max_sleep_delay: u64,
    innodb_sync_spin_loops: u64,
    innodb_spin_wait_delay: u64,
    innodb_spin_wait_pause_multiplier: u64,
    // Hypotheses.
    innosim_flush_policy: &'a str,
    innosim_read_view: ReadViewAlgorithm,
    innosim_flush_latch: FlushLatch,
    innosim_doublewrite_fsync: DoublewriteFsync,
}

/// Whether the engine obeys the variable.
pub fn is_modelled(name: &str) -> bool {
    MODELLED.contains(&name)
}
