use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::runtime::files::file::Create;
use crate::runtime::files::kind::{FileKind, Placement};
use crate::runtime::files::virtual_files::Source;
use crate::runtime::files::virtual_files::journal::is_write_out_unfinished;

const PAGE: u64 = IMAGE_BYTES as u64;

/// All files of a directory with their bytes.
type Tree = BTreeMap<PathBuf, Vec<u8>>;

fn tree(directory: &Path) -> Tree {
    let mut found = Tree::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

/// A data directory: a file with a hole, one that goes, one that is renamed.
fn host() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("db")).unwrap();
    fs::write(root.join("db/t1.ibd"), [1; 10 * IMAGE_BYTES]).unwrap();
    let t1 = fs::OpenOptions::new()
        .write(true)
        .open(root.join("db/t1.ibd"))
        .unwrap();
    t1.set_len(20 * PAGE).unwrap();
    fs::write(root.join("redo"), [2; 70_000]).unwrap();
    fs::write(root.join("same"), [3; 100]).unwrap();
    fs::write(root.join("doomed"), [4; 100]).unwrap();
    fs::write(root.join("old"), [5; 100]).unwrap();
    directory
}

fn mounted(directory: &Path) -> VirtualFiles {
    let mut files = VirtualFiles::new(1, [], Placement::default(), None, std::env::temp_dir());
    files.mount(directory, "data").unwrap();
    files
}

fn write(files: &mut VirtualFiles, path: &str, create: Create, bytes: &[u8], offset: u64) {
    let id = files
        .open(Path::new(path), create, FileKind::Data)
        .unwrap()
        .id;
    files
        .write_through(id, Source::Bytes(bytes), offset, &mut Vec::new())
        .unwrap();
}

/// Files that were changed, and the tree as it is to be.
fn changed(directory: &Path) -> (VirtualFiles, Tree) {
    let mut files = mounted(directory);
    for (page, byte) in [(3, 13), (4, 14), (15, 0), (15, 16), (25, 17)] {
        let bytes = [byte; IMAGE_BYTES];
        let create = Create::Existing;
        write(&mut files, "data/db/t1.ibd", create, &bytes, page * PAGE);
    }
    let redo = files.open(Path::new("data/redo"), Create::Existing, FileKind::Data);
    files.set_length(redo.unwrap().id, 33_000).unwrap();
    write(&mut files, "data/new", Create::New, &[6; 50_000], 0);
    files.remove(Path::new("data/doomed")).unwrap();
    let (old, moved) = (Path::new("data/old"), Path::new("data/db/moved"));
    files.rename(old, moved).unwrap();
    let root = fs::canonicalize(directory).unwrap();
    let entry = |path: &Path| {
        let host = root.join(path.strip_prefix("data").unwrap());
        (host, files.contents(path).unwrap())
    };
    let tree = files.paths().map(entry).collect();
    (files, tree)
}

#[test]
fn every_error_of_the_host_leaves_all_or_nothing_of_it() {
    let (mut unchanged, mut unfinished) = (0, 0);
    for fatal in 0.. {
        let directory = host();
        let root = &fs::canonicalize(directory.path()).unwrap();
        let before = tree(root);
        let (mut files, after) = changed(root);
        let mut calls = 0;
        let written = files.write_out_watched(Path::new("data"), root, &mut |_| {
            calls += 1;
            match calls > fatal {
                true => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
                false => Ok(()),
            }
        });
        match written {
            Ok(()) => {
                assert!(tree(root) == after);
                break;
            }
            Err(WriteOutError::Unfinished { error }) => {
                unfinished += 1;
                assert!(error.is_out_of_space());
                // At the very last, only that the journal is gone was not yet durable.
                assert!(is_write_out_unfinished(root) || tree(root) == after);
                // There is room again, and somebody begins from there.
                drop(mounted(root));
                assert!(tree(root) == after, "{fatal}");
            }
            Err(error) => {
                unchanged += 1;
                assert!(tree(root) == before, "{fatal}: {error}");
                let text = error.to_string();
                let WriteOutError::NoRoom { path, needed, free } = error else {
                    panic!("{text}");
                };
                assert!(path.starts_with(root) && &path != root, "{text}");
                assert!(needed > 9 * PAGE && needed < 20 * PAGE, "{needed}");
                assert!(free > 0);
                // Once there is room the same files are written out.
                files.write_out("data", root).unwrap();
                assert!(tree(root) == after, "{fatal}");
            }
        }
    }
    assert!(
        unchanged >= 10 && unfinished >= 8,
        "{unchanged} {unfinished}"
    );
}

