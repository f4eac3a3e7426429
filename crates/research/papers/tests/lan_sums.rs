//! Delays and shares of the LAN paper by hand: three packets that arrive at the router together, and synthetic counts.

use headway_papers::{Outcome, Paper, Values};
use headway_record::{DelaySummary, DropCounts, SeriesNames, SeriesTable, Summary, metric};
use headway_scenario::{NoFiles, Scenario, load};
use headway_sim::simulate;
use headway_units::{DropCause, Instant};

fn star(text: &str, set: &[&str]) -> Scenario {
    let overrides: Vec<_> = set.iter().map(|set| set.parse().unwrap()).collect();
    load("star.toml", text, &overrides, &NoFiles).unwrap().scenario
}

const UDP: &str = include_str!("../../../../papers/lan-queues/scenarios/udp.toml");
const TCP: &str = include_str!("../../../../papers/lan-queues/scenarios/tcp.toml");

fn run(scenario: &Scenario) -> Summary {
    simulate(scenario).unwrap().summary
}

fn values(scenario: &Scenario, summary: &Summary) -> Values {
    measure(&Outcome { scenario, summary, series: None })
}

fn measure(outcome: &Outcome<'_>) -> Values {
    Paper::find("lan-queues").unwrap().claims().unwrap().metrics.of(outcome).unwrap()
}

fn close(values: &Values, expected: &[(&str, f64)]) {
    for (name, expected) in expected {
        let found = values[*name];
        assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1e-3), "{name} is {found}, not {expected}");
    }
}

/// Three clients write 1500 B at the same time, every 12 ms. Each packet takes 1.2 + 3 ms to the router. The first is
/// forwarded immediately, the second waits 0.24 ms, the third 0.48 ms: the mean wait is 0.24 ms in addition to the
/// 14.44 ms of an idle network. No packet waits at its client, so A = B; there are no acknowledgements, so A = D; C
/// excludes the client's 1.2 ms.
#[test]
fn simultaneous_packets_wait_in_the_queue() {
    let three = star(UDP, &["flow[udp].start=0s", "flow[udp].source.rate=1Mbps", "duration=10s"]);
    let found = values(&three, &run(&three));
    let a = 14.44 + 0.24;
    close(
        &found,
        &[("delay_a_ms", a), ("delay_b_ms", a), ("delay_c_ms", a - 1.2), ("delay_d_ms", a), ("loss_pct", 0.0)],
    );
}

/// With a queue of one packet, which is a limit of two in ns-2, the third packet is dropped, and one of the other two
/// waits 0.24 ms.
#[test]
fn dropped_packets_do_not_count_in_waits() {
    let sets =
        ["flow[udp].start=0s", "flow[udp].source.rate=1Mbps", "duration=10s", "link[uplink].queue.limit=2packets"];
    let three = star(UDP, &sets);
    let found = values(&three, &run(&three));
    let a = 14.44 + 0.12;
    close(&found, &[("delay_a_ms", a), ("delay_b_ms", a), ("delay_c_ms", a - 1.2)]);
    // The last of 834 packets of each client is still in transit at the end.
    assert!((found["loss_pct"] - 100.0 / 3.0).abs() < 0.05, "{}", found["loss_pct"]);
}

fn drops(count: u64) -> DropCounts {
    let mut drops = DropCounts::default();
    (0..count).for_each(|_| drops.add(DropCause::QueueFull));
    drops
}

