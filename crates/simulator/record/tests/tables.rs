//! The generated tables of the book and the viewer are up to date.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_record::{SERIES_FIGURES, metric};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Compares a file with its expected text, or writes it with `UPDATE_DOCS=1`.
fn check(path: &str, expected: impl FnOnce(&str) -> String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let expected = expected(&text);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).unwrap();
    } else {
        assert!(text == expected, "run this test with UPDATE_DOCS=1 to write {}", path.display());
    }
}

fn check_table(path: &str, name: &str, table: &str) {
    check(path, |page| {
        let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
        let (before, rest) = page.split_once(&begin).unwrap();
        let (_, after) = rest.split_once(&end).unwrap();
        format!("{before}{begin}{table}{end}{after}")
    });
}

#[test]
fn the_table_of_metrics_in_the_book_is_current() {
    let mut table = String::from("| metric | of | meaning |\n|---|---|---|\n");
    for metric in metric::ALL {
        writeln!(table, "| `{}` | {} | {} |", metric.name, metric.entities, metric.meaning).unwrap();
    }
    check_table("docs/src/records.md", "metrics", &table);
}

#[test]
fn the_table_of_figures_in_the_book_is_current() {
    let mut table = String::from("| figure | title | metrics |\n|---|---|---|\n");
    for figure in SERIES_FIGURES {
        writeln!(table, "| `{}` | {} | `{}` |", figure.name, figure.title, figure.metrics.join("`, `")).unwrap();
    }
    check_table("docs/src/plots.md", "figures", &table);
}

#[test]
fn the_titles_of_metrics_in_the_viewer_are_current() {
    check("viewer/src/lib/metrics.json", |_| serde_json::to_string_pretty(metric::ALL).unwrap() + "\n");
}
