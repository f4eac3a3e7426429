//! Tests of `headway sweep` from the command line.
#![allow(clippy::disallowed_methods, reason = "the program under test is another process")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Study of 3 bottlenecks, 2 queues, 3 delays, 3 buffers and 3 numbers of flows.
const STUDY: &str = r#"
duration = "0.5s"
link = [{ between = ["server", "client"], rate = "1Mbps", delay = "10ms", queue = { limit = "20packets", kind = "droptail" } }]
[[flow]]
name = "tcp"
from = "server"
to = "client"
transport = { kind = "tcp-newreno" }
source = { kind = "ftp" }
start = { uniform = ["0s", "0.1s"] }
[vary]
"link[0].rate" = ["1Mbps", "2Mbps", "5Mbps"]
"link[0].queue.kind" = ["droptail", "red"]
"link[0].delay" = ["5ms", "20ms", "50ms"]
"link[0].queue.limit" = ["10packets", "20packets", "50packets"]
"flow[0].count" = [1, 2, 4]
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new(scenario: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::write(place.path("study.toml"), scenario).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        command.current_dir(self.0.path()).args(words);
        command
    }

    fn sweep(&self, words: &[&str]) -> Output {
        self.command(&[&["sweep", "study.toml"], words].concat()).output().unwrap()
    }

    fn shows(&self, words: &[&str]) -> String {
        let ran = self.sweep(words);
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }

    fn refuses(&self, words: &[&str], part: &str) {
        let ran = self.sweep(words);
        let messages = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!ran.status.success() && messages.contains(part), "{words:?}: {messages}");
    }
}

fn dataset(folder: &Path) -> [Vec<u8>; 3] {
    ["flows.parquet", "links.parquet", "runs.parquet"].map(|name| std::fs::read(folder.join(name)).unwrap())
}

/// 162 points, 20 seeds: 3240 runs.
#[test]
fn one_command_runs_a_study_and_prints_a_table() {
    assert!(STUDY.trim().lines().count() < 20);
    let place = Place::new(STUDY);
    let shown = place.shows(&["--seeds", "20", "--metric", "Mb/s=sum(flow[*].throughput_bps) / 1e6", "--quiet"]);
    let rows: Vec<&str> = shown.lines().filter(|line| line.contains('±') && line.contains("packets")).collect();
    assert_eq!(rows.len(), 3 * 2 * 3 * 3 * 3, "{shown}");
    assert!(shown.contains("dataset: out/study-sweep"), "{shown}");
    let metric = ["--seeds", "20", "--metric", "Mb/s=sum(flow[*].throughput_bps) / 1e6"];
    let drawn = place.shows(&[&metric[..], &["--plot", "rate", "--by", "kind"]].concat());
    assert!(drawn.contains("chart: out/study-sweep/Mb_s-over-rate.svg"), "{drawn}");
    let svg = std::fs::read_to_string(place.path("out/study-sweep/Mb_s-over-rate.svg")).unwrap();
    assert!(svg.contains("droptail") && svg.contains("rate (Mb/s)"), "{svg}");
    // Axis titles have units, and ticks are scaled to them.
    let asked = [
        "--seeds",
        "20",
        "--metric",
        "goodput=sum(flow[*].goodput_bps)",
        "--metric",
        "delay=mean(flow[*].one_way_delay_s.mean)",
    ];
    place.shows(&[&asked[..], &["--plot", "rate"]].concat());
    let picture = |name: &str| std::fs::read_to_string(place.path(&format!("out/study-sweep/{name}.svg"))).unwrap();
    assert!(picture("goodput-over-rate").contains("goodput (Mb/s)"));
    assert!(picture("delay-over-rate").contains("delay (ms)"));
    place.shows(&[&asked[..], &["--plot", "rate", "--x-label", "Link rate (kb/s)"]].concat());
    let labelled = picture("goodput-over-rate");
    assert!(labelled.contains("Link rate (kb/s)") && labelled.contains("5000"), "{labelled}");
    place.refuses(&[&metric[..], &["--plot", "seed"]].concat(), "keys that vary: rate, kind, delay, limit, count");
    let csv = place.shows(&["--seeds", "20", "--metric", "Mb/s=sum(flow[*].throughput_bps) / 1e6", "--csv"]);
    assert_eq!(csv.lines().count(), 163);
    assert!(
        csv.starts_with("rate,kind,delay,limit,count,runs,Mb/s,Mb/s ci95\n1Mbps,droptail,5ms,10packets,1,20,"),
        "{csv}"
    );
}

