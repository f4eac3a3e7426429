//! What became of the datagrams that a connection was given.

use super::metrics::Page;
use super::receiving::{BackSoFar, Received};
use super::recording::Values;
use super::teller::how_many;
use super::watch::Figures;
use headway_media::Fragment;
use headway_net::{Connection, Duration, Event, Fate, MediaKind, Options, Rate, Status};
use headway_record::{
    FlowLabel, FlowMeter, FlowPacket, FlowSummary, Interval, Measured, SendQueueSummary, WrittenFrame,
};
use headway_sim::Frames;
use headway_units::{DropCause, Instant};
use serde::Serialize;
use std::collections::BTreeMap;

/// Datagrams whose end is waited for, at most: of more the oldest are not followed.
const MOST: usize = 1 << 17;

/// A datagram that has no end yet.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    written: Instant,
    sent: Option<FlowPacket>,
    bytes: u32,
    kind: MediaKind,
    fragment: Option<Fragment>,
}

/// Counts what becomes of datagrams, as the simulator does of a flow's packets.
#[derive(Debug)]
pub(super) struct Sending {
    label: FlowLabel,
    start: Instant,
    meter: FlowMeter,
    /// Frames of which the peer has acknowledged a part.
    frames: Frames,
    /// By their numbers.
    under_way: BTreeMap<u64, UnderWay>,
    /// Of them those that have not been sent.
    waiting: usize,
    /// Bytes of all headers below the program's.
    header: u32,
    /// The queue sends lost datagrams again if there is time: one that is lost for good was too late.
    resends: bool,
    encoder_rate: Option<Rate>,
    status: Option<Status>,
    /// When the line before was, and how many bytes had arrived by then.
    before: (Instant, u64),
}

/// What has become of what was sent: so far, and since the line before. All names but `now` and `last` are those of `summary.json`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Sent {
    /// From the start to now, in s.
    pub(super) interval: Interval,
    pub(super) last: bool,
    #[serde(flatten)]
    pub(super) flow: FlowSummary,
    pub(super) now: Now,
    /// What came on the same connection, of who hands that on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) back: Option<BackSoFar>,
}

/// How it is now; the names are those of `series.arrow`, which has all but the encoder's rate.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Now {
    /// Bits on the wire that arrived since the line before, a second.
    pub(super) throughput_bps: f64,
    pub(super) allowed_rate_bps: Option<f64>,
    /// What an encoder should produce.
    pub(super) encoder_rate_bps: Option<f64>,
    /// The smoothed round trip.
    pub(super) rtt_s: Option<f64>,
    /// TFRC's p.
    pub(super) loss_event_ratio: Option<f64>,
    /// Packets lost since the start.
    pub(super) loss_packets: u64,
    /// Datagrams that wait to be sent.
    pub(super) waiting_packets: usize,
}

impl Sending {
    pub(super) fn new(now: Instant, label: FlowLabel, resends: bool) -> Self {
        Self {
            label,
            start: now,
            meter: FlowMeter::new(&Measured::between(now, Instant::FAR_FUTURE)),
            frames: Frames::default(),
            under_way: BTreeMap::new(),
            waiting: 0,
            header: 0,
            resends,
            encoder_rate: None,
            status: None,
            before: (now, 0),
        }
    }

    /// The source hands over the first datagram of a frame.
    pub(super) fn frame_written(&mut self, now: Instant, kind: MediaKind) {
        self.meter.frame_written(&frame(now, kind));
    }

    /// The connection accepted a datagram under this number, which may be a part of a frame.
    pub(super) fn written(
        &mut self,
        now: Instant,
        number: u64,
        kind: MediaKind,
        bytes: usize,
        fragment: Option<Fragment>,
    ) {
        self.meter.queued(now, kind);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.under_way.insert(number, UnderWay { written: now, sent: None, bytes, kind, fragment });
        self.waiting += 1;
        if self.under_way.len() > MOST
            && let Some((_, oldest)) = self.under_way.pop_first()
        {
            self.waiting -= usize::from(oldest.sent.is_none());
        }
    }