#[test]
fn a_process_that_dies_at_any_point_leaves_all_or_nothing_of_it() {
    let (mut befores, mut afters) = (0, 0);
    for fatal in 0.. {
        let directory = host();
        let root = &fs::canonicalize(directory.path()).unwrap();
        let before = tree(root);
        let (mut files, after) = changed(root);
        let mut calls = 0;
        let died = catch_unwind(AssertUnwindSafe(|| {
            let written = files.write_out_watched(Path::new("data"), root, &mut |_| {
                calls += 1;
                // Past all destructors' help: nothing is done for an unwinding task.
                assert!(calls <= fatal, "killed");
                Ok(())
            });
            written.unwrap();
        }));
        if died.is_ok() {
            break;
        }
        // So does the one that finishes it, again and again.
        for fatal in 0.. {
            let mut calls = 0;
            let carried = carry_out(root, &mut |_| {
                calls += 1;
                match calls > fatal {
                    true => Err(io::Error::other("killed")),
                    false => Ok(()),
                }
            });
            if carried.is_ok() {
                break;
            }
        }
        finish_write_out(root).unwrap();
        let found = tree(root);
        assert!(found == before || found == after, "{fatal}");
        befores += u32::from(found == before);
        afters += u32::from(found == after);
    }
    assert!(befores >= 10 && afters >= 8, "{befores} {afters}");
}

#[test]
fn too_little_room_is_told_before_anything_is_written() {
    let directory = host();
    let root = &fs::canonicalize(directory.path()).unwrap();
    let (files, _) = changed(root);
    let targets = files.targets(Path::new("data"), root);
    let needed = needed(&targets, root, None).unwrap();
    // Pages 3, 4, 15 and 25 and the one that is grown with, the last of redo; new; moved.
    assert_eq!(needed, (5 + 1 + 4 + 1) * PAGE);
    assert!(super::needed(&targets, root, Some(needed)).is_ok());
    let error = super::needed(&targets, root, Some(needed - 1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "no room for {}: to write out what has changed takes about 1 MiB, and 0 MiB are \
             free on that file system; the files there are as they were",
            root.join("redo").display()
        )
    );
}

#[test]
fn only_what_has_changed_is_written() {
    let directory = host();
    let root = &fs::canonicalize(directory.path()).unwrap();
    let mut files = mounted(root);
    write(&mut files, "data/db/t1.ibd", Create::Existing, &[9; 512], 0);
    let mut touched = Vec::new();
    let mut watch = |path: &Path| {
        touched.push(path.file_name().unwrap().to_owned());
        Ok(())
    };
    files
        .write_out_watched(Path::new("data"), root, &mut watch)
        .unwrap();
    assert!(!touched.iter().any(|name| name == "redo" || name == "same"));
    let needed = needed(&files.targets(Path::new("data"), root), root, None).unwrap();
    assert_eq!(needed, PAGE);
}

#[test]
fn a_base_that_is_cut_short_is_an_error_with_the_file_and_the_offset() {
    let directory = host();
    let root = &fs::canonicalize(directory.path()).unwrap();
    let files = mounted(root);
    let path = root.join("db/t1.ibd");
    let host = fs::OpenOptions::new().write(true).open(&path).unwrap();
    host.set_len(5 * PAGE + 100).unwrap();
    let id = files.names[Path::new("data/db/t1.ibd")];
    let mut bytes = [0; IMAGE_BYTES];
    files.read(id, 4 * PAGE, &mut bytes).unwrap();
    assert_eq!(bytes, [1; IMAGE_BYTES]);
    for (page, found) in [(5, 100), (6, 0)] {
        let error = files.read(id, page * PAGE, &mut bytes).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "short read of {}: 16384 bytes expected at offset {}, {found} found",
                path.display(),
                page * PAGE
            )
        );
    }
}
