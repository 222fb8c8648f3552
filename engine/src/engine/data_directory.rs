//! The data directory: which file is where, and whose directory it is.
//!
//! ```text
//!   data/
//!     ibdata1               the system tablespace: the transaction system's page
//!     undo_001, undo_002    undo logs (8.0 on)
//!     #innodb_redo/         redo (8.0.30 on; ib_logfile0, ib_logfile1 before)
//!     #ib_16384_0.dblwr     doublewrite buffer
//!     innosim.dictionary    which tables there are
//!     sbtest/sbtest1.ibd    a table
//!     innosim.creating      only until all of the above is there for the first time
//! ```
//!
//! The names are MySQL's, so that whoever knows a server's data directory finds their way,
//! and `innochecksum` can be let loose on it. It is not a server's directory, though: a
//! server has its dictionary in `mysql.ibd`. So neither opens the other's.

use std::path::{Path, PathBuf};

use super::error::EngineError;
use crate::doublewrite;
use crate::redo_log;
use crate::runtime::WaitKind;
use crate::runtime::files::{Create, FileKind, FileSystem, IoMode, OpenOptions};
use crate::sysvar::Flavor;
use crate::table::dictionary_file;
use crate::transaction::undo::is_undo_file_name;

/// The system tablespace's file.
const SYSTEM_TABLESPACE: &str = "ibdata1";

/// The file that marks a directory as one that is being created.
const CREATION_MARK: &str = "innosim.creating";

/// The path of the system tablespace.
pub fn system_tablespace(directory: &Path) -> PathBuf {
    directory.join(SYSTEM_TABLESPACE)
}

/// The directory of a schema.
pub fn schema(directory: &Path, schema: &str) -> PathBuf {
    directory.join(schema)
}

/// The file of a table, whose full name is `schema/table`.
pub fn table_file(directory: &Path, full_name: &str) -> PathBuf {
    directory.join(format!("{full_name}.ibd"))
}

// ---- creation -------------------------------------------------------------------

/// Whether a directory is one in which a creation was interrupted.
///
/// # Errors
/// If the system cannot tell.
pub fn is_unfinished(files: &FileSystem, directory: &Path) -> Result<bool, EngineError> {
    let is_marked = files.exists(directory.join(CREATION_MARK))?;
    Ok(is_marked && !dictionary_file::exists(files, directory)?)
}

/// Makes sure that a directory can become a data directory, and marks it as one that is
/// being created: durably, before anything else is put there. What an interrupted creation
/// has left is removed, but nothing that innosim has not made.
///
/// # Errors
/// If it holds files already, and which.
pub(super) fn begin_creation(files: &FileSystem, directory: &Path) -> Result<(), EngineError> {
    if is_unfinished(files, directory)? {
        return remove_unfinished(files, directory);
    }
    check_empty(files, directory)?;
    let options = OpenOptions {
        create: Create::New,
        io: IoMode::Buffered,
        kind: FileKind::Other,
    };
    let mark = files.open(directory.join(CREATION_MARK), options)?;
    mark.write_at(CREATION_TEXT, 0, WaitKind::Other)?;
    mark.sync(false, WaitKind::Other)?;
    Ok(files.sync_directory(directory, WaitKind::Other)?)
}

/// All files are there: takes the mark away. Nothing if there is none.
pub(super) fn end_creation(files: &FileSystem, directory: &Path) -> Result<(), EngineError> {
    let mark = directory.join(CREATION_MARK);
    if files.exists(&mark)? {
        files.remove(mark)?;
        files.sync_directory(directory, WaitKind::Other)?;
    }
    Ok(())
}

/// What stands in the mark, for those who find it.
const CREATION_TEXT: &[u8] =
    b"innosim is making a data directory here, or was interrupted when it did.\n";

/// Where a lock is kept, and what a file system puts into its root.
fn is_of_the_system(name: &str) -> bool {
    name.starts_with('.') || name == "lost+found"
}

fn check_empty(files: &FileSystem, directory: &Path) -> Result<(), EngineError> {
    for entry in files.list(directory)? {
        if !is_of_the_system(&entry.name) {
            return Err(EngineError::NotEmpty {
                path: directory.into(),
                found: entry.name,
            });
        }
    }
    Ok(())
}

