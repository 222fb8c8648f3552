//! Random operations on a page, against a sorted map, with the checker after each
//! step; and the recorded changes replayed on a copy, which must stay the same.

use std::collections::BTreeMap;

use innosim_engine::page::index_header::{INFIMUM, SUPREMUM};
use innosim_engine::page::record_list::RecordRange;
use innosim_engine::page::{
    BulkPage, Change, IndexPage, NoLog, PAGE_SIZE, PageBytes, PageId, PageNumber, PageOperation,
    PageWriter, RecordBuffer, RecordFormat, RecordingLog, RollPointer, SearchMode,
    check_index_page, check_index_structure,
};
use proptest::prelude::*;

use crate::model_rows::{Kind, Row, contents};
use crate::support::*;

#[derive(Clone, Debug)]
enum Step {
    Insert {
        key: u16,
        seed: u32,
    },
    Delete {
        pick: u16,
    },
    Mark {
        pick: u16,
        deleted: bool,
    },
    Update {
        pick: u16,
        field: usize,
        seed: u32,
    },
    Reorganise,
    /// Split before a record, keeping the left or the right half; merge the other
    /// half back if asked to and if it fits.
    Split {
        pick: u16,
        keep_left: bool,
        merge: bool,
    },
    Clear,
    Probe {
        key: u16,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        24 => (any::<u16>(), any::<u32>()).prop_map(|(key, seed)| Step::Insert { key: key % 3000, seed }),
        // Neighbours, so that directions and full groups occur.
        8 => (0..400u16, any::<u32>()).prop_map(|(key, seed)| Step::Insert { key, seed }),
        12 => any::<u16>().prop_map(|pick| Step::Delete { pick }),
        4 => (any::<u16>(), any::<bool>()).prop_map(|(pick, deleted)| Step::Mark { pick, deleted }),
        4 => (any::<u16>(), 0..9usize, any::<u32>())
            .prop_map(|(pick, field, seed)| Step::Update { pick, field, seed }),
        1 => Just(Step::Reorganise),
        1 => (any::<u16>(), any::<bool>(), prop::bool::weighted(0.8))
            .prop_map(|(pick, keep_left, merge)| Step::Split { pick, keep_left, merge }),
        4 => any::<u16>().prop_map(|key| Step::Probe { key: key % 3000 }),
    ];
    let run = prop::collection::vec(step, 1..250);
    (run, prop::bool::weighted(0.1)).prop_map(|(mut steps, clear)| {
        if clear {
            steps.insert(steps.len() / 2, Step::Clear);
        }
        steps
    })
}

struct Run {
    kind: Kind,
    format: RecordFormat,
    page: Box<PageBytes>,
    /// The page as redo makes it, from the recorded changes.
    replica: Box<PageBytes>,
    log: RecordingLog,
    rows: BTreeMap<Fields, Row>,
    buffer: RecordBuffer,
}

impl Run {
    fn new(kind: Kind) -> Run {
        let mut run = Run {
            kind,
            format: kind.format(),
            page: Box::new([0xA5; PAGE_SIZE]),
            replica: Box::new([0x5A; PAGE_SIZE]),
            log: RecordingLog::default(),
            rows: BTreeMap::new(),
            buffer: RecordBuffer::new(),
        };
        run.write(|writer, _| {
            writer.initialise_index_page(PageId::new(7, 9), kind.level(), 27);
            writer.set_siblings(Some(PageNumber(8)), None);
        });
        run.check();
        run
    }

