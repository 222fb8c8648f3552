//! Names of virtual files: open, remove, rename, list.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::content::Content;
use super::{FileId, VirtualFile, VirtualFiles};
use crate::runtime::files::directory::Entry;
use crate::runtime::files::error::system_error;
use crate::runtime::files::file::Create;
use crate::runtime::files::kind::FileKind;

/// An open virtual file. Dropping it does nothing but let go.
#[derive(Clone, Debug)]
pub(in crate::runtime::files) struct VirtualHandle {
    pub(in crate::runtime::files) id: FileId,
    alive: Arc<()>,
}

/// The path without `.` and `..`.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

impl VirtualFiles {
    fn is_directory(&self, path: &Path) -> bool {
        path == Path::new("") || path == Path::new("/") || self.directories.contains(path)
    }

    /// Creates a file with this content.
    pub(super) fn insert(&mut self, path: PathBuf, content: Content, length: u64) -> FileId {
        let file = VirtualFile::new(content, length);
        let id = match self.free.pop() {
            Some(id) => {
                self.files[id.0 as usize] = Some(file);
                id
            }
            None => {
                self.files.push(Some(file));
                FileId((self.files.len() - 1) as u32)
            }
        };
        self.names.insert(path, id);
        id
    }

    pub(in crate::runtime::files) fn open(
        &mut self,
        path: &Path,
        create: Create,
        kind: FileKind,
    ) -> io::Result<VirtualHandle> {
        let path = normal(path);
        if self.is_directory(&path) {
            return Err(system_error(libc::EISDIR));
        }
        let id = match (self.names.get(&path).copied(), create) {
            (Some(_), Create::New) => return Err(system_error(libc::EEXIST)),
            (None, Create::Existing) => return Err(system_error(libc::ENOENT)),
            (Some(id), Create::Existing) => id,
            (Some(id), Create::OrTruncate) => {
                self.set_length(id, 0)?;
                id
            }
            (None, Create::New | Create::OrTruncate) => {
                let parent = path.parent().unwrap_or(Path::new(""));
                if !self.is_directory(parent) {
                    return Err(system_error(libc::ENOENT));
                }
                self.insert(path, Content::default(), 0)
            }
        };
        self.place(id, kind)?;
        let alive = self.file(id).alive.clone();
        Ok(VirtualHandle { id, alive })
    }

    /// A handle is of this simulation.
    #[inline]
    pub(in crate::runtime::files) fn check(&self, handle: &VirtualHandle) {
        let file = self.files.get(handle.id.0 as usize);
        let ours = file.and_then(Option::as_ref).map(|file| &file.alive);
        assert!(
            ours.is_some_and(|alive| Arc::ptr_eq(alive, &handle.alive)),
            "a virtual file is used in the simulation that opened it"
        );
    }

    pub(in crate::runtime::files) fn length(&self, handle: &VirtualHandle) -> u64 {
        self.file(handle.id).length
    }

    pub(in crate::runtime::files) fn remove(&mut self, path: &Path) -> io::Result<()> {
        let path = normal(path);
        if self.is_directory(&path) {
            return Err(system_error(libc::EISDIR));
        }
        let id = self.names.remove(&path);
        self.unlink(id.ok_or_else(|| system_error(libc::ENOENT))?);
        Ok(())
    }

    pub(in crate::runtime::files) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (normal(from), normal(to));
        if self.is_directory(&from) || self.is_directory(&to) {
            return Err(system_error(libc::EISDIR));
        }
        let parent = to.parent().unwrap_or(Path::new(""));
        if !self.names.contains_key(&from) || !self.is_directory(parent) {
            return Err(system_error(libc::ENOENT));
        }
        if from == to {
            return Ok(());
        }
        let id = self.names.remove(&from).expect("looked up above");
        if let Some(replaced) = self.names.insert(to, id) {
            self.unlink(replaced);
        }
        Ok(())
    }

    /// A file has lost its name: it goes when the last handle does. That is noticed
    /// here, at the next removal.
    fn unlink(&mut self, id: FileId) {
        self.unlinked.push(id);
        let mut unlinked = std::mem::take(&mut self.unlinked);
        unlinked.retain(|&id| {
            let open = Arc::strong_count(&self.file(id).alive) > 1;
            if !open {
                self.destroy(id);
            }
            open
        });
        self.unlinked = unlinked;
    }

    fn destroy(&mut self, id: FileId) {
        // Cutting to nothing reads no image, so it cannot fail.
        let cut = self.set_length(id, 0);
        debug_assert!(cut.is_ok());
        self.files[id.0 as usize] = None;
        self.free.push(id);
    }

    pub(in crate::runtime::files) fn exists(&self, path: &Path) -> bool {
        let path = normal(path);
        self.is_directory(&path) || self.names.contains_key(&path)
    }

    /// Creates a directory and those above it.
    pub(in crate::runtime::files) fn create_directory(&mut self, path: &Path) -> io::Result<()> {
        let path = normal(path);
        let above = path.ancestors();
        if above.clone().any(|path| self.names.contains_key(path)) {
            return Err(system_error(libc::EEXIST));
        }
        for path in above {
            if !self.is_directory(path) {
                self.directories.insert(path.into());
            }
        }
        Ok(())
    }

    /// The entries of a directory, by name.
    pub(in crate::runtime::files) fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let path = normal(path);
        if !self.is_directory(&path) {
            return Err(system_error(libc::ENOENT));
        }
        let directories = self.directories.iter().map(|path| (path, true));
        let files = self.names.keys().map(|path| (path, false));
        let mut entries: Vec<Entry> = directories
            .chain(files)
            .filter(|(entry, _)| entry.parent() == Some(&path))
            .filter_map(|(entry, is_directory)| {
                let name = entry.file_name()?.to_str()?.into();
                Some(Entry { name, is_directory })
            })
            .collect();
        entries.sort();
        Ok(entries)
    }

    /// Takes a directory for one engine: `None` if another one has it.
    pub(in crate::runtime::files) fn lock(&mut self, path: &Path) -> io::Result<Option<Arc<()>>> {
        let path = normal(path);
        if !self.is_directory(&path) {
            return Err(system_error(libc::ENOENT));
        }
        if self
            .locks
            .get(&path)
            .is_some_and(|held| held.strong_count() > 0)
        {
            return Ok(None);
        }
        let lock = Arc::new(());
        self.locks.insert(path, Arc::downgrade(&lock));
        Ok(Some(lock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_dots() {
        for (path, expected) in [
            ("./db/../db/t1.ibd", "db/t1.ibd"),
            ("/data//x/", "/data/x"),
            (".", ""),
            ("../x", "x"),
        ] {
            assert_eq!(normal(Path::new(path)), Path::new(expected));
        }
    }
}
