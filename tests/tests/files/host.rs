//! Virtual files and the host: mounting, writing out, spilling.

use std::path::Path;

use innosim_engine::runtime::WaitKind::Other;
use innosim_engine::runtime::files::{Crash, Create, FileSystem, IMAGE_BYTES};
use innosim_engine::runtime::time::{SECOND, Time};
use innosim_engine::runtime::virtual_clock::disk::CacheProtection::{Protected, Volatile};
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};

use crate::{PAGE, buffered, direct, machine, options_with, page, page_bytes, solid_state};

/// A data directory with 50 pages, a file that ends within a page, and an empty one.
fn host_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir_in(".").unwrap();
    let root = directory.path();
    std::fs::create_dir(root.join("db")).unwrap();
    let pages: Vec<u8> = (0..50).flat_map(|number| page_bytes(number, 1)).collect();
    std::fs::write(root.join("db/t1.ibd"), pages).unwrap();
    std::fs::write(root.join("odd"), [7; 20_000]).unwrap();
    std::fs::write(root.join("empty"), []).unwrap();
    std::fs::write(root.join("doomed"), [8; 100]).unwrap();
    directory
}

/// Reads, changes, grows, renames and removes what was mounted.
fn change() {
    let files = FileSystem::new();
    let t1 = files
        .open("data/db/t1.ibd", direct(Create::Existing))
        .unwrap();
    let mut bytes = [0; IMAGE_BYTES];
    t1.read_at(&mut bytes, 30 * PAGE, Other).unwrap();
    assert!(bytes == page_bytes(30, 1));
    for number in [3, 4, 49, 60] {
        let image = page(&files, number, 2);
        t1.write_image(&image, number * PAGE, Other).unwrap();
    }
    t1.write_at(&[9; 512], 10 * PAGE + 512, Other).unwrap();
    let odd = files.open("data/odd", buffered(Create::Existing)).unwrap();
    odd.write_at(&[6; 10], 19_995, Other).unwrap();
    files.rename("data/empty", "data/db/empty").unwrap();
    files.remove("data/doomed").unwrap();
    let new = files.open("data/new", buffered(Create::New)).unwrap();
    new.write_at(b"not synced", 0, Other).unwrap();
}

fn tree(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let below = tree(&path).into_iter();
            found.extend(below.map(|(rest, bytes)| (format!("{name}/{rest}"), bytes)));
        } else {
            found.push((name, std::fs::read(path).unwrap()));
        }
    }
    found.sort();
    found
}

fn virtual_tree(simulation: &Simulation) -> Vec<(String, Vec<u8>)> {
    let files = simulation.files();
    let entry = |path: &Path| {
        let name = path.strip_prefix("data").unwrap().to_str().unwrap().into();
        (name, files.contents(path).unwrap())
    };
    files.paths().map(entry).collect()
}

#[test]
fn what_is_written_out_is_what_was_written() {
    let base = host_directory();
    let before = tree(base.path());
    let mut simulation = machine(Volatile);
    simulation.files_mut().mount(base.path(), "data").unwrap();
    assert_eq!(virtual_tree(&simulation), before);
    simulation.run(change).unwrap();
    let now = virtual_tree(&simulation);
    let names: Vec<_> = now.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["db/empty", "db/t1.ibd", "new", "odd"]);
    assert_eq!(now[1].1.len(), 61 * IMAGE_BYTES);
    assert_eq!(
        (now[2].1.as_slice(), now[3].1.len()),
        (&b"not synced"[..], 20_005)
    );

    // Into another directory: the mounted one is as it was.
    let other = tempfile::tempdir_in(".").unwrap();
    simulation
        .files_mut()
        .write_out("data", other.path().join("out"))
        .unwrap();
    assert!(tree(&other.path().join("out")) == now);
    assert!(tree(base.path()) == before);

    // Over the mounted directory itself, twice.
    for _ in 0..2 {
        simulation
            .files_mut()
            .write_out("data", base.path())
            .unwrap();
        assert!(tree(base.path()) == now);
    }
    // And mounted again by another simulation.
    let mut again = machine(Volatile);
    again.files_mut().mount(base.path(), "data").unwrap();
    assert!(virtual_tree(&again) == now);
}

