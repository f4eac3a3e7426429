//! Partial runs of a paper, and figures that need no run.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn papers(at: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headway")).arg("papers").args(arguments).current_dir(at).output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

const SCENARIO: &str = r#"
duration = "2s"

[[link]]
name = "bottleneck"
between = ["a", "b"]
rate = "1Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "10packets" }

[[flow]]
name = "cbr"
from = "a"
to = "b"
start = { uniform = ["0s", "0.1s"] }
transport = { kind = "udp" }
source = { kind = "cbr", rate = "500kbps", size = "500B" }
"#;

/// Two figures, each with one cell.
const CLAIMS: &str = r#"
title = "Two figures"
source = "Headway's tests"
about = "A constant rate over a short and a long queue."

[seeds]
default = 10
full = 12

[[metric]]
name = "kbps"
of = "flow[cbr].throughput_bps / 1e3"

[[cell]]
name = "queue.{n=5|50}"
scenario = "short.toml"
set = ["link[bottleneck].queue.limit={n}packets"]

[[figure]]
name = "fig1"
title = "Figure 1: the short queue"
metric = "kbps"
x_title = "packets"
y_title = "kb/s"
places = ["5"]
lines = [{ label = "cbr", cells = "queue.5" }]

[[figure]]
name = "fig2"
title = "Figure 2: the long queue"
metric = "kbps"
x_title = "packets"
y_title = "kb/s"
places = ["50"]
lines = [{ label = "cbr", cells = "queue.50" }]

[[claim]]
id = "short"
class = "derivable"
kind = "number"
where = "Figure 1"
statement = "500 kb/s arrive through the short queue."
paper = 500
check = [{ metric = "kbps", cells = ["queue.5"], op = "within", tolerance = 50 }]
"#;

#[test]
fn a_partial_run_keeps_results_and_charts_of_other_parts() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("two");
    std::fs::create_dir_all(folder.join("scenarios")).unwrap();
    std::fs::write(folder.join("scenarios/short.toml"), SCENARIO).unwrap();
    std::fs::write(folder.join("claims.toml"), CLAIMS).unwrap();
    let out = place.path().join("out/papers/two");
    let picture = |name: &str| std::fs::read(out.join("pictures").join(name)).unwrap();

    let first = printed(&papers(place.path(), &["run", "two", "--only", "fig1", "--quiet"]));
    assert!(first.contains("\nchart: out/papers/two/pictures/fig1.svg\n"), "{first}");
    assert!(!out.join("pictures/fig2.svg").exists(), "fig2 was not run");
    let drawn = picture("fig1.svg");
    let second = printed(&papers(place.path(), &["run", "two", "--only", "fig2", "--quiet"]));
    assert!(second.contains("pictures/fig2.png") && !second.contains("pictures/fig1"), "{second}");
    assert!(picture("fig1.svg") == drawn, "fig1 was not run again");

    let results: Value = serde_json::from_slice(&std::fs::read(out.join("results.json")).unwrap()).unwrap();
    let cells: Vec<&String> = results["cells"].as_object().unwrap().keys().collect();
    assert_eq!(cells, ["queue.5", "queue.50"]);
    assert_eq!(results["claims"][0]["verdict"], "reproduced", "{results}");
    // Runs with more seeds cannot be merged with these results. No run starts.
    let mixed = papers(place.path(), &["run", "two", "--only", "fig2", "--full", "--quiet"]);
    let error = String::from_utf8_lossy(&mixed.stderr).into_owned();
    assert!(error.contains("the profile of the stored results is default; expected full"), "{error}");
    assert_eq!(std::fs::read_dir(out.join("runs/queue.50")).unwrap().count(), 10);
}

/// `check --only` printed all claims, and failed because the experiments of the others were not run.
#[test]
fn a_check_of_a_part_judges_only_its_claims() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("two");
    std::fs::create_dir_all(folder.join("scenarios")).unwrap();
    std::fs::write(folder.join("scenarios/short.toml"), SCENARIO).unwrap();
    let (_, claim) = CLAIMS.split_once("[[claim]]").unwrap();
    let other = claim.replace("short", "long").replace("Figure 1", "Figure 2").replace("queue.5", "queue.50");
    std::fs::write(folder.join("claims.toml"), format!("{CLAIMS}\n[[claim]]{other}")).unwrap();
    for (only, claims) in [
        (&["--only", "short"][..], &["short"][..]),
        (&["--only", "fig2"], &["long"]),
        (&["--only", "long", "--only", "fig1"], &["short", "long"]),
        (&[], &["short", "long"]),
    ] {
        let check =
            |more: &[&str]| printed(&papers(place.path(), &[&["check", "two", "--quiet"], only, more].concat()));
        let text = check(&[]);
        let rows: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        for id in ["short", "long"] {
            assert_eq!(rows.contains(&id), claims.contains(&id), "{only:?}: {text}");
        }
        let count = if claims.len() == 1 { "1 claim, ".to_owned() } else { "2 claims, ".to_owned() };
        assert!(text.contains(&count), "{text}");
        let json: Value = serde_json::from_str(&check(&["--json"])).unwrap();
        let ids: Vec<&str> =
            json["claims"].as_array().unwrap().iter().map(|claim| claim["id"].as_str().unwrap()).collect();
        assert_eq!(ids, claims);
    }
}

