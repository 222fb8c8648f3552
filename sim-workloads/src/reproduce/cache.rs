//! What is kept between two calls of `reproduce`, so that one that was interrupted goes on
//! where it stopped, and one that is repeated is done at once.
//!
//! ```text
//!   ~/.cache/innosim/
//!     settings/    option files of the reports
//!     machines/    profiles, changed or not
//!     cells/       a JSON document for each run:  key, warm-up, run
//!     bases/       data directories: see `base`
//! ```
//!
//! A run is found by everything that decides what it gives: its options, the *text* of its
//! option file and of its machine, its data, its seed, and the program itself, to the last
//! bit. So nothing is ever out of date. Files appear under their names when they are whole.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use super::finished::Measured;
use crate::report::json::RunDocument;

/// Runs that nobody has asked for in this time are forgotten.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// The directory of everything that is kept.
#[derive(Debug, Clone)]
pub struct CacheDirectory {
    path: PathBuf,
}

/// A run as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    key: String,
    warm_up_s: f64,
    run: RunDocument,
}

impl CacheDirectory {
    /// A directory, which is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(path).with_context(|| path.display().to_string())?;
        // Runs are started with the paths of files in it.
        let path = fs::canonicalize(path).with_context(|| path.display().to_string())?;
        let cache = CacheDirectory { path };
        cache.forget(KEPT)?;
        Ok(cache)
    }

    /// Where it is if nobody says otherwise: `innosim` in `XDG_CACHE_HOME`, or in `.cache`
    /// of the home directory.
    ///
    /// # Errors
    /// If there is neither.
    pub fn default_path() -> anyhow::Result<PathBuf> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = || Some(Path::new(&variable("HOME")?).join(".cache"));
        let parent = variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
        let parent = parent.context(
            "neither XDG_CACHE_HOME nor HOME is set: --cache-dir says where to keep data",
        )?;
        Ok(parent.join("innosim"))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file with this text, by a name that ends with the text's fingerprint.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep_text(&self, kind: &str, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "txt"));
        let hash = Fingerprint::of(text).to_string();
        let path = self.subdirectory(kind)?;
        let path = path.join(format!("{stem}-{}.{extension}", &hash[..12]));
        if fs::read_to_string(&path).is_ok_and(|found| found == text) {
            return Ok(path);
        }
        write_whole(&path, text.as_bytes())?;
        Ok(path)
    }

    /// The run of this key, if it is kept; `warn` is told of a file that cannot be used.
    pub fn find(&self, key: &str, warn: impl FnOnce(String)) -> Option<Measured> {
        let path = self.cell_path(key);
        let text = fs::read(&path).ok()?;
        match serde_json::from_slice::<Entry>(&text) {
            Ok(entry) if entry.key == key => {
                // So that it is not forgotten; where it fails, it is run again one day.
                let _ = fs::File::options()
                    .append(true)
                    .open(&path)
                    .and_then(|file| file.set_modified(SystemTime::now()));
                Some(Measured {
                    warm_up_s: entry.warm_up_s,
                    run: entry.run,
                })
            }
            Ok(_) => {
                warn(format!("{}: is that of another run", path.display()));
                None
            }
            Err(error) => {
                let path = path.display();
                warn(format!("{path}: damaged, and run again ({error})"));
                None
            }
        }
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, key: &str, measured: &Measured) -> anyhow::Result<()> {
        let entry = Entry {
            key: key.to_owned(),
            warm_up_s: measured.warm_up_s,
            run: measured.run.clone(),
        };
        self.subdirectory("cells")?;
        write_whole(&self.cell_path(key), &serde_json::to_vec(&entry)?)
    }

    fn cell_path(&self, key: &str) -> PathBuf {
        let name = format!("{}.json", Fingerprint::of(key));
        self.path.join("cells").join(name)
    }

    pub(super) fn subdirectory(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(path)
    }

    /// Removes runs that nobody has asked for in this time, and what an interrupted call
    /// has left.
    fn forget(&self, kept: Duration) -> anyhow::Result<()> {
        let directory = self.subdirectory("cells")?;
        for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
            let Ok(entry) = entry else { continue };
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|time| time.elapsed().ok());
            if age.is_some_and(|age| age > kept) {
                // Another call may have been faster.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

/// Writes a file that has its name when it is whole.
fn write_whole(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let write = || -> std::io::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(content)?;
        file.as_file().sync_data()?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn never(message: String) {
        panic!("{message}");
    }

    fn measured() -> Measured {
        Measured {
            warm_up_s: 90.0,
            run: sample::run(),
        }
    }

    #[test]
    fn a_run_is_found_by_its_key_and_by_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::open(&directory.path().join("new/cache")).unwrap();
        assert_eq!(cache.find("a", never), None);
        cache.keep("a", &measured()).unwrap();
        assert_eq!(cache.find("a", never), Some(measured()));
        assert_eq!(cache.find("b", never), None);
        // A second call finds what the first has kept.
        let again = CacheDirectory::open(cache.path()).unwrap();
        assert_eq!(again.find("a", never), Some(measured()));
    }

    #[test]
    fn a_damaged_file_is_told_of_and_written_anew() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::open(directory.path()).unwrap();
        cache.keep("a", &measured()).unwrap();
        let path = cache.cell_path("a");
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() / 2], b"", b"{}", b"\xff"] {
            fs::write(&path, damaged).unwrap();
            let mut told = Vec::new();
            assert_eq!(cache.find("a", |message| told.push(message)), None);
            assert_eq!(told.len(), 1);
            assert!(told[0].contains("damaged"), "{told:?}");
        }
        cache.keep("a", &measured()).unwrap();
        assert_eq!(cache.find("a", never), Some(measured()));

        // Another run's document under this one's name.
        cache.keep("b", &measured()).unwrap();
        fs::copy(cache.cell_path("b"), &path).unwrap();
        let mut told = Vec::new();
        assert_eq!(cache.find("a", |message| told.push(message)), None);
        assert!(told[0].contains("another run"), "{told:?}");
    }

    #[test]
    fn a_text_is_a_file_by_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::open(directory.path()).unwrap();
        let one = cache.keep_text("settings", "my.cnf", "[mysqld]").unwrap();
        let name = one.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("my-") && name.ends_with(".cnf"), "{name}");
        assert_eq!(
            cache.keep_text("settings", "my.cnf", "[mysqld]").unwrap(),
            one
        );
        assert_ne!(
            cache.keep_text("settings", "my.cnf", "[mysql]").unwrap(),
            one
        );
        fs::write(&one, "[my").unwrap();
        cache.keep_text("settings", "my.cnf", "[mysqld]").unwrap();
        assert_eq!(fs::read_to_string(&one).unwrap(), "[mysqld]");
    }

    #[test]
    fn what_nobody_asks_for_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::open(directory.path()).unwrap();
        for key in ["a", "b"] {
            cache.keep(key, &measured()).unwrap();
            let file = fs::File::options().append(true).open(cache.cell_path(key));
            let old = SystemTime::now() - 2 * KEPT;
            file.unwrap().set_modified(old).unwrap();
        }
        cache.find("b", never).unwrap();
        cache.forget(KEPT).unwrap();
        assert_eq!(cache.find("a", never), None);
        assert_eq!(cache.find("b", never), Some(measured()));
    }
}
