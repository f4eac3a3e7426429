//! The presets in the book: each row `key | rfc | ns2 | linux` of its tables matches the code.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_rate::ControllerOptions;
use headway_units::{Dialect, Registry, SchemaRegistry};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the cells by key. A dash is an absent value; words in parentheses are ignored.
fn tables(pages: &[&str]) -> BTreeMap<String, [String; 3]> {
    let rows = pages.iter().flat_map(|page| page.lines()).filter(|line| line.starts_with("| `"));
    rows.filter_map(|row| {
        let cells: Vec<_> = row.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        let key = cells[0].strip_prefix('`')?.strip_suffix('`')?;
        // Skip rows of results, whose first cell is a dialect.
        let key = Some(key).filter(|key| !["rfc", "ns2", "linux"].iter().any(|dialect| key.starts_with(dialect)))?;
        let word = |at: usize| cells.get(at).map(|cell: &&str| cell.split(' ').next().unwrap_or_default().to_owned());
        Some((key.to_owned(), [word(1)?, word(2)?, word(3)?]))
    })
    .collect()
}

fn value(cell: &str) -> Value {
    if cell == "–" { Value::Null } else { serde_json::from_str(cell).unwrap_or_else(|_| cell.into()) }
}

/// Checks that the options on the pages equal the preset; those of `elsewhere` are taken from the preset.
fn compare(kind: &str, pages: &[&str], elsewhere: &[&str]) {
    let table = tables(pages);
    assert!(table.len() > 1, "{table:?}");
    for (column, dialect) in [Dialect::Rfc, Dialect::Ns2, Dialect::Linux].into_iter().enumerate() {
        let preset = ControllerOptions::preset(kind, dialect).unwrap();
        let mut values = serde_json::to_value(&preset).unwrap();
        let is_elsewhere = |key: &String, _: &mut Value| elsewhere.contains(&key.as_str());
        if let Some(expert) = values.get_mut("expert") {
            expert.as_object_mut().unwrap().retain(is_elsewhere);
        }
        values.as_object_mut().unwrap().retain(|key, value| key == "expert" || is_elsewhere(key, value));
        for (path, cells) in &table {
            match path.split_once('.') {
                Some((table, key)) => values[table][key] = value(&cells[column]),
                None => values[path] = value(&cells[column]),
            }
        }
        assert_eq!(ControllerOptions::deserialize(kind, values).unwrap(), preset, "{kind}, {dialect}");
    }
}

/// Dialect ns3 concerns queues only: otherwise it equals rfc.
#[test]
fn ns3_follows_rfc() {
    for kind in ControllerOptions::KINDS {
        let [rfc, ns3] = [Dialect::Rfc, Dialect::Ns3].map(|dialect| ControllerOptions::preset(kind, dialect));
        assert!(rfc.is_some() && rfc == ns3, "{kind}");
    }
}

const TFRC: &str = include_str!("../../../../docs/src/rate/tfrc.md");

#[test]
fn tfrc() {
    compare("tfrc", &[TFRC], &["nominal_segment", "header", "min_interval", "short_intervals"]);
    for dialect in [Dialect::Rfc, Dialect::Ns2, Dialect::Linux] {
        let preset = serde_json::to_value(ControllerOptions::preset("tfrc", dialect).unwrap()).unwrap();
        let rules = ["nominal_segment", "header", "min_interval", "short_intervals"]
            .map(|key| preset["expert"][key].to_string());
        assert_eq!(rules, ["null", "\"0B\"", "\"0s\"", "false"], "{dialect}: none for small packets");
    }
}

#[test]
fn tfrc_sp() {
    compare("tfrc-sp", &[TFRC, include_str!("../../../../docs/src/rate/tfrc-sp.md")], &[]);
}

/// `tfrc-filtered` adds only a loss filter to TFRC's presets.
#[test]
fn tfrc_filtered() {
    for dialect in [Dialect::Rfc, Dialect::Ns2, Dialect::Linux] {
        let preset = |kind| serde_json::to_value(ControllerOptions::preset(kind, dialect).unwrap()).unwrap();
        let (mut filtered, mut plain) = (preset("tfrc-filtered"), preset("tfrc"));
        assert_eq!(filtered.as_object_mut().unwrap().remove("loss_filter"), Some("guarded".into()));
        plain["kind"] = "tfrc-filtered".into();
        assert_eq!(filtered, plain, "{dialect}");
    }
}

/// The table of `uddj` is its default.
#[test]
fn uddj() {
    let page = include_str!("../../../../docs/src/rate/loss-filters.md");
    let table = page.split("| key in `uddj` |").nth(1).unwrap().split("\n\n").next().unwrap();
    let default = serde_json::to_value(headway_rate::UddjOptions::default()).unwrap();
    let mut rows = 0;
    for row in table.lines().filter_map(|row| row.strip_prefix("| `")) {
        let (key, rest) = row.split_once("` | ").unwrap();
        let cell = rest.split(" | ").next().unwrap().trim_matches(['`', '"']);
        match default.get(key) {
            Some(Value::String(text)) => assert_eq!(cell, text, "{key}"),
            Some(Value::Number(number)) => assert_eq!(cell.parse::<f64>().ok(), number.as_f64(), "{key}"),
            Some(other) => assert_eq!(cell, other.to_string(), "{key}"),
            None => assert_eq!(cell, "–", "{key}"),
        }
        rows += 1;
    }
    assert_eq!(rows, 7);
}

#[test]
fn tcp_like() {
    compare("tcp-like", &[include_str!("../../../../docs/src/rate/tcp-like.md")], &[]);
}

#[test]
fn udpm() {
    compare("udpm", &[include_str!("../../../../docs/src/rate/udpm.md")], &[]);
}

#[test]
fn spacing() {
    compare("spacing", &[include_str!("../../../../docs/src/rate/spacing.md")], &[]);
}

#[test]
fn rap() {
    compare("rap", &[include_str!("../../../../docs/src/rate/rap.md")], &[]);
}

#[test]
fn nada() {
    compare("nada", &[include_str!("../../../../docs/src/rate/nada.md")], &[]);
}

#[test]
fn scream2() {
    compare("scream2", &[include_str!("../../../../docs/src/rate/scream2.md")], &[]);
}

#[test]
fn gcc() {
    compare("gcc", &[include_str!("../../../../docs/src/rate/gcc.md")], &[]);
}

#[test]
fn prague() {
    compare("prague", &[include_str!("../../../../docs/src/rate/prague.md")], &[]);
}

#[test]
fn spacing_fixed() {
    compare("spacing-fixed", &[include_str!("../../../../docs/src/rate/spacing-fixed.md")], &[]);
}

#[test]
fn spacing_equation() {
    let rules = ["nominal_segment", "header", "min_interval", "short_intervals"];
    compare("spacing-equation", &[TFRC, include_str!("../../../../docs/src/rate/spacing-equation.md")], &rules);
}
