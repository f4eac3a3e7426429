//! Agreement with ns-2.35 on a flow's throughput over wires and a wireless link with random losses, shared with
//! constant rates. With the same lost packets, each run agrees; with random losses, the means. Data and source: the
//! headers of `data/ns2-wireless/*.csv`.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::means::{Mean, Verdict};
use common::{data, fields, run};
use std::fmt::Write;

/// First columns of both files: a cell of `validation/ns2/wireless.py`.
struct Cell {
    flow: String,
    network: String,
    /// One-way delays in ms: sum of the wires, and the wireless link.
    delays: (f64, f64),
    limit: u32,
    loss: f64,
}

/// Further parameters of a run, in the syntax of scenarios.
struct Parameters {
    seed: u32,
    loss: String,
    start: String,
    cbr_starts: [String; 3],
    clock_phase_ns: f64,
}

const KINDS: [&str; 6] = ["tcp-newreno", "tcp-reno", "tcp-sack", "tcp-westwood", "tfrc", "tfrc.4R"];

impl Cell {
    fn of(row: &[&str]) -> Self {
        Self {
            flow: row[0].to_owned(),
            network: row[1].to_owned(),
            delays: if row[2] == "A" { (10.0, 10.0) } else { (45.0, 5.0) },
            limit: row[3].parse().unwrap(),
            loss: row[4].parse().unwrap(),
        }
    }

    fn links(&self, hops: &[&str], loss: &str) -> String {
        let (Self { limit, delays: (wired_ms, wireless_ms), .. }, wires) = (self, hops.len() - 2);
        let mut text = String::new();
        let mut link = |one: &str, other: &str, mbps: u32, ms: f64, more: &str| {
            write!(
                text,
                "[[link]]\nbetween = [\"{one}\", \"{other}\"]\nrate = \"{mbps}Mbps\"\ndelay = \"{}us\"\n\
                 queue = {{ kind = \"droptail\", limit = \"{limit}packets\" }}\n{more}",
                1e3 * ms
            )
            .unwrap();
        };
        for (number, ends) in hops.windows(2).take(wires).enumerate() {
            link(ends[0], ends[1], if number == 0 { 100 } else { 10 }, wired_ms / wires as f64, "");
        }
        let lossy = format!("one_way = true\nloss = {{ {loss}, place = \"after-transmission\" }}\n");
        link(hops[wires], "d", 10, *wireless_ms, &lossy);
        link("d", hops[wires], 10, *wireless_ms, "one_way = true\n");
        text
    }

    fn transport(&self, clock_phase_ns: f64) -> String {
        let tfrc = r#"kind = "tfrc", datagram = "1000B", header = "0B", controller = { tcp_tick = "10ms""#;
        match self.flow.as_str() {
            "tfrc" => format!("{tfrc} }}"),
            "tfrc.4R" => format!("{tfrc}, min_rto = \"{}ms\" }}", 8.0 * (self.delays.0 + self.delays.1)),
            // Agent/TCP/Linux with timestamps, which need no clock phase.
            "tcp-westwood" => r#"kind = "tcp-westwood", segment = "1000B", header = "50B", syn_size = "40B", window = "1000packets", timestamps = true"#.to_owned(),
            tcp => format!(
                r#"kind = "{tcp}", segment = "1000B", window = "1000packets", clock_phase = "{clock_phase_ns}ns""#
            ),
        }
    }

    fn scenario(&self, parameters: &Parameters) -> String {
        let chain = ["s", "r1", "r2", "r3", "r4", "d"];
        let (mbps, ways, hops) = match self.network.as_str() {
            "single" => (2, [("r1", "d"); 3], &["s", "r1", "d"][..]),
            "path" => (2, [("r1", "r4"), ("r2", "r4"), ("r3", "r4")], &chain[..]),
            onehop => {
                let mbps = onehop.strip_prefix("onehop.").unwrap().parse().unwrap();
                (mbps, [("r1", "r2"), ("r2", "r3"), ("r3", "r4")], &chain[..])
            }
        };
        let mut text = format!(
            "duration = \"220s\"\nmeasure_from = \"20s\"\nseed = {}\ndialect = \"ns2\"\nrecord.series = false\n{}\
             [[flow]]\nname = \"flow\"\nfrom = \"s\"\nto = \"d\"\nstart = {}\ntransport = {{ {} }}\nsource = {{ kind = \"ftp\" }}\n",
            parameters.seed,
            self.links(hops, &parameters.loss),
            parameters.start,
            self.transport(parameters.clock_phase_ns)
        );
        for (number, ((from, to), start)) in ways.iter().zip(&parameters.cbr_starts).enumerate() {
            // Without losses and random gaps, the phases of constant rates and the flow would lock.
            write!(
                text,
                "[[flow]]\nname = \"cbr{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = {start}\n\
                 transport = {{ kind = \"udp\", datagram = \"1000B\" }}\n\
                 source = {{ kind = \"cbr\", rate = \"{mbps}Mbps\", size = \"1000B\", dither = {} }}\n",
                self.loss == 0.0
            )
            .unwrap();
        }
        text
    }

