//! Bars as SVG, for what uPlot does not draw: parts that add up, and pairs.
//!
//! ```text
//!   threads=16   ▓▓▓▓▓▓▓▓░░░░░▒▒            1.2 ms      parts of a whole, each its colour
//!
//!   tuned 128    ████████████████           76,180      published
//!                ▓▓▓▓▓▓▓▓▓▓▓▓▓▓├─┤          79,989      simulated, with its interval
//! ```
//!
//! Lengths are shares of the room that a row has, so that a drawing fits wherever it is.

// Writing to a string cannot fail, so the results below are dropped.
use std::fmt::Write as _;

use super::escape::Escaped;
use super::page::grouped;

/// A bar of parts; the number of a part is the number of its colour.
pub(super) struct Stack {
    pub label: String,
    pub parts: Vec<f64>,
    /// The figure at its end.
    pub value: String,
}

impl Stack {
    /// Its length.
    pub fn total(&self) -> f64 {
        self.parts.iter().map(|part| part.max(0.0)).sum()
    }
}

/// Whether lengths can be compared between bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lengths {
    /// They are on one scale.
    Comparable,
    /// Every bar is as long as there is room: what counts is its parts.
    Shares,
}

/// The legend of the parts that occur, and stacked bars.
pub(super) fn stacks(names: &[&str], unit: &str, lengths: Lengths, stacks: &[Stack]) -> String {
    let largest = stacks.iter().map(Stack::total).fold(0.0, f64::max);
    let mut html = "<ul class=\"legend\">".to_owned();
    for (number, name) in names.iter().enumerate() {
        let occurs = |stack: &Stack| stack.parts.get(number).is_some_and(|part| *part > 0.0);
        if stacks.iter().any(occurs) {
            let name = Escaped(name);
            let _ = write!(html, "<li><span class=\"key p{number}\"></span>{name}</li>");
        }
    }
    html.push_str("</ul>\n<div class=\"bars\">");
    for stack in stacks {
        let whole = stack.total().max(1e-12);
        let room = match lengths {
            Lengths::Comparable => largest.max(1e-12),
            Lengths::Shares => whole,
        };
        begin_row(&mut html, &stack.label, 18);
        let mut left = 0.0;
        for (number, (name, part)) in names.iter().zip(&stack.parts).enumerate() {
            let part = part.max(0.0);
            if part > 0.0 {
                let _ = write!(
                    html,
                    "<rect class=\"p{number}\" x=\"{:.3}%\" width=\"{:.3}%\" height=\"18\">\
                     <title>{}: {} {} ({:.1} %)</title></rect>",
                    left / room * 100.0,
                    part / room * 100.0,
                    Escaped(name),
                    short(part),
                    Escaped(unit),
                    part / whole * 100.0
                );
            }
            left += part;
        }
        end_row(&mut html, &stack.value);
    }
    html.push_str("</div>");
    html
}

/// A published figure, where there is one, above ours.
pub(super) struct Pair {
    pub label: String,
    pub published: Option<f64>,
    pub simulated: f64,
    pub interval: Option<(f64, f64)>,
    /// The figure at its end.
    pub value: String,
}

