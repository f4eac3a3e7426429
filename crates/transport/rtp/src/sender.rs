//! Sending half of a session: send queue, controller and the record of what was sent.

use crate::error::{RefusedFeedback, SendError};
use crate::feedback::{Arrived, Feedback, LOST_INTERVAL};
use crate::flight::{Flight, Packet, State};
use crate::options::SessionOptions;
use crate::packet::RtpPacket;
use crate::stream::{Sent, Stream};
use headway_media::{Fragment, Media, SendQueue, Unsent};
use headway_rate::{
    Acknowledged, CcfbPacket, Inbound, Next, Outbound, Received, Receiver, ReceiverContext, Report, ReportForm, Sender,
    SenderContext, Status, TimedReport, Timing,
};
use headway_units::{Bytes, Duration, Ecn, Instant, Random};
use std::collections::BTreeMap;

/// Maximum number of sent streams.
const MAX_STREAMS: usize = 64;
/// Size of the carrier's record.
const WINDOW: u64 = 1 << 14;
/// Shortest time without an acknowledgment of a later packet that is reported, and in round trips.
const SILENCE: Duration = Duration::from_secs(1);
const SILENCE_TRIPS: u64 = 4;
/// Timers of a receiver half that are handled between two of its packets.
const MAX_TIMERS: usize = 64;

/// Packet in the send queue.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) number: u64,
    ssrc: u32,
    sent: Sent,
    bytes: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Sending {
    carrier: Outbound,
    /// Receiver half of a controller whose reports are not arrivals. It runs here, by the peer's clock.
    local: Option<Inbound>,
    /// Last time of that clock.
    local_now: Instant,
    form: ReportForm,
    queue: SendQueue<Queued>,
    streams: BTreeMap<u32, Stream>,
    flight: Flight,
    feedback: Feedback,
    /// Greatest packet number that was passed to the controller.
    passed: Option<u64>,
    uses_ecn: bool,
    queued: u64,
    sent_bytes: u64,
    /// Time of the first packet sent after the last feedback that acknowledged a later packet.
    unanswered_since: Option<Instant>,
    reported_silence: bool,
    stopped: bool,
}

impl Sending {
    pub(crate) fn new(now: Instant, options: &SessionOptions, random: Random) -> Self {
        let mut context = SenderContext::new(now, options.packet_size, random);
        context.header = options.header;
        let mut carrier = Outbound::new(WINDOW);
        carrier.start(Sender::new(&options.controller, context));
        let form = options.controller.reports();
        let local = matches!(form, ReportForm::Tfrc | ReportForm::Own).then(|| {
            let mut local = Inbound::default();
            local.start(Receiver::new(&options.controller, ReceiverContext::new(now, options.packet_size)));
            local
        });
        Self {
            carrier,
            local,
            local_now: Instant::ZERO,
            form,
            queue: SendQueue::new(&options.queue),
            streams: BTreeMap::new(),
            flight: Flight::default(),
            feedback: Feedback::default(),
            passed: None,
            uses_ecn: options.ecn,
            queued: 0,
            sent_bytes: 0,
            unanswered_since: None,
            reported_silence: false,
            stopped: false,
        }
    }

