//! What became of a flow's packets.
//!
//! Two ways of counting, each where it is the field's:
//! - **Packets belong to the interval in which they were sent.** A packet sent before `measure_from` is never counted,
//!   wherever it ends; one sent later is counted once as received, lost or in flight. So for any `measure_from`
//!   `sent = received + lost + in flight`, and a loss ratio compares a packet with itself.
//! - **Rates count the bytes that arrive in the interval**, whenever they were sent: bytes received / interval.

use super::counts::DropCounts;
use super::delay::{DelaySummary, seconds_of};
use super::distribution::{Distribution, FlowDistributions};
use super::frames::{FrameMeter, FrameSummary, WrittenFrame};
use super::histogram::Histogram;
use super::jitter::Jitter;
use super::judged::JudgedSummary;
use super::measured::Measured;
use super::pages::{PageMeter, PagesSummary};
use super::rate_bins::{ClosedBins, RateBins};
use super::send_queue::{SendQueueMeter, SendQueueSummary};
use super::sessions::{SessionMeter, SessionsSummary};
use headway_units::{Bytes, DropCause, Duration, Instant, MediaKind, SendDrop};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the meter wants to know of a packet: the same at its sending, its arrival and its loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPacket {
    /// When it left its sender.
    pub sent_at: Instant,
    /// Its size with the IP header.
    pub wire_bytes: u32,
    /// What it carries.
    pub kind: MediaKind,
    /// Until when it is of use, if it matters.
    pub deadline: Option<Instant>,
}

/// What a flow is called and between which nodes it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowLabel {
    /// Its name in the scenario.
    pub name: String,
    /// The sender's node.
    pub from: String,
    /// The receiver's node.
    pub to: String,
    /// The kind of its transport, such as `tcp-newreno`.
    pub kind: String,
}

/// Round-trip times as the sender measured them, in s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RttSummary {
    /// The mean over samples.
    pub mean: f64,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
}

/// A flow's entry in [`Summary`](crate::Summary). Packets count where they were sent at or after `measure_from`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// Its name in the scenario.
    pub name: String,
    /// The sender's node.
    pub from: String,
    /// The receiver's node.
    pub to: String,
    /// The kind of its transport.
    pub kind: String,
    /// Packets sent, retransmissions too.
    pub sent_packets: u64,
    /// Those of them that arrived.
    pub received_packets: u64,
    /// Those of them that were lost, by cause: of which no copy arrived.
    pub lost_packets: DropCounts,
    /// Copies that links made of them and that arrived, beside the first arrival of each.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub duplicate_packets: u64,
    /// Those of them still under way at the end.
    pub in_flight_packets: u64,
    /// Wire bits that arrived in the interval, by its length, in bit/s.
    pub throughput_bps: f64,
    /// Payload bits of use (first copies, before their deadline) that arrived in the interval, by its length, in bit/s.
    pub goodput_bps: f64,
    /// Lost packets by sent packets; 0 if none was sent.
    pub loss_ratio: f64,
    /// One-way delays in s; none if nothing arrived.
    pub one_way_delay_s: Option<DelaySummary>,
    /// Of a real run: the most by which a one-way delay may be off, in s. Absent if the delays are exact or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way_delay_error_s: Option<f64>,
    /// Interarrival jitter at the last packet (RFC 3550 appendix A.8), in s; none before a second packet.
    pub jitter_s: Option<f64>,
    /// Round-trip times in s; none if the sender took no sample.
    pub rtt_s: Option<RttSummary>,
    /// By kind: packets that arrived by their deadline, by all that the application wrote whose deadline lies in the interval,
    /// sent or not. Kinds without deadlines are absent.
    pub on_time_ratio: BTreeMap<MediaKind, f64>,
    /// By kind: packets that arrived after their deadline, by the same.
    pub late_ratio: BTreeMap<MediaKind, f64>,
    /// Rating R of the speech by the E-model (ITU-T G.107); none without audio that has a lifetime. Set by the simulation.
    #[serde(default)]
    pub r_factor: Option<f64>,
    /// Mean opinion score that follows from R, 1 to 4.5.
    #[serde(default)]
    pub mos: Option<f64>,
    /// By kind: what became of the frames. Kinds of which none was written are absent, and flows whose source knows of no frames.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frames: BTreeMap<MediaKind, FrameSummary>,
    /// Coefficient of variation of the throughput over bins of 0.5 s; none if fewer than two bins or all empty.
    pub rate_cov: Option<f64>,
    /// Of a TCP: packets sent again. Set by whoever knows; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted_packets: Option<u64>,
    /// Of a TCP: how often the retransmission timer ran out. Set by whoever knows; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u64>,
    /// Of a TCP: whether it has data to send at the end but neither an open window nor a timer. No sender should ever be so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stuck: bool,
    /// Of a flow with a send queue, by kind: what became of the data before it was sent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub send_queue: BTreeMap<MediaKind, SendQueueSummary>,
    /// Of a DCCP connection that never was, or that ended before anybody closed it: why. Set by whoever knows; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_failure: Option<String>,
    /// Of a receiver that tells losses apart: what it made of them. Set by whoever knows; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses_judged: Option<JudgedSummary>,
    /// Of a source of sessions: what became of them; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionsSummary>,
    /// Of a source of pages: what became of them; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesSummary>,
}