    fn view(&self) -> IndexPage<'_> {
        IndexPage::new(&self.page)
    }

    fn write<T>(
        &mut self,
        change: impl FnOnce(&mut PageWriter<'_, RecordingLog>, &RecordFormat) -> T,
    ) -> T {
        change(
            &mut PageWriter::new(&mut self.page, &mut self.log),
            &self.format,
        )
    }

    /// The key and origin of some record.
    fn pick(&self, pick: u16) -> Option<(Fields, u16)> {
        let index = usize::from(pick).checked_rem(self.rows.len())?;
        Some((
            self.rows.keys().nth(index).unwrap().clone(),
            self.view().nth_record(index),
        ))
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Insert { key, seed } => self.insert(key, seed),
            Step::Delete { pick } => {
                let Some((key, origin)) = self.pick(pick) else {
                    return;
                };
                self.write(|writer, format| writer.delete_record(format, origin));
                self.rows.remove(&key);
            }
            Step::Mark { pick, deleted } => {
                let Some((key, origin)) = self.pick(pick) else {
                    return;
                };
                self.write(|writer, _| writer.set_delete_mark(origin, deleted));
                self.rows.get_mut(&key).unwrap().deleted = deleted;
            }
            Step::Update { pick, field, seed } => self.update(pick, field, seed),
            Step::Reorganise => {
                let size = self.view().data_size();
                self.write(|writer, format| writer.reorganise(format));
                assert_eq!((self.view().garbage(), self.view().data_size()), (0, size));
            }
            Step::Split {
                pick,
                keep_left,
                merge,
            } => self.split(pick, keep_left, merge),
            Step::Clear => {
                let level = self.kind.level();
                self.write(|writer, _| writer.clear_index_page(level));
                self.rows.clear();
            }
            Step::Probe { key } => self.probe(key),
        }
    }

    fn insert(&mut self, key: u16, seed: u32) {
        let fields = self.kind.fields(key, seed);
        let key = self.kind.key_of(&fields);
        let place = self
            .view()
            .search(&self.format, &borrow(&key), SearchMode::LessOrEqual);
        let exists = self.rows.contains_key(&key);
        assert_eq!(place.matched == key.len(), exists);
        if exists {
            return;
        }
        self.kind
            .build(&self.format, &fields, seed, &mut self.buffer);
        let size = self.buffer.image().size();
        let buffer = std::mem::take(&mut self.buffer);
        let mut inserted =
            self.write(|writer, format| writer.insert_record(format, place.origin, buffer.image()));
        if inserted.is_none() {
            assert!(self.view().max_insert_size(1) < size);
            if self.view().max_insert_size_after_reorganise(1) >= size {
                let before = self.view().records_before(place.origin);
                inserted = self.write(|writer, format| {
                    writer.reorganise(format);
                    let page = writer.index_page();
                    let previous = match place.origin {
                        INFIMUM => INFIMUM,
                        _ => page.nth_record(before),
                    };
                    writer.insert_record(format, previous, buffer.image())
                });
                assert!(inserted.is_some(), "there was room after a reorganisation");
            }
        }
        self.buffer = buffer;
        if let Some(origin) = inserted {
            assert_eq!(self.view().last_insert(), origin);
            let child = if self.kind.is_node_pointer() { seed } else { 0 };
            self.rows.insert(
                key,
                Row {
                    fields,
                    child,
                    deleted: false,
                },
            );
        }
    }

    fn update(&mut self, pick: u16, field: usize, seed: u32) {
        let Some((key, origin)) = self.pick(pick) else {
            return;
        };
        let keys = self.format.key_fields();
        let field = field % self.format.columns().len();
        if self.kind.is_node_pointer() {
            self.write(|writer, format| writer.set_child(format, origin, PageNumber(seed)));
            self.rows.get_mut(&key).unwrap().child = seed;
            return;
        }
        if !self.format.is_clustered() {
            return;
        }
        if field <= keys + 1 {
            let roll = RollPointer::from_u64(u64::from(seed) << 20);
            let trx_id = u64::from(seed) * 3;
            self.write(|writer, format| writer.set_system_fields(format, origin, trx_id, roll));
            let row = self.rows.get_mut(&key).unwrap();
            row.fields[keys] = Some(trx_id.to_be_bytes()[2..].to_vec());
            row.fields[keys + 1] = Some(roll.to_bytes().to_vec());
            return;
        }
        let new = self.kind.fields(0, seed)[field].clone();
        let old = self.rows[&key].fields[field].as_ref().map(Vec::len);
        let result =
            self.write(|writer, format| writer.update_field(format, origin, field, new.as_deref()));
        assert_eq!(result.is_ok(), old == new.as_ref().map(Vec::len));
        if result.is_ok() {
            self.rows.get_mut(&key).unwrap().fields[field] = new;
        }
    }

    fn split(&mut self, pick: u16, keep_left: bool, merge: bool) {
        let Some((key, border)) = self.pick(pick) else {
            return;
        };
        let right_rows = self.rows.split_off(&key);
        let left_rows = std::mem::take(&mut self.rows);
        let (kept, mut moved) = if keep_left {
            (left_rows, right_rows)
        } else {
            (right_rows, left_rows)
        };
        let range = match keep_left {
            true => RecordRange::end_from(border),
            false => RecordRange::start_until(self.view(), border),
        };

        let mut other = [0; PAGE_SIZE];
        let mut no_log = NoLog;
        let mut writer = PageWriter::new(&mut other, &mut no_log);
        writer.initialise_index_page(PageId::new(7, 10), self.kind.level(), 27);
        writer.set_siblings(Some(PageNumber(8)), None);
        writer
            .copy_records(&self.format, INFIMUM, self.view(), range)
            .unwrap();
        drop(writer);
        check_index_page(&other, &self.format).unwrap();
        assert_eq!(contents(&other, self.kind, &self.format), moved);

        self.write(|writer, format| match keep_left {
            true => writer.delete_list_end(format, border),
            false => writer.delete_list_start(format, border),
        });
        self.rows = kept;
        self.check();

        if merge {
            let after = if keep_left {
                self.view().last_record()
            } else {
                INFIMUM
            };
            let source = IndexPage::new(&other);
            let (count, size) = RecordRange::all(source).measure(source, &self.format);
            let room = self.view().max_insert_size(count);
            let before = self.page.clone();
            let result = self.write(|writer, format| {
                writer.copy_records(format, after, source, RecordRange::all(source))
            });
            match result {
                Ok(()) => self.rows.append(&mut moved),
                Err(_) => assert!(before == self.page && room < size),
            }
        }
    }

    /// Searches for a key in all modes, whole and shortened.
    fn probe(&self, key: u16) {
        let key = self.kind.key_of(&self.kind.fields(key, 0));
        for length in 1..=key.len() {
            let prefix = &key[..length];
            let keys: Vec<_> = self.rows.keys().collect();
            let below = keys.partition_point(|row| &row[..length] < prefix);
            let not_above = keys.partition_point(|row| &row[..length] <= prefix);
            let matched = |index: usize| {
                keys[index]
                    .iter()
                    .zip(prefix)
                    .take_while(|(left, right)| left == right)
                    .count()
            };
            let at = |index: Option<usize>, edge: u16| match index.filter(|&i| i < keys.len()) {
                Some(index) => (self.view().nth_record(index), matched(index)),
                None => (edge, 0),
            };
            let expected = [
                (SearchMode::Less, at(below.checked_sub(1), INFIMUM)),
                (
                    SearchMode::LessOrEqual,
                    at(not_above.checked_sub(1), INFIMUM),
                ),
                (SearchMode::GreaterOrEqual, at(Some(below), SUPREMUM)),
                (SearchMode::Greater, at(Some(not_above), SUPREMUM)),
            ];
            for (mode, expected) in expected {
                let found = self.view().search(&self.format, &borrow(prefix), mode);
                assert_eq!(
                    (found.origin, found.matched),
                    expected,
                    "{mode:?} {prefix:?}"
                );
                if found.origin != INFIMUM && found.origin != SUPREMUM {
                    let record = self.view().record(found.origin);
                    let comparison = self.format.compare(&borrow(prefix), record);
                    assert_eq!(comparison.matched, found.matched);
                }
            }
        }
    }

    /// The page is sound, holds the model's rows, and redo arrives at it too.
    fn check(&mut self) {
        check_index_page(&self.page, &self.format).unwrap_or_else(|faults| panic!("{faults:?}"));
        assert_eq!(check_index_structure(&self.page), Ok(()));
        assert_eq!(contents(&self.page, self.kind, &self.format), self.rows);
        for (index, record) in self.view().records().enumerate() {
            assert_eq!(self.view().records_before(record.origin()), index);
            assert_eq!(self.view().nth_record(index), record.origin());
            assert_eq!(
                self.view().next(self.view().previous(record.origin())),
                record.origin()
            );
        }
        for change in self.log.changes.drain(..) {
            match change {
                Change::Bytes { .. } => change.apply(&mut self.replica),
                Change::Operation(operation) => {
                    // Through its encoded form, as redo has it.
                    let mut encoded = Vec::new();
                    operation.encode(&mut encoded);
                    let decoded = PageOperation::decode(&mut &encoded[..]).unwrap();
                    assert_eq!(decoded, operation);
                    let is_possible = decoded.check(&self.replica);
                    assert_eq!(is_possible, Ok(()), "{decoded:?}");
                    decoded.apply(&mut self.replica);
                }
            }
        }
        assert!(self.page == self.replica, "redo makes another page");
    }
}

