//! Metrics of the paper on SFDPS, "Sending the Finest Data Package Subsequent" (see `papers/sfdps`): one video call whose send queue
//! knows priority and expiry, over DCCP with CCID 3, beside TCP Reno flows or on a path that loses packets.
//!
//! The call is the flow `call`, every `tcp-...` flow is a competitor. Percentages are of what the application wrote. What the
//! source itself does is asked where nothing stands between it and the wire: where the call goes over UDP.

use crate::metric::{Metric, Outcome};
use headway_media::{ConferenceOptions, SourceOptions};
use headway_record::{FlowSummary, SendQueueSummary, metric as series};
use headway_scenario::{Flow, Transport};
use headway_units::{Duration, MediaKind, QueueSize};

use MediaKind::{Audio, Video};

/// What the paper's runs are asked for.
pub(crate) const METRICS: &[Metric] = &[
    percent("audio_on_time_pct", |run| on_time(run, Audio)),
    percent("video_on_time_pct", |run| on_time(run, Video)),
    // Received less on time: what Fig. 3 draws. What was received is the sum of the two.
    Metric { name: "audio_late_pct", unit: "%", decimals: 3, of: |run| late(run, Audio) },
    Metric { name: "video_late_pct", unit: "%", decimals: 3, of: |run| late(run, Video) },
    percent("audio_less_video_late_pct", |run| Some(late(run, Audio)? - late(run, Video)?)),
    // Points of audio and points of video: what a queue takes from one and gives to the other.
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
    millis("path_rtt_ms", path_rtt),
    count("send_queue_packets", |run| send_queue_packets(call_queued(run)?.0)),
    // The source by itself.
    count("audio_packet_bytes", |run| Some(call_alone(run)?.1.audio_size.count() as f64)),
    count("audio_gap_ms", |run| Some(ms(call_alone(run)?.1.audio_interval))),
    kbps("audio_kbps", |run| Some(audio_bps(call_alone(run)?.1) / 1e3)),
    kbps("video_kbps", |run| Some((written_bps(run)? - audio_bps(call_alone(run)?.1)) / 1e3)),
    kbps("written_kbps", |run| Some(written_bps(run)? / 1e3)),
    count("frames_per_second", |run| Some(1e3 / ms(call_alone(run)?.1.frame_interval))),
    Metric { name: "frame_bytes", unit: "B", decimals: 1, of: frame_bytes },
    count("motion_deviation_bytes", |run| Some(call_alone(run)?.1.motion_deviation.count() as f64)),
    count("still_deviation_bytes", |run| Some(call_alone(run)?.1.still_deviation.count() as f64)),
    count("largest_packet_bytes", |run| Some(call_alone(run)?.1.video_packet.count() as f64)),
    Metric { name: "mean_packet_bytes", unit: "B", decimals: 2, of: mean_packet },
    Metric { name: "packets_in_16_kib", unit: "", decimals: 2, of: |run| Some(16384.0 / mean_packet(run)?) },
    count("pattern_s", |run| Some(ms(call_alone(run)?.1.pattern.iter().copied().sum()) / 1e3)),
    count("call_s", |run| Some(ms(lasts(call_alone(run)?.0)?) / 1e3)),
    count("lifetime_ms", |run| Some(ms(call_alone(run)?.1.lifetime?))),
    // Lai and Kohler's ring: video of I, P and B frames, a packet each.
    count("ring_packets", |run| send_queue_packets(pictures(run)?.0)),
    kbps("ring_link_kbps", |run| pictures(run).and_then(|_| slowest_kbps(run))),
    millis("ring_gap_ms", |run| Some(ms(pictures(run)?.1))),
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

const fn count(name: &'static str, of: Of) -> Metric {
    Metric { name, unit: "", decimals: 0, of }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn call<'a>(run: &Outcome<'a>) -> Option<(&'a Flow, &'a FlowSummary)> {
    let flow = run.scenario.flows.iter().find(|flow| flow.name == "call")?;
    Some((flow, run.summary.flows.iter().find(|flow| flow.name == "call")?))
}

/// The call where a send queue stands before the wire.
fn call_queued<'a>(run: &Outcome<'a>) -> Option<(&'a Flow, &'a FlowSummary)> {
    call(run).filter(|(flow, _)| matches!(flow.transport, Transport::Dccp(_)))
}

/// The call where nothing stands before the wire, and what it is.
fn call_alone<'a>(run: &Outcome<'a>) -> Option<(&'a Flow, &'a ConferenceOptions)> {
    let (flow, _) = call(run)?;
    match (&flow.transport, &flow.source) {
        (Transport::Udp(_), SourceOptions::Conference(options)) => Some((flow, options)),
        _ => None,
    }
}

