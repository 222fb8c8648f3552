//! Algorithms of a flavor that are not built yet: which, and what takes their place.
//!
//! A flavor stands for the defaults and the algorithms of a server series. Where an
//! algorithm is missing the run goes on with another one, and says so: whatever the run
//! shows of it is not that server's.

use innosim_engine::sysvar::Flavor;

/// Whether a flavor has an algorithm that is not built.
type Lacks = fn(Flavor) -> bool;

/// What is not built: the flavors that have it, and the warning.
const NOT_BUILT: [(&str, Lacks); 6] = [
    (
        "a doublewrite buffer of one batch in the system tablespace is not built: pages go \
         through doublewrite files, as from 8.0.20 on",
        |flavor| !flavor.is_mysql_since(Flavor::MySql8_0),
    ),
    (
        "flushing by the master thread is not built: page cleaners flush, by 8.4's rules",
        |flavor| matches!(flavor, Flavor::MySql5_1 | Flavor::MySql5_5),
    ),
    (
        "MariaDB's page cleaner is not built: page cleaners flush by MySQL 8.4's rules",
        Flavor::is_mariadb,
    ),
    (
        "one kernel mutex over locks and transactions is not built: each has its own, as \
         from 5.6 on",
        |flavor| matches!(flavor, Flavor::MySql5_1 | Flavor::MySql5_5),
    ),
    (
        "MariaDB's lock-free table of transactions is not built: a read view copies a vector \
         of ids under a mutex, as in MySQL from 5.7 on",
        Flavor::is_mariadb,
    ),
    (
        "a lock system in shards is not built: one mutex guards all row locks, as before \
         8.0.21",
        |flavor| flavor.is_mysql_since(Flavor::MySql8_0) || flavor.is_mariadb(),
    ),
];

/// A warning for each algorithm of a flavor that is not built; notes for the flavors whose
/// other algorithms all are.
pub fn not_built(flavor: Flavor) -> Vec<String> {
    let missing = NOT_BUILT.iter().filter(|(_, has)| has(flavor));
    let name = flavor.name();
    let in_words =
        |(what, _): &(&str, fn(Flavor) -> bool)| match flavor.is_mysql_since(Flavor::MySql8_0) {
            true => format!("note: {name}: {what}"),
            false => format!("{name}: {what}"),
        };
    missing.map(in_words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flavor_lacks_something_and_the_newest_least() {
        let counts = Flavor::ALL.map(|flavor| not_built(flavor).len());
        assert_eq!(counts, [3, 3, 1, 1, 1, 1, 4]);
        let newest = not_built(Flavor::MySql8_4);
        assert!(
            newest[0].starts_with("note: mysql-8.4: a lock system"),
            "{newest:?}"
        );
        let oldest = not_built(Flavor::MySql5_1);
        assert!(
            oldest
                .iter()
                .all(|warning| warning.starts_with("mysql-5.1: "))
        );
    }
}
