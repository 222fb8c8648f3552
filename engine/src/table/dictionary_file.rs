//! The dictionary on disk: one small text file that says which tables there are.
//!
//! ```text
//!   # innosim dictionary, format 1, 1234 bytes, crc32c 89abcdef
//!   next_table_id = 1025
//!   ...
//!   [[table]]
//!   id = 1024
//!   space = 2
//!   ...
//! ```
//!
//! MySQL keeps its dictionary in InnoDB tables of its own (`mysql.ibd`); a file of text is
//! enough to learn from, and can be read with any editor. Changing it is atomic: the new
//! content goes to a file beside it, is made durable, and takes the old one's name.
//!
//! ```text
//!   write innosim.dictionary.new  ->  fsync  ->  rename over innosim.dictionary  ->  fsync directory
//! ```
//!
//! After a crash there is the old dictionary or the new one, never a mixture.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::definition::TableDefinition;
use crate::runtime::WaitKind;
use crate::runtime::files::{Create, FileError, FileKind, FileSystem, IoMode, OpenOptions};

/// The file's name in the data directory.
pub const DICTIONARY_FILE: &str = "innosim.dictionary";

/// The name under which a new dictionary is written.
pub const NEW_FILE: &str = "innosim.dictionary.new";

/// The format that is written and read.
const FORMAT: u32 = 1;

/// The largest file that is read: far more than a million tables would need is damage.
const BYTES_MAX: u64 = 1 << 30;

/// Ids of user tables and indexes begin here; lower ones are InnoDB's own.
pub const FIRST_USER_ID: u64 = 1024;

/// The first tablespace of a table; 0 is the system tablespace.
pub const FIRST_TABLE_SPACE: u32 = 1;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DictionaryContent {
    /// The id of the next table.
    pub next_table_id: u64,
    /// The id of the next index.
    pub next_index_id: u64,
    /// The number of the next tablespace.
    pub next_space: u32,
    /// The tables.
    #[serde(rename = "table", default)]
    pub tables: Vec<TableEntry>,
}

impl Default for DictionaryContent {
    fn default() -> Self {
        DictionaryContent {
            next_table_id: FIRST_USER_ID,
            next_index_id: FIRST_USER_ID,
            next_space: FIRST_TABLE_SPACE,
            tables: Vec::new(),
        }
    }
}

/// How far the creation of a table has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableState {
    /// Its file is being made: if the engine finds a table in this state when it starts,
    /// the creation was interrupted, and the file is removed.
    Creating,
    /// It is there.
    Ready,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableEntry {
    /// Its id, by which undo records name it.
    pub id: u64,
    /// Its tablespace.
    pub space: u32,
    /// How far its creation has come.
    pub state: TableState,
    /// Its definition.
    pub definition: TableDefinition,
    /// Its indexes: the clustered one, then the secondary ones in the order of the
    /// definition.
    #[serde(default)]
    pub indexes: Vec<IndexEntry>,
}

/// A tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexEntry {
    /// Its id, which stands on each of its pages.
    pub id: u64,
    /// Its root page, which never changes.
    pub root: u32,
}

/// A dictionary that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DictionaryError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not a dictionary.
    #[error(
        "{} is not a dictionary of innosim: it begins with {found:?}, expected \
         \"# innosim dictionary, format {FORMAT}, ...\"",
        path.display()
    )]
    NotADictionary {
        /// The file.
        path: PathBuf,
        /// Its first bytes.
        found: String,
    },
    /// It was written by another version.
    #[error(
        "{} has format {found}; this version of innosim reads format {FORMAT} only. Use the \
         version that wrote it, or make the data directory anew",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: String,
    },
    /// Its bytes are not those that were written.
    #[error(
        "{} is damaged: {expected_bytes} bytes with crc32c {expected:08x} were written, \
         {found_bytes} bytes with {found:08x} found",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Bytes by the first line.
        expected_bytes: u64,
        /// The checksum by the first line.
        expected: u32,
        /// Bytes found.
        found_bytes: u64,
        /// The checksum of the bytes.
        found: u32,
    },
    /// Its bytes are good and make no sense.
    #[error("{}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// The text of a dictionary, first line included.
fn to_text(content: &DictionaryContent) -> Result<String, toml::ser::Error> {
    let body = toml::to_string(content)?;
    let checksum = crc32c::crc32c(body.as_bytes());
    let length = body.len();
    Ok(format!(
        "# innosim dictionary, format {FORMAT}, {length} bytes, crc32c {checksum:08x}\n{body}"
    ))
}