    pub(super) fn heard(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Media(number, fate) => self.fate(now, *number, *fate),
            Event::Rate(rate) => self.encoder_rate = Some(*rate),
            _ => {}
        }
    }

    fn fate(&mut self, now: Instant, number: u64, fate: Fate) {
        let Some(datagram) = self.under_way.get_mut(&number) else { return };
        let kind = datagram.kind;
        if let Fate::Sent(_) = fate {
            let wire_bytes = datagram.bytes.saturating_add(self.header);
            let packet = FlowPacket { sent_at: now, wire_bytes, kind, deadline: None };
            match datagram.sent.replace(packet) {
                None => self.waiting -= 1,
                // The queue sends again what was found lost, and nothing else.
                Some(lost) => {
                    self.meter.found_lost(now, kind, true);
                    self.meter.lost(&lost, DropCause::Channel);
                }
            }
            self.meter.left_send_queue(now, kind, now.since(datagram.written));
            self.meter.sent(&packet);
            return;
        }
        let UnderWay { written, sent, bytes, fragment, .. } = *datagram;
        self.under_way.remove(&number);
        self.waiting -= usize::from(sent.is_none());
        match (fate, sent) {
            (Fate::Unsent { cause, lateness }, sent) => {
                // It waited again since it was found lost.
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
            // A path does not say why. What is no queue of ours is a channel.
            (Fate::Lost, Some(packet)) => {
                if self.resends {
                    self.meter.found_lost(now, kind, false);
                }
                self.meter.lost(&packet, DropCause::Channel);
            }
            // The peer's program did not read it.
            (Fate::Dropped(_), Some(packet)) => self.meter.lost(&packet, DropCause::Host),
            _ => {}
        }
    }

    /// What the connection holds now. `mtu`: the largest packet, with all headers.
    pub(super) fn look(&mut self, now: Instant, connection: &Connection, mtu: u64) {
        if let Some(status) = connection.status() {
            if let Some(rtt) = status.rtt {
                self.meter.rtt(now, rtt);
            }
            // Both ends have agreed on it, which need not be the first choice of this end.
            if let Some(name) = status.sender.and(Options::controller_name(status.send_ccid)) {
                name.clone_into(&mut self.label.kind);
            }
            self.status = Some(status);
        }
        let largest = connection.largest() as u64;
        if largest > 0 {
            self.header = u32::try_from(mtu.saturating_sub(largest)).unwrap_or_default();
        }
    }

    /// Datagrams that wait to be sent.
    pub(super) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether there is anything of which more will be heard.
    pub(super) fn is_settled(&self) -> bool {
        self.under_way.is_empty()
    }

    pub(super) fn rtt(&self) -> Duration {
        self.status.and_then(|status| status.rtt).unwrap_or_default()
    }

    /// A line, and the beginning of the next.
    pub(super) fn line(&mut self, now: Instant, last: bool) -> Sent {
        let mut flow = self.meter.summary(self.label.clone(), now);
        // What is known of an arrival is when its acknowledgement came.
        (flow.one_way_delay_s, flow.jitter_s) = (None, None);
        flow.frames.values_mut().for_each(|frames| frames.delay_s = None);
        let arrived = self.meter.total_received_bytes();
        let (at, had) = std::mem::replace(&mut self.before, (now, arrived));
        let seconds = now.since(at).as_secs_f64();
        let sender = self.status.and_then(|status| status.sender);
        let rate = |rate: Rate| rate.bits_per_second() as f64;
        let shown = Now {
            throughput_bps: if seconds > 0.0 { 8.0 * (arrived - had) as f64 / seconds } else { 0.0 },
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
            flow,
            now: shown,
            back: None,
        }
    }
}

impl Sent {
    /// What a record says of it, and of what came back.
    pub(super) fn flows(&self) -> Vec<FlowSummary> {
        std::iter::once(&self.flow).chain(self.back.iter().map(|back| &back.flow)).cloned().collect()
    }

