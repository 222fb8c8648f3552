//! Errors of files: each names the file and what was being done with it.

use std::fmt::{self, Display};
use std::io;
use std::path::{Path, PathBuf};

/// What was being done when an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creating a file that must not exist yet, or opening one.
    Open,
    /// Reading so many bytes.
    Read {
        /// First byte.
        offset: u64,
        /// Bytes asked for.
        length: u64,
    },
    /// Writing so many bytes.
    Write {
        /// First byte.
        offset: u64,
        /// Bytes given.
        length: u64,
    },
    /// Making writes durable.
    Sync,
    /// Asking for the length.
    Length,
    /// Changing the length.
    SetLength {
        /// The length wanted.
        length: u64,
    },
    /// Creating a directory.
    CreateDirectory,
    /// Listing a directory.
    List,
    /// Removing a file.
    Remove,
    /// Renaming a file.
    Rename,
    /// Making a directory's entries durable.
    SyncDirectory,
    /// Taking a data directory for oneself.
    Lock,
}

impl Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Open => f.write_str("open"),
            Operation::Read { offset, length } => {
                write!(f, "read {length} bytes at offset {offset} of")
            }
            Operation::Write { offset, length } => {
                write!(f, "write {length} bytes at offset {offset} of")
            }
            Operation::Sync => f.write_str("sync"),
            Operation::Length => f.write_str("find the length of"),
            Operation::SetLength { length } => write!(f, "set to {length} bytes the length of"),
            Operation::CreateDirectory => f.write_str("create the directory"),
            Operation::List => f.write_str("list the directory"),
            Operation::Remove => f.write_str("remove"),
            Operation::Rename => f.write_str("rename"),
            Operation::SyncDirectory => f.write_str("sync the directory"),
            Operation::Lock => f.write_str("lock the directory"),
        }
    }
}

/// Something that went wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("cannot {operation} {}: {source}", path.display())]
    Failed {
        /// The file or directory.
        path: PathBuf,
        /// What was being done.
        operation: Operation,
        /// The system's reason.
        source: io::Error,
    },
    /// The file ends before the bytes asked for do.
    #[error(
        "short read of {}: {expected} bytes expected at offset {offset}, {found} found",
        path.display()
    )]
    ShortRead {
        /// The file.
        path: PathBuf,
        /// First byte asked for.
        offset: u64,
        /// Bytes asked for.
        expected: u64,
        /// Bytes that the file has from there.
        found: u64,
    },
    /// Direct I/O is done in whole sectors only.
    #[error(
        "cannot {operation} {}: direct I/O needs offset and length in multiples of 512 bytes",
        path.display()
    )]
    Misaligned {
        /// The file.
        path: PathBuf,
        /// What was being done.
        operation: Operation,
    },
    /// Another process, or another engine of this one, works in the data directory.
    #[error("the data directory {} is in use by another engine", path.display())]
    DirectoryInUse {
        /// The directory.
        path: PathBuf,
    },
}

impl FileError {
    /// The file or directory concerned.
    pub fn path(&self) -> &Path {
        match self {
            FileError::Failed { path, .. }
            | FileError::ShortRead { path, .. }
            | FileError::Misaligned { path, .. }
            | FileError::DirectoryInUse { path } => path,
        }
    }

    /// The system's kind of error; `None` where the system was not the one to refuse.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            FileError::Failed { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether there was no such file or directory.
    pub fn is_not_found(&self) -> bool {
        self.io_kind() == Some(io::ErrorKind::NotFound)
    }

    /// Whether there was no room: on the device, in a quota, or below the largest file
    /// that the process may have. Bytes written earlier are untouched.
    pub fn is_out_of_space(&self) -> bool {
        matches!(
            self.io_kind(),
            Some(
                io::ErrorKind::StorageFull
                    | io::ErrorKind::QuotaExceeded
                    | io::ErrorKind::FileTooLarge
            )
        )
    }
}

/// Names the file and the operation for an error of the system.
pub(super) fn failed(path: &Path, operation: Operation) -> impl FnOnce(io::Error) -> FileError {
    move |source| FileError::Failed {
        path: path.into(),
        operation,
        source,
    }
}

/// The error that the operating system would report under this number.
pub(super) fn system_error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_file_operation_and_reason() {
        let operation = Operation::Write {
            offset: 32768,
            length: 16384,
        };
        let error = failed(Path::new("db/t1.ibd"), operation)(system_error(libc::ENOSPC));
        assert_eq!(
            error.to_string(),
            "cannot write 16384 bytes at offset 32768 of db/t1.ibd: \
             No space left on device (os error 28)"
        );
        assert!(error.is_out_of_space() && !error.is_not_found());
        assert_eq!(error.io_kind(), Some(io::ErrorKind::StorageFull));

        let error = FileError::ShortRead {
            path: "db/t1.ibd".into(),
            offset: 16384,
            expected: 16384,
            found: 512,
        };
        assert_eq!(
            error.to_string(),
            "short read of db/t1.ibd: 16384 bytes expected at offset 16384, 512 found"
        );
        assert!(!error.is_out_of_space());
        assert_eq!(error.path(), Path::new("db/t1.ibd"));
    }
}