#[test]
fn a_text_metric_is_refused_before_the_first_run() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("two");
    std::fs::create_dir_all(folder.join("scenarios")).unwrap();
    std::fs::write(folder.join("scenarios/short.toml"), SCENARIO).unwrap();
    let claims = CLAIMS.replacen("flow[cbr].throughput_bps / 1e3", "flow[cbr].kind", 1);
    std::fs::write(folder.join("claims.toml"), claims).unwrap();
    let run = papers(place.path(), &["run", "two", "--quiet"]);
    let error = String::from_utf8_lossy(&run.stderr).into_owned();
    let why = "two: cell \"queue.5\": flow[cbr].kind: \"kind\" is a string; expected a number";
    assert!(!run.status.success() && error.contains(why), "{error}");
    assert!(!place.path().join("out").exists(), "no run starts");
}

/// The output file is checked before the page is made.
#[test]
fn a_report_overwrites_only_pages_of_headway() {
    let place = tempfile::tempdir().unwrap();
    let page = place.path().join("report.html");
    std::fs::write(&page, "<title>My thesis</title>").unwrap();
    let refused = |arguments: &[&str], part: &str| {
        let report = papers(place.path(), &[&["report", "sfdps"], arguments].concat());
        let error = String::from_utf8_lossy(&report.stderr).into_owned();
        assert!(!report.status.success() && error.contains(part), "{error}");
    };
    refused(&[], "report.html: this file was not written by Headway; remove it, or set another file with -o");
    assert_eq!(std::fs::read(&page).unwrap(), b"<title>My thesis</title>");
    // The error of the file precedes that of the missing results.
    refused(&["-o", "missing/page.html", "--results", "nowhere"], "cannot write missing/page.html");
    std::fs::write(&page, "").unwrap();
    for _ in 0..2 {
        printed(&papers(place.path(), &["report", "sfdps"]));
    }
    assert!(std::fs::read_to_string(&page).unwrap().contains("<title>Headway"));
    std::fs::create_dir_all(place.path().join("udpm/drawings")).unwrap();
    std::fs::write(place.path().join("udpm/drawings/fig1.svg"), "mine").unwrap();
    let figures = papers(place.path(), &["figures", "udpm", "--out", "."]);
    assert!(!figures.status.success(), "a folder of other files is refused");
    assert_eq!(std::fs::read(place.path().join("udpm/drawings/fig1.svg")).unwrap(), b"mine");
}

/// Both `show` and `report` take missing cells from stored results.
#[test]
fn stored_results_complete_a_run_cell_by_cell() {
    let place = tempfile::tempdir().unwrap();
    let before = printed(&papers(place.path(), &["show", "lan-queues", "fig6"]));
    printed(&papers(place.path(), &["run", "lan-queues", "--cell", "droptail.udp.3", "--quiet"]));
    let after = printed(&papers(place.path(), &["show", "lan-queues", "fig6"]));
    assert!(!after.contains("not run") && !before.contains("not run"), "{after}");
    let row = |text: &str| text.lines().find(|line| line.starts_with(" droptail.tcp.50 ")).map(str::to_owned);
    assert!(row(&before).is_some() && row(&before) == row(&after), "{after}");
    assert!(after.contains("results: out/papers/lan-queues/results.json; "), "{after}");
    assert!(after.contains(" other cells: built-in results, profile full"), "{after}");
    printed(&papers(place.path(), &["report", "lan-queues"]));
    let page = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    assert!(!page.contains("of droptail.tcp.50 was not run") && page.contains(" other cells: "));
}

#[test]
fn a_drawn_figure_is_listed_with_its_command() {
    let place = tempfile::tempdir().unwrap();
    let show = |arguments: &[&str]| printed(&papers(place.path(), &[&["show"], arguments].concat()));
    let udpm = show(&["udpm", "fig1"]);
    assert!(udpm.contains("\ndraw it:      headway papers figures udpm (Figure 1: "), "{udpm}");
    assert!(!udpm.contains("no run produces it"), "{udpm}");
    let rows = show(&["lan-queues"]);
    let row = rows.lines().find(|line| line.starts_with("| Figure 2 |")).unwrap();
    assert_eq!(row, "| Figure 2 | the network, with ten clients | 1 tested | `headway papers figures lan-queues` |");
    let lan = show(&["lan-queues", "fig2"]);
    assert!(lan.contains("\njudge again:  headway papers run lan-queues --only fig2\n"), "{lan}");
    let run = papers(place.path(), &["run", "lan-queues", "--only", "fig1"]);
    let error = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(error.contains("fig1 needs no run; see `headway papers figures lan-queues`"), "{error}");
}