/// What a dictionary's text says; `path` is its file, for messages.
///
/// # Errors
/// If it is not the text of a dictionary of this format.
pub fn from_text(path: &Path, text: &[u8]) -> Result<DictionaryContent, DictionaryError> {
    let end = text.iter().position(|&byte| byte == b'\n');
    let first_line = &text[..end.unwrap_or(text.len()).min(100)];
    let first_line = String::from_utf8_lossy(first_line).into_owned();
    let not_one = || DictionaryError::NotADictionary {
        path: path.into(),
        found: first_line.clone(),
    };
    let rest = first_line
        .strip_prefix("# innosim dictionary, format ")
        .ok_or_else(not_one)?;
    let mut parts = rest.split(", ");
    let format = parts.next().unwrap_or_default();
    if format != FORMAT.to_string() {
        return Err(DictionaryError::Format {
            path: path.into(),
            found: format.into(),
        });
    }
    let expected_bytes: u64 = parts
        .next()
        .and_then(|part| part.strip_suffix(" bytes")?.parse().ok())
        .ok_or_else(not_one)?;
    let expected = parts
        .next()
        .and_then(|part| u32::from_str_radix(part.strip_prefix("crc32c ")?, 16).ok())
        .ok_or_else(not_one)?;
    let body = &text[end.ok_or_else(not_one)? + 1..];
    let (found_bytes, found) = (body.len() as u64, crc32c::crc32c(body));
    if (found_bytes, found) != (expected_bytes, expected) {
        return Err(DictionaryError::Damaged {
            path: path.into(),
            expected_bytes,
            expected,
            found_bytes,
            found,
        });
    }
    let wrong = |reason: String| DictionaryError::Content {
        path: path.into(),
        reason,
    };
    let body = std::str::from_utf8(body).map_err(|error| wrong(error.to_string()))?;
    let content: DictionaryContent =
        toml::from_str(body).map_err(|error| wrong(error.to_string()))?;
    check(&content).map_err(wrong)?;
    Ok(content)
}

/// Ids must be unique and below the next ones, definitions possible.
fn check(content: &DictionaryContent) -> Result<(), String> {
    let (mut names, mut ids, mut spaces, mut indexes) = (vec![], vec![], vec![], vec![]);
    for table in &content.tables {
        table
            .definition
            .check()
            .map_err(|error| error.to_string())?;
        let name = table.definition.full_name();
        if table.id >= content.next_table_id || table.space >= content.next_space {
            return Err(format!("table {name} has an id that is not given out yet"));
        }
        let trees = 1 + table.definition.indexes.len();
        if table.state == TableState::Ready && table.indexes.len() != trees {
            let found = table.indexes.len();
            return Err(format!("table {name} has {found} trees, {trees} expected"));
        }
        names.push(name);
        ids.push(table.id);
        spaces.push(u64::from(table.space));
        indexes.extend(table.indexes.iter().map(|index| index.id));
    }
    if indexes.iter().any(|&id| id >= content.next_index_id) {
        return Err("an index has an id that is not given out yet".into());
    }
    let twice = |list: &mut Vec<u64>| {
        list.sort_unstable();
        list.windows(2)
            .find(|pair| pair[0] == pair[1])
            .map(|pair| pair[0])
    };
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("table {} is there twice", pair[0]));
    }
    for (what, list) in [
        ("table id", &mut ids),
        ("tablespace", &mut spaces),
        ("index id", &mut indexes),
    ] {
        if let Some(id) = twice(list) {
            return Err(format!("{what} {id} is given out twice"));
        }
    }
    Ok(())
}

/// Whether a data directory has a dictionary.
///
/// # Errors
/// If the system cannot tell.
pub fn exists(files: &FileSystem, directory: &Path) -> Result<bool, FileError> {
    files.exists(directory.join(DICTIONARY_FILE))
}

