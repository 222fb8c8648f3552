//! One program, two clocks, the same bytes.

use std::path::{Path, PathBuf};

use innosim_engine::runtime::WaitKind::Other;
use innosim_engine::runtime::files::{
    AlignedBuffer, Create, FileKind, FileStatistics, FileSystem, IMAGE_BYTES, IoMode, OpenOptions,
};
use innosim_engine::runtime::is_virtual;
use innosim_engine::runtime::virtual_clock::disk::CacheProtection;

use crate::{PAGE, buffered, direct, machine, page};

/// Everything that a file can do, once. Returns what can be seen besides bytes.
fn program(root: &Path) -> (Vec<String>, FileStatistics) {
    let files = FileSystem::new();
    let mut seen = Vec::new();
    files.create_directory(root.join("db/deep")).unwrap();
    files.create_directory(root.join("db")).unwrap();

    let t1 = files
        .open(root.join("db/t1.ibd"), direct(Create::New))
        .unwrap();
    t1.extend(5 * PAGE / 2, Other).unwrap();
    t1.write_image(&page(&files, 1, 11), PAGE, Other).unwrap();
    let images: Vec<_> = (0..40).map(|n| page(&files, n, 12)).collect();
    t1.write_images(&images, 3 * PAGE, Other).unwrap();
    // More than the system takes at a time.
    let many: Vec<_> = (0..1100).map(|n| images[n % 40].clone()).collect();
    t1.write_images(&many, 50 * PAGE, Other).unwrap();
    // Not at a page's boundary, and from memory that is aligned to nothing.
    t1.write_images(&images[..2], 100 * PAGE + 512, Other)
        .unwrap();
    let unaligned = vec![13; 1025];
    t1.write_at(&unaligned[1..], 512, Other).unwrap();
    t1.sync(true, Other).unwrap();
    let mut unaligned = vec![0; 1537];
    t1.read_at(&mut unaligned[1..], 512, Other).unwrap();
    seen.push(format!("{:?}", &unaligned[1000..1100]));
    t1.set_length(1120 * PAGE).unwrap();
    t1.allocate(1125 * PAGE).unwrap();
    seen.push(format!("{}", t1.length().unwrap()));

    let redo = files
        .open(root.join("redo"), buffered(Create::New))
        .unwrap();
    for block in 0..100u64 {
        let bytes = vec![block as u8 + 1; 512 + (block as usize % 5) * 700];
        redo.write_at(&bytes, block * 611, Other).unwrap();
        if block % 7 == 0 {
            redo.sync(true, Other).unwrap();
        }
    }
    let mut bytes = vec![0; 30_000];
    redo.read_at(&mut bytes, 1, Other).unwrap();
    seen.push(format!("{:?}", &bytes[..2000]));
    redo.set_length(20_001).unwrap();
    redo.extend(40_000, Other).unwrap();
    redo.write_image(&page(&files, 3, 5), 32_768 - 100, Other)
        .unwrap();
    redo.sync(false, Other).unwrap();

    let o_sync = OpenOptions {
        create: Create::New,
        io: IoMode::BufferedSync,
        kind: FileKind::Other,
    };
    let small = files.open(root.join("small"), o_sync).unwrap();
    small.write_at(b"a few bytes", 3, Other).unwrap();

    // Names.
    files
        .rename(root.join("redo"), root.join("db/redo.old"))
        .unwrap();
    files
        .rename(root.join("small"), root.join("db/deep/small"))
        .unwrap();
    let doomed = files
        .open(root.join("doomed"), buffered(Create::New))
        .unwrap();
    doomed.write_at(&[1; 100], 0, Other).unwrap();
    files.remove(root.join("doomed")).unwrap();
    doomed.write_at(&[2; 50], 0, Other).unwrap();
    let mut bytes = [0; 100];
    doomed.read_at(&mut bytes, 0, Other).unwrap();
    seen.push(format!("{bytes:?}"));
    drop(doomed);
    let other = files
        .open(root.join("other"), buffered(Create::New))
        .unwrap();
    other.write_at(&[3; 100], 0, Other).unwrap();
    let empty = files
        .open(root.join("other"), buffered(Create::OrTruncate))
        .unwrap();
    seen.push(format!("{}", empty.length().unwrap()));
    empty.write_at(&[4; 10], 5, Other).unwrap();
    files.sync_directory(root, Other).unwrap();
    for directory in ["", "db", "db/deep"] {
        seen.push(format!("{:?}", files.list(root.join(directory)).unwrap()));
    }
    for name in ["redo", "other", "db", "db/t1.ibd"] {
        seen.push(format!("{}", files.exists(root.join(name)).unwrap()));
    }
    seen.push(format!("{:?}", files.take_warnings()));

    let statistics = files.statistics();
    let data = statistics.kind(FileKind::Data);
    assert!(data.writes.time > 0 && data.reads.time > 0 && data.syncs.time > 0 || is_virtual());
    (seen, statistics)
}

fn counts(statistics: &FileStatistics) -> Vec<[u64; 5]> {
    FileKind::ALL
        .iter()
        .map(|&kind| {
            let kind = statistics.kind(kind);
            [
                kind.reads.count,
                kind.reads.bytes,
                kind.writes.count,
                kind.writes.bytes,
                kind.syncs.count,
            ]
        })
        .collect()
}

fn files_below(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn the_same_program_leaves_the_same_bytes() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let root = directory.path().canonicalize().unwrap();
    let (real, real_statistics) = program(&root);

    for disks in [0, 1] {
        let mut simulation = if disks == 1 {
            machine(CacheProtection::Volatile)
        } else {
            innosim_engine::runtime::virtual_clock::Simulation::new(&crate::options_with(&[], 1))
                .unwrap()
        };
        let path = root.clone();
        let (seen, statistics) = simulation.run(move || program(&path)).unwrap();
        assert_eq!(seen, real);
        assert_eq!(counts(&statistics), counts(&real_statistics));
        if disks == 0 {
            assert_eq!(simulation.now(), 0);
        } else {
            let data = statistics.kind(FileKind::Data);
            assert!(data.writes.time > 0 && data.reads.time > 0 && data.syncs.time > 0);
        }
        let paths: Vec<_> = simulation.files().paths().map(Path::to_owned).collect();
        assert_eq!(paths, files_below(&root));
        assert_eq!(paths.len(), 4);
        for path in paths {
            let real = std::fs::read(&path).unwrap();
            let virtual_bytes = simulation.files().contents(&path).unwrap();
            assert!(virtual_bytes == real, "{} differs", path.display());
        }
    }
}

#[test]
fn a_read_into_an_aligned_buffer_and_an_unaligned_one_agree() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let files = FileSystem::new();
    let file = files
        .open(directory.path().join("f"), direct(Create::New))
        .unwrap();
    file.write_image(&page(&files, 7, 9), 0, Other).unwrap();
    let mut aligned = AlignedBuffer::new(IMAGE_BYTES).unwrap();
    file.read_at(&mut aligned, 0, Other).unwrap();
    let mut unaligned = vec![0; IMAGE_BYTES + 1];
    file.read_at(&mut unaligned[1..], 0, Other).unwrap();
    assert!(aligned[..] == unaligned[1..]);
    assert!(aligned[..] == crate::page_bytes(7, 9));
}
