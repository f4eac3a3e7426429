//! Counts of a flow's packets.
//!
//! - **Packets belong to the interval in which they were sent.** A packet sent before `measure_from` is never counted.
//!   A packet sent later is counted once as received, lost or in flight. For any `measure_from`, `sent = received +
//!   lost + in flight`, and a loss ratio is over one set of packets.
//! - **Rates count the bytes that arrive in the interval**, whenever they were sent: bytes received / interval.

use super::counts::DropCounts;
use super::delay::{DelaySum, DelaySummary, seconds_of};
use super::display::DisplaySummary;
use super::distribution::{Distribution, FlowDistributions};
use super::encoder::EncoderSummary;
use super::frames::{FrameMeter, FrameSummary, WrittenFrame};
use super::histogram::Histogram;
use super::jitter::Jitter;
use super::judged::LossClassificationSummary;
use super::measured::Measured;
use super::pages::{PageMeter, PagesSummary};
use super::phases::PhaseSummary;
use super::rate_bins::{ClosedBins, RateBins};
use super::send_queue::{SendQueueMeter, SendQueueSummary};
use super::sessions::{SessionMeter, SessionsSummary};
use headway_units::{Bytes, DropCause, Duration, Instant, MediaKind, SendDrop};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Properties of a packet. They must be equal in the calls of [`FlowMeter`] that record its sending, its arrival and
/// its loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPacket {
    /// Time at which the packet left the sender.
    pub sent_at: Instant,
    /// Size of the packet with the IP header, in bytes.
    pub wire_bytes: u32,
    /// Media kind of the payload.
    pub kind: MediaKind,
    /// Deadline of the packet; `None` for none.
    pub deadline: Option<Instant>,
}

/// Names of a flow, its nodes and its transport.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowLabel {
    /// Name of the flow in the scenario.
    pub name: String,
    /// Name of the sender's node.
    pub from: String,
    /// Name of the receiver's node.
    pub to: String,
    /// Kind of the transport, such as `tcp-newreno`.
    pub kind: String,
}

/// Round-trip times measured by the sender, in s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RttSummary {
    /// Mean of the round-trip samples, in s.
    pub mean: f64,
    /// Smallest round-trip sample, in s.
    pub min: f64,
    /// Largest round-trip sample, in s.
    pub max: f64,
}

/// A flow's entry in [`Summary`](crate::Summary). Packets are those from the flow's sender to its receiver. Packet
/// counts are of packets sent at or after `measure_from`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// Name of the flow in the scenario.
    pub name: String,
    /// Name of the sender's node.
    pub from: String,
    /// Name of the receiver's node.
    pub to: String,
    /// Kind of the transport, such as `tcp-newreno`.
    pub kind: String,
    /// Packets that the sender sent in the measured interval, including retransmissions.
    pub sent_packets: u64,
    /// Packets sent in the measured interval that arrived at the receiver by the end of the run.
    pub received_packets: u64,
    /// Packets sent in the measured interval of which no copy arrived, by cause of the loss.
    pub lost_packets: DropCounts,
    /// Further copies of packets that links duplicated: copies that arrived after the first arrival of their packet.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub duplicate_packets: u64,
    /// Packets sent in the measured interval that were neither received nor lost at the end of the run.
    pub in_flight_packets: u64,
    /// Bits with IP headers that arrived in the measured interval, divided by its length, in bit/s.
    pub throughput_bps: f64,
    /// Useful payload bits that arrived in the measured interval, divided by its length, in bit/s. Repeated data and
    /// data that arrived after its deadline do not count.
    pub goodput_bps: f64,
    /// Lost packets divided by sent packets; 0 without sent packets.
    pub loss_ratio: f64,
    /// One-way delays from sender to receiver, in s, of the packets sent in the measured interval; `None` without
    /// received packets.
    pub one_way_delay_s: Option<DelaySummary>,
    /// Maximum error of a one-way delay in a run on real sockets, in s. Absent if the delays are exact or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way_delay_error_s: Option<f64>,
    /// Interarrival jitter at the receiver after the last packet (RFC 3550 appendix A.8), in s; `None` with fewer than
    /// two packets.
    pub jitter_s: Option<f64>,
    /// Round-trip times that the sender measured in the measured interval, in s; `None` without samples.
    pub rtt_s: Option<RttSummary>,
    /// By media kind: packets that arrived by their deadline, divided by all packets that the application wrote, sent
    /// or not. Both are packets whose deadline is in the measured interval. Kinds without such packets are absent.
    pub on_time_ratio: BTreeMap<MediaKind, f64>,
    /// By media kind: packets that arrived after their deadline, divided by all packets that the application wrote,
    /// sent or not. Both are packets whose deadline is in the measured interval.
    pub late_ratio: BTreeMap<MediaKind, f64>,
    /// Rating R of the speech by the E-model (ITU-T G.107), at most 93.2, below 0 for very poor quality; `None` unless
    /// the flow has audio packets with a lifetime. Set by the simulation.
    #[serde(default)]
    pub r_factor: Option<f64>,
    /// Mean opinion score computed from `r_factor`, 1 to 4.5; `None` if `r_factor` is `None`.
    #[serde(default)]
    pub mos: Option<f64>,
    /// Counts of media frames, by media kind. Empty for sources without frames.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frames: BTreeMap<MediaKind, FrameSummary>,
    /// Display of the flow's video frames at the receiver; absent without video frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<DisplaySummary>,
    /// Counts of the encoder that is the flow's source. Set by the caller; absent for other sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder: Option<EncoderSummary>,
    /// Coefficient of variation of the throughput over bins of 0.5 s of the measured interval; `None` with fewer than
    /// two bins or if all are empty.
    pub rate_cov: Option<f64>,
    /// Packets retransmitted by a TCP. Set by the caller; absent for other transports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted_packets: Option<u64>,
    /// Expirations of a TCP's retransmission timer. Set by the caller; absent for other transports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u64>,
    /// Whether a TCP has data to send at the end but neither an open window nor a timer, which is an error of the
    /// sender.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stuck: bool,
    /// Counts of the flow's send queue, by media kind; empty without a send queue.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub send_queue: BTreeMap<MediaKind, SendQueueSummary>,
    /// Reason why a DCCP connection was not established or was reset. Set by the caller; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_failure: Option<String>,
    /// Decisions of a receiver that classifies losses. Set by the caller; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses_judged: Option<LossClassificationSummary>,
    /// Counts of the flow's sessions; absent without a source of sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionsSummary>,
    /// Counts of the flow's web pages; absent without a source of pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesSummary>,
    /// Results in the phases of the run, by their names. Set by the caller; empty without phases.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<String, PhaseSummary>,
}

