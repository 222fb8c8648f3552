//! Small cases with exact bytes: records of a real server rebuilt, and the steps
//! of inserting and deleting looked at one by one.

use innosim_engine::page::encoding::{encode_char, encode_i32, encode_trx_id};
use innosim_engine::page::index_header::{Direction, INFIMUM, SUPREMUM};
use innosim_engine::page::record_list::RecordRange;
use innosim_engine::page::{
    IndexPage, NoLog, PAGE_SIZE, PageBytes, PageFault, PageId, PageNumber, PageWriter,
    RecordBuffer, RecordFormat, RollPointer, SearchMode, check_index_page, index_header,
};

use crate::support::*;

const CRC32: &[u8] = include_bytes!("../../../tests/data/ibd/crc32/sbtest1.ibd");

fn new_page(level: u16) -> Box<PageBytes> {
    let mut page = Box::new([0; PAGE_SIZE]);
    let mut log = NoLog;
    PageWriter::new(&mut page, &mut log).initialise_index_page(PageId::new(7, 9), level, 27);
    page
}

/// Inserts (k, id) = (key, key) into a page of index k_1.
fn insert(page: &mut PageBytes, key: i32) -> u16 {
    let format = sbtest_k();
    let fields = [
        Some(encode_i32(key).to_vec()),
        Some(encode_i32(key).to_vec()),
    ];
    let mut buffer = RecordBuffer::new();
    format.build(&borrow(&fields), &mut buffer).unwrap();
    let place = IndexPage::new(page).search(&format, &borrow(&fields), SearchMode::LessOrEqual);
    let mut log = NoLog;
    let mut writer = PageWriter::new(page, &mut log);
    writer
        .insert_record(&format, place.origin, buffer.image())
        .unwrap()
}

fn delete(page: &mut PageBytes, origin: u16) {
    let mut log = NoLog;
    PageWriter::new(page, &mut log).delete_record(&sbtest_k(), origin);
}

/// n_owned of the records in the list, infimum and supremum included.
fn owned(page: &PageBytes) -> Vec<usize> {
    let view = IndexPage::new(page);
    let mut owned = vec![1];
    owned.extend(view.records().map(|record| record.n_owned()));
    owned.push(view.record(SUPREMUM).n_owned());
    owned
}

#[test]
fn a_clustered_record_has_the_servers_bytes() {
    let (mut c, mut pad) = ([0; 120], [0; 60]);
    let row = sbtest_rows().into_iter().find(|row| row.id == 986).unwrap();
    encode_char(row.c.as_bytes(), &mut c).unwrap();
    encode_char(row.pad.as_bytes(), &mut pad).unwrap();
    let roll_pointer = RollPointer {
        is_insert: true,
        rollback_segment_id: 44,
        page: PageNumber(313),
        offset: 2549,
    };
    let (id, k) = (encode_i32(986), encode_i32(135));
    let (trx_id, roll) = (encode_trx_id(99), roll_pointer.to_bytes());
    let fields = [
        Some(&id[..]),
        Some(&trx_id),
        Some(&roll),
        Some(&k),
        Some(&c),
        Some(&pad),
    ];
    let format = sbtest_primary();
    let mut buffer = RecordBuffer::new();
    format.build(&fields, &mut buffer).unwrap();

    let mut page = new_page(0);
    let mut log = NoLog;
    let mut writer = PageWriter::new(&mut page, &mut log);
    let origin = writer
        .insert_record(&format, INFIMUM, buffer.image())
        .unwrap();
    drop(writer);
    assert_eq!(origin, 125);
    let sample = page_of(CRC32, 19);
    // All but the next pointer, which leads to the supremum here.
    assert_eq!(page[120..123], sample[120..123]);
    assert_eq!(page[125..326], sample[125..326]);
    let record = IndexPage::new(&page).record(origin);
    assert_eq!(record.trx_id(&format), 99);
    assert_eq!(record.roll_pointer(&format), roll_pointer);
}