    /// Queues a packet and returns its number.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        media: Media<Vec<u8>>,
        unsent: &mut impl FnMut(Unsent<Queued>),
    ) -> Result<u64, SendError> {
        if self.stopped {
            return Err(SendError::Stopped);
        }
        let packet = RtpPacket::parse(&media.payload)?;
        let (ssrc, last, sent) = (packet.ssrc, packet.marker, Sent::of(&packet, media.created));
        if !self.streams.contains_key(&ssrc) && self.streams.len() >= MAX_STREAMS {
            return Err(SendError::TooManyStreams { ssrc });
        }
        self.streams.entry(ssrc).or_default();
        let number = self.queued;
        self.queued += 1;
        // The queue and the controllers need only whether a packet is the last of its frame.
        let fragment = media.fragment.or(Some(Fragment { frame: 0, index: 0, last }));
        let size = Bytes::new(media.payload.len() as u64);
        let media = Media { fragment, size, ..media };
        self.queue.enqueue(now, media.map(|bytes| Queued { number, ssrc, sent, bytes }), unsent);
        Ok(number)
    }

    /// Returns whether this half sends a stream.
    pub(crate) fn sends(&self, ssrc: u32) -> bool {
        self.streams.contains_key(&ssrc)
    }

    pub(crate) const fn streams_mut(&mut self) -> &mut BTreeMap<u32, Stream> {
        &mut self.streams
    }

    /// Replaces `buffer` with the packet that may be sent now, if any. Returns its ECN field.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        unsent: &mut impl FnMut(Unsent<Queued>),
    ) -> Option<Ecn> {
        loop {
            let next = self.queue.next(now).map(|media| {
                let mut next = Next::new(media.size);
                (next.waiting, next.age, next.expires, next.ends_frame) =
                    (media.waiting, media.age, media.expires, media.ends_frame);
                next
            });
            if next.is_none() && self.carrier.is_idle() || !self.carrier.may_send(now, next.as_ref()) {
                return None;
            }
            if self.queue.discard_head(now, unsent) {
                self.carrier.on_discard(now);
                continue;
            }
            let Some(media) = self.queue.dequeue(now, unsent) else {
                self.carrier.on_nothing_sent(now);
                return None;
            };
            let Queued { ssrc, sent, bytes, .. } = media.payload;
            *buffer = bytes;
            return Some(self.on_send(now, media.size, ssrc, sent));
        }
    }

    fn on_send(&mut self, now: Instant, size: Bytes, ssrc: u32, sent: Sent) -> Ecn {
        let (number, stamp) = self.carrier.send(now, Some(size), true);
        let stamp = stamp.unwrap_or_default();
        self.streams.entry(ssrc).or_default().on_send(sent, number);
        self.flight.push(Packet { ssrc, sent: now, size, stamp, state: State::Unreported });
        self.sent_bytes += size.count();
        self.unanswered_since.get_or_insert(now);
        if self.uses_ecn { stamp.ecn } else { Ecn::NotEct }
    }

    /// Handles the feedback packets of one datagram. Returns the number that were used.
    pub(crate) fn on_feedback(
        &mut self,
        now: Instant,
        packets: &[CcfbPacket],
        mut refused: impl FnMut(RefusedFeedback),
    ) -> u64 {
        self.feedback.start();
        let mut used = 0;
        for packet in packets {
            let is_used = self.feedback.on_packet(packet, &self.streams, &mut self.flight, &mut refused);
            used += u64::from(is_used);
        }
        if used > 0 {
            self.pass(now);
        }
        used
    }

    /// Passes what feedback has reported to the controller.
    fn pass(&mut self, now: Instant) {
        let covered = |ssrc| self.feedback.covers(ssrc);
        let acknowledged = self.flight.acknowledged(self.passed, covered, LOST_INTERVAL);
        let (Some((acknowledged, is_newest)), Some(clock)) = (acknowledged, self.feedback.newest()) else { return };
        let is_new = self.passed.is_none_or(|passed| acknowledged > passed);
        let arrived = self.feedback.take_arrived(acknowledged);
        let Some(last) = self.feedback.take_changed(acknowledged) else { return };
        if is_new {
            self.unanswered_since = None;
        }
        self.passed = self.passed.max(Some(acknowledged));
        // A packet before the newest one was held for longer than the carrier believes.
        let mut sample = if is_new && is_newest { self.measure(now, acknowledged, clock) } else { None };
        // The timers of the other controllers expect a report in each round trip. Their round trip therefore includes
        // the time for which the peer collects arrivals: it is that of the first packet which this feedback reports.
        if self.form != ReportForm::Timed
            && let (Some(sample), Some(first)) = (&mut sample, arrived.first())
        {
            *sample = now.since(first.packet.sent).max(*sample);
        }
        match self.form {
            ReportForm::Timed => {
                let arrivals: Vec<_> = self.flight.timed(acknowledged, last, clock).collect();
                let report = Report::Timed(TimedReport { clock, arrivals: &arrivals });
                self.carrier.on_report(now, acknowledged, sample, report);
            }
            ReportForm::Arrivals => {
                let runs = self.flight.runs(acknowledged, last);
                self.carrier.on_report(now, acknowledged, sample, Report::Arrivals(&runs));
            }
            ReportForm::Tfrc | ReportForm::Own => self.run_local(now, arrived, clock, &mut sample),
            ReportForm::Nothing => {}
        }
        self.flight.settle(acknowledged);
    }

    /// Measures the round trip of the acknowledged packet. Returns the sample.
    fn measure(&mut self, now: Instant, acknowledged: u64, clock: Instant) -> Option<Duration> {
        let Some(State::Received { at: Some(at), .. }) = self.flight.get(acknowledged).map(|packet| packet.state)
        else {
            return None;
        };
        let held = Some(clock.since(at));
        let trip =
            self.carrier.measure(now, &Acknowledged { number: acknowledged, held, ..Acknowledged::default() })?;
        if !trip.silent {
            self.queue.on_round_trip(trip.sample);
        }
        Some(trip.sample)
    }

    /// Runs the controller's receiver half on the packets that have arrived, up to the time `clock` of the peer.
    fn run_local(&mut self, now: Instant, arrived: Vec<Arrived>, clock: Instant, sample: &mut Option<Duration>) {
        for arrived in arrived {
            let at = arrived.at.max(self.local_now);
            self.run_local_timers(now, at, sample);
            let packet = arrived.packet;
            let mut received = Received::new(arrived.number, Some(packet.size));
            received.ecn = arrived.ecn;
            received.ccval = packet.stamp.ccval;
            received.rtt = packet.stamp.rtt;
            received.timing = Some(Timing::stamped(packet.sent, &packet.stamp));
            received.own = packet.stamp.own;
            if let Some(local) = &mut self.local {
                local.on_packet(at, &received);
            }
            self.pass_local_report(now, sample);
        }
        self.run_local_timers(now, clock, sample);
    }

    fn run_local_timers(&mut self, now: Instant, until: Instant, sample: &mut Option<Duration>) {
        for _ in 0..MAX_TIMERS {
            let Some(local) = &mut self.local else { return };
            let Some(at) = local.poll_timeout().filter(|at| *at <= until) else { break };
            self.local_now = self.local_now.max(at);
            local.handle_timeout(self.local_now);
            self.pass_local_report(now, sample);
        }
        self.local_now = self.local_now.max(until);
    }

    fn pass_local_report(&mut self, now: Instant, sample: &mut Option<Duration>) {
        let Self { local: Some(local), carrier, .. } = self else { return };
        if let Some(due) = local.poll_report(self.local_now) {
            carrier.on_report(now, due.acknowledged, sample.take(), due.report);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.carrier.handle_timeout(now);
    }

    /// Returns the silence of the peer once it is longer than the limit.
    pub(crate) fn take_silence(&mut self, now: Instant) -> Option<Duration> {
        let since = self.unanswered_since?;
        let is_due = self.silence_due().is_some_and(|at| at <= now);
        if !is_due || std::mem::replace(&mut self.reported_silence, true) {
            return None;
        }
        Some(now.since(since))
    }

    /// Returns whether feedback has arrived after a silence, once.
    pub(crate) const fn take_resumption(&mut self) -> bool {
        self.unanswered_since.is_none() && std::mem::replace(&mut self.reported_silence, false)
    }

    fn silence_due(&self) -> Option<Instant> {
        if self.reported_silence {
            return None;
        }
        let trips = self.carrier.round_trip().map_or(Duration::ZERO, |rtt| rtt * SILENCE_TRIPS);
        self.unanswered_since.map(|since| since + SILENCE.max(trips))
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        [self.carrier.poll_timeout(), self.silence_due()].into_iter().flatten().min()
    }

    /// Stops the controller and drops all waiting packets.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.carrier.stop();
        (self.unanswered_since, self.reported_silence) = (None, false);
        self.queue.drain();
    }

    /// Returns the state of the controller; `None` after [`stop`](Self::stop).
    pub(crate) fn status(&self) -> Option<Status> {
        self.carrier.status()
    }

    pub(crate) const fn round_trip(&self) -> Option<Duration> {
        self.carrier.round_trip()
    }

    pub(crate) fn queued_bytes(&self) -> Bytes {
        self.queue.bytes()
    }

    /// Returns packets and bytes sent, packets up to the last acknowledged one, and lost packets.
    pub(crate) fn counts(&self) -> [u64; 4] {
        let acknowledged = self.passed.map_or(0, |passed| passed + 1);
        [self.carrier.upcoming(), self.sent_bytes, acknowledged, self.flight.lost()]
    }
}
