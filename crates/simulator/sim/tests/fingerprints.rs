//! Hashes of the event order of every shipped scenario, with the number of packet hops. If a hash changes, published
//! numbers may change; list them in `CHANGELOG.md`. `UPDATE_FINGERPRINTS=1` writes the hashes.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use std::fmt::Write;
use std::path::Path;

fn scenarios(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            scenarios(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            let below = path.strip_prefix(common::root().join("scenarios")).unwrap();
            found.push(below.to_str().unwrap().replace('\\', "/"));
        }
    }
}

#[test]
fn no_event_has_moved() {
    let mut names = Vec::new();
    scenarios(&common::root().join("scenarios"), &mut names);
    names.sort();
    let mut now = String::new();
    for name in &names {
        let record = common::run(&common::shipped(name), ());
        writeln!(now, "{:016x} {} {name}", record.fingerprint.value(), record.summary.packet_hops).unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fingerprints.txt");
    if std::env::var_os("UPDATE_FINGERPRINTS").is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(now == stored, "see the head of this test\n{}{}", only('-', &stored, &now), only('+', &now, &stored));
}

/// Returns the lines of `text` that `other` lacks, as in a diff.
fn only(sign: char, text: &str, other: &str) -> String {
    let lines = text.lines().filter(|line| !other.lines().any(|known| known == *line));
    lines.map(|line| format!("{sign} {line}\n")).collect()
}
