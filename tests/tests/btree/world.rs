//! A tree with everything around it, and the records that the tests put into it.

use std::path::Path;
use std::sync::Arc;

use innosim_engine::btree::{
    BtreeLatch, Changer, Index, IndexDefinition, TreeAccess, TreeReport, check_tree, move_next,
    seek,
};
use innosim_engine::metrics::Counter;
use innosim_engine::page::index_header::INFIMUM;
use innosim_engine::page::record_compare::KeyField;
use innosim_engine::page::{Column, PageNumber, RecordBuffer, RecordFormat, RollPointer, SpaceId};
use innosim_engine::page_allocation::create_space;
use innosim_engine::redo_log::MiniTransactionContext;
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::runtime::virtual_clock::disk::DiskProfile;
use innosim_engine::runtime::virtual_clock::{Settle, Simulation, SimulationOptions};
use innosim_tests::disk::solid_state_disk;
use innosim_tests::machine::four_cores;

pub const SPACE: SpaceId = SpaceId(7);

pub fn virtually<T: 'static>(seed: u64, main: impl FnOnce() -> T + 'static) -> T {
    virtually_with(seed, Settle::Lazy, main)
}

pub fn virtually_with<T: 'static>(
    seed: u64,
    settle: Settle,
    main: impl FnOnce() -> T + 'static,
) -> T {
    let options = SimulationOptions {
        settle,
        ..options(seed, solid_state_disk())
    };
    let mut simulation = Simulation::new(&options).unwrap();
    simulation
        .run(main)
        .unwrap_or_else(|stalled| panic!("seed {seed}: {stalled}"))
}

/// A machine of four cores and a disk.
pub fn options(seed: u64, disk: DiskProfile) -> SimulationOptions {
    let cpu = four_cores();
    SimulationOptions {
        disks: vec![("disk".to_owned(), disk)],
        ..SimulationOptions::new(cpu, seed)
    }
}

/// What the records of an index look like. All are made from a number, which orders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rows with a key of four bytes and a value of any length up to 7000.
    Rows,
    /// Rows with a key of up to 900 bytes, so that pages above the leaves hold few.
    LongKeys,
    /// Entries of a secondary index with a key of up to 2500 bytes.
    Entries,
    /// Entries with keys of 2500 to 6000 bytes, two to six a page: a very high tree.
    HugeEntries,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Rows, Kind::LongKeys, Kind::Entries, Kind::HugeEntries];

    /// The longest key, and the longest of those that are short.
    fn key_lengths(self) -> (u32, u32) {
        match self {
            Kind::Rows => (4, 4),
            Kind::LongKeys => (900, 30),
            Kind::Entries => (2500, 30),
            Kind::HugeEntries => (6000, 2500),
        }
    }

    pub fn format(self) -> RecordFormat {
        let format = match self {
            Kind::Rows => RecordFormat::clustered(&[Column::fixed(4)], &[Column::variable(7000)]),
            Kind::LongKeys => {
                RecordFormat::clustered(&[Column::variable(900)], &[Column::variable(7000)])
            }
            Kind::Entries => {
                RecordFormat::secondary(&[Column::variable(2500), Column::fixed(4).nullable()])
            }
            Kind::HugeEntries => {
                RecordFormat::secondary(&[Column::variable(6000), Column::fixed(4).nullable()])
            }
        };
        format.unwrap()
    }

    pub fn has_value(self) -> bool {
        !matches!(self, Kind::Entries | Kind::HugeEntries)
    }

    /// The key of a number: its four bytes and a tail whose length the number decides.
    pub fn key(self, number: u32) -> Vec<Vec<u8>> {
        let mut key = number.to_be_bytes().to_vec();
        let (longest, short) = self.key_lengths();
        let mixed = number.wrapping_mul(2_654_435_761) >> 7;
        // Half of the keys are long, the others short.
        let length = match mixed % 2 {
            0 => short + mixed / 2 % (longest - short + 1),
            _ => short - mixed / 2 % short.min(30),
        };
        key.resize(length.max(4) as usize, 0x5A);
        match self.has_value() {
            true => vec![key],
            false => vec![key, number.to_be_bytes().to_vec()],
        }
    }

    pub fn build(self, format: &RecordFormat, number: u32, value: &[u8], out: &mut RecordBuffer) {
        let key = self.key(number);
        let mut fields: Vec<KeyField<'_>> = key.iter().map(|field| Some(&field[..])).collect();
        let roll = RollPointer::NO_HISTORY.to_bytes();
        if self.has_value() {
            fields.extend([Some(&[0; 6][..]), Some(&roll), Some(value)]);
        }
        format.build(&fields, out).unwrap();
    }
}

/// A value that depends on its length and a stamp.
pub fn value(length: usize, stamp: u32) -> Vec<u8> {
    let mut value = vec![stamp as u8; length];
    for (byte, stamp) in value.iter_mut().zip(stamp.to_be_bytes()) {
        *byte = stamp;
    }
    value
}

pub fn borrow(key: &[Vec<u8>]) -> Vec<KeyField<'_>> {
    key.iter().map(|field| Some(&field[..])).collect()
}

/// A tree in a tablespace of its own.
#[derive(Clone)]
pub struct World {
    pub sandbox: Sandbox,
    pub index: Arc<Index>,
    pub kind: Kind,
}

impl World {
    pub fn new(directory: &Path, kind: Kind, frames: usize) -> World {
        World::create(Sandbox::new(directory, frames), kind)
    }

