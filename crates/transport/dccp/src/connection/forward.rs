//! The half-connection of our data: its controller, and what the peer says of our packets (RFC 4340 section 11; RFC 4342 section 6).

use super::heard::{Heard, Scratch};
use super::honesty::{Claim, Honesty, Verdict};
use super::told::{Fate, Told};
use crate::ccid::{Room, Said};
use crate::{Arrivals, DropCode, Elapsed, Timestamp};
use headway_rate::{Acknowledged, Arrival, Next, Outbound, Scale, Sender, Setbacks, Stamp, Status, Trip};
use headway_units::{Bytes, Duration, Entropy, Instant, Rate, Seq48};

/// Round trip while none is measured (RFC 4340 section 3.4).
pub(super) const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// Packets for which there is room from the beginning, if the window has as many.
const REMEMBERED: u64 = 256;

/// Our packets, with the controller of our data once its CCID is agreed, and what it goes by.
#[derive(Debug)]
pub(super) struct Forward {
    controller: Outbound,
    /// Whether the deadline of the controller may have moved.
    moved: bool,
    /// Of so many packets it is known when they went, at least.
    remembered: u64,
    honesty: Honesty,
    /// Who may lie is believed at most half of the time that it says it waited.
    distrusts: bool,
    /// What the last packet said: its lists, and the options of its CCID.
    pub(super) lists: Scratch,
    pub(super) said: Said,
    /// The newest sample that nobody has taken.
    rtt_sample: Option<Duration>,
    /// Of which of our packets down the last packet's Ack Vector told, and nobody has taken it.
    arrivals_from: Option<Seq48>,
    /// The Timestamp that went last, and when.
    stamped: Option<(Timestamp, Instant)>,
    /// What has become of our packets.
    told: Told,
    slow_receiver_until: Option<Instant>,
    /// The peer's application no longer listens.
    stopped: bool,
    /// What the controller held when it ended.
    last: Option<Status>,
}

/// A packet that acknowledges one of ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// The packet that it names, and that packet's number from 0 on.
    pub(super) seq: Seq48,
    pub(super) number: u64,
    /// The number of our next packet.
    pub(super) upcoming: u64,
    /// It named a greater number than any before, and went because there was something to acknowledge.
    pub(super) at_once: bool,
    /// It was marked, and is no data.
    pub(super) marked: bool,
    /// How receivers report under the CCID of our data.
    pub(super) room: Room,
}

/// What an acknowledgement leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Whether the peer lies.
    pub(super) verdict: Verdict,
    /// It has told that nobody listens any more.
    pub(super) stops: bool,
    /// What it newly tells of our packets.
    pub(super) fate: Fate,
}

impl Forward {
    /// Packets as long as the ledger of a Sequence Window, and a number passed over in the mean for so many of data.
    pub(super) fn new(window: u64, passed_over_interval: u64) -> Self {
        Self {
            controller: Outbound::new(window),
            moved: false,
            remembered: window,
            honesty: Honesty::new(passed_over_interval),
            distrusts: passed_over_interval > 0,
            lists: Scratch::default(),
            said: Said::default(),
            rtt_sample: None,
            arrivals_from: None,
            stamped: None,
            told: Told::default(),
            slow_receiver_until: None,
            stopped: false,
            last: None,
        }
    }

