//! Files that MariaDB 10.11 wrote: every page verifies, every row is read back.

use std::process::Command;

use innosim_engine::page::encoding::{decode_char, decode_i16, decode_i32, decode_u64};
use innosim_engine::page::{
    ChecksumFormat, IndexPage, PAGE_SIZE, PageId, PageNumber, PageType, Record, RecordFormat,
    SearchMode, check_index_page, checksum, fil, space_header,
};

use crate::support::*;

const CRC32: &[u8] = include_bytes!("../../../tests/data/ibd/crc32/sbtest1.ibd");
const FULL_CRC32: &[u8] = include_bytes!("../../../tests/data/ibd/full_crc32/sbtest1.ibd");
const EDGE: &[u8] = include_bytes!("../../../tests/data/ibd/edge/t_edge.ibd");
const EDGE_ROWS: &str = include_str!("../../../tests/data/ibd/edge/t_edge.tsv");

/// The file of 576 pages. It is stored packed; gzip is on every system that builds
/// Rust programs.
fn extents() -> Vec<u8> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/data/ibd/extents/sbtest1.ibd.gz"
    );
    let output = Command::new("gzip")
        .args(["-dc", path])
        .output()
        .expect("gzip can be started");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Checks every page of a file and returns how many are not all zero.
fn verify_all(file: &[u8], space: u32) -> usize {
    let flags = space_header::FLAGS.get(page_of(file, 0));
    let format = ChecksumFormat::from_space_flags(flags);
    let pages = (file.len() / PAGE_SIZE) as u32;
    assert_eq!(space_header::SIZE.get(page_of(file, 0)), pages);
    (0..pages)
        .filter(|&number| {
            let page = page_of(file, number);
            fil::verify(page, PageId::new(space, number), format).unwrap();
            !fil::is_all_zero(page)
        })
        .count()
}

/// The leaf pages of the tree, from left to right.
fn leaves<'a>(file: &'a [u8], root: u32, format: &RecordFormat) -> Vec<IndexPage<'a>> {
    let mut page = IndexPage::new(page_of(file, root));
    while !page.is_leaf() {
        let first = page.records().next().unwrap();
        assert!(first.is_min_rec());
        page = IndexPage::new(page_of(file, first.child(format).0));
    }
    let mut leaves = vec![page];
    while let Some(next) = page.next_page() {
        let right = IndexPage::new(page_of(file, next.0));
        assert_eq!(right.previous_page(), Some(page.page_id().page));
        page = right;
        leaves.push(page);
    }
    leaves
}

/// Our checker on every used index page of a tree.
fn check_tree(file: &[u8], index_id: u64, format: &RecordFormat) -> usize {
    let pages = (file.len() / PAGE_SIZE) as u32;
    let of_index = (0..pages)
        .map(|number| page_of(file, number))
        .filter(|page| {
            fil::page_type(page) == Some(PageType::Index)
                && IndexPage::new(page).index_id() == index_id
        });
    of_index
        .map(|page| {
            let id = fil::page_id(page);
            check_index_page(page, format).unwrap_or_else(|faults| panic!("{id}: {faults:?}"));
        })
        .count()
}

fn field<const N: usize>(record: Record<'_>, format: &RecordFormat, index: usize) -> [u8; N] {
    record.field(format, index).unwrap().try_into().unwrap()
}

fn sbtest_row(record: Record<'_>, format: &RecordFormat) -> SbtestRow {
    let text = |index| {
        String::from_utf8(decode_char(record.field(format, index).unwrap()).to_vec()).unwrap()
    };
    SbtestRow {
        id: decode_i32(field(record, format, 0)),
        k: decode_i32(field(record, format, 3)),
        c: text(4),
        pad: text(5),
    }
}

#[test]
fn every_page_of_every_sample_verifies() {
    let extents = extents();
    assert_eq!(verify_all(CRC32, 7), 20);
    assert_eq!(verify_all(FULL_CRC32, 5), 20);
    assert_eq!(verify_all(EDGE, 239), 6);
    let used = verify_all(&extents, 8);
    assert!((70..576).contains(&used), "{used} pages in use");
}

