//! Agreement with ns-2.35 in the mean: a star of TCP clients with random starts, four flavours, DropTail and RED, 3 to 50
//! clients, ten runs each. Data and source: the heads of `data/ns2-lan/*.csv`.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use common::{data, fields, run};
use headway_record::Summary;
use std::collections::BTreeMap;
use std::fmt::Write;

const SECONDS: f64 = 100.0;

/// What is compared, of one run.
const METRICS: [&str; 6] = ["kbps_mean", "delayA_ms", "delayC_ms", "loss_data", "sent", "retransmitted"];
type Metrics = [f64; METRICS.len()];

/// The star with the start times of ns-2's run.
fn star(flavour: &str, queue: &str, n: usize, starts: &[String]) -> String {
    let kind = match flavour {
        "Tahoe" => "tcp-tahoe",
        "Reno" => "tcp-reno",
        "Newreno" => "tcp-newreno",
        _ => "tcp-sack",
    };
    let queue = queue.to_lowercase();
    let mut starts_text = String::new();
    for start in &starts[..n] {
        write!(starts_text, "\"{start}s\", ").unwrap();
    }
    format!(
        r#"
        name = "star"
        duration = "{SECONDS}s"
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
        queue = {{ kind = "{queue}", limit = "10packets" }}
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

/// The metrics as the ns-2 script defines them: waits are means over the packets that leave a queue.
fn metrics(summary: &Summary, n: usize) -> Metrics {
    let bottleneck = summary.links.iter().find(|link| link.name == "r->s").unwrap();
    let wait_ms = |link: &headway_record::LinkSummary| {
        let left = link.arrived_packets - link.dropped_packets.total();
        link.mean_queue_packets * SECONDS * 1e3 / left as f64
    };
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

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0))
}

/// Half the Welch 95 % interval of the difference of two means (Student's quantile by Cornish and Fisher).
fn welch(a: &[f64], b: &[f64]) -> f64 {
    let (va, vb) = (mean_and_variance(a).1 / a.len() as f64, mean_and_variance(b).1 / b.len() as f64);
    if va + vb == 0.0 {
        return 0.0;
    }
    let v = (va + vb) * (va + vb) / (va * va / (a.len() as f64 - 1.0) + vb * vb / (b.len() as f64 - 1.0));
    let z: f64 = 1.959_964;
    let t = z + z * (z * z + 1.0) / (4.0 * v) + z * (5.0 * z * z * z * z + 16.0 * z * z + 3.0) / (96.0 * v * v);
    t * (va + vb).sqrt()
}

#[test]
fn means_over_ten_runs_agree() {
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
    let cells: Vec<_> = theirs.iter().collect();
    let compare = |&(cell, runs): &(&Cell, &Vec<(String, Metrics)>)| {
        let (flavour, queue, n) = cell;
        assert_eq!(runs.len(), 10);
        let ours: Vec<Metrics> = runs
            .iter()
            .map(|(seed, _)| {
                let text = star(flavour, queue, *n, &starts[seed])
                    .replace("name = \"star\"", &format!("name = \"star\"\nseed = {seed}"));
                metrics(&run(&common::scenario(&text), ()).summary, *n)
            })
            .collect();
        let mut wrong = String::new();
        let mut line = format!("{flavour:8} {queue:8} {n:2}");
        for (number, name) in METRICS.iter().enumerate() {
            let a: Vec<f64> = ours.iter().map(|m| m[number]).collect();
            let b: Vec<f64> = runs.iter().map(|(_, m)| m[number]).collect();
            let (mean_a, mean_b) = (mean_and_variance(&a).0, mean_and_variance(&b).0);
            let relative = if *name == "loss_data" || *name == "retransmitted" { 0.10 } else { 0.02 };
            let allowed = f64::max(relative * mean_b, welch(&a, &b));
            write!(line, "  {name} {mean_a:.4} {mean_b:.4} ({:+.2} %)", 100.0 * (mean_a - mean_b) / mean_b).unwrap();
            if (mean_a - mean_b).abs() > allowed {
                writeln!(wrong, "{cell:?} {name}: {mean_a}, ns-2 {mean_b}, allowed {allowed}").unwrap();
            }
        }
        println!("{line}");
        wrong
    };
    #[expect(clippy::disallowed_methods, reason = "560 runs on all cores; each is deterministic by itself")]
    let wrong: String = std::thread::scope(|scope| {
        let halves: Vec<_> = [0, 1]
            .map(|half| {
                let mine: Vec<_> = cells.iter().skip(half).step_by(2).copied().collect();
                scope.spawn(move || mine.iter().map(compare).collect::<String>())
            })
            .into_iter()
            .collect();
        halves.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "\n{wrong}");
}