/// A sweep of seeds alone has a distribution, and no key to plot over.
#[test]
fn the_distribution_over_seeds_needs_no_varied_key() {
    let place = Place::new(&STUDY[..STUDY.find("[vary]").unwrap()]);
    let seeds = ["--seeds", "5", "--metric", "Mb/s=sum(flow[*].throughput_bps) / 1e6"];
    for (chart, drawing) in [("--cdf", "Cumulative share of runs"), ("--boxes", "all seeds")] {
        let drawn = place.shows(&[&seeds[..], &["--plot", "seed", chart]].concat());
        assert!(drawn.contains("chart: out/study-sweep/Mb_s-over-seed.svg"), "{drawn}");
        let svg = std::fs::read_to_string(place.path("out/study-sweep/Mb_s-over-seed.svg")).unwrap();
        assert!(svg.contains(drawing), "{svg}");
    }
    let why = "only the seeds vary; vary a key with --vary KEY=V1,V2, or draw the distribution over the seeds with \
               --plot seed --cdf or --plot seed --boxes";
    place.refuses(&[&seeds[..], &["--plot", "seed"]].concat(), &format!("--plot seed: {why}"));
    place.refuses(&[&seeds[..], &["--plot", "rate", "--cdf"]].concat(), &format!("--plot rate: {why}"));
}

#[test]
fn a_sweep_that_is_killed_repeatedly_writes_the_same_dataset() {
    let place = Place::new(STUDY);
    let words = ["sweep", "study.toml", "--seeds", "4", "--quiet", "--set", "flow[0].count=2"];
    let whole = place.command(&[&words[..], &["--out", "whole"]].concat()).output().unwrap();
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    for wait_ms in [1, 20, 60, 130, 90] {
        let mut command = place.command(&[&words[..], &["--out", "killed"]].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait_ms));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let last = place.command(&[&words[..], &["--out", "killed", "--jobs", "1"]].concat()).output().unwrap();
    assert!(last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));
    assert_eq!(dataset(&place.path("whole")), dataset(&place.path("killed")));
    assert_eq!(whole.stdout.len() + 1, last.stdout.len(), "equal except for the name of the folder");
}

#[test]
fn options_vary_keys_and_select_metrics() {
    let place = Place::new(&STUDY[..STUDY.find("[vary]").unwrap()]);
    let words = ["--vary", "link[0].rate=1Mbps,2Mbps", "--seeds", "5", "--metric", "flow[tcp].loss_ratio"];
    let shown = place.shows(&[&words[..], &["--against", "rate=1Mbps"]].concat());
    assert!(shown.contains("difference from rate=1Mbps, 95 % interval (Welch)"), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&place.shows(&[&words[..], &["--json"]].concat())).unwrap();
    assert_eq!((&json["keys"][0]["name"], &json["rows"][1]["values"][0]), (&"rate".into(), &"2Mbps".into()));
    assert_eq!(json["rows"][1]["metrics"][0]["runs"], 5);
    place.refuses(&[&words[..], &["--against", "rate=3Mbps"]].concat(), "rate=1Mbps, rate=2Mbps");
    place.refuses(&["--metric", "flow[tcp].loss"], "there is no \"loss\"");
    place.refuses(&["--metric", "1 +"], "--metric");
    place.refuses(&["--vary", "link[0].rate"], "link[0].rate");
    place.refuses(&["--vary", "link[7].rate=1Mbps"], "there is no link[7]");
    place.refuses(&["--vary", "link[0].rate=1Mpbs"], "unknown unit \"Mpbs\"");
}

