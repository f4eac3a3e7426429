//! `headway papers` as its users run it, over one cheap cell.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

/// Three UDP clients: the cell that takes least.
const CELL: &str = "droptail.udp.3";

fn papers(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headway")).arg("papers").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn written_at(path: &Path) -> SystemTime {
    std::fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn a_cell_is_run_once_judged_and_equal_to_the_stored_one() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let ran = papers(&["run", "lan-queues", "--full", "--cell", CELL, "--out", &out]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    for part in ["Table II", CELL, "30 seeds a cell", "results: "] {
        assert!(text(&ran.stdout).contains(part), "{part}\n{}", text(&ran.stdout));
    }
    for name in ["tables.md", "verdicts.md", "pictures/delay.svg", "pictures/delay.png"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
    let results = |path: &Path| serde_json::from_str::<Value>(&read(path)).unwrap()["cells"][CELL].clone();
    let stored = results(&root().join("papers/lan-queues/results.json"));
    assert_eq!(results(&folder.path().join("results.json")), stored, "the stored numbers are stale: run `make papers`");

    // Of four records one is kept, one is of another scenario, one of another build, one has another number: the last three
    // run again, and no verdict is of what somebody has written.
    let run = |seed: u32| folder.path().join(format!("runs/{CELL}/{seed}"));
    let change = |file: PathBuf, from: &str, to: &str| {
        let text = read(&file);
        assert!(text.contains(from), "{}", file.display());
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
    };
    change(run(2).join("scenario.toml"), "limit = \"4packets\"", "limit = \"5packets\"");
    change(run(3).join("timing.json"), "\"program\": \"", "\"program\": \"0");
    change(run(4).join("summary.json"), "\"mean\": 0.0", "\"mean\": 9.0");
    let before = [1, 2, 3, 4].map(|seed| written_at(&run(seed).join("timing.json")));
    let checked = papers(&["check", "lan-queues", "--cell", CELL, "--out", &out, "--json"]);
    let after = [1, 2, 3, 4].map(|seed| written_at(&run(seed).join("timing.json")));
    assert_eq!([0, 1, 2, 3].map(|place| before[place] == after[place]), [true, false, false, false]);
    let told = text(&checked.stderr);
    assert!(told.contains("7 of 10 runs reused") && told.contains("2 run again, since their files are not"), "{told}");

    let json: Value = serde_json::from_str(&text(&checked.stdout)).unwrap();
    let claim = |id: &str| {
        json["claims"].as_array().unwrap().iter().find(|claim| claim["id"] == id).unwrap_or_else(|| panic!("{id}"))
    };
    let delay = claim("lan.t2.droptail.udp.3");
    assert_eq!(delay["verdict"], "reproduced");
    assert_eq!(
        (&delay["paper"], &delay["class"], &delay["kind"]),
        (&"lan-queues".into(), &"contradictory".into(), &"number".into())
    );
    assert_eq!((&delay["paper_value"], &delay["runs"], &delay["fitted"]), (&13.3.into(), &10.into(), &true.into()));
    assert!(delay["ns2_value"].is_f64() && delay["value"].is_f64() && delay["ci95"].is_f64());
    assert!(delay["reason"].as_str().unwrap().contains("within 0.5 of 13.3"), "{delay}");
    assert_eq!(claim("lan.t2.red.tcp.50")["verdict"], "not run");
    assert_eq!(claim("lan.def.red")["verdict"], "tested");
    assert_eq!(json["counts"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 100);
    assert_eq!((&json["papers"][0]["id"], &json["papers"][0]["profile"]["seeds"]), (&"lan-queues".into(), &10.into()));
    // What was not run does not hold.
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stderr).contains("lan.t4.red.udp.8 is not run"), "{}", text(&checked.stderr));
}

#[test]
fn papers_are_listed_with_what_they_leave_open() {
    let listed = papers(&["list"]);
    assert!(listed.status.success());
    for part in [
        "lan-queues: \"Performance Measurement",
        "100 claims: 24 derivable",
        "16 parameters are inferred",
        "- TCP variant: Reno",
    ] {
        assert!(text(&listed.stdout).contains(part), "{part}");
    }
}

#[test]
fn mistakes_are_sentences() {
    for (arguments, part) in [
        (vec!["run", "lan"], "there is no paper \"lan\"; known are lan-queues"),
        (vec!["check", "lan-queues", "--cell", "droptail.tcp.4"], "there is no cell \"droptail.tcp.4\""),
    ] {
        let ran = papers(&arguments);
        assert_eq!(ran.status.code(), Some(1));
        assert!(text(&ran.stderr).contains(part), "{}", text(&ran.stderr));
    }
}
