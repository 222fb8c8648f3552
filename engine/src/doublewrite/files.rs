//! The doublewrite files: their names, creating them, finding them again.

use std::path::{Path, PathBuf};

use super::detect_record::RECORD_BYTES;
use super::layout::Layout;
use super::settings::DoublewriteSettings;
use crate::page::PAGE_SIZE;
use crate::runtime::WaitKind;
use crate::runtime::files::{Create, File, FileError, FileKind, FileSystem, IoMode, OpenOptions};
use crate::sysvar::DoublewriteMode;

/// What a doublewrite file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Content {
    /// Copies of pages: `.dblwr`.
    Copies,
    /// Page numbers: `.bdblwr`.
    PageNumbers,
}

impl Content {
    fn suffix(self) -> &'static str {
        match self {
            Content::Copies => ".dblwr",
            Content::PageNumbers => ".bdblwr",
        }
    }
}

/// The name of a file.
fn name(content: Content, number: u32) -> String {
    format!("#ib_{PAGE_SIZE}_{number}{}", content.suffix())
}

/// What a file of this name is, if it is a doublewrite file of our page size.
fn parse(name: &str) -> Option<(Content, u32)> {
    let rest = name.strip_prefix(&format!("#ib_{PAGE_SIZE}_"))?;
    [Content::Copies, Content::PageNumbers]
        .into_iter()
        .find_map(|content| {
            let digits = rest.strip_suffix(content.suffix())?;
            let is_plain = digits == "0" || !digits.starts_with(['0', '+']);
            let number = is_plain.then(|| digits.parse().ok())??;
            Some((content, number))
        })
}

/// Whether a file of this name is a doublewrite file of our page size.
pub fn is_file_name(name: &str) -> bool {
    parse(name).is_some()
}

/// A file that is there.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) content: Content,
    pub(super) number: u32,
    pub(super) path: PathBuf,
}

/// The doublewrite files of a directory, copies first, by number. None if there is no
/// such directory.
pub(super) fn find(files: &FileSystem, directory: &Path) -> Result<Vec<Found>, FileError> {
    if !files.exists(directory)? {
        return Ok(Vec::new());
    }
    let entries = files.list(directory)?.into_iter();
    let mut found: Vec<_> = entries
        .filter(|entry| !entry.is_directory)
        .filter_map(|entry| {
            let (content, number) = parse(&entry.name)?;
            let path = directory.join(entry.name);
            Some(Found {
                content,
                number,
                path,
            })
        })
        .collect();
    found.sort_by_key(|file| (file.content, file.number));
    Ok(found)
}

/// The files of a doublewrite buffer that runs.
pub(super) struct Created {
    pub(super) copies: Vec<File>,
    pub(super) detect: Option<File>,
}

/// Removes the files that are there, and creates those that the settings ask for.
pub(super) fn create(
    files: &FileSystem,
    directory: &Path,
    settings: &DoublewriteSettings,
    layout: &Layout,
) -> Result<Created, FileError> {
    for old in find(files, directory)? {
        files.remove(&old.path)?;
    }
    let mut created = Created {
        copies: Vec::new(),
        detect: None,
    };
    if settings.mode == DoublewriteMode::Off {
        return Ok(created);
    }
    files.create_directory(directory)?;
    let options = OpenOptions {
        create: Create::New,
        io: match settings.direct {
            true => IoMode::Direct,
            false => IoMode::Buffered,
        },
        kind: FileKind::Doublewrite,
    };
    let create = |content, number: usize, bytes: usize| {
        let path = directory.join(name(content, number as u32));
        let file = files.open(path, options)?;
        file.extend(bytes as u64, WaitKind::Other)?;
        file.sync(settings.data_only, WaitKind::Other)?;
        Ok(file)
    };
    for number in 0..layout.files() {
        let bytes = layout.file_pages(number) * PAGE_SIZE;
        created.copies.push(create(Content::Copies, number, bytes)?);
    }
    if settings.mode == DoublewriteMode::DetectOnly {
        let bytes = layout.instances() * RECORD_BYTES;
        created.detect = Some(create(Content::PageNumbers, 0, bytes)?);
    }
    files.sync_directory(directory, WaitKind::Other)?;
    Ok(created)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_servers() {
        assert_eq!(name(Content::Copies, 1), "#ib_16384_1.dblwr");
        assert_eq!(name(Content::PageNumbers, 0), "#ib_16384_0.bdblwr");
        for number in [0, 1, 10, 255] {
            for content in [Content::Copies, Content::PageNumbers] {
                assert_eq!(parse(&name(content, number)), Some((content, number)));
            }
        }
        for other in [
            "#ib_4096_0.dblwr",
            "#ib_16384_.dblwr",
            "#ib_16384_00.dblwr",
            "#ib_16384_+1.dblwr",
            "#ib_16384_-1.dblwr",
            "#ib_16384_x.dblwr",
            "#ib_16384_0.dblwr.old",
            "ib_16384_0.dblwr",
            "ibdata1",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
