//! Reports as one HTML file: text, tables and drawings, nothing fetched from anywhere.
//!
//! * [`run`] – the page of a run: rates over time, where the time goes, what was set.
//! * [`sweep`] – the page of a sweep: every combination with its interval.
//! * [`reproduce`] – the page of reports: published against simulated, and what holds.
//! * [`chart`] – the drawings, as SVG.

pub mod chart;
mod reproduce;
mod run;
mod sweep;

pub use reproduce::reproduce;
pub use run::run;
pub use sweep::sweep;

use std::fmt::{self, Write as _};

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}\
table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.15rem .7rem;text-align:right;\
border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}\
svg{display:block;margin:.5rem 0}svg text{font-size:11px;fill:#555}\
.warning{background:#fff3cd;padding:.2rem .7rem;margin:.2rem 0}\
details{margin:.5rem 0}";

/// Text with what HTML would take for markup made harmless.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => formatter.write_str("&amp;")?,
                '<' => formatter.write_str("&lt;")?,
                '>' => formatter.write_str("&gt;")?,
                '"' => formatter.write_str("&quot;")?,
                other => formatter.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// A page. Writing to a string cannot fail, here and below.
struct Page(String);

impl Page {
    fn new(title: &str) -> Self {
        let title = Escaped(title);
        Page(format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
             <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
        ))
    }

    fn heading(&mut self, text: &str) {
        let _ = writeln!(self.0, "<h2>{}</h2>", Escaped(text));
    }

    fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.0, "<p>{}</p>", Escaped(text));
    }

    fn warning(&mut self, text: &str) {
        let _ = writeln!(self.0, "<div class=\"warning\">{}</div>", Escaped(text));
    }

    fn drawing(&mut self, svg: &str) {
        self.0.push_str(svg);
        self.0.push('\n');
    }

    fn table<const N: usize>(
        &mut self,
        header: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) {
        let header = header.map(str::to_owned).to_vec();
        self.wide_table(&header, rows.into_iter().map(Vec::from));
    }

    fn wide_table(&mut self, header: &[String], rows: impl IntoIterator<Item = Vec<String>>) {
        self.0.push_str("<table><tr>");
        for cell in header {
            let _ = write!(self.0, "<th>{}</th>", Escaped(cell));
        }
        self.0.push_str("</tr>\n");
        for row in rows {
            self.0.push_str("<tr>");
            for cell in &row {
                let _ = write!(self.0, "<td>{}</td>", Escaped(cell));
            }
            self.0.push_str("</tr>\n");
        }
        self.0.push_str("</table>\n");
    }

    /// A table that is closed until someone opens it.
    fn folded(&mut self, summary: &str, header: [&str; 2], rows: Vec<[String; 2]>) {
        let _ = writeln!(self.0, "<details><summary>{}</summary>", Escaped(summary));
        self.table(header, rows);
        self.0.push_str("</details>\n");
    }

    fn end(mut self) -> String {
        self.0.push_str("</body></html>\n");
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::json::tests::{report_sample, sample};
    use crate::report::json::{
        ReportDocument, ReproduceDocument, RunDocument, SweepDocument, SweepPoint,
    };

    /// Every element that is opened is closed, in order: what a browser would repair is a
    /// mistake here.
    #[track_caller]
    fn assert_well_formed(page: &str) {
        const VOID: [&str; 1] = ["meta"];
        let mut open: Vec<&str> = Vec::new();
        let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
        while let Some(begin) = rest.find('<') {
            let end = begin + rest[begin..].find('>').expect("a tag ends");
            let tag = &rest[begin + 1..end];
            rest = &rest[end + 1..];
            let name = tag
                .trim_start_matches('/')
                .split([' ', '/'])
                .next()
                .unwrap();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "closed here: {rest:.60}");
            } else if !tag.ends_with('/') && !VOID.contains(&name) {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
        assert!(!page.contains("http"), "nothing is fetched");
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }

    #[test]
    fn a_run_is_a_page_on_its_own() {
        let document = RunDocument {
            warnings: vec!["a < b & \"c\"".to_owned()],
            ..sample()
        };
        let page = run(&document);
        assert_well_formed(&page);
        assert!(page.contains("a &lt; b &amp; &quot;c&quot;"));
        assert!(page.contains("innodb_doublewrite_pages"));
        // Nothing at all must not break it either.
        let nothing = RunDocument {
            intervals: Vec::new(),
            latches: Vec::new(),
            time_budget: Default::default(),
            transactions: 0,
            ..sample()
        };
        assert_well_formed(&run(&nothing));
    }

    #[test]
    fn reports_are_a_page_on_their_own() {
        let document = ReproduceDocument {
            reports: vec![report_sample()],
        };
        let page = reproduce(&document);
        assert_well_formed(&page);
        assert!(page.contains("16 pages are faster"));
        assert!(page.contains("innodb_doublewrite_pages=128"));
        let nothing = ReproduceDocument {
            reports: vec![ReportDocument {
                cells: Vec::new(),
                claims: Vec::new(),
                ..report_sample()
            }],
        };
        assert_well_formed(&reproduce(&nothing));
    }

    #[test]
    fn a_sweep_is_a_page_on_its_own() {
        let point = |threads: u64, seed: u64, tps: f64| {
            let serde_json::Value::Object(set) =
                serde_json::json!({"threads": threads, "seed": seed})
            else {
                unreachable!("written as an object")
            };
            SweepPoint {
                set,
                run: RunDocument { tps, ..sample() },
            }
        };
        let points = vec![point(1, 1, 10.0), point(1, 2, 12.0), point(8, 1, 60.0)];
        let page = sweep(&SweepDocument::new(points));
        assert_well_formed(&page);
        assert!(page.contains("threads=8"));
        assert_well_formed(&sweep(&SweepDocument::new(Vec::new())));
    }
}
