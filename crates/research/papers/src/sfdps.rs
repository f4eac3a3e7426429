//! Metrics of the paper on SFDPS, "Sending the Finest Data Package Subsequent" (see `papers/sfdps`): a video call with
//! a send queue that uses priority and expiry, over DCCP with CCID 3, next to TCP Reno flows or on a lossy path.
//!
//! The call is the flow `call`; every flow of a kind `tcp-...` is a competitor. Percentages are shares of what the
//! application wrote. The source itself is measured where the call uses UDP, without a send queue. No metric reads an
//! option back: inputs of the paper are measured by the packets.

use crate::metric::{Metric, Outcome, mean};
use headway_media::SourceOptions;
use headway_record::{FlowSummary, SendQueueSummary, metric as series};
use headway_scenario::Flow;
use headway_units::MediaKind;

use MediaKind::{Audio, Video};

pub(crate) const METRICS: &[Metric] = &[
    percent("audio_on_time_pct", |run| on_time(run, Audio)),
    percent("video_on_time_pct", |run| on_time(run, Video)),
    // Fig. 3: received minus on time. Received is the sum of on time and late.
    Metric { name: "audio_late_pct", unit: "%", decimals: 3, of: |run| late(run, Audio) },
    Metric { name: "video_late_pct", unit: "%", decimals: 3, of: |run| late(run, Video) },
    percent("audio_less_video_late_pct", |run| Some(late(run, Audio)? - late(run, Video)?)),
    // Percentage points that a queue shifts between audio and video.
    percent("audio_less_video_on_time_pct", |run| Some(on_time(run, Audio)? - on_time(run, Video)?)),
    percent("audio_plus_video_on_time_pct", |run| Some(on_time(run, Audio)? + on_time(run, Video)?)),
    percent("third_of_audio_plus_video_on_time_pct", |run| Some(on_time(run, Audio)? / 3.0 + on_time(run, Video)?)),
    percent("audio_refused_pct", |run| unsent(run, Audio, |queue| queue.refused_packets)),
    percent("audio_pushed_out_pct", |run| unsent(run, Audio, |queue| queue.pushed_out_packets)),
    percent("audio_expired_pct", |run| unsent(run, Audio, |queue| queue.expired_packets)),
    percent("video_refused_pct", |run| unsent(run, Video, |queue| queue.refused_packets)),
    percent("video_pushed_out_pct", |run| unsent(run, Video, |queue| queue.pushed_out_packets)),
    percent("video_expired_pct", |run| unsent(run, Video, |queue| queue.expired_packets)),
    millis("audio_wait_ms", |run| Some(queue(run, Audio)?.mean_wait_s? * 1e3)),
    millis("video_wait_ms", |run| Some(queue(run, Video)?.mean_wait_s? * 1e3)),
    kbps("call_kbps", |run| call_queued(run).map(|(_, call)| call.throughput_bps / 1e3)),
    percent("call_loss_pct", |run| call_queued(run).map(|(_, call)| 100.0 * call.loss_ratio)),
    millis("call_rtt_ms", |run| Some(call_queued(run)?.1.rtt_s?.mean * 1e3)),
    kbps("allowed_rate_kbps", allowed_rate),
    kbps("tcp_kbps", tcp_rate),
    millis("least_rtt_ms", |run| Some(call_queued(run)?.1.rtt_s?.min * 1e3)),
    percent("collapsed_pct", collapsed),
    // The source without a send queue.
    kbps("written_kbps", |run| Some(written(run)?.bits / written(run)?.seconds / 1e3)),
    Metric { name: "mean_packet_bytes", unit: "B", decimals: 2, of: mean_packet },
    Metric { name: "packets_in_16_kib", unit: "", decimals: 2, of: |run| Some(16384.0 / mean_packet(run)?) },
    Metric {
        name: "packet_gap_ms",
        unit: "ms",
        decimals: 3,
        of: |run| Some(1e3 * written(run)?.seconds / written(run)?.packets),
    },
    // Only for sources with one packet per frame, spaced so that no packet waits for another.
    Metric { name: "p95_packet_bytes", unit: "B", decimals: 0, of: p95_packet },
    // Lai and Kohler's ring: video of I, P and B frames, one packet each.
    percent("i_on_time_pct", |run| on_time(run, MediaKind::VideoI)),
    percent("p_on_time_pct", |run| on_time(run, MediaKind::VideoP)),
    percent("b_on_time_pct", |run| on_time(run, MediaKind::VideoB)),
];

