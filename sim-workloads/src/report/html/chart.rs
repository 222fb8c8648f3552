//! Drawings as SVG: a line over time, bars with their intervals.
//!
//! ```text
//!   1200 ┤        ____            threads=16  ▓▓▓▓▓▓▓▓|──|
//!    800 ┤   ____/    \___        threads=64  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓|─|
//!    400 ┤  /
//!      0 ┼──────────────────
//! ```

// Writing to a string cannot fail, so the results below are dropped.
use std::fmt::Write as _;

use super::Escaped;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 170.0;
/// Room for the numbers at the left and below.
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 24.0;
const TOP: f64 = 22.0;

/// A step of 1, 2 or 5 times a power of ten that fits between four and ten times into a
/// range from 0.
fn step(largest: f64) -> f64 {
    if largest <= 0.0 {
        return 1.0;
    }
    let power = libm::pow(10.0, libm::floor(libm::log10(largest)));
    let steps = [0.1, 0.2, 0.5, 1.0, 2.0].map(|factor| factor * power);
    let fits = |step: &f64| largest / step <= 6.0;
    steps.into_iter().find(fits).unwrap_or(2.0 * power)
}

/// A number without needless digits.
fn short(value: f64) -> String {
    for (unit, letter) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if value >= unit {
            let text = format!("{:.2}", value / unit);
            let text = text.trim_end_matches('0').trim_end_matches('.');
            return format!("{text}{letter}");
        }
    }
    let text = format!("{value:.2}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A line through points (seconds, value), from zero up.
pub fn line(title: &str, points: &[(f64, f64)]) -> String {
    let last = points.last().map_or(1.0, |point| point.0).max(1e-9);
    let largest = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let vertical = step(largest);
    let top = (libm::ceil(largest / vertical) * vertical).max(vertical);
    let x = |seconds: f64| LEFT + seconds / last * (WIDTH - LEFT - 10.0);
    let y = |value: f64| TOP + (1.0 - value / top) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\"><text x=\"{LEFT}\" y=\"13\" \
         font-weight=\"bold\">{}</text>",
        Escaped(title)
    );
    for number in 0..=(top / vertical).round() as u32 {
        let value = f64::from(number) * vertical;
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - 10.0,
            y(value),
            y(value),
            LEFT - 6.0,
            y(value) + 4.0,
            short(value)
        );
    }
    let horizontal = step(last);
    for number in 0..=(last / horizontal).floor() as u32 {
        let seconds = f64::from(number) * horizontal;
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{} s</text>",
            x(seconds),
            HEIGHT - 8.0,
            short(seconds)
        );
    }
    let path: Vec<String> = points
        .iter()
        .map(|(seconds, value)| format!("{:.1},{:.1}", x(*seconds), y(*value)))
        .collect();
    let _ = write!(
        svg,
        "<polyline fill=\"none\" stroke=\"#1f6feb\" stroke-width=\"1.5\" points=\"{}\"/></svg>",
        path.join(" ")
    );
    svg
}

/// One bar: a label, a value, and the interval around it if it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is.
    pub label: String,
    /// Its length.
    pub value: f64,
    /// The ends of the interval.
    pub interval: Option<(f64, f64)>,
}

/// Bars below each other, from zero to the right.
pub fn bars(bars: &[Bar]) -> String {
    const ROW: f64 = 22.0;
    const LABELS: f64 = 330.0;
    const VALUES: f64 = 90.0;
    let reach = |bar: &Bar| {
        bar.interval
            .map_or(bar.value, |(_, high)| high.max(bar.value))
    };
    let largest = bars.iter().map(reach).fold(0.0, f64::max).max(1e-9);
    let x = |value: f64| LABELS + value.max(0.0) / largest * (WIDTH - LABELS - VALUES);
    let height = bars.len() as f64 * ROW + 6.0;
    let mut svg = format!("<svg width=\"{WIDTH}\" height=\"{height}\" role=\"img\">");
    for (number, bar) in bars.iter().enumerate() {
        let y = number as f64 * ROW + 4.0;
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{LABELS}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"14\" fill=\"#9ec5fe\"/>",
            LABELS - 6.0,
            y + 11.0,
            Escaped(&bar.label),
            x(bar.value) - LABELS
        );
        if let Some((low, high)) = bar.interval {
            let _ = write!(
                svg,
                "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#0a3069\" \
                 stroke-width=\"2\"/>",
                x(low),
                x(high),
                y + 7.0,
                y + 7.0
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x(reach(bar)) + 6.0,
            y + 11.0,
            short(bar.value)
        );
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        for (largest, expected) in [
            (0.0, 1.0),
            (1.0, 0.2),
            (47.0, 10.0),
            (990.0, 200.0),
            (12e6, 2e6),
        ] {
            let step = step(largest);
            assert!((step / expected - 1.0).abs() < 1e-12, "{largest}: {step}");
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.25, "0.25"),
            (12.0, "12"),
            (1_500.0, "1.5k"),
            (2e6, "2M"),
            (3.25e9, "3.25G"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn a_line_goes_from_corner_to_corner() {
        let svg = line("rate", &[(0.0, 0.0), (10.0, 1_000.0)]);
        assert!(svg.contains("points=\"70.0,146.0 750.0,22.0\""), "{svg}");
        assert!(
            svg.contains(">1k</text>") && svg.contains(">10 s</text>"),
            "{svg}"
        );
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        let bar = |value: f64, interval| Bar {
            label: "x".into(),
            value,
            interval,
        };
        let svg = bars(&[bar(50.0, None), bar(80.0, Some((60.0, 100.0)))]);
        assert!(svg.contains("width=\"170.0\""), "{svg}");
        assert!(svg.contains("x1=\"534.0\" x2=\"670.0\""), "{svg}");
    }
}
