//! Metrics of the paper on packet spacing (see `papers/packet-spacing`): senders with packet spacing, the flows
//! `psa..`, alone or next to the TCP flows `tcp..`, on the link `middle->sink`.
//!
//! Rates count received packets of 1500 B with headers: the paper's receiver throughput.

use crate::metric::{Metric, Outcome, flows, mean};
use headway_record::{FlowSummary, GapSummary, LinkFlowSummary, LinkSummary, jain_index, metric as series};

const PSA: &str = "psa";
const TCP: &str = "tcp";
/// Bytes of data in a TCP segment of 1500 B.
const DATA: f64 = 1460.0;
const PACKET: f64 = 1500.0;
/// Base round-trip time of section 3.1, 2 x (2 ms + 40 ms).
const RTT_S: f64 = 0.084;
/// Round-trip time of section 1.2.
const AIMD_RTT_S: f64 = 0.1;
/// Relative tolerance within which the rates of two senders have converged.
const CLOSE: f64 = 0.05;
/// A sample below this fraction of the previous one counts as a halving; the rate may rise a few steps between samples.
const HALVED: f64 = 0.7;

pub(crate) const METRICS: &[Metric] = &[
    mbps("psa_mbps", |run| mean(&flows(run, PSA).map(|flow| flow.throughput_bps / 1e6).collect::<Vec<_>>())),
    mbps("psa1_mbps", |run| Some(first(run, PSA)?.throughput_bps / 1e6)),
    mbps("psa_low_mbps", |run| flows(run, PSA).map(|flow| flow.throughput_bps / 1e6).reduce(f64::min)),
    mbps("psa_high_mbps", |run| flows(run, PSA).map(|flow| flow.throughput_bps / 1e6).reduce(f64::max)),
    mbps("psa_sent_mbps", |run| {
        let seconds = run.summary.interval.to - run.summary.interval.from;
        mean(&flows(run, PSA).map(|flow| flow.sent_packets as f64 * PACKET * 8e-6 / seconds).collect::<Vec<_>>())
    }),
    percent("psa_loss_pct", |run| loss(at_trunk(run, PSA))),
    // Share of sent packets that do not arrive, lost at any place.
    percent("psa_sent_loss_pct", |run| {
        let count = |of: fn(&FlowSummary) -> u64| flows(run, PSA).map(of).sum::<u64>() as f64;
        let sent = count(|flow| flow.sent_packets);
        (sent > 0.0).then(|| 100.0 * (1.0 - count(|flow| flow.received_packets) / sent))
    }),
    percent("psa1_loss_pct", |run| loss(at_trunk(run, PSA).take(1))),
    Metric { name: "psa_jain", unit: "", decimals: 4, of: jain },
    mbps("tcp_mbps", |run| mean(&tcps(run))),
    mbps("tcp1_mbps", |run| tcps(run).first().copied()),
    percent("tcp_loss_pct", |run| loss(at_trunk(run, TCP))),
    percent("tcp1_loss_pct", |run| loss(at_trunk(run, TCP).take(1))),
    Metric { name: "tcp_sum_mbps", unit: "Mb/s", decimals: 2, of: |run| Some(tcps(run).iter().sum()) },
    Metric { name: "total_mbps", unit: "Mb/s", decimals: 2, of: total },
    percent("used_pct", |run| Some(100.0 * trunk(run)?.utilisation)),
    // Section 3.2.3, first sender, between packets without a loss in between, on the trunk: from the end of a packet to
    // the start of the next, and from start to start.
    Metric { name: "gap_us", unit: "us", decimals: 2, of: |run| Some(unbroken(run)?.mean * 1e6 - packet_us(run)?) },
    Metric { name: "period_us", unit: "us", decimals: 2, of: |run| Some(unbroken(run)?.mean * 1e6) },
    Metric { name: "gap_sd_us", unit: "us", decimals: 2, of: |run| Some(unbroken(run)?.std * 1e6) },
    // The same metrics including gaps with losses.
    Metric {
        name: "broken_period_us",
        unit: "us",
        decimals: 2,
        of: |run| Some(at_trunk(run, PSA).next()?.gap_s?.mean * 1e6),
    },
    Metric {
        name: "broken_gap_sd_us",
        unit: "us",
        decimals: 2,
        of: |run| Some(at_trunk(run, PSA).next()?.gap_s?.std * 1e6),
    },
    // Section 3.3.
    Metric {
        name: "psa_packets_rtt",
        unit: "",
        decimals: 1,
        of: |run| mean(&flows(run, PSA).map(|flow| packets_rtt(run, flow)).collect::<Vec<_>>()),
    },
    Metric {
        name: "psa_low_packets_rtt",
        unit: "",
        decimals: 1,
        of: |run| flows(run, PSA).map(|flow| packets_rtt(run, flow)).reduce(f64::min),
    },
    Metric {
        name: "psa_high_packets_rtt",
        unit: "",
        decimals: 1,
        of: |run| flows(run, PSA).map(|flow| packets_rtt(run, flow)).reduce(f64::max),
    },
    Metric { name: "psa_over_tcp", unit: "", decimals: 3, of: over_tcp },
    // Distance from an even share in either direction: the ratio or its inverse.
    Metric {
        name: "unevenness",
        unit: "",
        decimals: 3,
        of: |run| over_tcp(run).map(|ratio| if ratio >= 1.0 { ratio } else { 1.0 / ratio }),
    },
    Metric { name: "psa_cov", unit: "", decimals: 4, of: |run| mean(&covs(run, PSA)?) },
    Metric { name: "tcp_cov", unit: "", decimals: 4, of: |run| mean(&covs(run, TCP)?) },
    Metric { name: "halvings_100_rtt", unit: "", decimals: 2, of: halvings },
    Metric { name: "met_after_rtts", unit: "", decimals: 0, of: met_after },
    Metric {
        name: "psa_delay_ms",
        unit: "ms",
        decimals: 2,
        of: |run| {
            // Senders without received packets are skipped: of two blasting senders one can be locked out by its phase.
            let delays = flows(run, PSA).filter_map(|flow| Some(flow.one_way_delay_s.as_ref()?.mean * 1e3));
            mean(&delays.collect::<Vec<_>>())
        },
    },
    // Section 1.2: round trips of 100 ms in which a TCP window grows by 50 Mb, at the measured pace, and from 500 to
    // 1000 packets.
    Metric {
        name: "rtts_50_mb",
        unit: "RTT",
        decimals: 1,
        of: |run| Some(50e6 / (PACKET * 8.0) * growth(run, 500.0, 1100.0)? / 600.0),
    },
    Metric { name: "rtts_500_1000", unit: "RTT", decimals: 1, of: |run| growth(run, 500.0, 1000.0) },
    // Future work: bursts. Share of frames (bursts) that arrive completely, and their delay.
    percent("bursts_whole_pct", |run| {
        let (mut written, mut complete) = (0, 0);
        for frames in flows(run, PSA).flat_map(|flow| flow.frames.values()) {
            written += frames.written_frames;
            complete += frames.complete_frames;
        }
        (written > 0).then_some(100.0 * complete as f64 / written as f64)
    }),
    Metric {
        name: "burst_p50_ms",
        unit: "ms",
        decimals: 1,
        of: |run| {
            let delays = flows(run, PSA)
                .flat_map(|flow| flow.frames.values())
                .map(|frames| Some(frames.delay_s.as_ref()?.p50 * 1e3));
            mean(&delays.collect::<Option<Vec<_>>>()?)
        },
    },
];

