//! Tests of `headway plot` with datasets of sweeps, presets and names.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common::{VOICE, headway, text};
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

/// A folder with the scenario `voice.toml`.
fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("voice.toml"), VOICE).unwrap();
    place
}

fn run(place: &Path, words: &[&str]) -> Output {
    headway(words).current_dir(place).output().unwrap()
}

/// Returns the paths that a successful command prints.
fn paths(place: &Path, words: &[&str]) -> Vec<PathBuf> {
    let output = run(place, words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| place.join(line)).collect()
}

fn texts(svg: &Path) -> Vec<String> {
    let svg = std::fs::read_to_string(svg).unwrap();
    svg.lines().filter(|line| !line.starts_with('<')).map(str::to_owned).collect()
}

fn error(place: &Path, words: &[&str]) -> String {
    let output = run(place, words);
    assert!(!output.status.success(), "{words:?}");
    text(&output.stderr)
}

#[test]
fn the_dataset_of_a_sweep_is_drawn_over_its_keys() {
    let place = place();
    let place = place.path();
    let vary = ["--vary", "link[0].queue.kind=droptail,codel", "--vary", "link[0].rate=1Mbps,2Mbps,4Mbps"];
    let swept =
        run(place, &[&["sweep", "voice.toml", "--quiet", "--seeds", "2", "--out", "swept"][..], &vary].concat());
    assert!(swept.status.success(), "{}", text(&swept.stderr));
    let all = paths(place, &["plot", "swept", "--format", "svg"]);
    assert!(all.len() > 2 && all.iter().all(|path| path.to_string_lossy().ends_with("-over-rate.svg")), "{all:?}");
    let metric = ["--metric", "delay=flow[voice].one_way_delay_s.mean", "--format", "svg"];
    let draw = |words: &[&str]| texts(&paths(place, &[&["plot", "swept"], &metric[..], words].concat())[0]);
    // The key with numbers is on the horizontal axis, and the other one has the lines.
    let lines = draw(&["--name", "codel=CoDel"]);
    for expected in ["rate (Mb/s)", "delay (ms)", "kind", "droptail", "CoDel", "mean of 2 runs"] {
        assert!(lines.iter().any(|text| text == expected), "{expected}: {lines:?}");
    }
    let boxes = draw(&["--over", "kind", "--by", "rate", "--boxes"]);
    assert!(
        ["droptail", "4 Mb/s", "kind"].iter().all(|expected| boxes.iter().any(|text| text == expected)),
        "{boxes:?}"
    );
    // The other key is on the horizontal axis.
    let by_rate = draw(&["--by", "rate"]);
    assert!(["codel", "4 Mb/s"].iter().all(|expected| by_rate.iter().any(|text| text == expected)), "{by_rate:?}");
    let map = draw(&["--heat-map"]);
    assert!(["codel", "2", "delay (ms)"].iter().all(|expected| map.iter().any(|text| text == expected)), "{map:?}");
    for (words, expected) in [
        (&["--over", "rat"][..], "keys that vary: kind, rate"),
        (&["--over", "rate", "--by", "rate"], "--by rate: this is the key of --over"),
        (&["--boxes", "--log-x"], "--log-x: boxes, distributions and heat maps have no axis of numbers"),
        (&["--over", "kind", "--log-x"], "the values of kind are not numbers"),
        (&["--complementary"], "--complementary needs --kind delay-cdf or --kind frames"),
        (&["--metric", "flow[x].loss_ratio"], "--metric"),
        (
            &["voice.toml"],
            "this is the dataset of a sweep without records; `headway plot` draws it alone and without --kind",
        ),
        (
            &["--kind", "drops"],
            "this is the dataset of a sweep without records; `headway plot` draws it alone and without --kind",
        ),
    ] {
        let message = error(place, &[&["plot", "swept"], words].concat());
        assert!(message.contains(expected), "{words:?}: {message}");
    }
}