    /// Returns the throughput as counted by ns-2's sinks: each TCP segment once, with 40 B, or 50 B with timestamps.
    fn mbps(&self, parameters: &Parameters) -> f64 {
        let summary = run(&common::scenario(&self.scenario(parameters)), ()).summary;
        let flow = &summary.flows[0];
        match self.flow.as_str() {
            "tfrc" | "tfrc.4R" => flow.throughput_bps / 1e6,
            "tcp-westwood" => flow.goodput_bps / 1e6 * 1000.0 / 950.0,
            _ => flow.goodput_bps / 1e6 * 1000.0 / 960.0,
        }
    }
}

/// ns-2's TCP sink counts data received in order, Headway first copies: they differ by a window at either end, at
/// most 0.5 %. For TFRC, the packets are identical.
#[test]
fn the_same_losses_give_the_same_throughput() {
    let text = data("ns2-wireless/runs.csv");
    let mut kinds = Vec::new();
    for row in fields(&text).skip(1) {
        let cell = Cell::of(&row);
        let starts: Vec<_> = row[6].split(' ').map(|start| format!("\"{start}ns\"")).collect();
        let lost = row[8].replace(' ', ", ");
        let parameters = Parameters {
            seed: 1,
            loss: format!("kind = \"list\", packets = [{lost}]"),
            start: format!("\"{}ns\"", row[5]),
            cbr_starts: starts.try_into().unwrap(),
            // TFRC has no clock.
            clock_phase_ns: row[7].parse().map_or(0.0, |phase: f64| (1e7 * phase).round()),
        };
        let (ours, ns2) = (cell.mbps(&parameters), row[9].parse::<f64>().unwrap());
        let margin = if cell.flow.starts_with("tfrc") { 0.000_1 } else { 0.005 };
        assert!((ours / ns2 - 1.0).abs() <= margin, "{}: {ours} Mb/s, ns-2 {ns2}", cell.flow);
        kinds.push(cell.flow);
    }
    kinds.sort_unstable();
    assert_eq!(kinds, KINDS);
}

/// The 95 % interval of the difference is within 5 % of ns-2's mean. Runs the first cell of each kind of flow;
/// `WIRELESS=all` runs all cells, with more runs.
#[test]
fn means_agree() {
    let text = data("ns2-wireless/cells.csv");
    let all = std::env::var("WIRELESS").is_ok_and(|which| which == "all");
    let runs = if all { 40 } else { 10 };
    let mut kinds = Vec::new();
    for row in fields(&text).skip(1) {
        let cell = Cell::of(&row);
        let another = kinds.contains(&cell.flow);
        if another && !all {
            continue;
        }
        let sd: f64 = row[7].parse().unwrap();
        let ns2 = Mean { runs: row[5].parse().unwrap(), mean: row[6].parse().unwrap(), variance: sd * sd };
        let drawn = |seed| Parameters {
            seed,
            loss: format!("kind = \"bernoulli\", probability = {}", cell.loss),
            start: r#"{ uniform = ["0s", "1s"] }"#.to_owned(),
            cbr_starts: [(); 3].map(|()| r#"{ uniform = ["0s", "0.1s"] }"#.to_owned()),
            // Any phase of the 10 ms tick; the seeds cover it.
            clock_phase_ns: f64::from(7_300_000 * (seed % 100) % 10_000_000),
        };
        let ours = Mean::of(&(1..=runs).map(|seed| cell.mbps(&drawn(seed))).collect::<Vec<_>>());
        let percent = |part: f64| 100.0 * part / ns2.mean;
        let text = format!(
            "{} {} p = {}: {:.4} Mb/s, ns-2 {:.4}, {:+.2} ± {:.2} %",
            cell.flow,
            cell.network,
            cell.loss,
            ours.mean,
            ns2.mean,
            percent(ours.mean - ns2.mean),
            percent(ours.welch(&ns2))
        );
        println!("{text}");
        assert_eq!(ours.verdict(&ns2, 0.05), Verdict::Agree, "{text}");
        if !another {
            kinds.push(cell.flow);
        }
    }
    kinds.sort_unstable();
    assert_eq!(kinds, KINDS);
}
