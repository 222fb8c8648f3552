//! What a doublewrite buffer is made from.

use std::path::{Path, PathBuf};

use crate::sysvar::{DoublewriteFsync, DoublewriteMode, Flavor, FlushMethod, Settings};

/// Most pages of a batch (`innodb_doublewrite_pages`).
pub const BATCH_PAGES_MAX: usize = 512;

/// What a doublewrite buffer is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoublewriteSettings {
    /// `innodb_doublewrite`.
    pub mode: DoublewriteMode,
    /// `innodb_doublewrite_pages`: pages of a batch.
    pub pages: usize,
    /// `innodb_doublewrite_files`.
    pub files: usize,
    /// `innodb_doublewrite_dir`; none for the data directory.
    pub directory: Option<PathBuf>,
    /// Whether a batch is flushed to the device before its data writes begin.
    pub sync_copies: bool,
    /// Whether the files bypass the page cache.
    pub direct: bool,
    /// fdatasync instead of fsync.
    pub data_only: bool,
    /// `innodb_buffer_pool_instances`.
    pub pool_instances: usize,
    /// `innodb_write_io_threads`.
    pub write_io_threads: usize,
}

impl DoublewriteSettings {
    /// MySQL 8.4's defaults for a pool of so many instances.
    pub fn new(pool_instances: usize) -> Self {
        DoublewriteSettings {
            mode: DoublewriteMode::On,
            pages: 128,
            files: 2,
            directory: None,
            sync_copies: false,
            direct: true,
            data_only: true,
            pool_instances,
            write_io_threads: 4,
        }
    }

    /// What a run's variables ask for.
    pub fn from_variables(settings: &Settings) -> Self {
        let values = settings.scaled();
        let method = values.innodb_flush_method();
        let write_io_threads = values.innodb_write_io_threads() as usize;
        let directory = values.innodb_doublewrite_dir();
        // 0 is the automatic value: as many pages as write threads, and two files (older
        // flavors, which have none, say 0, too).
        let or = |value: u64, automatic: usize| match value {
            0 => automatic,
            value => value as usize,
        };
        DoublewriteSettings {
            mode: values.innodb_doublewrite(),
            pages: or(values.innodb_doublewrite_pages(), write_io_threads).min(BATCH_PAGES_MAX),
            files: or(values.innodb_doublewrite_files(), 2),
            directory: (!directory.is_empty()).then(|| directory.into()),
            sync_copies: match values.innosim_doublewrite_fsync() {
                DoublewriteFsync::Always => true,
                DoublewriteFsync::Never => false,
                DoublewriteFsync::Method => method_syncs_copies(settings.flavor(), method),
            },
            direct: method.is_direct(),
            data_only: values.innodb_use_fdatasync(),
            pool_instances: values.innodb_buffer_pool_instances() as usize,
            write_io_threads,
        }
    }

    /// Where the files are.
    pub fn directory_in(&self, data_directory: &Path) -> PathBuf {
        match &self.directory {
            // An absolute one replaces the data directory.
            Some(directory) => data_directory.join(directory),
            None => data_directory.into(),
        }
    }
}

/// Whether a flavor flushes a batch to the device under a flush method.
///
/// From 8.0.20 on the code leaves it out under `O_DIRECT`, too, though the manual says so
/// of `O_DIRECT_NO_FSYNC` only. Before that, and in MariaDB, a batch goes to the system
/// tablespace, which is flushed like any other.
fn method_syncs_copies(flavor: Flavor, method: FlushMethod) -> bool {
    match flavor {
        Flavor::MySql8_0 | Flavor::MySql8_4 => !method.is_direct(),
        _ => method != FlushMethod::ODirectNoFsync,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_flushed_as_the_flavor_does() {
        use FlushMethod::*;
        let syncs = |flavor| {
            [Fsync, ODsync, Littlesync, Nosync, ODirect, ODirectNoFsync]
                .map(|method| method_syncs_copies(flavor, method))
        };
        assert_eq!(
            syncs(Flavor::MySql8_4),
            [true, true, true, true, false, false]
        );
        assert_eq!(syncs(Flavor::MySql8_0), syncs(Flavor::MySql8_4));
        assert_eq!(
            syncs(Flavor::MySql5_7),
            [true, true, true, true, true, false]
        );
    }

    #[test]
    fn files_lie_in_the_data_directory_or_elsewhere() {
        let mut settings = DoublewriteSettings::new(1);
        let of = |settings: &DoublewriteSettings| settings.directory_in(Path::new("/data"));
        assert_eq!(of(&settings), Path::new("/data"));
        settings.directory = Some("dblwr".into());
        assert_eq!(of(&settings), Path::new("/data/dblwr"));
        settings.directory = Some("/fast".into());
        assert_eq!(of(&settings), Path::new("/fast"));
    }
}