#[test]
fn node_pointers_have_the_servers_bytes() {
    let format = sbtest_primary();
    let mut page = new_page(1);
    let mut log = NoLog;
    let mut writer = PageWriter::new(&mut page, &mut log);
    let mut buffer = RecordBuffer::new();
    let mut last = INFIMUM;
    for (key, child) in [(1, 5), (37, 6), (110, 7), (183, 8)] {
        let key = encode_i32(key);
        format
            .build_node_pointer(
                &[Some(&key)],
                PageNumber(child),
                last == INFIMUM,
                &mut buffer,
            )
            .unwrap();
        last = writer.insert_record(&format, last, buffer.image()).unwrap();
    }
    drop(writer);
    // The fourth record of the sample owns its group and leads on, ours does not.
    assert_eq!(page[120..159], page_of(CRC32, 3)[120..159]);
    assert_eq!(last, 164);

    // The child's number can be changed, and a record below the first is found.
    let mut writer = PageWriter::new(&mut page, &mut log);
    writer.set_child(&format, last, PageNumber(99));
    let view = writer.index_page();
    assert_eq!(view.record(last).child(&format), PageNumber(99));
    let lowest = view.search(&format, &[Some(&encode_i32(-5))], SearchMode::LessOrEqual);
    assert_eq!((lowest.origin, lowest.matched), (125, 0));
    check_index_page(writer.page(), &format).unwrap();
    writer.set_min_rec_mark(125, false);
    assert_eq!(
        check_index_page(writer.page(), &format),
        Err(vec![PageFault::InfoBits {
            origin: 125,
            bits: 0
        }])
    );
}

#[test]
fn a_group_of_nine_splits_into_four_and_five() {
    let mut page = new_page(0);
    for key in 1..=7 {
        insert(&mut page, key);
    }
    assert_eq!(owned(&page), [1, 0, 0, 0, 0, 0, 0, 0, 8]);
    insert(&mut page, 8);
    assert_eq!(owned(&page), [1, 0, 0, 0, 4, 0, 0, 0, 0, 5]);
    let view = IndexPage::new(&page);
    assert_eq!(view.slot_count(), 3);
    assert_eq!(view.slot(1), view.nth_record(3));
    // Into the middle of a full group.
    for key in [-1, -2, -3, -4] {
        insert(&mut page, key);
    }
    assert_eq!(owned(&page), [1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 5]);
    insert(&mut page, 0);
    assert_eq!(owned(&page), [1, 0, 0, 0, 4, 0, 0, 0, 0, 5, 0, 0, 0, 0, 5]);
}

#[test]
fn a_group_of_three_borrows_or_is_merged() {
    let mut page = new_page(0);
    let origins: Vec<_> = (0..8).map(|key| insert(&mut page, key)).collect();
    assert_eq!(owned(&page), [1, 0, 0, 0, 4, 0, 0, 0, 0, 5]);
    // The next group has five and lends one.
    delete(&mut page, origins[1]);
    assert_eq!(owned(&page), [1, 0, 0, 0, 4, 0, 0, 0, 4]);
    // Now it has four: the two become one. The owner itself is deleted.
    delete(&mut page, origins[4]);
    assert_eq!(owned(&page), [1, 0, 0, 0, 0, 0, 0, 7]);
    let view = IndexPage::new(&page);
    assert_eq!(view.slot_count(), 2);
    assert_eq!(view.first_free(), origins[4]);
    assert_eq!(view.next(origins[4]), origins[1]);
    assert_eq!(
        (view.garbage(), view.record_count(), view.last_insert()),
        (26, 6, 0)
    );
    check_index_page(&page, &sbtest_k()).unwrap();
}

#[test]
fn freed_records_are_used_again_with_their_heap_number() {
    let format = edge_primary();
    let row = |id: i32, c: &[u8]| {
        let mut fields = vec![None; 9];
        fields[0] = Some(encode_i32(id).to_vec());
        fields[1] = Some(vec![0; 6]);
        fields[2] = Some(vec![0; 7]);
        fields[5] = Some(c.to_vec());
        fields[7] = Some(vec![0; 8]);
        fields
    };
    let mut page = new_page(0);
    let mut log = NoLog;
    let mut writer = PageWriter::new(&mut page, &mut log);
    let mut buffer = RecordBuffer::new();
    let mut insert = |writer: &mut PageWriter<'_, NoLog>, previous, id, c: &[u8]| {
        format.build(&borrow(&row(id, c)), &mut buffer).unwrap();
        writer
            .insert_record(&format, previous, buffer.image())
            .unwrap()
    };
    // 5 fixed, 1 NULL bits, 1 or 2 length bytes; 25 bytes beside c.
    let first = insert(&mut writer, INFIMUM, 1, b"first");
    let long = insert(&mut writer, first, 2, &[b'x'; 200]);
    let last = insert(&mut writer, long, 3, b"last");
    assert_eq!(
        (first, long, last),
        (127, 127 + 30 + 8, 127 + 30 + 8 + 225 + 7)
    );
    let heap_top = writer.index_page().heap_top();

    writer.delete_record(&format, long);
    assert_eq!(writer.index_page().garbage(), 233);
    // One length byte fewer, so the origin is one to the left.
    let short = insert(&mut writer, last, 4, b"short");
    let page = writer.index_page();
    assert_eq!(short, long - 1);
    assert_eq!(page.record(short).heap_number(), 3);
    assert_eq!((page.heap_top(), page.heap_count()), (heap_top, 5));
    // What the shorter record leaves over is garbage of no record.
    assert_eq!((page.garbage(), page.first_free()), (233 - 37, 0));
    check_index_page(page.bytes(), &format).unwrap();
    let order: Vec<_> = page.records().map(|record| record.heap_number()).collect();
    assert_eq!(order, [2, 4, 3]);

    // A longer record does not fit a freed place and goes to the top.
    writer.delete_record(&format, short);
    let longer = insert(&mut writer, last, 5, b"a little longer");
    assert!(usize::from(longer) > heap_top);
    assert_eq!(writer.index_page().first_free(), short);
    check_index_page(writer.page(), &format).unwrap();
}

