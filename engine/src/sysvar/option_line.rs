//! One line of an option file, by MySQL's rules.
//!
//! ```text
//!   [mysqld]                      a group; case does not matter, the rest of the line neither
//!   innodb_io_capacity = 200      an option; blanks around name and value do not count
//!   innodb-file-per-table         an option without a value: true
//!   innodb_data_home_dir = "a b"  quotes around a whole value are taken off
//!   # text     ; text             comments; only # also ends a line with something on it
//!   !include more.cnf             another file; !includedir conf.d: every *.cnf in there
//! ```
//!
//! Inside a value `\b \t \n \r \\ \s` stand for backspace, tab, newline, carriage
//! return, backslash and space, and `\"`, `\'` for the quotes. A `#` inside quotes is
//! part of the value.

use super::errors::Problem;

/// What one line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Nothing: blank, or a comment.
    Blank,
    /// A group begins.
    Group(String),
    /// An option: its name with underscores for dashes, and its value if it has one.
    Option {
        /// The name.
        name: String,
        /// The value, unquoted; none without an equals sign.
        value: Option<String>,
    },
    /// `!include FILE`.
    Include(String),
    /// `!includedir DIRECTORY`.
    IncludeDirectory(String),
}

/// Reads one line.
pub(super) fn parse_line(line: &str) -> Result<Line, Problem> {
    let line = line.trim();
    match line.chars().next() {
        None | Some('#' | ';') => Ok(Line::Blank),
        Some('!') => parse_directive(line),
        Some('[') => match line[1..].split_once(']') {
            Some((group, _)) => Ok(Line::Group(group.trim().to_owned())),
            None => Err(Problem::MalformedGroup(line.to_owned())),
        },
        Some(_) => parse_option(line),
    }
}

fn parse_directive(line: &str) -> Result<Line, Problem> {
    let malformed = || Problem::MalformedDirective(line.to_owned());
    let (keyword, path) = line.split_once(char::is_whitespace).ok_or_else(malformed)?;
    let path = path.trim().to_owned();
    match keyword {
        "!include" => Ok(Line::Include(path)),
        "!includedir" => Ok(Line::IncludeDirectory(path)),
        _ => Err(malformed()),
    }
}

fn parse_option(line: &str) -> Result<Line, Problem> {
    let line = without_end_comment(line).trim();
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(unescaped(unquoted(value.trim())))),
        None => (line, None),
    };
    if !is_option_name(name) {
        return Err(Problem::MalformedName(name.to_owned()));
    }
    Ok(Line::Option {
        name: normalised(name),
        value,
    })
}

/// Whether the text can be an option's name at all: not empty, no blanks inside.
pub(super) fn is_option_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

/// An option's name with underscores for dashes, which mean the same.
pub(super) fn normalised(name: &str) -> String {
    name.replace('-', "_")
}

/// The line up to a `#` that does not stand in quotes.
fn without_end_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (index, letter) in line.char_indices() {
        match letter {
            '\'' | '"' if !escaped => match quote {
                None => quote = Some(letter),
                Some(open) if open == letter => quote = None,
                Some(_) => {}
            },
            '#' if quote.is_none() => return &line[..index],
            _ => {}
        }
        escaped = quote.is_some() && letter == '\\' && !escaped;
    }
    line
}

/// The value without a pair of quotes around all of it.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner;
        }
    }
    value
}

