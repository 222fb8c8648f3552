//! Curves, as data for the script of the page.
//!
//! ```text
//!   Plot ── xs ─────────── 1      36     144
//!        └─ series ── ys   600    12,000 11,000    a line; null is a gap
//!                     low, high                    a band around it
//!                     published                    diamonds
//! ```

use serde::Serialize;

/// Colours that lines have; see `assets/report.css`.
const COLORS: usize = 8;

/// One plot. Its fields are what `assets/report.js` reads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Plot {
    /// The id of the element that it is drawn in; the page sets it.
    pub id: String,
    pub x: HorizontalAxis,
    pub y: VerticalAxis,
    /// Whether it shares cursor and range with the others of its page that do.
    pub sync: bool,
    /// In rising order.
    pub xs: Vec<f64>,
    pub series: Vec<Series>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct HorizontalAxis {
    /// With its unit.
    pub label: String,
    /// Logarithmic; all values are above 0.
    pub log: bool,
    /// Whether it begins at 0 and has labels at round values, as an axis of time; without,
    /// it has them at the values that there are.
    pub from_zero: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct VerticalAxis {
    /// With its unit.
    pub label: String,
}

/// A line.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Series {
    pub label: String,
    /// The number of a colour.
    pub color: usize,
    /// The number of a pattern; 0 is a full line.
    pub dash: usize,
    /// Whether it is a level that others are held against, and has no points of its own.
    pub level: bool,
    /// A value for each of the plot's `xs`.
    pub ys: Vec<Option<f64>>,
    /// Lower ends of intervals; empty where no point has one. So are the next two.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub low: Vec<Option<f64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub high: Vec<Option<f64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Option<f64>>,
}

impl Series {
    /// A full line without intervals; the colour is that of its number.
    pub fn line(number: usize, label: &str, ys: impl IntoIterator<Item = f64>) -> Self {
        Series {
            label: label.to_owned(),
            color: number % COLORS,
            ys: ys.into_iter().map(|y| Some(six_digits(y))).collect(),
            ..Series::default()
        }
    }

    /// A level, dashed, all the way, of this colour and pattern.
    pub fn level((color, dash): (usize, usize), label: &str, y: f64, points: usize) -> Self {
        Series {
            dash,
            level: true,
            ..Series::line(color, label, std::iter::repeat_n(y, points))
        }
    }
}

/// A point of a curve over a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
    pub interval: Option<(f64, f64)>,
    pub published: Option<f64>,
}

/// Curves over a setting, each of them a name and its points in any order.
pub(super) fn curves(x: &str, y: &str, curves: &[(String, Vec<Point>)]) -> Plot {
    let points = || curves.iter().flat_map(|(_, points)| points);
    let mut xs: Vec<f64> = points().map(|point| point.x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let column = |points: &[Point], value: &dyn Fn(&Point) -> Option<f64>| {
        let at = |x: &f64| points.iter().find(|point| point.x == *x);
        let values = xs.iter().map(|x| at(x).and_then(value).map(six_digits));
        let values: Vec<Option<f64>> = values.collect();
        match values.iter().any(Option::is_some) {
            true => values,
            false => Vec::new(),
        }
    };
    let series = curves.iter().enumerate().map(|(number, (label, points))| {
        Series {
            label: label.clone(),
            color: number % COLORS,
            // Neighbours differ in more than their colour.
            dash: number % 2 + number / COLORS * 2,
            level: false,
            ys: column(points, &|point| Some(point.y)),
            low: column(points, &|point| point.interval.map(|(low, _)| low)),
            high: column(points, &|point| point.interval.map(|(_, high)| high)),
            published: column(points, &|point| point.published),
        }
    });
    Plot {
        id: String::new(),
        x: HorizontalAxis {
            label: x.to_owned(),
            log: is_wide(&xs),
            from_zero: false,
        },
        y: VerticalAxis {
            label: y.to_owned(),
        },
        sync: false,
        series: series.collect(),
        xs,
    }
}

/// Whether values are so far apart that on a plain axis the small ones would be one.
fn is_wide(xs: &[f64]) -> bool {
    match (xs.first(), xs.last()) {
        (Some(&first), Some(&last)) => first > 0.0 && last >= 8.0 * first,
        _ => false,
    }
}

/// More digits than anyone can see make a page large.
fn six_digits(value: f64) -> f64 {
    let text = format!("{value:.5e}");
    text.parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64) -> Point {
        Point {
            x,
            y,
            interval: None,
            published: None,
        }
    }

    #[test]
    fn curves_share_their_axis_and_have_gaps() {
        let with_all = Point {
            interval: Some((9.0, 11.0)),
            published: Some(12.0),
            ..point(1.0, 10.0)
        };
        let first = ("a".to_owned(), vec![point(64.0, 30.0), with_all]);
        let second = ("b".to_owned(), vec![point(8.0, 1.0)]);
        let plot = curves("threads", "tps", &[first, second]);
        assert_eq!(plot.xs, [1.0, 8.0, 64.0]);
        assert!(plot.x.log);
        let [a, b] = &plot.series[..] else {
            panic!("{plot:?}")
        };
        assert_eq!(a.ys, [Some(10.0), None, Some(30.0)]);
        assert_eq!(a.low, [Some(9.0), None, None]);
        assert_eq!(a.published, [Some(12.0), None, None]);
        assert_eq!(b.ys, [None, Some(1.0), None]);
        assert!(b.low.is_empty() && b.published.is_empty());
        assert_ne!((a.color, a.dash), (b.color, b.dash));
    }

    #[test]
    fn an_axis_is_logarithmic_where_values_are_far_apart() {
        assert!(is_wide(&[1.0, 8.0]) && !is_wide(&[16.0, 64.0]));
        assert!(!is_wide(&[0.0, 100.0]) && !is_wide(&[]));
    }

    #[test]
    fn numbers_have_six_digits() {
        assert_eq!(six_digits(12_345.678_9), 12_345.7);
        assert_eq!(six_digits(0.0), 0.0);
        assert_eq!(six_digits(1.0 / 3.0), 0.333_333);
    }
}
