//! Loss recovery by time: RACK-TLP (RFC 8985), with the delivery-rate samples of each acknowledgement.
//!
//! ```text
//! lost:     a segment sent before one that was delivered, once RACK.rtt + reo_wnd passed since its transmission
//! reo_wnd:  0 before reordering was seen, in a recovery or with 3 segments received above a hole; else
//!           min(reo_wnd_mult min_RTT / 4, SRTT), where each round with a D-SACK adds 1 to reo_wnd_mult
//! probe:    new data or the last segment, once 2 SRTT passed without an acknowledgement
//! timeout:  the first segment is lost, and those sent RACK.rtt + reo_wnd ago; cwnd = segments in flight + 1
//! ```
//!
//! The window limits the segments in the network: those sent, and neither delivered nor lost. A recovery was spurious,
//! and the reduction is undone, if its first retransmission answers an earlier transmission (Eifel, RFC 3522, with
//! `timestamps`) or if each retransmission was reported as a duplicate (D-SACK, RFC 3708).

mod flight;
mod probe;
mod reordering;
#[cfg(test)]
mod tests;
mod undo;

use crate::delivery::Delivery;
use crate::growth::Growth;
use crate::options::{Restart, Rules};
use crate::prr::Prr;
use crate::ranges::Ranges;
use crate::segment::{SackBlocks, Segment};
use crate::sender::Recovery;
use crate::state::{Cut, State};
use flight::Flight;
use headway_units::{Duration, Instant};
use probe::Probe;
use reordering::Reordering;
use undo::{Undo, reported_duplicate};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Recovery,
    /// After a timeout.
    Loss,
}

/// Meaning of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Timeout,
    /// Expiry of the reordering window.
    Reordering,
    Probe,
}

/// The segment sent last among those delivered (`RACK.segment`). Transmissions are numbered, so that ties of time need no
/// other rule.
#[derive(Clone, Copy, Debug)]
struct Newest {
    number: u64,
    rtt: Duration,
}

#[derive(Clone, Debug)]
pub(crate) struct RackTlp {
    flight: Flight,
    /// Segments reported by SACK.
    received: Ranges,
    delivery: Delivery,
    newest: Option<Newest>,
    min_rtt: Duration,
    /// One past the highest segment delivered (`RACK.fack`).
    highest: u64,
    reordering: Reordering,
    phase: Phase,
    prr: Option<Prr>,
    undo: Option<Undo>,
    probe: Option<Probe>,
    /// Whether a round trip was measured since the last probe (section 7.3, condition 2).
    sampled_since_probe: bool,
    timer: Timer,
    /// Start of the retransmission timeout.
    timeout_from: Instant,
    /// Time at which the reordering window of the last segment expires.
    reordering_at: Option<Instant>,
    /// Losses since the last sample: segments, separate ranges, and the number of the last one.
    newly_lost: u64,
    lost_ranges: u64,
    last_lost: u64,
}

impl Recovery for RackTlp {
    type Options = ();

    fn adjust(rules: &mut Rules, _dialect: headway_units::Dialect) {
        rules.sack.sack_blocks = 3;
        rules.sack.pipe = crate::options::Pipe::RackTlp;
    }

    fn new(_rules: &Rules, _options: &()) -> Self {
        Self {
            flight: Flight::new(),
            received: Ranges::default(),
            delivery: Delivery::new(),
            newest: None,
            min_rtt: Duration::MAX,
            highest: 0,
            reordering: Reordering::new(),
            phase: Phase::Open,
            prr: None,
            undo: None,
            probe: None,
            sampled_since_probe: true,
            timer: Timer::Timeout,
            timeout_from: Instant::ZERO,
            reordering_at: None,
            newly_lost: 0,
            lost_ranges: 0,
            last_lost: u64::MAX,
        }
    }

    fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        if ack.seq >= state.una {
            self.process(state, ack);
        }
        self.arm(state);
        state.release();
    }

    fn on_timeout<G: Growth>(&mut self, _state: &mut State<G>) {}

    fn time_out<G: Growth>(&mut self, state: &mut State<G>) {
        match self.timer {
            Timer::Reordering => {
                self.reordering_at = None;
                self.detect_losses(state);
                self.respond_to_losses(state);
            }
            Timer::Probe => self.send_probe(state),
            Timer::Timeout => self.expire(state),
        }
        self.arm(state);
        state.release();
    }

    fn next<G: Growth>(&self, state: &State<G>) -> Option<u64> {
        if self.flight.count >= state.usable() {
            return None;
        }
        if let Some(seq) = self.flight.first_lost() {
            return Some(seq);
        }
        (state.nxt < state.end && state.nxt < state.una + state.limit).then_some(state.nxt)
    }

    fn room<G: Growth>(&self, state: &State<G>) -> u64 {
        state.usable().saturating_sub(self.flight.count)
    }

    fn sent<G: Growth>(&mut self, state: &mut State<G>, seq: u64) {
        state.nxt = state.nxt.max(seq + 1);
    }

    fn output<G: Growth>(&mut self, state: &mut State<G>, seq: u64) -> Segment {
        if self.flight.count == 0 {
            let app_limited = self.delivery.is_app_limited();
            state.growth.sending(&mut state.window, state.now, app_limited, &mut state.random);
            self.timeout_from = state.now;
        }
        self.record(state.now, seq, seq < state.max);
        let segment = state.output(seq);
        self.mark_application_limit(state);
        self.arm(state);
        segment
    }
}

