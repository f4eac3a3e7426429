//! Tests of `headway papers` with one fast cell.

use crate::common::text;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

/// Fastest cell, with three UDP clients.
const CELL: &str = "droptail.udp.3";

fn papers(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headway")).arg("papers").args(arguments).output().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn written_at(path: &Path) -> SystemTime {
    std::fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn a_cell_is_reused_judged_and_equal_to_the_stored_one() {
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

    // Records of another scenario, of another build, or with a changed number are run again.
    let run = |seed: u32| folder.path().join(format!("runs/{CELL}/{seed}"));
    let change = |file: PathBuf, from: &str, to: &str| {
        let text = read(&file);
        assert!(text.contains(from), "{}", file.display());
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
    };
    change(run(2).join("scenario.toml"), "limit = \"4packets\"", "limit = \"5packets\"");
    change(run(3).join("timing.json"), "\"code\": \"", "\"code\": \"0");
    change(run(4).join("summary.json"), "\"mean\": 0.0", "\"mean\": 9.0");
    let before = [1, 2, 3, 4].map(|seed| written_at(&run(seed).join("timing.json")));
    let checked = papers(&["check", "lan-queues", "--cell", CELL, "--out", &out, "--json"]);
    let after = [1, 2, 3, 4].map(|seed| written_at(&run(seed).join("timing.json")));
    assert_eq!([0, 1, 2, 3].map(|place| before[place] == after[place]), [true, false, false, false]);
    let notes = text(&checked.stderr);
    assert!(notes.contains("7 of 10 runs reused") && notes.contains("2 run again because their files were"), "{notes}");

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
    // Claims that were not run do not hold.
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stderr).contains("lan.t4.red.udp.8 is not run"), "{}", text(&checked.stderr));
}

#[test]
fn the_list_has_claims_and_inferred_parameters() {
    let listed = papers(&["list"]);
    assert!(listed.status.success());
    let lines = text(&listed.stdout);
    assert!(lines.contains("lan-queues     100 claims  Performance Measurement"), "{lines}");
    assert_eq!(lines.lines().filter(|line| line.contains(" claims  ")).count(), 5, "one line for each paper");
    let described = papers(&["list", "lan-queues"]);
    assert!(described.status.success());
    for part in [
        "lan-queues: \"Performance Measurement",
        "100 claims: 24 derivable",
        "16 parameters are inferred",
        "- TCP variant: Reno",
    ] {
        assert!(text(&described.stdout).contains(part), "{part}");
    }
}

/// Each figure has a separate file, and an output line with its path.
#[test]
fn figures_are_drawn_without_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let drawn = papers(&["figures", "udpm", "sfdps", "--out", &out]);
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    let messages = text(&drawn.stdout);
    for number in 1..=5 {
        let path = folder.path().join(format!("udpm/drawings/fig{number}.svg"));
        assert!(read(&path).starts_with("<svg ") && messages.contains(&path.display().to_string()), "{messages}");
    }
    assert!(messages.contains("sfdps: all figures need runs; use headway papers run sfdps"), "{messages}");
}

#[test]
fn unknown_names_are_errors() {
    for (arguments, part) in [
        (vec!["run", "lan"], "there is no paper and no folder \"lan\"; papers are lan-queues"),
        (vec!["check", "lan-queues", "--cell", "droptail.tcp.4"], "there is no cell \"droptail.tcp.4\""),
    ] {
        let ran = papers(&arguments);
        assert_eq!(ran.status.code(), Some(1));
        assert!(text(&ran.stderr).contains(part), "{}", text(&ran.stderr));
    }
}

const SCENARIO: &str = r#"
duration = "4s"
measure_from = "1s"

[[link]]
name = "bottleneck"
between = ["a", "b"]
rate = "1Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "10packets" }

[[flow]]
name = "media"
from = "a"
to = "b"
start = { uniform = ["0s", "0.1s"] }
transport = { kind = "udp" }
source = { kind = "trace", file = "media.txt" }

[[flow]]
name = "download"
from = "a"
to = "b"
transport = { kind = "tcp-newreno" }
source = { kind = "ftp" }
"#;

const CLAIMS: &str = r#"
title = "Short queues"
source = "Headway's tests"
about = "A download and media in a short and in a long queue."

[seeds]
default = 10
full = 12

[[metric]]
name = "download_kbps"
unit = "kb/s"
decimals = 1
of = "flow[download].throughput_bps / 1e3"

[[metric]]
name = "media_delay_ms"
unit = "ms"
of = "1e3 * flow[med*].one_way_delay_s.mean"

[[metric]]
name = "dropped"
of = "sum(link[a->*].dropped_packets)"