impl FlowSummary {
    /// Packets that the send queue threw away.
    #[must_use]
    pub fn unsent_packets(&self) -> u64 {
        self.send_queue.values().map(SendQueueSummary::unsent_packets).sum()
    }
}

/// Written with a deadline in the interval, arrived by it, arrived after it.
#[derive(Clone, Copy, Debug, Default)]
struct Timeliness {
    due: u64,
    on_time: u64,
    late: u64,
}

/// Counts what happens to one flow's packets; about 400 bytes, and 256 more for each power of two between its shortest
/// and its longest delay. Events come in the order of their time. The network invents no packets: what is received or lost was sent, and ends once.
/// What is a copy is told apart.
///
/// Two cache lines for what arrives, one for what is sent and acknowledged; what few packets change is elsewhere.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct FlowMeter {
    delays: Histogram,
    jitter: Jitter,
    bins: RateBins,
    goodput_bytes: u64,
    total_received_bytes: u64,
    /// Of these, before the measured time.
    earlier_bytes: u64,
    measured: Arc<Measured>,

    rtt_sum: u128,
    rtt_count: u64,
    rtt_min: Duration,
    rtt_max: Duration,
    sent: u64,
    /// Whether each packet is a frame, so that counting packets is counting frames.
    packets_are_frames: bool,
    /// None as long as there is nothing of this.
    rest: Option<Box<Rest>>,
}

#[derive(Clone, Debug, Default)]
struct Rest {
    closed_bins: ClosedBins,
    timeliness: [Timeliness; MediaKind::ALL.len()],
    lost: DropCounts,
    total_lost_packets: u64,
    duplicates: u64,
    send_queue: Option<Box<SendQueueMeter>>,
    sessions: Option<Box<SessionMeter>>,
    pages: Option<Box<PageMeter>>,
    frames: Option<Box<FrameMeter>>,
}

impl FlowMeter {
    /// Counts in this time. Rates are those of the run until it ends, deadlines count as far as it is planned.
    #[must_use]
    pub fn new(measured: &Arc<Measured>) -> Self {
        Self {
            delays: Histogram::default(),
            jitter: Jitter::default(),
            bins: RateBins::default(),
            goodput_bytes: 0,
            total_received_bytes: 0,
            earlier_bytes: 0,
            measured: Arc::clone(measured),
            rtt_sum: 0,
            rtt_count: 0,
            rtt_min: Duration::MAX,
            rtt_max: Duration::ZERO,
            sent: 0,
            packets_are_frames: false,
            rest: None,
        }
    }