    /// A new tree in a sandbox.
    pub fn create(sandbox: Sandbox, kind: Kind) -> World {
        sandbox.create_space(SPACE, 4);
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = sandbox.pages.begin(&mut context);
        create_space(&mut mtr, SPACE).unwrap();
        mtr.commit();
        let index = World::add_index(&sandbox, &mut context, kind, 101);
        World {
            sandbox,
            index: Arc::new(index),
            kind,
        }
    }

    fn add_index(
        sandbox: &Sandbox,
        context: &mut MiniTransactionContext,
        kind: Kind,
        id: u64,
    ) -> Index {
        let mut mtr = sandbox.pages.begin(context);
        let index = Index::create(&mut mtr, SPACE, World::definition(kind, id)).unwrap();
        mtr.commit();
        index
    }

    /// The tree that an earlier run has left in the space of a sandbox.
    pub fn open(sandbox: Sandbox, kind: Kind) -> World {
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = sandbox.pages.begin(&mut context);
        let index = Index::open(&mut mtr, SPACE, PageNumber(3), World::definition(kind, 101));
        mtr.commit();
        World {
            sandbox,
            index: Arc::new(index.unwrap()),
            kind,
        }
    }

    fn definition(kind: Kind, id: u64) -> IndexDefinition {
        let format = kind.format();
        IndexDefinition {
            id,
            name: format!("t.{kind:?}"),
            unique_fields: format.key_fields(),
            format,
        }
    }

    pub fn user(&self, number: usize) -> User {
        User {
            world: self.clone(),
            context: MiniTransactionContext::new(number),
            record: RecordBuffer::new(),
        }
    }

    /// Checks the tree; it must be without a fault.
    pub fn check(&self) -> TreeReport {
        let report = check_tree(&self.sandbox.pages, &self.index).unwrap();
        assert_eq!(report.faults, Vec::<String>::new(), "{report:?}");
        report
    }

    /// Writes everything and closes the files; checks the pool.
    pub fn shut_down(&self) {
        self.sandbox.flush_all();
        assert_eq!(self.sandbox.pages.pool.faults(), Vec::<String>::new());
        assert_eq!(self.sandbox.pages.pool.fixed_pages(), 0);
        self.sandbox.pages.spaces.close_all().unwrap();
    }
}

/// One who uses the tree.
pub struct User {
    pub world: World,
    pub context: MiniTransactionContext,
    record: RecordBuffer,
}

impl User {
    fn with<T>(
        &mut self,
        number: u32,
        value: &[u8],
        changer: Changer<'_>,
        act: impl FnOnce(TreeAccess<'_>, &[KeyField<'_>], &RecordBuffer) -> T,
    ) -> T {
        let index = self.world.index.clone();
        let kind = self.world.kind;
        kind.build(&index.format, number, value, &mut self.record);
        let key = kind.key(number);
        let access = TreeAccess {
            pages: &self.world.sandbox.pages,
            context: &mut self.context,
            index: &index,
            changer,
        };
        act(access, &borrow(&key), &self.record)
    }

    pub fn insert(&mut self, number: u32, value: &[u8]) -> bool {
        self.insert_as(number, value, Changer::without_locks(9))
    }

    pub fn insert_as(&mut self, number: u32, value: &[u8], changer: Changer<'_>) -> bool {
        self.with(number, value, changer, |mut tree, key, record| {
            tree.insert(key, record.image()).unwrap()
        })
    }

    pub fn update(&mut self, number: u32, value: &[u8]) -> bool {
        self.update_as(number, value, Changer::without_locks(9))
    }

    pub fn update_as(&mut self, number: u32, value: &[u8], changer: Changer<'_>) -> bool {
        self.with(number, value, changer, |mut tree, key, record| {
            tree.update(key, record.image()).unwrap()
        })
    }

    pub fn remove(&mut self, number: u32) -> bool {
        self.remove_as(number, Changer::without_locks(9))
    }

    pub fn remove_as(&mut self, number: u32, changer: Changer<'_>) -> bool {
        self.with(number, &[], changer, |mut tree, key, _| {
            tree.remove(key).unwrap()
        })
    }

    /// How often something was counted.
    pub fn counter(&self, counter: Counter) -> u64 {
        let metrics = &self.world.sandbox.pages.metrics;
        metrics.snapshot(&|_| 0).counter(counter)
    }

    /// Up to `limit` records from a number on: number and value.
    pub fn range(&mut self, from: u32, limit: usize) -> Vec<(u32, Vec<u8>)> {
        let index = self.world.index.clone();
        let has_value = self.world.kind.has_value();
        let mut found = Vec::new();
        let mut mtr = self.world.sandbox.pages.begin(&mut self.context);
        let key = from.to_be_bytes();
        let start = seek(
            &mut mtr,
            &index,
            &[Some(&key)],
            false,
            BtreeLatch::SearchLeaf,
        );
        let mut next = start.unwrap();
        while let Some(mut position) = next.filter(|_| found.len() < limit) {
            assert_ne!(position.origin, INFIMUM);
            let record = position.record(&mtr);
            let key = record.field(&index.format, 0).unwrap();
            let number = u32::from_be_bytes(key[..4].try_into().unwrap());
            let value = match has_value {
                true => record.field(&index.format, 3).unwrap().to_vec(),
                false => Vec::new(),
            };
            found.push((number, value));
            next = match move_next(&mut mtr, &index, &mut position).unwrap() {
                true => Some(position),
                false => None,
            };
        }
        mtr.commit();
        found
    }
}
