//! Made once, used by many, removed in the order of their last use.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use super::*;
use crate::run::{NobodyWatches, RunArguments};

const MEGABYTE: u64 = 1 << 20;

/// Makes a directory of one megabyte.
fn one_megabyte(directory: &Path, _: &mut dyn Watch) -> anyhow::Result<()> {
    fs::write(directory.join("file"), vec![1; MEGABYTE as usize])?;
    Ok(())
}

fn bases(limit: u64) -> (tempfile::TempDir, Bases) {
    let directory = tempfile::tempdir().unwrap();
    let bases = Bases::new(&directory.path().join("bases"), limit).unwrap();
    (directory, bases)
}

impl Bases {
    fn simple(&self, key: &str) -> anyhow::Result<Base> {
        self.acquire("b", key, MEGABYTE, &mut NobodyWatches, one_megabyte)
    }

    fn has(&self, key: &str) -> bool {
        let id = format!("b-{}", &Fingerprint::of(key).to_string()[..16]);
        self.directory.join(id).is_dir()
    }

    /// Says that a base was last used so many hours ago.
    fn age(&self, key: &str, hours: u64) {
        let id = format!("b-{}", &Fingerprint::of(key).to_string()[..16]);
        let lock = open_lock(&self.file(&id, "lock")).unwrap();
        let time = SystemTime::now() - Duration::from_secs(hours * 3600);
        lock.set_modified(time).unwrap();
    }
}

#[test]
fn a_base_is_made_once_though_many_ask_for_it() {
    let (_directory, bases) = bases(u64::MAX);
    let made = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let make = |directory: &Path, watch: &mut dyn Watch| {
                    made.fetch_add(1, Relaxed);
                    std::thread::sleep(Duration::from_millis(50));
                    one_megabyte(directory, watch)
                };
                let base = bases
                    .acquire("b", "key", MEGABYTE, &mut NobodyWatches, make)
                    .unwrap();
                let length = fs::metadata(base.path().join("file")).unwrap().len();
                assert_eq!(length, MEGABYTE);
            });
        }
    });
    assert_eq!(made.into_inner(), 1);
}

#[test]
fn what_was_not_used_for_longest_goes() {
    let (_directory, bases) = bases(3 * MEGABYTE + MEGABYTE / 2);
    for key in ["a", "b", "c"] {
        drop(bases.simple(key).unwrap());
    }
    for (key, hours) in [("a", 3), ("b", 2), ("c", 1)] {
        bases.age(key, hours);
    }
    // Used again, it is the youngest.
    drop(bases.simple("a").unwrap());
    drop(bases.simple("d").unwrap());
    let there = ["a", "b", "c", "d"].map(|key| bases.has(key));
    assert_eq!(there, [true, false, true, true]);
}

#[test]
fn what_is_in_use_stays_and_where_nothing_can_go_it_is_said() {
    let (_directory, bases) = bases(2 * MEGABYTE + MEGABYTE / 2);
    let used = bases.simple("a").unwrap();
    bases.age("a", 5);
    let young = bases.simple("b").unwrap();
    let error = bases.simple("c").unwrap_err().to_string();
    assert!(
        error.contains("bases in use take 2 MiB of the 2 MiB"),
        "{error}"
    );
    drop(young);
    drop(bases.simple("c").unwrap());
    assert!(bases.has("a") && !bases.has("b") && bases.has("c"));
    drop(used);
    drop(bases.simple("d").unwrap());
    assert!(!bases.has("a"));
}

#[test]
fn one_that_is_larger_than_the_limit_is_refused_before_work_begins() {
    let (_directory, bases) = bases(MEGABYTE / 2);
    let make = |_: &Path, _: &mut dyn Watch| panic!("there is no room");
    let error = bases.acquire("b", "a", MEGABYTE, &mut NobodyWatches, make);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("--cache-size"), "{error}");
}

#[test]
fn what_an_interrupted_command_has_left_is_made_anew() {
    let (_directory, bases) = bases(u64::MAX);
    let failing = |directory: &Path, watch: &mut dyn Watch| {
        one_megabyte(directory, watch)?;
        bail!("the disk is full")
    };
    let error = bases.acquire("b", "a", MEGABYTE, &mut NobodyWatches, failing);
    assert_eq!(error.unwrap_err().to_string(), "the disk is full");
    assert!(!bases.has("a"));
    // Killed, it has no time to remove what it has made.
    let id = format!("b-{}", &Fingerprint::of("a").to_string()[..16]);
    let part = bases.file(&id, "part");
    fs::create_dir(&part).unwrap();
    fs::write(part.join("torn"), "").unwrap();
    let base = bases.simple("a").unwrap();
    assert!(!base.path().join("torn").exists());
    assert!(!part.exists());
}

