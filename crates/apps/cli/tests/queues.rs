//! Tests of `headway queues` from the command line.

use crate::common::text;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Call over DCCP of 12 s, with too little bandwidth next to a TCP flow.
const CALL: &str = r#"
duration = "12s"
measure_from = "2s"
dialect = "linux"
[[link]]
between = ["a", "b"]
rate = "700kbps"
delay = "20ms"
queue = { kind = "droptail", limit = "13packets" }
[[flow]]
name = "call"
from = "a"
to = "b"
transport = { kind = "dccp", ccid = 3 }
send_queue = { kind = "sure-first", limit = "5packets", margin = 2.5 }
source = { kind = "conference", random_start = true }
[[flow]]
name = "tcp"
from = "a"
to = "b"
start = { uniform = ["0s", "1s"] }
transport = { kind = "tcp-reno" }
source = { kind = "ftp" }
"#;

const KINDS: [&str; 12] = [
    "fifo",
    "prio",
    "sfdps1",
    "sfdps2",
    "ring",
    "ring-3",
    "ring-sfdps2",
    "score",
    "patient",
    "sure-first",
    "priority",
    "edf",
];

struct Scenario(tempfile::TempDir);

impl Scenario {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("call.toml"), text).unwrap();
        Self(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        command.arg("queues").arg(self.0.path().join("call.toml")).args(arguments);
        command
    }

    fn queues(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.queues(arguments);
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        serde_json::from_slice(&ran.stdout).unwrap()
    }
}

