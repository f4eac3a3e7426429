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

use crate::delivery::{Delivery, Sent};
use crate::growth::Growth;
use crate::options::{Restart, Rules};
use crate::prr::Prr;
use crate::ranges::Ranges;
use crate::segment::{SackBlocks, Segment};
use crate::sender::Recovery;
use crate::state::{Cut, State};
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// Time for which a receiver may delay an acknowledgement (`TLP.max_ack_delay`, section 7.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// Probe timeout without a round-trip sample (section 7.2).
const PROBE_WITHOUT_RTT: Duration = Duration::from_secs(1);
/// Recoveries after which `reo_wnd_mult` returns to 1 (section 6.2 step 4).
const PERSIST: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    InFlight,
    /// Declared lost, and not sent again.
    Lost,
    Received,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    sent: Sent,
    /// Number of the transmission.
    number: u64,
    status: Status,
}

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

/// Window to restore after a spurious recovery.
#[derive(Clone, Debug)]
struct Undo {
    cwnd: f64,
    ssthresh: f64,
    /// Time of the first retransmission.
    first_resent: Option<Instant>,
    /// Retransmissions that were not reported as duplicates.
    resent: Vec<u64>,
}

/// Tail loss probe in flight.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// One past the highest segment sent when it was sent (`TLP.end_seq`).
    end: u64,
    /// Whether it was a retransmission.
    resent: bool,
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
    /// Segments from number `base`, the first unacknowledged one.
    entries: VecDeque<Entry>,
    base: u64,
    /// Segments reported by SACK.
    received: Ranges,
    in_flight: u64,
    /// Transmissions in order: segment and number.
    order: VecDeque<(u64, u64)>,
    /// Number of the next transmission.
    transmissions: u64,
    /// Lost segments in the order of detection. Those delivered meanwhile are skipped.
    lost: VecDeque<u64>,
    /// Segments declared lost and not sent again.
    waiting: u64,
    delivery: Delivery,
    newest: Option<Newest>,
    min_rtt: Duration,
    /// One past the highest segment delivered (`RACK.fack`).
    highest: u64,
    reordering_seen: bool,
    reo_wnd_mult: u32,
    persist: u32,
    /// End of the round in which a D-SACK last raised `reo_wnd_mult`.
    dsack_round: Option<u64>,
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
            entries: VecDeque::new(),
            base: 0,
            received: Ranges::default(),
            in_flight: 0,
            order: VecDeque::new(),
            transmissions: 0,
            lost: VecDeque::new(),
            waiting: 0,
            delivery: Delivery::new(),
            newest: None,
            min_rtt: Duration::MAX,
            highest: 0,
            reordering_seen: false,
            reo_wnd_mult: 1,
            persist: 0,
            dsack_round: None,
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
        if self.in_flight >= state.usable() {
            return None;
        }
        if let Some(&seq) = self.lost.front() {
            return Some(seq);
        }
        (state.nxt < state.end && state.nxt < state.una + state.limit).then_some(state.nxt)
    }

    fn room<G: Growth>(&self, state: &State<G>) -> u64 {
        state.usable().saturating_sub(self.in_flight)
    }

    fn sent<G: Growth>(&mut self, state: &mut State<G>, seq: u64) {
        state.nxt = state.nxt.max(seq + 1);
    }

    fn output<G: Growth>(&mut self, state: &mut State<G>, seq: u64) -> Segment {
        if self.in_flight == 0 {
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
    fn entry(&mut self, seq: u64) -> Option<&mut Entry> {
        self.entries.get_mut(usize::try_from(seq.checked_sub(self.base)?).ok()?)
    }

    /// Records the transmission of a segment.
    fn record(&mut self, now: Instant, seq: u64, resent: bool) {
        let sent = self.delivery.sent(now, self.in_flight, resent);
        let number = self.transmissions;
        self.transmissions += 1;
        self.order.push_back((seq, number));
        let entry = Entry { sent, number, status: Status::InFlight };
        if !resent {
            self.entries.push_back(entry);
            self.in_flight += 1;
        } else if let Some(known) = self.entry(seq) {
            let before = std::mem::replace(known, entry).status;
            if before == Status::Lost {
                self.waiting -= 1;
                self.in_flight += 1;
                self.drop_stale_losses();
            }
            if let Some(undo) = self.undo.as_mut().filter(|_| self.phase != Phase::Open) {
                undo.resent.push(seq);
                undo.first_resent.get_or_insert(now);
            }
        }
        if let Some(prr) = &mut self.prr {
            prr.out += 1;
        }
    }

    /// Removes the first lost segments that were delivered or sent again.
    fn drop_stale_losses(&mut self) {
        while let Some(&seq) = self.lost.front()
            && self.entry(seq).is_none_or(|entry| entry.status != Status::Lost)
        {
            self.lost.pop_front();
        }
    }

    fn process<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        let prior_in_flight = self.in_flight;
        let window_limited = prior_in_flight >= state.usable();
        let una = state.una;
        let delivered = self.deliver_all(state, ack);
        self.highest = self.highest.max(ack.seq).max(self.received.end().unwrap_or(0));
        self.drop_stale_losses();
        if una == 0 && ack.seq > 0 {
            self.open(state, ack);
            return;
        }
        let duplicate = reported_duplicate(ack);
        self.consider_undo(state, ack, duplicate);
        self.advance(state, ack, delivered);
        self.adapt_reordering_window(state, duplicate);
        self.detect_losses(state);
        self.finish_probe(state, ack, duplicate, ack.seq > una || delivered > 0);
        let clean = ack.seq > una && self.newly_lost == 0;
        self.respond_to_losses(state);
        if let Some(prr) = &mut self.prr
            && delivered > 0
        {
            state.window.cwnd = prr.window(self.in_flight, delivered, clean) as f64;
        }
        if ack.seq > una {
            self.timeout_from = state.now;
        }
        if let Some(mut sample) = self.delivery.sample(state.now, self.min_rtt) {
            sample.newly_delivered = delivered;
            sample.newly_lost = std::mem::take(&mut self.newly_lost);
            sample.lost_ranges = std::mem::take(&mut self.lost_ranges);
            sample.prior_in_flight = prior_in_flight;
            sample.in_flight = self.in_flight;
            sample.window_limited = window_limited;
            sample.recovering = self.phase != Phase::Open;
            sample.departs = state.departure();
            if state.growth.sampled(&mut state.window, &sample, &mut state.random) {
                self.delivery.limit_by_application(self.in_flight);
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
        for seq in self.base..ack.seq {
            self.deliver(state, seq, ack);
            self.entries.pop_front();
            self.base += 1;
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
        let Some(entry) = self.entry(seq) else { return };
        let Entry { sent, number, status } = *entry;
        entry.status = Status::Received;
        match status {
            Status::InFlight => self.in_flight -= 1,
            Status::Lost => self.waiting -= 1,
            Status::Received => return,
        }
        self.delivery.delivered(state.now, &sent);
        if !sent.resent && seq + 1 < self.highest {
            self.reordering_seen = true;
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
        // Section 6.2 step 4.
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// Raises the reordering window once per round with a D-SACK (section 6.2 step 4).
    fn adapt_reordering_window<G: Growth>(&mut self, state: &State<G>, duplicate: Option<u64>) {
        if self.dsack_round.is_some_and(|end| state.una >= end) {
            self.dsack_round = None;
        }
        if duplicate.is_some() && self.dsack_round.is_none() {
            self.dsack_round = Some(state.nxt);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.persist = PERSIST;
        }
    }

    /// Returns the reordering window (section 6.2 step 4).
    fn reordering_window<G: Growth>(&self, state: &State<G>) -> Duration {
        let certain = self.phase != Phase::Open || self.received.total() >= u64::from(state.rules.dupack_threshold);
        if !self.reordering_seen && certain {
            return Duration::ZERO;
        }
        (self.min_rtt / 4 * u64::from(self.reo_wnd_mult)).min(state.rto.srtt(&state.rules))
    }

    /// Declares segments lost, or sets the time at which the last of them will be (section 6.2 step 5).
    fn detect_losses<G: Growth>(&mut self, state: &mut State<G>) {
        self.reordering_at = None;
        let Some(newest) = self.newest else { return };
        let window = newest.rtt + self.reordering_window(state);
        while let Some(&(seq, number)) = self.order.front() {
            match self.sent_at(seq, number) {
                None => {}
                Some(sent) if number < newest.number && sent + window <= state.now => self.lose(state, seq),
                Some(_) => break,
            }
            self.order.pop_front();
        }
        let earlier = self.order.partition_point(|&(_, number)| number < newest.number);
        let last = self.order.iter().take(earlier).rev().find_map(|&(seq, number)| self.sent_at(seq, number));
        self.reordering_at = last.map(|sent| sent + window);
    }

    /// Returns when a segment was sent by this transmission, if it is still in flight.
    fn sent_at(&self, seq: u64, number: u64) -> Option<Instant> {
        let entry = self.entries.get(usize::try_from(seq.checked_sub(self.base)?).ok()?)?;
        (entry.status == Status::InFlight && entry.number == number).then_some(entry.sent.at)
    }

    /// Declares a segment in flight lost.
    fn lose<G: Growth>(&mut self, state: &mut State<G>, seq: u64) {
        let Some(entry) = self.entry(seq) else { return };
        entry.status = Status::Lost;
        let sent = entry.sent;
        self.in_flight -= 1;
        self.waiting += 1;
        self.lost.push_back(seq);
        self.newly_lost += 1;
        self.lost_ranges += u64::from(seq != self.last_lost.wrapping_add(1));
        self.last_lost = seq;
        state.drop_timing();
        let lost = self.delivery.lost(&sent);
        state.growth.segment_lost(&state.window, &lost);
    }

    /// Starts a recovery if segments were lost outside of one.
    fn respond_to_losses<G: Growth>(&mut self, state: &mut State<G>) {
        if self.phase != Phase::Open || self.waiting == 0 {
            return;
        }
        let before = state.window.cwnd;
        self.prepare_undo(state);
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
        if let Some(&seq) = self.lost.front()
            && self.in_flight >= state.usable()
        {
            state.resend(seq);
        }
    }

    fn prepare_undo<G: Growth>(&mut self, state: &State<G>) {
        let window = state.window;
        self.undo = Some(Undo { cwnd: window.cwnd, ssthresh: window.ssthresh, first_resent: None, resent: vec![] });
    }

    /// Undoes a reduction that was spurious. It ends the recovery; segments declared lost are sent again.
    fn consider_undo<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment, duplicate: Option<u64>) {
        let Some(undo) = &mut self.undo else { return };
        let before = undo.resent.len();
        undo.resent.retain(|&seq| Some(seq) != duplicate);
        let all_arrived_twice = before > 0 && undo.resent.is_empty();
        let answers_earlier = state.rules.timestamps
            && self.phase != Phase::Open
            && ack.seq > state.una
            && undo.first_resent.is_some_and(|first| ack.echo < first);
        if !all_arrived_twice && !answers_earlier {
            return;
        }
        let Undo { cwnd, ssthresh, .. } = *undo;
        self.undo = None;
        state.window.cwnd = state.window.cwnd.max(cwnd);
        state.window.ssthresh = state.window.ssthresh.max(ssthresh);
        state.last_cut = Cut::Recovered;
        state.reset_back_off();
        self.prr = None;
        if self.phase != Phase::Open {
            self.end_recovery();
        }
        state.growth.undone(&mut state.window);
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
        let Some(Probe { end, resent }) = self.probe.filter(|probe| ack.seq >= probe.end) else { return };
        let arrived_twice = duplicate == Some(end - 1);
        let repaired = resent && !arrived_twice && ack.seq > end;
        if repaired && self.phase == Phase::Open {
            state.recover = state.max;
            state.halve(Cut::DupAcks);
            state.last_cut = Cut::Recovered;
        }
        if !resent || arrived_twice || repaired || !has_news {
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
            self.prepare_undo(state);
        }
        state.time_out();
        state.nxt = state.max;
        self.phase = Phase::Loss;
        let window = self.newest.map_or(Duration::MAX, |newest| newest.rtt + self.reordering_window(state));
        let first = state.una;
        for (seq, number) in std::mem::take(&mut self.order) {
            match self.sent_at(seq, number) {
                None => {}
                Some(sent) if seq == first || sent + window <= state.now => self.lose(state, seq),
                Some(_) => self.order.push_back((seq, number)),
            }
        }
        state.window.cwnd = (self.in_flight + 1) as f64;
    }

    /// Marks the samples of the segments in flight if the application has nothing to send and the window is open.
    fn mark_application_limit<G: Growth>(&mut self, state: &State<G>) {
        if state.nxt >= state.end && self.waiting == 0 && self.in_flight < state.usable() {
            self.delivery.limit_by_application(self.in_flight);
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
            (self.timer, state.retransmit_at) = (Timer::Probe, timeout_at.min(state.now + self.probe_timeout(state)));
        }
    }

    /// Returns whether a probe may be scheduled (section 7.2).
    fn may_probe<G: Growth>(&self, state: &State<G>) -> bool {
        self.phase == Phase::Open
            && self.probe.is_none()
            && self.sampled_since_probe
            && self.in_flight > 0
            && self.waiting == 0
            && self.received.is_empty()
            && state.una > 0
    }

    /// Returns the time after which a probe is sent (`TLP_calc_PTO`, section 7.2).
    fn probe_timeout<G: Growth>(&self, state: &State<G>) -> Duration {
        let srtt = state.rto.srtt(&state.rules);
        let base = if srtt.is_zero() { PROBE_WITHOUT_RTT } else { srtt * 2 };
        if self.in_flight == 1 { base + MAX_ACK_DELAY } else { base }
    }
}

/// Returns the segment that the first SACK block reports as received twice (D-SACK, RFC 2883 section 4).
fn reported_duplicate(ack: &Segment) -> Option<u64> {
    let mut blocks = ack.sack.iter(ack.seq);
    let first = blocks.next()?;
    let within = blocks.next().is_some_and(|second| second.start <= first.start && first.end <= second.end);
    (first.end <= ack.seq || within).then_some(first.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::aimd::Aimd;
    use crate::segment::ack;
    use crate::sender::Flow;
    use crate::{Sink, TcpOptions};
    use headway_units::{Dialect, Random, Registry};

    type Reno = Flow<RackTlp, Aimd>;

    fn options() -> TcpOptions {
        let mut options = TcpOptions::preset("tcp-sack", Dialect::Rfc).unwrap();
        let rules = options.rules_mut();
        (rules.sack.pipe, rules.delayed_ack, rules.timestamps) = (crate::Pipe::RackTlp, None, true);
        options
    }

    /// Returns a flow that sent ten segments at 100 ms, after a round trip of 100 ms.
    fn begun(segments: u64) -> Reno {
        let mut flow = Reno::new(&options().rules, &(), &(), Random::new(1, "rack"));
        flow.write(Instant::ZERO, segments);
        assert_eq!(sent(&mut flow, 0), [0]);
        flow.handle(Instant::from_millis(100), &ack(1, &[]));
        assert_eq!(sent(&mut flow, 100), (1..=segments.min(10)).collect::<Vec<_>>());
        flow
    }

    fn sent(flow: &mut Reno, ms: u64) -> Vec<u64> {
        std::iter::from_fn(|| flow.poll_transmit(Instant::from_millis(ms))).map(|segment| segment.seq).collect()
    }

    fn acked(flow: &mut Reno, ms: u64, seq: u64, blocks: &[(u64, u64)], echo_ms: u64) -> Vec<u64> {
        let ack = Segment { echo: Instant::from_millis(echo_ms), ..ack(seq, blocks) };
        flow.handle(Instant::from_millis(ms), &ack);
        sent(flow, ms)
    }

    fn timed_out(flow: &mut Reno) -> (u64, Vec<u64>) {
        let due = flow.state.poll_timeout().unwrap();
        flow.handle_timeout(due);
        let ms = due.as_nanos() / 1_000_000;
        (ms, sent(flow, ms))
    }

    /// Section 6.2 step 4: without reordering seen and with fewer than three segments received above the hole, a segment
    /// is lost a quarter of the least round trip after a later one was delivered.
    #[test]
    fn a_hole_is_lost_after_the_reordering_window() {
        let mut flow = begun(10);
        assert_eq!(acked(&mut flow, 200, 1, &[(2, 3)], 100), [0; 0]);
        assert_eq!(flow.state.poll_timeout(), Some(Instant::from_millis(100 + 100 + 25)));
        assert_eq!(timed_out(&mut flow), (225, vec![1]));
        assert_eq!(flow.state.counters.fast_recoveries, 1);
    }

    /// Section 6.2 step 4: three segments received above the hole leave no reordering window.
    #[test]
    fn three_segments_above_a_hole_make_it_lost_at_once() {
        let mut flow = begun(10);
        assert_eq!(acked(&mut flow, 200, 1, &[(2, 4)], 100), [0; 0]);
        assert_eq!(acked(&mut flow, 201, 1, &[(2, 5)], 100), [1]);
    }

    /// Section 6.2 step 3: once a segment was delivered after a later one, three segments no longer suffice.
    #[test]
    fn reordering_opens_the_window_for_good() {
        let mut flow = begun(10);
        acked(&mut flow, 200, 1, &[(2, 3)], 100);
        acked(&mut flow, 205, 3, &[], 100);
        assert!(flow.recovery.reordering_seen);
        acked(&mut flow, 206, 3, &[(4, 9)], 100);
        assert_eq!((flow.state.counters.fast_recoveries, flow.recovery.in_flight > 0), (0, true));
        // The segments above were delivered 106 ms after their transmission.
        assert_eq!(flow.state.poll_timeout(), Some(Instant::from_millis(100 + 106 + 25)));
    }

    /// Section 6.2 step 4: each round with a D-SACK widens the window by a quarter of the least round trip.
    #[test]
    fn a_duplicate_report_widens_the_window() {
        let mut flow = begun(10);
        acked(&mut flow, 200, 1, &[(2, 3)], 100);
        acked(&mut flow, 201, 3, &[(1, 2)], 100);
        assert_eq!(flow.recovery.reo_wnd_mult, 2);
        acked(&mut flow, 202, 3, &[(1, 2)], 100);
        assert_eq!(flow.recovery.reo_wnd_mult, 2, "once per round");
    }

    /// Section 7.3: the last segment is probed after two smoothed round trips. It is lost there, so that the
    /// acknowledgement of later data reduces the window (section 7.4.2).
    #[test]
    fn a_probe_repairs_the_end_of_a_transfer() {
        let mut flow = begun(3);
        assert_eq!(acked(&mut flow, 200, 3, &[], 100), [0; 0]);
        // One segment in flight: 200 ms more for a delayed acknowledgement.
        assert_eq!(timed_out(&mut flow), (600, vec![3]));
        assert_eq!(flow.state.counters.timeouts, 0);
        let before = flow.state.window.cwnd;
        acked(&mut flow, 700, 4, &[], 600);
        flow.write(Instant::from_millis(750), 2);
        assert_eq!(sent(&mut flow, 750), [4, 5]);
        acked(&mut flow, 850, 6, &[], 750);
        assert!(flow.state.window.cwnd < before, "{} {before}", flow.state.window.cwnd);
    }

    /// Section 7.4.2: a probe that arrives in addition to the original changes nothing.
    #[test]
    fn a_needless_probe_does_not_reduce_the_window() {
        let mut flow = begun(3);
        acked(&mut flow, 200, 3, &[], 100);
        assert_eq!(timed_out(&mut flow), (600, vec![3]));
        let before = flow.state.window.cwnd;
        acked(&mut flow, 610, 4, &[], 100);
        acked(&mut flow, 700, 4, &[(3, 4)], 100);
        assert!(flow.recovery.probe.is_none());
        assert!(flow.state.window.cwnd >= before);
    }

    /// Section 6.1: a retransmission is lost if a segment sent after it was delivered, without a timeout.
    #[test]
    fn a_lost_retransmission_is_sent_again() {
        let mut flow = begun(60);
        assert!(acked(&mut flow, 200, 1, &[(2, 6)], 100).contains(&1));
        let new = acked(&mut flow, 210, 1, &[(2, 11)], 100);
        assert!(new.iter().all(|&seq| seq > 10) && !new.is_empty(), "{new:?}");
        let last = *new.last().unwrap();
        // The segments sent 10 ms after the retransmission arrive, it does not.
        assert!(acked(&mut flow, 310, 1, &[(2, last + 1)], 100).contains(&1));
        assert_eq!((flow.state.counters.timeouts, flow.state.counters.fast_recoveries), (0, 1));
    }

    /// RFC 3522 section 3.2: the acknowledgement answers the first transmission, so the recovery was spurious.
    #[test]
    fn a_spurious_recovery_is_undone() {
        for (echo_ms, restored) in [(100, true), (200, false)] {
            let mut flow = begun(60);
            let before = flow.state.window.cwnd;
            assert!(acked(&mut flow, 200, 1, &[(2, 6)], 100).contains(&1));
            assert!(flow.state.window.cwnd < before);
            acked(&mut flow, 220, 6, &[], echo_ms);
            assert_eq!(flow.recovery.phase == Phase::Open && flow.state.window.cwnd >= before, restored);
        }
    }

    /// RFC 3522 section 3.2: each acknowledgement answers a retransmission, also of the second loss, which was sent later
    /// than the first one. So nothing is undone.
    #[test]
    fn a_recovery_of_two_losses_is_not_undone() {
        let mut flow = begun(60);
        let before = flow.state.window.cwnd;
        assert!(acked(&mut flow, 200, 1, &[(2, 3), (4, 11)], 100).contains(&1));
        acked(&mut flow, 210, 1, &[(2, 3), (4, 11)], 100);
        acked(&mut flow, 300, 3, &[(4, 11)], 200);
        acked(&mut flow, 400, 11, &[], 300);
        assert!(flow.state.window.cwnd < before, "{} {before}", flow.state.window.cwnd);
        assert_eq!((flow.state.counters.fast_recoveries, flow.recovery.undo.is_some()), (1, true));
    }

    /// RFC 7323 section 4.1: with timestamps, the round trip of a SYN that was sent twice is that of the answered one.
    #[test]
    fn a_syn_that_was_sent_twice_is_timed_by_its_timestamp() {
        for (timestamps, rtt) in [(true, Duration::from_millis(100)), (false, Duration::MAX)] {
            let mut options = options();
            options.rules_mut().timestamps = timestamps;
            let mut flow = Reno::new(&options.rules, &(), &(), Random::new(1, "rack"));
            flow.write(Instant::ZERO, 10);
            assert_eq!(sent(&mut flow, 0), [0]);
            assert_eq!(timed_out(&mut flow), (1000, vec![0]));
            acked(&mut flow, 1100, 1, &[], 1000);
            assert_eq!(flow.recovery.min_rtt, rtt);
        }
    }

    /// RFC 3708: without timestamps, the report that the retransmission arrived twice undoes the reduction.
    #[test]
    fn a_duplicate_report_undoes_a_recovery() {
        let mut options = options();
        options.rules_mut().timestamps = false;
        let mut flow = Reno::new(&options.rules, &(), &(), Random::new(1, "rack"));
        flow.write(Instant::ZERO, 60);
        sent(&mut flow, 0);
        acked(&mut flow, 100, 1, &[], 0);
        let before = flow.state.window.cwnd;
        acked(&mut flow, 200, 1, &[(2, 6)], 0);
        assert!(flow.state.window.cwnd < before);
        acked(&mut flow, 220, 6, &[], 0);
        acked(&mut flow, 300, 6, &[(1, 2)], 0);
        assert!(flow.recovery.phase == Phase::Open && flow.state.window.cwnd >= before);
    }

    /// Section 6.3: a timeout declares the first segment lost, and those sent long enough ago.
    #[test]
    fn a_timeout_keeps_recent_segments_in_flight() {
        let mut flow = begun(10);
        assert_eq!(acked(&mut flow, 200, 9, &[], 100).len(), 0);
        // A probe, then the timeout.
        assert_eq!(timed_out(&mut flow).1, [10]);
        let (_, resent) = timed_out(&mut flow);
        assert_eq!(resent, [9]);
        assert_eq!((flow.state.counters.timeouts, flow.state.window.cwnd), (1, 1.0));
    }

    /// RFC 2883 section 4: a sink with this recovery reports a duplicate in its first block.
    #[test]
    fn a_sink_reports_duplicates() {
        let mut sink = Sink::new(&options());
        let segment = |seq| Segment { is_ack: false, ..ack(seq, &[]) };
        let mut answer = |seq| {
            sink.handle(Instant::ZERO, &segment(seq));
            let ack = sink.poll_transmit(Instant::ZERO).unwrap();
            (ack.seq, ack.sack.iter(ack.seq).map(|block| (block.start, block.end)).collect::<Vec<_>>())
        };
        assert_eq!(answer(0), (1, vec![]));
        assert_eq!(answer(2), (1, vec![(2, 3)]));
        assert_eq!(answer(2), (1, vec![(2, 3), (2, 3)]));
        assert_eq!(answer(1), (3, vec![]));
        assert_eq!(answer(1), (3, vec![(1, 2)]));
    }
}
