//! The rule in numbers that were worked out by hand.

use super::*;
use crate::page_cleaner::policy::DirtyAges;
use crate::page_cleaner::redo_state::RedoAges;

/// Each instance has so many old pages, whatever the LSN.
struct Old<'a>(&'a [usize]);

impl DirtyAges for Old<'_> {
    fn pages_up_to(&self, instance: usize, _: Lsn, limit: usize) -> usize {
        self.0[instance].min(limit)
    }
}

/// Pages that became dirty at these LSNs, in one instance.
struct At(Vec<Lsn>);

impl DirtyAges for At {
    fn pages_up_to(&self, _: usize, lsn: Lsn, limit: usize) -> usize {
        self.0.iter().filter(|&&at| at <= lsn).count().min(limit)
    }
}

const REDO: RedoAges = RedoAges {
    capacity: 1000,
    async_age: 800,
    sync_age: 900,
};

fn snapshot<'a>(old: &'a dyn DirtyAges, instances: usize) -> FlushSnapshot<'a> {
    FlushSnapshot {
        now: SECOND,
        lsn: 100_000,
        oldest_modification: Some(100_000),
        checkpoint_age: 0,
        redo: REDO,
        list_flushed: 0,
        lru_flushed: 0,
        lru_pages: 900,
        free_frames: 99,
        dirty_pages: 0,
        instances,
        sync_target: None,
        dirty_ages: old,
    }
}

fn settings(io: u64, io_max: u64) -> PolicySettings {
    PolicySettings {
        io_capacity: io,
        io_capacity_max: io_max,
        ..PolicySettings::new()
    }
}

/// The published curve: rows are f, columns ratios 1, 2, 4, 10.
#[test]
fn the_curve_of_age_is_the_servers() {
    let table = [
        (5, [1, 2, 5, 14]),
        (10, [4, 8, 16, 42]),
        (20, [11, 23, 47, 119]),
        (30, [21, 43, 87, 219]),
        (40, [33, 67, 134, 337]),
        (50, [47, 94, 188, 471]),
        (60, [61, 123, 247, 619]),
        (75, [86, 173, 346, 866]),
        (90, [113, 227, 455, 1138]),
        (100, [133, 266, 533, 1333]),
    ];
    for is_8_0 in [true, false] {
        for (factor, percents) in table {
            for (ratio, percent) in [1, 2, 4, 10].into_iter().zip(percents) {
                let settings = PolicySettings {
                    adaptive_flushing_lwm: 0,
                    is_8_0,
                    ..settings(200, 200 * ratio)
                };
                let found = percent_for_age(&settings, factor * 8, 1000, 800);
                assert_eq!(found, percent, "f {factor}, ratio {ratio}");
            }
        }
    }
}

#[test]
fn the_age_term_has_steps_and_roundings() {
    let percent = |settings: &PolicySettings, age| percent_for_age(settings, age, 1000, 800);
    let integer = settings(200, 390);
    // 390 / 200 is 1: f = 50 gives 47, not 91.
    assert_eq!(percent(&integer, 400), 47);
    assert_eq!(percent(&settings(200, 400), 400), 94);
    // Low-water mark: 10 % of 1000. f = 12.5 there, so the start is a step to 5.
    assert_eq!(percent(&integer, 99), 0);
    assert_eq!(percent(&integer, 100), 5);
    // 5.7 takes f = 12: 12 * 3.4641 / 7.5 = 5.54; f = 19 of 159: 11.04; 8.0: f = 19.875,
    // 88.6 / 7.5 = 11.81.
    let old = PolicySettings {
        is_8_0: false,
        ..integer
    };
    assert_eq!((percent(&old, 100), percent(&old, 159)), (5, 11));
    // f = 14.875 gives 7.649, f = 14 gives 6.98.
    assert_eq!((percent(&old, 119), percent(&integer, 119)), (6, 7));
    // Without adaptive flushing: nothing below the limit, the curve from there on.
    let off = PolicySettings {
        adaptive_flushing: false,
        ..integer
    };
    assert_eq!(percent(&off, 799), 0);
    assert_eq!(percent(&off, 800), 133);
    // Low-water mark of a capacity that it does not divide: 10 * 1009 / 100 = 100.
    assert_eq!(percent_for_age(&integer, 100, 1009, 800), 5);
    // A log without a limit yet is not divided by.
    assert_eq!(percent_for_age(&integer, 0, 0, 0), 0);
}

