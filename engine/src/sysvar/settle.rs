//! From explicit values to all values: defaults, derived defaults, and what a server
//! changes at start because of another value.
//!
//! The order is that of a server's start, and each step reads what earlier ones left:
//!
//! ```text
//!   pool size, chunk, instances ─▶ one instance below 1 GiB ─▶ pool rounded to chunks
//!        └▶ page cleaners ─▶ at most the instances
//!   io_capacity_max ─▶ io_capacity at most that
//!   redo capacity ◀─ files, or dedicated server
//! ```

use std::collections::BTreeMap;

use super::choices::FlushMethod;
use super::derive::{self, DerivedDefault};
use super::errors::{OptionError, OptionWarning};
use super::flavor::Flavor;
use super::registry::{self, DefaultValue, Presence, VariableDefinition};
use super::settings::{Assignment, MachineFacts, Origin};
use super::value::Value;

/// Explicit assignments by variable, in the order of reading.
pub(super) type Assignments = BTreeMap<&'static str, Vec<Assignment>>;

/// All unscaled values, and what there is to say about them.
pub(super) struct Settled {
    pub values: BTreeMap<&'static str, (Value, Origin)>,
    pub warnings: Vec<OptionWarning>,
    pub errors: Vec<OptionError>,
}

/// Settles every variable of the flavor.
pub(super) fn settle(flavor: Flavor, machine: MachineFacts, assignments: &Assignments) -> Settled {
    let mut draft = Draft {
        flavor,
        machine,
        assignments,
        values: BTreeMap::new(),
        warnings: Vec::new(),
    };
    draft.take_plain_values();
    draft.derive_defaults(&POOL_ORDER);
    draft.fit_instances();
    draft.fit_chunks();
    for definition in registry::all() {
        draft.derive_default(definition);
    }
    draft.fit_page_cleaners();
    draft.fit_io_capacity();
    draft.fit_dirty_pages_lwm();
    draft.fit_write_ahead();
    draft.fit_redo();
    draft.explain_dedicated_server();
    let errors = draft.check_page_size();
    Settled {
        values: draft.values,
        warnings: draft.warnings,
        errors,
    }
}

/// Derived defaults that other derived defaults read, in their order.
const POOL_ORDER: [&str; 3] = [
    "innodb_buffer_pool_size",
    "innodb_buffer_pool_chunk_size",
    "innodb_buffer_pool_instances",
];

/// The pair that gives the redo log its size where there is no capacity.
pub(super) const REDO_FILES: [&str; 2] = ["innodb_log_file_size", "innodb_log_files_in_group"];

/// Settings while they are being settled.
pub(super) struct Draft<'a> {
    pub flavor: Flavor,
    machine: MachineFacts,
    assignments: &'a Assignments,
    pub values: BTreeMap<&'static str, (Value, Origin)>,
    pub warnings: Vec<OptionWarning>,
}

