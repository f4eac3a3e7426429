//! The state common to all senders: sequence numbers, windows, timers, ECN, and packet creation.

mod cuts;
mod ecn;
mod pace;

use crate::counters::Counters;
use crate::ecn_feedback::EcnFeedback;
use crate::growth::{Acked, Growth, Window};
use crate::options::{Restart, Rules};
use crate::rack::SendTimes;
use crate::rto::Rto;
use crate::segment::{SackBlocks, Segment};
use crate::unit::{self, Unit};
use headway_prefetch::fetch_first;
use headway_units::{Duration, Ecn, Instant, QueueSize, Random};
use pace::Pace;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    None,
    /// Duplicate acknowledgements; the recovery is in progress.
    DupAcks,
    /// Duplicate acknowledgements; the recovery has ended.
    Recovered,
    Timeout,
    Ecn,
}

/// Marks the absence of a segment number.
const NO_SEGMENT: u64 = u64::MAX;

/// State common to all kinds. Numbers are segments; names of ns-2 are in parentheses. The fields accessed by each
/// acknowledgement are in the first four cache lines.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct State<G> {
    pub(crate) rules: Arc<Rules>,
    /// First unacknowledged segment (`highest_ack_` + 1).
    pub(crate) una: u64,
    /// Next segment to send (`t_seqno_`); reset to `una` by a timeout.
    pub(crate) nxt: u64,
    /// One past the highest segment sent (`maxseq_` + 1).
    pub(crate) max: u64,
    /// One past the last segment written by the application (`curseq_`).
    pub(crate) end: u64,
    pub(crate) window: Window,
    pub(crate) now: Instant,

    /// Receiver window in segments (`window_`).
    pub(crate) limit: u64,
    /// Segments that left the network according to duplicate acknowledgements (`dupwnd_`).
    pub(crate) inflation: u64,
    /// Segment to send regardless of the window, or [`NO_SEGMENT`].
    pending: u64,
    /// Deadline of a delayed release; `FAR_FUTURE` if none.
    pub(crate) release_at: Instant,
    /// Deadline of the retransmission timer; `FAR_FUTURE` if none.
    pub(crate) retransmit_at: Instant,
    /// Segments that the current event may still release.
    pub(crate) burst: u32,
    /// Segments sent by Limited Transmit since the last new acknowledgement.
    pub(crate) limited_sent: u32,
    pub(crate) dupacks: u32,
    pub(crate) last_cut: Cut,
    pub(crate) opened: bool,
    pub(crate) released: bool,
    cwr_due: bool,
    /// Segment whose round trip is being measured, or [`NO_SEGMENT`], and when it was sent.
    timed: u64,

    timed_at: Instant,
    pub(crate) peer_sent: Instant,
    last_sent: Instant,
    pub(crate) rto: Rto,
    /// One past the highest segment sent at the last reduction (`recover_` + 1).
    pub(crate) recover: u64,

    pub(crate) growth: G,
    pub(crate) counters: Counters,
    pub(crate) random: Random,
    syn_lost: bool,
    ecn_agreed: bool,
    ecn_backoff: bool,
    /// Whether the next segment waits for the retransmission timer, after an ECN-Echo at a window of one segment.
    pub(crate) waits_for_timer: bool,
    /// Whether less than a unit, though admitted by the window, waits for the next acknowledgement.
    pub(crate) deferred: bool,
    /// Whether `times` is used: with [`Rules::push`] or
    /// [`SackOptions::rack_window`](crate::options::SackOptions::rack_window).
    pub(crate) keeps_times: bool,
    /// Used with [`Rules::push`].
    unit: Unit,
    pub(crate) times: SendTimes,
    /// Whether releases may be delayed: with [`Rules::overhead`] or [`Rules::paced`].
    holds_releases: bool,
    /// Used with [`Rules::paced`].
    pace: Pace,
    /// Used with [`EcnEcho::Accurate`](crate::options::EcnEcho::Accurate).
    ecn_feedback: EcnFeedback,
}

