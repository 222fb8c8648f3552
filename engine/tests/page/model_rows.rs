//! The kinds of records that the model test puts on pages.

use std::collections::BTreeMap;

use innosim_engine::page::{
    Column, IndexPage, PageBytes, PageNumber, Record, RecordBuffer, RecordFormat,
};

use crate::support::*;

/// Which records the page holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Fixed columns: rows of sbtest1.
    Fixed,
    /// NULLs and VARCHARs: rows of t_edge.
    Variable,
    /// Entries of two integers: small records, many slots.
    Small,
    /// Entries whose key is a VARCHAR that may be NULL, and an integer.
    TextKey,
    /// Node pointers of `Small`, on a page that is not the leftmost.
    SmallPointer,
    /// Node pointers of `TextKey`: NULL bits and lengths above the leaves.
    TextPointer,
}

impl Kind {
    pub fn format(self) -> RecordFormat {
        match self {
            Kind::Fixed => sbtest_primary(),
            Kind::Variable => edge_primary(),
            Kind::Small | Kind::SmallPointer => sbtest_k(),
            Kind::TextKey | Kind::TextPointer => {
                RecordFormat::secondary(&[Column::variable(300).nullable(), Column::fixed(4)])
                    .unwrap()
            }
        }
    }

    pub fn is_node_pointer(self) -> bool {
        matches!(self, Kind::SmallPointer | Kind::TextPointer)
    }

    pub fn level(self) -> u16 {
        u16::from(self.is_node_pointer())
    }

    /// The fields of the record that `key` names, with contents from `seed`.
    pub fn fields(self, key: u16, seed: u32) -> Fields {
        let number = Some(u32::from(key).to_be_bytes().to_vec());
        let bytes = |length: usize| {
            Some(
                seed.to_le_bytes()
                    .iter()
                    .cycle()
                    .take(length)
                    .copied()
                    .collect(),
            )
        };
        let system = [bytes(6), bytes(7)];
        match self {
            Kind::Fixed => [&[number], &system[..], &[bytes(4), bytes(120), bytes(60)]].concat(),
            Kind::Variable => {
                let maybe = |bit: u32, value| if seed >> bit & 1 == 0 { value } else { None };
                let (b, c) = (seed as usize % 21, (seed >> 8) as usize % 301);
                let tail = [
                    maybe(3, bytes(4)),
                    maybe(4, bytes(b)),
                    bytes(c),
                    maybe(5, bytes(5)),
                    bytes(8),
                    maybe(6, bytes(2)),
                ];
                [&[number], &system[..], &tail].concat()
            }
            Kind::Small | Kind::SmallPointer => {
                vec![Some((u32::from(key) / 5).to_be_bytes().to_vec()), number]
            }
            Kind::TextKey | Kind::TextPointer => {
                let text = format!("{:03}", key / 3).repeat(usize::from(key) % 97);
                vec![(!key.is_multiple_of(7)).then(|| text.into_bytes()), number]
            }
        }
    }

    pub fn key_of(self, fields: &Fields) -> Fields {
        fields[..self.format().key_fields()].to_vec()
    }

    pub fn build(
        self,
        format: &RecordFormat,
        fields: &Fields,
        child: u32,
        buffer: &mut RecordBuffer,
    ) {
        if self.is_node_pointer() {
            let child = PageNumber(child);
            format
                .build_node_pointer(&borrow(fields), child, false, buffer)
                .unwrap();
        } else {
            format.build(&borrow(fields), buffer).unwrap();
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub fields: Fields,
    pub child: u32,
    pub deleted: bool,
}

/// The records of a page as the model keeps them.
pub fn contents(page: &PageBytes, kind: Kind, format: &RecordFormat) -> BTreeMap<Fields, Row> {
    let row = |record: Record<'_>| {
        let count = if kind.is_node_pointer() {
            format.key_fields()
        } else {
            format.columns().len()
        };
        let fields: Fields = (0..count)
            .map(|index| record.field(format, index).map(<[u8]>::to_vec))
            .collect();
        // The model's child is the seed; the fields of other kinds need none.
        let child = if kind.is_node_pointer() {
            record.child(format).0
        } else {
            0
        };
        (
            kind.key_of(&fields),
            Row {
                fields,
                child,
                deleted: record.is_delete_marked(),
            },
        )
    };
    IndexPage::new(page).records().map(row).collect()
}