#[test]
fn the_dirty_term_has_a_mark_and_a_ceiling() {
    let with = |lwm, max| PolicySettings {
        max_dirty_pages_pct: max,
        max_dirty_pages_pct_lwm: lwm,
        ..PolicySettings::new()
    };
    let defaults = with(10.0, 90.0);
    // 10 * 100 / 91 = 10.99; 45: 49.45; 90: 98.9.
    for (dirty, percent) in [(0.0, 0), (9.99, 0), (10.0, 10), (45.0, 49), (90.0, 98)] {
        assert_eq!(percent_for_dirty(&defaults, dirty), percent, "{dirty}");
    }
    // No mark: a step at the ceiling.
    let step = with(0.0, 75.0);
    for (dirty, percent) in [(0.0, 0), (74.9, 0), (75.0, 100), (100.0, 100)] {
        assert_eq!(percent_for_dirty(&step, dirty), percent, "{dirty}");
    }
    assert_eq!(percent_for_dirty(&with(0.0, 0.0), 0.0), 0);
    assert_eq!(percent_for_dirty(&with(0.0, 0.0), 0.1), 100);
}

/// One round with a history.
struct Cell {
    io: u64,
    io_max: u64,
    dirty: u64,
    age: u64,
    page_rate: u64,
    old: &'static [usize],
    /// Pages for redo's speed, pages in all, pages of each instance.
    expected: (u64, u64, &'static [u64]),
}

#[test]
fn pages_of_a_round_in_numbers() {
    // The pool has 1000 frames: dirty pages in tenths of a percent.
    let cells = [
        // Nothing dirty, nothing old: 1 / 3.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 0,
            age: 0,
            page_rate: 0,
            old: &[0],
            expected: (1, 0, &[1]),
        },
        // dirty 50 %: 54 % of 200 = 108; (108 + 0 + 1) / 3 = 36.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 500,
            age: 0,
            page_rate: 0,
            old: &[0],
            expected: (1, 36, &[37]),
        },
        // Three terms of 108 give 108: 324 / 3 old pages.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 500,
            age: 0,
            page_rate: 108,
            old: &[324],
            expected: (108, 108, &[109]),
        },
        // (108 + 107 + 108) / 3 = 107.67.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 500,
            age: 0,
            page_rate: 107,
            old: &[324],
            expected: (108, 107, &[108]),
        },
        // 326 / 3 = 108.67, rounded down.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 500,
            age: 0,
            page_rate: 108,
            old: &[326],
            expected: (108, 108, &[109]),
        },
        // dirty 9.9 %: below the mark; (0 + 30 + 1) / 3 = 10.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 99,
            age: 0,
            page_rate: 30,
            old: &[2],
            expected: (1, 10, &[11]),
        },
        // dirty 10 %: 10 % of 200 = 20; (20 + 30 + 1) / 3 = 17.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 100,
            age: 0,
            page_rate: 30,
            old: &[2],
            expected: (1, 17, &[18]),
        },
        // The larger percent counts: age 400 is f 50, 94 % of 200 = 188; dirty 54 %.
        // (188 + 0 + 1) / 3 = 63, by old pages: 1 * 63 / 1 + 1.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 500,
            age: 400,
            page_rate: 0,
            old: &[0],
            expected: (1, 63, &[64]),
        },
        // Integer ratio: 390 / 200 = 1, 47 % = 94; dirty 54 % = 108 is more.
        // The split goes by the age's 47 > 30: 1 * 36 / 1 + 1.
        Cell {
            io: 200,
            io_max: 390,
            dirty: 500,
            age: 400,
            page_rate: 0,
            old: &[0],
            expected: (1, 36, &[37]),
        },
        // The ceiling: f = 100, 266 % of 200 = 532; (532 + 800 + 800) / 3 = 710 > 400.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 0,
            age: 800,
            page_rate: 800,
            old: &[2400],
            expected: (800, 400, &[401]),
        },
        // Old pages count up to twice io_max: 3000 / 3 = 1000, taken as 800.
        // (0 + 0 + 800) / 3 = 266.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 0,
            age: 0,
            page_rate: 0,
            old: &[3000],
            expected: (1000, 266, &[267]),
        },
        // Counting stops at (2 * 400 / 1) * 3 * 2 = 4800 pages of an instance.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 0,
            age: 0,
            page_rate: 0,
            old: &[9000],
            expected: (1600, 266, &[267]),
        },
        // Two instances, even split: (108 + 0 + 50) / 3 = 52, 26 + 1 each.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 500,
            age: 0,
            page_rate: 0,
            old: &[150, 0],
            expected: (50, 52, &[27, 27]),
        },
        // Odd numbers: (108 + 3 + 50) / 3 = 53; 53 / 2 = 26.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 500,
            age: 0,
            page_rate: 3,
            old: &[150, 0],
            expected: (50, 53, &[27, 27]),
        },
        // By old pages: f = 50, 188; (188 + 0 + 50) / 3 = 79; req 51 and 1, sum 50:
        // 51 * 79 / 50 + 1 = 81, 1 * 79 / 50 + 1 = 2.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 0,
            age: 400,
            page_rate: 0,
            old: &[150, 0],
            expected: (50, 79, &[81, 2]),
        },
        // 100 and 50 old pages: req 34 and 17, sum 150 / 3 = 50: 34 * 79 / 50 + 1 = 54,
        // 17 * 79 / 50 + 1 = 27.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 0,
            age: 400,
            page_rate: 0,
            old: &[100, 50],
            expected: (50, 79, &[54, 27]),
        },
        // At 30 % still even: f = 23.3 (187 of 800) gives 30.1 -> 30;
        // 60 + 0 + 50 = 110, / 3 = 36; 18 + 1.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 0,
            age: 187,
            page_rate: 0,
            old: &[150, 0],
            expected: (50, 36, &[19, 19]),
        },
        // 31 %: f = 23.875 (191) gives 31.1; 62 + 50 = 112, / 3 = 37;
        // 51 * 37 / 50 + 1 = 38, 1 * 37 / 50 + 1 = 1.
        Cell {
            io: 200,
            io_max: 400,
            dirty: 0,
            age: 191,
            page_rate: 0,
            old: &[150, 0],
            expected: (50, 37, &[38, 1]),
        },
        // Defaults of 8.4, four instances: dirty 90 %: 98 % of 10000 = 9800;
        // (9800 + 5000 + 4000) / 3 = 6266; 1566 + 1.
        Cell {
            io: 10_000,
            io_max: 20_000,
            dirty: 900,
            age: 0,
            page_rate: 5000,
            old: &[3000; 4],
            expected: (4000, 6266, &[1567; 4]),
        },
        // The low-water mark of age: 99 is nothing, 100 is f = 12.5, ratio 2: 11 %.
        Cell {
            io: 10_000,
            io_max: 20_000,
            dirty: 0,
            age: 99,
            page_rate: 0,
            old: &[0; 4],
            expected: (1, 0, &[1; 4]),
        },
        // 1100 + 0 + 1 = 1101, / 3 = 367; / 4 = 91.
        Cell {
            io: 10_000,
            io_max: 20_000,
            dirty: 0,
            age: 100,
            page_rate: 0,
            old: &[0; 4],
            expected: (1, 367, &[92; 4]),
        },
        // io_max below io: ratio 0, so age asks for nothing, and the ceiling is low.
        Cell {
            io: 400,
            io_max: 300,
            dirty: 900,
            age: 800,
            page_rate: 900,
            old: &[900],
            expected: (300, 300, &[301]),
        },
        // A percentage of an odd capacity: 49 % of 101 = 49.49; (49 + 1 + 1) / 3 = 17.
        Cell {
            io: 101,
            io_max: 202,
            dirty: 450,
            age: 0,
            page_rate: 1,
            old: &[0],
            expected: (1, 17, &[18]),
        },
    ];
    for (number, cell) in cells.iter().enumerate() {
        let old = Old(cell.old);
        let mut snapshot = snapshot(&old, cell.old.len());
        snapshot.dirty_pages = cell.dirty;
        snapshot.oldest_modification = Some(snapshot.lsn - cell.age);
        let mut policy = V57::new(settings(cell.io, cell.io_max));
        policy.window = Some(Window { lsn: 1, time: 0 });
        policy.average_page_rate = cell.page_rate;
        let plan = policy.plan(&snapshot);
        let found = (plan.pages_for_lsn, plan.total, plan.pages.as_slice());
        assert_eq!(found, cell.expected, "cell {number}: {plan:?}");
        assert_eq!(plan.lsn_limit, Lsn::MAX);
    }
}

