//! What the book says of the presets is what they are: each row `key | rfc | ns2 | linux` of its table.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_dccp::{Ccid, ConnectionOptions};
use headway_units::{Dialect, Options};
use serde_json::Value;

/// A cell as a scenario says it: an absent value is a dash.
fn value(cell: &str) -> Value {
    if cell == "–" { Value::Null } else { serde_json::from_str(cell).unwrap_or_else(|_| cell.into()) }
}

/// "same" is the first column's.
#[test]
fn keys_of_connection() {
    let page = include_str!("../../../../docs/src/dccp.md");
    for (column, dialect) in [Dialect::Rfc, Dialect::Ns2, Dialect::Linux].into_iter().enumerate() {
        // Which CCIDs there are is composed, not read.
        let (controllers, send_ccids, receive_ccids) = Default::default();
        let preset = ConnectionOptions { controllers, send_ccids, receive_ccids, ..ConnectionOptions::preset(dialect) };
        let mut told = serde_json::to_value(&preset).unwrap();
        let keys = |table: &Value| table.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let expert = keys(&told["expert"]);
        let paths = keys(&told).into_iter().filter(|key| key != "expert").map(|key| (key.clone(), key, false));
        let paths: Vec<_> = paths.chain(expert.into_iter().map(|key| (format!("expert.{key}"), key, true))).collect();
        assert!(paths.len() > 20, "{told}");
        for (path, key, is_expert) in paths {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{path}` |")));
            let row = row.unwrap_or_else(|| panic!("no row for {path}"));
            let cells: Vec<_> = row.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
            let table = if is_expert { &mut told["expert"] } else { &mut told };
            table[key] = value(if cells[column + 1] == "same" { cells[1] } else { cells[column + 1] });
        }
        assert_eq!(serde_json::from_value::<ConnectionOptions>(told).unwrap(), preset, "{dialect}");
    }
}

/// Without a scenario that says which: all that there are, those of ns-2, and Linux's own choice.
#[test]
fn ccids() {
    for (dialect, ccids) in [(Dialect::Rfc, &[2, 3, 4][..]), (Dialect::Ns2, &[2, 3]), (Dialect::Linux, &[2])] {
        let preset = ConnectionOptions::preset(dialect);
        assert_eq!((&preset.send_ccids[..], &preset.receive_ccids[..]), (ccids, ccids), "{dialect}");
        let rows: Vec<_> = preset.controllers.iter().map(|row| (row.ccid, row.ack_vectors)).collect();
        assert_eq!(rows, [(Ccid(2), true), (Ccid(3), false), (Ccid(4), false)], "{dialect}");
    }
}
