//! Metrics of the paper on UDPm (see `papers/udpm`): a media flow and a NewReno flow in a dumbbell with a RED
//! bottleneck, `r1->r2`.
//!
//! The media flow is `media`, over any transport; its competitor is `ftp` or `web`. The queue is counted in packets of
//! 1000 B, as in the paper.

use crate::metric::{Metric, Outcome};
use headway_link::QueueOptions;
use headway_media::SourceOptions;
use headway_record::{FlowSummary, LinkFlowSummary, LinkSummary, SessionsSummary, metric as series};
use headway_scenario::Link;

const MEDIA: &str = "media";
const FTP: &str = "ftp";
const WEB: &str = "web";
/// Packet size of the paper (section 4.3.1).
const PACKET_BYTES: f64 = 1000.0;
/// End of the slow start of TCP and of the media, in s.
const SETTLED_S: f64 = 5.0;

pub(crate) const METRICS: &[Metric] = &[
    count("arrivals", |run| Some(bottleneck(run)?.arrived_packets as f64)),
    count("media_arrivals", |run| Some(at(run, MEDIA)?.arrived_packets as f64)),
    count("ftp_arrivals", |run| Some(at(run, FTP)?.arrived_packets as f64)),
    count("drops", |run| Some(bottleneck(run)?.dropped_packets.total() as f64)),
    count("media_drops", |run| Some(at(run, MEDIA)?.dropped_packets.total() as f64)),
    count("ftp_drops", |run| Some(at(run, FTP)?.dropped_packets.total() as f64)),
    count("marks", |run| Some(bottleneck(run)?.marked_packets as f64)),
    // Section 4.3.2: dropped packets as a share of arrived packets.
    Metric { name: "loss_pct", unit: "%", decimals: 3, of: loss },
    Metric { name: "media_loss_pct", unit: "%", decimals: 3, of: |run| Some(100.0 * share(at(run, MEDIA)?)) },
    Metric { name: "queue_packets", unit: "", decimals: 3, of: |run| Some(bottleneck(run)?.mean_queue_packets) },
    Metric {
        name: "queue_peak_packets",
        unit: "",
        decimals: 1,
        of: |run| Some(bottleneck(run)?.peak_queue_packets as f64),
    },
    Metric {
        name: "red_average_packets",
        unit: "",
        decimals: 3,
        of: |run| Some(bottleneck(run)?.mean_red_average? * red_unit(run)?),
    },
    Metric { name: "red_average_std_packets", unit: "", decimals: 3, of: red_average_std },
    // Fig. 6: "oscillates"; Fig. 7: "small oscillations".
    Metric { name: "queue_cov_pct", unit: "%", decimals: 2, of: queue_cov },
    // Fig. 7: TCP alone, before the media starts.
    Metric { name: "start_queue_packets", unit: "", decimals: 1, of: start_queue },
    // Section 4.3.1: Dq = q * 1000 B * 8 / 2 Mb/s.
    Metric { name: "queue_delay_ms", unit: "ms", decimals: 1, of: queue_delay },
    kbps("media_kbps", |run| Some(since_start(run, MEDIA)? / 1e3)),
    kbps("ftp_kbps", |run| Some(flow(run, FTP)?.throughput_bps / 1e3)),
    kbps("media_offered_kbps", media_offered),
    // After slow start, as a share of the link.
    Metric { name: "media_settled_pct", unit: "%", decimals: 2, of: |run| settled(run, MEDIA) },
    Metric { name: "ftp_settled_pct", unit: "%", decimals: 2, of: |run| settled(run, FTP) },
    Metric {
        name: "both_settled_pct",
        unit: "%",
        decimals: 2,
        of: |run| Some(settled(run, MEDIA)? + settled(run, FTP)?),
    },
    Metric { name: "media_cov_pct", unit: "%", decimals: 2, of: media_cov },
    Metric { name: "used_pct", unit: "%", decimals: 2, of: |run| Some(100.0 * bottleneck(run)?.utilisation) },
    Metric {
        name: "media_share_pct",
        unit: "%",
        decimals: 1,
        of: |run| Some(100.0 * of_both(run, |flow| flow.sent_bytes)?),
    },
    // Section 4.3.3: a flow's share of the drops minus its share of the throughput.
    Metric { name: "drop_unfairness", unit: "", decimals: 3, of: drop_unfairness },
    count("ftp_timeouts", |run| Some(flow(run, FTP)?.timeouts? as f64)),
    Metric {
        name: "ftp_drops_pct",
        unit: "%",
        decimals: 2,
        of: |run| {
            Some(100.0 * at(run, FTP)?.dropped_packets.total() as f64 / bottleneck(run)?.dropped_packets.total() as f64)
        },
    },
    Metric { name: "arrivals_r2", unit: "", decimals: 4, of: |run| straightness(run, LINK, series::ARRIVED) },
    Metric {
        name: "media_arrivals_r2",
        unit: "",
        decimals: 4,
        of: |run| straightness(run, LINK_MEDIA, series::ARRIVED),
    },
    Metric { name: "drops_r2", unit: "", decimals: 4, of: |run| straightness(run, LINK, series::DROPPED) },
    Metric { name: "half_of_drops_s", unit: "s", decimals: 1, of: half_of_drops },
    // Section 4.2.
    Metric {
        name: "sessions_per_s",
        unit: "1/s",
        decimals: 2,
        of: |run| Some(sessions(run)?.arrived as f64 / active_s(run, WEB)?),
    },
    kbps("offered_kbps", |run| Some(sessions(run)?.offered_bps / 1e3 + media_offered(run)?)),
    kbps("web_kbps", |run| Some(flow(run, WEB)?.throughput_bps / 1e3)),
    Metric {
        name: "web_completed_pct",
        unit: "%",
        decimals: 1,
        of: |run| Some(100.0 * sessions(run)?.completed as f64 / sessions(run)?.arrived as f64),
    },
    Metric { name: "web_median_s", unit: "s", decimals: 3, of: |run| Some(sessions(run)?.completion_s?.p50) },
    Metric { name: "web_p95_s", unit: "s", decimals: 2, of: |run| Some(sessions(run)?.completion_s?.p95) },
    Metric {
        name: "media_delay_ms",
        unit: "ms",
        decimals: 1,
        of: |run| Some(flow(run, MEDIA)?.one_way_delay_s?.mean * 1e3),
    },
];

