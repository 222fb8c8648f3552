//! The write-back cache: completion, rewrites, destaging, flushes.

use super::*;
use crate::runtime::virtual_clock::disk::test_bench::Outcome;
use crate::runtime::virtual_clock::disk::{MICROSECOND, SECOND};

#[test]
fn cached_writes_complete_at_once_and_free_their_room_when_destaged() {
    let profile = RotatingArrayProfile {
        copies: 2,
        ..cached(CacheProtection::Protected)
    };
    let mut bench = bench(&profile);
    // The cache has 64 lines; the other 36 wait for room.
    let asks: Vec<Ask> = (0..100)
        .map(|index| write(index * 16384 * 31, PAGE))
        .collect();
    let times = completions(&mut bench, &asks);
    let at_once = times.iter().filter(|&&time| time == 0.0).count();
    assert_eq!(at_once, 64);
    let counters = bench.lawful_counters();
    assert_eq!(counters.buffer.maximum, 2 << 20, "both copies count");
    assert_eq!(counters.buffer.value, 0);
    assert_eq!(
        (counters.mechanics.destaged, counters.units.served),
        (200, 200)
    );
}

#[test]
fn rewrites_of_a_waiting_line_cost_no_write_of_the_disk() {
    let mut bench = bench(&cached(CacheProtection::Protected));
    // While a read keeps the disk from destaging, a log writes eight times into one page.
    bench.submit(read(0, PAGE));
    for index in 0..8 {
        bench.submit(write(32768 + index * 2048, 2048));
    }
    // What lies in the cache is read from there.
    let hit = bench.submit(read(32768, PAGE));
    let done = bench.drain();
    assert!(
        done.iter().any(|&(id, latency)| id == hit && latency == 0),
        "{done:?}"
    );
    let counters = bench.lawful_counters();
    assert_eq!(
        (counters.mechanics.destaged, counters.mechanics.absorbed),
        (1, 7)
    );
    assert_eq!(counters.mechanics.cache_hits, 1);
    assert_eq!(counters.units.served, 2);
}

#[test]
fn destaging_waits_for_reads_until_the_threshold() {
    // One disk, a client that always reads, and writes up to a fill of the cache.
    for (lines, destages) in [(50, false), (60, true)] {
        let profile = RotatingArrayProfile {
            spindles: 1,
            ..cached(CacheProtection::Protected)
        };
        let mut bench = bench(&profile);
        for _ in 0..2 {
            bench.submit(read(1 << 30, PAGE));
        }
        for line in 0..lines {
            bench.submit(write(line << 20, PAGE));
        }
        while bench.now < SECOND {
            let Some(Outcome::Completed { id, .. }) = bench.next() else {
                unreachable!()
            };
            if id < 2 || id >= 2 + lines {
                let address = bench.address(1 << 33, 16384);
                bench.submit(read(address + (1 << 34), PAGE));
            }
        }
        let counters = bench.disk.counters(bench.now);
        assert_eq!(counters.mechanics.destaged > 0, destages);
        assert!(
            counters.buffer.value >= 50 << 14,
            "it stops below the threshold"
        );
    }
}

#[test]
fn a_flush_of_a_volatile_cache_waits_for_all_earlier_writes() {
    for (protection, copies) in [
        (CacheProtection::Volatile, 1),
        (CacheProtection::Volatile, 2),
        (CacheProtection::Protected, 1),
    ] {
        let mut bench = bench(&RotatingArrayProfile {
            copies,
            ..cached(protection)
        });
        let earlier = (0..80).map(|index| write(index * 16384 * 31, PAGE));
        let asks: Vec<Ask> = earlier.chain([FLUSH, write(0, PAGE), FLUSH]).collect();
        for ask in asks {
            bench.submit(ask);
        }
        let (mut flushed, mut destaged) = (Vec::new(), Vec::new());
        while let Some(outcome) = bench.next() {
            if let Outcome::Completed {
                id: 80 | 82,
                latency,
            } = outcome
            {
                flushed.push(latency);
                destaged.push(bench.disk.counters(bench.now).mechanics.destaged);
            }
        }
        let counters = bench.lawful_counters();
        let copies = u64::from(copies);
        assert!(counters.mechanics.destaged >= 80 * copies);
        if protection == CacheProtection::Volatile {
            assert!(destaged[0] >= 80 * copies, "{destaged:?}");
            assert!(flushed[0] >= 5 * MILLISECOND);
        } else {
            assert_eq!(flushed, [10 * MICROSECOND, 20 * MICROSECOND]);
        }
    }
}

#[test]
fn a_flush_is_not_starved_by_reads() {
    let profile = RotatingArrayProfile {
        spindles: 1,
        ..cached(CacheProtection::Volatile)
    };
    let mut bench = bench(&profile);
    for _ in 0..4 {
        bench.submit(read(1 << 34, PAGE));
    }
    for line in 0..10 {
        bench.submit(write(line << 20, PAGE));
    }
    let flush = bench.submit(FLUSH);
    while let Some(outcome) = bench.next() {
        let Outcome::Completed { id, latency } = outcome else {
            unreachable!()
        };
        if id == flush {
            // Ten destages, each after one read: about 20 operations of 3 to 15 ms.
            assert!(latency < 300 * MILLISECOND, "{latency}");
            return;
        }
        if !(4..14).contains(&id) {
            let address = bench.address(1 << 33, 16384);
            bench.submit(read(address + (1 << 34), PAGE));
        }
    }
}

#[test]
fn a_write_that_waits_for_room_is_not_starved_by_reads() {
    let mut profile = RotatingArrayProfile {
        spindles: 2,
        copies: 2,
        mirror_reads: MirrorReads::FirstCopy,
        ..cached(CacheProtection::Protected)
    };
    profile.cache.as_mut().unwrap().destage_threshold = 1.0;
    let mut bench = bench(&profile);
    for _ in 0..4 {
        bench.submit(read(1 << 34, PAGE));
    }
    // The second copy is free to destage, so the cache is never full: 64 lines wait for the
    // first one, whose turn would never come.
    let writes: Vec<u64> = (0..300)
        .map(|line| bench.submit(write(line << 20, PAGE)))
        .collect();
    let mut done = 0;
    while done < writes.len() && bench.now < 30 * SECOND {
        let Some(Outcome::Completed { id, .. }) = bench.next() else {
            unreachable!()
        };
        if writes.contains(&id) {
            done += 1;
        } else {
            let address = bench.address(1 << 33, 16384);
            bench.submit(read(address + (1 << 34), PAGE));
        }
    }
    assert_eq!(done, writes.len());
}
