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
//! ```
//!
//! The names are MySQL's, so that whoever knows a server's data directory finds their way,
//! and `innochecksum` can be let loose on it. It is not a server's directory, though: a
//! server has its dictionary in `mysql.ibd`. So neither opens the other's.

use std::path::{Path, PathBuf};

use super::error::EngineError;
use crate::runtime::files::FileSystem;
use crate::table::dictionary_file;

/// The system tablespace's file.
const SYSTEM_TABLESPACE: &str = "ibdata1";

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

/// Makes sure that a directory can become a data directory: there is nothing in it that
/// would be overwritten.
///
/// # Errors
/// If it holds files already, and which.
pub fn check_empty(files: &FileSystem, directory: &Path) -> Result<(), EngineError> {
    for entry in files.list(directory)? {
        // Where a lock is kept, and what a file system puts into its root.
        if entry.name.starts_with('.') || entry.name == "lost+found" {
            continue;
        }
        return Err(EngineError::NotEmpty {
            path: directory.into(),
            found: entry.name,
        });
    }
    Ok(())
}

/// Makes sure that a directory is a data directory of this engine.
///
/// # Errors
/// If it is none, and what it is instead as far as one can tell.
pub fn check_ours(files: &FileSystem, directory: &Path) -> Result<(), EngineError> {
    if dictionary_file::exists(files, directory)? {
        return Ok(());
    }
    let what = if files.exists(directory.join("mysql.ibd"))? {
        "it is the data directory of a MySQL server 8.0 or later"
    } else if files.exists(system_tablespace(directory))? {
        "it is the data directory of a MySQL or MariaDB server, or its creation was interrupted"
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
