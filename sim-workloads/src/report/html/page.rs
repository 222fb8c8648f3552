//! The parts of a page, written one after the other.
//!
//! ```text
//!   <head>   style, and a policy that lets nothing be fetched
//!   <main>   sections: text, tables, bars (SVG), empty elements for plots
//!   <script> the data of all plots as JSON, uPlot, and the script that draws
//! ```

// Writing to a string cannot fail, so the results below are dropped.
use std::fmt::Write as _;

use serde::Serialize;

use super::escape::{Escaped, script_json};
use super::plot::Plot;

const STYLE: &str = include_str!("../../../assets/report.css");
const SCRIPT: &str = include_str!("../../../assets/report.js");
const UPLOT: &str = include_str!("../../../assets/uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../../assets/uplot/uPlot.min.css");
const UPLOT_LICENCE: &str = include_str!("../../../assets/uplot/LICENSE");

/// Whatever is written into the page, the browser fetches nothing for it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// What the script reads.
#[derive(Serialize)]
struct Data {
    plots: Vec<Plot>,
}

/// A page that is being written.
pub(super) struct Page {
    html: String,
    plots: Vec<Plot>,
}

impl Page {
    /// A page with a title, without sections.
    pub fn new(title: &str) -> Self {
        let title = Escaped(title);
        let html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{UPLOT_STYLE}\n{STYLE}</style></head>\n\
             <body><main>\n<h1>{title}</h1>\n"
        );
        let plots = Vec::new();
        Page { html, plots }
    }

    /// Begins a section; it lasts until [`end_section`](Self::end_section).
    pub fn section(&mut self, heading: &str) {
        let _ = writeln!(self.html, "<section><h2>{}</h2>", Escaped(heading));
    }

    /// The same, as the target of a link from the page's top.
    pub fn target_section(&mut self, target: &str, heading: &str) {
        let (target, heading) = (Escaped(target), Escaped(heading));
        let _ = writeln!(self.html, "<section id=\"{target}\"><h2>{heading}</h2>");
    }

    pub fn end_section(&mut self) {
        self.html.push_str("</section>\n");
    }

    /// Links to sections: target and text.
    pub fn links(&mut self, links: &[(String, String)]) {
        self.html.push_str("<nav>");
        for (target, text) in links {
            let (target, text) = (Escaped(target), Escaped(text));
            let _ = write!(self.html, "<a href=\"#{target}\">{text}</a>");
        }
        self.html.push_str("</nav>\n");
    }

    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.html, "<h3>{}</h3>", Escaped(text));
    }

    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.html, "<p>{}</p>", Escaped(text));
    }

    /// Text beside the matter.
    pub fn note(&mut self, text: &str) {
        let _ = writeln!(self.html, "<p class=\"note\">{}</p>", Escaped(text));
    }

    pub fn warning(&mut self, text: &str) {
        let _ = writeln!(self.html, "<div class=\"warning\">{}</div>", Escaped(text));
    }

    pub fn list(&mut self, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.html.push_str("<ul class=\"plain\">");
        for item in items {
            let _ = write!(self.html, "<li>{}</li>", Escaped(item));
        }
        self.html.push_str("</ul>\n");
    }

    /// Figures at a glance: name and value.
    pub fn tiles<const N: usize>(&mut self, tiles: [(&str, String); N]) {
        self.html.push_str("<dl class=\"tiles\">");
        for (name, value) in tiles {
            let (name, value) = (Escaped(name), Escaped(&value));
            let _ = write!(self.html, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
        self.html.push_str("</dl>\n");
    }

    /// Text whose lines stay as they are.
    pub fn preformatted(&mut self, text: &str) {
        let _ = writeln!(self.html, "<pre>{}</pre>", Escaped(text));
    }

    /// One long line, which is broken where there is no room.
    pub fn command(&mut self, text: &str) {
        let _ = writeln!(self.html, "<pre class=\"wrap\">{}</pre>", Escaped(text));
    }

    /// HTML of this module's neighbours, escaped by them.
    pub fn raw(&mut self, html: &str) {
        self.html.push_str(html);
        self.html.push('\n');
    }

    /// Room for a plot, with its title above.
    pub fn plot(&mut self, title: &str, mut plot: Plot) {
        plot.id = format!("plot-{}", self.plots.len());
        let title = Escaped(title);
        let _ = writeln!(
            self.html,
            "<figure><figcaption>{title}</figcaption><div class=\"plot\" id=\"{}\" role=\"img\" \
             aria-label=\"{title}\"></div></figure>",
            plot.id
        );
        self.plots.push(plot);
    }

    /// What `inside` writes is folded until someone opens it.
    pub fn folded(&mut self, summary: &str, inside: impl FnOnce(&mut Self)) {
        let _ = writeln!(
            self.html,
            "<details><summary>{}</summary>",
            Escaped(summary)
        );
        inside(self);
        self.html.push_str("</details>\n");
    }

    /// A table in a box in which it scrolls.
    pub fn table<const N: usize>(
        &mut self,
        header: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) {
        let rows = rows.into_iter().map(|row| Row::from(Vec::from(row)));
        self.wide_table(&header.map(str::to_owned), rows);
    }

    /// The same, of as many columns as the header has.
    pub fn wide_table(&mut self, header: &[String], rows: impl IntoIterator<Item = Row>) {
        let rows: Vec<Row> = rows.into_iter().collect();
        let classes: Vec<&str> = (0..header.len())
            .map(|column| {
                let cells = rows.iter().filter_map(|row| row.cells.get(column));
                class_of(cells.map(String::as_str))
            })
            .collect();
        let class = |column: usize| classes.get(column).copied().unwrap_or_default();
        self.html
            .push_str("<div class=\"scroll\"><table class=\"figures\"><tr>");
        for (column, cell) in header.iter().enumerate() {
            let _ = write!(self.html, "<th{}>{}</th>", class(column), Escaped(cell));
        }
        self.html.push_str("</tr>\n");
        for row in &rows {
            let of_row = row
                .class
                .map_or(String::new(), |c| format!(" class=\"{c}\""));
            let _ = write!(self.html, "<tr{of_row}>");
            for (column, cell) in row.cells.iter().enumerate() {
                let class = match cell.as_str() {
                    "yes" => " class=\"good\"",
                    "NO" => " class=\"bad\"",
                    _ => class(column),
                };
                let _ = write!(self.html, "<td{class}>{}</td>", Escaped(cell));
            }
            self.html.push_str("</tr>\n");
        }
        self.html.push_str("</table></div>\n");
    }

    /// The whole page.
    pub fn end(mut self) -> String {
        let _ = writeln!(
            self.html,
            "<noscript><p>The plots need JavaScript; all else is here without.</p></noscript>\n\
             <footer>Made by innosim {}. Plots by uPlot, MIT licence.</footer>\n</main>",
            env!("CARGO_PKG_VERSION")
        );
        let data = script_json(&Data { plots: self.plots });
        let _ = write!(
            self.html,
            "<script type=\"application/json\" id=\"data\">{data}</script>\n\
             <script>\n/*!\n{UPLOT_LICENCE}\n*/\n{UPLOT}</script>\n<script>\n{SCRIPT}</script>\n\
             </body></html>\n"
        );
        self.html
    }
}

/// A row of a table.
pub(super) struct Row {
    cells: Vec<String>,
    class: Option<&'static str>,
}

impl From<Vec<String>> for Row {
    fn from(cells: Vec<String>) -> Self {
        Row { cells, class: None }
    }
}

impl Row {
    /// The row with a class of the style sheet.
    pub fn with_class(self, class: Option<&'static str>) -> Self {
        Row { class, ..self }
    }
}

/// Cells with more bytes than this are sentences, which may be broken into lines.
const SENTENCE: usize = 40;

/// The attribute of a column's cells: numbers are aligned to the right, sentences broken.
fn class_of<'a>(cells: impl Iterator<Item = &'a str> + Clone) -> &'static str {
    if cells.clone().any(|cell| cell.len() > SENTENCE) {
        " class=\"long\""
    } else if cells.clone().all(is_number) {
        " class=\"n\""
    } else {
        ""
    }
}

