//! Pages as a browser would read them.

use serde_json::{Map, Value, json};

use super::*;
use crate::report::json::tests::{report_sample, sample};
use crate::report::json::{
    Interval, OptionFileText, ReportDocument, ReproduceDocument, RunDocument, SweepDocument,
    SweepPoint,
};
use crate::stats::mean_interval_95;

/// What must not become markup, wherever it is written.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&";

fn origin() -> Origin {
    Origin {
        command: format!("innosim run --html {HOSTILE}"),
        profiles: vec![("my.toml".to_owned(), format!("# {HOSTILE}"))],
    }
}

/// The page without its scripts and style, which hold what looks like markup.
fn markup(page: &str) -> String {
    let mut rest = page;
    let mut markup = String::new();
    for name in ["style", "script", "script", "script"] {
        let begin = rest.find(&format!("<{name}")).expect(name);
        let end = begin + rest[begin..].find(&format!("</{name}>")).expect(name);
        markup.push_str(&rest[..begin]);
        rest = &rest[end + name.len() + 3..];
    }
    markup + rest
}

/// The data of the plots.
fn data(page: &str) -> Value {
    let begin = "<script type=\"application/json\" id=\"data\">";
    let (_, rest) = page.split_once(begin).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// The labels of all lines.
fn labels(page: &str) -> Vec<String> {
    let data = data(page);
    let plots = data["plots"].as_array().unwrap().clone();
    let series = plots
        .iter()
        .flat_map(|plot| plot["series"].as_array().unwrap());
    let label = |series: &Value| series["label"].as_str().unwrap().to_owned();
    series.map(label).collect()
}

/// Every element that is opened is closed, in order: what a browser would repair is a
/// mistake here. Nothing is fetched, and each plot has its place.
#[track_caller]
fn assert_sound(page: &str) {
    let markup = markup(page);
    let mut open: Vec<&str> = Vec::new();
    let mut rest = markup.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(begin) = rest.find('<') {
        let end = begin + rest[begin..].find('>').expect("a tag ends");
        let tag = &rest[begin + 1..end];
        rest = &rest[end + 1..];
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap();
        assert_ne!(name, "img", "{HOSTILE} has become markup");
        // Names of attributes, and the values between their quotes.
        let parts: Vec<&str> = tag.split('"').collect();
        for (place, attribute) in parts.iter().enumerate().step_by(2) {
            assert!(
                !attribute.contains("src") && !attribute.contains("onerror"),
                "{tag}"
            );
            let is_link = attribute.ends_with("href=");
            assert!(!is_link || parts[place + 1].starts_with('#'), "{tag}");
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closed here: {rest:.60}");
        } else if !tag.ends_with('/') && name != "meta" {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert_eq!(page.matches("</script>").count(), 3, "none is ended early");
    for fetches in [
        "@import",
        "url(",
        "fetch(",
        "XMLHttpRequest",
        "new Image",
        "WebSocket",
    ] {
        assert!(!page.contains(fetches), "{fetches}");
    }
    for address in ["http://", "https://"] {
        assert!(!markup.contains(address), "{address}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(
        !markup.contains("NaN") && !markup.contains("inf%"),
        "{markup}"
    );
    for plot in data(page)["plots"].as_array().unwrap() {
        let place = format!("id={}", plot["id"]);
        assert_eq!(markup.matches(&place).count(), 1, "{place}");
        let points = plot["xs"].as_array().unwrap().len();
        for series in plot["series"].as_array().unwrap() {
            assert_eq!(series["ys"].as_array().unwrap().len(), points);
        }
    }
}

fn run_with_all() -> RunDocument {
    let mut document = sample();
    let mib = 1 << 20;
    document.metrics.extend([
        ("log_max_modified_age_async".to_owned(), 60 * mib),
        ("log_max_modified_age_sync".to_owned(), 70 * mib),
    ]);
    document
        .status
        .insert("Innodb_redo_log_capacity_resized".to_owned(), 100 * mib);
    let first = document.intervals[0].clone();
    document.intervals.push(Interval { t_s: 2.0, ..first });
    document
}

#[test]
fn a_run_shows_every_series_on_one_axis() {
    let page = run(&run_with_all(), &origin());
    assert_sound(&page);
    assert_eq!(
        labels(&page),
        [
            "transactions",
            "median",
            "95th percentile",
            "99th percentile",
            "age",
            "adaptive flushing at full",
            "sync flush",
            "capacity",
            "modified",
            "free",
            "nvme, reads",
            "nvme, writes",
            "nvme, flushes",
            "trx_sys_mutex",
            "not purged",
        ]
    );
    for plot in data(&page)["plots"].as_array().unwrap() {
        assert_eq!(
            (&plot["xs"], &plot["sync"]),
            (&json!([1.0, 2.0]), &json!(true))
        );
    }
    let age = &data(&page)["plots"][2]["series"];
    assert_eq!(age[3]["ys"], json!([100.0, 100.0]), "MiB");
    assert!(markup(&page).contains("<td>innodb_doublewrite_pages</td><td class=\"n\">16</td>"));
}

#[test]
fn what_users_give_is_text_everywhere() {
    let hostile = || HOSTILE.to_owned();
    let mut document = run_with_all();
    document.workload = hostile();
    document.machine = hostile();
    document.warnings = vec![hostile()];
    document.variables.insert(hostile(), json!(HOSTILE));
    document.defaults.insert(hostile(), json!(HOSTILE));
    document.latches[0].name = hostile();
    for interval in &mut document.intervals {
        interval.disks[0].name = hostile();
        interval.latch_waits_per_s.insert(hostile(), 1.0);
    }
    let page = run(&document, &origin());
    assert_sound(&page);
    assert!(
        labels(&page).contains(&hostile()),
        "the line's name is whole"
    );
    assert!(markup(&page).contains("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"));

    let mut set = Map::new();
    set.insert(hostile(), json!(HOSTILE));
    let point = SweepPoint { set, run: document };
    assert_sound(&sweep(&SweepDocument::new(vec![point]), &origin()));

    let mut report = report_sample();
    report.name = hostile();
    report.warnings = vec![hostile()];
    report.failures = vec![hostile()];
    report.assumptions = vec![hostile()];
    report.claims[0].text = hostile();
    report.cells[0].metric = hostile();
    report.cells[0].labels.insert(hostile(), json!(HOSTILE));
    report.option_files = vec![OptionFileText {
        name: hostile(),
        text: hostile(),
    }];
    let reports = vec![report.clone(), report];
    assert_sound(&reproduce(&ReproduceDocument { reports }, &origin()));
}

#[test]
fn nothing_at_all_is_a_page_too() {
    let nothing = RunDocument {
        intervals: Vec::new(),
        latches: Vec::new(),
        files: Vec::new(),
        defaults: Default::default(),
        time_budget: Default::default(),
        transactions: 0,
        ..sample()
    };
    let page = run(&nothing, &Origin::default());
    assert_sound(&page);
    assert!(labels(&page).is_empty());
    assert_sound(&sweep(&SweepDocument::new(Vec::new()), &Origin::default()));
    let report = ReportDocument {
        cells: Vec::new(),
        claims: Vec::new(),
        ..report_sample()
    };
    let reports = vec![report];
    assert_sound(&reproduce(
        &ReproduceDocument { reports },
        &Origin::default(),
    ));
}

#[test]
fn one_document_gives_the_same_bytes_whatever_it_cost_the_host() {
    let mut other = run_with_all();
    other.host.wall_s = 99.0;
    assert!(run(&run_with_all(), &origin()) == run(&other, &origin()));
}

fn points(sets: &[(Value, f64)]) -> SweepDocument {
    let point = |(set, tps): &(Value, f64)| SweepPoint {
        set: set.as_object().unwrap().clone(),
        run: RunDocument {
            tps: *tps,
            ..sample()
        },
    };
    SweepDocument::new(sets.iter().map(point).collect())
}

#[test]
fn a_sweep_has_a_plot_for_each_variable_with_numbers() {
    let page = sweep(
        &points(&[
            (
                json!({"threads": 1, "innodb_doublewrite": "ON", "seed": 1}),
                10.0,
            ),
            (
                json!({"threads": 1, "innodb_doublewrite": "ON", "seed": 2}),
                12.0,
            ),
            (
                json!({"threads": 8, "innodb_doublewrite": "ON", "seed": 1}),
                60.0,
            ),
            (
                json!({"threads": 8, "innodb_doublewrite": "OFF", "seed": 1}),
                70.0,
            ),
        ]),
        &origin(),
    );
    assert_sound(&page);
    let data = data(&page);
    let [plot] = &data["plots"].as_array().unwrap()[..] else {
        panic!("{data}")
    };
    assert_eq!(
        (&plot["xs"], &plot["x"]["log"]),
        (&json!([1.0, 8.0]), &json!(true))
    );
    let [on, off] = &plot["series"].as_array().unwrap()[..] else {
        panic!("{plot}")
    };
    assert_eq!(on["label"], "innodb_doublewrite=ON");
    assert_eq!(on["ys"], json!([11.0, 60.0]));
    assert!(on["low"][0].as_f64().unwrap() < 11.0 && on["low"][1].is_null());
    assert_eq!(off["ys"], json!([null, 70.0]));
    // A budget for each combination, and a row for each run.
    let markup = markup(&page);
    assert_eq!(markup.matches("class=\"p0\"").count(), 3);
    assert!(markup.contains("threads=8, innodb_doublewrite=OFF"));
}

#[test]
fn a_sweep_of_words_has_bars() {
    let page = sweep(
        &points(&[
            (json!({"innodb_doublewrite": "ON"}), 10.0),
            (json!({"innodb_doublewrite": "OFF"}), 20.0),
        ]),
        &origin(),
    );
    assert_sound(&page);
    assert!(labels(&page).is_empty());
    assert!(markup(&page).contains("class=\"simulated\" y=\"0\" width=\"50.000%\""));
}

/// A report with a column for each of two flavors.
fn columns() -> ReportDocument {
    let mut report = report_sample();
    report.cells = Vec::new();
    for (flavor, published) in [("mysql-5.6", Some(100.0)), ("mysql-8.4", None)] {
        for threads in [1, 16, 64] {
            let labels = json!({"flavor": flavor, "threads": threads});
            let simulated = mean_interval_95(&[90.0, 100.0, 110.0]).unwrap();
            let labels = labels.as_object().unwrap().clone();
            let mut cell = crate::report::json::Cell::new(labels, "tps", published, simulated, 3);
            cell.fitted = threads == 16;
            cell.time_budget = Some(sample().time_budget);
            report.cells.push(cell);
        }
    }
    report
}

#[test]
fn a_report_shows_published_and_simulated_in_one_plot() {
    let reports = vec![columns()];
    let page = reproduce(&ReproduceDocument { reports }, &origin());
    assert_sound(&page);
    let plot = &data(&page)["plots"][0];
    assert_eq!(plot["x"]["label"], "threads");
    assert_eq!(labels(&page), ["mysql-5.6", "mysql-8.4"]);
    let [first, second] = &plot["series"].as_array().unwrap()[..] else {
        panic!("{plot}")
    };
    assert_eq!(first["published"], json!([100.0, 100.0, 100.0]));
    assert!(first["low"][0].as_f64().unwrap() < 90.0);
    assert!(second.get("published").is_none());
    let markup = markup(&page);
    assert_eq!(markup.matches("class=\"fitted\"").count(), 2);
    assert!(markup.contains("innodb_io_capacity = 2000"), "the settings");
    assert!(markup.contains("16 pages are faster"), "the claims");
}

#[test]
fn cells_without_an_axis_are_pairs_of_bars() {
    let reports = vec![report_sample()];
    let page = reproduce(&ReproduceDocument { reports }, &origin());
    assert_sound(&page);
    let markup = markup(&page);
    assert!(markup.contains("threads=16 innodb_doublewrite_pages=128"));
    assert!(
        markup.contains("<title>published: 76,180</title>"),
        "{markup}"
    );
    assert!(markup.contains("79,989 (+5.0 %)"));
}
