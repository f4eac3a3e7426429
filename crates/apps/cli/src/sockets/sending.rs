//! Figures of sent datagrams.

use super::console::plural;
use super::delivery::Delivery;
use super::metrics::Page;
use super::receiving::{Received, ReverseReport};
use super::recording::Values;
use super::watch::Figures;
use headway_media::Fragment;
use headway_net::{Connection, Duration, Event, Fate, FecCounters, Media, MediaKind, Rate, Status};
use headway_record::{
    FlowLabel, FlowMeter, FlowPacket, FlowSummary, Interval, Measured, SendQueueSummary, WrittenFrame,
};
use headway_sim::Frames;
use headway_units::{DropCause, Instant};
use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum number of datagrams whose fate is tracked. If there are more, the oldest are forgotten.
const MAX_IN_FLIGHT: usize = 1 << 17;

/// Datagram whose fate is not known yet.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    written: Instant,
    sent: Option<FlowPacket>,
    bytes: u32,
    kind: MediaKind,
    /// Whether the datagram has a lifetime.
    expires: bool,
    fragment: Option<Fragment>,
}

/// Counters of the fates of datagrams, as in a record of the simulator.
#[derive(Debug)]
pub(super) struct Sending {
    label: FlowLabel,
    start: Instant,
    meter: FlowMeter,
    /// Frames that the peer has acknowledged in part.
    frames: Frames,
    delivery: Delivery,
    /// Datagrams by number.
    in_flight: BTreeMap<u64, InFlight>,
    /// Number of datagrams in the send queue.
    waiting: usize,
    /// Size of all headers of a packet, in bytes.
    header: u32,
    /// Whether the send queue retransmits lost datagrams that are not too late.
    resends: bool,
    encoder_rate: Option<Rate>,
    /// Number of times that the connection was lost.
    interruptions: u64,
    /// Whether the connection is established now.
    is_connected: bool,
    /// Whether the connection is lost and not yet established again.
    is_interrupted: bool,
    status: Option<Status>,
    fec: FecCounters,
    /// Number of bytes of all sent datagrams, without headers.
    sent_bytes: u64,
    /// Time of the previous report, and numbers of delivered and of sent bytes at that time.
    before: (Instant, u64, u64),
}

/// Figures of sent datagrams, in total and since the previous report. The names of `interval` and `flow` are those of
/// `summary.json`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Sent {
    /// Interval from the start to now, in s.
    pub(super) interval: Interval,
    pub(super) last: bool,
    /// Whether the connection is established now.
    pub(super) connected: bool,
    #[serde(flatten)]
    pub(super) flow: FlowSummary,
    pub(super) now: Now,
    /// Outcomes of the datagrams of the source.
    #[serde(serialize_with = "report")]
    pub(super) delivery: Delivery,
    /// Number of repair packets sent, of forward error correction.
    pub(super) repair_packets: u64,
    /// Number of lost datagrams that the receiver could restore from them. They count as delivered.
    pub(super) restored_packets: u64,
    /// Number of times that the connection was lost and began again.
    pub(super) interruptions: u64,
    /// Datagrams from the peer, if they are forwarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reverse: Option<ReverseReport>,
}

/// Current figures. Names are those of `series.arrow`.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Now {
    /// Delivered rate with headers since the previous report, in bit/s.
    pub(super) throughput_bps: f64,
    /// Rate of the sent datagrams without headers since the previous report, in bit/s.
    pub(super) sending_rate_bps: f64,
    pub(super) allowed_rate_bps: Option<f64>,
    /// Target rate of an encoder, in bit/s.
    pub(super) encoder_rate_bps: Option<f64>,
    /// Smoothed round-trip time, in s.
    pub(super) rtt_s: Option<f64>,
    /// Loss event rate of TFRC, from 0 to 1.
    pub(super) loss_event_ratio: Option<f64>,
    /// Number of lost packets since the start.
    pub(super) loss_packets: u64,
    /// Number of datagrams in the send queue.
    pub(super) waiting_packets: usize,
}