impl<G: Growth> State<G> {
    pub(crate) fn new(rules: &Arc<Rules>, growth: &G::Options, cwnd: u64, random: Random) -> Self {
        let limit = rules.segments(rules.window);
        let ssthresh = rules.initial_ssthresh.map_or(limit, |size| rules.segments(size));
        Self {
            rules: Arc::clone(rules),
            una: 0,
            nxt: 0,
            max: 0,
            end: 0,
            window: Window { cwnd: cwnd as f64, ssthresh: ssthresh as f64 },
            now: Instant::ZERO,
            limit,
            inflation: 0,
            pending: NO_SEGMENT,
            release_at: Instant::FAR_FUTURE,
            retransmit_at: Instant::FAR_FUTURE,
            burst: 0,
            limited_sent: 0,
            dupacks: 0,
            last_cut: Cut::None,
            opened: false,
            released: false,
            cwr_due: false,
            timed: NO_SEGMENT,
            timed_at: Instant::ZERO,
            peer_sent: Instant::ZERO,
            last_sent: Instant::ZERO,
            rto: Rto::new(rules),
            recover: 1,
            growth: G::new(rules, growth),
            counters: Counters::default(),
            random,
            syn_lost: false,
            ecn_agreed: false,
            ecn_backoff: false,
            waits_for_timer: false,
            deferred: false,
            keeps_times: rules.push || rules.sack.rack_window,
            unit: Unit::default(),
            times: SendTimes::new(),
            holds_releases: rules.paced || !rules.overhead.is_zero(),
            pace: Pace::new(),
            ecn_feedback: EcnFeedback::new(),
        }
    }

    /// Prefetches the first four cache lines.
    #[inline]
    pub(crate) fn fetch(&self) {
        fetch_first(&self.rules);
        fetch_first(&self.limit);
        fetch_first(&self.timed_at);
        fetch_first(&self.growth);
    }

    /// Returns FlightSize of RFC 5681.
    pub(crate) fn flight(&self) -> u64 {
        self.max - self.una
    }
    /// Returns the window in whole segments, limited by the receiver.
    pub(crate) fn usable(&self) -> u64 {
        (self.window.cwnd as u64).saturating_add(self.inflation).min(self.limit)
    }
    /// Returns the next number in sequence, if the window and the application allow it.
    pub(crate) fn next_in_window(&self) -> Option<u64> {
        (self.nxt < self.una + self.usable() && self.nxt < self.end).then_some(self.nxt)
    }

    /// Returns how many more segments the window admits, where `left_network` of those in flight were received.
    pub(crate) fn room(&self, left_network: u64) -> u64 {
        (self.una + self.usable() + left_network).saturating_sub(self.nxt)
    }

    /// Returns whether less than a unit waits for the next acknowledgement, where `seq` is next and the window admits
    /// `room` segments.
    pub(crate) fn defers(&self, seq: u64, room: u64) -> bool {
        let payload = self.rules.payload().count();
        let last = unit::left_of_buffer(seq, payload).min(self.end - seq);
        let srtt = self.rto.srtt(&self.rules);
        let in_time = |sent| unit::is_ack_near(self.now, sent, srtt);
        !self.rules.paced
            && !self.unit.is_begun()
            && last > 1
            && room < last.min(u64::from(unit::largest(&self.window, srtt)))
            && 3 * room < self.window.cwnd as u64
            && self.una >= self.recover
            && self.now.since(self.last_sent) <= unit::SOON
            && self.times.of(self.una).is_some_and(in_time)
    }

    /// Returns whether `seq`, just sent for the first time, ends a unit and carries PSH. `more`: this event also
    /// releases the next segment.
    pub(crate) fn ends_unit(&mut self, seq: u64, more: bool) -> bool {
        let half = (self.window.cwnd / 2.0).max(1.0) as u32;
        let largest = unit::largest(&self.window, self.rto.srtt(&self.rules)).min(half);
        self.unit.ends(seq, self.rules.payload().count(), largest, more, seq + 1 == self.end)
    }

