//! Half-connection of our data: its controller, and the peer's reports about our packets (RFC 4340
//! section 11; RFC 4342 section 6).

use super::honesty::{Claim, Honesty, Verdict};
use super::loss_counter::{LossCounter, LossCounts};
use super::parsed_options::{ParsedOptions, Scratch};
use crate::ccid::{CcidFeedback, CcidProfile};
use crate::{Arrivals, DropCode, Elapsed, Timestamp};
use headway_rate::{Acknowledged, Arrival, CongestionEvents, Next, Outbound, Scale, Sender, Stamp, Status, Trip};
use headway_units::{Bytes, Duration, Entropy, Instant, Rate, Seq48};

/// Round-trip time assumed before any measurement (RFC 4340 section 3.4).
pub(super) const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// Initial size of the record of sent packets, unless the window is smaller.
const REMEMBERED: u64 = 256;

/// Sent packets, and the controller of our data once its CCID is agreed.
#[derive(Debug)]
pub(super) struct Forward {
    controller: Outbound,
    moved: bool,
    /// Minimum number of packets whose send time is recorded.
    remembered: u64,
    honesty: Honesty,
    /// The peer is not trusted: at most half of its reported delay is accepted.
    distrusts: bool,
    /// Lists and CCID options of the last packet.
    pub(super) lists: Scratch,
    pub(super) ccid_feedback: CcidFeedback,
    rtt_sample: Option<Duration>,
    /// Acknowledgement number of the last packet's Ack Vector, until taken.
    arrivals_from: Option<Seq48>,
    stamped: Option<(Timestamp, Instant)>,
    loss_counter: LossCounter,
    slow_receiver_until: Option<Instant>,
    stopped: bool,
    last: Option<Status>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// Acknowledged packet, and its number from 0 on.
    pub(super) seq: Seq48,
    pub(super) number: u64,
    pub(super) upcoming: u64,
    /// Its acknowledgement number is the greatest so far, and it was sent without waiting for data.
    pub(super) at_once: bool,
    pub(super) marked: bool,
    /// Form of the receiver's reports under the CCID of our data.
    pub(super) profile: CcidProfile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    /// The peer reported that its application no longer listens.
    pub(super) stops: bool,
    pub(super) counts: LossCounts,
}

impl Forward {
    /// Creates the state for a Sequence Window of `window` packets. One sequence number in
    /// `passed_over_interval` data packets is skipped, on average.
    pub(super) fn new(window: u64, passed_over_interval: u64) -> Self {
        Self {
            controller: Outbound::new(window),
            moved: false,
            remembered: window,
            honesty: Honesty::new(passed_over_interval),
            distrusts: passed_over_interval > 0,
            lists: Scratch::default(),
            ccid_feedback: CcidFeedback::default(),
            rtt_sample: None,
            arrivals_from: None,
            stamped: None,
            loss_counter: LossCounter::default(),
            slow_receiver_until: None,
            stopped: false,
            last: None,
        }
    }