#[test]
fn directions_are_noted() {
    let mut page = new_page(0);
    let mut note = |key| {
        insert(&mut page, key);
        let view = IndexPage::new(&page);
        (view.direction(), view.direction_count())
    };
    assert_eq!(note(10), (Direction::None, 0));
    assert_eq!(note(20), (Direction::Right, 1));
    assert_eq!(note(30), (Direction::Right, 2));
    assert_eq!(note(29), (Direction::None, 0));
    assert_eq!(note(28), (Direction::Left, 1));
    assert_eq!(note(27), (Direction::Left, 2));
    assert_eq!(note(100), (Direction::None, 0));
}

#[test]
fn deleting_the_only_record_leaves_a_new_page() {
    let mut page = new_page(0);
    let empty = *page;
    let origin = insert(&mut page, 5);
    delete(&mut page, origin);
    // Only the bytes of the record are left behind.
    assert!(page[..120] == empty[..120]);
    assert!(page[16372..] == empty[16372..]);
}

#[test]
fn a_page_takes_73_ascending_rows_with_the_reserve_of_a_leaf() {
    use innosim_engine::page::BulkPage;
    let format = sbtest_primary();
    let mut page = new_page(0);
    let mut log = NoLog;
    let mut writer = PageWriter::new(&mut page, &mut log);
    let mut bulk = BulkPage::new(&mut writer, index_header::CLUSTERED_LEAF_RESERVE);
    let mut buffer = RecordBuffer::new();
    for row in sbtest_rows() {
        format
            .build(&borrow(&row.clustered_fields()), &mut buffer)
            .unwrap();
        if !bulk.append(buffer.image()) {
            break;
        }
    }
    assert_eq!(bulk.record_count(), 73);
    bulk.finish();
    drop(writer);
    assert_eq!(IndexPage::new(&page).data_size(), 15038);
    check_index_page(&page, &format).unwrap();
}

/// Small records need many slots: here heap and directory meet in the middle.
#[test]
fn a_page_of_small_records_is_filled_to_the_last_byte() {
    let format = sbtest_k();
    let mut page = new_page(0);
    let mut log = NoLog;
    let mut writer = PageWriter::new(&mut page, &mut log);
    let mut buffer = RecordBuffer::new();
    // A permutation of 0..1208, so that groups split all over the page.
    let mut fill = |writer: &mut PageWriter<'_, NoLog>| {
        for step in 0..1208 {
            let key = encode_i32(step * 485 % 1208);
            let key = [Some(&key[..]), Some(&key[..])];
            let view = writer.index_page();
            let place = view.search(&format, &key, SearchMode::LessOrEqual);
            if place.matched == 2 {
                continue;
            }
            format.build(&key, &mut buffer).unwrap();
            let image = buffer.image();
            if writer.insert_record(&format, place.origin, image).is_none() {
                break;
            }
        }
        check_index_page(writer.page(), &format).unwrap();
        writer.index_page().record_count()
    };
    // 16252 bytes, 13 and half a byte of directory for each.
    assert_eq!(fill(&mut writer), 1203);
    assert!(writer.index_page().max_insert_size(1) < 13);
    let heap_top = writer.index_page().heap_top();
    let middle = writer.index_page().nth_record(300);
    writer.delete_list_start(&format, middle);
    let origin = writer.index_page().nth_record(600);
    writer.delete_list_end(&format, origin);
    check_index_page(writer.page(), &format).unwrap();
    assert_eq!(writer.index_page().record_count(), 600);
    // Freed places take new records, and the heap does not grow.
    assert_eq!(fill(&mut writer), 1203);
    assert_eq!(writer.index_page().heap_top(), heap_top);
    assert_eq!(writer.index_page().garbage(), 0);
}

