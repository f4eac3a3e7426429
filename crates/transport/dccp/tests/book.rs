//! The presets match the book: each row `key | rfc | ns2 | linux` of its table.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_dccp::{Ccid, ConnectionOptions};
use headway_units::{Dialect, Options};
use serde_json::Value;

/// Parses a cell; a dash means absent.
fn value(cell: &str) -> Value {
    if cell == "–" { Value::Null } else { serde_json::from_str(cell).unwrap_or_else(|_| cell.into()) }
}

/// "same" refers to the first column.
#[test]
fn connection_keys_match_the_book() {
    let page = include_str!("../../../../docs/src/dccp.md");
    for (column, dialect) in [Dialect::Rfc, Dialect::Ns2, Dialect::Linux].into_iter().enumerate() {
        // CCIDs and controllers are composed elsewhere and not serialized.
        let (controllers, send_ccids, receive_ccids) = Default::default();
        let preset = ConnectionOptions { controllers, send_ccids, receive_ccids, ..ConnectionOptions::preset(dialect) };
        let mut reported = serde_json::to_value(&preset).unwrap();
        let keys = |table: &Value| table.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let expert = keys(&reported["expert"]);
        let paths = keys(&reported).into_iter().filter(|key| key != "expert").map(|key| (key.clone(), key, false));
        let paths: Vec<_> = paths.chain(expert.into_iter().map(|key| (format!("expert.{key}"), key, true))).collect();
        assert!(paths.len() > 20, "{reported}");
        for (path, key, is_expert) in paths {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{path}` |")));
            let row = row.unwrap_or_else(|| panic!("no row for {path}"));
            let cells: Vec<_> = row.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
            let table = if is_expert { &mut reported["expert"] } else { &mut reported };
            table[key] = value(if cells[column + 1] == "same" { cells[1] } else { cells[column + 1] });
        }
        assert_eq!(serde_json::from_value::<ConnectionOptions>(reported).unwrap(), preset, "{dialect}");
    }
}

/// Default CCIDs: all standard ones, those of ns-2, and that of Linux.
#[test]
fn ccids() {
    for (dialect, ccids) in [(Dialect::Rfc, &[2, 3, 4][..]), (Dialect::Ns2, &[2, 3]), (Dialect::Linux, &[2])] {
        let preset = ConnectionOptions::preset(dialect);
        assert_eq!((&preset.send_ccids[..], &preset.receive_ccids[..]), (ccids, ccids), "{dialect}");
        let rows: Vec<_> = preset.controllers.iter().map(|row| (row.ccid, row.ack_vectors)).collect();
        assert_eq!(rows, [(Ccid(2), true), (Ccid(3), false), (Ccid(4), false)], "{dialect}");
    }
}