    /// Allows this event to release up to `max_burst` segments.
    pub(crate) fn release(&mut self) {
        self.burst = self.rules.max_burst.map_or(u32::MAX, |size| self.segments(size));
    }
    fn segments(&self, size: QueueSize) -> u32 {
        u32::try_from(self.rules.segments(size)).unwrap_or(u32::MAX)
    }
    /// Allows this event to release at most `size`.
    pub(crate) fn release_at_most(&mut self, size: Option<QueueSize>) {
        match size {
            Some(size) => self.burst = self.segments(size),
            None => self.release(),
        }
    }

    /// Schedules `seq` as the next segment to send, regardless of the window.
    pub(crate) fn resend(&mut self, seq: u64) {
        // A duplicate of the last acknowledgement must not send data that was not written.
        self.pending = if seq < self.end { seq } else { NO_SEGMENT };
    }
    /// Returns and clears the segment scheduled to be sent next.
    pub(crate) fn take_pending(&mut self) -> Option<u64> {
        let seq = std::mem::replace(&mut self.pending, NO_SEGMENT);
        (seq != NO_SEGMENT).then_some(seq)
    }

    /// Sends a new segment for a first or second duplicate: Limited Transmit (RFC 3042).
    pub(crate) fn transmit_limited(&mut self) {
        let allowed = (self.window.cwnd + f64::from(self.dupacks)) as u64;
        if self.rules.limited_transmit && self.nxt < self.una + allowed.min(self.limit) && self.nxt < self.end {
            self.pending = self.nxt;
            self.nxt += 1;
            self.limited_sent += 1;
        }
    }

    /// Starts a fast retransmit: all data sent so far belongs to this loss event.
    pub(crate) fn begin_recovery(&mut self) {
        self.waits_for_timer = false;
        self.recover = self.max;
        self.counters.fast_recoveries += 1;
        self.restart_timer();
        self.drop_timing();
    }
    /// Stops the measurement: segments in flight may be resent, which makes their acknowledgement ambiguous (Karn).
    pub(crate) fn drop_timing(&mut self) {
        self.timed = NO_SEGMENT;
    }
    /// Resets the next segment to the first unacknowledged one.
    pub(crate) fn go_back(&mut self) {
        self.nxt = self.una;
    }

    pub(crate) fn restart_timer(&mut self) {
        self.retransmit_at = self.now + self.rto.timeout(&self.rules);
    }
    /// Restarts or stops the timer after an acknowledgement of new data (RFC 6298 steps 5.2 and 5.3).
    pub(crate) fn renew_timer(&mut self) {
        if self.una < self.max || self.waits_for_timer || self.rules.restart_after_idle == Restart::One {
            self.restart_timer();
        } else {
            self.retransmit_at = Instant::FAR_FUTURE;
        }
    }

    pub(crate) fn back_off(&mut self) {
        self.rto.back_off(&self.rules);
    }
    /// Ends the back-off after a round-trip sample or a partial acknowledgement.
    pub(crate) fn reset_back_off(&mut self) {
        self.rto.reset_back_off();
    }
    /// Ends the measurement and the back-off if a partial acknowledgement covers the measured segment. Takes no sample.
    pub(crate) fn drop_measurement(&mut self) {
        if self.una > self.timed {
            self.timed = NO_SEGMENT;
            self.rto.reset_back_off();
        }
    }