[[cell]]
name = "queue.{n=5|50}"
scenario = "short.toml"
set = ["link[bottleneck].queue.limit={n}packets"]

[[claim]]
id = "short.delay"
class = "derivable"
kind = "ordering"
where = "Figure 1"
statement = "A longer queue delays the media more."
check = [{ metric = "media_delay_ms", cells = ["queue.50", "queue.5"], reduce = "difference", op = "above", value = 100 }]

[[claim]]
id = "short.drops"
class = "derivable"
kind = "number"
where = "Table 1"
statement = "Nothing is dropped in the short queue."
paper = 0
check = [{ metric = "dropped", cells = ["queue.5"], op = "within", tolerance = 0.5 }]

[[table]]
title = "Table 1"
metric = "download_kbps"
rows = "queue.{n=5|50}"
columns = [{ title = "kb/s", cell = "queue.{n}", from = "headway" }]
"#;

/// A paper that is not built in needs no Rust code. Its metrics are expressions, and its scenarios can use files.
#[test]
fn a_folder_is_a_paper() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("short queues");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    std::fs::create_dir_all(folder.join("scenarios")).unwrap();
    let media: String = (0..200)
        .map(|n| {
            format!(
                "packet|codec_type=audio|stream_index=0|pts_time={0:.2}|dts_time={0:.2}|size=500|flags=K__\n",
                f64::from(n) * 0.02
            )
        })
        .collect();
    write("scenarios/media.txt", &media);
    write("scenarios/short.toml", SCENARIO);
    write("claims.toml", CLAIMS);
    let (paper, out) = (folder.display().to_string(), place.path().join("out").display().to_string());

    let checked = papers(&["check", &paper, "--out", &out, "--json"]);
    assert_eq!(checked.status.code(), Some(1), "one claim is wrong: {}", text(&checked.stderr));
    let json: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let verdict = |n: usize| (json["claims"][n]["paper"].clone(), json["claims"][n]["verdict"].clone());
    assert_eq!(verdict(0), ("short queues".into(), "reproduced".into()));
    assert_eq!(verdict(1), ("short queues".into(), "not reproduced".into()));

    let ran = papers(&["run", &paper, "--out", &out]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(text(&ran.stderr).contains("20 of 20 runs reused"), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("Table 1"));
    let copy = place.path().join("out/runs/queue.5/1/media.txt");
    assert_eq!(read(&copy), media, "the record can be run again");

    for (from, to, why) in [
        (
            "sum(link[a->*]",
            "sum(link[bottle]",
            "cell \"queue.5\": sum(link[bottle].dropped_packets): there is no link \"bottle\"",
        ),
        (".mean\"", ".meen\"", "there is no \"meen\" in one_way_delay_s; there are max, mean"),
        ("\"sum(", "\"sun(", "there is no function \"sun\""),
        ("metric = \"dropped\"", "metric = \"droped\"", "there is no metric \"droped\"; did you mean \"dropped\"?"),
        ("name = \"dropped\"", "name = \"download_kbps\"", "duplicate metric \"download_kbps\""),
    ] {
        write("claims.toml", &CLAIMS.replacen(from, to, 1));
        let failed = papers(&["check", &paper, "--out", &out]);
        let messages = text(&failed.stderr);
        assert!(!failed.status.success() && messages.contains(why), "{from} {to}: {messages}");
    }
    // Errors have the paths that the user wrote, and no names of Rust types.
    std::fs::create_dir(place.path().join("w")).unwrap();
    std::fs::rename(&folder, place.path().join("w/m2")).unwrap();
    let checked = |claims: &str, ns2: &str| {
        std::fs::write(place.path().join("w/m2/claims.toml"), claims).unwrap();
        std::fs::write(place.path().join("w/m2/ns2.csv"), ns2).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        text(&command.args(["papers", "check", "w/m2"]).current_dir(place.path()).output().unwrap().stderr)
    };
    for (from, to, why) in [
        (
            "tolerance = 0.5",
            "tolerance = \"0.5\"",
            "w/m2/claims.toml:45:80: claim[1].check[0].tolerance: \"0.5\" is not a number",
        ),
        ("paper = 0", "papers = 0", "w/m2/claims.toml:44:1: claim[1]: unknown key \"papers\"; did you mean \"paper\"?"),
        ("default = 10", "default = 0", "w/m2/claims.toml: seeds: default is 0: expected 1 or more"),
        (
            "default = 10",
            "default = -1",
            "w/m2/claims.toml:7:11: seeds.default: -1 is out of range: write a whole number",
        ),
        ("op = \"within\"", "op = \"between\"", "claim \"short.drops\": tolerance has no effect with op = \"between\""),
        ("scenario = \"short.toml\"", "scenario = \"long.toml\"", "w/m2: cell \"queue.5\": there is no scenario"),
        ("limit={n}packets", "limt={n}packets", "w/m2: cell \"queue.5\": "),
    ] {
        let messages = checked(&CLAIMS.replacen(from, to, 1), "");
        assert!(CLAIMS.contains(from) && messages.contains(why), "{to}: {messages}");
    }
    let messages = checked(CLAIMS, "a\n");
    assert!(messages.starts_with("headway: w/m2/ns2.csv: line 1: "), "{messages}");
    std::fs::write(place.path().join("w/m2/scenarios/short.toml"), SCENARIO.replace("10ms", "10mss")).unwrap();
    let messages = checked(CLAIMS, "");
    assert!(messages.contains(": w/m2/scenarios/short.toml:9:9: link[0].delay: "), "{messages}");
    for (name, why) in [("nowhere", "no paper and no folder \"nowhere\""), (&*out, "cannot read")] {
        let failed = papers(&["check", name]);
        assert!(!failed.status.success() && text(&failed.stderr).contains(why), "{}", text(&failed.stderr));
    }
}