/// Two TCP clients over 20 s. Data: 100 packets of 20 ms and 300 of 30 ms, in total 11 000 ms. Waits (mean queue times
/// 20 000 ms): 8000 ms at the link to the server, 200 ms at the link to the router, 40 and 60 ms at the links to the
/// clients. C: 8000 ms over 400 departing packets: 13.24 + 20. B: 1.2 ms more. D: with 400 acknowledgements of 3 + 10
/// ms + 32 us + 6.4 us and the waits on the reverse path: (11 000 + 400 x 13.0384 + 200 + 40 + 60) / 800 = 20.6442.
/// Losses: 120 of 520 data packets; with 10 of 410 acknowledgements, 130 of 930.
#[test]
fn waits_and_losses_in_both_directions() {
    let scenario = star(TCP, &["node[client].count=2", "duration=1s"]);
    let mut summary = run(&scenario);
    (summary.interval.from, summary.interval.to) = (5.0, 25.0);
    for (flow, (sent, received, lost, mean, rate)) in
        summary.flows.iter_mut().zip([(140, 100, 40, 0.020, 2e6), (380, 300, 80, 0.030, 6e6)])
    {
        (flow.sent_packets, flow.received_packets, flow.lost_packets) = (sent, received, drops(lost));
        flow.one_way_delay_s = Some(DelaySummary { mean, p50: mean, p95: mean, p99: mean, max: mean });
        flow.throughput_bps = rate;
    }
    for link in &mut summary.links {
        let (arrived, dropped, waiting) = match (link.from.as_str(), link.to.as_str()) {
            ("router", "server") => (520, 120, 0.4),
            ("server", "router") => (410, 10, 0.01),
            ("router", "client1") => (100, 0, 0.002),
            ("router", "client2") => (300, 0, 0.003),
            (_, "router") => (260, 0, 0.7),
            (from, to) => panic!("{from} to {to}"),
        };
        (link.arrived_packets, link.dropped_packets, link.mean_queue_packets) = (arrived, drops(dropped), waiting);
        link.utilisation = if link.to == "server" { 0.625 } else { 0.25 };
    }
    close(
        &values(&scenario, &summary),
        &[
            ("delay_a_ms", 27.5),
            ("delay_b_ms", 34.44),
            ("delay_c_ms", 33.24),
            ("delay_d_ms", 20.644_2),
            ("throughput_kbps", 4000.0),
            ("throughput_min_kbps", 2000.0),
            ("throughput_max_kbps", 6000.0),
            ("loss_pct", 100.0 * 120.0 / 520.0),
            ("loss_all_pct", 100.0 * 130.0 / 930.0),
            ("utilisation_pct", 62.5),
            // Each client's share of the bottleneck is 25 Mb/s, and its link has 10 Mb/s.
            ("fair_share_kbps", 10_000.0),
            ("clients", 2.0),
        ],
    );
}

/// 50 Mb/s divided by ten clients.
#[test]
fn the_bottleneck_limits_the_fair_share() {
    let ten = star(UDP, &["node[client].count=10", "duration=1s"]);
    close(&values(&ten, &run(&ten)), &[("fair_share_kbps", 5_000.0)]);
}

/// Two clients lose together before the measurement starts at 1 s, and in turns after it: each loses in one of two
/// bins, not in the same, so the correlation is -1.
#[test]
fn only_measured_losses_correlate() {
    let scenario = star(UDP, &["node[client].count=2", "duration=4s", "measure_from=1s"]);
    let summary = run(&scenario);
    let mut names = SeriesNames::default();
    let ids: Vec<_> = summary.flows.iter().map(|flow| names.series(&flow.name, metric::LOSS)).collect();
    let mut samples = names.samples();
    for (id, lost) in ids.into_iter().zip([[0.0, 1.0, 1.0, 2.0, 2.0], [0.0, 1.0, 1.0, 1.0, 2.0]]) {
        for (half, total) in (0u64..).zip(lost) {
            samples.push(id, Instant::from_millis(500 * half), total);
        }
    }
    let mut bytes = Vec::new();
    samples.finish(&mut bytes).unwrap();
    let series = SeriesTable::from_ipc(&bytes).unwrap();
    let run = Outcome { scenario: &scenario, summary: &summary, series: Some(&series) };
    close(&measure(&run), &[("loss_correlation", -1.0)]);
}