/// The value with its escapes replaced; an unknown escape keeps its backslash.
fn unescaped(value: &str) -> String {
    let mut result = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            result.push(letter);
            continue;
        }
        match letters.next() {
            None => result.push('\\'),
            Some('b') => result.push('\u{8}'),
            Some('t') => result.push('\t'),
            Some('n') => result.push('\n'),
            Some('r') => result.push('\r'),
            Some('s') => result.push(' '),
            Some(quoted @ ('\\' | '"' | '\'')) => result.push(quoted),
            Some(other) => result.extend(['\\', other]),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn option(line: &str) -> (String, Option<String>) {
        match parse_line(line) {
            Ok(Line::Option { name, value }) => (name, value),
            other => panic!("{line}: {other:?}"),
        }
    }

    fn value(line: &str) -> String {
        option(line).1.unwrap()
    }

    #[test]
    fn comments_and_blanks_say_nothing() {
        for line in ["", "   \t", "# a", "  ; b", "#x=1", ";x=1"] {
            assert_eq!(parse_line(line), Ok(Line::Blank), "{line:?}");
        }
    }

    #[test]
    fn groups_are_taken_up_to_their_bracket() {
        assert_eq!(parse_line("[MySQLd]"), Ok(Line::Group("MySQLd".into())));
        assert_eq!(
            parse_line("  [ mysqld-8.0 ] # c"),
            Ok(Line::Group("mysqld-8.0".into()))
        );
        assert_eq!(
            parse_line("[mysqld"),
            Err(Problem::MalformedGroup("[mysqld".into()))
        );
    }

    #[test]
    fn dashes_are_underscores_and_blanks_do_not_count() {
        assert_eq!(
            option("innodb_flush-log_at-trx_commit = 2   "),
            ("innodb_flush_log_at_trx_commit".into(), Some("2".into()))
        );
        assert_eq!(
            option("  innodb_buffer_pool_size= 200G"),
            ("innodb_buffer_pool_size".into(), Some("200G".into()))
        );
        assert_eq!(
            option("innodb_file_per_table"),
            ("innodb_file_per_table".into(), None)
        );
        assert_eq!(option("x="), ("x".into(), Some(String::new())));
        assert_eq!(value("a=b=c"), "b=c", "only the first equals sign divides");
    }

    #[test]
    fn hash_ends_a_line_and_semicolon_does_not() {
        assert_eq!(value("x=16G   # sixteen"), "16G");
        assert_eq!(value("x=ab#c"), "ab");
        assert_eq!(value("x=20000;"), "20000;");
        assert_eq!(value("x='a # b'  # c"), "a # b");
        assert_eq!(value(r##"x="a\"#b" # c"##), "a\"#b");
        assert_eq!(
            option("innodb_file_per_table # yes"),
            ("innodb_file_per_table".into(), None)
        );
    }

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(value("x='2g'"), "2g");
        assert_eq!(value("x = \"64m\""), "64m");
        assert_eq!(value("x='a\""), "'a\"", "quotes that do not match stay");
        assert_eq!(value("x='"), "'");
        assert_eq!(value(r"x=a\sb\tc\\d\qe\"), "a b\tc\\d\\qe\\");
        assert_eq!(value(r"x=\b\n\r"), "\u{8}\n\r");
        assert_eq!(
            value("x=\"index_condition_pushdown=off\""),
            "index_condition_pushdown=off"
        );
    }

    #[test]
    fn directives() {
        assert_eq!(
            parse_line("!include  a b.cnf "),
            Ok(Line::Include("a b.cnf".into()))
        );
        assert_eq!(
            parse_line("!includedir conf.d/"),
            Ok(Line::IncludeDirectory("conf.d/".into()))
        );
        for line in ["!include", "!includedirx y", "!foo bar", "!"] {
            assert_eq!(
                parse_line(line),
                Err(Problem::MalformedDirective(line.into()))
            );
        }
    }

    #[test]
    fn a_line_that_is_no_option_is_refused_whole() {
        for line in ["innodb_open_files 4000", "= 5", "two words = 5"] {
            assert!(
                matches!(parse_line(line), Err(Problem::MalformedName(_))),
                "{line}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "\\PC{0,60}") {
            let _ = parse_line(&line);
        }

        /// A value written in quotes with its backslashes doubled comes back unchanged.
        #[test]
        fn quoted_values_come_back(text in "[a-zA-Z0-9 #;=/\\\\.:_-]{0,30}") {
            let line = format!("x = \"{}\" # end", text.replace('\\', "\\\\"));
            prop_assert_eq!(value(&line), text);
        }
    }
}