/// The report uses results of runs, or else those of the repository, or else the built-in ones.
#[test]
fn a_report_has_stored_results() {
    let place = tempfile::tempdir().unwrap();
    let report = |at: &Path, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        command.args(["papers", "report"]).args(arguments).current_dir(at).output().unwrap()
    };
    let none = report(place.path(), &["--results", "nowhere"]);
    assert!(!none.status.success() && !place.path().join("report.html").exists());
    assert!(text(&none.stderr).contains("run `headway papers run lan-queues --full`"), "{}", text(&none.stderr));
    let built_in = report(place.path(), &[]);
    assert!(built_in.status.success(), "{}", text(&built_in.stderr));
    assert!(text(&built_in.stdout).starts_with("281 claims of 5 papers, "), "{}", text(&built_in.stdout));
    assert!(read(&place.path().join("report.html")).contains("<code>built-in results</code>"));

    let page = place.path().join("all.html");
    let all = report(&root(), &["-o", &page.display().to_string()]);
    assert!(all.status.success(), "{}", text(&all.stderr));
    assert!(text(&all.stdout).starts_with("281 claims of 5 papers, "), "{}", text(&all.stdout));
    let page = read(&page);
    assert!(page.len() < 3_000_000 && page.contains("id=\"lan.fig3.a\"") && !page.contains("<script"));

    let stored = root().join("papers/sfdps/results.json");
    let ran = place.path().join("out/papers/sfdps");
    std::fs::create_dir_all(&ran).unwrap();
    std::fs::copy(&stored, ran.join("results.json")).unwrap();
    let one = report(place.path(), &["sfdps"]);
    assert!(one.status.success(), "{}", text(&one.stderr));
    assert!(text(&one.stdout).contains(" claims of 1 paper, "), "{}", text(&one.stdout));
    let page = read(&place.path().join("report.html"));
    assert!(page.contains("<code>out/papers/sfdps/results.json</code>") && !page.contains("lan-queues"));

    let others = place.path().join("udpm");
    std::fs::create_dir(&others).unwrap();
    std::fs::copy(&stored, others.join("results.json")).unwrap();
    let wrong = report(place.path(), &["udpm", "--results", "."]);
    let messages = text(&wrong.stderr);
    assert!(!wrong.status.success() && messages.contains("these are results of sfdps, not of udpm"), "{messages}");
    let cut = std::fs::read(&stored).unwrap();
    std::fs::write(others.join("results.json"), &cut[..cut.len() / 2]).unwrap();
    let messages = text(&report(place.path(), &["udpm", "--results", "."]).stderr);
    let why = ": the file is damaged or of another version; run `headway papers run udpm --out ./udpm` again";
    assert!(messages.contains(why) && messages.contains("udpm/results.json: line "), "{messages}");
    std::fs::write(others.join("results.json"), "\"text\"").unwrap();
    let messages = text(&report(place.path(), &["udpm", "--results", "."]).stderr);
    assert!(messages.contains(why) && !messages.contains("struct"), "{messages}");
    // Results of another version are an error if the user has set the folder, otherwise a warning.
    let old = |place: &Path| {
        let text = read(&stored).replacen(
            &format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION")),
            "\"version\": \"9.9\"",
            1,
        );
        assert!(text.contains("\"version\": \"9.9\""));
        std::fs::write(place, text).unwrap();
    };
    old(&ran.join("results.json"));
    let why = format!("the version of the stored results is 9.9; expected {}", env!("CARGO_PKG_VERSION"));
    let refused = report(place.path(), &["sfdps", "--results", "out/papers"]);
    let messages = text(&refused.stderr);
    assert!(!refused.status.success() && messages.contains(&why), "{messages}");
    let warned = report(place.path(), &["sfdps"]);
    let messages = text(&warned.stderr);
    assert!(
        warned.status.success()
            && messages.starts_with("warning: out/papers/sfdps/results.json: ")
            && messages.contains(&why),
        "{messages}"
    );
    let printed = report(place.path(), &["SFDPS", "-o", "-"]);
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    assert!(text(&printed.stdout).starts_with("<!") && text(&printed.stdout).contains("sfdps"));
    assert!(!place.path().join("-").exists());
}

