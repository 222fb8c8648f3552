//! What can go wrong with an engine.

use std::path::PathBuf;

use super::data_directory::DirectoryKind;
use crate::btree::BtreeError;
use crate::buffer_pool::BufferPoolError;
use crate::doublewrite::DoublewriteError;
use crate::lock::LockError;
use crate::page_allocation::AllocationError;
use crate::redo_log::RedoLogError;
use crate::runtime::files::FileError;
use crate::sysvar::{ChangeError, Flavor};
use crate::table::{DictionaryError, LayoutError, TableError};
use crate::tablespace::TablespaceError;
use crate::transaction::undo::UndoError;
use crate::transaction::{RollbackError, TransactionError};

/// Something that keeps an engine from starting, or a statement from being done.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The file system refused; or another engine has the data directory.
    #[error(transparent)]
    File(#[from] FileError),
    /// A tablespace cannot be used.
    #[error(transparent)]
    Tablespace(#[from] TablespaceError),
    /// The buffer pool cannot be made, or gives no page.
    #[error(transparent)]
    Pool(#[from] BufferPoolError),
    /// The doublewrite buffer cannot be used, or a page is damaged for good.
    #[error(transparent)]
    Doublewrite(#[from] DoublewriteError),
    /// The redo log cannot be used.
    #[error(transparent)]
    Redo(#[from] RedoLogError),
    /// Pages cannot be allocated.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// A tree cannot be made or opened.
    #[error(transparent)]
    Tree(#[from] BtreeError),
    /// History cannot be made.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// A transaction cannot begin or end, or history cannot be read.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// Changes cannot be taken back.
    #[error(transparent)]
    Rollback(#[from] RollbackError),
    /// The dictionary cannot be read or written.
    #[error(transparent)]
    Dictionary(#[from] DictionaryError),
    /// A table cannot be made.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A statement failed.
    #[error(transparent)]
    Statement(#[from] TableError),
    /// Pages cannot be written.
    #[error("{pages} pages could not be written to their files: {}", why.as_deref().unwrap_or("the reason is not known"))]
    PagesNotWritten {
        /// How many.
        pages: usize,
        /// The last error of a write.
        why: Option<String>,
    },
    /// A table's file is to be removed, and its pages are in use.
    #[error("table '{name}' cannot be removed: {pages} of its pages are in use")]
    SpaceInUse {
        /// The table.
        name: String,
        /// Pages in use.
        pages: usize,
    },
    /// The settings name a flush policy that does not exist.
    #[error("{0}")]
    Setting(String),
    /// A variable was to be changed to what it cannot be.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// A variable was to be changed that is read at the start only.
    #[error(
        "{name} cannot be changed at a snapshot: the engine reads it when it starts, and what it \
         has made of it stays"
    )]
    NotChangeable {
        /// The variable.
        name: &'static str,
    },
    /// A new data directory was asked for where something is.
    #[error(
        "{} is not empty: it holds {found}. A new data directory needs an empty or a new \
         directory",
        path.display()
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// Something in it.
        found: String,
    },
    /// A data directory was to be opened that is none.
    #[error("{} is not a data directory of innosim: {what}", path.display())]
    NotADataDirectory {
        /// The directory.
        path: PathBuf,
        /// What it is instead.
        what: &'static str,
    },
    /// The creation of a data directory was interrupted, and it holds something else, too.
    #[error(
        "the creation of the data directory {} was interrupted, and it cannot be begun anew, \
         because there is {found}, which innosim has not made: move it away, or use another \
         directory",
        path.display()
    )]
    UnfinishedWithOthers {
        /// The directory.
        path: PathBuf,
        /// What is in it besides.
        found: String,
    },
    /// The data directory belongs to a flavor whose files are laid out otherwise.
    #[error(
        "{} was made by {} ({}), but {asked_for} was asked for ({}): open it as the flavor that \
         made it, or make a new data directory for {asked_for}",
        path.display(), found.flavors(), found.files(), expected.files()
    )]
    OtherFlavor {
        /// The directory.
        path: PathBuf,
        /// How its files are laid out.
        found: DirectoryKind,
        /// How they would be.
        expected: DirectoryKind,
        /// The flavor that it was to be opened as.
        asked_for: Flavor,
    },
    /// There is a table of that name.
    #[error("table '{name}' already exists (1050)")]
    TableExists {
        /// Schema and name.
        name: String,
    },
    /// There is no table of that name.
    #[error("table '{name}' doesn't exist (1146)")]
    NoTable {
        /// Schema and name.
        name: String,
    },
    /// Rows to be loaded are not in the order of their primary keys.
    #[error(
        "row {row} of the rows to load into {table}: its primary key is not above the one before"
    )]
    LoadOrder {
        /// The table.
        table: String,
        /// Which row, from 1.
        row: u64,
    },
    /// The engine has been shut down.
    #[error("the engine has been shut down")]
    Stopped,
    /// The engine has failed before: see [`Engine::fail`](super::Engine::fail).
    #[error("the engine has failed: a session of it could not go on")]
    Failed,
}

impl EngineError {
    /// The number of the error that a MySQL server would send to its client; `None` where
    /// it would stop, or not have started.
    pub fn mysql_number(&self) -> Option<u16> {
        match self {
            EngineError::Statement(error) => error.mysql_number(),
            EngineError::TableExists { .. } => Some(1050),
            EngineError::NoTable { .. } => Some(1146),
            EngineError::Layout(_) => Some(1005),
            EngineError::Stopped => Some(1053),
            _ => None,
        }
    }

    /// Whether this only says that the engine has failed before: the error that tells why is
    /// another session's.
    pub fn is_aftermath(&self) -> bool {
        matches!(
            self,
            EngineError::Failed
                | EngineError::Redo(RedoLogError::WaitsEnded)
                | EngineError::Statement(TableError::Lock(LockError::Ended))
        )
    }
}
