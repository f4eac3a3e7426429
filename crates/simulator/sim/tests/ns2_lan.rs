//! Agreement with ns-2.35 over a star of clients with random starts: TCP in the mean of ten runs (four flavors,
//! DropTail and RED, 3 to 50 clients; clock phases were not recorded), mixed with UDP and UDP alone run by run. Data
//! and source: the headers of `data/ns2-lan/*.csv`.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::means::{Mean, Verdict};
use common::{data, fields, run};
use headway_record::{LinkSummary, Summary};
use std::collections::BTreeMap;
use std::fmt::Write;

const SECONDS: f64 = 100.0;

/// Compared metrics of one run.
const METRICS: [&str; 6] = ["kbps_mean", "delayA_ms", "delayC_ms", "loss_data", "sent", "retransmitted"];
type Metrics = [f64; METRICS.len()];

/// Creates `n` clients, their router and the server.
fn network(queue: &str, bottleneck_limit: u32, n: usize, seed: &str) -> String {
    let queue = queue.to_lowercase();
    format!(
        r#"
        name = "star"
        duration = "{SECONDS}s"
        seed = {seed}
        dialect = "ns2"
        [[node]]
        name = "c"
        count = {n}
        [[link]]
        between = ["c", "r"]
        rate = "10Mbps"
        delay = "3ms"
        queue = {{ kind = "{queue}", limit = "16packets" }}
        [[link]]
        between = ["r", "s"]
        rate = "50Mbps"
        delay = "10ms"
        queue = {{ kind = "{queue}", limit = "{bottleneck_limit}packets" }}
        "#
    )
}

/// Creates the star of TCP clients with the start times of ns-2's run.
fn star(flavour: &str, queue: &str, n: usize, seed: &str, starts: &[String]) -> String {
    let kind = match flavour {
        "Tahoe" => "tcp-tahoe",
        "Reno" => "tcp-reno",
        "Newreno" => "tcp-newreno",
        _ => "tcp-sack",
    };
    let mut starts_text = String::new();
    for start in &starts[..n] {
        write!(starts_text, "\"{start}s\", ").unwrap();
    }
    network(queue, 10, n, seed)
        + &format!(
            r#"
        [[flow]]
        name = "f"
        from = "c"
        to = "s"
        count = {n}
        start = [{starts_text}]
        transport = {{ kind = "{kind}", window = "10000packets", segment = "1500B" }}
        source = {{ kind = "ftp" }}
        "#
        )
}

/// Returns the mean wait of the packets that leave a queue.
fn wait_ms(link: &LinkSummary) -> f64 {
    let left = link.arrived_packets - link.dropped_packets.total();
    link.mean_queue_packets * SECONDS * 1e3 / left as f64
}

/// Returns the metrics of `jittered.csv`.
fn metrics(summary: &Summary, n: usize) -> Metrics {
    let bottleneck = summary.links.iter().find(|link| link.name == "r->s").unwrap();
    let access: Vec<_> = summary.links.iter().filter(|link| link.to == "r" && link.from != "s").collect();
    assert_eq!(access.len(), n);
    let wait_access = access.iter().map(|link| wait_ms(link)).sum::<f64>() / n as f64;
    let sent: u64 = summary.flows.iter().map(|flow| flow.sent_packets).sum();
    let lost: u64 = summary.flows.iter().map(|flow| flow.lost_packets.total()).sum();
    [
        bottleneck.utilisation * 50e6 / 1e3 / n as f64,
        14.44 + wait_access + wait_ms(bottleneck),
        13.24 + wait_ms(bottleneck),
        lost as f64 / sent as f64,
        sent as f64,
        summary.flows.iter().filter_map(|flow| flow.retransmitted_packets).sum::<u64>() as f64,
    ]
}

/// Ten runs of mean 100 and deviation 1: half the interval is 2.101 sqrt(1 / 10 + 1 / 10) = 0.94 (18 degrees).
#[test]
fn noisy_means_are_undecided() {
    let around = |mean: f64, spread: f64| -> Vec<f64> {
        (0..10).map(|run| mean + spread * f64::from(2 * run - 9) / 33.0_f64.sqrt() / 1.054_1).collect()
    };
    let theirs = around(100.0, 1.0);
    for (ours, expected) in [
        (around(101.0, 1.0), Verdict::Agree),
        (around(101.1, 1.0), Verdict::Undecided),
        (around(102.9, 1.0), Verdict::Undecided),
        (around(103.0, 1.0), Verdict::Differ),
        // The means are equal, but the variance is too large.
        (around(100.0, 10.0), Verdict::Undecided),
    ] {
        assert_eq!(Mean::of(&ours).verdict(&Mean::of(&theirs), 0.02), expected, "{ours:?}");
    }
}