impl Sending {
    pub(super) fn new(now: Instant, label: FlowLabel, resends: bool) -> Self {
        Self {
            label,
            start: now,
            meter: FlowMeter::new(&Measured::between(now, Instant::FAR_FUTURE)),
            frames: Frames::default(),
            delivery: Delivery::default(),
            in_flight: BTreeMap::new(),
            waiting: 0,
            header: 0,
            resends,
            encoder_rate: None,
            interruptions: 0,
            is_connected: false,
            is_interrupted: false,
            status: None,
            fec: FecCounters::default(),
            sent_bytes: 0,
            before: (now, 0, 0),
        }
    }

    /// Counts a frame, with the first of its datagrams.
    pub(super) fn frame_written(&mut self, now: Instant, kind: MediaKind) {
        self.meter.frame_written(&frame(now, kind));
    }

    /// Counts a datagram that the connection has accepted under this number. `fragment`: its position in a frame.
    pub(super) fn written(&mut self, now: Instant, number: u64, media: &Media<'_>, fragment: Option<Fragment>) {
        let (kind, expires) = (media.kind, media.expires.is_some());
        self.meter.queued(now, kind);
        self.delivery.of(expires).written += 1;
        let bytes = u32::try_from(media.payload.len()).unwrap_or(u32::MAX);
        self.in_flight.insert(number, InFlight { written: now, sent: None, bytes, kind, expires, fragment });
        self.waiting += 1;
        if self.in_flight.len() > MAX_IN_FLIGHT
            && let Some((_, oldest)) = self.in_flight.pop_first()
        {
            self.waiting -= usize::from(oldest.sent.is_none());
        }
    }

    /// Counts a datagram that the connection did not accept, because it is too long for a packet.
    pub(super) const fn refused(&mut self, media: &Media<'_>) {
        let outcomes = self.delivery.of(media.expires.is_some());
        outcomes.written += 1;
        outcomes.unsent += 1;
    }

