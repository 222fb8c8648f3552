//! Option files: reading one, and the files it includes.
//!
//! ```text
//!   main.cnf ── line by line ──▶ options of main.cnf
//!      │ !includedir conf.d  ──▶ 10-memory.cnf, 20-io.cnf, …   (by name, *.cnf only)
//!      │ !include extra.cnf  ──▶ extra.cnf
//!      ▼
//!   the rest of main.cnf, in the group that was open before the include
//! ```
//!
//! The result is one flat list in the order of reading, each option with its file,
//! line and group; who reads which group, and that the last one wins, is decided
//! later. All malformed lines are collected, so that a user sees them in one run.
//!
//! The reader opens nothing itself: it asks an [`OptionFileSource`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::errors::{
    IncludeBase, Level, Location, OptionError, OptionWarning, Problem, WarningKind,
};
use super::option_line::{Line, parse_line};
use super::options::OptionEntry;

/// How deep includes are followed (MySQL's own bound).
pub const INCLUDE_DEPTH_MAX: usize = 10;

/// How many files one run reads at most. A directory that includes itself grows
/// with the power of the depth, so the depth alone is no bound.
pub const INCLUDED_FILES_MAX: usize = 1000;

/// What the reader needs of a file system.
pub trait OptionFileSource {
    /// The text of a file.
    ///
    /// # Errors
    ///
    /// Whatever the file system says; the message is shown to the user.
    fn read(&self, path: &Path) -> io::Result<String>;

    /// The names (not paths) of a directory's entries, in any order.
    ///
    /// # Errors
    ///
    /// Whatever the file system says; the message is shown to the user.
    fn list_directory(&self, path: &Path) -> io::Result<Vec<String>>;
}

/// What reading a file gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FileContents {
    pub entries: Vec<OptionEntry>,
    pub errors: Vec<OptionError>,
    pub notes: Vec<OptionWarning>,
}

/// Reads an option file and everything it includes.
pub(super) fn read_option_file(source: &dyn OptionFileSource, path: &Path) -> FileContents {
    let mut reader = Reader {
        source,
        contents: FileContents::default(),
        files_read: 0,
    };
    match source.read(path) {
        Ok(text) => reader.read_text(path, &text, 0),
        Err(error) => {
            let location = Location::File {
                path: path.into(),
                line: 0,
                group: "".into(),
            };
            reader.fail(location, Problem::UnreadableFile(error.to_string()));
        }
    }
    reader.contents
}

struct Reader<'a> {
    source: &'a dyn OptionFileSource,
    contents: FileContents,
    files_read: usize,
}