#[test]
fn a_preset_has_the_size_of_a_column() {
    let place = place();
    let place = place.path();
    assert!(run(place, &["run", "voice.toml", "--quiet", "--out", "voice"]).status.success());
    let drawn =
        paths(place, &["plot", "voice", "--preset", "ieee-column", "--metric", "throughput", "--out", "figures"]);
    assert_eq!(drawn.len(), 3);
    // 88.9 mm are 336 px and 252 points.
    let svg = std::fs::read_to_string(&drawn[0]).unwrap();
    assert!(svg.starts_with("<svg width=\"336\" height=\"226.75\" "), "{}", &svg[..80]);
    assert!(!svg.contains("Throughput of each flow"), "there is no title");
    let pdf = std::fs::read(&drawn[2]).unwrap();
    assert!(String::from_utf8_lossy(&pdf).contains("/MediaBox [0 0 252 170.0625]"));
    let titled = ["plot", "voice", "--preset", "ieee-column", "--title", "Own", "--size", "500x300", "--format", "svg"];
    let svg = std::fs::read_to_string(&paths(place, &titled)[0]).unwrap();
    assert!(svg.starts_with("<svg width=\"500\" height=\"300\" ") && svg.contains("\nOwn\n"));
    let reduced = run(place, &["plot", "voice", "--size", "300x200", "--font-size", "20", "--name", "x=unused"]);
    let warnings = text(&reduced.stderr);
    assert!(warnings.contains("--font-size 20: the size of the chart reduces it to 10 px"), "{warnings}");
    assert!(warnings.contains("--name x=unused: no label is \"x\""), "{warnings}");
    for (words, expected) in [
        (&["--metric", "throughputs"][..], "there is no time series \"throughputs\""),
        (&["--over", "rate"], "--over needs the folder of one dataset"),
        (&["--heat-map"], "--heat-map needs the folder of one dataset"),
    ] {
        let message = error(place, &[&["plot", "voice"], words].concat());
        assert!(message.contains(expected), "{words:?}: {message}");
    }
}

/// A queue of two packets: half of the packets are dropped, and the others wait.
const FULL: &str = r#"
duration = "2s"
[record]
series = "100ms"
[[link]]
between = ["a", "b"]
rate = "100kbps"
delay = "5ms"
queue = { kind = "droptail", limit = "2packets" }
[[flow]]
name = "media"
from = "a"
to = "b"
transport = { kind = "udp" }
source = { kind = "cbr", interval = "20ms", payload = "500B" }
"#;

#[test]
fn the_drops_of_a_record_are_drawn() {
    let place = place();
    let place = place.path();
    std::fs::write(place.join("full.toml"), FULL).unwrap();
    for name in ["full", "voice"] {
        assert!(run(place, &["run", &format!("{name}.toml"), "--quiet", "--out", name]).status.success());
    }
    let drawn = paths(place, &["plot", "full", "--kind", "drops", "--name", "queue full=Overflow", "--format", "svg"]);
    assert!(drawn[0].ends_with("full/drops.svg"), "{drawn:?}");
    let found = texts(&drawn[0]);
    let named = ["--name", "queue full=Overflow", "--to", "1h", "--format", "svg"];
    let later = paths(place, &[&["plot", "full", "--kind", "drops"], &named[..]].concat());
    assert_eq!(texts(&later[0]), found, "the run ends after 2 s");
    assert!(["Overflow", "Dropped (packets)"].iter().all(|text| found.iter().any(|found| found == text)), "{found:?}");
    std::fs::create_dir(place.join("bare")).unwrap();
    std::fs::copy(place.join("full/summary.json"), place.join("bare/summary.json")).unwrap();
    for (words, expected) in [
        (&["voice", "--kind", "drops"][..], "no packet was dropped"),
        (&["bare", "--kind", "drops"], "the record has no events"),
        (&["full", "--kind", "drops", "--log-x"], "--log-x needs --kind delay-cdf or --kind frames"),
        (&["full", "--kind", "drops", "--metric", "loss"], "--metric applies to --kind series only"),
        (&["full", "--kind", "drops", "--from", "1h"], "; the start is 3600 s, the end "),
        (&["full", "--from", "2s", "--to", "1s"], "; the start is 2 s, the end 1 s"),
        (&["full", "--kind", "frames", "--to", "1s"], "--from and --to apply to time series, "),
        (&["full", "--from", "3h", "--to", "4h"], "; the start is 10800 s, the end 14400 s"),
        (&["full", "--from", "10001us", "--to", "10002us"], "the time series have no samples in this time"),
        (&["full", "--from", "-1s"], "--from"),
    ] {
        let message = error(place, &[&["plot"], words].concat());
        assert!(message.contains(expected), "{words:?}: {message}");
    }
    // The figure names the only run with drops.
    let both = run(place, &["plot", "full", "voice", "voice", "--kind", "drops", "--format", "svg", "--out", "both"]);
    let warnings = text(&both.stderr);
    assert!(warnings.contains("warning: voice is named twice and drawn once"), "{warnings}");
    assert!(warnings.contains("warning: voice: no packet was dropped in this time"), "{warnings}");
    let found = texts(&place.join("both/drops.svg"));
    assert!(found.iter().any(|text| text.starts_with("Dropped packets by cause: full")), "{found:?}");
}