#[test]
fn a_split_of_5_7_is_rounded_down_and_counts_all() {
    let old = Old(&[9000, 1]);
    let mut policy = V57::new(PolicySettings {
        is_8_0: false,
        ..settings(200, 400)
    });
    policy.window = Some(Window { lsn: 1, time: 0 });
    let plan = policy.plan(&snapshot(&old, 2));
    // 9001 / 3 = 3000, taken as 800: 266.
    assert_eq!((plan.pages_for_lsn, plan.total), (3000, 266));
    assert_eq!(plan.pages, [133, 133]);
}

#[test]
fn averages_are_renewed_after_so_many_rounds_or_seconds() {
    let old = Old(&[0]);
    let mut now = snapshot(&old, 1);
    let mut policy = V57::new(PolicySettings {
        flushing_avg_loops: 3,
        ..settings(200, 400)
    });
    // The first call only begins a window.
    assert_eq!(policy.plan(&now), FlushPlan::nothing(1));
    // Three rounds of a second: 90 pages, 3001 bytes.
    for round in 1..=3 {
        now.now += SECOND;
        now.lsn += 1000 + u64::from(round == 3);
        now.oldest_modification = Some(now.lsn);
        now.list_flushed = 30;
        let plan = policy.plan(&now);
        assert_eq!(plan.is_window_over, round == 3);
        let rates = (plan.average_page_rate, plan.average_lsn_rate);
        // 30 a second, of which half; 1000 a second, of which half.
        assert_eq!(rates, if round == 3 { (15, 500) } else { (0, 0) });
    }
    // Without new redo nothing is done, and pages flushed meanwhile are not counted.
    now.now += SECOND;
    now.list_flushed = 1000;
    let plan = policy.plan(&now);
    assert_eq!((plan.total, plan.average_page_rate), (0, 15));
    assert!(!plan.is_window_over);
    // One round that took 3.9 s: 3 whole ones. (100 / 3 + 15) / 2 = 24.17;
    // (500 + 1000 / 3) / 2 = 416.
    now.now += 2 * SECOND + 9 * (SECOND / 10);
    now.lsn += 1000;
    now.list_flushed = 100;
    let plan = policy.plan(&now);
    assert!(plan.is_window_over);
    assert_eq!((plan.average_page_rate, plan.average_lsn_rate), (24, 416));
    // Rounds that follow at once: the divisor is at least 1.
    for _ in 0..3 {
        now.lsn += 100;
        now.list_flushed = 8;
        policy.plan(&now);
    }
    // (24 / 1 + 24) / 2, (416 + 300) / 2.
    assert_eq!(
        (policy.average_page_rate, policy.average_lsn_rate),
        (24, 358)
    );
}

