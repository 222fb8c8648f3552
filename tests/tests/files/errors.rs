//! Errors name file and operation, and a full disk costs nothing that was there.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use innosim_engine::runtime::WaitKind::Other;
use innosim_engine::runtime::files::{
    AlignedBuffer, Create, FileError, FileKind, FileSystem, IMAGE_BYTES, Operation, Placement,
};
use innosim_engine::runtime::virtual_clock::disk::{
    CacheProtection, DiskProfile, DriveProfile, Elevator, MirrorReads, RotatingArrayProfile,
};
use innosim_engine::runtime::virtual_clock::{MachineError, Simulation};

use crate::{PAGE, buffered, direct, machine, options_with, page, page_bytes, solid_state};

/// All that can go wrong without a fault of the machine, as messages.
fn mistakes(root: &Path) -> Vec<String> {
    let files = FileSystem::new();
    let mut messages = Vec::new();
    let mut note = |error: FileError| messages.push(error.to_string());
    let there = root.join("there");
    let missing = root.join("missing");
    let file = files.open(&there, direct(Create::New)).unwrap();
    file.write_image(&page(&files, 0, 1), 0, Other).unwrap();
    note(files.open(&there, direct(Create::New)).unwrap_err());
    note(files.open(&missing, direct(Create::Existing)).unwrap_err());
    let nowhere = root.join("no/where");
    note(files.open(&nowhere, direct(Create::New)).unwrap_err());
    note(files.open(root, direct(Create::Existing)).unwrap_err());
    note(files.remove(&missing).unwrap_err());
    note(files.rename(&missing, &there).unwrap_err());
    note(files.list(&missing).unwrap_err());
    note(files.create_directory(&there).unwrap_err());
    note(files.lock_data_directory(&missing).unwrap_err());

    let mut buffer = AlignedBuffer::new(IMAGE_BYTES).unwrap();
    note(file.read_at(&mut buffer, 8192, Other).unwrap_err());
    note(file.read_at(&mut buffer, PAGE, Other).unwrap_err());
    note(file.read_at(&mut buffer, 100 * PAGE, Other).unwrap_err());
    note(file.read_at(&mut buffer[..100], 0, Other).unwrap_err());
    note(file.write_at(&buffer, 100, Other).unwrap_err());
    // A file whose end is within a sector.
    file.set_length(1000).unwrap();
    note(file.read_at(&mut buffer, 0, Other).unwrap_err());

    let lock = files.lock_data_directory(root).unwrap();
    note(files.lock_data_directory(root).unwrap_err());
    note(FileSystem::new().lock_data_directory(root).unwrap_err());
    drop(lock);
    files.lock_data_directory(root).unwrap();
    messages
}

#[test]
fn both_clocks_report_the_same_mistakes() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let root = directory.path().canonicalize().unwrap();
    let real = mistakes(&root);
    let path = root.clone();
    let seen = machine(CacheProtection::Volatile)
        .run(move || {
            FileSystem::new().create_directory(&path).unwrap();
            mistakes(&path)
        })
        .unwrap();
    assert_eq!(seen, real);
    let root = root.display();
    assert_eq!(
        real[10],
        format!("short read of {root}/there: 16384 bytes expected at offset 16384, 0 found")
    );
    assert_eq!(
        real[15],
        format!("the data directory {root} is in use by another engine")
    );
}

#[test]
fn a_file_system_without_direct_io_is_a_warning() {
    let files = FileSystem::new();
    for _ in 0..2 {
        files.open("/dev/null", direct(Create::Existing)).unwrap();
    }
    let warnings = files.take_warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("no direct I/O on /dev/null: "));
    assert!(files.take_warnings().is_empty());
}

#[test]
fn a_full_device_is_told_from_other_errors() {
    let file = crate::open("/dev/full", buffered(Create::Existing));
    let error = file.write_at(&[1; 512], 0, Other).unwrap_err();
    assert_eq!(error.io_kind(), Some(ErrorKind::StorageFull));
    assert!(error.is_out_of_space());
    assert_eq!(
        error.to_string(),
        "cannot write 512 bytes at offset 0 of /dev/full: \
         No space left on device (os error 28)"
    );
}

/// The file that the child process below may not make longer than this.
const LIMIT: u64 = 3 << 20;

#[test]
fn running_out_of_space_leaves_the_data_and_the_length() {
    const CHILD: &str = "INNOSIM_TEST_FILE_SIZE_LIMIT";
    if std::env::var_os(CHILD).is_some() {
        return grow_until_full();
    }
    // The limit is for all of a process, so that it needs one of its own.
    let this = std::env::current_exe().unwrap();
    let name = "errors::running_out_of_space_leaves_the_data_and_the_length";
    let child = Command::new(this)
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{output}");
    assert!(output.contains("the disk was full twice"), "{output}");
}

