//! What several tests need: the sample tables' formats and rows.

use innosim_engine::page::encoding::{encode_char, encode_i32};
use innosim_engine::page::record_compare::KeyField;
use innosim_engine::page::{Column, PAGE_SIZE, PageBytes, RecordFormat, RollPointer};

/// Field values of a record or a key, owned.
pub type Fields = Vec<Option<Vec<u8>>>;

/// Borrows the fields in the form the engine takes.
pub fn borrow(fields: &[Option<Vec<u8>>]) -> Vec<KeyField<'_>> {
    fields.iter().map(Option::as_deref).collect()
}

/// The page `number` of a file's bytes.
pub fn page_of(file: &[u8], number: u32) -> &PageBytes {
    let start = number as usize * PAGE_SIZE;
    file[start..start + PAGE_SIZE].try_into().unwrap()
}

/// sbtest1: id INT, k INT, c CHAR(120), pad CHAR(60); PRIMARY (id).
pub fn sbtest_primary() -> RecordFormat {
    RecordFormat::clustered(
        &[Column::fixed(4)],
        &[Column::fixed(4), Column::fixed(120), Column::fixed(60)],
    )
    .unwrap()
}

/// sbtest1: KEY k_1 (k).
pub fn sbtest_k() -> RecordFormat {
    RecordFormat::secondary(&[Column::fixed(4), Column::fixed(4)]).unwrap()
}

/// t_edge: id INT, a INT NULL, b VARCHAR(20) NULL, c VARCHAR(300), d CHAR(5) NULL,
/// e BIGINT UNSIGNED, f SMALLINT NULL; PRIMARY (id).
pub fn edge_primary() -> RecordFormat {
    RecordFormat::clustered(
        &[Column::fixed(4)],
        &[
            Column::fixed(4).nullable(),
            Column::variable(20).nullable(),
            Column::variable(300),
            Column::fixed(5).nullable(),
            Column::fixed(8),
            Column::fixed(2).nullable(),
        ],
    )
    .unwrap()
}

/// A row of sbtest1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SbtestRow {
    pub id: i32,
    pub k: i32,
    pub c: String,
    pub pad: String,
}

impl SbtestRow {
    /// The clustered record, without history.
    pub fn clustered_fields(&self) -> Fields {
        let (mut c, mut pad) = (vec![0; 120], vec![0; 60]);
        encode_char(self.c.as_bytes(), &mut c).unwrap();
        encode_char(self.pad.as_bytes(), &mut pad).unwrap();
        vec![
            Some(encode_i32(self.id).to_vec()),
            Some(vec![0; 6]),
            Some(RollPointer::NO_HISTORY.to_bytes().to_vec()),
            Some(encode_i32(self.k).to_vec()),
            Some(c),
            Some(pad),
        ]
    }

    /// The entry of index k_1.
    pub fn k_fields(&self) -> Fields {
        vec![
            Some(encode_i32(self.k).to_vec()),
            Some(encode_i32(self.id).to_vec()),
        ]
    }
}

/// The rows of sbtest1_1000.csv.
pub fn sbtest_rows() -> Vec<SbtestRow> {
    let csv = include_str!("../../../tests/data/ibd/sbtest1_1000.csv");
    let rows: Vec<_> = csv
        .lines()
        .skip(1)
        .map(|line| {
            let mut columns = line.split(',').map(str::to_owned);
            let mut next = || columns.next().unwrap();
            SbtestRow {
                id: next().parse().unwrap(),
                k: next().parse().unwrap(),
                c: next(),
                pad: next(),
            }
        })
        .collect();
    assert_eq!(rows.len(), 1000);
    rows
}
