//! Prepared data directories, from which the runs of a report begin.
//!
//! ```text
//!   bases/
//!     sbtest8-7c1f….lock     held shared while a base is in use, alone while it is made
//!     sbtest8-7c1f….key      what decided its bytes
//!     sbtest8-7c1f…/         the data directory, whole
//!     sbtest8-90ab….part/    one in the making; without a maker it is removed
//! ```
//!
//! Loading takes minutes and gigabytes, and many runs can begin from the same files: they
//! depend on the tables, on the loader's seed and on how a version lays out redo and undo,
//! and on no other setting. Two commands that need the same base make it once; the other
//! one waits.
//!
//! Bases take no more than a given number of bytes. To make room for a new one, those that
//! were not used for longest go, but none that is in use.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, bail};
use innosim_engine::redo_log::RedoSettings;
use innosim_engine::transaction::TransactionSettings;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::fingerprint::Fingerprint;
use crate::run::space::{self, directory_bytes};
use crate::run::{RunPlan, Watch};
use crate::server::EngineServer;

/// The version of what the engine writes into its files. To be raised when the same rows
/// would give other bytes, or a directory would not be opened any more.
pub const DATA_VERSION: u32 = 1;

/// Bytes besides the tables: system tablespace, undo tablespaces, the dictionary.
const REST_BYTES: u64 = 64 << 20;

/// All bases of a cache.
#[derive(Debug)]
pub struct Bases {
    directory: PathBuf,
    /// The most bytes that they may take.
    limit: u64,
    /// Those that this program is loading, by name: bytes that each will have. Who makes
    /// room for one leaves that of the others alone.
    in_the_making: Mutex<BTreeMap<String, u64>>,
}

/// A base; nobody removes it while this value is there.
#[derive(Debug)]
pub struct Base {
    path: PathBuf,
    /// The lock goes with the open file.
    _lock: File,
}

impl Base {
    /// Its data directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What decides the bytes of a base, as text.
///
/// # Errors
/// If the plan's redo files are too small for their margins.
pub fn key(plan: &RunPlan) -> anyhow::Result<String> {
    let redo = RedoSettings::from_variables(&plan.loading)?;
    let transactions = TransactionSettings::from_variables(&plan.loading);
    Ok(format!(
        "innosim {}, data version {DATA_VERSION}\nredo {:?}\nundo tablespaces {}, of {} pages\n\
         rollback segments {}\n{:?}\n",
        env!("CARGO_PKG_VERSION"),
        redo.layout,
        transactions.undo_tablespaces,
        transactions.undo_space_pages,
        transactions.rollback_segments,
        plan.schema,
    ))
}

impl Bases {
    /// Those in this directory, which may take so many bytes.
    ///
    /// # Errors
    /// If the directory cannot be made.
    pub fn new(directory: &Path, limit: u64) -> anyhow::Result<Self> {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        Ok(Bases {
            directory: directory.into(),
            limit,
            in_the_making: Mutex::default(),
        })
    }

    /// The base of a plan, loaded if it is not there. Waits for another command that is
    /// loading it.
    ///
    /// # Errors
    /// If there is no room for it, or it cannot be written.
    pub fn prepare(&self, plan: &RunPlan, watch: &mut dyn Watch) -> anyhow::Result<Base> {
        let tables = plan.schema.tables();
        let name = format!("{}x{}", tables.len(), tables.first().map_or(0, |t| t.rows));
        let bytes = EngineServer::table_bytes(plan) + REST_BYTES;
        self.acquire(&name, &key(plan)?, bytes, watch, |directory, watch| {
            EngineServer::prepare_base(plan, directory, watch)
        })
    }

    fn acquire(
        &self,
        name: &str,
        key: &str,
        bytes: u64,
        watch: &mut dyn Watch,
        make: impl Fn(&Path, &mut dyn Watch) -> anyhow::Result<()>,
    ) -> anyhow::Result<Base> {
        let id = format!("{name}-{}", &Fingerprint::of(key).to_string()[..16]);
        let path = self.directory.join(&id);
        let lock_path = self.file(&id, "lock");
        let context = || lock_path.display().to_string();
        let lock = open_lock(&lock_path).with_context(context)?;
        // Whoever waited for one lock may find that the base has come, or gone, meanwhile.
        loop {
            if !try_lock(&lock, FlockOperation::NonBlockingLockShared).with_context(context)? {
                let what = path.display();
                watch.note(&format!(
                    "another command is loading {what}: waiting for it"
                ));
                rustix::fs::flock(&lock, FlockOperation::LockShared).with_context(context)?;
            }
            if path.is_dir() {
                lock.set_modified(SystemTime::now()).with_context(context)?;
                return Ok(Base { path, _lock: lock });
            }
            rustix::fs::flock(&lock, FlockOperation::LockExclusive).with_context(context)?;
            if !path.is_dir() {
                self.make(&id, key, bytes, watch, &make)?;
            }
        }
    }