    /// Processes the number and the round trip of a new acknowledgement.
    #[inline]
    pub(crate) fn advance(&mut self, ack: &Segment) -> Acked {
        let segments = self.advance_una(ack);
        let rtt = self.measure(ack);
        self.renew_timer();
        self.acked(segments, rtt)
    }
    /// Processes the number of an acknowledgement. Returns the newly acknowledged segments; a duplicate has none.
    pub(crate) fn advance_una(&mut self, ack: &Segment) -> u64 {
        let segments = ack.seq - self.una;
        if segments > 0 {
            self.dupacks = 0;
            self.limited_sent = 0;
            self.una = ack.seq;
            self.nxt = self.nxt.max(self.una);
            if self.keeps_times {
                self.times.acknowledged(self.una, self.now.since(ack.echo));
            }
        }
        segments
    }
    /// Processes the round trip of an acknowledgement whose number was processed.
    #[inline]
    pub(crate) fn measure(&mut self, ack: &Segment) -> Option<Duration> {
        // The back-off remains while every acknowledgement of a window of one carries ECN-Echo.
        let congested = self.ecn_agreed && self.ecn_backoff && ack.ece;
        let mut rtt = None;
        if self.rules.timestamps {
            self.rto.sample_timestamp(&self.rules, ack.echo, self.now);
            rtt = Some(self.now.since(ack.echo));
            if self.rules.timestamps_reset_backoff && !congested {
                self.rto.reset_back_off();
                self.ecn_backoff = false;
            }
        }
        if self.una > self.timed {
            if !congested {
                self.rto.reset_back_off();
                self.ecn_backoff = false;
            }
            self.timed = NO_SEGMENT;
            if !self.rules.timestamps {
                self.rto.sample(&self.rules, self.timed_at, self.now);
                rtt = Some(self.now.since(self.timed_at));
            }
        }
        rtt
    }
    /// Returns the information about a processed acknowledgement for the growth.
    pub(crate) fn acked(&self, segments: u64, rtt: Option<Duration>) -> Acked {
        Acked { now: self.now, segments, una: self.una, max: self.max, rtt, srtt: self.rto.srtt(&self.rules) }
    }

    /// Processes a new acknowledgement outside recovery, or one that ends it. Opens the window if `open`.
    pub(crate) fn accept(&mut self, ack: &Segment, open: bool) {
        self.accept_counting(ack, open.then(|| ack.seq - self.una));
    }

    /// Processes an acknowledgement as [`State::accept`], but opens the window by `counted` segments.
    #[inline]
    pub(crate) fn accept_counting(&mut self, ack: &Segment, counted: Option<u64>) {
        let filled = self.fills_window();
        let opening = self.una == 0;
        let acked = self.advance(ack);
        if opening {
            self.open_window();
        } else if let Some(segments) =
            counted.filter(|_| filled && (G::GROWS_WHEN_MARKED || !(self.ecn_agreed && ack.ece)))
        {
            self.growth.grow(&mut self.window, Acked { segments, ..acked });
        } else {
            if !filled {
                self.growth.application_limited(acked.now);
            }
            self.growth.hold(acked);
        }
        if !ack.ece {
            self.ecn_backoff = false;
            self.waits_for_timer = false;
        } else if !ack.cwr {
            self.ecn_agreed = self.rules.ecn;
        }
    }

    /// Opens the window when the SYN is acknowledged (RFC 5681 section 3.1, ns-2 `delay_growth_`).
    fn open_window(&mut self) {
        self.window.cwnd = if self.syn_lost { 1.0 } else { self.rules.initial_window_segments() as f64 };
        if let (true, Some(timeout)) = (self.syn_lost, self.rules.syn_loss_rto) {
            self.rto.fall_back(timeout);
        }
    }

    /// Passes any acknowledgement to the growth, before it is processed.
    #[inline]
    pub(crate) fn observe(&mut self, ack: &Segment) {
        self.growth.observe(self.now, self.una, self.max, ack);
    }
    /// Passes any processed acknowledgement to the growth. `fine`: it is new and reports no problem.
    pub(crate) fn acknowledged(&mut self, acked: Acked, fine: bool) {
        self.growth.acknowledged(acked, fine);
    }
    pub(crate) fn grow(&mut self, acked: Acked) {
        self.growth.grow(&mut self.window, acked);
    }
    /// Notifies the growth of the end of a SACK recovery.
    pub(crate) fn recovered(&mut self) {
        self.growth.recovered(&mut self.window);
    }
    /// Notifies the growth that a part of the window is unused.
    pub(crate) fn application_limited(&mut self) {
        self.growth.application_limited(self.now);
    }
    /// Passes an acknowledgement to the growth that must not open the window.
    pub(crate) fn hold(&mut self, acked: Acked) {
        self.growth.hold(acked);
    }

