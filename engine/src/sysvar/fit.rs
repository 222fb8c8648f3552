//! What a server changes at start because two values do not fit together.
//!
//! A change is told only where the user gave the value that is changed or the one
//! that causes it; defaults that fit themselves to each other need no warning.

use super::errors::{Level, Location, OptionError, OptionWarning, Problem, WarningKind};
use super::flavor::Flavor;
use super::number::size_with_suffix;
use super::registry::{self, GIB};
use super::settings::PAGE_SIZE;
use super::settle::{Draft, REDO_FILES};
use super::value::Value;

impl Draft<'_> {
    /// Below 1 GiB a pool has one instance (MySQL manual, 5.5 to 8.4).
    pub(super) fn fit_instances(&mut self) {
        let name = "innodb_buffer_pool_instances";
        let applies = self.flavor.is_mysql_since(Flavor::MySql5_5);
        if applies && self.integer(name) > 1 && self.integer("innodb_buffer_pool_size") < GIB {
            self.adjust(name, Value::Integer(1), "a pool below 1G has one instance");
        }
    }

    /// A pool holds a whole number of chunks in each instance (InnoDB 5.7 on).
    pub(super) fn fit_chunks(&mut self) {
        let (pool, instances) = (
            self.integer("innodb_buffer_pool_size"),
            self.integer("innodb_buffer_pool_instances"),
        );
        let chunk = self.integer("innodb_buffer_pool_chunk_size");
        let fitting = chunk.min(pool.div_ceil(instances));
        if fitting != chunk {
            let reason = "a chunk is at most an instance";
            self.adjust(
                "innodb_buffer_pool_chunk_size",
                Value::Integer(fitting),
                reason,
            );
        }
        // MariaDB's own chunk size already divides the pool.
        let rounds = self.flavor.is_mysql_since(Flavor::MySql5_7)
            || (self.flavor.is_mariadb() && self.is_explicit("innodb_buffer_pool_chunk_size"));
        let unit = fitting.saturating_mul(instances);
        let rounded = pool.checked_next_multiple_of(unit).unwrap_or(pool);
        if rounds && rounded != pool {
            let reason = "rounded up to a multiple of chunk size times instances";
            self.adjust("innodb_buffer_pool_size", Value::Integer(rounded), reason);
        }
    }

    /// More cleaners than instances would idle (InnoDB 5.7 on).
    pub(super) fn fit_page_cleaners(&mut self) {
        let instances = self.integer("innodb_buffer_pool_instances");
        let applies = self.flavor.is_mysql_since(Flavor::MySql5_7);
        if applies && self.integer("innodb_page_cleaners") > instances {
            let reason = "at most innodb_buffer_pool_instances";
            self.adjust("innodb_page_cleaners", Value::Integer(instances), reason);
        }
    }

    /// The upper limit wins over the unit (InnoDB 5.6 on).
    pub(super) fn fit_io_capacity(&mut self) {
        let maximum = self.integer("innodb_io_capacity_max");
        if self.integer("innodb_io_capacity") > maximum {
            let reason = "at most innodb_io_capacity_max";
            self.adjust_because(
                "innodb_io_capacity",
                Value::Integer(maximum),
                reason,
                "innodb_io_capacity_max",
            );
        }
    }

    /// The low mark lies at or below the high one (InnoDB 5.6 on).
    pub(super) fn fit_dirty_pages_lwm(&mut self) {
        let (low, high) = (
            "innodb_max_dirty_pages_pct_lwm",
            "innodb_max_dirty_pages_pct",
        );
        let (Value::Real(low_value), Value::Real(high_value)) = (self.value(low), self.value(high))
        else {
            unreachable!("both are real-valued");
        };
        if low_value > high_value {
            let high_value = Value::Real(*high_value);
            self.adjust_because(low, high_value, "at most innodb_max_dirty_pages_pct", high);
        }
    }

    /// A power of two up to the page size (InnoDB 5.7 on).
    pub(super) fn fit_write_ahead(&mut self) {
        let name = "innodb_log_write_ahead_size";
        let size = self.integer(name);
        let fitting = size.next_power_of_two().min(PAGE_SIZE);
        if fitting != size {
            self.adjust(
                name,
                Value::Integer(fitting),
                "a power of two, at most the page size",
            );
        }
    }

    pub(super) fn fit_redo(&mut self) {
        if self.is_explicit("innodb_redo_log_capacity") {
            for name in REDO_FILES {
                if self.is_explicit(name) {
                    self.supersede(name, "innodb_redo_log_capacity is set");
                }
            }
            return;
        }
        // Before 5.6.3 all files together had to stay below 4 GiB.
        let small = matches!(self.flavor, Flavor::MySql5_1 | Flavor::MySql5_5);
        let limit = if small { 4 * GIB - 1 } else { 512 * GIB };
        let total = self.redo_of_files();
        if total > limit {
            let reason = format!(
                "all redo files together have {}, and it takes {}",
                size_with_suffix(total),
                if small {
                    "less than 4G"
                } else {
                    "at most 512G"
                }
            );
            let location = REDO_FILES
                .into_iter()
                .find_map(|name| self.assigned(name))
                .map(|last| last.location.clone());
            let kind = WarningKind::ServerWouldRefuse {
                flavor: self.flavor,
                reason,
            };
            self.warnings.push(OptionWarning {
                level: Level::Warning,
                location,
                kind,
            });
        }
    }

    /// Says what a dedicated server would have chosen, were it not set.
    pub(super) fn explain_dedicated_server(&mut self) {
        if !self.is_dedicated() {
            return;
        }
        let chooses_method = self.flavor == Flavor::MySql8_0;
        let left_alone = [
            (
                "innodb_buffer_pool_size",
                self.is_explicit("innodb_buffer_pool_size"),
            ),
            (
                "innodb_redo_log_capacity",
                self.is_explicit("innodb_redo_log_capacity") || self.redo_files_are_set(),
            ),
            (
                "innodb_flush_method",
                chooses_method && self.is_explicit("innodb_flush_method"),
            ),
        ];
        let location = self
            .assigned("innodb_dedicated_server")
            .map(|last| last.location.clone());
        for (name, _) in left_alone.into_iter().filter(|(_, is_set)| *is_set) {
            let kind = WarningKind::DedicatedServerLeaves { name };
            self.warnings.push(OptionWarning {
                level: Level::Note,
                location: location.clone(),
                kind,
            });
        }
    }

    pub(super) fn check_page_size(&self) -> Vec<OptionError> {
        let size = self.integer("innodb_page_size");
        match self.assigned("innodb_page_size") {
            Some(assignment) if size != PAGE_SIZE => vec![OptionError {
                location: assignment.location.clone(),
                problem: Problem::UnsupportedPageSize(assignment.written.clone()),
            }],
            _ => Vec::new(),
        }
    }

    fn adjust(&mut self, name: &'static str, value: Value, reason: &'static str) {
        self.adjust_because(name, value, reason, name);
    }

    /// Changes a value, and says so if the user gave it or the one that causes it.
    fn adjust_because(
        &mut self,
        name: &'static str,
        value: Value,
        reason: &'static str,
        cause: &'static str,
    ) {
        let location: Option<Location> = [name, cause]
            .into_iter()
            .filter(|name| self.is_explicit(name))
            .find_map(|name| self.assigned(name))
            .map(|assignment| assignment.location.clone());
        let settled = self
            .values
            .get_mut(name)
            .expect("adjusted after it is settled");
        let from = std::mem::replace(&mut settled.0, value);
        if location.is_some() {
            let (from, to) = (shown(name, &from), shown(name, &settled.0));
            let kind = WarningKind::Adjusted {
                name,
                from,
                to,
                reason,
            };
            self.warnings.push(OptionWarning {
                level: Level::Warning,
                location,
                kind,
            });
        }
    }

    fn supersede(&mut self, name: &'static str, reason: &'static str) {
        let location = self
            .assigned(name)
            .map(|assignment| assignment.location.clone());
        self.warnings.push(OptionWarning {
            level: Level::Warning,
            location,
            kind: WarningKind::Superseded { name, reason },
        });
    }
}

/// A value for a message: sizes with their suffix.
fn shown(name: &str, value: &Value) -> String {
    let is_bytes = registry::find(name).is_some_and(|(definition, _)| {
        matches!(
            definition.kind,
            registry::Kind::Integer {
                unit: registry::Unit::Bytes,
                ..
            }
        )
    });
    match value {
        Value::Integer(bytes) if is_bytes => size_with_suffix(*bytes),
        other => other.to_string(),
    }
}