    #[inline]
    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// Whether a packet with this deadline is one of those that on-time shares are about.
    fn is_due(&self, deadline: Option<Instant>) -> bool {
        deadline.is_some_and(|deadline| deadline >= self.measured.from && deadline <= self.measured.until)
    }

    /// The application handed over a packet's worth of data.
    #[inline]
    pub fn written(&mut self, kind: MediaKind, deadline: Option<Instant>) {
        if self.is_due(deadline) {
            self.rest().timeliness[kind as usize].due += 1;
        }
    }

    /// The application handed over the first packet's worth of a frame.
    #[inline]
    pub fn frame_written(&mut self, frame: &WrittenFrame) {
        let measured = *self.measured;
        self.frames().written(&measured, frame);
    }

    /// The application handed over a whole frame at `now`, which is sent at once in one packet. As long as all of a flow's frames are so, and are
    /// data without a deadline, they cost nothing: what is known of the packets is known of the frames.
    #[inline]
    pub fn frame_written_and_sent(&mut self, now: Instant, frame: &WrittenFrame) {
        let alike = frame.created == now && frame.kind == MediaKind::Data && frame.deadline().is_none();
        if alike && (self.packets_are_frames || self.sent == 0 && self.has_no_frames()) {
            self.packets_are_frames = true;
        } else {
            self.frame_written(frame);
        }
    }

    /// The last packet that a frame lacked came at `now`: once for each frame, before the packet is [received](Self::received).
    #[inline]
    pub fn frame_complete(&mut self, now: Instant, frame: &WrittenFrame) {
        if !self.packets_are_frames {
            let measured = *self.measured;
            self.frames().complete(now, &measured, frame);
        }
    }

    fn has_no_frames(&self) -> bool {
        self.rest.as_ref().is_none_or(|rest| rest.frames.is_none())
    }

    /// What counts frames apart from packets, from here on.
    fn frames(&mut self) -> &mut FrameMeter {
        let so_far = std::mem::take(&mut self.packets_are_frames)
            .then(|| Box::new(FrameMeter::of_packets(self.sent, &self.delays)));
        let frames = &mut self.rest.get_or_insert_default().frames;
        if so_far.is_some() {
            *frames = so_far;
        }
        frames.get_or_insert_default()
    }