    pub(super) fn start(&mut self, controller: Option<Sender>) {
        self.honesty.restart();
        match controller {
            Some(controller) => self.controller_mut().start(controller),
            None => self.controller_mut().stop(),
        }
    }
    /// Stops the controller because no more data is sent. Its last status remains available.
    pub(super) fn stop(&mut self) {
        self.last = self.last_status();
        self.controller_mut().stop();
    }
    const fn controller_mut(&mut self) -> &mut Outbound {
        self.moved = true;
        &mut self.controller
    }
    pub(super) const fn take_moved(&mut self) -> bool {
        std::mem::replace(&mut self.moved, false)
    }
    /// Grows the record of sent packets for a Sequence Window of `window` packets, `unacknowledged`
    /// of which are outstanding. It starts small, since most of a wide window is never used, and
    /// then holds at least twice the outstanding packets.
    pub(super) fn reserve(&mut self, window: u64, unacknowledged: u64) {
        let needed = window.min(unacknowledged.saturating_mul(2).max(REMEMBERED));
        if needed > self.remembered {
            self.remembered = window.min(needed.saturating_mul(2));
            self.controller.ledger_mut().widen(self.remembered);
        }
    }
    pub(super) fn verifies(&self) -> bool {
        self.honesty.verifies()
    }
    pub(super) fn status(&self) -> Option<Status> {
        self.controller.status()
    }
    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        self.controller.pacing_rate()
    }
    pub(super) fn congestion_events(&self) -> CongestionEvents {
        self.controller.congestion_events()
    }
    pub(super) fn scale(&self) -> Option<Scale> {
        self.controller.scale()
    }
    /// Returns the current status, or the last one of a stopped controller.
    pub(super) fn last_status(&self) -> Option<Status> {
        self.status().or(self.last)
    }
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.controller.round_trip()
    }
    pub(super) const fn take_rtt_sample(&mut self) -> Option<Duration> {
        self.rtt_sample.take()
    }
    /// Returns the packets covered by the last packet's Ack Vector, once.
    pub(super) fn take_arrivals(&mut self) -> Option<Arrivals<'_>> {
        Some(Arrivals { newest: self.arrivals_from.take()?, runs: &self.lists.runs, dropped: &self.lists.drops })
    }

    pub(super) fn clear_options(&mut self) {
        self.lists.clear();
        self.ccid_feedback.clear();
    }
    pub(super) const fn clear_arrivals(&mut self) {
        self.arrivals_from = None;
    }

    /// Pauses the controller while data waits for something else.
    pub(super) fn hold(&mut self) {
        self.controller_mut().hold();
    }
    /// Returns whether data may be sent: a controller runs and the peer's application listens.
    pub(super) fn is_open(&self) -> bool {
        !self.stopped && self.controller.controller().is_some()
    }
    /// Returns whether the next datagram may be sent now. Otherwise the controller's timer is set.
    #[inline]
    pub(super) fn may_send(&mut self, now: Instant, next: Option<&Next>) -> bool {
        if next.is_none() && self.controller.is_idle() {
            return false;
        }
        self.controller_mut().may_send(now, next)
    }
    /// Records that a datagram was discarded although it could have been sent. It uses its permission to send.
    pub(super) fn on_discard(&mut self, now: Instant) {
        self.controller_mut().on_discard(now);
    }
    /// Records a sent packet, with `data` bytes if it carries data. Returns what the controller writes on it.
    pub(super) fn send(&mut self, now: Instant, data: Option<Bytes>, prompt: bool) -> Stamp {
        self.controller_mut().send(now, data, prompt).1.filter(|_| data.is_some()).unwrap_or_default()
    }
    /// Returns how many sequence numbers to skip before the next data packet.
    pub(super) fn numbers_to_skip(&mut self, now: Instant, rtt: Duration, random: &mut dyn Entropy) -> u32 {
        self.honesty.numbers_to_skip(now, rtt, random)
    }
    pub(super) fn skip_number(&mut self, now: Instant) {
        let (number, _) = self.controller_mut().send(now, None, false);
        self.honesty.on_skipped(number);
    }
    pub(super) const fn stamp(&mut self, now: Instant, timestamp: Timestamp) {
        self.stamped = Some((timestamp, now));
    }

    pub(super) fn forget_slowness(&mut self, now: Instant) {
        if self.slow_receiver_until.is_some_and(|until| until <= now) {
            self.slow_receiver_until = None;
        }
    }
    /// Returns whether the peer reported Slow Receiver within the last round trip.
    pub(super) const fn slow_receiver(&self) -> bool {
        self.slow_receiver_until.is_some()
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.controller.poll_timeout()
    }
    pub(super) fn handle_timeout(&mut self, now: Instant) -> bool {
        self.controller_mut().handle_timeout(now)
    }

    /// Handles the acknowledgement of a valid packet. `lost_acks` returns the number of
    /// acknowledgements lost since its last call.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        ack: &Ack,
        parsed: &ParsedOptions,
        lost_acks: impl FnOnce() -> u64,
    ) -> Outcome {
        self.moved = true;
        let trip = self.measure(now, ack, parsed);
        let rtt_sample = trip.map(|trip| trip.sample);
        // Samples that may include idle time of the peer are not used for queue expiry.
        self.rtt_sample = rtt_sample.filter(|_| trip.is_some_and(|trip| !trip.silent)).or(self.rtt_sample);
        self.controller.on_lost_acks(u64::from(ack.marked));
        if parsed.slow_receiver {
            self.controller.on_slow_receiver();
            self.slow_receiver_until = Some(now + self.round_trip().unwrap_or(DEFAULT_RTT));
        }
        let known = ack.number.saturating_add(1);
        let reported: u64 = self.lists.runs.iter().map(|run| run.packets).fold(0, u64::saturating_add);
        // "A packet with a sequence number less than ISN ... SHOULD be considered invalid": ignored (section 11.4).
        let arrivals = parsed.vector && reported <= known;
        let reported: u64 = self.lists.drops.iter().map(|run| u64::from(run.packets)).sum();
        // Data Dropped that covers "more packets than have been sent", or packets that the Ack
        // Vector calls "not yet received", is invalid and ignored (section 11.7).
        if reported > known || arrivals && self.lists.drops_unreceived_packets() {
            self.lists.drops.clear();
        }
        let stops = self.on_data_dropped(ack.number);
        let verdict = self.judge(ack, arrivals);
        if verdict == Verdict::Lie {
            self.controller.on_slow_receiver();
        }
        let mut counts = LossCounts::default();
        if verdict != Verdict::Penalty {
            counts = match self.ccid_feedback.intervals() {
                _ if arrivals => self.loss_counter.on_vector(ack.number, &self.lists.runs),
                Some((skip, intervals)) => self.loss_counter.on_intervals(ack.number, skip, intervals),
                None => counts,
            };
            if arrivals {
                self.lists.mark_dropped();
                self.arrivals_from = Some(ack.seq);
            }
            self.pass_report(now, ack, arrivals, rtt_sample, lost_acks);
        }
        Outcome { verdict, stops, counts }
    }

    /// Passes the acknowledgement to the controller if it is a report.
    fn pass_report(
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
        if self.controller.controller().is_none()
            || ack.profile.report(runs, &self.ccid_feedback, timed, verifies).is_none()
        {
            return;
        }
        self.ccid_feedback.join_dropped_packets();
        if let (true, Some((skip, intervals))) = (verifies, self.ccid_feedback.intervals_mut()) {
            self.honesty.complete(ack.number, skip, intervals);
        }
        self.honesty.begin();
        self.controller.on_lost_acks(lost_acks());
        if let Some(report) = ack.profile.report(runs, &self.ccid_feedback, timed, verifies) {
            self.controller.on_report(now, ack.number, rtt_sample, report);
        }
    }

    /// Checks the packets reported as received against those sent (section 12.3).
    fn judge(&mut self, ack: &Ack, arrivals: bool) -> Verdict {
        let claim = match self.ccid_feedback.intervals() {
            Some((skip, intervals)) => Claim::Intervals(skip, intervals),
            None if arrivals => Claim::Runs(&self.lists.runs),
            None => Claim::Nothing,
        };
        self.honesty.judge(ack.number, ack.upcoming, claim)
    }

    /// Returns the time since the acknowledged packet was sent, less the receiver's delay.
    fn measure(&mut self, now: Instant, ack: &Ack, parsed: &ParsedOptions) -> Option<Trip> {
        // An echoed Timestamp refers to the packet that carried it.
        let echoed = parsed.echo.and_then(|(echo, elapsed)| {
            let (_, at) = self.stamped.take_if(|(timestamp, _)| *timestamp == echo)?;
            Some((now.since(at), elapsed.duration()))
        });
        // The delay of an unverified peer's acknowledgement is unknown, in a handshake or before a pause. Window-based
        // controllers do not depend on it, and their receivers do delay acknowledgements.
        let distrusted = self.distrusts && !ack.profile.goes_by_window();
        let held = parsed.elapsed.map(Elapsed::duration);
        let acknowledged = Acknowledged { number: ack.number, held, at_once: ack.at_once, echoed, distrusted };
        let trip = self.controller.measure(now, &acknowledged)?;
        self.honesty.on_round_trip(trip.sample);
        Some(trip)
    }

    /// Processes Data Dropped: counts newly reported receive buffer drops. Returns whether it
    /// reports for the first time that the application does not listen.
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

    /// Returns the received runs of the last packet's Ack Vector, from `ack` down: the newest
    /// packet and the length of each.
    pub(super) fn received_runs(&self, ack: Seq48) -> impl Iterator<Item = (Seq48, u64)> {
        let mut newest = ack;
        self.lists.runs.iter().filter_map(move |run| {
            let first = newest;
            newest -= run.packets;
            (run.arrival != Arrival::NotReceived).then_some((first, run.packets))
        })
    }
}
