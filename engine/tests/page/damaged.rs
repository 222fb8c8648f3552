//! Redo on pages that it was not made for: an error, never a panic or an endless loop.

use innosim_engine::page::index_header::{INFIMUM, SUPREMUM};
use innosim_engine::page::insert::{HeapPlace, LinkRecord};
use innosim_engine::page::record_list::DeleteList;
use innosim_engine::page::{
    Column, IndexPage, NoLog, PAGE_SIZE, PageBytes, PageId, PageOperation, PageType, PageWriter,
    RecordBuffer, RecordFormat, SearchMode,
};
use innosim_engine::redo_log::RedoRecord;
use proptest::prelude::*;

const PAGE: PageId = PageId::new(5, 9);

fn format() -> RecordFormat {
    RecordFormat::secondary(&[Column::variable(300).nullable(), Column::fixed(4)]).unwrap()
}

/// A leaf with so many records.
fn leaf(records: u32) -> Box<PageBytes> {
    let mut page = Box::new([0; PAGE_SIZE]);
    let (format, mut buffer) = (format(), RecordBuffer::new());
    let mut log = NoLog;
    let mut writer = PageWriter::new(&mut page, &mut log);
    writer.initialise_index_page(PAGE, 0, 27);
    for number in 0..records {
        let number = number.wrapping_mul(2_654_435_769) % 65_536;
        let key = number.to_be_bytes();
        let fields = [Some(&key[..]), Some(&key[..])];
        let found = IndexPage::new(writer.page()).search(&format, &fields, SearchMode::LessOrEqual);
        format.build(&fields, &mut buffer).unwrap();
        let image = buffer.image();
        if writer.insert_record(&format, found.origin, image).is_none() {
            break;
        }
    }
    drop(writer);
    page
}

/// Bytes that a page of records is written over with, mostly where it keeps its order.
type Damage = Vec<(u16, u8)>;

fn damage() -> impl Strategy<Value = Damage> {
    let place = prop_oneof![38..120_u16, 120..600_u16, 16_000..16_376_u16, 0..16_384_u16];
    prop::collection::vec((place, any::<u8>()), 0..12)
}

fn pages() -> impl Strategy<Value = Box<PageBytes>> {
    prop_oneof![
        1 => any::<bool>().prop_map(|is_index| {
            let mut page = Box::new([0; PAGE_SIZE]);
            if is_index {
                page[24..26].copy_from_slice(&PageType::Index.number().to_be_bytes());
            }
            page
        }),
        1 => prop::collection::vec(any::<u8>(), PAGE_SIZE).prop_map(|bytes| {
            let mut page: Box<PageBytes> = bytes.into_boxed_slice().try_into().unwrap();
            page[24..26].copy_from_slice(&PageType::Index.number().to_be_bytes());
            page
        }),
        8 => (0..200_u32, damage()).prop_map(|(records, damage)| {
            let mut page = leaf(records);
            for (place, byte) in damage {
                page[usize::from(place)] = byte;
            }
            page
        }),
    ]
}

/// An origin of one of the page's records, or any.
#[derive(Clone, Debug)]
enum Origin {
    Any(u16),
    Of(usize, u16),
}

fn origins() -> impl Strategy<Value = Origin> {
    prop_oneof![
        1 => (INFIMUM..16_376).prop_map(Origin::Any),
        4 => (any::<usize>(), 0..2_u16).prop_map(|(pick, off)| Origin::Of(pick, off)),
    ]
}

impl Origin {
    fn on(&self, page: &PageBytes) -> u16 {
        match self {
            Origin::Any(origin) => *origin,
            Origin::Of(pick, off) => {
                let view = IndexPage::new(page);
                let mut origins = vec![INFIMUM, SUPREMUM, view.heap_top() as u16 + 7];
                let mut at = INFIMUM;
                while origins.len() < 250 && (2..16_376).contains(&at) {
                    at = view.next(at);
                    origins.push(at);
                }
                origins.push(view.first_free());
                (origins[pick % origins.len()] + off).clamp(INFIMUM, 16_375)
            }
        }
    }
}

fn operation(
    kind: usize,
    page: &PageBytes,
    origins: &[Origin; 2],
    numbers: [u16; 2],
) -> PageOperation {
    let (origin, other) = (origins[0].on(page), origins[1].on(page));
    let [size, count] = numbers;
    let before = || {
        let mut at = INFIMUM;
        (0..200)
            .take_while(|_| {
                at = IndexPage::new(page).next(at);
                (INFIMUM..16_376).contains(&at) && at != origin
            })
            .count() as u16
    };
    match kind % 9 {
        0 => PageOperation::ClearIndexPage { level: count % 3 },
        1 | 2 => PageOperation::LinkRecord(LinkRecord {
            origin,
            previous: other,
            size,
            place: match kind % 9 {
                1 => HeapPlace::Top,
                _ => HeapPlace::Freed { next_free: count },
            },
        }),
        3 | 4 => PageOperation::UnlinkRecord { origin, size },
        5 => PageOperation::DeleteListEnd(DeleteList {
            border: origin,
            count: (IndexPage::new(page).record_count() as u16).saturating_sub(before()),
            size,
        }),
        6 => PageOperation::DeleteListStart(DeleteList {
            border: origin,
            count: before(),
            size,
        }),
        7 => PageOperation::Reorganise {
            shape: format().shape().clone(),
        },
        _ => PageOperation::Fill {
            offset: origin,
            length: (16_384 - origin).min(size),
            value: count as u8,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_page_makes_redo_panic(
        page in pages(),
        steps in prop::collection::vec(
            (any::<usize>(), [origins(), origins()], [0..60_u16, 0..200_u16], damage()),
            1..20,
        ),
    ) {
        let mut page = page;
        for (kind, origins, numbers, damage) in steps {
            let operation = operation(kind, &page, &origins, numbers);
            let before = page.clone();
            let record = RedoRecord::Operation { page: PAGE, operation };
            if record.apply(&mut page).is_err() {
                prop_assert!(page == before, "a page that is refused stays as it was");
            }
            // Redo writes bytes, too, and these may be of another page.
            for (place, byte) in damage.into_iter().take(kind % 3) {
                let bytes = [byte];
                let record = RedoRecord::Bytes { page: PAGE, offset: place, bytes: &bytes };
                prop_assert_eq!(record.apply(&mut page), Ok(()));
            }
        }
    }
}