impl Reader<'_> {
    fn fail(&mut self, location: Location, problem: Problem) {
        self.contents.errors.push(OptionError { location, problem });
    }

    fn note(&mut self, level: Level, location: &Location, kind: WarningKind) {
        self.contents.notes.push(OptionWarning {
            level,
            location: Some(location.clone()),
            kind,
        });
    }

    fn read_text(&mut self, path: &Path, text: &str, depth: usize) {
        self.files_read += 1;
        let path: Arc<Path> = path.into();
        let mut group: Option<Arc<str>> = None;
        // Editors on Windows begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, line) in text.lines().enumerate() {
            let location = Location::File {
                path: Arc::clone(&path),
                line: index + 1,
                group: group.clone().unwrap_or_else(|| "".into()),
            };
            match parse_line(line) {
                Ok(Line::Blank) => {}
                Ok(Line::Group(name)) => group = Some(name.into()),
                Ok(Line::Option { name, .. }) if group.is_none() => {
                    self.fail(location, Problem::OptionWithoutGroup(name));
                }
                Ok(Line::Option { name, value }) => {
                    self.contents.entries.push(OptionEntry {
                        name,
                        value: Ok(value),
                        location,
                    });
                }
                Ok(Line::Include(target)) => self.include_file(&path, &target, location, depth),
                Ok(Line::IncludeDirectory(target)) => {
                    self.include_directory(&path, &target, location, depth);
                }
                // A bad name matters only to whoever reads the group.
                Err(problem @ Problem::MalformedName(_)) if group.is_some() => {
                    let entry = OptionEntry {
                        name: String::new(),
                        value: Err(problem),
                        location,
                    };
                    self.contents.entries.push(entry);
                }
                Err(problem) => self.fail(location, problem),
            }
        }
    }

    fn include_file(&mut self, including: &Path, target: &str, location: Location, depth: usize) {
        if !self.may_include(target, &location, depth) {
            return;
        }
        match self.resolve(including, target, |source, path| source.read(path)) {
            Ok((path, base, text)) => {
                self.note_base(target, base, &location);
                self.read_text(&path, &text, depth + 1);
            }
            Err(problem) => self.fail(location, problem),
        }
    }

    fn include_directory(
        &mut self,
        including: &Path,
        target: &str,
        location: Location,
        depth: usize,
    ) {
        if !self.may_include(target, &location, depth) {
            return;
        }
        let listing = self.resolve(including, target, |source, path| {
            source.list_directory(path)
        });
        let (directory, base, mut names) = match listing {
            Ok(listing) => listing,
            Err(problem) => return self.fail(location, problem),
        };
        self.note_base(target, base, &location);
        // The manual promises no order; sorted by name is what happens in practice.
        names.sort();
        for name in names.into_iter().filter(|name| is_option_file_name(name)) {
            if !self.may_include(&name, &location, depth) {
                return;
            }
            let path = directory.join(&name);
            match self.source.read(&path) {
                Ok(text) => self.read_text(&path, &text, depth + 1),
                Err(error) => {
                    let path = path.display().to_string();
                    let reason = error.to_string();
                    self.fail(
                        location.clone(),
                        Problem::UnreadableInclude { path, reason },
                    );
                }
            }
        }
    }

    /// Whether one more include may be followed; says so if not.
    fn may_include(&mut self, target: &str, location: &Location, depth: usize) -> bool {
        if depth >= INCLUDE_DEPTH_MAX {
            let kind = WarningKind::IncludeTooDeep {
                path: target.to_owned(),
                depth: INCLUDE_DEPTH_MAX,
            };
            self.note(Level::Warning, location, kind);
            return false;
        }
        if self.files_read >= INCLUDED_FILES_MAX {
            let problem = Problem::TooManyFiles(INCLUDED_FILES_MAX);
            if !self
                .contents
                .errors
                .iter()
                .any(|error| error.problem == problem)
            {
                self.fail(location.clone(), problem);
            }
            return false;
        }
        true
    }

    /// Opens a relative target beside the including file or else from the working
    /// directory, and says which it was; an absolute one as it stands.
    fn resolve<T>(
        &self,
        including: &Path,
        target: &str,
        open: impl Fn(&dyn OptionFileSource, &Path) -> io::Result<T>,
    ) -> Result<(PathBuf, Option<IncludeBase>, T), Problem> {
        let unreadable = |error: io::Error| Problem::UnreadableInclude {
            path: target.to_owned(),
            reason: error.to_string(),
        };
        let directory = including
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        if Path::new(target).is_absolute() {
            let opened = open(self.source, Path::new(target)).map_err(unreadable)?;
            return Ok((PathBuf::from(target), None, opened));
        }
        if let Some(directory) = directory {
            let beside = directory.join(target);
            if let Ok(opened) = open(self.source, &beside) {
                return Ok((beside, Some(IncludeBase::IncludingFile), opened));
            }
        }
        let opened = open(self.source, Path::new(target)).map_err(unreadable)?;
        // With no directory part the including file is itself in the working directory.
        let base = directory.map(|_| IncludeBase::WorkingDirectory);
        Ok((PathBuf::from(target), base, opened))
    }

    fn note_base(&mut self, target: &str, base: Option<IncludeBase>, location: &Location) {
        if let Some(found) = base {
            let kind = WarningKind::IncludeFound {
                path: target.to_owned(),
                found,
            };
            self.note(Level::Note, location, kind);
        }
    }
}