fn grow_until_full() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let limit = libc::rlimit {
        rlim_cur: LIMIT,
        rlim_max: LIMIT,
    };
    // SAFETY: plain system calls on values that live long enough.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
    for options in [direct(Create::OrTruncate), buffered(Create::OrTruncate)] {
        let files = FileSystem::new();
        let path = directory.path().join("t1.ibd");
        let file = files.open(&path, options).unwrap();
        let length = 100 * PAGE;
        file.extend(length, Other).unwrap();
        let images: Vec<_> = (0..100).map(|n| page(&files, n, 3)).collect();
        file.write_images(&images, 0, Other).unwrap();

        let error = file.extend(2 * LIMIT, Other).unwrap_err();
        assert!(error.is_out_of_space(), "{error}");
        assert!(error.to_string().contains("t1.ibd"), "{error}");
        assert_eq!(file.length().unwrap(), length);
        let error = file.allocate(2 * LIMIT).unwrap_err();
        assert!(error.is_out_of_space(), "{error}");
        assert_eq!(file.length().unwrap(), length);
        let error = file.write_image(&images[0], 2 * LIMIT, Other).unwrap_err();
        assert!(error.is_out_of_space(), "{error}");
        assert_eq!(file.length().unwrap(), length);
        file.sync(true, Other).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for (number, bytes) in bytes.chunks_exact(IMAGE_BYTES).enumerate() {
            assert!(bytes == page_bytes(number as u64, 3));
        }
    }
    println!("the disk was full twice");
}

/// The smallest disk there is: 10^9 bytes.
fn small_array() -> RotatingArrayProfile {
    RotatingArrayProfile {
        spindles: 1,
        copies: 1,
        mirror_reads: MirrorReads::FreerCopy,
        stripe_kib: 64,
        partition_offset_bytes: 0,
        capacity_gb: 1.0,
        drive: DriveProfile::Exponential { mean_ms: 1.0 },
        elevator: Elevator::Fifo,
        queue_depth: 1,
        maximum_age_ms: 1000.0,
        command_us: 1.0,
        latency_us: 1.0,
        flush_us: 1.0,
        atomic_write_bytes: 512,
        cache: None,
    }
}

#[test]
fn a_virtual_disk_has_its_capacity_and_removing_files_gives_space_back() {
    let mut options = options_with(&[], 1);
    let array = DiskProfile::RotatingArray(small_array());
    options.disks = vec![("array".into(), array)];
    let mut simulation = Simulation::new(&options).unwrap();
    simulation
        .run(|| {
            let files = FileSystem::new();
            let first = files.open("first", direct(Create::New)).unwrap();
            first.extend(600 << 20, Other).unwrap();
            let second = files.open("second", direct(Create::New)).unwrap();
            second.write_image(&page(&files, 0, 1), 0, Other).unwrap();
            let error = second.extend(400 << 20, Other).unwrap_err();
            assert_eq!(error.io_kind(), Some(ErrorKind::StorageFull));
            assert!(matches!(
                &error,
                FileError::Failed {
                    operation: Operation::Write { .. },
                    ..
                }
            ));
            assert_eq!(second.length().unwrap(), PAGE);
            let error = second.allocate(400 << 20).unwrap_err();
            assert!(error.is_out_of_space());
            second.allocate(350 << 20).unwrap();
            second.set_length(PAGE).unwrap();
            // The space comes back when the removed file is closed.
            files.remove("first").unwrap();
            assert!(second.allocate(400 << 20).is_err());
            drop(first);
            let third = files.open("third", direct(Create::New)).unwrap();
            files.remove("third").unwrap();
            drop(third);
            second.allocate(900 << 20).unwrap();
            let mut bytes = [0; IMAGE_BYTES];
            second.read_at(&mut bytes, 0, Other).unwrap();
            assert!(bytes == page_bytes(0, 1));
        })
        .unwrap();
}

#[test]
fn files_are_placed_on_devices_that_exist() {
    let mut options = options_with(&[solid_state(CacheProtection::Protected, 512)], 1);
    options.placement = Placement::default().with(FileKind::Log, 1);
    let error = Simulation::new(&options).err().unwrap();
    assert!(matches!(
        error,
        MachineError::Placement {
            kind: FileKind::Log,
            device: 1,
            devices: 1
        }
    ));
    assert_eq!(
        error.to_string(),
        "wait/io/file/innodb/innodb_log_file files are placed on device 1, but there are 1"
    );
}
