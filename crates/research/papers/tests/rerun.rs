//! Reruns a fixed sample of cells of every paper and compares every digit with the stored results.
//!
//! The other tests of `papers/` compare stored files with each other, so they cannot detect that the code gives other
//! numbers.
//!
//! The sample has cheap cells: all five papers take less than a minute of CPU time. It covers every scenario file, and
//! every transport, CCID, loss filter, send queue, queue and other option that a cell sets to a word, except
//! [`TOO_EXPENSIVE`]. `make papers` reruns all cells.

use headway_papers::{Cell, Claims, Measured, Number, Outcome, PAPERS, Paper, Profile, Results};
use headway_record::SeriesTable;
use headway_scenario::NoFiles;
use headway_sim::simulate;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const SAMPLE: [(&str, &[&str]); 5] = [
    ("lan-queues", &["droptail.udp.3", "red.tcp.3", "droptail.mix.3", "plain.tahoe.droptail.3", "plain.newreno.red.3"]),
    (
        "sfdps",
        &[
            "call.mixed",
            "call.from.10",
            "ring.20",
            "loss.sfdps1.3",
            "loss.sfdps1-spends.6",
            "rfc3448.sfdps2.6",
            "reno.80.5.restart.300",
            "reno.80.5.ring.300",
            "reno.80.32.sure-first.300",
            "reno.80.5.ring-sfdps2-forward.300",
            "payload.ring-sfdps2.500",
            "step.fifo.500",
            "reno.80.5.prio.300",
            "reno.80.3.ring-3.300",
            "reno.80.5.edf.300",
            "reno.80.5.patient.300",
            "reno.80.5.priority.300",
            "reno.80.5.score.300",
        ],
    ),
    (
        "udpm",
        &[
            "s1.stated-hard.0.2-packet.5",
            "s1.executed.five.6",
            "s1.executed.0.2-100ms.6",
            "s2.executed.0.8.6",
            "web.1.5.udpm",
            "web.1.16.cbr-0.8",
            "beyond.near.ccid-2",
            "beyond.near.ccid-3",
            "beyond.near.ccid-4",
            "beyond.near.ccid-248",
            "beyond.droptail.ccid-3",
            "beyond.mark.ccid-3",
            "media-mark.head",
            "media-mark.tail",
        ],
    ),
    (
        "packet-spacing",
        &[
            "aimd",
            "p2.5000",
            "wan.500",
            "rank.home.tcp",
            "rank.home.blast",
            "rank.home.ad-hoc",
            "rank.home.damped",
            "rank.home.equation",
            "rank.home.tfrc",
            "rank.home.tcp-like",
            "rank.home.fixed",
            "rank.home.udpm",
        ],
    ),
    (
        "uddj-tfrc",
        &[
            "f4.tfrc.0",
            "f4.uddj.0.08",
            "f4.uddj-round.0.08",
            "f4.uddj-hold.0.08",
            "f4.reno.0.08",
            "f4.oracle.0.08",
            "f4.guarded.0.08",
            "f4.zigzag.0.08",
            "f4.mbiaz.0.08",
            "f4.spike.0.08",
            "intra.uddj.2.0",
            "intra.westwood.2.0",
            "inter.alone.uddj.1.0.02",
        ],
    ),
];

const TOO_EXPENSIVE: [&str; 55] = [
    "packet-spacing: adaptive = off",
    "packet-spacing: apart = period",
    "packet-spacing: automatic_bottom = window",
    "packet-spacing: damping = newest",
    "packet-spacing: discount_kept = averaged",
    "packet-spacing: feedback = arrival",
    "packet-spacing: first_interval = last-rtt",
    "packet-spacing: idle = halved-to-initial",
    "packet-spacing: increase = packet-per-rtt",
    "packet-spacing: initial_window = packets",
    "packet-spacing: kind = bernoulli",
    "packet-spacing: kind = cbr",
    "packet-spacing: kind = red",
    "packet-spacing: kind = tcp-sack",
    "packet-spacing: loss_events = send-time",
    "packet-spacing: nofeedback = two-rtt",
    "packet-spacing: open_interval = after-loss",
    "packet-spacing: paced = packets",
    "packet-spacing: pacing = timer",
    "packet-spacing: pipe = counted",
    "packet-spacing: place = before-queue",
    "packet-spacing: receive_limit = last",
    "packet-spacing: round_trip = least",
    "packet-spacing: round_trip = smoothed",
    "packet-spacing: scenario blast",
    "packet-spacing: scenario equation",
    "packet-spacing: scenario equation-alone",
    "packet-spacing: scenario fixed",
    "packet-spacing: scenario ten",
    "packet-spacing: scenario tfrc",
    "packet-spacing: scenario two",
    "packet-spacing: segment = full",
    "packet-spacing: shorten = factor",
    "packet-spacing: shorten = step",
    "packet-spacing: slow_start = spread",
    "packet-spacing: t_rto = tcp",
    "packet-spacing: when_limited = shorten",
    "uddj-tfrc: action = filter-and-early",
    "uddj-tfrc: adaptive = off",
    "uddj-tfrc: automatic_bottom = window",
    "uddj-tfrc: bandwidth_filter = tustin",
    "uddj-tfrc: kind = gilbert-elliott",
    "uddj-tfrc: kind = pareto",
    "uddj-tfrc: kind = red",
    "uddj-tfrc: kind = tcp-jtcp",
    "uddj-tfrc: kind = tcp-vegas",
    "uddj-tfrc: partial_ack_timer = impatient",
    "uddj-tfrc: pipe = counted",
    "uddj-tfrc: scenario f4-runs",
    "uddj-tfrc: scenario f5",
    "uddj-tfrc: scenario f5-tcp",
    "uddj-tfrc: scenario inter-cbr",
    "uddj-tfrc: scenario inter-cbr-tcp",
    "uddj-tfrc: scenario inter-tcp",
    "uddj-tfrc: vegas = arizona",
];