    /// Makes a base under another name first. The caller has its lock alone.
    fn make(
        &self,
        id: &str,
        key: &str,
        bytes: u64,
        watch: &mut dyn Watch,
        make: &impl Fn(&Path, &mut dyn Watch) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let part = self.file(id, "part");
        let context = || part.display().to_string();
        remove(&part).with_context(context)?;
        {
            let mut in_the_making = self.in_the_making();
            self.make_room(id, bytes, &in_the_making, watch)?;
            in_the_making.insert(id.to_owned(), bytes);
        }
        let made = self.write_part(id, key, &part, watch, make);
        self.in_the_making().remove(id);
        if made.is_err() {
            // What is left is removed before the next attempt at the latest.
            let _ = remove(&part);
            return made;
        }
        fs::rename(&part, self.directory.join(id)).with_context(context)
    }

    fn write_part(
        &self,
        id: &str,
        key: &str,
        part: &Path,
        watch: &mut dyn Watch,
        make: &impl Fn(&Path, &mut dyn Watch) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let context = || part.display().to_string();
        fs::write(self.file(id, "key"), key).with_context(context)?;
        fs::create_dir(part).with_context(context)?;
        make(part, watch)
    }

    fn in_the_making(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        let guard = self.in_the_making.lock();
        guard.unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, id: &str, extension: &str) -> PathBuf {
        self.directory.join(format!("{id}.{extension}"))
    }

    /// Removes bases until so many bytes have room, under the limit and on the disk.
    fn make_room(
        &self,
        but: &str,
        bytes: u64,
        in_the_making: &BTreeMap<String, u64>,
        watch: &mut dyn Watch,
    ) -> anyhow::Result<()> {
        let mut present = self.list()?;
        present.sort_by_key(|(_, used, _)| *used);
        let to_come = in_the_making.iter().map(|(id, &bytes)| {
            let found = present.iter().find(|(other, _, _)| other == id);
            bytes.saturating_sub(found.map_or(0, |(_, _, size)| *size))
        });
        let to_come: u64 = to_come.sum();
        let bytes = bytes.saturating_add(to_come);
        let mut total: u64 = present.iter().map(|(_, _, bytes)| bytes).sum();
        for (id, _, size) in &present {
            let fits = total.saturating_add(bytes) <= self.limit
                && space::require(&self.directory, bytes).is_ok();
            if fits {
                break;
            }
            if id != but && self.remove_unused(id)? {
                let megabytes = size >> 20;
                watch.note(&format!(
                    "removed the base {id} ({megabytes} MiB) to make room"
                ));
                total -= size;
            }
        }
        if total.saturating_add(bytes) > self.limit {
            bail!(
                "{}: about {} MiB are needed, and bases in use take {} MiB of the {} MiB that \
                 --cache-size allows",
                self.directory.display(),
                bytes.div_ceil(1 << 20),
                total >> 20,
                self.limit >> 20
            );
        }
        space::require(&self.directory, bytes)
    }

    /// Name, last use and bytes of all bases, whole or not.
    fn list(&self) -> anyhow::Result<Vec<(String, SystemTime, u64)>> {
        let context = || self.directory.display().to_string();
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.directory).with_context(context)? {
            let path = entry.with_context(context)?.path();
            if path.extension().is_none_or(|extension| extension != "lock") {
                continue;
            }
            let Some(id) = path.file_stem().and_then(|stem| stem.to_str()) else {
                continue;
            };
            // They may go while they are looked at.
            let bytes = |path: &Path| directory_bytes(path).unwrap_or(0);
            let bytes = bytes(&self.directory.join(id)) + bytes(&self.file(id, "part"));
            let used = fs::metadata(&path).and_then(|metadata| metadata.modified());
            if bytes > 0 {
                let used = used.unwrap_or(SystemTime::UNIX_EPOCH);
                found.push((id.to_owned(), used, bytes));
            }
        }
        Ok(found)
    }

    /// Removes a base unless somebody uses or makes it.
    fn remove_unused(&self, id: &str) -> anyhow::Result<bool> {
        let path = self.file(id, "lock");
        let context = || path.display().to_string();
        let lock = open_lock(&path).with_context(context)?;
        if !try_lock(&lock, FlockOperation::NonBlockingLockExclusive).with_context(context)? {
            return Ok(false);
        }
        remove(&self.directory.join(id)).with_context(context)?;
        remove(&self.file(id, "part")).with_context(context)?;
        Ok(true)
    }
}

/// The file whose lock stands for a base. It stays when the base goes: somebody may be
/// waiting for it.
fn open_lock(path: &Path) -> std::io::Result<File> {
    File::options().create(true).append(true).open(path)
}

/// Whether the lock could be had without waiting.
fn try_lock(file: &File, operation: FlockOperation) -> std::io::Result<bool> {
    match rustix::fs::flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn remove(directory: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests;