/// Arrived by its deadline, of all that was written.
fn on_time(run: &Outcome<'_>, kind: MediaKind) -> Option<f64> {
    call_queued(run)?.1.on_time_ratio.get(&kind).map(|ratio| 100.0 * ratio)
}

/// Arrived after its deadline, of all that was written.
fn late(run: &Outcome<'_>, kind: MediaKind) -> Option<f64> {
    call_queued(run)?.1.late_ratio.get(&kind).map(|ratio| 100.0 * ratio)
}

fn queue<'a>(run: &Outcome<'a>, kind: MediaKind) -> Option<&'a SendQueueSummary> {
    call_queued(run)?.1.send_queue.get(&kind)
}

/// Thrown away by the send queue for this cause, of all that was written.
fn unsent(run: &Outcome<'_>, kind: MediaKind, cause: fn(&SendQueueSummary) -> u64) -> Option<f64> {
    let queue = queue(run, kind)?;
    Some(100.0 * cause(queue) as f64 / queue.written_packets as f64)
}

/// X: the mean over the samples of the series while the call lasts.
fn allowed_rate(run: &Outcome<'_>) -> Option<f64> {
    let (flow, _) = call_queued(run)?;
    let samples = run.series?.samples("call", series::ALLOWED_RATE);
    let measured = |at: f64| at >= run.summary.interval.from && flow.stop.is_none_or(|stop| at < stop.as_secs_f64());
    let rates: Vec<f64> =
        samples.iter().filter(|(at, _)| measured(at.as_secs_f64())).map(|(_, rate)| rate / 1e3).collect();
    mean(&rates)
}

/// Of one TCP flow, on average.
fn tcp_rate(run: &Outcome<'_>) -> Option<f64> {
    let tcp = run.summary.flows.iter().filter(|flow| flow.kind.starts_with("tcp-"));
    mean(&tcp.map(|flow| flow.throughput_bps / 1e3).collect::<Vec<_>>())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The propagation there and back: the links' delays, each direction being a link by itself.
fn path_rtt(run: &Outcome<'_>) -> Option<f64> {
    call_queued(run)?;
    Some(run.scenario.links.iter().map(|link| ms(link.delay)).sum())
}

fn slowest_kbps(run: &Outcome<'_>) -> Option<f64> {
    run.scenario.links.iter().map(|link| link.rate.bits_per_second() as f64 / 1e3).reduce(f64::min)
}

fn send_queue_packets(flow: &Flow) -> Option<f64> {
    match flow.send_queue.rules.limit {
        QueueSize::Packets(packets) => Some(packets as f64),
        QueueSize::Bytes(_) => None,
    }
}

fn audio_bps(options: &ConferenceOptions) -> f64 {
    options.audio_size.count() as f64 * 8.0 / options.audio_interval.as_secs_f64()
}

fn lasts(flow: &Flow) -> Option<Duration> {
    Some(flow.stop?.since(flow.start.earliest()))
}

/// All that the source wrote, for over a link without limit everything arrives: bits by the time in which it wrote.
fn written_bps(run: &Outcome<'_>) -> Option<f64> {
    let (flow, _) = call_alone(run)?;
    let summary = call(run)?.1;
    let all_came = summary.received_packets == summary.sent_packets;
    let from = run.summary.interval.from;
    let seconds = flow.stop?.as_secs_f64() - from;
    all_came.then(|| summary.throughput_bps * (run.summary.interval.to - from) / seconds)
}

fn mean_packet(run: &Outcome<'_>) -> Option<f64> {
    let seconds = call_alone(run)?.0.stop?.as_secs_f64() - run.summary.interval.from;
    Some(written_bps(run)? * seconds / 8.0 / call(run)?.1.sent_packets as f64)
}

fn frame_bytes(run: &Outcome<'_>) -> Option<f64> {
    let (_, options) = call_alone(run)?;
    Some((written_bps(run)? - audio_bps(options)) * options.frame_interval.as_secs_f64() / 8.0)
}

/// The call where it is video of I, P and B frames, and the time from one frame to the next.
fn pictures<'a>(run: &Outcome<'a>) -> Option<(&'a Flow, Duration)> {
    let (flow, _) = call_queued(run)?;
    match &flow.source {
        SourceOptions::Gop(options) => Some((flow, options.frame_interval)),
        _ => None,
    }
}