#[test]
fn a_list_that_does_not_fit_is_refused_whole() {
    let format = sbtest_primary();
    let full = page_of(CRC32, 19);
    let source = IndexPage::new(page_of(CRC32, 6));
    let mut page = *full;
    let mut log = NoLog;
    let mut writer = PageWriter::new(&mut page, &mut log);
    let last = writer.index_page().last_record();
    let result = writer.copy_records(&format, last, source, RecordRange::all(source));
    assert_eq!(
        result.unwrap_err().to_string(),
        "73 records of 15038 bytes do not fit the page without a reorganisation"
    );
    drop(writer);
    assert!(page == *full);
}

/// Damages one thing at a time; each must be found, and as what it is.
#[test]
fn the_checker_finds_each_fault() {
    let format: RecordFormat = sbtest_k();
    let sample = *page_of(CRC32, 4);
    let first = usize::from(IndexPage::new(&sample).first_record());
    let owner = usize::from(IndexPage::new(&sample).slot(1));
    let status = [sample[first - 3] | 3];
    type Test = fn(&PageFault) -> bool;
    let cases: Vec<(&str, usize, &[u8], Test)> = vec![
        ("flush LSN", 33, &[1], |f| {
            matches!(f, PageFault::FlushLsn(1))
        }),
        ("slot count", 38, &[0, 1], |f| {
            matches!(f, PageFault::Sizes { slots: 1, .. })
        }),
        ("heap top", 40, &[0x3F, 0xF0], |f| {
            matches!(f, PageFault::Sizes { .. })
        }),
        ("compact flag", 42, &[0x03, 0xEA], |f| {
            matches!(f, PageFault::HeapRecords(0x3EA))
        }),
        ("heap count", 42, &[0x83, 0xEB], |f| {
            matches!(f, PageFault::HeapCount { .. })
        }),
        ("garbage", 47, &[1], |f| {
            matches!(f, PageFault::Garbage { says: 1, has: 0 })
        }),
        ("last insert", 48, &[0x12, 0x34], |f| {
            matches!(f, PageFault::LastInsert(0x1234))
        }),
        ("direction", 51, &[3], |f| {
            matches!(f, PageFault::Direction(3))
        }),
        ("record count", 54, &[0, 1], |f| {
            matches!(f, PageFault::RecordCount { says: 1, .. })
        }),
        ("infimum", 100, b"x", |f| {
            matches!(f, PageFault::SystemRecord { origin: 99 })
        }),
        ("supremum", 109, &[0x0A], |f| {
            matches!(f, PageFault::SystemRecord { origin: 112 })
        }),
        ("free list", 44, &[0, 50], |f| {
            matches!(f, PageFault::List { list: "free", .. })
        }),
        ("next", first - 2, &[0x70, 0], |f| {
            matches!(f, PageFault::List { list: "record", .. })
        }),
        ("circle", first - 2, &[0, 0], |f| {
            matches!(f, PageFault::List { to: 0, .. })
        }),
        ("status", first - 3, &status, |f| {
            matches!(f, PageFault::Status { status: 3, .. })
        }),
        ("heap number", first - 4, &[0xFF], |f| {
            matches!(f, PageFault::HeapNumber { .. })
        }),
        ("min rec", first - 5, &[0x10], |f| {
            matches!(f, PageFault::InfoBits { bits: 0x10, .. })
        }),
        ("owned", owner - 5, &[7], |f| {
            matches!(f, PageFault::Owned { says: 7, .. })
        }),
        ("slot", 16372, &[0, 99], |f| {
            matches!(
                f,
                PageFault::Slot {
                    slot: 1,
                    found: 99,
                    ..
                }
            )
        }),
        ("key", first, &[0xFF], |f| {
            matches!(f, PageFault::KeyOrder { .. })
        }),
    ];
    check_index_page(&sample, &format).unwrap();
    for (what, offset, bytes, is_found) in cases {
        let mut page = sample;
        page[offset..offset + bytes.len()].copy_from_slice(bytes);
        let faults = check_index_page(&page, &format).expect_err(what);
        assert!(faults.iter().any(is_found), "{what}: {faults:?}");
    }
}