/// Pairs of bars on one scale from 0, and their legend where anything was published.
pub(super) fn pairs(pairs: &[Pair]) -> String {
    let reach = |pair: &Pair| {
        let high = pair.interval.map_or(0.0, |(_, high)| high);
        let published = pair.published.unwrap_or(0.0);
        pair.simulated.max(high).max(published)
    };
    let largest = pairs.iter().map(reach).fold(0.0, f64::max).max(1e-12);
    let share = |value: f64| value.max(0.0) / largest * 100.0;
    let mut html = "<div class=\"bars\">".to_owned();
    for pair in pairs {
        let (height, ours) = match pair.published {
            Some(_) => (26, 13),
            None => (13, 0),
        };
        begin_row(&mut html, &pair.label, height);
        if let Some(published) = pair.published {
            let _ = write!(
                html,
                "<rect class=\"published\" width=\"{:.3}%\" height=\"12\"><title>published: {}\
                 </title></rect>",
                share(published),
                short(published)
            );
        }
        let _ = write!(
            html,
            "<rect class=\"simulated\" y=\"{ours}\" width=\"{:.3}%\" height=\"12\"><title>\
             simulated: {}</title></rect>",
            share(pair.simulated),
            short(pair.simulated)
        );
        if let Some((low, high)) = pair.interval {
            let middle = ours + 6;
            let ends = [
                (low, high, middle, middle),
                (low, low, middle - 4, middle + 4),
            ];
            let other_end = (high, high, middle - 4, middle + 4);
            for (from, to, top, bottom) in ends.into_iter().chain([other_end]) {
                let _ = write!(
                    html,
                    "<line x1=\"{:.3}%\" x2=\"{:.3}%\" y1=\"{top}\" y2=\"{bottom}\"/>",
                    share(from),
                    share(to)
                );
            }
        }
        end_row(&mut html, &pair.value);
    }
    html.push_str("</div>");
    if pairs.iter().any(|pair| pair.published.is_some()) {
        html.push_str(
            "\n<ul class=\"legend\"><li><span class=\"key published\"></span>published</li>\
             <li><span class=\"key simulated\"></span>simulated, with its 95 % interval over \
             seeds</li></ul>",
        );
    }
    html
}

fn begin_row(html: &mut String, label: &str, height: u32) {
    let label = Escaped(label);
    let _ = write!(
        html,
        "<div class=\"label\">{label}</div><svg height=\"{height}\" role=\"img\" \
         aria-label=\"{label}\">"
    );
}

fn end_row(html: &mut String, value: &str) {
    let _ = writeln!(html, "</svg><div class=\"value\">{}</div>", Escaped(value));
}

/// A number with three digits or more, without needless ones.
pub(super) fn short(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    if value >= 1e4 {
        return grouped(value.round() as u64);
    }
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.25, "0.25"),
            (1.5, "1.5"),
            (12.04, "12"),
            (76_180.4, "76,180"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn parts_follow_each_other_on_one_scale() {
        let stack = |label: &str, parts: [f64; 3]| Stack {
            label: label.to_owned(),
            parts: parts.to_vec(),
            value: "x".to_owned(),
        };
        let both = [
            stack("long", [100.0, 0.0, 300.0]),
            stack("short", [100.0, 0.0, 0.0]),
        ];
        let names = ["a", "never", "b"];
        let html = stacks(&names, "µs", Lengths::Comparable, &both);
        assert!(html.contains("class=\"p0\" x=\"0.000%\" width=\"25.000%\""));
        assert!(html.contains("class=\"p2\" x=\"25.000%\" width=\"75.000%\""));
        assert!(html.contains("b: 300 µs (75.0 %)"), "{html}");
        assert!(html.contains("a: 100 µs (100.0 %)"), "{html}");
        assert!(!html.contains("never"), "what does not occur has no legend");
        let html = stacks(&names, "µs", Lengths::Shares, &both);
        assert!(html.contains("class=\"p0\" x=\"0.000%\" width=\"100.000%\""));
    }

    #[test]
    fn a_pair_is_on_one_scale_with_its_interval() {
        let pair = Pair {
            label: "a<b".to_owned(),
            published: Some(50.0),
            simulated: 80.0,
            interval: Some((60.0, 100.0)),
            value: String::new(),
        };
        let html = pairs(&[pair]);
        assert!(html.contains("class=\"published\" width=\"50.000%\""));
        assert!(html.contains("width=\"80.000%\""));
        assert!(html.contains("x1=\"60.000%\" x2=\"100.000%\""), "{html}");
        assert!(html.contains("a&lt;b") && html.contains("key published"));
    }
}