/// Whether a cell looks like a number, with or without sign and unit, or holds nothing.
fn is_number(cell: &str) -> bool {
    let digits = cell.trim_start_matches(['+', '-', '−']);
    cell.is_empty() || cell == "–" || digits.starts_with(|c: char| c.is_ascii_digit())
}

/// A number of client threads in words.
pub(super) fn threads(count: u32) -> String {
    match count {
        1 => "1 thread".to_owned(),
        count => format!("{count} threads"),
    }
}

/// A count with its digits in groups: `1,234,567`.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_groups_of_three() {
        for (count, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (66_735_173, "66,735,173"),
        ] {
            assert_eq!(grouped(count), text);
            assert!(is_number(text));
        }
    }

    #[test]
    fn a_column_is_of_one_kind() {
        let sentence = "what is said is as long as it takes to say it";
        assert_eq!(class_of(["short", sentence].into_iter()), " class=\"long\"");
        assert_eq!(class_of(["1", "–"].into_iter()), " class=\"n\"");
        assert_eq!(class_of(["1", "one"].into_iter()), "");
    }

    #[test]
    fn numbers_are_told_from_words() {
        for cell in ["12", "+4.0 %", "-3", "–", "", "1.5 s"] {
            assert!(is_number(cell), "{cell}");
        }
        for cell in ["tps", "-", "mysql-5.6"] {
            assert!(!is_number(cell), "{cell}");
        }
    }
}