    /// For people, on one line.
    pub(super) fn live(&self) -> String {
        let Self { interval, flow, now, .. } = self;
        let expired: u64 = flow.send_queue.values().map(|queue| queue.expired_packets).sum();
        let rtt = now.rtt_s.map_or_else(|| "?".to_owned(), |rtt| format!("{:.1} ms", 1e3 * rtt));
        let encoder = now.encoder_rate_bps.map_or_else(|| "?".to_owned(), |rate| format!("{:.3} Mb/s", 1e-6 * rate));
        let back = self.back.as_ref().map_or_else(String::new, |back| {
            let Received { now, received_packets, .. } = &back.received;
            let came = how_many(*received_packets, "datagram", "datagrams");
            format!("; back {:.3} Mb/s, {came}", 1e-6 * now.goodput_bps)
        });
        format!(
            "{:.0} s: {:.3} Mb/s, {:.2} % lost, RTT {rtt}, {} expired, {} delivered, {} wait, encoder {encoder}{back}",
            interval.to,
            1e-6 * now.throughput_bps,
            100.0 * flow.loss_ratio,
            expired,
            flow.received_packets,
            now.waiting_packets,
        )
    }

    /// Datagrams that were sent and of which no report tells the fate.
    pub(super) fn unaccounted(&self) -> u64 {
        self.flow.sent_packets.saturating_sub(self.flow.received_packets + self.flow.lost_packets.total())
    }

    /// Datagrams that the queue still had at the end.
    pub(super) fn waiting(&self) -> u64 {
        let waiting = |queue: &SendQueueSummary| {
            let thrown_away = queue.refused_packets + queue.pushed_out_packets + queue.expired_packets;
            (queue.written_packets + queue.returned_packets).saturating_sub(queue.sent_packets + thrown_away)
        };
        self.flow.send_queue.values().map(waiting).sum()
    }

    /// For people, at the end.
    pub(super) fn whole(&self) -> String {
        let flow = &self.flow;
        let into = |queue: &SendQueueSummary| queue.written_packets + queue.returned_packets;
        let written: u64 = flow.send_queue.values().map(|queue| queue.written_packets).sum();
        let into: u64 = flow.send_queue.values().map(into).sum();
        let went: u64 = flow.send_queue.values().map(|queue| queue.sent_packets).sum();
        let unaccounted = match self.unaccounted() {
            0 => String::new(),
            unaccounted => format!(", {unaccounted} unaccounted for"),
        };
        let back = self.back.as_ref().map_or_else(String::new, |back| format!("; back {}", back.received.whole()));
        format!(
            "{:.1} s: {}, {} sent, {} delivered, {} lost{unaccounted}, {} never sent; {:.3} Mb/s{back}",
            self.interval.to,
            how_many(written, "datagram", "datagrams"),
            flow.sent_packets,
            flow.received_packets,
            flow.lost_packets.total(),
            into.saturating_sub(went),
            1e-6 * flow.throughput_bps,
        )
    }
}