    pub(super) fn on_event(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Media(number, fate) => self.fate(now, *number, *fate),
            Event::Interrupted(_) => {
                self.interruptions += 1;
                (self.is_connected, self.is_interrupted) = (false, true);
            }
            Event::Connected => (self.is_connected, self.is_interrupted) = (true, false),
            Event::Closed(_) => self.is_connected = false,
            _ => {}
        }
    }

    fn fate(&mut self, now: Instant, number: u64, fate: Fate) {
        let Some(datagram) = self.in_flight.get_mut(&number) else { return };
        let kind = datagram.kind;
        if let Fate::Sent(_) = fate {
            let wire_bytes = datagram.bytes.saturating_add(self.header);
            let packet = FlowPacket { sent_at: now, wire_bytes, kind, deadline: None };
            match datagram.sent.replace(packet) {
                None => self.waiting -= 1,
                // A second transmission means that the first was lost.
                Some(lost) => {
                    self.meter.found_lost(now, kind, true);
                    self.meter.lost(&lost, DropCause::Channel);
                }
            }
            self.meter.left_send_queue(now, kind, now.since(datagram.written));
            self.meter.sent(&packet);
            self.sent_bytes += u64::from(datagram.bytes);
            return;
        }
        let InFlight { written, sent, bytes, fragment, expires, .. } = *datagram;
        self.in_flight.remove(&number);
        self.waiting -= usize::from(sent.is_none());
        let outcomes = self.delivery.of(expires);
        match (fate, sent) {
            (Fate::Delivered, _) => outcomes.delivered += 1,
            (Fate::Unsent { .. }, None) => outcomes.unsent += 1,
            // A retransmission came too late.
            (Fate::Unsent { .. }, Some(_)) | (Fate::Lost | Fate::Dropped(_), _) => outcomes.lost += 1,
            (Fate::Unknown, _) if self.is_interrupted => outcomes.lost += 1,
            _ => {}
        }
        match (fate, sent) {
            (Fate::Unsent { cause, lateness }, sent) => {
                // The datagram was lost and was queued again.
                if let Some(lost) = sent {
                    self.meter.found_lost(now, kind, true);
                    self.meter.lost(&lost, DropCause::Channel);
                }
                self.meter.unsent(now, kind, cause, lateness);
            }
            (Fate::Delivered, Some(packet)) => {
                self.meter.received(now, &packet, bytes);
                let complete = fragment.and_then(|part| self.frames.insert_fragment(part, frame(written, kind)));
                complete.iter().for_each(|frame| self.meter.frame_complete(now, frame));
            }
            // The cause of a loss on the path is unknown and counts as the channel.
            (Fate::Lost, Some(packet)) => {
                if self.resends {
                    self.meter.found_lost(now, kind, false);
                }
                self.meter.lost(&packet, DropCause::Channel);
            }
            // The peer was gone before it reported the datagram.
            (Fate::Unknown, Some(packet)) if self.is_interrupted => self.meter.lost(&packet, DropCause::Channel),
            // The program of the peer did not read the datagram.
            (Fate::Dropped(_), Some(packet)) => self.meter.lost(&packet, DropCause::Host),
            _ => {}
        }
    }

    /// Updates the status of the connection. `mtu`: maximum size of a packet with all headers, in bytes.
    pub(super) fn update_status(&mut self, now: Instant, connection: &Connection, mtu: u64) {
        if let Some(fec) = connection.fec_counters() {
            self.fec = fec;
        }
        self.encoder_rate = connection.encoding_rate();
        if let Some(status) = connection.status() {
            if let Some(rtt) = status.rtt {
                self.meter.rtt(now, rtt);
            }
            // The negotiated controller can differ from the first preference of this endpoint.
            if let Some(name) = status.sender.and(status.send_controller) {
                name.clone_into(&mut self.label.kind);
            }
            self.status = Some(status);
        }
        let largest = connection.largest() as u64;
        if largest > 0 {
            self.header = u32::try_from(mtu.saturating_sub(largest)).unwrap_or_default();
        }
    }

    /// Returns the number of datagrams in the send queue.
    pub(super) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns whether the connection is lost and not yet established again.
    pub(super) const fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// Returns whether the fates of all datagrams are known.
    pub(super) fn is_settled(&self) -> bool {
        self.in_flight.is_empty()
    }

    pub(super) fn rtt(&self) -> Duration {
        self.status.and_then(|status| status.rtt).unwrap_or_default()
    }

    /// Returns the current figures and starts the next interval.
    pub(super) fn line(&mut self, now: Instant, last: bool) -> Sent {
        let mut flow = self.meter.summary(self.label.clone(), now);
        // The time of an arrival is unknown, only that of its acknowledgment.
        (flow.one_way_delay_s, flow.jitter_s, flow.display) = (None, None, None);
        flow.frames.values_mut().for_each(|frames| frames.delay_s = None);
        let arrived = self.meter.total_received_bytes();
        let (at, arrived_before, sent_before) = std::mem::replace(&mut self.before, (now, arrived, self.sent_bytes));
        let seconds = now.since(at).as_secs_f64();
        let sender = self.status.and_then(|status| status.sender);
        let rate = |rate: Rate| rate.bits_per_second() as f64;
        let mean_bps = |bytes: u64| if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 };
        let current = Now {
            throughput_bps: mean_bps(arrived - arrived_before),
            sending_rate_bps: mean_bps(self.sent_bytes - sent_before),
            allowed_rate_bps: sender.and_then(|sender| sender.target_rate).map(rate),
            encoder_rate_bps: self.encoder_rate.map(rate),
            rtt_s: self.status.and_then(|status| status.rtt).map(|rtt| rtt.as_secs_f64()),
            loss_event_ratio: sender.and_then(|sender| sender.loss_event_rate).map(|p| p.value()),
            loss_packets: self.meter.total_lost_packets(),
            waiting_packets: self.waiting,
        };
        Sent {
            interval: Interval { from: 0.0, to: now.since(self.start).as_secs_f64() },
            last,
            connected: self.is_connected,
            flow,
            now: current,
            delivery: self.delivery,
            repair_packets: self.fec.repair_packets,
            restored_packets: self.fec.restored_by_peer,
            interruptions: self.interruptions,
            reverse: None,
        }
    }
}

impl Sent {
    /// Returns the flows of a record: to the peer, and from the peer if there is one.
    pub(super) fn flows(&self) -> Vec<FlowSummary> {
        std::iter::once(&self.flow).chain(self.reverse.iter().map(|reverse| &reverse.flow)).cloned().collect()
    }

