//! Flavors: the server series whose defaults and algorithms a run imitates.
//!
//! ```text
//!   mysql-5.1   mysql-5.5   mysql-5.6   mysql-5.7   mysql-8.0   mysql-8.4
//!   ────────────────────────── time ──────────────────────────────────────▶
//!                                      mariadb-10.11   (a branch of its own)
//! ```
//!
//! The MySQL flavors are ordered: "since 5.7" means 5.7, 8.0 and 8.4. MariaDB is
//! not on that line; whatever holds there is always said separately.

use std::fmt;
use std::str::FromStr;

/// A server series, as its last releases behave (`mysql-8.0` is 8.0.30 or later,
/// `mysql-5.1` is 5.1 with the InnoDB plugin 1.0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flavor {
    /// MySQL 5.1 with the InnoDB plugin 1.0.
    MySql5_1,
    /// MySQL 5.5 (InnoDB 1.1).
    MySql5_5,
    /// MySQL 5.6.
    MySql5_6,
    /// MySQL 5.7.
    MySql5_7,
    /// MySQL 8.0, from 8.0.30 on.
    MySql8_0,
    /// MySQL 8.4 LTS.
    #[default]
    MySql8_4,
    /// MariaDB 10.11 LTS.
    MariaDb10_11,
}

impl Flavor {
    /// Every flavor, in the order of the enumeration.
    pub const ALL: [Flavor; 7] = [
        Flavor::MySql5_1,
        Flavor::MySql5_5,
        Flavor::MySql5_6,
        Flavor::MySql5_7,
        Flavor::MySql8_0,
        Flavor::MySql8_4,
        Flavor::MariaDb10_11,
    ];

    /// The name used on the command line and in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Flavor::MySql5_1 => "mysql-5.1",
            Flavor::MySql5_5 => "mysql-5.5",
            Flavor::MySql5_6 => "mysql-5.6",
            Flavor::MySql5_7 => "mysql-5.7",
            Flavor::MySql8_0 => "mysql-8.0",
            Flavor::MySql8_4 => "mysql-8.4",
            Flavor::MariaDb10_11 => "mariadb-10.11",
        }
    }

    /// Whether this is MariaDB, which left MySQL's line of versions.
    pub const fn is_mariadb(self) -> bool {
        matches!(self, Flavor::MariaDb10_11)
    }

    /// Whether this is a MySQL series not older than `first`; false for MariaDB.
    pub const fn is_mysql_since(self, first: Flavor) -> bool {
        !self.is_mariadb() && self as usize >= first as usize
    }

    /// The groups of an option file that this server reads, in lower case
    /// (MySQL manual, "Using Option Files"; MariaDB documentation, "Option Groups").
    pub const fn option_groups(self) -> &'static [&'static str] {
        match self {
            Flavor::MySql5_1 => &["mysqld", "server", "mysqld-5.1"],
            Flavor::MySql5_5 => &["mysqld", "server", "mysqld-5.5"],
            Flavor::MySql5_6 => &["mysqld", "server", "mysqld-5.6"],
            Flavor::MySql5_7 => &["mysqld", "server", "mysqld-5.7"],
            Flavor::MySql8_0 => &["mysqld", "server", "mysqld-8.0"],
            Flavor::MySql8_4 => &["mysqld", "server", "mysqld-8.4"],
            Flavor::MariaDb10_11 => &[
                "mysqld",
                "server",
                "mysqld-10.11",
                "mariadb",
                "mariadb-10.11",
                "mariadbd",
                "mariadbd-10.11",
                "client-server",
            ],
        }
    }

    /// Whether this server reads the group; group names ignore case.
    pub fn reads_group(self, group: &str) -> bool {
        self.option_groups()
            .iter()
            .any(|known| known.eq_ignore_ascii_case(group))
    }
}

impl fmt::Display for Flavor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// The text is no flavor's name; the message lists those that are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown flavor '{given}': the flavors are {}", Flavor::ALL.map(Flavor::name).join(", "))]
pub struct UnknownFlavor {
    /// What was given.
    pub given: String,
}

impl FromStr for Flavor {
    type Err = UnknownFlavor;

    fn from_str(text: &str) -> Result<Flavor, UnknownFlavor> {
        Flavor::ALL
            .into_iter()
            .find(|flavor| flavor.name() == text)
            .ok_or_else(|| UnknownFlavor {
                given: text.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flavor_is_found_by_the_name_it_displays() {
        for flavor in Flavor::ALL {
            assert_eq!(flavor.to_string().parse(), Ok(flavor));
        }
        assert_eq!(Flavor::default(), Flavor::MySql8_4);
    }

    #[test]
    fn an_unknown_flavor_is_answered_with_the_list() {
        let error = "mysql-9.0".parse::<Flavor>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown flavor 'mysql-9.0': the flavors are mysql-5.1, mysql-5.5, mysql-5.6, \
             mysql-5.7, mysql-8.0, mysql-8.4, mariadb-10.11"
        );
    }

    #[test]
    fn version_groups_belong_to_one_flavor_and_case_does_not_matter() {
        assert!(Flavor::MySql8_0.reads_group("MySQLd"));
        assert!(Flavor::MySql8_0.reads_group("mysqld-8.0"));
        assert!(!Flavor::MySql8_4.reads_group("mysqld-8.0"));
        assert!(!Flavor::MySql8_4.reads_group("mariadb"));
        assert!(Flavor::MariaDb10_11.reads_group("MariaDB-10.11"));
        assert!(!Flavor::MariaDb10_11.reads_group("mysqld_safe"));
    }

    #[test]
    fn mariadb_is_not_on_mysqls_line() {
        assert!(Flavor::MySql8_4.is_mysql_since(Flavor::MySql5_7));
        assert!(!Flavor::MySql5_6.is_mysql_since(Flavor::MySql5_7));
        assert!(!Flavor::MariaDb10_11.is_mysql_since(Flavor::MySql5_1));
    }
}