#[test]
fn every_kind_and_the_scenarios_own_queue_are_compared() {
    let scenario = Scenario::new(CALL);
    let json = scenario.json(&["--seeds", "3", "--json", "--oracle"]);
    assert_eq!((&json["scenario"], &json["flow"]), (&"call".into(), &"call".into()));
    assert_eq!(json["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(json["kinds"], serde_json::json!({ "0": ["audio"], "1": ["video"] }));
    let rows = json["queues"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["queue"].as_str().unwrap()).collect();
    assert_eq!(names[..12], KINDS);
    assert_eq!(names[12..], ["sure-first,margin=2.5"]);
    for row in rows {
        let limit = if row["queue"] == "ring-3" { "3packets" } else { "5packets" };
        assert_eq!(row["options"]["limit"], limit, "{}", row["queue"]);
        for kind in ["audio", "video"] {
            let number = &row["simulated"]["on_time_ratio"][kind];
            assert!((0.0..=1.0).contains(&number["mean"].as_f64().unwrap()), "{row}");
            // A share of 0 in all runs has no interval.
            assert!(number["ci95"].as_f64().is_none_or(|half| half > 0.0) && number["runs"] == 3, "{row}");
            assert_eq!(number["ci95"].is_null(), number["mean"] == 0.0, "{row}");
            assert!(row["simulated"]["late_ratio"][kind]["mean"].is_f64(), "{row}");
        }
        for replay in ["replayed", "oracle"] {
            for priority in ["0", "1"] {
                let part = row[replay]["part_of_bound"][priority]["mean"].as_f64().unwrap();
                assert!((0.0..=1.0).contains(&part), "{row}");
            }
        }
    }
    // The bound does not depend on the compared queues or on the number of threads.
    let few = scenario.json(&["--seeds", "3", "--json", "--jobs", "1", "--queue", "sure-first,margin=2.5"]);
    assert_eq!(few["bound"], json["bound"]);
    assert_eq!(few["queues"].as_array().unwrap().len(), 1);
    for key in ["options", "simulated", "replayed"] {
        assert_eq!(few["queues"][0][key], rows[12][key]);
    }
    assert!(few["queues"][0].get("oracle").is_none());
}

#[test]
fn tables_have_queues_the_bound_and_marks_of_the_best() {
    let ran = Scenario::new(CALL).queues(&[
        "--seeds",
        "2",
        "--first-seed",
        "5",
        "--queue",
        "fifo",
        "--queue",
        "prio,limit=9packets",
    ]);
    let shown = text(&ran.stdout);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(shown.starts_with("flow call of call, seeds 5 to 6"), "{shown}");
    let starts = |name: &str| shown.lines().filter(|line| line.starts_with(name)).count();
    assert_eq!((starts("bound "), starts("fifo "), starts("prio,limit=9packets ")), (1, 2, 2), "{shown}");
    // Simulated audio and video; audio, and audio with video, as shares of the bound.
    let marked = shown.lines().skip(1).map(|line| line.matches('*').count()).sum::<usize>();
    assert!((4..=8).contains(&marked), "{shown}");
    assert!(shown.lines().skip(1).all(|line| line.chars().count() <= 100), "{shown}");
}

#[test]
fn a_default_queue_of_the_scenario_is_not_compared_twice() {
    let plain = Scenario::new(&CALL.replace(", margin = 2.5", ""));
    let json = plain.json(&["--seeds", "1", "--json"]);
    assert_eq!(json["queues"].as_array().unwrap().len(), KINDS.len());
    assert!(json["bound"]["on_time_ratio"]["0"]["ci95"].is_null());
}

#[test]
fn identical_runs_have_no_intervals() {
    let fixed = CALL.replace(", random_start = true", "").replace("{ uniform = [\"0s\", \"1s\"] }", "\"1s\"");
    let scenario = Scenario::new(&fixed.replace(
        "kind = \"conference\"",
        "kind = \"cbr\", media = \"audio\", payload = \"160B\", interval = \"20ms\", lifetime = \"200ms\"",
    ));
    let few = ["--seeds", "3", "--queue", "fifo", "--queue", "sfdps2"];
    let json = scenario.json(&[&few[..], &["--json"]].concat());
    assert_eq!((&json["identical"], &json["seeds"]), (&true.into(), &serde_json::json!([1, 2, 3])));
    let number = &json["queues"][0]["simulated"]["on_time_ratio"]["audio"];
    assert_eq!((&number["runs"], &number["ci95"]), (&1.into(), &Value::Null));
    let shown = text(&scenario.queues(&few).stdout);
    assert!(shown.starts_with("flow call of call, seeds 1 to 3, all runs identical;"), "{shown}");
    assert!(!shown.contains('±') && shown.contains("The runs of all 3 seeds are identical"), "{shown}");
    assert_eq!(Scenario::new(CALL).json(&[&few[..], &["--json"]].concat())["identical"], false);
}

#[test]
fn errors_include_the_allowed_values() {
    let scenario = Scenario::new(CALL);
    let never_late = "flow[call].source={ kind = \"ftp\" }";
    for (arguments, part) in [
        (&["--queue", "fofo"][..], "--queue fofo: there is no send queue \"fofo\"; did you mean \"fifo\"?"),
        (&["--queue", "fifo,limti=3packets"], "unknown key \"limti\"; did you mean \"limit\"?"),
        (&["--queue", "fifo,methods.adio=sfdps1"], "methods.adio: unknown key \"adio\"; did you mean \"audio\"?"),
        (&["--queue", "fifo,methods.audio=sfdps"], "there is no method \"sfdps\": expected fifo, prio, sfdps1"),
        (&["--queue", "fifo,limit.audio=3packets"], "unknown key \"limit.audio\""),
        (&["--queue", "fifo,limit=3"], "limit: 3 has no unit"),
        (&["--queue", "fifo,margin"], "\"margin\" has no value; expected KEY=VALUE"),
        (&["--queue", "sure-first,margin=x"], "--queue sure-first,margin=x: margin: \"x\" is not a number"),
        (&["--queue", "fifo,resend=1"], "--queue fifo,resend=1: resend: 1 is not true or false"),
        (&["--queue", "fifo,late=lte"], "--queue fifo,late=lte: late: unknown value \"lte\"; known are send"),
        (&["--queue", "sure-first,margin=101"], "margin is from 0 to 100"),
        (&["--flow", "cal"], "there is no flow \"cal\"; did you mean \"call\"?"),
        (&["--flow", "tcp"], "flow \"tcp\" has no send queue: only a transport with a rate controller has one"),
        (&["--flow", "call", "--set", never_late], "flow \"call\" sends nothing with a lifetime"),
        (&["--set", never_late], "headway: flow \"call\" sends nothing with a lifetime"),
        (&["--set", "flow[call].transport={ kind = \"udp\" }"], "no flow has a send queue and packets with a lifetime"),
        (&["--set", "seed = 7"], "--set seed: not allowed for this command; use --first-seed and --seeds"),
        (
            &["--first-seed", "9223372036854775807", "--seeds", "2"],
            "--seeds 2: out of range with --first-seed 9223372036854775807; expected at most 1, since the largest seed is",
        ),
        (
            &["--queue", "sfdps2,resend=true"],
            "--queue sfdps2,resend=true: resend needs a receiver that acknowledges each packet",
        ),
        (&["--set", "flow[call].count=2"], "2 flows have a send queue; select one with --flow: call1, call2"),
        (&["--set", "flow[call].cuont=2"], "did you mean \"count\"?"),
    ] {
        let ran = scenario.queues(arguments);
        assert_eq!(ran.status.code(), Some(1), "{arguments:?}");
        assert!(text(&ran.stderr).contains(part), "{arguments:?}: {}", text(&ran.stderr));
    }
    assert!(!Path::new("out").exists(), "nothing is written");
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "a real program is given time to start before it is interrupted")]
fn ctrl_c_ends_the_command_during_a_run() {
    let scenario = Scenario::new(CALL);
    let mut long = scenario.command(&["--set", "duration=20000s", "--set", "record.series=false"]);
    let child = long.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1000));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), text(&ended.stderr).trim()), (Some(130), "headway: stopped"));
}