impl RackTlp {
    /// Records the transmission of a segment.
    fn record(&mut self, now: Instant, seq: u64, resent: bool) {
        self.flight.send(seq, self.delivery.sent(now, self.flight.count, resent));
        if let Some(undo) = self.undo.as_mut().filter(|_| resent && self.phase != Phase::Open) {
            undo.resent(seq, now);
        }
        if let Some(prr) = &mut self.prr {
            prr.out += 1;
        }
    }

    fn process<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        let prior_in_flight = self.flight.count;
        let window_limited = prior_in_flight >= state.usable();
        let una = state.una;
        let delivered = self.deliver_all(state, ack);
        self.highest = self.highest.max(ack.seq).max(self.received.end().unwrap_or(0));
        self.flight.drop_stale_losses();
        if una == 0 && ack.seq > 0 {
            self.open(state, ack);
            return;
        }
        let duplicate = reported_duplicate(ack);
        self.consider_undo(state, ack, duplicate);
        self.advance(state, ack, delivered);
        self.reordering.adapt(state.una, state.nxt, duplicate.is_some());
        self.detect_losses(state);
        self.finish_probe(state, ack, duplicate, ack.seq > una || delivered > 0);
        let clean = ack.seq > una && self.newly_lost == 0;
        self.respond_to_losses(state);
        if let Some(prr) = &mut self.prr
            && delivered > 0
        {
            state.window.cwnd = prr.window(self.flight.count, delivered, clean) as f64;
        }
        if ack.seq > una {
            self.timeout_from = state.now;
        }
        if let Some(mut sample) = self.delivery.sample(state.now, self.min_rtt) {
            sample.newly_delivered = delivered;
            sample.newly_lost = std::mem::take(&mut self.newly_lost);
            sample.lost_ranges = std::mem::take(&mut self.lost_ranges);
            sample.prior_in_flight = prior_in_flight;
            sample.in_flight = self.flight.count;
            sample.window_limited = window_limited;
            sample.recovering = self.phase != Phase::Open;
            sample.departs = state.departure();
            if state.growth.sampled(&mut state.window, &sample, &mut state.random) {
                self.delivery.limit_by_application(self.flight.count);
            }
        }
        self.mark_application_limit(state);
    }

    /// Processes the acknowledgement of the SYN.
    fn open<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        // The acknowledgement of a SYN that was sent twice is ambiguous without timestamps.
        let by_timestamp = || state.rules.timestamps.then(|| state.now.since(ack.echo));
        let rtt = self.newest.map(|newest| newest.rtt).or_else(by_timestamp);
        self.min_rtt = rtt.unwrap_or(Duration::MAX);
        state.accept(ack, true);
        (self.delivery, self.phase, self.newest) = (Delivery::new(), Phase::Open, None);
        (self.undo, self.newly_lost, self.lost_ranges) = (None, 0, 0);
        state.growth.opened(&mut state.window, state.now, rtt);
    }

    /// Marks the segments that an acknowledgement delivers. Returns their number.
    fn deliver_all<G: Growth>(&mut self, state: &State<G>, ack: &Segment) -> u64 {
        let before = self.received.total() + state.una;
        for seq in state.una..ack.seq {
            self.deliver(state, seq, ack);
            self.flight.remove_first();
        }
        self.received.remove_below(ack.seq);
        // In the order of numbers, so that an older block does not look like reordering.
        let mut blocks = [const { 0..0 }; SackBlocks::MAX];
        let mut count = 0;
        for (place, block) in blocks.iter_mut().zip(ack.sack.iter(ack.seq)) {
            *place = block;
            count += 1;
        }
        blocks[..count].sort_unstable_by_key(|block| block.start);
        for block in blocks.into_iter().take(count) {
            if block.start <= ack.seq || block.end > state.max {
                continue;
            }
            let mut seq = block.start;
            while seq < block.end {
                if let Some(known) = self.received.holding(seq) {
                    seq = known.end;
                    continue;
                }
                self.deliver(state, seq, ack);
                seq += 1;
            }
            self.received.add(block);
        }
        (self.received.total() + ack.seq).saturating_sub(before)
    }

    /// Marks a segment as delivered (section 6.2 steps 1 to 3).
    fn deliver<G: Growth>(&mut self, state: &State<G>, seq: u64, ack: &Segment) {
        let Some((sent, number)) = self.flight.deliver(seq) else { return };
        self.delivery.delivered(state.now, &sent);
        if !sent.resent && seq + 1 < self.highest {
            self.reordering.seen = true;
        }
        self.highest = self.highest.max(seq + 1);
        let rtt = state.now.since(sent.at);
        if sent.resent {
            let answers_earlier = state.rules.timestamps && ack.echo < sent.at;
            if answers_earlier || rtt < self.min_rtt {
                return;
            }
        } else {
            self.min_rtt = self.min_rtt.min(rtt);
            self.sampled_since_probe = true;
        }
        let newest = self.newest.map_or(number, |newest| newest.number.max(number));
        self.newest = Some(Newest { number: newest, rtt });
    }

    /// Processes the number of an acknowledgement: the end of a recovery, and the growth of the window.
    fn advance<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment, delivered: u64) {
        let is_new = ack.seq > state.una;
        let ends = self.phase != Phase::Open && ack.seq >= state.recover;
        match self.phase {
            Phase::Recovery if ends => {
                self.end_recovery();
                state.last_cut = Cut::Recovered;
                if self.prr.take().is_some() {
                    state.window.cwnd = state.window.ssthresh;
                }
                state.recovered();
                state.accept_counting(ack, state.rules.reno.grow_on_exit.then_some(delivered));
            }
            Phase::Recovery if is_new => {
                let acked = state.advance(ack);
                state.hold(acked);
            }
            Phase::Recovery => {}
            Phase::Open | Phase::Loss => {
                if ends {
                    self.end_recovery();
                }
                if is_new {
                    state.accept(ack, true);
                }
            }
        }
    }

    /// Ends a recovery. Reports of duplicates may still undo its reduction.
    fn end_recovery(&mut self) {
        self.phase = Phase::Open;
        self.reordering.recovery_ended();
    }

    /// Undoes a reduction that was spurious. It ends the recovery; segments declared lost are sent again.
    fn consider_undo<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment, duplicate: Option<u64>) {
        let by_timestamp = state.rules.timestamps && self.phase != Phase::Open && ack.seq > state.una;
        let echo = by_timestamp.then_some(ack.echo);
        let Some(undo) = self.undo.take_if(|undo| undo.is_spurious(duplicate, echo)) else { return };
        undo.restore(&mut state.window);
        state.last_cut = Cut::Recovered;
        state.reset_back_off();
        self.prr = None;
        if self.phase != Phase::Open {
            self.end_recovery();
        }
        state.growth.undone(&mut state.window);
    }

    /// Returns the reordering window (section 6.2 step 4).
    fn reordering_window<G: Growth>(&self, state: &State<G>) -> Duration {
        let certain = self.phase != Phase::Open || self.received.total() >= u64::from(state.rules.dupack_threshold);
        self.reordering.window(self.min_rtt, state.rto.srtt(&state.rules), certain)
    }

    /// Declares segments lost, or sets the time at which the last of them will be (section 6.2 step 5).
    fn detect_losses<G: Growth>(&mut self, state: &mut State<G>) {
        self.reordering_at = None;
        let Some(newest) = self.newest else { return };
        while let Some((seq, sent)) = self.flight.oldest_before(newest.number) {
            let window = newest.rtt + self.reordering_window(state);
            if sent + window > state.now {
                self.reordering_at = self.flight.last_before(newest.number).map(|sent| sent + window);
                break;
            }
            self.lose(state, seq);
        }
    }

    /// Declares a segment in flight lost.
    fn lose<G: Growth>(&mut self, state: &mut State<G>, seq: u64) {
        let Some(sent) = self.flight.lose(seq) else { return };
        self.newly_lost += 1;
        self.lost_ranges += u64::from(seq != self.last_lost.wrapping_add(1));
        self.last_lost = seq;
        state.drop_timing();
        let lost = self.delivery.lost(&sent);
        state.growth.segment_lost(&state.window, &lost);
    }

    /// Starts a recovery if segments were lost outside of one.
    fn respond_to_losses<G: Growth>(&mut self, state: &mut State<G>) {
        if self.phase != Phase::Open || self.flight.waiting == 0 {
            return;
        }
        let before = state.window.cwnd;
        self.undo = Some(Undo::new(state.window));
        state.begin_recovery();
        // ECN has already halved in this round trip if its mark is not yet acknowledged.
        if state.last_cut == Cut::Ecn && !G::REDUCES_AFTER_MARK {
            state.last_cut = Cut::DupAcks;
        } else {
            state.halve(Cut::DupAcks);
        }
        self.phase = Phase::Recovery;
        self.probe = None;
        self.prr =
            state.rules.sack.proportional_rate_reduction.then(|| Prr::new(before as u64, state.window.ssthresh as u64));
        // The first retransmission does not wait for the window (RFC 6675 section 5 step 4.3).
        if let Some(seq) = self.flight.first_lost()
            && self.flight.count >= state.usable()
        {
            state.resend(seq);
        }
    }

    /// Sends a tail loss probe (section 7.3).
    fn send_probe<G: Growth>(&mut self, state: &mut State<G>) {
        let fresh = state.nxt < state.end && state.nxt < state.una + state.limit;
        let seq = if fresh { state.nxt } else { state.max - 1 };
        state.nxt = state.nxt.max(seq + 1);
        if !fresh {
            state.drop_timing();
        }
        self.sampled_since_probe = false;
        self.probe = Some(Probe { end: state.nxt, resent: !fresh });
        self.timeout_from = state.now;
        state.resend(seq);
    }

    /// Ends the episode of a probe, and reduces the window if the probe repaired a loss (section 7.4.2).
    fn finish_probe<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment, duplicate: Option<u64>, has_news: bool) {
        let Some(probe) = self.probe.filter(|probe| ack.seq >= probe.end) else { return };
        let repaired = probe.has_repaired(ack.seq, duplicate);
        if repaired && self.phase == Phase::Open {
            state.recover = state.max;
            state.halve(Cut::DupAcks);
            state.last_cut = Cut::Recovered;
        }
        if repaired || !has_news || probe.was_needless(duplicate) {
            self.probe = None;
        }
    }

    /// Handles the expiry of the retransmission timeout (section 6.3).
    fn expire<G: Growth>(&mut self, state: &mut State<G>) {
        (self.probe, self.prr, self.reordering_at) = (None, None, None);
        self.timeout_from = state.now;
        if state.una == state.max {
            state.time_out();
            return;
        }
        if self.phase == Phase::Open {
            self.undo = Some(Undo::new(state.window));
        }
        state.time_out();
        state.nxt = state.max;
        self.phase = Phase::Loss;
        let window = self.newest.map_or(Duration::MAX, |newest| newest.rtt + self.reordering_window(state));
        let is_overdue = |&(seq, sent): &(u64, Instant)| seq == state.una || sent + window <= state.now;
        let overdue: Vec<_> = self.flight.transmissions().filter(is_overdue).collect();
        for (seq, _) in overdue {
            self.lose(state, seq);
        }
        state.window.cwnd = (self.flight.count + 1) as f64;
    }

    /// Marks the samples of the segments in flight if the application has nothing to send and the window is open.
    fn mark_application_limit<G: Growth>(&mut self, state: &State<G>) {
        if state.nxt >= state.end && self.flight.waiting == 0 && self.flight.count < state.usable() {
            self.delivery.limit_by_application(self.flight.count);
        }
    }

    /// Sets the timer to the earliest of the timeout, the reordering window and the probe.
    fn arm<G: Growth>(&mut self, state: &mut State<G>) {
        self.timer = Timer::Timeout;
        let runs_idle = state.waits_for_timer || state.rules.restart_after_idle == Restart::One;
        if state.una == state.max && !runs_idle {
            state.retransmit_at = Instant::FAR_FUTURE;
            return;
        }
        let timeout_at = self.timeout_from + state.rto.timeout(&state.rules);
        state.retransmit_at = timeout_at;
        if let Some(at) = self.reordering_at {
            if at < timeout_at {
                (self.timer, state.retransmit_at) = (Timer::Reordering, at);
            }
        } else if self.may_probe(state) {
            let timeout = probe::timeout(state.rto.srtt(&state.rules), self.flight.count);
            (self.timer, state.retransmit_at) = (Timer::Probe, timeout_at.min(state.now + timeout));
        }
    }

    /// Returns whether a probe may be scheduled (section 7.2).
    fn may_probe<G: Growth>(&self, state: &State<G>) -> bool {
        self.phase == Phase::Open
            && self.probe.is_none()
            && self.sampled_since_probe
            && self.flight.count > 0
            && self.flight.waiting == 0
            && self.received.is_empty()
            && state.una > 0
    }
}
