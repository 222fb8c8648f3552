//! The tables that the scripts run on, as data: what `prepare` has to build.
//!
//! ```text
//!   sbtest1 ... sbtestN                     sbtest               (0.4)
//!   id   INTEGER       primary key          id   INTEGER UNSIGNED
//!   k    INTEGER       index k_N            k    INTEGER UNSIGNED   index k
//!   c    CHAR(120)     10 groups            c    CHAR(120)          one blank
//!   pad  CHAR(60)      5 groups             pad  CHAR(60)           50 letters
//!
//!   load rows, then build k_N:              build k, then load rows:
//!   pages sorted and dense                  every row inserts into one run of zeros
//! ```
//!
//! Rows are a pure function of seed, table and id, so that loading can be split,
//! repeated or checked in any order.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::random::Distribution;
use super::random::text::{CText, PadText, padded, random_c, random_pad};
use super::script::Script;
use super::version::SysbenchVersion;

/// Column c of every row that sysbench 0.4 writes: one blank.
pub const C_0_4: CText = padded(" ");

/// Column pad of every row that sysbench 0.4 writes: fifty letters. Its length is
/// what matters; the letters are our own.
pub const PAD_0_4: PadText = padded("iiiiiiiiiinnnnnnnnnnnnnnnnnnnnooooooooooddddddddbb");

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// INTEGER, 4 bytes, signed.
    Integer,
    /// INTEGER UNSIGNED, 4 bytes.
    IntegerUnsigned,
    /// CHAR(n), padded with blanks.
    Char(u16),
}

/// A column; all are NOT NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub column_type: ColumnType,
    /// Whether AUTO_INCREMENT fills it.
    pub auto_increment: bool,
}

/// When an index is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexCreation {
    /// With the table: each loaded row is inserted into it.
    BeforeLoad,
    /// Over the loaded rows: sorted and dense.
    AfterLoad,
}

/// An index other than the primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// Name: `k_3`, `k` or `xid`.
    pub name: String,
    /// The one column it holds.
    pub column: &'static str,
    /// When it is built.
    pub creation: IndexCreation,
}

/// A table to create and load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSpec {
    /// Number, from 1, as statements name it.
    pub number: u32,
    /// Name: `sbtest3`, or `sbtest` in 0.4.
    pub name: String,
    /// id, k, c and pad.
    pub columns: [ColumnSpec; 4],
    /// Whether id is the primary key (not with `--secondary`).
    pub primary_key: bool,
    /// The other indexes.
    pub indexes: Vec<IndexSpec>,
    /// Rows to load, with ids 1..=rows.
    pub rows: u32,
}

/// The values of one loaded row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Primary key.
    pub id: i64,
    /// Indexed integer.
    pub k: i64,
    /// Text.
    pub c: CText,
    /// Text.
    pub pad: PadText,
}

/// All tables of a workload and the rows to load.
#[derive(Debug, Clone)]
pub struct Schema {
    version: SysbenchVersion,
    tables: Vec<TableSpec>,
    ids: Distribution,
    seed: u64,
}

impl Schema {
    /// The tables that `script` needs, with rows from `seed`.
    pub fn new(script: &Script, seed: u64) -> Self {
        let version = script.info().version;
        let tables = (1..=script.options().tables)
            .map(|n| table(script, n))
            .collect();
        Self {
            version,
            tables,
            ids: script.ids().clone(),
            seed,
        }
    }

    /// The tables, in order of their numbers.
    pub fn tables(&self) -> &[TableSpec] {
        &self.tables
    }

    /// The values loaded into row `id` of table `table`: constants in 0.4, otherwise k
    /// from the configured distribution and random text.
    pub fn row(&self, table: u32, id: i64) -> Row {
        if self.version == SysbenchVersion::V0_4 {
            return Row {
                id,
                k: 0,
                c: C_0_4,
                pad: PAD_0_4,
            };
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(row_seed(self.seed, table, id));
        let k = self.ids.sample(&mut rng) as i64;
        let c = random_c(&mut rng);
        let pad = random_pad(&mut rng);
        Row { id, k, c, pad }
    }

    /// The rows to load into a table, by ascending id.
    pub fn rows<'a>(&'a self, table: &TableSpec) -> impl Iterator<Item = Row> + use<'a> {
        let number = table.number;
        (1..=i64::from(table.rows)).map(move |id| self.row(number, id))
    }
}