impl Draft<'_> {
    fn take_plain_values(&mut self) {
        for definition in registry::all() {
            let entry = definition.in_flavor(self.flavor);
            let explicit = self
                .assigned(definition.name)
                .and_then(|assignment| assignment.value.clone());
            let taken = match (explicit, entry.default) {
                (Some(value), _) => (value, Origin::Option),
                (None, None | Some(DefaultValue::Derived(_))) => continue,
                (None, Some(default)) => {
                    let origin = if entry.presence == Presence::Implied {
                        Origin::Implied
                    } else {
                        Origin::Default
                    };
                    (plain_default(definition, default), origin)
                }
            };
            self.values.insert(definition.name, taken);
        }
    }

    fn derive_defaults(&mut self, names: &[&str]) {
        for name in names {
            let (definition, _) = registry::find(name).expect("a name of the registry");
            self.derive_default(definition);
        }
    }

    /// Computes a variable's derived default unless it has its value already.
    fn derive_default(&mut self, definition: &'static VariableDefinition) {
        if self.values.contains_key(definition.name) {
            return;
        }
        if let Some(DefaultValue::Derived(rule)) = definition.in_flavor(self.flavor).default {
            let value = self.evaluate(rule);
            self.values
                .insert(definition.name, (value, Origin::Derived(rule)));
        }
    }

    fn evaluate(&self, rule: DerivedDefault) -> Value {
        let pool = || self.integer("innodb_buffer_pool_size");
        let chunk = || self.integer("innodb_buffer_pool_chunk_size");
        let instances = || self.integer("innodb_buffer_pool_instances");
        let io_capacity = || self.integer("innodb_io_capacity");
        let cpus = u64::from(self.machine.logical_cpus);
        Value::Integer(match rule {
            DerivedDefault::BufferPoolSize8_0 if self.is_dedicated() => {
                derive::dedicated_buffer_pool_size(self.machine.memory_bytes)
            }
            DerivedDefault::BufferPoolSize8_0 => 128 * registry::MIB,
            DerivedDefault::BufferPoolInstances5_6 => derive::buffer_pool_instances_5_6(pool()),
            DerivedDefault::BufferPoolInstances8_4 => {
                derive::buffer_pool_instances_8_4(pool(), chunk(), cpus)
            }
            DerivedDefault::WholePool => pool(),
            DerivedDefault::ChunkSizeMariaDb10_8 => derive::chunk_size_mariadb_10_8(pool()),
            DerivedDefault::PageCleaners5_7 => derive::page_cleaners_5_7(instances()),
            DerivedDefault::PageCleaners8_4 => instances(),
            DerivedDefault::IoCapacity => io_capacity(),
            DerivedDefault::IoCapacityMax5_6 => derive::io_capacity_max_5_6(io_capacity()),
            DerivedDefault::IoCapacityMax8_4 => derive::io_capacity_max_8_4(io_capacity()),
            DerivedDefault::ReadIoThreads8_4 => derive::read_io_threads_8_4(cpus),
            DerivedDefault::PurgeThreads8_4 => derive::purge_threads_8_4(cpus),
            DerivedDefault::ParallelReadThreads8_4 => derive::parallel_read_threads_8_4(cpus),
            DerivedDefault::DoublewritePages8_0 => self.integer("innodb_write_io_threads"),
            DerivedDefault::RedoFiles => self.redo_of_files(),
            DerivedDefault::RedoCapacity8_0 | DerivedDefault::RedoCapacity8_4 => {
                self.redo_capacity(rule)
            }
            DerivedDefault::OpenFiles5_6 => self.integer("table_open_cache").max(300),
            DerivedDefault::FlushMethod8_0 => {
                let method = if self.is_dedicated() {
                    FlushMethod::ODirectNoFsync
                } else {
                    FlushMethod::Fsync
                };
                return Value::Choice(method.name());
            }
        })
    }

    pub(super) fn redo_of_files(&self) -> u64 {
        derive::redo_capacity_from_files(
            self.integer("innodb_log_file_size"),
            self.integer("innodb_log_files_in_group"),
        )
    }

    pub(super) fn redo_files_are_set(&self) -> bool {
        REDO_FILES.into_iter().any(|name| self.is_explicit(name))
    }

    /// 8.0.30 on: the older pair of variables where one of them is set, else by the
    /// dedicated server's rule, else 100 MiB.
    fn redo_capacity(&self, rule: DerivedDefault) -> u64 {
        let (definition, _) =
            registry::find("innodb_redo_log_capacity").expect("a name of the registry");
        let (minimum, maximum) = definition.in_flavor(self.flavor).range;
        let capacity = if self.redo_files_are_set() {
            self.redo_of_files()
        } else if !self.is_dedicated() {
            100 * registry::MIB
        } else if rule == DerivedDefault::RedoCapacity8_0 {
            let pool_is_set = self.is_explicit("innodb_buffer_pool_size");
            derive::dedicated_redo_capacity_8_0(self.machine.memory_bytes, pool_is_set)
        } else {
            derive::dedicated_redo_capacity_8_4(u64::from(self.machine.logical_cpus))
        };
        capacity.clamp(minimum, maximum)
    }

    // Reading and changing the draft.

    pub(super) fn value(&self, name: &str) -> &Value {
        &self
            .values
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not settled yet"))
            .0
    }

    pub(super) fn integer(&self, name: &str) -> u64 {
        self.value(name)
            .as_integer()
            .unwrap_or_else(|| panic!("{name} is no integer"))
    }

    pub(super) fn is_dedicated(&self) -> bool {
        *self.value("innodb_dedicated_server") == Value::Boolean(true)
    }

    pub(super) fn assigned(&self, name: &str) -> Option<&Assignment> {
        self.assignments
            .get(name)
            .and_then(|assignments| assignments.last())
    }

    /// Whether the user gave a value (an explicit 0 that means "automatic" is none).
    pub(super) fn is_explicit(&self, name: &str) -> bool {
        self.assigned(name)
            .is_some_and(|assignment| assignment.value.is_some())
    }
}

/// A default that is no rule, as a value of the variable's kind.
fn plain_default(definition: &VariableDefinition, default: DefaultValue) -> Value {
    match default {
        DefaultValue::Integer(value) => Value::Integer(value),
        DefaultValue::Real(value) => Value::Real(value),
        DefaultValue::Boolean(value) => Value::Boolean(value),
        DefaultValue::Text(text) => match definition.kind {
            registry::Kind::Choice { .. } => Value::Choice(text),
            _ => Value::Text(text.to_owned()),
        },
        DefaultValue::Derived(_) => unreachable!("derived defaults are computed later"),
    }
}