    /// Returns the text of the status line.
    pub(super) fn live_text(&self) -> String {
        let Self { interval, flow, now, .. } = self;
        let expired: u64 = flow.send_queue.values().map(|queue| queue.expired_packets).sum();
        let rtt = now.rtt_s.map_or_else(|| "?".to_owned(), |rtt| format!("{:.1} ms", 1e3 * rtt));
        let encoder = now.encoder_rate_bps.map_or_else(|| "?".to_owned(), |rate| format!("{:.3} Mb/s", 1e-6 * rate));
        let reverse = self.reverse.as_ref().map_or_else(String::new, |reverse| {
            let Received { now, received_packets, .. } = &reverse.received;
            let received = plural(*received_packets, "datagram", "datagrams");
            format!("; received {:.3} Mb/s, {received}", 1e-6 * now.goodput_bps)
        });
        format!(
            "{:.0} s: {:.3} Mb/s, {:.2} % lost, RTT {rtt}, {} expired, {} delivered, {} queued, encoder {encoder}{reverse}",
            interval.to,
            1e-6 * now.throughput_bps,
            100.0 * flow.loss_ratio,
            expired,
            flow.received_packets,
            now.waiting_packets,
        )
    }

    /// Returns the number of sent datagrams whose fate is unknown.
    pub(super) fn unaccounted(&self) -> u64 {
        self.flow.sent_packets.saturating_sub(self.flow.received_packets + self.flow.lost_packets.total())
    }

    /// Returns the number of datagrams that were still queued at the end.
    pub(super) fn waiting(&self) -> u64 {
        let waiting = |queue: &SendQueueSummary| {
            let discarded = queue.refused_packets + queue.pushed_out_packets + queue.expired_packets;
            (queue.written_packets + queue.returned_packets).saturating_sub(queue.sent_packets + discarded)
        };
        self.flow.send_queue.values().map(waiting).sum()
    }

    /// Returns the text of the final report.
    pub(super) fn total_text(&self) -> String {
        let flow = &self.flow;
        let into = |queue: &SendQueueSummary| queue.written_packets + queue.returned_packets;
        let written: u64 = flow.send_queue.values().map(|queue| queue.written_packets).sum();
        let into: u64 = flow.send_queue.values().map(into).sum();
        let sent: u64 = flow.send_queue.values().map(|queue| queue.sent_packets).sum();
        let unaccounted = match self.unaccounted() {
            0 => String::new(),
            unaccounted => format!(", {unaccounted} unaccounted for"),
        };
        let restored = match self.restored_packets {
            0 => String::new(),
            restored => format!(", {restored} of them restored from {} repair packets", self.repair_packets),
        };
        let reverse = self
            .reverse
            .as_ref()
            .map_or_else(String::new, |reverse| format!("; received in {}", reverse.received.total_text()));
        format!(
            "{:.1} s: {}, {} sent, {} delivered{}{restored}, {} lost{unaccounted}, {} never sent; {:.3} Mb/s{reverse}",
            self.interval.to,
            plural(written, "datagram", "datagrams"),
            flow.sent_packets,
            flow.received_packets,
            self.delivery.share_text(),
            flow.lost_packets.total(),
            into.saturating_sub(sent),
            1e-6 * flow.throughput_bps,
        )
    }
}

fn report<S: serde::Serializer>(delivery: &Delivery, serializer: S) -> Result<S::Ok, S::Error> {
    delivery.report().serialize(serializer)
}

/// Returns a frame for the record. It has no deadline, because the time of its arrival is unknown.
const fn frame(created: Instant, kind: MediaKind) -> WrittenFrame {
    WrittenFrame { kind, created, deadline: Instant::FAR_FUTURE }
}

impl Figures for Sent {
    fn interval(&self) -> Interval {
        self.interval
    }

    fn values(&self) -> Vec<Values> {
        let now = &self.now;
        let lost = now.loss_packets as f64;
        let waiting = Some(now.waiting_packets as f64);
        let own = [
            Some(now.throughput_bps),
            Some(lost),
            Some(now.sending_rate_bps),
            now.allowed_rate_bps,
            now.encoder_rate_bps,
            now.rtt_s,
            now.loss_event_ratio,
            waiting,
        ];
        std::iter::once(own).chain(self.reverse.iter().flat_map(|reverse| reverse.received.values())).collect()
    }