    fn known_frames(&self) -> Option<Cow<'_, FrameMeter>> {
        if self.packets_are_frames {
            return Some(Cow::Owned(FrameMeter::of_packets(self.sent, &self.delays)));
        }
        self.rest.as_ref()?.frames.as_deref().map(Cow::Borrowed)
    }

    /// The flow has a send queue, and the data of [`Self::written`] came to it at `now`.
    #[inline]
    pub fn queued(&mut self, now: Instant, kind: MediaKind) {
        self.in_send_queue(now, |meter| meter.written(kind));
    }

    /// Data left the send queue at `now` to be sent, after a wait.
    #[inline]
    pub fn left_send_queue(&mut self, now: Instant, kind: MediaKind, wait: Duration) {
        self.in_send_queue(now, |meter| meter.left(kind, wait));
    }

    /// The send queue threw data away at `now` that would have come so late.
    pub fn unsent(&mut self, now: Instant, kind: MediaKind, cause: SendDrop, lateness: Duration) {
        self.in_send_queue(now, |meter| meter.dropped(kind, cause, lateness));
    }

    /// The sender found at `now` that data was lost on its way; whether it came back into the send queue.
    pub fn found_lost(&mut self, now: Instant, kind: MediaKind, returned: bool) {
        self.in_send_queue(now, |meter| meter.found_lost(kind, returned));
    }

    fn in_send_queue(&mut self, now: Instant, count: impl FnOnce(&mut SendQueueMeter)) {
        if now >= self.measured.from {
            count(self.rest().send_queue.get_or_insert_default());
        }
    }

    /// A session of this size arrived at `now`; `refused` if no connection was opened for it.
    pub fn session_arrived(&mut self, now: Instant, size: Bytes, refused: bool) {
        if now >= self.measured.from {
            self.rest().sessions.get_or_insert_default().arrived(size, refused);
        }
    }

    /// A session of this size that arrived at `arrived` is complete at `now`.
    pub fn session_completed(&mut self, arrived: Instant, now: Instant, size: Bytes) {
        if arrived >= self.measured.from {
            self.rest().sessions.get_or_insert_default().completed(size, now.since(arrived));
        }
    }

    /// A page was asked for at `now`.
    pub fn page_arrived(&mut self, now: Instant) {
        self.of_page(now, |meter| meter.arrived += 1);
    }

    /// The page that was asked for at `arrived` found no room.
    pub fn page_refused(&mut self, arrived: Instant) {
        self.of_page(arrived, |meter| meter.refused += 1);
    }

    /// The page that was asked for at `arrived` is complete at `now`.
    pub fn page_completed(&mut self, arrived: Instant, now: Instant) {
        self.of_page(arrived, |meter| meter.completed(now.since(arrived)));
    }

    fn of_page(&mut self, arrived: Instant, count: impl FnOnce(&mut PageMeter)) {
        if arrived >= self.measured.from {
            count(self.rest().pages.get_or_insert_default());
        }
    }

    /// `packet` left its sender, at `packet.sent_at`.
    #[inline]
    pub fn sent(&mut self, packet: &FlowPacket) {
        self.sent += u64::from(packet.sent_at >= self.measured.from);
    }

    /// `packet` arrived at `now` with `goodput_bytes` of payload that the receiver had not seen before (0 for a copy).
    #[inline]
    pub fn received(&mut self, now: Instant, packet: &FlowPacket, goodput_bytes: u32) {
        self.total_received_bytes += u64::from(packet.wire_bytes);
        let late = packet.deadline.is_some_and(|deadline| now > deadline);
        if self.is_due(packet.deadline) {
            let Timeliness { on_time, late: too_late, .. } = &mut self.rest().timeliness[packet.kind as usize];
            *if late { too_late } else { on_time } += 1;
        }
        let from = self.measured.from;
        if now < from {
            self.earlier_bytes = self.total_received_bytes;
            return;
        }
        if !late {
            self.goodput_bytes += u64::from(goodput_bytes);
        }
        if let Some(bin) = self.bins.add(now.since(from), packet.wire_bytes) {
            self.rest().closed_bins.add(bin);
        }
        if packet.sent_at < from {
            return;
        }
        let transit = now.since(packet.sent_at).as_nanos();
        self.jitter.arrived(self.delays.total(), transit);
        self.delays.record(transit);
    }

    /// A copy of `packet`, which has arrived before, arrived at `now`: its bytes came, and nothing else.
    pub fn duplicate(&mut self, now: Instant, packet: &FlowPacket) {
        let from = self.measured.from;
        self.total_received_bytes += u64::from(packet.wire_bytes);
        if now < from {
            self.earlier_bytes = self.total_received_bytes;
        } else if let Some(bin) = self.bins.add(now.since(from), packet.wire_bytes) {
            self.rest().closed_bins.add(bin);
        }
        if packet.sent_at >= from {
            self.rest().duplicates += 1;
        }
    }

    /// `packet` will never arrive, because of `cause`.
    pub fn lost(&mut self, packet: &FlowPacket, cause: DropCause) {
        let counts = packet.sent_at >= self.measured.from;
        let rest = self.rest();
        rest.total_lost_packets += 1;
        if counts {
            rest.lost.add(cause);
        }
    }

    /// The sender measured a round trip of `sample` at `now`.
    #[inline]
    pub fn rtt(&mut self, now: Instant, sample: Duration) {
        if now < self.measured.from {
            return;
        }
        self.rtt_count += 1;
        self.rtt_sum += u128::from(sample.as_nanos());
        self.rtt_min = self.rtt_min.min(sample);
        self.rtt_max = self.rtt_max.max(sample);
    }

    /// Wire bytes received since time zero, whatever is measured: the difference between two samples is a rate.
    #[must_use]
    pub fn total_received_bytes(&self) -> u64 {
        self.total_received_bytes
    }

    /// Packets lost since time zero, whatever is measured.
    #[must_use]
    pub fn total_lost_packets(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.total_lost_packets)
    }

    /// What the summary has mean and percentiles of, value by value.
    #[must_use]
    pub fn distributions(&self, name: String) -> FlowDistributions {
        let received = self.delays.total();
        let frames = self.known_frames();
        FlowDistributions {
            name,
            one_way_delay_s: (received > 0).then(|| Distribution::of(&self.delays, received)),
            frame_delay_s: frames.map(|frames| frames.distributions()).unwrap_or_default(),
        }
    }

    /// What was counted until `end`, which no event has passed. Leaves the counters that only a TCP has unset.
    #[must_use]
    pub fn summary(&self, label: FlowLabel, end: Instant) -> FlowSummary {
        let none = OnceCell::new();
        let rest = self.rest.as_deref().unwrap_or_else(|| none.get_or_init(Rest::default));
        let time = end.since(self.measured.from);
        let seconds = time.as_secs_f64();
        let rate = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
        let (lost, received) = (rest.lost.total(), self.delays.total());
        FlowSummary {
            name: label.name,
            from: label.from,
            to: label.to,
            kind: label.kind,
            sent_packets: self.sent,
            received_packets: received,
            lost_packets: rest.lost,
            duplicate_packets: rest.duplicates,
            in_flight_packets: self.sent.saturating_sub(received + lost),
            throughput_bps: rate(self.total_received_bytes - self.earlier_bytes),
            goodput_bps: rate(self.goodput_bytes),
            loss_ratio: if self.sent > 0 { lost as f64 / self.sent as f64 } else { 0.0 },
            one_way_delay_s: self.delays.summary(),
            one_way_delay_error_s: None,
            jitter_s: self.jitter.nanos(received).map(seconds_of),
            rtt_s: (self.rtt_count > 0).then(|| RttSummary {
                mean: self.rtt_sum as f64 / self.rtt_count as f64 / 1e9,
                min: self.rtt_min.as_secs_f64(),
                max: self.rtt_max.as_secs_f64(),
            }),
            on_time_ratio: rest.of_due(|timeliness| timeliness.on_time),
            late_ratio: rest.of_due(|timeliness| timeliness.late),
            r_factor: None,
            mos: None,
            frames: self.known_frames().map(|frames| frames.summary()).unwrap_or_default(),
            rate_cov: self.bins.coefficient_of_variation(&rest.closed_bins, time),
            retransmitted_packets: None,
            timeouts: None,
            stuck: false,
            send_queue: rest.send_queue.as_ref().map(|meter| meter.summary()).unwrap_or_default(),
            connection_failure: None,
            losses_judged: None,
            sessions: rest.sessions.as_ref().map(|meter| meter.summary(seconds)),
            pages: rest.pages.as_ref().map(|meter| meter.summary()),
        }
    }
}

impl Rest {
    fn of_due(&self, part: fn(&Timeliness) -> u64) -> BTreeMap<MediaKind, f64> {
        let ratio = |kind: MediaKind| {
            let timeliness = &self.timeliness[kind as usize];
            (timeliness.due > 0).then(|| (kind, part(timeliness) as f64 / timeliness.due as f64))
        };
        MediaKind::ALL.into_iter().filter_map(ratio).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays from 10 ms to 1 s, each flow alike.
    #[test]
    fn five_thousand_flows_fit_in_fifteen_megabytes() {
        let mut meter = FlowMeter::new(&Measured::between(Instant::ZERO, Instant::FAR_FUTURE));
        let packet = FlowPacket { sent_at: Instant::ZERO, wire_bytes: 1500, kind: MediaKind::Data, deadline: None };
        for millis in 10..=1000 {
            meter.sent(&packet);
            meter.received(Instant::from_millis(millis), &packet, 1460);
        }
        let bytes = size_of::<FlowMeter>() + meter.delays.heap_bytes();
        assert!(5000 * bytes < 15_000_000, "{bytes} bytes a flow");
    }
}