/// Removes the files of an interrupted creation, if there are no others. The mark stays,
/// and so do directories.
fn remove_unfinished(files: &FileSystem, directory: &Path) -> Result<(), EngineError> {
    let mut ours = Vec::new();
    let mut add = |path: PathBuf, is_ours: bool| match is_ours {
        true => {
            ours.push(path);
            Ok(())
        }
        false => Err(EngineError::UnfinishedWithOthers {
            path: directory.into(),
            found: path.display().to_string(),
        }),
    };
    for entry in files.list(directory)? {
        let (name, path) = (&*entry.name, directory.join(&entry.name));
        if is_of_the_system(name) || name == CREATION_MARK {
            continue;
        }
        if entry.is_directory && name == redo_log::SUBDIRECTORY {
            for inner in files.list(&path)? {
                let is_redo = !inner.is_directory && redo_log::is_file_name(&inner.name);
                add(path.join(&inner.name), is_redo)?;
            }
            continue;
        }
        let is_ours = name == SYSTEM_TABLESPACE
            || is_undo_file_name(name)
            || redo_log::is_file_name(name)
            || doublewrite::is_file_name(name)
            || name == dictionary_file::NEW_FILE;
        add(path, is_ours && !entry.is_directory)?;
    }
    for path in ours {
        files.remove(path)?;
    }
    Ok(files.sync_directory(directory, WaitKind::Other)?)
}

// ---- an existing directory --------------------------------------------------------

/// Makes sure that a directory is a data directory of this engine.
///
/// # Errors
/// If it is none, and what it is instead as far as one can tell.
pub fn check_ours(files: &FileSystem, directory: &Path) -> Result<(), EngineError> {
    if dictionary_file::exists(files, directory)? {
        return Ok(());
    }
    let what = if is_unfinished(files, directory)? {
        "its creation was interrupted; whoever creates it now begins anew"
    } else if has_our_redo(files, directory)? {
        "its innosim.dictionary is missing, which says what tables there are, though its redo \
         files were made by innosim; put the file back, or restore a backup of the whole directory"
    } else if files.exists(directory.join("mysql.ibd"))? {
        "it is the data directory of a MySQL server 8.0 or later"
    } else if files.exists(system_tablespace(directory))? {
        "it is the data directory of a MySQL or MariaDB server"
    } else if files.exists(directory)? {
        "it has no innosim.dictionary"
    } else {
        "it does not exist"
    };
    Err(EngineError::NotADataDirectory {
        path: directory.into(),
        what,
    })
}

/// Whether there is a redo file that innosim has made.
fn has_our_redo(files: &FileSystem, directory: &Path) -> Result<bool, EngineError> {
    let options = OpenOptions {
        create: Create::Existing,
        io: IoMode::Buffered,
        kind: FileKind::Other,
    };
    for place in [
        directory.to_path_buf(),
        directory.join(redo_log::SUBDIRECTORY),
    ] {
        if !files.exists(&place)? {
            continue;
        }
        for entry in files.list(&place)? {
            if entry.is_directory || !redo_log::is_file_name(&entry.name) {
                continue;
            }
            let file = files.open(place.join(&entry.name), options)?;
            let mut block = [0; redo_log::block::BLOCK_SIZE];
            if file.length()? < block.len() as u64 {
                continue;
            }
            file.read_at(&mut block, 0, WaitKind::Other)?;
            if redo_log::is_ours(&block) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// How the files of a data directory are laid out, which differs between flavors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryKind {
    /// Redo in a ring of files, no undo tablespaces.
    Before8_0,
    /// Redo in numbered files, undo tablespaces.
    Since8_0,
}

impl DirectoryKind {
    /// The flavors that make such a directory.
    pub const fn flavors(self) -> &'static str {
        match self {
            DirectoryKind::Before8_0 => {
                "mysql-5.1, mysql-5.5, mysql-5.6, mysql-5.7 or mariadb-10.11"
            }
            DirectoryKind::Since8_0 => "mysql-8.0 or mysql-8.4",
        }
    }

    /// Where it has redo and undo.
    pub const fn files(self) -> &'static str {
        match self {
            DirectoryKind::Before8_0 => "redo in ib_logfile0, undo in ibdata1",
            DirectoryKind::Since8_0 => "redo in #innodb_redo, undo in undo_001",
        }
    }
}

/// Makes sure that a data directory is of this kind; if neither kind's redo files are
/// there, it may be of any.
///
/// # Errors
/// [`EngineError::OtherFlavor`].
pub(super) fn check_kind(
    files: &FileSystem,
    directory: &Path,
    expected: DirectoryKind,
    asked_for: Flavor,
) -> Result<(), EngineError> {
    let has_ring = files.exists(directory.join("ib_logfile0"))?;
    let has_numbered = files.exists(directory.join(redo_log::SUBDIRECTORY))?;
    let found = match (has_ring, has_numbered) {
        (true, false) => DirectoryKind::Before8_0,
        (false, true) => DirectoryKind::Since8_0,
        _ => return Ok(()),
    };
    match found == expected {
        true => Ok(()),
        false => Err(EngineError::OtherFlavor {
            path: directory.into(),
            found,
            expected,
            asked_for,
        }),
    }
}