type Numbers = BTreeMap<String, Number>;

/// Runs a cell with the full profile and returns its metrics.
fn computed(paper: &Paper, claims: &Claims, cell: &Cell) -> Numbers {
    let mut measured = Measured::default();
    for seed in claims.seeds(cell, Profile::Full) {
        let scenario = cell.load(paper, Profile::Full, seed, &NoFiles).unwrap().scenario;
        let record = simulate(&scenario).unwrap();
        let series = record.series.map(|series| {
            let mut bytes = Vec::new();
            series.finish(&mut bytes).unwrap();
            SeriesTable::from_ipc(&bytes).unwrap()
        });
        let outcome = Outcome { scenario: &scenario, summary: &record.summary, series: series.as_ref() };
        measured.add(&cell.name, seed, cell.deterministic, claims.metrics.of(&outcome).unwrap());
    }
    let number = |name: &str| Some((name.to_owned(), measured.estimate(&cell.name, name)?.into()));
    claims.metrics.iter().filter_map(|metric| number(metric.name)).collect()
}

fn differences(cell: &str, stored: &Numbers, computed: &Numbers) -> Vec<String> {
    let names: BTreeSet<&String> = stored.keys().chain(computed.keys()).collect();
    let differing = names.into_iter().filter(|name| stored.get(*name) != computed.get(*name));
    differing
        .map(|name| format!("{cell}, {name}: stored {:?}, computed {:?}", stored.get(name), computed.get(name)))
        .collect()
}

fn stored(paper: &Paper) -> Results {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../papers").join(paper.id.as_ref()).join("results.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn rerun(id: &str) {
    let paper = Paper::find(id).unwrap();
    let (claims, stored) = (paper.claims().unwrap(), stored(paper));
    let names = SAMPLE.iter().find(|(paper, _)| *paper == id).unwrap().1;
    let mut differ = Vec::new();
    for name in names {
        let cell =
            claims.cells.iter().find(|cell| cell.name == *name).unwrap_or_else(|| panic!("{id} has no cell {name}"));
        differ.extend(differences(name, &stored.cells[*name], &computed(paper, &claims, cell)));
    }
    assert_eq!(differ, [""; 0], "the stored numbers of {id} are stale: run `make papers`");
}

#[test]
fn lan_queues_gives_the_stored_numbers() {
    rerun("lan-queues");
}

#[test]
fn sfdps_gives_the_stored_numbers() {
    rerun("sfdps");
}

#[test]
fn udpm_gives_the_stored_numbers() {
    rerun("udpm");
}

#[test]
fn packet_spacing_gives_the_stored_numbers() {
    rerun("packet-spacing");
}

#[test]
fn uddj_tfrc_gives_the_stored_numbers() {
    rerun("uddj-tfrc");
}

/// Differences in the last digit, and numbers that are missing on one side, are found.
#[test]
fn changed_numbers_are_found() {
    let number = |mean: f64| Number { mean, ci95: Some(0.5), runs: 10 };
    let numbers =
        |of: &[(&str, f64)]| of.iter().map(|(name, mean)| ((*name).to_owned(), number(*mean))).collect::<Numbers>();
    let stored = numbers(&[("a", 1.0), ("b", 2.0)]);
    assert_eq!(differences("cell", &stored, &stored), [""; 0]);
    for computed in [
        numbers(&[("a", 1.0), ("b", 2.000_000_01)]),
        numbers(&[("a", 1.0)]),
        numbers(&[("a", 1.0), ("b", 2.0), ("c", 0.0)]),
    ] {
        assert_eq!(differences("cell", &stored, &computed).len(), 1, "{computed:?}");
    }
}

/// Adds `key = word` for every word in `value`: a string without digits that is not a name.
fn words(key: &str, value: &toml::Value, found: &mut BTreeSet<String>) {
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(key, value)| words(key, value, found)),
        toml::Value::Array(values) => values.iter().for_each(|value| words(key, value, found)),
        toml::Value::String(word) => {
            let is_name = matches!(key, "name" | "from" | "to" | "between" | "path");
            if !is_name && !word.contains(|letter: char| letter.is_ascii_digit()) {
                found.insert(format!("{key} = {word}"));
            }
        }
        toml::Value::Integer(ccid) if key == "ccid" => drop(found.insert(format!("ccid = {ccid}"))),
        _ => {}
    }
}

/// Returns the scenario files and words of the selected cells of a paper.
fn covered(paper: &Paper, claims: &Claims, is_in: impl Fn(&Cell) -> bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for cell in claims.cells.iter().filter(|cell| is_in(cell)) {
        let loaded = cell.load(paper, Profile::Full, 1, &NoFiles).unwrap();
        let resolved: toml::Value = toml::from_str(&loaded.resolved_toml).unwrap();
        words("", &resolved, &mut found);
        found.insert(format!("scenario {}", loaded.scenario.name));
    }
    found
}

#[test]
fn the_sample_runs_every_scenario_and_every_word() {
    let mut missing = Vec::new();
    for (paper, (id, sample)) in PAPERS.iter().zip(SAMPLE) {
        assert_eq!(paper.id, id);
        let claims = paper.claims().unwrap();
        let all = covered(paper, &claims, |_| true);
        let run = covered(paper, &claims, |cell| sample.contains(&cell.name.as_str()));
        missing.extend(all.difference(&run).map(|word| format!("{id}: {word}")));
    }
    assert_eq!(missing, TOO_EXPENSIVE);
}