/// A frame as a record counts it: whether it was complete by its deadline is unknown, as the report of an arrival is later than the arrival.
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
        let own =
            [Some(now.throughput_bps), Some(lost), now.allowed_rate_bps, now.rtt_s, now.loss_event_ratio, waiting];
        std::iter::once(own).chain(self.back.iter().flat_map(|back| back.received.values())).collect()
    }

    fn page(&self) -> String {
        let (flow, now) = (&self.flow, &self.now);
        let mut page = Page::default();
        page.counter("sent_packets", "Packets with datagrams that were sent.", flow.sent_packets);
        page.counter("delivered_packets", "Packets that the peer has acknowledged.", flow.received_packets);
        page.counter("lost_packets", "Packets that were lost.", flow.lost_packets.total());
        let queue = |count: fn(&SendQueueSummary) -> u64| flow.send_queue.values().map(count).sum();
        page.counter("written_packets", "Datagrams that came to the send queue.", queue(|queue| queue.written_packets));
        page.counter("expired_packets", "Datagrams thrown away as too late.", queue(|queue| queue.expired_packets));
        let full = queue(|queue| queue.refused_packets + queue.pushed_out_packets);
        page.counter("refused_packets", "Datagrams thrown away by a full send queue.", full);
        page.gauge("waiting_packets", "Datagrams that wait to be sent.", Some(now.waiting_packets as f64));
        page.gauge("throughput_bps", "Bits on the wire that arrived, a second.", Some(now.throughput_bps));
        page.gauge("allowed_rate_bps", "What the controller allows.", now.allowed_rate_bps);
        page.gauge("encoder_rate_bps", "What an encoder should produce.", now.encoder_rate_bps);
        page.gauge("rtt_seconds", "The smoothed round trip.", now.rtt_s);
        page.gauge("loss_event_ratio", "The loss event rate.", now.loss_event_ratio);
        self.back.iter().for_each(|back| page.0.push_str(&back.received.page()));
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

    fn sending() -> Sending {
        Sending::new(at(1000), FlowLabel::default(), true)
    }

    /// Of each datagram one end counts, and it is the record's arithmetic: sent = received + lost + in flight.
    #[test]
    fn each_datagram_counts_once() {
        let mut sending = sending();
        for number in 0..6 {
            sending.written(at(1000), number, MediaKind::Audio, 1000, None);
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
        // 8000 bits in 2 s; nobody knows the headers yet.
        assert_eq!((flow.goodput_bps, flow.throughput_bps, line.now.throughput_bps), (4000.0, 4000.0, 4000.0));
        let queue = &flow.send_queue[&MediaKind::Audio];
        assert_eq!((queue.written_packets, queue.sent_packets, queue.expired_packets), (6, 4, 1));
        assert_eq!((sending.waiting(), sending.is_settled()), (1, false));
        assert_eq!(sending.line(at(4000), true).now.throughput_bps, 0.0);
    }

    /// `returned_packets` stayed 0 while 60 datagrams were sent again. The sums are those of docs/src/send-queues.md: written and returned are sent,
    /// thrown away, and waiting.
    #[test]
    fn datagrams_that_are_sent_again_are_counted_as_returned() {
        let mut sending = sending();
        for number in 0..4 {
            sending.written(at(1000), number, MediaKind::Audio, 1000, None);
            sending.fate(at(1010), number, Fate::Sent(Seq48::new(number)));
        }
        // One arrives at the second try, one expires before it, one is too late for it.
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
    }

    /// The record of a call held no frames. A frame is complete once all its datagrams are acknowledged, also if one was sent again; of three one
    /// lacks a datagram. When they arrived is unknown.
    #[test]
    fn frames_are_complete_when_the_peer_has_acknowledged_all_their_datagrams() {
        let mut sending = sending();
        let mut framing = headway_media::Framing::default();
        for (number, last) in [false, true, true, false, true].into_iter().enumerate() {
            let fragment = framing.number(MediaKind::Video, last);
            if fragment.index == 0 {
                sending.frame_written(at(1000), MediaKind::Video);
            }
            sending.written(at(1000), number as u64, MediaKind::Video, 1000, Some(fragment));
            sending.fate(at(1010), number as u64, Fate::Sent(Seq48::new(number as u64)));
        }
        for number in [4, 2, 1] {
            sending.fate(at(1040), number, Fate::Delivered);
        }
        sending.fate(at(1040), 3, Fate::Lost);
        sending.fate(at(1050), 0, Fate::Sent(Seq48::new(5)));
        sending.fate(at(1090), 0, Fate::Delivered);
        let frames = &sending.line(at(2000), true).flow.frames[&MediaKind::Video];
        assert_eq!((frames.written_frames, frames.complete_frames, frames.complete_ratio), (3, 2, 2.0 / 3.0));
        assert_eq!((frames.on_time_frames, frames.delay_s.is_none()), (None, true));
    }

    /// Events that are missed do not make memory grow.
    #[test]
    fn what_nobody_tells_of_is_forgotten() {
        let mut sending = sending();
        for number in 0..MOST as u64 + 10 {
            sending.written(at(1000), number, MediaKind::Data, 1, None);
        }
        assert_eq!((sending.under_way.len(), sending.waiting()), (MOST, MOST));
    }
}