type Of = fn(&Outcome<'_>) -> Option<f64>;

const fn mbps(name: &'static str, of: Of) -> Metric {
    Metric { name, unit: "Mb/s", decimals: 3, of }
}

const fn percent(name: &'static str, of: Of) -> Metric {
    Metric { name, unit: "%", decimals: 3, of }
}

fn first<'a>(run: &Outcome<'a>, prefix: &'static str) -> Option<&'a FlowSummary> {
    flows(run, prefix).next()
}

fn trunk<'a>(run: &Outcome<'a>) -> Option<&'a LinkSummary> {
    run.summary.links.iter().find(|link| link.from == "middle" && link.to == "sink")
}

fn at_trunk<'a>(run: &Outcome<'a>, prefix: &'static str) -> impl Iterator<Item = &'a LinkFlowSummary> {
    let flows = trunk(run).map(|link| link.flows.iter());
    flows.into_iter().flatten().filter(move |flow| flow.name.starts_with(prefix))
}

/// Returns dropped packets in % of arrived packets.
fn loss<'a>(flows: impl Iterator<Item = &'a LinkFlowSummary>) -> Option<f64> {
    let (mut dropped, mut arrived) = (0, 0);
    for flow in flows {
        dropped += flow.dropped_packets.total();
        arrived += flow.arrived_packets;
    }
    (arrived > 0).then_some(100.0 * dropped as f64 / arrived as f64)
}

/// Returns the goodput of each TCP, scaled to full packets with headers, in Mb/s.
fn tcps(run: &Outcome<'_>) -> Vec<f64> {
    flows(run, TCP).map(|flow| flow.goodput_bps * PACKET / DATA / 1e6).collect()
}

fn total(run: &Outcome<'_>) -> Option<f64> {
    let spaced: f64 = flows(run, PSA).map(|flow| flow.throughput_bps / 1e6).sum();
    Some(spaced + tcps(run).iter().sum::<f64>())
}