impl FlowSummary {
    /// Returns the number of packets that the flow's send queue discarded, of all kinds of media.
    #[must_use]
    pub fn unsent_packets(&self) -> u64 {
        self.send_queue.values().map(SendQueueSummary::unsent_packets).sum()
    }
}

/// Packets with a deadline in the interval: written, arrived by it, arrived after it.
#[derive(Clone, Copy, Debug, Default)]
struct Timeliness {
    due: u64,
    on_time: u64,
    late: u64,
    /// Sum of the one-way delays of packets on time and late.
    delay_nanos: u64,
}

/// Meter of one flow's packets: about 400 bytes, plus 256 for each power of two between the smallest and the largest
/// delay. Calls must be in the order of time. Each sent packet is received or lost at most once; copies are reported
/// separately.
///
/// The fields changed by arrivals are in two cache lines, those changed by sending and acknowledgements in a third.
/// Rarely changed fields are in a separate allocation.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct FlowMeter {
    delays: Histogram,
    jitter: Jitter,
    bins: RateBins,
    goodput_bytes: u64,
    total_received_bytes: u64,
    /// Part of the total received before the measured interval.
    earlier_bytes: u64,
    measured: Arc<Measured>,

    rtt_sum: u128,
    rtt_count: u64,
    rtt_min: Duration,
    rtt_max: Duration,
    sent: u64,
    /// Whether each packet is a frame, so that frames need no separate counts.
    packets_are_frames: bool,
    /// Allocated on first use.
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
    /// Creates a meter. Rates are over the interval until the actual end of the run. On-time ratios count packets whose
    /// deadline is in the interval until the planned end.
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

    /// Returns whether a packet with this deadline is in the denominator of on-time ratios.
    fn is_due(&self, deadline: Option<Instant>) -> bool {
        deadline.is_some_and(|deadline| deadline >= self.measured.from && deadline <= self.measured.until)
    }

    /// Records that the application wrote the data of a packet.
    #[inline]
    pub fn written(&mut self, kind: MediaKind, deadline: Option<Instant>) {
        if self.is_due(deadline) {
            self.rest().timeliness[kind as usize].due += 1;
        }
    }

    /// Records that the application wrote the first packet of a frame.
    #[inline]
    pub fn frame_written(&mut self, frame: &WrittenFrame) {
        let measured = *self.measured;
        self.frames().written(&measured, frame);
    }

    /// Records that the application wrote a whole frame at `now`, sent immediately in one packet. While all frames of a
    /// flow are of this form and are data without a deadline, the packet counts serve as frame counts.
    #[inline]
    pub fn frame_written_and_sent(&mut self, now: Instant, frame: &WrittenFrame) {
        let is_plain = frame.created == now && frame.kind == MediaKind::Data && frame.deadline().is_none();
        if is_plain && (self.packets_are_frames || self.sent == 0 && self.has_no_frames()) {
            self.packets_are_frames = true;
        } else {
            self.frame_written(frame);
        }
    }

    /// Records that the last missing packet of a frame arrived at `now`. Called once for each frame, before
    /// [`received`](Self::received) for the packet.
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

    /// Returns the separate frame counts, which are used from now on.
    fn frames(&mut self) -> &mut FrameMeter {
        let counts = std::mem::take(&mut self.packets_are_frames)
            .then(|| Box::new(FrameMeter::of_packets(self.sent, &self.delays)));
        let frames = &mut self.rest.get_or_insert_default().frames;
        if counts.is_some() {
            *frames = counts;
        }
        frames.get_or_insert_default()
    }

    fn current_frames(&self) -> Option<Cow<'_, FrameMeter>> {
        if self.packets_are_frames {
            return Some(Cow::Owned(FrameMeter::of_packets(self.sent, &self.delays)));
        }
        self.rest.as_ref()?.frames.as_deref().map(Cow::Borrowed)
    }

    /// Records that the application offered data to the flow's send queue at `now`.
    #[inline]
    pub fn queued(&mut self, now: Instant, kind: MediaKind) {
        self.count_in_send_queue(now, |meter| meter.written(kind));
    }

    /// Records that data left the send queue at `now` after `wait`.
    #[inline]
    pub fn left_send_queue(&mut self, now: Instant, kind: MediaKind, wait: Duration) {
        self.count_in_send_queue(now, |meter| meter.left(kind, wait));
    }

    /// Records that the send queue discarded data at `now` that would have arrived `lateness` after its deadline.
    pub fn unsent(&mut self, now: Instant, kind: MediaKind, cause: SendDrop, lateness: Duration) {
        self.count_in_send_queue(now, |meter| meter.dropped(kind, cause, lateness));
    }

    /// Records that the sender detected a loss at `now`, and whether the data `returned` to the send queue.
    pub fn found_lost(&mut self, now: Instant, kind: MediaKind, returned: bool) {
        self.count_in_send_queue(now, |meter| meter.found_lost(kind, returned));
    }

    fn count_in_send_queue(&mut self, now: Instant, count: impl FnOnce(&mut SendQueueMeter)) {
        if now >= self.measured.from {
            count(self.rest().send_queue.get_or_insert_default());
        }
    }

    /// Records the arrival of a session at `now`; it is `refused` if no connection was opened.
    pub fn session_arrived(&mut self, now: Instant, size: Bytes, refused: bool) {
        if now >= self.measured.from {
            self.rest().sessions.get_or_insert_default().arrived(size, refused);
        }
    }

    /// Records the completion at `now` of a session that arrived at `arrived`.
    pub fn session_completed(&mut self, arrived: Instant, now: Instant, size: Bytes) {
        if arrived >= self.measured.from {
            self.rest().sessions.get_or_insert_default().completed(size, now.since(arrived));
        }
    }

    /// Records the request of a page at `now`.
    pub fn page_arrived(&mut self, now: Instant) {
        self.count_page(now, |meter| meter.arrived += 1);
    }

    /// Records that the page requested at `arrived` was refused.
    pub fn page_refused(&mut self, arrived: Instant) {
        self.count_page(arrived, |meter| meter.refused += 1);
    }

    /// Records the completion at `now` of the page requested at `arrived`.
    pub fn page_completed(&mut self, arrived: Instant, now: Instant) {
        self.count_page(arrived, |meter| meter.completed(now.since(arrived)));
    }

    fn count_page(&mut self, arrived: Instant, count: impl FnOnce(&mut PageMeter)) {
        if arrived >= self.measured.from {
            count(self.rest().pages.get_or_insert_default());
        }
    }

    /// Records that `packet` left its sender at `packet.sent_at`.
    #[inline]
    pub fn sent(&mut self, packet: &FlowPacket) {
        self.sent += u64::from(packet.sent_at >= self.measured.from);
    }

    /// Records the arrival of `packet` at `now` with `goodput_bytes` of new payload (0 if its data was received
    /// before).
    #[inline]
    pub fn received(&mut self, now: Instant, packet: &FlowPacket, goodput_bytes: u32) {
        self.total_received_bytes += u64::from(packet.wire_bytes);
        let late = packet.deadline.is_some_and(|deadline| now > deadline);
        if self.is_due(packet.deadline) {
            let timeliness = &mut self.rest().timeliness[packet.kind as usize];
            *if late { &mut timeliness.late } else { &mut timeliness.on_time } += 1;
            timeliness.delay_nanos = timeliness.delay_nanos.saturating_add(now.since(packet.sent_at).as_nanos());
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

    /// Records the arrival at `now` of a further copy of `packet`. Its bytes count as throughput, and it counts as a
    /// duplicate, not as a received packet.
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

    /// Records that `packet` is lost by `cause`.
    pub fn lost(&mut self, packet: &FlowPacket, cause: DropCause) {
        let is_measured = packet.sent_at >= self.measured.from;
        let rest = self.rest();
        rest.total_lost_packets += 1;
        if is_measured {
            rest.lost.add(cause);
        }
    }

    /// Records a round-trip time sample of the sender at `now`.
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

    /// Returns the wire bytes received since time zero, including those before the measured interval.
    #[must_use]
    pub fn total_received_bytes(&self) -> u64 {
        self.total_received_bytes
    }

    /// Returns the number of packets lost since time zero, including those before the measured interval.
    #[must_use]
    pub fn total_lost_packets(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.total_lost_packets)
    }

    /// Returns the number and the sum of the one-way delays of the packets sent and received in the measured interval
    /// so far.
    #[must_use]
    pub fn delay_sum(&self) -> DelaySum {
        self.delays.delay_sum()
    }

    /// Returns the number and the sum of the one-way delays of the received packets of a media kind whose deadline is
    /// in the measured interval.
    #[must_use]
    pub fn delay_sum_of(&self, kind: MediaKind) -> DelaySum {
        let timeliness = self.rest.as_ref().map(|rest| &rest.timeliness[kind as usize]);
        timeliness.map_or_else(DelaySum::default, |sums| DelaySum {
            count: sums.on_time + sums.late,
            nanos: sums.delay_nanos.into(),
        })
    }

    /// Returns the distributions of the flow's packet and frame delays so far. [`summary`](Self::summary) has their
    /// means and percentiles.
    #[must_use]
    pub fn distributions(&self, name: String) -> FlowDistributions {
        let received = self.delays.total();
        let frames = self.current_frames();
        FlowDistributions {
            name,
            one_way_delay_s: (received > 0).then(|| Distribution::of(&self.delays, received)),
            frame_delay_s: frames.map(|frames| frames.distributions()).unwrap_or_default(),
        }
    }

    /// Returns the results until `end`, which must not be before the last event. Fields that the meter does not know
    /// are unset, and the caller sets them: the error of the delays, the counters of TCP and of the encoder, the rating
    /// of speech, the failure of a connection, judged losses, and the results of phases.
    #[must_use]
    pub fn summary(&self, label: FlowLabel, end: Instant) -> FlowSummary {
        let none = OnceCell::new();
        let rest = self.rest.as_deref().unwrap_or_else(|| none.get_or_init(Rest::default));
        let time = end.since(self.measured.from);
        let seconds = time.as_secs_f64();
        let rate = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
        let (lost, received) = (rest.lost.total(), self.delays.total());
        let frames = self.current_frames();
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
            on_time_ratio: rest.due_ratio(|timeliness| timeliness.on_time),
            late_ratio: rest.due_ratio(|timeliness| timeliness.late),
            r_factor: None,
            mos: None,
            frames: frames.as_ref().map(|frames| frames.summary()).unwrap_or_default(),
            display: frames.as_ref().and_then(|frames| frames.display(&self.measured)),
            encoder: None,
            rate_cov: self.bins.coefficient_of_variation(&rest.closed_bins, time),
            retransmitted_packets: None,
            timeouts: None,
            stuck: false,
            send_queue: rest.send_queue.as_ref().map(|meter| meter.summary()).unwrap_or_default(),
            connection_failure: None,
            losses_judged: None,
            sessions: rest.sessions.as_ref().map(|meter| meter.summary(seconds)),
            pages: rest.pages.as_ref().map(|meter| meter.summary()),
            phases: BTreeMap::new(),
        }
    }
}

impl Rest {
    fn due_ratio(&self, part: fn(&Timeliness) -> u64) -> BTreeMap<MediaKind, f64> {
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

    /// Each flow has delays from 10 ms to 1 s.
    #[test]
    fn five_thousand_flows_fit_into_fifteen_megabytes() {
        let mut meter = FlowMeter::new(&Measured::between(Instant::ZERO, Instant::FAR_FUTURE));
        let packet = FlowPacket { sent_at: Instant::ZERO, wire_bytes: 1500, kind: MediaKind::Data, deadline: None };
        for millis in 10..=1000 {
            meter.sent(&packet);
            meter.received(Instant::from_millis(millis), &packet, 1460);
        }
        let bytes = size_of::<FlowMeter>() + meter.delays.heap_bytes();
        assert!(5000 * bytes < 15_000_000, "{bytes} bytes per flow");
    }
}