    /// Returns whether the network is the limit, not the application or the receiver (RFC 7661 section 4.1; Linux
    /// `tcp_is_cwnd_limited`: in slow start, half of the window is enough).
    fn fills_window(&self) -> bool {
        let flight = self.flight() as f64;
        self.rules.grow_when_limited
            || self.deferred
            || (G::GROWS_WHEN_PACED && self.release_at != Instant::FAR_FUTURE)
            || flight >= self.window.cwnd.floor()
            || (self.window.in_slow_start() && 2.0 * flight > self.window.cwnd)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let next = self.retransmit_at.min(self.release_at);
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// Returns whether there is data to send but neither an open window nor a running timer.
    pub(crate) fn is_stuck(&self) -> bool {
        self.opened && self.una < self.end && self.poll_timeout().is_none()
    }

    /// Returns whether `overhead` and `paced` allow the next segment now. If not, sets the release timer.
    pub(crate) fn is_released(&mut self) -> bool {
        !self.holds_releases || self.waited()
    }
    #[cold]
    fn waited(&mut self) -> bool {
        if self.rules.paced {
            if let Some(due) = self.pace.due(self.now) {
                self.release_at = due;
                return false;
            }
            let gap_ns = self.gap_ns();
            let burst =
                self.rules.segmentation_offload.map_or(1, |time| self.rules.offloaded_segments(1e9 / gap_ns, time));
            self.pace.sent(self.now, gap_ns, burst);
            self.release_at = Instant::FAR_FUTURE;
            return true;
        }
        if self.released {
            return true;
        }
        let delay = self.rules.overhead.as_secs_f64() * self.random.uniform();
        self.release_at = self.now + Duration::from_secs_f64(delay);
        false
    }

    /// Returns the time between paced segments in ns; zero before the first round-trip sample.
    fn gap_ns(&self) -> f64 {
        let by_window = || self.rto.srtt(&self.rules).as_nanos() as f64 / self.window.cwnd.max(1.0);
        self.growth.pacing_rate().map_or_else(by_window, |rate| 1e9 / rate)
    }
    /// Returns the earliest departure of the next segment by pacing.
    pub(crate) fn departure(&self) -> Instant {
        self.pace.next().max(self.now)
    }

    #[inline]
    pub(crate) fn output(&mut self, seq: u64) -> Segment {
        let retransmission = seq < self.max;
        let may_mark = self.rules.ecn_on_retransmission || !retransmission;
        let cwr = self.rules.ecn && self.cwr_due && may_mark;
        self.cwr_due &= !cwr;
        let idle = self.una == self.max;
        self.counters.sent += 1;
        if retransmission {
            self.counters.retransmitted += 1;
        } else {
            self.max = seq + 1;
            if self.keeps_times {
                self.times.sent(seq, self.now);
            }
            if self.timed == NO_SEGMENT {
                (self.timed, self.timed_at) = (seq, self.now);
            }
        }
        if idle || self.retransmit_at == Instant::FAR_FUTURE {
            self.restart_timer();
        }
        self.last_sent = self.now;
        let size = if seq == 0 { self.rules.syn_size.unwrap_or(self.rules.header) } else { self.rules.segment };
        Segment {
            seq,
            sent: self.now,
            echo: self.peer_sent,
            sack: SackBlocks::default(),
            size: size.count() as u32,
            ecn: if self.rules.ecn && may_mark && seq != 0 { self.growth.codepoint() } else { Ecn::NotEct },
            is_ack: false,
            ece: self.rules.ecn && seq == 0,
            cwr,
            push: false,
            retransmission,
        }
    }
}