type Of = fn(&Outcome<'_>) -> Option<f64>;

const fn percent(name: &'static str, of: Of) -> Metric {
    Metric { name, unit: "%", decimals: 1, of }
}

const fn millis(name: &'static str, of: Of) -> Metric {
    Metric { name, unit: "ms", decimals: 1, of }
}

const fn kbps(name: &'static str, of: Of) -> Metric {
    Metric { name, unit: "kb/s", decimals: 1, of }
}

fn call<'a>(run: &Outcome<'a>) -> Option<(&'a Flow, &'a FlowSummary)> {
    let flow = run.scenario.flows.iter().find(|flow| flow.name == "call")?;
    Some((flow, run.summary.flows.iter().find(|flow| flow.name == "call")?))
}

/// Returns the call if it has a send queue.
fn call_queued<'a>(run: &Outcome<'a>) -> Option<(&'a Flow, &'a FlowSummary)> {
    call(run).filter(|(flow, _)| flow.transport.controller().is_some())
}

/// Returns the call if it has no send queue.
fn call_alone<'a>(run: &Outcome<'a>) -> Option<(&'a Flow, &'a FlowSummary)> {
    call(run).filter(|(flow, _)| flow.transport.controller().is_none())
}

/// Returns the share of written packets that arrive by their deadline, in %.
fn on_time(run: &Outcome<'_>, kind: MediaKind) -> Option<f64> {
    call_queued(run)?.1.on_time_ratio.get(&kind).map(|ratio| 100.0 * ratio)
}

/// Returns the share of written packets that arrive after their deadline, in %.
fn late(run: &Outcome<'_>, kind: MediaKind) -> Option<f64> {
    call_queued(run)?.1.late_ratio.get(&kind).map(|ratio| 100.0 * ratio)
}

fn queue<'a>(run: &Outcome<'a>, kind: MediaKind) -> Option<&'a SendQueueSummary> {
    call_queued(run)?.1.send_queue.get(&kind)
}

/// Returns the share of written packets that the send queue discards for this cause, in %.
fn unsent(run: &Outcome<'_>, kind: MediaKind, cause: fn(&SendQueueSummary) -> u64) -> Option<f64> {
    let queue = queue(run, kind)?;
    Some(100.0 * cause(queue) as f64 / queue.written_packets as f64)
}

/// Returns the mean of the allowed rate X over the samples during the call, in kb/s.
fn allowed_rate(run: &Outcome<'_>) -> Option<f64> {
    let (flow, _) = call_queued(run)?;
    let samples = run.series?.samples("call", series::ALLOWED_RATE);
    let measured = |at: f64| at >= run.summary.interval.from && flow.stop.is_none_or(|stop| at < stop.as_secs_f64());
    let rates: Vec<f64> =
        samples.iter().filter(|(at, _)| measured(at.as_secs_f64())).map(|(_, rate)| rate / 1e3).collect();
    mean(&rates)
}

/// Returns the mean throughput of a TCP flow, in kb/s.
fn tcp_rate(run: &Outcome<'_>) -> Option<f64> {
    let tcp = run.summary.flows.iter().filter(|flow| flow.kind.starts_with("tcp-"));
    mean(&tcp.map(|flow| flow.throughput_bps / 1e3).collect::<Vec<_>>())
}

/// Returns 100 if the call gets less than 50 kb/s of the offered 374, else 0: the mean over runs is the share of
/// collapsed runs, in %.
fn collapsed(run: &Outcome<'_>) -> Option<f64> {
    let (flow, call) = call_queued(run)?;
    let is_call = matches!(*flow.source, SourceOptions::Conference(_));
    is_call.then_some(if call.throughput_bps < 50e3 { 100.0 } else { 0.0 })
}

/// Totals of a source from the start of the measurement until it stops.
struct Written {
    bits: f64,
    packets: f64,
    seconds: f64,
}

/// Returns the totals of the source; none if a packet did not arrive.
fn written(run: &Outcome<'_>) -> Option<Written> {
    let (flow, summary) = call_alone(run)?;
    let interval = run.summary.interval;
    let written = Written {
        bits: summary.throughput_bps * (interval.to - interval.from),
        packets: summary.sent_packets as f64,
        seconds: flow.stop?.as_secs_f64() - interval.from,
    };
    (summary.received_packets == summary.sent_packets).then_some(written)
}

fn mean_packet(run: &Outcome<'_>) -> Option<f64> {
    let written = written(run)?;
    Some(written.bits / 8.0 / written.packets)
}

/// Returns the 95th percentile of the packet size, derived from the transmission time on the link.
fn p95_packet(run: &Outcome<'_>) -> Option<f64> {
    let link = run.scenario.links.first()?;
    let seconds = call_alone(run)?.1.one_way_delay_s?.p95 - link.delay.as_secs_f64();
    Some(seconds * link.rate.bits_per_second() as f64 / 8.0)
}
