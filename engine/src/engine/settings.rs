//! What an engine is made from.

use crate::runtime::LatchMode;
use crate::sysvar::{Flavor, Settings, TransactionIsolation, Value};

/// How an engine is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Without background tasks: [`Engine::step`](super::Engine::step) does their work.
    pub stepped: bool,
    /// Shards of the metrics: 1 under the virtual clock, as many as there are hardware
    /// threads under the real one.
    pub metric_shards: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            stepped: false,
            metric_shards: 1,
        }
    }
}

/// What is decided in the engine itself, rather than in one of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSettings {
    /// How it is driven.
    pub options: EngineOptions,
    /// `transaction_isolation`: of statements without a transaction.
    pub isolation: TransactionIsolation,
    /// `innodb_rollback_on_timeout`: a lock wait timeout rolls all of the transaction back.
    pub rollback_on_timeout: bool,
    /// `innodb_fast_shutdown`: 0 purges everything first, 1 writes all pages, 2 only the
    /// redo.
    pub fast_shutdown: u64,
    /// How a tree's latch is held while its pages are split or merged: in SX, so that
    /// searches go on, since 5.7; before in X.
    pub tree_change_latch: LatchMode,
}

impl EngineSettings {
    /// What a run's variables ask for.
    pub fn from_variables(settings: &Settings, options: EngineOptions) -> EngineSettings {
        let values = settings.scaled();
        EngineSettings {
            options,
            isolation: values.transaction_isolation(),
            rollback_on_timeout: values.innodb_rollback_on_timeout(),
            fast_shutdown: values
                .get("innodb_fast_shutdown")
                .and_then(Value::as_integer)
                .unwrap_or(1),
            tree_change_latch: match settings.flavor() {
                Flavor::MySql5_1 | Flavor::MySql5_5 | Flavor::MySql5_6 => LatchMode::X,
                _ => LatchMode::SX,
            },
        }
    }
}
