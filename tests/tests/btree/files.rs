//! The file that a table leaves, judged by programs that know nothing of this engine:
//! tools/ibd_check.py (needs Python 3) and innochecksum, where they are installed.

use std::path::Path;
use std::process::Command;

use innosim_engine::btree::{
    BulkLoadOptions, Changer, Index, IndexDefinition, TreeAccess, bulk_load, check_tree,
};
use innosim_engine::page::encoding::{encode_char, encode_i32};
use innosim_engine::page::record_compare::KeyField;
use innosim_engine::page::{Column, RecordBuffer, RecordFormat, RollPointer};
use innosim_engine::page_allocation::create_space;
use innosim_engine::redo_log::MiniTransactionContext;
use innosim_engine::redo_log::sandbox::Sandbox;

use super::world::{Kind, SPACE, World, value};

/// sbtest1: id INT, k INT, c CHAR(120), pad CHAR(60); PRIMARY (id), KEY k_1 (k).
struct Sbtest {
    sandbox: Sandbox,
    context: MiniTransactionContext,
    primary: Index,
    k: Index,
    record: RecordBuffer,
}

/// The column k of a row: many rows share a value.
fn k_of(id: i32) -> i32 {
    (i64::from(id) * 7919 % 1000) as i32
}

fn primary_fields(id: i32, use_fields: impl FnOnce(&[KeyField<'_>])) {
    let (mut c, mut pad) = ([0; 120], [0; 60]);
    encode_char(format!("{id}-c").as_bytes(), &mut c).unwrap();
    encode_char(format!("{id}-pad").as_bytes(), &mut pad).unwrap();
    let (id, k) = (encode_i32(id), encode_i32(k_of(id)));
    let roll = RollPointer::NO_HISTORY.to_bytes();
    use_fields(&[
        Some(&id),
        Some(&[0; 6]),
        Some(&roll),
        Some(&k),
        Some(&c),
        Some(&pad),
    ]);
}

impl Sbtest {
    fn new(directory: &Path) -> Sbtest {
        let sandbox = Sandbox::new(directory, 1000);
        sandbox.create_space(SPACE, 4);
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = sandbox.pages.begin(&mut context);
        create_space(&mut mtr, SPACE).unwrap();
        mtr.commit();
        let mut create = |id, name: &str, format: RecordFormat| {
            let mut mtr = sandbox.pages.begin(&mut context);
            let definition = IndexDefinition {
                id,
                name: name.to_owned(),
                unique_fields: format.key_fields(),
                format,
            };
            let index = Index::create(&mut mtr, SPACE, definition).unwrap();
            mtr.commit();
            index
        };
        let primary = RecordFormat::clustered(
            &[Column::fixed(4)],
            &[Column::fixed(4), Column::fixed(120), Column::fixed(60)],
        );
        let k = RecordFormat::secondary(&[Column::fixed(4), Column::fixed(4)]);
        let primary = create(101, "sbtest1.PRIMARY", primary.unwrap());
        let k = create(102, "sbtest1.k_1", k.unwrap());
        assert_eq!((primary.root.0, k.root.0), (3, 4));
        Sbtest {
            sandbox,
            context,
            primary,
            k,
            record: RecordBuffer::new(),
        }
    }

    fn insert(&mut self, id: i32) {
        let format = &self.primary.format;
        primary_fields(id, |fields| format.build(fields, &mut self.record).unwrap());
        let changer = Changer::without_locks(5);
        let mut tree = TreeAccess {
            pages: &self.sandbox.pages,
            context: &mut self.context,
            index: &self.primary,
            changer,
        };
        let (id, k) = (encode_i32(id), encode_i32(k_of(id)));
        assert!(tree.insert(&[Some(&id)], self.record.image()).unwrap());
        let entry = [Some(&k[..]), Some(&id[..])];
        self.k.format.build(&entry, &mut self.record).unwrap();
        tree.index = &self.k;
        assert!(tree.insert(&entry, self.record.image()).unwrap());
    }

    fn remove(&mut self, id: i32) {
        let mut tree = TreeAccess {
            pages: &self.sandbox.pages,
            context: &mut self.context,
            index: &self.primary,
            changer: Changer::without_locks(5),
        };
        let (id, k) = (encode_i32(id), encode_i32(k_of(id)));
        assert!(tree.remove(&[Some(&id)]).unwrap());
        tree.index = &self.k;
        assert!(tree.remove(&[Some(&k), Some(&id)]).unwrap());
    }

    /// Loads ids from 1 on.
    fn load(&mut self, rows: i32) {
        let options = BulkLoadOptions::default();
        let (pages, context) = (&self.sandbox.pages, &mut self.context);
        let mut id = 0;
        let format = &self.primary.format;
        let loaded = bulk_load(pages, context, &self.primary, options, |record| {
            id += 1;
            if id > rows {
                return Ok(false);
            }
            let mut built = Ok(());
            primary_fields(id, |fields| built = format.build(fields, record));
            built.map(|()| true)
        });
        assert_eq!(loaded.unwrap(), rows as u64);
        let mut entries: Vec<_> = (1..=rows).map(|id| (k_of(id), id)).collect();
        entries.sort_unstable();
        let mut entries = entries.into_iter();
        let format = &self.k.format;
        let loaded = bulk_load(pages, context, &self.k, options, |record| {
            let Some((k, id)) = entries.next() else {
                return Ok(false);
            };
            let (k, id) = (encode_i32(k), encode_i32(id));
            format.build(&[Some(&k), Some(&id)], record).map(|()| true)
        });
        assert_eq!(loaded.unwrap(), rows as u64);
    }

    /// Writes the file, and has it judged; `rows` must be in it.
    fn judge(&self, rows: usize) {
        for index in [&self.primary, &self.k] {
            let report = check_tree(&self.sandbox.pages, index).unwrap();
            let faults: Vec<_> = report.faults.iter().take(5).collect();
            assert!(faults.is_empty(), "{}: {faults:?}", index.name);
            assert_eq!(report.records as usize, rows);
        }
        self.sandbox.flush_all();
        self.sandbox.pages.spaces.flush_unflushed().unwrap();
        judge(&self.sandbox.path_of(SPACE), Path::new("sbtest1"), rows);
    }
}

/// Has a file judged whose clustered index must have so many rows. The schema is the
/// checker's own, or a JSON file.
fn judge(file: &Path, schema: &Path, rows: usize) {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/ibd_check.py");
    let mut python = Command::new("python3");
    python.arg(tool).arg("--schema").arg(schema).arg(file);
    if let Some(report) = verdict("python3", python) {
        let expected = format!("{rows} rows, 0 delete-marked");
        assert!(report.contains(&expected), "{report}");
    }
    let mut innochecksum = Command::new("innochecksum");
    innochecksum.arg(file);
    verdict("innochecksum", innochecksum);
}

/// Has the file of a tree of rows judged.
pub fn judge_world(world: &World, rows: usize) {
    let key = match world.kind {
        Kind::Rows => "binary(4)",
        Kind::LongKeys => "varbinary(900)",
        // A table without a clustered index is none.
        Kind::Entries | Kind::HugeEntries => return,
    };
    let columns = format!(r#"{{"key": "{key}", "value": "varbinary(7000)"}}"#);
    let schema = format!(r#"{{"columns": {columns}, "primary": ["key"]}}"#);
    let schema_file = world.sandbox.directory.join("schema.json");
    std::fs::write(&schema_file, schema).unwrap();
    judge(&world.sandbox.path_of(SPACE), &schema_file, rows);
}

/// What a program says, which must be that the file is good; `None` if it is not here.
fn verdict(name: &str, mut program: Command) -> Option<String> {
    let Ok(output) = program.output() else {
        eprintln!("SKIPPED: {name} is not here, the file was not checked by it");
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert_eq!(output.status.code(), Some(0), "{name}: {text}");
    Some(text)
}

#[test]
fn a_table_filled_and_thinned_row_by_row_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let mut table = Sbtest::new(directory.path());
    for id in 1..=4000 {
        // Half in order, half in none.
        table.insert(if id % 2 == 0 {
            id
        } else {
            5000 + id * 37 % 4001
        });
    }
    table.judge(4000);
    for id in (2..=4000).step_by(2).filter(|id| id % 12 != 0) {
        table.remove(id);
    }
    table.judge(2000 + 333);
    let rest: Vec<_> = (1..=4000)
        .step_by(2)
        .map(|id| 5000 + id * 37 % 4001)
        .collect();
    for id in rest {
        table.remove(id);
    }
    table.judge(333);
    for id in (12..=4000).step_by(12) {
        table.remove(id);
    }
    table.judge(0);
}

#[test]
fn a_tree_of_three_levels_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::new(directory.path(), Kind::LongKeys, 1000);
    let mut user = world.user(0);
    let mut rows = 0;
    for step in 0..4000_u32 {
        let number = step.wrapping_mul(2_654_435_761) >> 12;
        let length = step as usize * 37 % 900;
        rows += usize::from(user.insert(number, &value(length, step)));
        if step % 3 == 0 {
            let other = (step / 2).wrapping_mul(2_654_435_761) >> 12;
            match step % 2 {
                0 => rows -= usize::from(user.remove(other)),
                _ => _ = user.update(other, &value(length * 2, step)),
            }
        }
    }
    let report = world.check();
    assert_eq!((report.height(), report.records as usize), (3, rows));
    world.shut_down();
    judge_world(&world, rows);
}

#[test]
fn a_loaded_table_is_accepted_before_and_after_changes() {
    let directory = tempfile::tempdir().unwrap();
    let mut table = Sbtest::new(directory.path());
    table.load(20_000);
    table.judge(20_000);
    for id in 20_001..=21_000 {
        table.insert(id);
    }
    for id in (1..=21_000).step_by(3) {
        table.remove(id);
    }
    table.judge(14_000);
}