#[test]
fn identical_runs_have_no_interval_and_no_asterisk() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/demo.toml");
    let place = Place::new(STUDY);
    let shows = |more: &[&str]| {
        let vary = "link[bottleneck].queue.kind=droptail,codel";
        let words = ["sweep", demo, "--vary", vary, "--seeds", "5", "--against", "kind=droptail", "--out", "out"];
        let ran = place.command(&[&words[..], more].concat()).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    for more in [&[][..], &["--paired"]] {
        let table = shows(more);
        let numbers: Vec<&str> =
            table.lines().filter(|line| line.starts_with("droptail") || line.starts_with("codel")).collect();
        assert_eq!(numbers.len(), 3, "{table}");
        assert!(numbers.iter().all(|line| !line.contains(['±', '*'])), "{table}");
        assert!(table.contains("all seeds gave the same numbers"), "{table}");
    }
    let csv = shows(&["--csv"]);
    let (head, codel) = (csv.lines().next().unwrap(), csv.lines().nth(2).unwrap());
    let cells: Vec<(&str, &str)> = head.split(',').zip(codel.split(',')).collect();
    assert!(cells.iter().all(|(head, cell)| head.ends_with(" ci95") == cell.is_empty()), "{cells:?}");
    let json: serde_json::Value = serde_json::from_str(&shows(&["--json"])).unwrap();
    assert!(
        json["rows"][0]["metrics"][0]["ci95"].is_null() && json["against"]["rows"][0]["metrics"][0]["ci95"].is_null()
    );
}

