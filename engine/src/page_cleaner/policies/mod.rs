//! The built-in flush policies. One more is one file here and one line in [`TABLE`].
//!
//! | name | servers | pages of a round |
//! |---|---|---|
//! | `v57` | MySQL 5.7, 8.0, 8.4 | mean of: urgency x io_capacity, pages flushed so far, pages that redo's speed asks for |
//! | `v56` | MySQL 5.6 | mean of the first two, up to an LSN |
//! | `native51` | 5.1 plugin, 5.5 | dirty pages x redo speed / capacity |
//! | `maria105` | MariaDB 10.5 and later | as `v57`, but lazy: nothing below the dirty limit |

mod maria;
mod native;
mod v56;
mod v57;

pub use maria::Maria105;
pub use native::Native51;
pub use v56::V56;
pub use v57::{V57, percent_for_age, percent_for_dirty};

use super::policy::{FlushPlan, FlushPolicy};
use super::settings::PolicySettings;

type Make = fn(PolicySettings) -> Box<dyn FlushPolicy>;

static TABLE: &[(&str, Make)] = &[
    ("v57", |settings| Box::new(V57::new(settings))),
    ("v56", |settings| Box::new(V56::new(settings))),
    ("native51", |settings| Box::new(Native51::new(settings))),
    ("maria105", |settings| Box::new(Maria105::new(settings))),
];

/// There is no policy of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("innosim_flush_policy: there is no policy '{name}'; there are {}", names().join(", "))]
pub struct UnknownPolicy {
    /// The name.
    pub name: String,
}

/// The names of all policies.
pub fn names() -> Vec<&'static str> {
    TABLE.iter().map(|&(name, _)| name).collect()
}

/// A new policy of this name.
///
/// # Errors
/// If there is none; the error lists those that there are.
pub fn by_name(
    name: &str,
    settings: PolicySettings,
) -> Result<Box<dyn FlushPolicy>, UnknownPolicy> {
    match TABLE.iter().find(|&&(known, _)| known == name) {
        Some((_, make)) => Ok(make(settings)),
        None => Err(UnknownPolicy { name: name.into() }),
    }
}

/// Splits pages evenly over instances, rounded up.
fn split_evenly(plan: &mut FlushPlan, pages: u64) {
    let share = pages.div_ceil(plan.pages.len().max(1) as u64);
    plan.pages.fill(share);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_have_the_names_that_they_are_found_by() {
        for name in names() {
            assert_eq!(by_name(name, PolicySettings::new()).unwrap().name(), name);
        }
        let error = by_name("v58", PolicySettings::new()).err().unwrap();
        assert_eq!(
            error.to_string(),
            "innosim_flush_policy: there is no policy 'v58'; \
             there are v57, v56, native51, maria105"
        );
    }
}
