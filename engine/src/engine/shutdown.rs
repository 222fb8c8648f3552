//! The end of an engine.
//!
//! | `innodb_fast_shutdown` | purge to the end | pages written | what the next start does |
//! |---|---|---|---|
//! | 0 | yes | yes | nothing |
//! | 1 | no | yes | nothing; purge goes on |
//! | 2 | no | no | recovery from redo |

use std::sync::atomic::Ordering::*;

use super::error::EngineError;
use super::parts::checkpoint_all;
use super::{Engine, State};

impl Engine {
    /// Ends the tasks, makes the files consistent as `innodb_fast_shutdown` says, and
    /// closes them. Sessions have ended before; a transaction that is open is rolled back
    /// at the next start. Nothing if it was done before.
    ///
    /// # Errors
    /// If something cannot be written. The files are as after a crash then.
    pub fn shutdown(&self) -> Result<(), EngineError> {
        let was = self.state.swap(State::Stopped as u8, AcqRel);
        if was == State::Stopped as u8 {
            return Ok(());
        }
        let transactions = &self.rows.transactions;
        let purge = self.purge.lock().take();
        if let Some(tasks) = purge {
            transactions.stop_purge(tasks);
        }
        let is_stepped = self.settings().options.stepped;
        if !is_stepped {
            self.cleaner.stop();
        }
        let result = self.write_out();
        // Also after an error: nothing may run on.
        let stopped = self.pages.log.stop();
        self.doublewrite.stop();
        let closed = self.pages.spaces.close_all();
        self.lock.lock().take();
        result?;
        stopped?;
        closed?;
        Ok(())
    }

    fn write_out(&self) -> Result<(), EngineError> {
        if self.settings().fast_shutdown == 0 {
            self.purge_all()?;
        }
        if self.settings().fast_shutdown < 2 {
            checkpoint_all(&self.pages, &self.doublewrite)?;
        }
        Ok(())
    }

    /// Purges everything that no open view needs.
    ///
    /// # Errors
    /// If undo cannot be read.
    pub fn purge_all(&self) -> Result<(), EngineError> {
        loop {
            let step = self.rows.transactions.purge_step(&*self.rows)?;
            if step.pages == 0 && step.logs_removed == 0 {
                return Ok(());
            }
        }
    }
}
