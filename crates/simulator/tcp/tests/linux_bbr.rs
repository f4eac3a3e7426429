//! BBR version 1 compared with Linux 7.3.4: two guests with virtual network cards, and a link of 10 Mb/s by `tc tbf`,
//! 20 ms each way, with a queue of 100 packets of 1514 B. Each run of the kernel has 20 s after 5 s; one run each.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::path::{Limit, Outcome, hop, run};
use headway_tcp::{BbrVersion, TcpOptions};
use headway_units::{Bytes, Dialect, Instant, Registry};

const SECONDS: u64 = 20;

fn options(kind: &str) -> TcpOptions {
    let mut options = TcpOptions::preset(kind, Dialect::Linux).unwrap();
    let rules = options.rules_mut();
    (rules.segment, rules.header) = (Bytes::new(1514), Bytes::new(66));
    options
}

fn cell(flows: &[(&str, u64)]) -> Outcome {
    let flows: Vec<_> =
        flows.iter().map(|&(kind, start_ms)| (options(kind), Instant::from_millis(start_ms), u64::MAX / 2)).collect();
    run(&[hop("10Mbps", "20ms", Limit::Netem(100))], &flows, Instant::from_secs(5), Instant::from_secs(5 + SECONDS))
}

/// Returns the goodput of a flow in Mb/s, without the first 5 s.
fn goodput(outcome: &Outcome, flow: usize) -> f64 {
    let received = outcome.flows[flow].received.iter().filter(|(ns, _)| *ns >= 5_000_000_000).count();
    received as f64 * 1448.0 * 8.0 / SECONDS as f64 / 1e6
}

/// Linux: 9.357 Mb/s, and a mean queue of 8.1 packets.
#[test]
fn alone() {
    assert_eq!(options("tcp-bbr").own.bbr.version, BbrVersion::V1Linux);
    let outcome = cell(&[("tcp-bbr", 0)]);
    let goodput = goodput(&outcome, 0);
    assert!((goodput / 9.357 - 1.0).abs() < 0.02, "{goodput} Mb/s");
    assert!((outcome.mean_queue - 8.1).abs() < 3.0, "{} packets", outcome.mean_queue);
    assert_eq!(outcome.flows[0].sender.counters().retransmitted, 0);
}

/// Linux: BBR has 43.2 % of the goodput (4.131 and 5.442 Mb/s), and the mean queue is 77.7 packets. The mean of ten runs
/// whose flows start at different times.
#[test]
fn next_to_cubic() {
    let runs: Vec<_> = (0..10).map(|run| cell(&[("tcp-bbr", 0), ("tcp-cubic", 40 * run)])).collect();
    let share = |outcome: &Outcome| {
        let (bbr, cubic) = (goodput(outcome, 0), goodput(outcome, 1));
        bbr / (bbr + cubic)
    };
    let mean = runs.iter().map(share).sum::<f64>() / 10.0;
    assert!((mean - 0.432).abs() < 0.1, "{mean}: {:?}", runs.iter().map(share).collect::<Vec<_>>());
    let queue = runs.iter().map(|outcome| outcome.mean_queue).sum::<f64>() / 10.0;
    assert!((queue / 77.7 - 1.0).abs() < 0.15, "{queue} packets");
}
