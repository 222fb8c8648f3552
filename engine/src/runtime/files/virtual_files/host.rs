//! Between virtual files and ordinary ones: a host directory as the base of virtual
//! files, and all virtual files written out.
//!
//! A mounted host file is mapped read-only, and its pages are read when the simulation
//! first reads them: the one time besides reading back a spilled image when the host's
//! disk can hold the simulation up. The host's files must not be changed by others
//! meanwhile.
//!
//! Writing out into the mounted directory itself changes the pages that the simulation
//! has changed and no others. Everywhere else files are written whole, under another
//! name first: a file that lies at the target may be the base of a virtual file with
//! another name by now.

use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::content::{Base, Content, Part};
use super::image_store::PageRef;
use super::names::normal;
use super::volatile::Old;
use super::{IMAGE_BYTES, VirtualFile, VirtualFiles};

/// Bytes written at a time.
const CHUNK: usize = 1 << 20;

impl VirtualFiles {
    /// Makes the files of a host directory, and of those in it, files of the simulation,
    /// under the virtual path `at`. A virtual file of the same name goes. Symbolic links
    /// are followed; what is neither file nor directory, or whose name is not UTF-8, is
    /// passed over.
    ///
    /// # Errors
    /// If the host cannot list or map a file.
    pub fn mount(&mut self, directory: impl AsRef<Path>, at: impl AsRef<Path>) -> io::Result<()> {
        let at = normal(at.as_ref());
        self.create_directory(&at)?;
        self.mounted.retain(|path, _| !path.starts_with(&at));
        self.mount_directory(&fs::canonicalize(directory)?, &at)
    }

    fn mount_directory(&mut self, directory: &Path, at: &Path) -> io::Result<()> {
        let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                continue;
            };
            let (host_path, path) = (entry.path(), at.join(name));
            let metadata = fs::metadata(&host_path)?;
            if metadata.is_dir() {
                self.create_directory(&path)?;
                self.mount_directory(&host_path, &path)?;
            } else if metadata.is_file() {
                self.mount_file(host_path, path)?;
            }
        }
        Ok(())
    }

    fn mount_file(&mut self, host_path: PathBuf, path: PathBuf) -> io::Result<()> {
        let file = fs::File::open(&host_path)?;
        let metadata = file.metadata()?;
        let map = if metadata.len() > 0 {
            // SAFETY: nobody changes the files of a mounted directory while the
            // simulation has it, as the module's opening demands; `write_out` changes
            // only pages that are not read through the map any more.
            Some(unsafe { Mmap::map(&file)? })
        } else {
            None
        };
        let identity = (metadata.dev(), metadata.ino());
        let base = Base::new(map, host_path.clone(), identity);
        if self.names.contains_key(&path) {
            self.remove(&path)?;
        }
        self.mounted.insert(path.clone(), host_path);
        self.insert(path, Content::of_base(base, metadata.len()), metadata.len());
        Ok(())
    }

    /// Writes the virtual files under `from` into a host directory, as ordinary files
    /// with what a reader of the virtual ones would see. Files that were mounted from
    /// there and exist no longer are removed. The host is not asked to sync.
    ///
    /// # Errors
    /// If the host cannot write a file, or read back a spilled image.
    ///
    /// # Panics
    /// If the power was cut and [`resolve_crash`] has not been called.
    ///
    /// [`resolve_crash`]: crate::runtime::virtual_clock::Simulation::resolve_crash
    pub fn write_out(
        &mut self,
        from: impl AsRef<Path>,
        directory: impl AsRef<Path>,
    ) -> io::Result<()> {
        assert!(!self.unresolved, "a power cut has not been resolved");
        let from = normal(from.as_ref());
        fs::create_dir_all(directory.as_ref())?;
        let directory = fs::canonicalize(directory)?;
        for path in &self.directories {
            if let Ok(rest) = path.strip_prefix(&from) {
                fs::create_dir_all(directory.join(rest))?;
            }
        }
        self.keep_what_may_be_put_back(&directory)?;
        for (path, id) in &self.names {
            if let Ok(rest) = path.strip_prefix(&from) {
                let file = self.files[id.0 as usize].as_ref().expect("a named file");
                self.write_file(file, &directory.join(rest))?;
            }
        }
        for (path, host_path) in &self.mounted {
            let Ok(rest) = path.strip_prefix(&from) else {
                continue;
            };
            if *host_path == directory.join(rest) && !self.names.contains_key(path) {
                match fs::remove_file(host_path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Pages of the base that a power failure could still put back are about to be
    /// changed on the host: they get images.
    fn keep_what_may_be_put_back(&mut self, directory: &Path) -> io::Result<()> {
        for device in &mut self.devices {
            for write in device.writes.iter_mut() {
                let file = self.files[write.file.0 as usize].as_ref();
                if let Old::Page(page @ PageRef::BASE) = &mut write.old
                    && let Some(file) = file
                    && let Some(base) = &file.content.base
                    && base.host_path.starts_with(directory)
                {
                    let mut bytes = [0; IMAGE_BYTES];
                    file.content
                        .read_as(*page, write.page, 0, &mut bytes, &self.store)?;
                    *page = self.store.image(&bytes);
                }
            }
        }
        Ok(())
    }

    fn write_file(&self, file: &VirtualFile, target: &Path) -> io::Result<()> {
        let in_place = file.content.base.as_ref().is_some_and(|base| {
            base.host_path == target
                && fs::metadata(target)
                    .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == base.identity)
        });
        if in_place {
            let host = fs::OpenOptions::new().write(true).open(target)?;
            self.write_pages(file, &host, true)?;
            return host.set_len(file.length);
        }
        let mut temporary = target.as_os_str().to_owned();
        temporary.push(".innosim-new");
        let host = fs::File::create(&temporary)?;
        // Pages of zeros stay holes.
        host.set_len(file.length)?;
        self.write_pages(file, &host, false)?;
        fs::rename(temporary, target)
    }

    fn write_pages(&self, file: &VirtualFile, host: &fs::File, in_place: bool) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(CHUNK);
        let mut start = 0;
        for page in 0..super::content::pages(file.length) as u32 {
            let offset = u64::from(page) * IMAGE_BYTES as u64;
            let unchanged = if in_place {
                PageRef::BASE
            } else {
                PageRef::ZERO
            };
            if file.content.page(page) == unchanged && !file.cache.has_dirty(page) {
                host.write_all_at(&buffer, start)?;
                buffer.clear();
                continue;
            }
            if buffer.is_empty() {
                start = offset;
            }
            let length = (file.length - offset).min(IMAGE_BYTES as u64) as usize;
            let at = buffer.len();
            buffer.resize(at + length, 0);
            let part = Part {
                page,
                offset: 0,
                length,
                position: 0,
            };
            file.cache
                .read(part, &mut buffer[at..], &file.content, &self.store)?;
            if buffer.len() >= CHUNK {
                host.write_all_at(&buffer, start)?;
                buffer.clear();
            }
        }
        host.write_all_at(&buffer, start)
    }

    /// The paths of all virtual files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.names.keys().map(PathBuf::as_path)
    }

    /// All bytes of a virtual file, as a reader would see them.
    ///
    /// # Errors
    /// If there is no such file, or the host cannot read back a spilled image.
    pub fn contents(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let id = self.names.get(&normal(path.as_ref()));
        let id = *id.ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; self.file(id).length as usize];
        self.read(id, 0, &mut bytes)?;
        Ok(bytes)
    }
}
