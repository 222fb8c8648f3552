//! Trees that are loaded in order.

use std::path::Path;

use innosim_engine::btree::{BtreeError, BulkLoadOptions, bulk_load};
use innosim_engine::redo_log::MiniTransactionContext;

use super::world::{Kind, World, value, virtually};

fn load(world: &World, numbers: impl IntoIterator<Item = u32>) -> Result<u64, BtreeError> {
    load_with(world, BulkLoadOptions::default(), numbers)
}

fn load_with(
    world: &World,
    options: BulkLoadOptions,
    numbers: impl IntoIterator<Item = u32>,
) -> Result<u64, BtreeError> {
    let mut context = MiniTransactionContext::new(0);
    let mut numbers = numbers.into_iter();
    let format = &world.index.format;
    let pages = &world.sandbox.pages;
    bulk_load(pages, &mut context, &world.index, options, |record| {
        let Some(number) = numbers.next() else {
            return Ok(false);
        };
        let length = number as usize * 31 % 300;
        world
            .kind
            .build(format, number, &value(length, number), record);
        Ok(true)
    })
}

#[test]
fn what_was_loaded_is_there() {
    for kind in Kind::ALL {
        for count in [0, 1, 2, 40, 300, 3000] {
            virtually(1, move || {
                let world = World::new(Path::new("/test"), kind, 4000);
                assert_eq!(load(&world, 0..count).unwrap(), u64::from(count));
                let report = world.check();
                assert_eq!(report.records, u64::from(count), "{kind:?}");
                assert!(count < 3000 || report.height() > 1);
                let mut user = world.user(0);
                let found = user.range(0, usize::MAX);
                assert!(found.iter().map(|row| row.0).eq(0..count));
                // It goes on as any tree does.
                for number in (0..count).step_by(2) {
                    assert!(user.remove(number));
                }
                for number in count..count + 200 {
                    assert!(user.insert(number, &value(100, number)));
                }
                world.check();
                world.shut_down();
            });
        }
    }
}

/// Pages that are full up to the root do not merge when a neighbour empties: they leave
/// the tree one by one, whole branches of it, and first keys change far up.
#[test]
fn branches_of_a_full_tree_die_off() {
    for (kind, count) in [(Kind::Entries, 20_000), (Kind::HugeEntries, 3000)] {
        for start in [0, count / 3, count / 2] {
            virtually(1, move || {
                let world = World::new(Path::new("/test"), kind, 6000);
                load(&world, 0..count).unwrap();
                let height = world.check().height();
                assert!(height >= 4, "{kind:?}: {height} levels");
                let mut user = world.user(0);
                for number in start..count {
                    assert!(user.remove(number));
                    if number % (count / 25) == 0 {
                        world.check();
                    }
                }
                for number in (0..start).rev() {
                    assert!(user.remove(number));
                    if number % (count / 25) == 0 {
                        world.check();
                    }
                }
                let report = world.check();
                assert_eq!((report.height(), report.records), (1, 0));
            });
        }
    }
}

#[test]
fn leaves_keep_a_sixteenth_free_and_the_log_is_spared() {
    virtually(1, || {
        let world = World::new(Path::new("/test"), Kind::Rows, 2000);
        let before = world.sandbox.pages.log.current_lsn();
        load(&world, 0..3000).unwrap();
        assert_eq!(world.sandbox.pages.log.current_lsn(), before);
        let logged = World::new(Path::new("/other"), Kind::Rows, 2000);
        let options = BulkLoadOptions {
            logged: true,
            ..BulkLoadOptions::default()
        };
        let before = logged.sandbox.pages.log.current_lsn();
        load_with(&logged, options, 0..3000).unwrap();
        assert!(logged.sandbox.pages.log.current_lsn() - before > 3000 * 150);
        assert_eq!(world.check(), logged.check());
        // Rows of 172 bytes on average, 15360 bytes a leaf.
        let leaves = world.check().pages[0];
        assert!((33..=37).contains(&leaves), "{leaves} leaves");
    });
}

#[test]
fn records_out_of_order_and_full_indexes_are_refused() {
    virtually(1, || {
        let world = World::new(Path::new("/test"), Kind::Rows, 1000);
        let numbers = (0..1000).chain([500]);
        let error = load(&world, numbers).unwrap_err().to_string();
        assert!(error.contains("ascending order"), "{error}");
        let world = World::new(Path::new("/other"), Kind::Rows, 1000);
        load(&world, 0..10).unwrap();
        let error = load(&world, 20..30).unwrap_err().to_string();
        assert!(error.contains("empty index"), "{error}");
        assert!(error.contains("10 records"), "{error}");
    });
}