fn compare_means(ours: &[f64], theirs: &[f64]) -> String {
    let (mean, reference) = (Mean::of(ours).mean, Mean::of(theirs).mean);
    format!("{mean:.4} {reference:.4} ({:+.2} %)", 100.0 * (mean - reference) / reference)
}

/// Each eighth of 56 cells, which has each flavor, each number of clients and both queues. All take nine minutes of CPU
/// time: `validation/ns2/stars`.
#[test]
fn means_over_ten_runs_agree() {
    let step = if std::env::var_os("NS2_STARS").is_some_and(|stars| stars == "all") { 1 } else { 8 };
    let mut starts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in fields(&data("ns2-lan/start-times.csv")).skip(1) {
        starts.entry(row[0].to_owned()).or_default().push(row[2].to_owned());
    }
    type Cell = (String, String, usize);
    let mut theirs: BTreeMap<Cell, Vec<(String, Metrics)>> = BTreeMap::new();
    for row in fields(&data("ns2-lan/jittered.csv")).skip(1) {
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        let metrics = [number(9), number(10), number(11), (number(6) + number(7)) / number(4), number(4), number(8)];
        let cell = (row[0].to_owned(), row[1].to_owned(), row[2].parse().unwrap());
        theirs.entry(cell).or_default().push((row[3].to_owned(), metrics));
    }
    assert_eq!(theirs.len(), 56);
    let cells: Vec<_> = theirs.iter().step_by(step).collect();
    let compare = |&(cell, runs): &(&Cell, &Vec<(String, Metrics)>)| {
        let (flavour, queue, n) = cell;
        assert_eq!(runs.len(), 10);
        let ours: Vec<Metrics> = runs
            .iter()
            .map(|(seed, _)| {
                metrics(&run(&common::scenario(&star(flavour, queue, *n, seed, &starts[seed])), ()).summary, *n)
            })
            .collect();
        let mut verdicts = Vec::new();
        let mut line = format!("{flavour:8} {queue:8} {n:2}");
        for (number, name) in METRICS.iter().enumerate() {
            let a: Vec<f64> = ours.iter().map(|m| m[number]).collect();
            let b: Vec<f64> = runs.iter().map(|(_, m)| m[number]).collect();
            let relative = if *name == "loss_data" || *name == "retransmitted" { 0.10 } else { 0.02 };
            let verdict = Mean::of(&a).verdict(&Mean::of(&b), relative);
            write!(line, "  {name} {}", compare_means(&a, &b)).unwrap();
            verdicts.push((verdict, format!("{cell:?} {name}: {}, margin {relative}", compare_means(&a, &b))));
        }
        println!("{line}");
        verdicts
    };
    #[expect(clippy::disallowed_methods, reason = "runs on both cores; each is deterministic by itself")]
    let all: Vec<(Verdict, String)> = std::thread::scope(|scope| {
        let halves: Vec<_> = [0, 1]
            .map(|half| {
                let mine: Vec<_> = cells.iter().skip(half).step_by(2).copied().collect();
                scope.spawn(move || mine.iter().flat_map(compare).collect::<Vec<_>>())
            })
            .into_iter()
            .collect();
        halves.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    judge(&all, METRICS.len() * cells.len(), 2);
}

/// Asserts that no comparison differs and at most `undecided` of `count` are undecided. Prints the latter.
fn judge(all: &[(Verdict, String)], count: usize, undecided: usize) {
    assert_eq!(all.len(), count);
    let with_verdict = |verdict: Verdict| -> Vec<&str> {
        all.iter().filter(|(found, _)| *found == verdict).map(|(_, words)| words.as_str()).collect()
    };
    let (differ, open) = (with_verdict(Verdict::Differ), with_verdict(Verdict::Undecided));
    println!(
        "{} of {count} agree, {} are undecided:\n{}",
        with_verdict(Verdict::Agree).len(),
        open.len(),
        open.join("\n")
    );
    assert!(differ.is_empty(), "differ:\n{}", differ.join("\n"));
    assert!(open.len() <= undecided, "{} undecided:\n{}", open.len(), open.join("\n"));
}

/// Compared metrics with UDP clients.
const WITH_UDP: [&str; 4] = ["throughput_kbps", "delay_a_ms", "delay_c_ms", "loss_pct"];

type Figures = [f64; WITH_UDP.len()];

/// Returns the runs of `udp-mix.csv`, of ns-2 and of Headway.
fn with_udp() -> BTreeMap<String, Vec<(Figures, Figures)>> {
    let text = data("ns2-lan/udp-mix.csv");
    let mut rows = fields(&text);
    let header = rows.next().unwrap();
    let column = |name: &str| header.iter().position(|entry| *entry == name).unwrap();
    let mut runs: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in rows {
        let (cell, tcp) = (row[column("cell")], row[column("tcp")].parse::<usize>().unwrap());
        let starts: Vec<_> = row[column("starts_s")].split(' ').collect();
        let phases = row[column("clock_phases")].split_whitespace();
        let mut text =
            network(cell.split('.').next().unwrap(), if tcp > 0 { 10 } else { 4 }, starts.len(), row[column("seed")]);
        for (number, start) in starts.iter().enumerate() {
            let client = number + 1;
            write!(text, "[[flow]]\nname = \"f{client}\"\nfrom = \"c{client}\"\nto = \"s\"\nstart = \"{start}s\"\n")
                .unwrap();
            text += &match phases.clone().nth(number) {
                Some(phase) => format!(
                    r#"transport = {{ kind = "tcp-reno", window = "10000packets", segment = "1500B", clock_phase = "{}ns" }}
                    source = {{ kind = "ftp" }}
                    "#,
                    // Phase within a tick of 10 ms.
                    (phase.parse::<f64>().unwrap() * 1e7).round()
                ),
                None => r#"transport = { kind = "udp", datagram = "1500B" }
                    source = { kind = "cbr", rate = "10Mbps", size = "1500B" }
                    "#
                .to_owned(),
            };
        }
        let theirs = WITH_UDP.map(|metric| row[column(metric)].parse().unwrap());
        let ours = figures(&run(&common::scenario(&text), ()).summary);
        runs.entry(cell.to_owned()).or_default().push((theirs, ours));
    }
    runs
}

/// Returns the metrics of `udp-mix.csv`.
fn figures(summary: &Summary) -> Figures {
    let bottleneck = summary.links.iter().find(|link| link.name == "r->s").unwrap();
    let sum = |of: fn(&headway_record::FlowSummary) -> f64| summary.flows.iter().map(of).sum::<f64>();
    let delays_s = sum(|flow| flow.one_way_delay_s.map_or(0.0, |delay| delay.mean) * flow.received_packets as f64);
    [
        sum(|flow| flow.throughput_bps) / 1e3 / summary.flows.len() as f64,
        1e3 * delays_s / sum(|flow| flow.received_packets as f64),
        13.24 + wait_ms(bottleneck),
        100.0 * sum(|flow| flow.lost_packets.total() as f64) / sum(|flow| flow.sent_packets as f64),
    ]
}

/// These runs have no random choices: RED's queue of 2000 B ends below its thresholds. ns-2 prints six digits.
#[test]
fn with_udp_each_run_agrees() {
    let runs = with_udp();
    assert_eq!((runs.len(), runs.values().flatten().count()), (12, 64));
    for (cell, runs) in runs {
        for (theirs, ours) in runs {
            for (number, name) in WITH_UDP.iter().enumerate() {
                let allowed = if theirs[number] == 0.0 { 0.05 } else { 0.000_01 * theirs[number] };
                assert!((ours[number] - theirs[number]).abs() <= allowed, "{cell} {name}: {ours:?}, ns-2 {theirs:?}");
            }
        }
    }
}

/// Welch's interval by hand. Ten runs, half of them 1 above their mean and half below, have s^2 = 10/9; three times
/// as wide, 10. Equal variances: 18 degrees of freedom, 2.1009 sqrt(1/9 + 1/9) = 0.9904. Unequal: (1/9 + 1)^2 /
/// ((1/9)^2 / 9 + 1 / 9) = 10.976 degrees, t = 2.2016 (the density integrated), 2.2016 sqrt(10/9) = 2.3207.
#[test]
fn the_interval_is_welchs() {
    let runs =
        |mean: f64, swing: f64| -> Vec<f64> { (0..10).map(|run| mean + swing * f64::from(run % 2 * 2 - 1)).collect() };
    // The series ends after two terms: 0.15 % too narrow at 11 degrees.
    for (a, b, expected) in [(1.0, 1.0, 0.9904), (1.0, 3.0, 2.3207), (3.0, 1.0, 2.3207)] {
        let found = Mean::of(&runs(100.0, a)).welch(&Mean::of(&runs(103.0, b)));
        assert!((found / expected - 1.0).abs() < 0.002, "{found} is not {expected}");
    }
    assert_eq!(Mean::of(&runs(1.0, 0.0)).welch(&Mean::of(&runs(2.0, 0.0))), 0.0);
}