/// A unit of another quantity would be a false label.
#[test]
fn labels_of_axes_have_units_of_their_quantity() {
    let place = place();
    let place = place.path();
    let with_delays = ["run", "voice.toml", "--quiet", "--out", "voice", "--set", "record.distributions=true"];
    assert!(run(place, &with_delays).status.success());
    for (words, expected) in [
        (
            &["--metric", "throughput", "--y-label", "Rate (ms)"][..],
            "the label \"Rate (ms)\" has the unit ms; the axis",
        ),
        (
            &["--metric", "throughput", "--x-label", "Time (Mb/s)"],
            "the axis has one of the units s, ms, us, ns, min, h",
        ),
        (&["--metric", "queue", "--y-label", "Queue (ms)"], "figure \"queue\": the label \"Queue (ms)\""),
        (&["--kind", "delay-cdf", "--x-label", "Delay (kB)"], "the label \"Delay (kB)\" has the unit kB"),
    ] {
        let message = error(place, &[&["plot", "voice"], words].concat());
        assert!(message.contains(expected), "{words:?}: {message}");
    }
    let drawn =
        paths(place, &["plot", "voice", "--metric", "throughput", "--y-label", "Rate (measured)", "--format", "svg"]);
    assert!(texts(&drawn[0]).iter().any(|text| text == "Rate (measured)"));
}

#[test]
fn the_packets_of_a_record_are_drawn() {
    let place = place();
    let place = place.path();
    std::fs::write(place.join("full.toml"), FULL).unwrap();
    let traced = ["run", "full.toml", "--quiet", "--trace", "packets", "--out", "full"];
    assert!(run(place, &traced).status.success());
    assert!(run(place, &["run", "voice.toml", "--quiet", "--out", "voice"]).status.success());
    let drawn = paths(place, &["plot", "full", "--kind", "sequence", "--format", "svg"]);
    assert!(drawn[0].ends_with("full/sequence.svg"), "{drawn:?}");
    let found = texts(&drawn[0]);
    for expected in ["sent", "received", "dropped", "Packet number", "Time (s)"] {
        assert!(found.iter().any(|text| text == expected), "{expected}: {found:?}");
    }
    // The numbers of the axes and the legend.
    let part = ["plot", "full", "--kind", "sequence", "--from", "200ms", "--to", "300ms", "--format", "svg"];
    let part = texts(&paths(place, &part)[0]);
    assert!(part.iter().any(|text| text == "0.25") && part.iter().all(|text| text != "1"), "{part:?}");
    for (words, expected) in [
        (&["voice", "--kind", "sequence"][..], "run the scenario again with `--trace packets`"),
        (&["full", "voice", "--kind", "sequence"], "--kind sequence draws the packets of one record"),
        (&["full", "--kind", "sequence", "--complementary"], "--complementary needs --kind delay-cdf"),
    ] {
        let message = error(place, &[&["plot"], words].concat());
        assert!(message.contains(expected), "{words:?}: {message}");
    }
    std::fs::write(place.join("full/packets.arrow"), b"ARROW1").unwrap();
    let message = error(place, &["plot", "full", "--kind", "sequence"]);
    assert!(message.contains("packets.arrow: the file was damaged or edited"), "{message}");
    std::fs::remove_file(place.join("full/checksums.txt")).unwrap();
    let message = error(place, &["plot", "full", "--kind", "sequence"]);
    assert!(message.contains("packets.arrow: not a valid packets.arrow"), "{message}");
}