#[test]
fn files_that_changed_their_names_do_not_overwrite_each_others_base() {
    let base = host_directory();
    let mut simulation = machine(Protected);
    simulation.files_mut().mount(base.path(), "data").unwrap();
    simulation
        .run(|| {
            let files = FileSystem::new();
            files.rename("data/odd", "data/t").unwrap();
            files.rename("data/db/t1.ibd", "data/odd").unwrap();
            files.rename("data/t", "data/db/t1.ibd").unwrap();
        })
        .unwrap();
    let now = virtual_tree(&simulation);
    simulation
        .files_mut()
        .write_out("data", base.path())
        .unwrap();
    assert!(tree(base.path()) == now);
    assert_eq!(now[0].1, [7; 20_000]);
}

#[test]
fn a_power_failure_after_writing_over_the_base_still_undoes_what_was_not_synced() {
    let base = host_directory();
    let mut lost = 0;
    for seed in 0..10 {
        let options = options_with(&[solid_state(Volatile, 16_384)], seed);
        let mut simulation = Simulation::new(&options).unwrap();
        simulation.files_mut().mount(base.path(), "data").unwrap();
        let before = virtual_tree(&simulation);
        simulation
            .run(move || {
                let files = FileSystem::new();
                let t1 = files
                    .open("data/db/t1.ibd", direct(Create::Existing))
                    .unwrap();
                t1.write_image(&page(&files, 5, seed as u8 + 50), 5 * PAGE, Other)
                    .unwrap();
            })
            .unwrap();
        simulation
            .files_mut()
            .write_out("data", base.path())
            .unwrap();
        simulation.resolve_crash(Crash::PowerLoss).unwrap();
        let after = virtual_tree(&simulation);
        let kept = after[0].1[5 * IMAGE_BYTES + 9] == seed as u8 + 50;
        assert!(kept || after == before);
        lost += u32::from(!kept);
    }
    assert!((1..=9).contains(&lost), "{lost}");
}

/// Writes, overwrites and reads pages of two files; the end of it, and when that was.
fn traffic(budget: Option<u64>) -> (Vec<u8>, Time, u64, u64) {
    let options = SimulationOptions {
        memory_budget: budget,
        spill_directory: std::env::current_dir().unwrap(),
        ..options_with(&[solid_state(Volatile, 512)], 3)
    };
    let mut simulation = Simulation::new(&options).unwrap();
    let program = || {
        let files = FileSystem::new();
        let exists = files.exists("t1.ibd").unwrap();
        let create = if exists {
            Create::Existing
        } else {
            Create::New
        };
        let data = files.open("t1.ibd", direct(create)).unwrap();
        let doublewrite = files.open("dblwr", direct(create)).unwrap();
        let mut stream = innosim_engine::runtime::stream("traffic");
        for version in 0..100 {
            let batch: Vec<_> = (0..8)
                .map(|_| page(&files, stream.below(200), version))
                .collect();
            doublewrite.write_images(&batch, 0, Other).unwrap();
            for image in &batch {
                let number = u64::from_be_bytes(image[..8].try_into().unwrap());
                data.write_image(image, number * PAGE, Other).unwrap();
                data.write_at(&[version; 512], number * PAGE + 1024, Other)
                    .unwrap();
            }
            if version % 10 == 0 {
                data.sync(true, Other).unwrap();
            }
            let length = data.length().unwrap();
            let mut bytes = [0; IMAGE_BYTES];
            for _ in 0..8 {
                let number = stream.below(length / PAGE);
                data.read_at(&mut bytes, number * PAGE, Other).unwrap();
                assert!(bytes[0..8] == number.to_be_bytes() || bytes == [0; IMAGE_BYTES]);
            }
        }
    };
    simulation.run(program).unwrap();
    simulation.files_mut().quiesce();
    // After a stop of the helper, as before a fork.
    let outcome = simulation.run_until(simulation.now() + SECOND / 100, program);
    assert!(outcome.is_ok());
    simulation.resolve_crash(Crash::PowerLoss).unwrap();
    let files = simulation.files();
    assert_eq!(files.spill_failure(), None);
    (
        files.contents("t1.ibd").unwrap(),
        simulation.now(),
        files.spilled_images(),
        files.resident_bytes(),
    )
}