#[test]
fn checksums_are_those_of_the_server() {
    let crc32 = [
        (0, 0x4c39d193),
        (1, 0xd98cb856),
        (2, 0x1f54185a),
        (3, 0xa53bcbd1),
        (5, 0x897434ea),
    ];
    for (number, expected) in crc32 {
        assert_eq!(checksum::crc32(page_of(CRC32, number)), expected);
        // Stamping again with the LSN it has gives the same bytes.
        let mut page = *page_of(CRC32, number);
        let lsn = fil::PAGE_LSN.get(&page);
        page[..4].fill(0);
        page[fil::TRAILER..].fill(0);
        fil::stamp_for_write(&mut page, lsn);
        assert!(page == *page_of(CRC32, number));
    }
    let full = [
        (0, 0x8dcb9b3b),
        (1, 0x8d89d156),
        (2, 0x0c1cbd76),
        (3, 0x25bb4214),
        (5, 0x60d1fb79),
    ];
    for (number, expected) in full {
        assert_eq!(checksum::full_crc32(page_of(FULL_CRC32, number)), expected);
    }
}

#[test]
fn one_changed_bit_is_noticed() {
    for (file, space) in [(CRC32, 7), (FULL_CRC32, 5)] {
        let flags = space_header::FLAGS.get(page_of(file, 0));
        let format = ChecksumFormat::from_space_flags(flags);
        for offset in [4, 16, 25, 38, 99, 8000, 16375, 16379, 16380] {
            let mut page = *page_of(file, 5);
            page[offset] ^= 0x10;
            assert!(
                fil::verify(&page, PageId::new(space, 5), format).is_err(),
                "{format:?}, byte {offset}"
            );
        }
    }
}

#[test]
fn all_rows_of_sbtest1_are_read() {
    let expected = sbtest_rows();
    let format = sbtest_primary();
    for file in [CRC32, FULL_CRC32] {
        let leaves = leaves(file, 3, &format);
        assert_eq!(leaves.len(), 15);
        let rows: Vec<_> = leaves
            .iter()
            .flat_map(|page| page.records())
            .map(|record| {
                assert!(!record.is_delete_marked());
                assert_ne!(record.trx_id(&format), 0);
                assert!(record.roll_pointer(&format).is_insert);
                sbtest_row(record, &format)
            })
            .collect();
        assert!(rows == expected);
    }
}

#[test]
fn all_entries_of_the_secondary_index_are_read() {
    let mut expected: Vec<_> = sbtest_rows().iter().map(|row| (row.k, row.id)).collect();
    expected.sort();
    let format = sbtest_k();
    for file in [CRC32, FULL_CRC32] {
        let leaves = leaves(file, 4, &format);
        assert!(leaves.iter().all(|page| page.max_trx_id() != 0));
        let entries: Vec<_> = leaves
            .iter()
            .flat_map(|page| page.records())
            .map(|record| {
                (
                    decode_i32(field(record, &format, 0)),
                    decode_i32(field(record, &format, 1)),
                )
            })
            .collect();
        assert_eq!(entries, expected);
    }
}

#[test]
fn all_rows_of_the_larger_file_are_read() {
    let file = extents();
    let (primary, k) = (sbtest_primary(), sbtest_k());
    let rows: Vec<_> = leaves(&file, 3, &primary)
        .iter()
        .flat_map(|page| page.records())
        .map(|record| sbtest_row(record, &primary))
        .collect();
    // The rule by which the rows were made.
    let group =
        |i: u64, g: u64| (i * 1_000_003 + g * 7919 + 12345) * 2_654_435_761 % 100_000_000_000;
    let text = |i, groups: std::ops::Range<u64>| {
        groups
            .map(|g| format!("{:011}", group(i, g)))
            .collect::<Vec<_>>()
            .join("-")
    };
    let expected: Vec<_> = (1..=5000u64)
        .map(|i| SbtestRow {
            id: i as i32,
            k: (i * 7919 % 5000 + 1) as i32,
            c: text(i, 0..10),
            pad: text(i, 10..15),
        })
        .collect();
    assert!(rows == expected);
    let entries = leaves(&file, 4, &k)
        .iter()
        .map(|page| page.record_count())
        .sum::<usize>();
    assert_eq!(entries, 5000);
    assert!(check_tree(&file, 29, &primary) > 69);
    assert!(check_tree(&file, 30, &k) > 4);
}