/// Reads the dictionary of a data directory.
///
/// # Errors
/// See [`DictionaryError`].
pub fn read(files: &FileSystem, directory: &Path) -> Result<DictionaryContent, DictionaryError> {
    let path = directory.join(DICTIONARY_FILE);
    let file = files.open(
        &path,
        OpenOptions {
            create: Create::Existing,
            io: IoMode::Buffered,
            kind: FileKind::Other,
        },
    )?;
    let length = file.length()?;
    if length > BYTES_MAX {
        let reason = format!("{length} bytes are too many; at most {BYTES_MAX} are read");
        return Err(DictionaryError::Content { path, reason });
    }
    let mut text = vec![0; length as usize];
    if !text.is_empty() {
        file.read_at(&mut text, 0, WaitKind::Other)?;
    }
    from_text(&path, &text)
}

/// Replaces the dictionary of a data directory, durably and at one stroke.
///
/// # Errors
/// Those of the file system; the old dictionary is still there then.
pub fn write(
    files: &FileSystem,
    directory: &Path,
    content: &DictionaryContent,
) -> Result<(), DictionaryError> {
    let path = directory.join(DICTIONARY_FILE);
    let text = to_text(content).map_err(|error| DictionaryError::Content {
        path: path.clone(),
        reason: error.to_string(),
    })?;
    let new = directory.join(NEW_FILE);
    let file = files.open(
        &new,
        OpenOptions {
            create: Create::OrTruncate,
            io: IoMode::Buffered,
            kind: FileKind::Other,
        },
    )?;
    file.write_at(text.as_bytes(), 0, WaitKind::Other)?;
    file.sync(false, WaitKind::Other)?;
    drop(file);
    files.rename(&new, &path)?;
    files.sync_directory(directory, WaitKind::Other)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content() -> DictionaryContent {
        let entry = |number: u32| TableEntry {
            id: FIRST_USER_ID + u64::from(number),
            space: number,
            state: TableState::Ready,
            definition: TableDefinition::sysbench(number),
            indexes: vec![
                IndexEntry {
                    id: FIRST_USER_ID + 2 * u64::from(number),
                    root: 3,
                },
                IndexEntry {
                    id: FIRST_USER_ID + 2 * u64::from(number) + 1,
                    root: 4,
                },
            ],
        };
        DictionaryContent {
            next_table_id: 2000,
            next_index_id: 2000,
            next_space: 4,
            tables: (1..4).map(entry).collect(),
        }
    }

    fn read_back(text: &[u8]) -> Result<DictionaryContent, DictionaryError> {
        from_text(Path::new("d"), text)
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let files = FileSystem::new();
        let path = directory.path();
        assert!(!exists(&files, path).unwrap());
        for content in [DictionaryContent::default(), content()] {
            write(&files, path, &content).unwrap();
            assert_eq!(read(&files, path).unwrap(), content);
        }
        assert!(!files.exists(path.join(NEW_FILE)).unwrap());
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let text = to_text(&content()).unwrap().into_bytes();
        for place in (0..text.len()).step_by(7) {
            let mut damaged = text.clone();
            damaged[place] ^= 1;
            assert!(read_back(&damaged).is_err(), "byte {place}");
            assert!(read_back(&text[..place]).is_err(), "cut at {place}");
        }
    }

    #[test]
    fn other_formats_are_named() {
        let text = to_text(&content()).unwrap();
        let other = text.replacen("format 1", "format 2", 1);
        let message = read_back(other.as_bytes()).unwrap_err().to_string();
        assert!(message.contains("format 2") && message.contains("format 1 only"));
        let message = read_back(b"[mysqld]\n").unwrap_err().to_string();
        assert!(message.contains("[mysqld]"), "{message}");
        assert!(read_back(b"").is_err());
    }

    #[test]
    fn content_that_contradicts_itself_is_refused() {
        let message = |change: fn(&mut DictionaryContent)| {
            let mut content = content();
            change(&mut content);
            let text = to_text(&content).unwrap();
            read_back(text.as_bytes()).unwrap_err().to_string()
        };
        assert!(message(|c| c.tables[1].id = 1025).contains("table id 1025"));
        assert!(message(|c| c.tables[1].space = 1).contains("tablespace 1"));
        assert!(message(|c| c.tables[1].space = 4).contains("not given out"));
        assert!(message(|c| c.tables[1].indexes[0].id = 1027).contains("index id 1027"));
        assert!(message(|c| c.tables[1].indexes.truncate(1)).contains("1 trees"));
        assert!(message(|c| c.tables[1].definition.name = "sbtest1".into()).contains("twice"));
        assert!(message(|c| c.tables[1].definition.primary_key.clear()).contains("PRIMARY"));
    }
}