#[test]
fn redo_is_looked_ahead_for_three_seconds() {
    let old = At(vec![1000, 1299, 1300, 1301, 5000]);
    let mut now = snapshot(&old, 1);
    now.lsn = 1500;
    now.oldest_modification = Some(1000);
    let mut policy = V57::new(settings(200, 400));
    policy.window = Some(Window { lsn: 1, time: 0 });
    policy.average_lsn_rate = 100;
    // Up to 1300, itself included: 3 pages.
    assert_eq!(policy.plan(&now).pages_for_lsn, 1);
    policy.average_lsn_rate = 5000;
    assert_eq!(policy.plan(&now).pages_for_lsn, 5 / 3);
}

#[test]
fn a_sync_round_of_8_0_has_a_limit_and_one_of_5_7_has_none() {
    let old = Old(&[300, 100]);
    let mut now = snapshot(&old, 2);
    now.sync_target = Some(99_000);
    let mut policy = V57::new(settings(200, 400));
    policy.average_lsn_rate = 50;
    let plan = policy.plan(&now);
    assert_eq!((plan.total, plan.lsn_limit), (400, 99_150));
    // 300 * 400 / 400 + 1, 100 * 400 / 400 + 1.
    assert_eq!(plan.pages, [301, 101]);
    // At most 2 * 400, at least 200.
    let many = Old(&[3000, 1000]);
    now.dirty_ages = &many;
    // Counting stops at 2 * 400 / 2 * 6 = 2400: (2400, 1000) of 800.
    let plan = policy.plan(&now);
    assert_eq!((plan.total, plan.pages), (800, vec![565, 236]));
    let few = Old(&[3, 0]);
    now.dirty_ages = &few;
    let plan = policy.plan(&now);
    assert_eq!((plan.total, plan.pages), (200, vec![201, 1]));

    let mut furious = V57::new(PolicySettings {
        is_8_0: false,
        ..settings(200, 400)
    });
    let plan = furious.plan(&now);
    assert_eq!((plan.pages, plan.lsn_limit), (vec![u64::MAX; 2], 99_000));
    assert!(furious.window.is_none(), "not part of the averages");
}