    fn page(&self) -> String {
        let (flow, now) = (&self.flow, &self.now);
        let mut page = Page::default();
        page.counter("sent_packets", "Number of sent data packets.", flow.sent_packets);
        page.counter("delivered_packets", "Number of packets that the peer has acknowledged.", flow.received_packets);
        page.counter("lost_packets", "Number of lost packets.", flow.lost_packets.total());
        page.counter("repair_packets", "Number of repair packets sent.", self.repair_packets);
        page.counter(
            "restored_by_peer_packets",
            "Number of lost datagrams that the receiver could restore.",
            self.restored_packets,
        );
        let queue = |count: fn(&SendQueueSummary) -> u64| flow.send_queue.values().map(count).sum();
        page.counter(
            "written_packets",
            "Number of datagrams that were enqueued in the send queue.",
            queue(|queue| queue.written_packets),
        );
        page.counter(
            "expired_packets",
            "Number of expired datagrams that were dropped.",
            queue(|queue| queue.expired_packets),
        );
        let full = queue(|queue| queue.refused_packets + queue.pushed_out_packets);
        page.counter("refused_packets", "Number of datagrams that a full send queue dropped.", full);
        page.gauge("connected", "1 if the connection is established now, otherwise 0.", Some(self.connected.into()));
        page.counter("interruptions", "Number of times that the connection was lost.", self.interruptions);
        page.gauge("waiting_packets", "Number of datagrams in the send queue.", Some(now.waiting_packets as f64));
        page.gauge("throughput_bps", "Delivered rate with headers, in bit/s.", Some(now.throughput_bps));
        page.gauge(
            "sending_rate_bps",
            "Rate of the sent datagrams without headers, in bit/s.",
            Some(now.sending_rate_bps),
        );
        page.gauge("allowed_rate_bps", "Rate that the controller allows, in bit/s.", now.allowed_rate_bps);
        page.gauge("encoder_rate_bps", "Target rate of an encoder, in bit/s.", now.encoder_rate_bps);
        page.gauge("rtt_seconds", "Smoothed round-trip time, in s.", now.rtt_s);
        page.gauge("loss_event_ratio", "Loss event rate, from 0 to 1.", now.loss_event_ratio);
        self.reverse.iter().for_each(|reverse| page.0.push_str(&reverse.received.page()));
        page.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_net::SendDrop;
    use headway_units::Seq48;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn media(kind: MediaKind) -> Media<'static> {
        Media { kind, ..Media::new(&[0; 1000]) }
    }

    fn sending() -> Sending {
        Sending::new(at(1000), FlowLabel::default(), true)
    }

    /// Records have sent = received + lost + in flight.
    #[test]
    fn each_datagram_has_one_fate() {
        let mut sending = sending();
        for number in 0..6 {
            sending.written(at(1000), number, &media(MediaKind::Audio), None);
        }
        for number in 0..4 {
            sending.fate(at(1010), number, Fate::Sent(Seq48::new(number)));
        }
        assert_eq!(sending.waiting(), 2);
        sending.fate(at(1040), 0, Fate::Delivered);
        sending.fate(at(1040), 1, Fate::Lost);
        sending.fate(at(1040), 2, Fate::Unknown);
        sending.fate(at(1040), 0, Fate::Delivered);
        let expired = Fate::Unsent { cause: SendDrop::Expired, lateness: Duration::from_millis(5) };
        sending.fate(at(1050), 4, expired);
        sending.fate(at(1050), 99, Fate::Delivered);
        let line = sending.line(at(3000), true);
        let flow = &line.flow;
        assert_eq!(
            (flow.sent_packets, flow.received_packets, flow.lost_packets.total(), flow.in_flight_packets),
            (4, 1, 1, 2)
        );
        // 8000 bits in 2 s, without headers, which are not known yet.
        assert_eq!((flow.goodput_bps, flow.throughput_bps, line.now.throughput_bps), (4000.0, 4000.0, 4000.0));
        let queue = &flow.send_queue[&MediaKind::Audio];
        assert_eq!((queue.written_packets, queue.sent_packets, queue.expired_packets), (6, 4, 1));
        assert_eq!((sending.waiting(), sending.is_settled()), (1, false));
        let outcomes = line.delivery.lasting;
        assert_eq!((outcomes.written, outcomes.delivered, outcomes.lost), (6, 1, 1));
        assert_eq!((outcomes.unsent, outcomes.open()), (1, 3));
        assert_eq!(sending.line(at(4000), true).now.throughput_bps, 0.0);
    }

