//! Whether there is room on the host's disk, before work begins that would fill it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Not enough room.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}: about {} MiB are needed, and {} MiB are free on that file system",
    directory.display(), needed.div_ceil(1 << 20), free >> 20
)]
pub struct TooLittleSpace {
    /// The directory.
    pub directory: PathBuf,
    /// Bytes needed.
    pub needed: u64,
    /// Bytes free for this user.
    pub free: u64,
}

/// Makes sure that so many bytes are free on the file system of a directory.
///
/// # Errors
/// [`TooLittleSpace`], or that the system does not tell.
pub fn require(directory: &Path, needed: u64) -> anyhow::Result<()> {
    let free = free(directory)?;
    if free < needed {
        let directory = directory.to_path_buf();
        anyhow::bail!(TooLittleSpace {
            directory,
            needed,
            free
        });
    }
    Ok(())
}

/// Bytes that are free for this user on the file system of a directory.
///
/// # Errors
/// If the system does not tell.
pub fn free(directory: &Path) -> io::Result<u64> {
    let about = rustix::fs::statvfs(directory)?;
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}

/// Bytes that the files of a directory take on disk.
///
/// # Errors
/// If it cannot be listed.
pub fn directory_bytes(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() {
            directory_bytes(&entry.path())?
        } else {
            metadata.blocks() * 512
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_is_told_in_words() {
        let directory = tempfile::tempdir().unwrap();
        require(directory.path(), 1).unwrap();
        let error = require(directory.path(), 1 << 62).unwrap_err();
        let error: TooLittleSpace = error.downcast().unwrap();
        let text = TooLittleSpace {
            directory: "/data".into(),
            needed: (5 << 20) + 1,
            ..error
        };
        let begin = "/data: about 6 MiB are needed, and ";
        assert!(text.to_string().starts_with(begin), "{text}");
    }

    #[test]
    fn bytes_are_counted_in_all_directories() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("a")).unwrap();
        fs::write(directory.path().join("a/b"), [1; 100_000]).unwrap();
        fs::File::create(directory.path().join("hole"))
            .and_then(|file| file.set_len(1 << 30))
            .unwrap();
        let bytes = directory_bytes(directory.path()).unwrap();
        assert!((100_000..1 << 20).contains(&bytes), "{bytes}");
    }
}