#[test]
fn our_checker_accepts_the_servers_pages() {
    assert_eq!(check_tree(CRC32, 27, &sbtest_primary()), 16);
    assert_eq!(check_tree(CRC32, 28, &sbtest_k()), 1);
    assert_eq!(check_tree(FULL_CRC32, 23, &sbtest_primary()), 16);
    assert_eq!(check_tree(FULL_CRC32, 24, &sbtest_k()), 1);
}

#[test]
fn rows_with_nulls_and_varchars_are_read() {
    let format = edge_primary();
    let root = IndexPage::new(page_of(EDGE, 3));
    check_index_page(root.bytes(), &format).unwrap();
    let null = || "\\N".to_owned();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (mut rows, mut marked) = (String::new(), 0);
    for page in leaves(EDGE, 3, &format) {
        for record in page.records() {
            if record.is_delete_marked() {
                marked += 1;
                continue;
            }
            let column = |index| record.field(&format, index);
            let row = [
                decode_i32(field(record, &format, 0)).to_string(),
                column(3).map_or_else(null, |a| decode_i32(a.try_into().unwrap()).to_string()),
                column(4).map_or_else(null, text),
                text(column(5).unwrap()),
                column(6).map_or_else(null, |d| text(decode_char(d))),
                decode_u64(field(record, &format, 7)).to_string(),
                column(8).map_or_else(null, |f| decode_i16(f.try_into().unwrap()).to_string()),
            ];
            rows += &row.join("\t");
            rows.push('\n');

            // One walk and one lookup a field must agree.
            let offsets = format.offsets(record);
            assert_eq!(offsets.count(), 9);
            for index in 0..9 {
                let origin = usize::from(record.origin());
                let range = offsets
                    .range(index)
                    .map(|r| origin + r.start..origin + r.end);
                assert_eq!(
                    range.map(|range| &page.bytes()[range]),
                    record.field(&format, index)
                );
            }
        }
    }
    assert_eq!(rows, EDGE_ROWS);
    assert_eq!(marked, 6);
}

#[test]
fn every_key_is_found_by_descending_the_tree() {
    let format = sbtest_primary();
    for row in sbtest_rows() {
        let fields = row.clustered_fields();
        let key = [fields[0].as_deref()];
        let root = IndexPage::new(page_of(CRC32, 3));
        let pointer = root.search(&format, &key, SearchMode::LessOrEqual);
        let child = root.record(pointer.origin).child(&format);
        let leaf = IndexPage::new(page_of(CRC32, child.0));
        let found = leaf.search(&format, &key, SearchMode::LessOrEqual);
        assert_eq!(found.matched, 1);
        assert_eq!(sbtest_row(leaf.record(found.origin), &format), row);
    }
    // Below the first key the root leads to its leftmost child, by the MIN_REC mark.
    let root = IndexPage::new(page_of(CRC32, 3));
    let lowest = root.search(&format, &[Some(&[0; 4])], SearchMode::LessOrEqual);
    assert_eq!(lowest.origin, root.first_record());
    assert_eq!(lowest.matched, 0);
    assert_eq!(root.record(lowest.origin).child(&format), PageNumber(5));
}

#[test]
fn reorganising_the_servers_pages_keeps_their_records() {
    use innosim_engine::page::{NoLog, PageWriter};
    for (file, root, format) in [
        (CRC32, 3, sbtest_primary()),
        (CRC32, 4, sbtest_k()),
        (EDGE, 3, edge_primary()),
    ] {
        for leaf in leaves(file, root, &format) {
            let mut page = *leaf.bytes();
            let mut log = NoLog;
            PageWriter::new(&mut page, &mut log).reorganise(&format);
            check_index_page(&page, &format).unwrap();
            let rebuilt = IndexPage::new(&page);
            assert_eq!((rebuilt.garbage(), rebuilt.first_free()), (0, 0));
            assert_eq!(rebuilt.data_size(), leaf.data_size());
            assert_eq!(rebuilt.record_count(), leaf.record_count());
            for (old, new) in leaf.records().zip(rebuilt.records()) {
                assert_eq!(old.image(&format).data(), new.image(&format).data());
                assert_eq!(old.info_bits(), new.info_bits());
            }
        }
    }
}