const LINK: &str = "r1->r2";
const LINK_MEDIA: &str = "r1->r2/media";

type Of = fn(&Outcome<'_>) -> Option<f64>;

const fn count(name: &'static str, of: Of) -> Metric {
    Metric { name, unit: "", decimals: 1, of }
}

const fn kbps(name: &'static str, of: Of) -> Metric {
    Metric { name, unit: "kb/s", decimals: 1, of }
}

fn bottleneck<'a>(run: &Outcome<'a>) -> Option<&'a LinkSummary> {
    run.summary.links.iter().find(|link| link.from == "r1" && link.to == "r2")
}

fn bottleneck_link<'a>(run: &Outcome<'a>) -> Option<&'a Link> {
    let name = |node: usize| run.scenario.nodes[node].as_str();
    run.scenario.links.iter().find(|link| name(link.from) == "r1" && name(link.to) == "r2")
}

fn flow<'a>(run: &Outcome<'a>, name: &str) -> Option<&'a FlowSummary> {
    run.summary.flows.iter().find(|flow| flow.name == name)
}

/// Returns the counts of a flow at the bottleneck.
fn at<'a>(run: &Outcome<'a>, name: &str) -> Option<&'a LinkFlowSummary> {
    bottleneck(run)?.flows.iter().find(|flow| flow.name == name)
}

fn share(flow: &LinkFlowSummary) -> f64 {
    flow.dropped_packets.total() as f64 / flow.arrived_packets as f64
}

fn loss(run: &Outcome<'_>) -> Option<f64> {
    let link = bottleneck(run)?;
    Some(100.0 * link.dropped_packets.total() as f64 / link.arrived_packets as f64)
}

/// Returns the size of RED's units in packets of the paper: RED counts in units of `mean_packet` if it counts bytes.
fn red_unit(run: &Outcome<'_>) -> Option<f64> {
    match &bottleneck_link(run)?.queue {
        QueueOptions::Red(red) if red.in_bytes => Some(red.mean_packet.count() as f64 / PACKET_BYTES),
        QueueOptions::Red(_) => Some(1.0),
        _ => None,
    }
}