#[test]
fn labels_of_tables_are_accepted_by_against() {
    let place = Place::new(&STUDY[..STUDY.find("[vary]").unwrap()]);
    let values = |varied: &str, against: &str| {
        let shown = place.shows(&["--vary", varied, "--against", against, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
        (json["against"]["value"][1].clone(), json["against"]["rows"][0]["values"][0].clone())
    };
    let alike = "link[0].queue={kind=\"codel\"}, {kind=\"codel\", limit=\"30packets\"}";
    assert_eq!(values(alike, "queue={kind=codel}"), ("{kind=codel}".into(), "{kind=codel,limit=30packets}".into()));
    let named =
        "link[0].queue={label=\"plain\", kind=\"codel\"}, {label=\"short\", kind=\"codel\", limit=\"30packets\"}";
    assert_eq!(values(named, "queue=short"), ("short".into(), "plain".into()));
    // Without quotes, which a shell removes; and with keys in another order and another unit.
    let unquoted = "link[0].queue={kind=codel},{kind=codel,limit=30kB}";
    for against in ["queue={limit=30kB,kind=codel}", "queue={ limit = \"30000B\", kind = \"codel\" }"] {
        assert_eq!(values(unquoted, against), ("{kind=codel,limit=30kB}".into(), "{kind=codel}".into()));
    }
    assert_eq!(values("link[0].rate=1000kbps,2Mbps", "rate=1Mbps"), ("1000kbps".into(), "2Mbps".into()));
}

#[test]
fn conflicting_and_invalid_options_are_refused() {
    let place = Place::new(&STUDY[..STUDY.find("[vary]").unwrap()]);
    place.refuses(&["--metric", "x=1/0"], "--metric 1/0: division by 0");
    for share in ["0%", "0", "100%"] {
        place.refuses(&["--precision", share], "is out of range: expected a share above 0% and below 100%");
    }
    place.refuses(&["--set", "link[0].rate=3Mbps", "--vary", "link[0].rate=1Mbps,2Mbps"], "is already set");
    place.refuses(&["--set", "seed=3", "--seeds", "2"], "--seeds: seed is already set");
    let twice = ["--metric", "a=jain_index", "--metric", "a=2 * jain_index"];
    place.refuses(&twice, "--metric a: an earlier metric has the same name");
    place.refuses(
        &["--seeds", "3", "--precision", "5%", "--max-seeds", "2"],
        "the sweep starts with 3 seeds; expected at least 3",
    );
    place.refuses(&["--seeds", "0"], "expected a whole number from 1 to 100000");
    place.refuses(&["--precision=-5%"], "expected a share above 0% and below 100%");
    place.refuses(&["--vary", "link[7].rate=1Mbps"], "--vary link[7].rate: there is no link[7]");
    let ran = place.command(&["run", "study.toml", "--seed", "1", "--set", "seed=2"]).output().unwrap();
    let messages = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(!ran.status.success() && messages.contains("--seed and --set seed=2 both set seed"), "{messages}");
}

#[test]
fn options_are_checked_before_the_first_run() {
    let place = Place::new(&STUDY[..STUDY.find("[vary]").unwrap()]);
    let vary = ["--vary", "link[0].rate=1Mbps,2Mbps"];
    let delay = ["--vary", "link[0].delay=0ms,5ms"];
    let plot = ["--plot", "rate", "--log-x"];
    for (words, part) in [
        (
            [&vary[..], &["--metric", "flow[tpc].loss_ratio"]].concat(),
            "--metric flow[tpc].loss_ratio: there is no flow \"tpc\"; there are tcp",
        ),
        (
            [&vary[..], &["--metric", "x=sum(link[client->serve].arrived_packets)"]].concat(),
            "there are server->client, client->server",
        ),
        (
            [&vary[..], &["--metric", "flow[tcp].losses"]].concat(),
            "there is no \"losses\"; did you mean losses_judged? There are name,",
        ),
        (
            [&vary[..], &["--metric", "host[client].delivered_packets"]].concat(),
            "there is no list \"host\"; there are flow, link",
        ),
        (
            [&delay[..], &["--plot", "delay", "--log-x"]].concat(),
            "--log-x: delay has the value 0ms, but a logarithmic axis needs values above 0",
        ),
        (
            ["--vary", "link[0].queue.kind=droptail,red", "--plot", "kind", "--log-x"].to_vec(),
            "--log-x: the values of kind are not numbers",
        ),
        ([&vary[..], &["--plot", "rate", "--by", "rate"]].concat(), "--by rate: this is the key of --plot"),
        ([&vary[..], &plot, &["--boxes"]].concat(), "cannot be used with"),
        ([&vary[..], &plot, &["--cdf"]].concat(), "cannot be used with"),
    ] {
        place.refuses(&words, part);
        assert!(!place.path("out").exists(), "{words:?}");
    }
    // A name that exists at one point only is valid.
    let count = ["--vary", "flow[0].count=1,2", "--metric", "flow[tcp2].loss_ratio", "--plot", "count"];
    let ran = place.sweep(&count);
    let messages = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{messages}");
    let omitted = "the chart omits 1 of 2 points without a value: count=1\n";
    assert!(messages.contains(omitted), "{messages}");
}

/// Metrics are checked before the first run, or after it if the check needs a run.
#[test]
fn an_invalid_metric_fails_after_at_most_one_run() {
    let scenario = STUDY.split("[vary]").next().unwrap();
    let place = Place::new(&scenario.replace("name = \"tcp\"", "name = \"tcp\"\ncount = 2"));
    for (metric, part) in [
        ("flow[*].throughput_bps", "it has 2 values; expected one number"),
        ("sum(flow[*].kind)", "\"kind\" is a string; expected a number"),
    ] {
        place.refuses(&["--metric", metric, "--seeds", "20", "--quiet", "--out", "none"], part);
        assert!(!place.path("none").exists(), "{metric}: no run starts");
    }
    let words =
        ["--metric", "flow[tcp1].rtt_s.p99", "--seeds", "40", "--records", "--jobs", "1", "--quiet", "--out", "one"];
    place.refuses(&words, "there is no \"p99\"");
    let runs = std::fs::read_dir(place.path("one")).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert!(runs.count() < 5, "the first run shows the mistake");
}
