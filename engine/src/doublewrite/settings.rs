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
    /// `innodb_use_native_aio`.
    pub native_aio: bool,
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
            native_aio: true,
        }
    }

    /// What a run's variables ask for.
    pub fn from_variables(settings: &Settings) -> Self {
        let values = settings.scaled();
        let method = values.innodb_flush_method();
        let write_io_threads = values.innodb_write_io_threads() as usize;
        let directory = values.innodb_doublewrite_dir();
        DoublewriteSettings {
            mode: values.innodb_doublewrite(),
            pages: (values.innodb_doublewrite_pages() as usize).clamp(1, BATCH_PAGES_MAX),
            files: match values.innodb_doublewrite_files() {
                // Older flavors have no such files, and say so.
                0 => 2,
                files => files as usize,
            },
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
            native_aio: values.innodb_use_native_aio(),
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
    use std::num::NonZeroU32;

    use super::*;
    use crate::sysvar::{MachineFacts, Options, resolve};

    fn of_variables(flavor: Flavor, assignments: &[&str]) -> DoublewriteSettings {
        let machine = MachineFacts {
            logical_cpus: 8,
            memory_bytes: 16 << 30,
        };
        let mut options = Options::new();
        for assignment in assignments {
            options.set(assignment);
        }
        let settings = resolve(flavor, &options, machine, NonZeroU32::MIN).unwrap();
        DoublewriteSettings::from_variables(&settings)
    }

    #[test]
    fn variables_have_the_servers_meaning() {
        let of_8_4 = |assignments: &[&str]| of_variables(Flavor::MySql8_4, assignments);
        let defaults = of_8_4(&[]);
        assert_eq!(defaults, DoublewriteSettings::new(1));
        // 8.0: as many pages as write threads.
        let eight = of_variables(Flavor::MySql8_0, &["innodb_write_io_threads=6"]);
        assert_eq!(
            (eight.pages, eight.files, eight.write_io_threads),
            (6, 2, 6)
        );
        let older = of_variables(Flavor::MySql5_7, &[]);
        assert_eq!(
            (older.pages, older.files, older.sync_copies),
            (120, 2, true)
        );
        assert!(of_8_4(&["innosim_doublewrite_fsync=always"]).sync_copies);
        let never = [
            "innosim_doublewrite_fsync=never",
            "innodb_flush_method=fsync",
        ];
        assert!(!of_8_4(&never).sync_copies);
        let detect = of_8_4(&[
            "innodb_doublewrite=DETECT_ONLY",
            "innodb_doublewrite_dir=/fast",
        ]);
        assert_eq!(detect.mode, DoublewriteMode::DetectOnly);
        assert_eq!(detect.directory, Some("/fast".into()));
        let recover = of_8_4(&["innodb_doublewrite=DETECT_AND_RECOVER"]);
        assert_eq!(recover.mode, DoublewriteMode::On);
    }

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