    /// A controller takes over, or none does.
    pub(super) fn start(&mut self, controller: Option<Sender>) {
        self.honesty.begin_anew();
        match controller {
            Some(controller) => self.controller_mut().start(controller),
            None => self.controller_mut().stop(),
        }
    }
    /// No more data goes, so that the controller has nothing to do. What it held stays to be read.
    pub(super) fn stop(&mut self) {
        self.last = self.last_status();
        self.controller_mut().stop();
    }
    /// Returns the controller for a change that may move its deadline.
    const fn controller_mut(&mut self) -> &mut Outbound {
        self.moved = true;
        &mut self.controller
    }
    /// Returns whether the deadline of the controller may have moved since the last call.
    pub(super) const fn take_moved(&mut self) -> bool {
        std::mem::replace(&mut self.moved, false)
    }
    /// The Sequence Window has so many packets, and so many are on their way. Of a wide one most never are, so that there is room for few
    /// at first, and from then on for twice those that are at least.
    pub(super) fn make_room(&mut self, window: u64, unacknowledged: u64) {
        let needed = window.min(unacknowledged.saturating_mul(2).max(REMEMBERED));
        if needed > self.remembered {
            self.remembered = window.min(needed.saturating_mul(2));
            self.controller.ledger_mut().widen(self.remembered);
        }
    }
    /// Whether what the peer says is verified.
    pub(super) fn verifies(&self) -> bool {
        self.honesty.verifies()
    }
    /// What the controller holds.
    pub(super) fn status(&self) -> Option<Status> {
        self.controller.status()
    }
    /// The rate at which the controller spaces packets, if it does.
    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        self.controller.pacing_rate()
    }
    /// What has set the controller back; nothing where none runs.
    pub(super) fn setbacks(&self) -> Setbacks {
        self.controller.setbacks()
    }
    /// The scale that the peer has announced.
    pub(super) fn scale(&self) -> Option<Scale> {
        self.controller.scale()
    }
    /// What it holds, or held when it ended.
    pub(super) fn last_status(&self) -> Option<Status> {
        self.status().or(self.last)
    }
    /// The smoothed round trip.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.controller.round_trip()
    }
    /// The newest round trip measured since the last call.
    pub(super) const fn take_rtt_sample(&mut self) -> Option<Duration> {
        self.rtt_sample.take()
    }
    /// Of which packets the last one told.
    pub(super) fn take_arrivals(&mut self) -> Option<Arrivals<'_>> {
        Some(Arrivals { newest: self.arrivals_from.take()?, runs: &self.lists.runs, dropped: &self.lists.drops })
    }

    /// A packet comes: what the one before said is forgotten.
    pub(super) fn forget_said(&mut self) {
        self.lists.clear();
        self.said.clear();
    }
    /// A packet comes: nobody has asked of which packets the one before told.
    pub(super) const fn forget_arrivals(&mut self) {
        self.arrivals_from = None;
    }

    /// Data waits for something else than the controller.
    pub(super) fn hold(&mut self) {
        self.controller_mut().hold();
    }
    /// Whether data may go at all: a controller runs, and somebody listens.
    pub(super) fn is_open(&self) -> bool {
        !self.stopped && self.controller.controller().is_some()
    }
    /// Whether the next datagram may go. Otherwise its timer says when to ask again.
    #[inline]
    pub(super) fn may_send(&mut self, now: Instant, next: Option<&Next>) -> bool {
        if next.is_none() && self.controller.is_idle() {
            return false;
        }
        self.controller_mut().may_send(now, next)
    }
    /// A datagram that might have gone is thrown away, and its permission is used up.
    pub(super) fn on_discard(&mut self, now: Instant) {
        self.controller_mut().on_discard(now);
    }
    /// A packet goes, with so many bytes of data if it has any: what the controller writes on it.
    pub(super) fn send(&mut self, now: Instant, data: Option<Bytes>, prompt: bool) -> Stamp {
        self.controller_mut().send(now, data, prompt).1.filter(|_| data.is_some()).unwrap_or_default()
    }
    /// How many numbers are to be passed over before the next packet of data.
    pub(super) fn passes_over(&mut self, now: Instant, rtt: Duration, random: &mut dyn Entropy) -> u32 {
        self.honesty.passes_over(now, rtt, random)
    }
    /// The next number goes with no packet.
    pub(super) fn pass_over(&mut self, now: Instant) {
        let (number, _) = self.controller_mut().send(now, None, false);
        self.honesty.on_passed_over(number);
    }
    /// A Timestamp goes.
    pub(super) const fn stamp(&mut self, now: Instant, timestamp: Timestamp) {
        self.stamped = Some((timestamp, now));
    }

    /// That the peer could not keep up is forgotten after a round trip.
    pub(super) fn forget_slowness(&mut self, now: Instant) {
        if self.slow_receiver_until.is_some_and(|until| until <= now) {
            self.slow_receiver_until = None;
        }
    }
    /// Whether the peer has said within a round trip that it cannot keep up.
    pub(super) const fn slow_receiver(&self) -> bool {
        self.slow_receiver_until.is_some()
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.controller.poll_timeout()
    }
    /// Whether the timeout was the controller's own.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> bool {
        self.controller_mut().handle_timeout(now)
    }

    /// A valid packet acknowledges ours. `lost_acks`: how many acknowledgements were lost since that was asked.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        ack: &Ack,
        heard: &Heard,
        lost_acks: impl FnOnce() -> u64,
    ) -> Outcome {
        self.moved = true;
        let trip = self.measure(now, ack, heard);
        let rtt_sample = trip.map(|trip| trip.sample);
        // A send queue that took a silence for the way would find everything late.
        self.rtt_sample = rtt_sample.filter(|_| trip.is_some_and(|trip| !trip.silent)).or(self.rtt_sample);
        self.controller.on_lost_acks(u64::from(ack.marked));
        if heard.slow_receiver {
            self.controller.on_slow_receiver();
            self.slow_receiver_until = Some(now + self.round_trip().unwrap_or(DEFAULT_RTT));
        }
        let known = ack.number.saturating_add(1);
        let told: u64 = self.lists.runs.iter().map(|run| run.packets).fold(0, u64::saturating_add);
        // "A packet with a sequence number less than ISN ... SHOULD be considered invalid": ignored (section 11.4).
        let arrivals = heard.vector && told <= known;
        let told: u64 = self.lists.drops.iter().map(|run| u64::from(run.packets)).sum();
        // Of "more packets than have been sent", or of what the Ack Vector calls "not yet received": invalid, and ignored
        // (section 11.7).
        if told > known || arrivals && self.lists.drops_what_has_not_come() {
            self.lists.drops.clear();
        }
        let stops = self.on_data_dropped(ack.number);
        let verdict = self.judge(ack, arrivals);
        if verdict == Verdict::Lie {
            self.controller.on_slow_receiver();
        }
        let mut fate = Fate::default();
        if verdict != Verdict::Penalty {
            fate = match self.said.intervals() {
                _ if arrivals => self.told.by_vector(ack.number, &self.lists.runs),
                Some((skip, intervals)) => self.told.by_intervals(ack.number, skip, intervals),
                None => fate,
            };
            if arrivals {
                self.lists.mark_dropped();
                self.arrivals_from = Some(ack.seq);
            }
            self.bring_report(now, ack, arrivals, rtt_sample, lost_acks);
        }
        Outcome { verdict, stops, fate }
    }

    /// The controller hears of it, if it is a report.
    fn bring_report(
        &mut self,
        now: Instant,
        ack: &Ack,
        arrivals: bool,
        rtt_sample: Option<Duration>,
        lost_acks: impl FnOnce() -> u64,
    ) {
        let verifies = self.honesty.verifies();
        let runs = arrivals.then_some(self.lists.runs.as_slice());
        let timed = rtt_sample.is_some();
        if self.controller.controller().is_none() || ack.room.report(runs, &self.said, timed, verifies).is_none() {
            return;
        }
        self.said.join_dropped_packets();
        if let (true, Some((skip, intervals))) = (verifies, self.said.intervals_mut()) {
            self.honesty.complete(ack.number, skip, intervals);
        }
        self.honesty.begin();
        self.controller.on_lost_acks(lost_acks());
        if let Some(report) = ack.room.report(runs, &self.said, timed, verifies) {
            self.controller.on_report(now, ack.number, rtt_sample, report);
        }
    }

    /// Holds what the peer says has come against what went (section 12.3).
    fn judge(&mut self, ack: &Ack, arrivals: bool) -> Verdict {
        let claim = match self.said.intervals() {
            Some((skip, intervals)) => Claim::Intervals(skip, intervals),
            None if arrivals => Claim::Runs(&self.lists.runs),
            None => Claim::Nothing,
        };
        self.honesty.judge(ack.number, ack.upcoming, claim)
    }

    /// The time since the acknowledged packet went, less what its receiver held it back.
    fn measure(&mut self, now: Instant, ack: &Ack, heard: &Heard) -> Option<Trip> {
        // A Timestamp that comes back tells of the packet that it went on.
        let echoed = heard.echo.and_then(|(echo, elapsed)| {
            let (_, at) = self.stamped.take_if(|(timestamp, _)| *timestamp == echo)?;
            Some((now.since(at), elapsed.duration()))
        });
        // Nobody knows how long a peer that is to be verified held an acknowledgement back, in a handshake or before a pause. A window does
        // not go by it, and its receivers do wait.
        let distrusted = self.distrusts && !ack.room.goes_by_window();
        let held = heard.elapsed.map(Elapsed::duration);
        let says = Acknowledged { number: ack.number, held, at_once: ack.at_once, echoed, distrusted };
        let trip = self.controller.measure(now, &says)?;
        self.honesty.on_round_trip(trip.sample);
        Some(trip)
    }

    /// Data Dropped: counts packets that are newly said to have found no room in the receiver's buffer. Whether it says for the first time
    /// that nobody listens.
    fn on_data_dropped(&mut self, acknowledged: u64) -> bool {
        let (stopped, mut number, mut drops) = (self.stopped, Some(acknowledged), 0);
        for run in &self.lists.drops {
            if !matches!(run.code, Some(DropCode::RECEIVE_BUFFER | DropCode::APPLICATION_NOT_LISTENING)) {
                number = number.and_then(|number| number.checked_sub(run.packets.into()));
                continue;
            }
            for _ in 0..run.packets {
                let Some(this) = number else { break };
                match run.code {
                    Some(DropCode::RECEIVE_BUFFER) => {
                        drops += u64::from(self.controller.ledger_mut().drop_in_buffer(this));
                    }
                    _ => self.stopped = true,
                }
                number = this.checked_sub(1);
            }
        }
        self.controller.on_receive_buffer_drops(drops);
        self.stopped && !stopped
    }

    /// Runs of the last packet's Ack Vector from `ack` down that have come: where each begins, and how long it is.
    pub(super) fn runs_that_came(&self, ack: Seq48) -> impl Iterator<Item = (Seq48, u64)> {
        let mut newest = ack;
        self.lists.runs.iter().filter_map(move |run| {
            let first = newest;
            newest -= run.packets;
            (run.arrival != Arrival::NotReceived).then_some((first, run.packets))
        })
    }
}
