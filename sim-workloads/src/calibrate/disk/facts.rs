//! What the system says of the disk below a directory, and what a copy costs.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;

use super::fit::DiskFacts;

/// The queue's directory in sysfs of the disk that a directory lies on; a partition's is its
/// disk's.
fn queue(directory: &Path) -> Option<PathBuf> {
    let device = fs::metadata(directory).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let path = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let own = path.join("queue");
    let parents = path.parent().map(|parent| parent.join("queue"));
    [Some(own), parents]
        .into_iter()
        .flatten()
        .find(|path| path.is_dir())
}

/// What sysfs says; nothing where there is no such disk (a file system in memory, or over a
/// network).
pub fn facts(directory: &Path) -> DiskFacts {
    let queue = queue(directory);
    let text = |name: &str| fs::read_to_string(queue.as_ref()?.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse().ok();
    DiskFacts {
        max_request_kib: number("max_sectors_kb"),
        physical_block_bytes: number("physical_block_size"),
        write_back: text("write_cache").map(|cache| cache.trim() == "write back"),
    }
}

/// CPU to copy 16 KiB between the page cache and memory, µs: a buffered write of 16 KiB less
/// one of 512 bytes, the medians of many.
///
/// # Errors
/// If the directory cannot be written.
pub fn page_copy_us(directory: &Path) -> anyhow::Result<f64> {
    const PAGES: u64 = 64;
    const WRITES: usize = 4000;
    let file = tempfile::tempfile_in(directory).context(directory.display().to_string())?;
    let page = vec![1_u8; 16 << 10];
    let median = |file: &File, bytes: usize| -> anyhow::Result<f64> {
        let mut times = Vec::with_capacity(WRITES);
        for number in 0..WRITES as u64 {
            let begin = Instant::now();
            file.write_all_at(&page[..bytes], number % PAGES * (16 << 10))?;
            times.push(begin.elapsed().as_nanos() as f64 / 1e3);
        }
        times.sort_unstable_by(f64::total_cmp);
        Ok(times[WRITES / 2])
    };
    median(&file, page.len())?;
    let (large, small) = (median(&file, page.len())?, median(&file, 512)?);
    Ok((large - small).max(0.01))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_takes_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let time = page_copy_us(directory.path()).unwrap();
        assert!(time > 0.0 && time < 1e4, "{time}");
        assert!(page_copy_us(&directory.path().join("missing")).is_err());
    }

    #[test]
    fn a_file_system_without_a_disk_has_no_facts() {
        let facts = facts(Path::new("/proc"));
        assert_eq!(facts.max_request_kib, None);
        assert_eq!(facts.write_back, None);
    }
}