fn plan(flavor: &str, more: &[&str]) -> RunPlan {
    let mut set = vec!["innodb_log_file_size=8M".to_owned()];
    set.extend(more.iter().map(|&text| text.to_owned()));
    RunArguments {
        set,
        flavor: Some(flavor.into()),
        workload: Some("oltp_write_only".into()),
        table_size: Some("300".into()),
        tables: Some("2".into()),
        ..RunArguments::default()
    }
    .plan()
    .unwrap()
}

/// Path below the directory and content of all files.
fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    fn collect(root: &Path, directory: &Path, all: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => collect(root, &path, all),
                false => all.push((
                    path.strip_prefix(root).unwrap().into(),
                    fs::read(&path).unwrap(),
                )),
            }
        }
    }
    let mut all = Vec::new();
    collect(directory, directory, &mut all);
    all.sort();
    all
}

/// Versions whose key is the same share one base: so their files have to be the same.
#[test]
fn equal_keys_are_equal_bytes() {
    let plans = [
        plan("mysql-5.6", &["innodb_doublewrite_pages=16"]),
        plan(
            "mysql-5.7",
            &["innodb_buffer_pool_size=1G", "innodb_purge_threads=2"],
        ),
    ];
    assert_eq!(key(&plans[0]).unwrap(), key(&plans[1]).unwrap());
    let [a, b] = plans.map(|plan| {
        let directory = tempfile::tempdir().unwrap();
        EngineServer::prepare_base(&plan, directory.path(), &mut NobodyWatches).unwrap();
        contents(directory.path())
    });
    let names = |all: &[(PathBuf, Vec<u8>)]| all.iter().map(|(path, _)| path.clone()).collect();
    let (names_a, names_b): (Vec<_>, Vec<_>) = (names(&a), names(&b));
    assert_eq!(names_a, names_b);
    for ((path, a), (_, b)) in a.iter().zip(&b) {
        assert!(a == b, "{} differs", path.display());
    }
}

#[test]
fn what_decides_the_bytes_is_in_the_key() {
    let this = key(&plan("mysql-5.7", &[])).unwrap();
    for (flavor, more) in [
        ("mysql-8.4", &[][..]),
        ("mysql-5.7", &["innodb_log_file_size=9M"]),
        ("mysql-5.7", &["innodb_log_files_in_group=3"]),
        ("mysql-5.7", &["innodb_rollback_segments=64"]),
    ] {
        let other = key(&plan(flavor, more)).unwrap();
        assert_ne!(this, other, "{flavor} {more:?}");
    }
    let mut rows = plan("mysql-5.7", &[]);
    rows.schema = RunArguments {
        table_size: Some("301".into()),
        tables: Some("2".into()),
        workload: Some("oltp_write_only".into()),
        ..RunArguments::default()
    }
    .plan()
    .unwrap()
    .schema;
    assert_ne!(this, key(&rows).unwrap());
    assert_eq!(
        this,
        key(&plan("mysql-5.7", &["innodb_io_capacity=999"])).unwrap()
    );
}

#[test]
fn a_run_begins_from_a_base_whose_redo_capacity_was_another() {
    let (_directory, bases) = bases(u64::MAX);
    let base = bases
        .prepare(
            &plan("mysql-8.4", &["innodb_redo_log_capacity=8M"]),
            &mut NobodyWatches,
        )
        .unwrap();
    let run = RunArguments {
        set: vec!["innodb_redo_log_capacity=64M".into()],
        workload: Some("oltp_write_only".into()),
        table_size: Some("300".into()),
        tables: Some("2".into()),
        events: Some("200".into()),
        seed: Some("7".into()),
        base: Some(base.path().into()),
        ..RunArguments::default()
    };
    let result = crate::run::execute::<EngineServer>(&run.plan().unwrap(), NobodyWatches).unwrap();
    assert_eq!(result.document.transactions, 200);
    let warnings = &result.document.warnings;
    let about_data =
        |warning: &&String| warning.contains("recovered") || warning.contains("has no row");
    assert!(
        !warnings.iter().any(|warning| about_data(&warning)),
        "{warnings:?}"
    );
}

#[test]
fn room_for_one_in_the_making_is_left_to_it() {
    let (_directory, bases) = bases(3 * MEGABYTE / 2);
    let (begun, has_begun) = std::sync::mpsc::channel();
    let (may_end, wait) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let make = move |directory: &Path, watch: &mut dyn Watch| {
                begun.send(()).unwrap();
                wait.recv().unwrap();
                one_megabyte(directory, watch)
            };
            let first = bases.acquire("b", "first", MEGABYTE, &mut NobodyWatches, make);
            assert!(first.unwrap().path().is_dir());
        });
        has_begun.recv().unwrap();
        // Nothing of the first one is written yet.
        let error = bases.simple("second").unwrap_err().to_string();
        assert!(error.contains("about 2 MiB are needed"), "{error}");
        may_end.send(()).unwrap();
    });
    assert!(bases.has("first") && !bases.has("second"));
}