/// Returns the samples after slow start: times in s, and values.
fn samples(run: &Outcome<'_>, entity: &str, metric: &str) -> Option<Vec<(f64, f64)>> {
    let samples = run.series?.samples(entity, metric).iter().map(|(at, value)| (at.as_secs_f64(), *value));
    let settled: Vec<(f64, f64)> = samples.filter(|(at, _)| *at > SETTLED_S).collect();
    (!settled.is_empty()).then_some(settled)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn std(values: &[f64]) -> f64 {
    let center = mean(values);
    (values.iter().map(|value| (value - center) * (value - center)).sum::<f64>() / values.len() as f64).sqrt()
}

fn values(samples: Vec<(f64, f64)>) -> Vec<f64> {
    samples.into_iter().map(|(_, value)| value).collect()
}

fn red_average_std(run: &Outcome<'_>) -> Option<f64> {
    Some(std(&values(samples(run, LINK, series::RED_AVERAGE)?)) * red_unit(run)?)
}

/// Returns the coefficient of variation of the samples after slow start.
fn cov_pct(samples: &[f64]) -> f64 {
    100.0 * std(samples) / mean(samples)
}

fn queue_cov(run: &Outcome<'_>) -> Option<f64> {
    Some(cov_pct(&values(samples(run, LINK, series::QUEUE)?)))
}

/// Returns the largest sample of the queue until the media starts.
fn start_queue(run: &Outcome<'_>) -> Option<f64> {
    let media = run.scenario.flows.iter().find(|flow| flow.name == MEDIA)?.start.earliest();
    let samples = run.series?.samples(LINK, series::QUEUE);
    samples.iter().take_while(|(at, _)| *at <= media).map(|(_, value)| *value).reduce(f64::max)
}

fn queue_delay(run: &Outcome<'_>) -> Option<f64> {
    let rate = bottleneck_link(run)?.rate.bits_per_second() as f64;
    Some(bottleneck(run)?.mean_queue_packets * PACKET_BYTES * 8.0 / rate * 1e3)
}

/// Returns the measured time after the start of a flow, in s.
fn active_s(run: &Outcome<'_>, name: &str) -> Option<f64> {
    let start = run.scenario.flows.iter().find(|flow| flow.name == name)?.start.earliest().as_secs_f64();
    let interval = run.summary.interval;
    Some(interval.to - interval.from.max(start))
}

/// Returns the rate that the source sent, including lost packets, in kb/s. All its packets have the same size.
fn media_offered(run: &Outcome<'_>) -> Option<f64> {
    let media = run.scenario.flows.iter().find(|flow| flow.name == MEDIA)?;
    let SourceOptions::Cbr(cbr) = &*media.source else { return None };
    Some(flow(run, MEDIA)?.sent_packets as f64 * cbr.size?.count() as f64 * 8.0 / active_s(run, MEDIA)? / 1e3)
}

fn sessions<'a>(run: &Outcome<'a>) -> Option<&'a SessionsSummary> {
    flow(run, WEB)?.sessions.as_ref()
}

/// Returns the throughput from the flow's start on, in bit/s.
fn since_start(run: &Outcome<'_>, name: &str) -> Option<f64> {
    let interval = run.summary.interval;
    Some(flow(run, name)?.throughput_bps * (interval.to - interval.from) / active_s(run, name)?)
}

/// Returns the throughput after slow start, in % of the bottleneck's rate.
fn settled(run: &Outcome<'_>, name: &str) -> Option<f64> {
    let rate = bottleneck_link(run)?.rate.bits_per_second() as f64;
    Some(100.0 * mean(&values(samples(run, name, series::THROUGHPUT)?)) / rate)
}

/// Returns the coefficient of variation of the media's throughput over the bins of the series.
fn media_cov(run: &Outcome<'_>) -> Option<f64> {
    Some(cov_pct(&values(samples(run, MEDIA, series::THROUGHPUT)?)))
}

/// Returns the media's share of the sum of a count over both flows.
fn of_both(run: &Outcome<'_>, of: fn(&LinkFlowSummary) -> u64) -> Option<f64> {
    let (media, ftp) = (of(at(run, MEDIA)?) as f64, of(at(run, FTP)?) as f64);
    Some(media / (media + ftp))
}

fn drop_unfairness(run: &Outcome<'_>) -> Option<f64> {
    Some((of_both(run, |flow| flow.dropped_packets.total())? - of_both(run, |flow| flow.sent_bytes)?).abs())
}

/// Returns R squared of a linear fit to a running total after slow start.
fn straightness(run: &Outcome<'_>, entity: &str, metric: &str) -> Option<f64> {
    let (times, totals): (Vec<f64>, Vec<f64>) = samples(run, entity, metric)?.into_iter().unzip();
    let (at, of) = (mean(&times), mean(&totals));
    let sum = |product: fn(f64, f64) -> f64| -> f64 {
        times.iter().zip(&totals).map(|(time, total)| product(time - at, total - of)).sum()
    };
    let (both, first, second) = (sum(|a, b| a * b), sum(|a, _| a * a), sum(|_, b| b * b));
    Some(both * both / (first * second))
}

/// Returns the time of the first sample with at least half of all drops, in s.
fn half_of_drops(run: &Outcome<'_>) -> Option<f64> {
    let drops = run.series?.samples(LINK, series::DROPPED);
    let half = drops.last()?.1 / 2.0;
    drops.iter().find(|(_, total)| *total >= half).map(|(at, _)| at.as_secs_f64())
}