fn table(script: &Script, number: u32) -> TableSpec {
    let (version, options) = (script.info().version, script.options());
    let old = version == SysbenchVersion::V0_4;
    let integer = if script.info().signed_columns() {
        ColumnType::Integer
    } else {
        ColumnType::IntegerUnsigned
    };
    let column = |name, column_type| ColumnSpec {
        name,
        column_type,
        auto_increment: false,
    };
    let columns = [
        ColumnSpec {
            auto_increment: options.auto_inc,
            ..column("id", integer)
        },
        column("k", integer),
        column("c", ColumnType::Char(120)),
        column("pad", ColumnType::Char(60)),
    ];
    let mut indexes = Vec::new();
    if options.secondary {
        indexes.push(IndexSpec {
            name: "xid".to_owned(),
            column: "id",
            creation: IndexCreation::BeforeLoad,
        });
    }
    if options.create_secondary {
        indexes.push(IndexSpec {
            name: if old {
                "k".to_owned()
            } else {
                format!("k_{number}")
            },
            column: "k",
            creation: if old {
                IndexCreation::BeforeLoad
            } else {
                IndexCreation::AfterLoad
            },
        });
    }
    TableSpec {
        number,
        name: if old {
            "sbtest".to_owned()
        } else {
            format!("sbtest{number}")
        },
        columns,
        primary_key: !options.secondary,
        indexes,
        rows: options.table_size,
    }
}

/// A seed for one row. Two rounds of SplitMix64's finaliser keep rows of
/// neighbouring ids and tables unrelated.
fn row_seed(seed: u64, table: u32, id: i64) -> u64 {
    mix(mix(seed ^ u64::from(table)).wrapping_add(id as u64))
}

/// The finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, 2014), a bijection.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::options::ScriptOptions;
    use crate::workload::random::RandomType;

    fn schema(name: &str, options: ScriptOptions) -> Schema {
        Schema::new(&Script::new(name, &options, 1).unwrap(), 1)
    }

    #[test]
    fn tables_are_numbered_and_indexed_after_the_load() {
        let schema = schema(
            "oltp_read_write",
            ScriptOptions {
                tables: 3,
                ..Default::default()
            },
        );
        let names: Vec<&str> = schema.tables().iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["sbtest1", "sbtest2", "sbtest3"]);
        let third = &schema.tables()[2];
        assert!(third.primary_key);
        assert_eq!(third.rows, 10_000);
        assert_eq!(third.columns[0].column_type, ColumnType::Integer);
        assert!(third.columns[0].auto_increment);
        assert_eq!(
            third.indexes,
            [IndexSpec {
                name: "k_3".to_owned(),
                column: "k",
                creation: IndexCreation::AfterLoad
            }]
        );
    }

    #[test]
    fn version_0_4_has_one_unsigned_table_of_constants() {
        let schema = schema(
            "sysbench-0.4/complex",
            ScriptOptions {
                tables: 8,
                ..Default::default()
            },
        );
        assert_eq!(schema.tables().len(), 1);
        let table = &schema.tables()[0];
        assert_eq!(table.name, "sbtest");
        assert_eq!(table.columns[1].column_type, ColumnType::IntegerUnsigned);
        assert_eq!(table.indexes[0].name, "k");
        assert_eq!(table.indexes[0].creation, IndexCreation::BeforeLoad);
        let row = schema.row(1, 77);
        assert_eq!((row.id, row.k), (77, 0));
        assert_eq!(row.c, [b' '; 120]);
        assert_eq!(row.pad.trim_ascii_end().len(), 50);
    }

    #[test]
    fn secondary_replaces_the_primary_key_and_create_secondary_drops_k() {
        let options = ScriptOptions {
            secondary: true,
            create_secondary: false,
            ..Default::default()
        };
        let schema = schema("oltp_read_only", options);
        let table = &schema.tables()[0];
        assert!(!table.primary_key);
        let names: Vec<&str> = table.indexes.iter().map(|i| i.name.as_str()).collect();
        assert_eq!(names, ["xid"]);
    }

    #[test]
    fn rows_depend_on_seed_table_and_id_only() {
        let options = ScriptOptions {
            tables: 2,
            ..Default::default()
        };
        let one = schema("oltp_read_write", options.clone());
        let again = schema("oltp_insert", options);
        assert_eq!(one.row(1, 5), again.row(1, 5));
        assert_ne!(one.row(1, 5).c, one.row(2, 5).c);
        assert_ne!(one.row(1, 5).c, one.row(1, 6).c);
        let listed: Vec<Row> = one.rows(&one.tables()[1]).skip(41).take(2).collect();
        assert_eq!(listed, [one.row(2, 42), one.row(2, 43)]);
        assert_eq!(one.rows(&one.tables()[0]).count(), 10_000);
    }

    #[test]
    fn k_follows_the_configured_distribution() {
        let share_of_centre = |kind| {
            let options = ScriptOptions {
                rand_type: Some(kind),
                ..Default::default()
            };
            let schema = schema("oltp_read_write", options);
            let centre = (1..=10_000).filter(|&id| (4_951..=5_050).contains(&schema.row(1, id).k));
            centre.count()
        };
        assert!(share_of_centre(RandomType::Special) > 7_000);
        // One percent of 10,000: standard deviation 10.
        assert!(share_of_centre(RandomType::Uniform).abs_diff(100) < 50);
    }
}