/// Whether `!includedir` reads a file of that name.
fn is_option_file_name(name: &str) -> bool {
    let has_extension = |extension: &str| name.len() > extension.len() && name.ends_with(extension);
    has_extension(".cnf") || (cfg!(not(unix)) && has_extension(".ini"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysvar::tests::MemoryFiles;

    fn read(files: &[(&str, &str)], path: &str) -> FileContents {
        read_option_file(&MemoryFiles::new(files), Path::new(path))
    }

    fn told(contents: &FileContents) -> Vec<String> {
        contents
            .entries
            .iter()
            .map(|entry| format!("{}: {}", entry.location, entry.name))
            .collect()
    }

    #[test]
    fn includes_are_read_where_they_stand_and_the_group_stays_open() {
        let contents = read(
            &[
                (
                    "etc/main.cnf",
                    "[mysqld]\na=1\n!include more.cnf\nb=1\n!includedir d\nc=1\n",
                ),
                ("etc/more.cnf", "[client]\nx=1\n[mysqld]\ny=1\n"),
                ("etc/d/2.cnf", "[mysqld]\nd2=1\n"),
                ("etc/d/10.cnf", "[mysqld]\nd10=1\n"),
                ("etc/d/.cnf", "[mysqld]\nhidden=1\n"),
                ("etc/d/3.txt", "[mysqld]\nd3=1\n"),
            ],
            "etc/main.cnf",
        );
        assert_eq!(
            told(&contents),
            [
                "etc/main.cnf:2: a",
                "etc/more.cnf:2: x",
                "etc/more.cnf:4: y",
                "etc/main.cnf:4: b",
                "etc/d/10.cnf:2: d10",
                "etc/d/2.cnf:2: d2",
                "etc/main.cnf:6: c",
            ]
        );
        assert!(contents.errors.is_empty());
        let Location::File { group, .. } = &contents.entries[3].location else {
            panic!()
        };
        assert_eq!(
            &**group, "mysqld",
            "the included file's group does not leak"
        );
    }

    #[test]
    fn includes_say_where_they_were_found() {
        let contents = read(
            &[
                (
                    "etc/main.cnf",
                    "!include beside.cnf\n!include here.cnf\n!include /abs.cnf\n!include \
                     none.cnf\n",
                ),
                ("etc/beside.cnf", ""),
                ("here.cnf", ""),
                ("/abs.cnf", ""),
            ],
            "etc/main.cnf",
        );
        let notes: Vec<String> = contents.notes.iter().map(|note| note.to_string()).collect();
        assert_eq!(
            notes,
            [
                "etc/main.cnf:1: 'beside.cnf' is read from the directory of the including file; \
                 MySQL would look in its working directory",
                "etc/main.cnf:2: 'here.cnf' is read from the working directory",
            ]
        );
        assert!(matches!(
            &contents.errors[..],
            [OptionError { problem: Problem::UnreadableInclude { path, .. }, .. }] if path == "none.cnf"
        ));
    }

    #[test]
    fn a_missing_file_and_malformed_lines_are_reported_together() {
        assert_eq!(
            read(&[], "my.cnf").errors[0].to_string(),
            "my.cnf: cannot read the option file: no such file"
        );
        let contents = read(
            &[("my.cnf", "a=1\n[mysqld\n!includex\n[g]\ntwo words\n")],
            "my.cnf",
        );
        let errors: Vec<String> = contents
            .errors
            .iter()
            .map(|error| error.to_string())
            .collect();
        assert_eq!(
            errors,
            [
                "my.cnf:1: option 'a' stands before any [group]",
                "my.cnf:2: wrong group definition '[mysqld': expected [group]",
                "my.cnf:3: wrong directive '!includex': expected !include FILE or !includedir \
                 DIRECTORY",
            ]
        );
        assert!(
            contents.entries[0].value.is_err(),
            "left to whoever reads the group"
        );
    }

    #[test]
    fn a_file_that_includes_itself_ends() {
        let contents = read(&[("a.cnf", "[mysqld]\nx=1\n!include a.cnf\n")], "a.cnf");
        assert_eq!(contents.entries.len(), INCLUDE_DEPTH_MAX + 1);
        assert!(matches!(
            contents.notes[0].kind,
            WarningKind::IncludeTooDeep { .. }
        ));
    }

    #[test]
    fn a_directory_that_includes_itself_ends_with_one_error() {
        let text = "[mysqld]\n!includedir d\n";
        let files = [
            ("d/a.cnf", text),
            ("d/b.cnf", text),
            ("d/c.cnf", text),
            ("main.cnf", text),
        ];
        let contents = read(&files, "main.cnf");
        assert_eq!(contents.errors.len(), 1);
        assert_eq!(
            contents.errors[0].problem,
            Problem::TooManyFiles(INCLUDED_FILES_MAX)
        );
    }

    #[test]
    fn byte_order_marks_and_carriage_returns_are_no_text() {
        let contents = read(&[("w.cnf", "\u{feff}[mysqld]\r\nx = 1\r\n")], "w.cnf");
        assert_eq!(contents.entries[0].value, Ok(Some("1".to_owned())));
    }
}
