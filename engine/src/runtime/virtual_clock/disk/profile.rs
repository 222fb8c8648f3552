//! Disk profiles: the parameters of a device, read from TOML and checked as a whole.

use std::fmt::{self, Display};

use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::{Disk, RotatingArray, RotatingArrayProfile, SolidState, SolidStateProfile};

/// A disk as a machine profile describes it. The key `model` says which kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum DiskProfile {
    /// `model = "solid_state"`.
    SolidState(SolidStateProfile),
    /// `model = "rotating_array"`.
    RotatingArray(RotatingArrayProfile),
}

impl DiskProfile {
    /// Check every value.
    ///
    /// # Errors
    /// Lists *all* values that are out of range, not the first one.
    pub fn validate(&self) -> Result<(), ProfileError> {
        match self {
            DiskProfile::SolidState(profile) => profile.validate(),
            DiskProfile::RotatingArray(profile) => profile.validate(),
        }
    }

    /// Build the device. All that it draws comes from `generator`.
    ///
    /// # Errors
    /// As [`DiskProfile::validate`].
    pub fn build(&self, generator: Xoshiro256PlusPlus) -> Result<Disk, ProfileError> {
        Ok(match self {
            DiskProfile::SolidState(profile) => {
                Disk::SolidState(Box::new(SolidState::new(profile, generator)?))
            }
            DiskProfile::RotatingArray(profile) => {
                Disk::RotatingArray(Box::new(RotatingArray::new(profile, generator)?))
            }
        })
    }
}

/// What becomes of completed writes when the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheProtection {
    /// Capacitors or a battery save them: a FLUSH has nothing to wait for.
    Protected,
    /// They are lost unless a FLUSH came after them: a FLUSH waits for the medium.
    Volatile,
}

/// One value that a profile may not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: accepted is {accepted}")]
pub struct ProfileProblem {
    /// Key, with a dot between table and key.
    pub key: String,
    /// Value as given.
    pub value: String,
    /// Range or condition, with the unit where the key does not name it.
    pub accepted: String,
}

/// All that is wrong with a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ProfileError {
    /// In the order of the profile's keys; never empty.
    pub problems: Vec<ProfileProblem>,
}

impl Display for ProfileError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{problem}")?;
        }
        Ok(())
    }
}

/// Collects the problems of a profile.
#[derive(Debug, Default)]
pub(super) struct Checker {
    problems: Vec<ProfileProblem>,
}

impl Checker {
    /// A value that is wrong unless `holds`.
    pub(super) fn require(
        &mut self,
        key: &str,
        value: impl Display,
        holds: bool,
        accepted: impl Display,
    ) {
        if !holds {
            self.problems.push(ProfileProblem {
                key: key.to_string(),
                value: value.to_string(),
                accepted: accepted.to_string(),
            });
        }
    }

    /// A whole number in `low..=high`.
    pub(super) fn integer(&mut self, key: &str, value: u64, low: u64, high: u64) {
        self.require(
            key,
            value,
            (low..=high).contains(&value),
            format!("{low} to {high}"),
        );
    }

    /// A number in `low..=high`; NaN is in no range.
    pub(super) fn number(&mut self, key: &str, value: f64, low: f64, high: f64) {
        self.require(
            key,
            value,
            (low..=high).contains(&value),
            format!("{low} to {high}"),
        );
    }

    pub(super) fn finish(self) -> Result<(), ProfileError> {
        let problems = self.problems;
        if problems.is_empty() {
            Ok(())
        } else {
            Err(ProfileError { problems })
        }
    }
}