#[test]
fn show_prints_numbers_verdicts_and_the_command_of_a_figure() {
    let place = tempfile::tempdir().unwrap();
    let show = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        command.args(["papers", "show"]).args(arguments).current_dir(place.path()).output().unwrap()
    };
    for (arguments, parts) in [
        (
            vec!["uddj-tfrc", "fig6"],
            vec![
                "uddj-tfrc, Figure 6",
                "uddj.f6.order is ",
                "by reading: early: ",
                "run it again: headway papers run uddj-tfrc --only fig6",
                "as stored:    headway papers run uddj-tfrc --only fig6 --full",
                "results: built-in results",
            ],
        ),
        (
            vec!["lan-queues", "Table II"],
            vec!["lan-queues, Table II", "13.246", "headway papers run lan-queues --only table2"],
        ),
        (vec!["sfdps", "sfdps.fig1"], vec!["sfdps.fig1 is ", "headway papers run sfdps --only sfdps.fig1"]),
        (vec!["udpm"], vec!["| Figure 6 |", "`headway papers run udpm --only fig6`"]),
    ] {
        let shown = show(&arguments);
        assert!(shown.status.success(), "{arguments:?}: {}", text(&shown.stderr));
        for part in parts {
            assert!(text(&shown.stdout).contains(part), "{arguments:?}: {part}\n{}", text(&shown.stdout));
        }
    }
    let messages = text(&show(&["uddj-tfrc", "fig66"]).stderr);
    assert!(
        messages.contains("no figure, table or claim \"fig66\"; did you mean \"fig6\"? Figures and tables are fig"),
        "{messages}"
    );
    // Without a similar name, the error lists figures and tables, but not claims.
    let messages = text(&show(&["uddj-tfrc", "nope"]).stderr);
    assert!(messages.contains("figures and tables are fig") && !messages.contains("uddj.f4"), "{messages}");
    let wrong = show(&["uddj-tfrc", "fig77"]);
    let messages = text(&wrong.stderr);
    assert!(
        !wrong.status.success()
            && messages.contains("no figure, table or claim \"fig77\"")
            && messages.contains("fig6"),
        "{messages}"
    );
}

#[test]
fn a_partial_run_is_merged_with_stored_results() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let stored = root().join("papers/lan-queues/results.json");
    let merge = stored.display().to_string();
    let ran = papers(&[
        "run",
        "lan-queues",
        "--full",
        "--cell",
        "droptail.udp.*3",
        "--out",
        &out,
        "--merge",
        &merge,
        "--quiet",
    ]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let runs: Vec<_> =
        std::fs::read_dir(folder.path().join("runs")).unwrap().map(|run| run.unwrap().file_name()).collect();
    assert_eq!(runs, [CELL]);
    assert_eq!(
        read(&folder.path().join("results.json")),
        read(&stored),
        "the stored numbers are stale: run `make papers`"
    );
    // Damaged results cannot be merged with a partial run.
    std::fs::write(folder.path().join("results.json"), "{").unwrap();
    let damaged = papers(&["run", "lan-queues", "--full", "--cell", CELL, "--out", &out, "--quiet"]);
    assert!(
        text(&damaged.stderr).contains("; run all cells, without --cell and --only, or set another folder with --out"),
        "{}",
        text(&damaged.stderr)
    );
    // Results with 10 and with 30 seeds cannot be merged.
    let mixed = papers(&["run", "lan-queues", "--cell", CELL, "--out", &out, "--merge", &merge, "--quiet"]);
    assert!(
        text(&mixed.stderr).contains("the profile of the stored results is full; expected default"),
        "{}",
        text(&mixed.stderr)
    );
    let tested = papers(&["run", "lan-queues", "--only", "fig1", "--out", &out]);
    assert!(text(&tested.stderr).contains("fig1 needs no run"), "{}", text(&tested.stderr));
}