    /// Datagrams in flight when the connection is lost are lost; those in flight at the end have no outcome.
    #[test]
    fn datagrams_in_flight_at_an_interruption_are_lost() {
        let mut sending = sending();
        for number in 0..2 {
            sending.written(at(1000), number, &media(MediaKind::Audio), None);
            sending.fate(at(1010), number, Fate::Sent(Seq48::new(number)));
            if number == 0 {
                sending.on_event(at(1020), &Event::Interrupted(headway_net::Closed::NoAnswer));
                assert!(!sending.line(at(1025), false).connected);
            }
            sending.on_event(at(1030), &Event::Media(number, Fate::Unknown));
            sending.on_event(at(1040), &Event::Connected);
        }
        let line = sending.line(at(2000), true);
        assert_eq!((line.delivery.lasting.lost, line.delivery.lasting.open(), line.interruptions), (1, 1, 1));
        assert_eq!((line.flow.lost_packets.total(), line.unaccounted(), line.connected), (1, 1, true));
    }

    /// docs/src/send-queues.md: written and returned packets are sent, discarded or queued.
    #[test]
    fn retransmitted_datagrams_are_counted_as_returned() {
        let mut sending = sending();
        for number in 0..4 {
            sending.written(at(1000), number, &media(MediaKind::Audio), None);
            sending.fate(at(1010), number, Fate::Sent(Seq48::new(number)));
        }
        // One arrives after a retransmission, one expires before it, and one is lost too late for it.
        sending.fate(at(1040), 0, Fate::Sent(Seq48::new(4)));
        sending.fate(at(1060), 0, Fate::Delivered);
        sending.fate(at(1060), 1, Fate::Unsent { cause: SendDrop::Expired, lateness: Duration::ZERO });
        sending.fate(at(1060), 2, Fate::Lost);
        sending.fate(at(1060), 3, Fate::Delivered);
        let line = sending.line(at(2000), true);
        let queue = &line.flow.send_queue[&MediaKind::Audio];
        assert_eq!((queue.written_packets, queue.returned_packets, queue.lost_late_packets), (4, 2, 1));
        assert_eq!((queue.sent_packets, queue.expired_packets, line.waiting()), (5, 1, 0));
        let flow = &line.flow;
        assert_eq!((flow.sent_packets, flow.received_packets, flow.lost_packets.total()), (5, 2, 3));
        assert_eq!((line.unaccounted(), sending.is_settled()), (0, true));
        // A datagram has one outcome, also if several of its transmissions were lost.
        let outcomes = line.delivery.lasting;
        assert_eq!((outcomes.written, outcomes.delivered, outcomes.lost, outcomes.unsent), (4, 2, 2, 0));
    }

    /// The first frame includes a retransmitted datagram, the third lacks a datagram.
    #[test]
    fn frames_are_complete_when_the_peer_has_acknowledged_all_their_datagrams() {
        let mut sending = sending();
        let mut framing = headway_media::Framing::default();
        for (number, last) in [false, true, true, false, true].into_iter().enumerate() {
            let fragment = framing.number(MediaKind::Video, last);
            if fragment.index == 0 {
                sending.frame_written(at(1000), MediaKind::Video);
            }
            sending.written(at(1000), number as u64, &media(MediaKind::Video), Some(fragment));
            sending.fate(at(1010), number as u64, Fate::Sent(Seq48::new(number as u64)));
        }
        for number in [4, 2, 1] {
            sending.fate(at(1040), number, Fate::Delivered);
        }
        sending.fate(at(1040), 3, Fate::Lost);
        sending.fate(at(1050), 0, Fate::Sent(Seq48::new(5)));
        sending.fate(at(1090), 0, Fate::Delivered);
        let flow = sending.line(at(2000), true).flow;
        assert_eq!(flow.display, None);
        let frames = &flow.frames[&MediaKind::Video];
        assert_eq!((frames.written_frames, frames.complete_frames, frames.complete_ratio), (3, 2, 2.0 / 3.0));
        assert_eq!((frames.on_time_frames, frames.delay_s.is_none()), (None, true));
    }

    #[test]
    fn datagrams_without_events_are_forgotten() {
        let mut sending = sending();
        for number in 0..MAX_IN_FLIGHT as u64 + 10 {
            sending.written(at(1000), number, &Media::new(&[0]), None);
        }
        assert_eq!((sending.in_flight.len(), sending.waiting()), (MAX_IN_FLIGHT, MAX_IN_FLIGHT));
    }
}