fn run(kind: Kind, steps: &[Step]) {
    let mut run = Run::new(kind);
    for step in steps {
        run.step(step);
        run.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn fixed_rows(steps in steps()) {
        run(Kind::Fixed, &steps);
    }

    #[test]
    fn variable_rows(steps in steps()) {
        run(Kind::Variable, &steps);
    }

    #[test]
    fn small_entries(steps in steps()) {
        run(Kind::Small, &steps);
    }

    #[test]
    fn text_keys(steps in steps()) {
        run(Kind::TextKey, &steps);
    }

    #[test]
    fn node_pointers(steps in steps()) {
        run(Kind::SmallPointer, &steps);
    }

    #[test]
    fn node_pointers_with_text_keys(steps in steps()) {
        run(Kind::TextPointer, &steps);
    }

    /// A bulk-built page of any length holds what was appended, and redo makes the
    /// same page.
    #[test]
    fn bulk_pages(count in 0..1200u16, seed: u32, reserve in 0..2000usize) {
        for kind in [Kind::Variable, Kind::Small, Kind::SmallPointer, Kind::TextKey] {
            let format = kind.format();
            let (mut page, mut log) = ([0; PAGE_SIZE], RecordingLog::default());
            let mut writer = PageWriter::new(&mut page, &mut log);
            writer.initialise_index_page(PageId::new(7, 9), kind.level(), 27);
            writer.set_siblings(Some(PageNumber(8)), None);
            let mut bulk = BulkPage::new(&mut writer, reserve);
            let mut buffer = RecordBuffer::new();
            let mut rows = BTreeMap::new();
            let fields = |key: u16| kind.fields(key, seed.rotate_left(u32::from(key)));
            let mut all: Vec<_> = (0..count).map(fields).collect();
            all.sort_by_key(|fields| kind.key_of(fields));
            for fields in all {
                kind.build(&format, &fields, 0, &mut buffer);
                if !bulk.append(buffer.image()) {
                    break;
                }
                rows.insert(kind.key_of(&fields), Row { fields, child: 0, deleted: false });
            }
            bulk.finish();
            drop(writer);
            check_index_page(&page, &format).unwrap();
            prop_assert_eq!(contents(&page, kind, &format), rows);
            let mut replica = [0; PAGE_SIZE];
            log.replay(&mut replica);
            prop_assert!(replica == page);
            let view = IndexPage::new(&page);
            if view.record_count() > 2 {
                prop_assert!(view.max_insert_size(0) >= reserve);
            }
        }
    }

    /// The checker survives any bytes.
    #[test]
    fn the_checker_survives_damage(
        steps in steps(),
        damage in prop::collection::vec((0..PAGE_SIZE, any::<u8>()), 1..40),
        header in prop::collection::vec((38..130usize, any::<u8>()), 0..4),
    ) {
        for kind in [Kind::Variable, Kind::Small, Kind::TextPointer] {
            let mut run = Run::new(kind);
            steps.iter().take(60).for_each(|step| run.step(step));
            let mut page = run.page.clone();
            for &(offset, byte) in damage.iter().chain(&header) {
                page[offset] = byte;
                let _ = check_index_page(&page, &run.format);
            }
        }
    }

    #[test]
    fn the_checker_survives_noise(seed in prop::collection::vec(any::<u8>(), 61)) {
        let mut page = [0; PAGE_SIZE];
        page.iter_mut().zip(seed.iter().cycle()).for_each(|(to, from)| *to = *from);
        // Let it come past the header.
        page[38..44].copy_from_slice(&[0, 9, 0x20, 0, 0x81, 0]);
        for format in [edge_primary(), sbtest_primary()] {
            let _ = check_index_page(&page, &format);
        }
    }
}