fn jain(run: &Outcome<'_>) -> Option<f64> {
    jain_index(&flows(run, PSA).map(|flow| flow.throughput_bps).collect::<Vec<_>>())
}

fn unbroken(run: &Outcome<'_>) -> Option<GapSummary> {
    at_trunk(run, PSA).next()?.unbroken_gap_s
}

/// Returns the transmission time of a packet of the first sender on the trunk, in us.
fn packet_us(run: &Outcome<'_>) -> Option<f64> {
    let flow = at_trunk(run, PSA).next()?;
    let name = |node: usize| run.scenario.nodes[node].as_str();
    let link = run.scenario.links.iter().find(|link| name(link.from) == "middle" && name(link.to) == "sink")?;
    Some(flow.sent_bytes as f64 * 8e6 / flow.sent_packets as f64 / link.rate.bits_per_second() as f64)
}

/// Returns the number of full packets of the flow that arrive per base round-trip time.
fn packets_rtt(run: &Outcome<'_>, flow: &FlowSummary) -> f64 {
    let of = run.scenario.flows.iter().find(|of| of.name == flow.name);
    let packet = of.map_or(PACKET, |of| of.transport.full_packet().count() as f64);
    flow.throughput_bps / (packet * 8.0) * RTT_S
}

fn over_tcp(run: &Outcome<'_>) -> Option<f64> {
    let spaced: Vec<f64> = flows(run, PSA).map(|flow| flow.throughput_bps / 1e6).collect();
    Some(mean(&spaced)? / mean(&tcps(run))?)
}

/// Returns the samples of a flow in the measured interval: times in s, and values.
fn samples(run: &Outcome<'_>, flow: &str, metric: &str) -> Option<Vec<(f64, f64)>> {
    let from = run.summary.interval.from;
    let samples = run.series?.samples(flow, metric).iter().map(|(at, value)| (at.as_secs_f64(), *value));
    let measured: Vec<_> = samples.filter(|(at, _)| *at > from).collect();
    (!measured.is_empty()).then_some(measured)
}

fn covs(run: &Outcome<'_>, prefix: &'static str) -> Option<Vec<f64>> {
    flows(run, prefix).map(|flow| flow.rate_cov).collect()
}

/// Returns the round trips in which a TCP window grows from `from` to `to` packets.
fn growth(run: &Outcome<'_>, from: f64, to: f64) -> Option<f64> {
    let windows = run.series?.samples("tcp1", series::CWND);
    let reached = |window: f64| {
        let (before, after) = windows.iter().zip(windows.get(1..)?).find(|(_, after)| after.1 >= window)?;
        let part = (window - before.1) / (after.1 - before.1);
        Some(before.0.as_secs_f64() + part * (after.0.as_secs_f64() - before.0.as_secs_f64()))
    };
    Some((reached(to)? - reached(from)?) / AIMD_RTT_S)
}

/// Returns how often per 100 round trips a sender's rate falls below 70 % of the previous sample.
fn halvings(run: &Outcome<'_>) -> Option<f64> {
    let halvings = |flow: &FlowSummary| {
        let rates = samples(run, &flow.name, series::ALLOWED_RATE)?;
        let fell = rates.windows(2).filter(|pair| pair[1].1 < HALVED * pair[0].1).count();
        Some(fell as f64 / ((rates.last()?.0 - rates.first()?.0) / RTT_S / 100.0))
    };
    mean(&flows(run, PSA).map(halvings).collect::<Option<Vec<_>>>()?)
}

/// Returns the round trips from the start of the later sender until both rates are within 5 % of their mean, or until
/// the last sample if they never are.
fn met_after(run: &Outcome<'_>) -> Option<f64> {
    let flows: Vec<_> = run.scenario.flows.iter().filter(|flow| flow.name.starts_with(PSA)).collect();
    let start = flows.iter().map(|flow| flow.start.earliest().as_secs_f64()).reduce(f64::max)?;
    let rates = |name: &str| Some(run.series?.samples(name, series::THROUGHPUT));
    let [one, other] = flows[..] else { return None };
    let (one, other) = (rates(&one.name)?, rates(&other.name)?);
    let close = |a: f64, b: f64| (a - b).abs() <= CLOSE * (a + b);
    let mut later = one.iter().zip(other).filter(|((at, _), _)| at.as_secs_f64() > start + 2.0 * RTT_S);
    let met = later.clone().find(|((_, a), (_, b))| close(*a, *b)).map(|((at, _), _)| at.as_secs_f64());
    Some((met.or(later.next_back().map(|((at, _), _)| at.as_secs_f64()))? - start) / RTT_S)
}