#[test]
fn a_tiny_budget_gives_the_same_bytes_and_the_same_times() {
    let (bytes, end, spilled, resident) = traffic(None);
    assert_eq!(spilled, 0);
    assert!(resident > 150 * PAGE);
    for pages in [0, 4, 32] {
        let (small_bytes, small_end, spilled, resident) = traffic(Some(pages * PAGE));
        assert!(small_bytes == bytes && small_end == end, "{pages} pages");
        assert!(spilled > 100, "{spilled}");
        // The helper may lag behind by as much again.
        assert!(
            resident <= (2 * pages + 2) * PAGE,
            "{resident} of {pages} pages"
        );
    }
}

/// Overwrites half of the pages and checks all of them.
fn go_on(simulation: &mut Simulation, version: u8) {
    simulation
        .run(move || {
            let files = FileSystem::new();
            let file = files.open("t1.ibd", direct(Create::Existing)).unwrap();
            for number in 0..100 {
                let image = page(&files, number, version);
                file.write_image(&image, number * PAGE, Other).unwrap();
            }
        })
        .unwrap();
    let bytes = simulation.files().contents("t1.ibd").unwrap();
    for (number, bytes) in bytes.chunks_exact(IMAGE_BYTES).enumerate() {
        let version = if number < 100 { version } else { 1 };
        assert!(bytes == page_bytes(number as u64, version), "{number}");
    }
}

#[test]
fn after_the_helper_is_stopped_a_fork_goes_two_ways() {
    let options = SimulationOptions {
        memory_budget: Some(4 * PAGE),
        ..options_with(&[], 1)
    };
    let mut simulation = Simulation::new(&options).unwrap();
    simulation
        .run(|| {
            let files = FileSystem::new();
            let file = files.open("t1.ibd", direct(Create::New)).unwrap();
            for number in 0..200 {
                let image = page(&files, number, 1);
                file.write_image(&image, number * PAGE, Other).unwrap();
            }
        })
        .unwrap();
    simulation.files_mut().quiesce();
    // SAFETY: the child touches nothing that another thread of the parent may hold, but
    // the allocator, which glibc makes usable, and leaves without destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let body = std::panic::AssertUnwindSafe(|| go_on(&mut simulation, 2));
        let failed = std::panic::catch_unwind(body).is_err();
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(failed)) };
    }
    assert!(child > 0);
    go_on(&mut simulation, 3);
    let mut status = -1;
    // SAFETY: `status` lives long enough.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child found other bytes");
    assert!(simulation.files().spilled_images() > 200);
}

#[test]
fn sparse_files_grow_by_holes() {
    use std::os::unix::fs::MetadataExt;
    let directory = tempfile::tempdir_in(".").unwrap();
    let path = directory.path().join("redo");
    let file = FileSystem::sparse()
        .open(&path, direct(Create::New))
        .unwrap();
    file.extend(1 << 40, Other).unwrap();
    assert_eq!(file.length().unwrap(), 1 << 40);
    file.extend(1 << 20, Other).unwrap();
    assert_eq!(file.length().unwrap(), 1 << 40);
    let mut end = [1; IMAGE_BYTES];
    file.read_at(&mut end, (1 << 40) - PAGE, Other).unwrap();
    assert!(end == [0; IMAGE_BYTES]);
    assert!(std::fs::metadata(&path).unwrap().blocks() < 2048);
}
