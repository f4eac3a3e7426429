//! SACK-based loss recovery (RFC 6675), optionally with proportional rate reduction (RFC 6937).
//!
//! ```text
//! entry:    3 duplicates with news, or 3 segments received above the first missing one: halve, resend it
//! meanwhile, while pipe < cwnd: (1) lost and not resent, (2) new data, (3) missing below the highest received,
//!           (4) once: the highest missing
//! exit:     everything sent before the entry is acknowledged
//! ```
//! With `rack` (RFC 8985), in recovery: (0) first of all, retransmissions that were lost again; (1) holds for all below
//! the highest received. With `rack_window`, RACK may begin the recovery.
//! With `pipe = "counted"` the recovery is that of ns-2's Sack1 instead, with `pipe = "fack"` that of its Agent/TCP/Linux.

use crate::growth::Growth;
use crate::kinds::fack::Fack;
use crate::kinds::sack1::Counted;
use crate::options::{Pipe, Rules};
use crate::prr::Prr;
use crate::scoreboard::Scoreboard;
use crate::segment::Segment;
use crate::sender::Recovery;
use crate::state::{Cut, State};
use headway_units::Dialect;
use std::collections::VecDeque;

/// SACK recovery of each sort.
#[derive(Clone, Debug)]
pub(crate) enum Sack {
    Counted(Counted),
    Scoreboard(Board),
    Fack(Fack),
}

/// RFC 6675's recovery.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    board: Scoreboard,
    recovering: bool,
    /// HighRxt, one past.
    resent: u64,
    /// RescueRxt, one past.
    rescue: u64,
    /// As of the last acknowledgement, plus what was sent since.
    pipe: u64,
    lost_below: u64,
    prr: Option<Prr>,
    /// Retransmissions of this recovery in the order of sending, each with one past the highest number sent by then.
    order: VecDeque<(u64, u64)>,
    /// Those of them that were lost.
    again: VecDeque<u64>,
    /// Missing segments below this were sent before a retransmission that has arrived.
    overtaken: u64,
    /// One past the segment that the recovery was entered for.
    entered: u64,
}

impl Recovery for Sack {
    type Options = ();

    fn adjust(rules: &mut Rules, dialect: Dialect) {
        rules.sack.sack_blocks = 3;
        // net/ipv4/tcp_input.c, `tcp_cong_control`: the reduction has ended when the acknowledgement comes to it.
        rules.reno.grow_on_exit |= dialect == Dialect::Linux;
    }

    fn new(rules: &Rules, _options: &Self::Options) -> Self {
        match rules.sack.pipe {
            Pipe::Counted => Self::Counted(Counted::new(rules)),
            Pipe::Scoreboard => Self::Scoreboard(Board {
                board: Scoreboard::default(),
                recovering: false,
                resent: 0,
                rescue: 0,
                pipe: 0,
                lost_below: 0,
                prr: None,
                order: VecDeque::new(),
                again: VecDeque::new(),
                overtaken: 0,
                entered: 0,
            }),
            Pipe::Fack => Self::Fack(Fack::new()),
        }
    }

    fn first_window(rules: &Rules) -> u64 {
        if rules.sack.pipe == Pipe::Fack { rules.initial_window_segments() } else { 1 }
    }
    fn on_echo<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        // Fack sees it beside the acknowledgement's other news.
        if !matches!(self, Self::Fack(_)) {
            state.echo_of_congestion(ack);
        }
    }

    fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        match self {
            Self::Counted(counted) => counted.on_ack(state, ack),
            Self::Scoreboard(board) => board.on_ack(state, ack),
            Self::Fack(fack) => fack.on_ack(state, ack),
        }
    }
    fn on_timeout<G: Growth>(&mut self, state: &mut State<G>) {
        match self {
            Self::Counted(counted) => counted.on_timeout(state),
            Self::Scoreboard(board) => board.on_timeout(state),
            // All of it is in `time_out`.
            Self::Fack(_) => {}
        }
    }
    fn time_out<G: Growth>(&mut self, state: &mut State<G>) {
        if let Self::Fack(fack) = self {
            fack.time_out(state);
            return;
        }
        self.on_timeout(state);
        state.time_out();
        state.release();
    }
    fn next<G: Growth>(&self, state: &State<G>) -> Option<u64> {
        match self {
            Self::Counted(counted) => counted.next(state),
            Self::Scoreboard(board) => board.next(state),
            Self::Fack(fack) => fack.next(state),
        }
    }
    fn room<G: Growth>(&self, state: &State<G>) -> u64 {
        match self {
            Self::Scoreboard(board) => state.room(board.gone(state)),
            Self::Counted(_) | Self::Fack(_) => state.room(0),
        }
    }
    fn sent<G: Growth>(&mut self, state: &mut State<G>, seq: u64) {
        match self {
            Self::Counted(counted) => counted.sent(state, seq),
            Self::Scoreboard(board) => board.sent(state, seq),
            Self::Fack(fack) => fack.sent(state, seq),
        }
    }
}

impl Board {
    fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        if ack.seq < state.una {
            return;
        }
        let delivered = self.board.update(state.una, state.max, ack);
        let is_new = ack.seq > state.una;
        if self.recovering && ack.seq >= state.recover {
            self.leave(state, ack, delivered);
        } else if self.recovering {
            if is_new {
                let acked = state.advance(ack);
                state.hold(acked);
            }
            self.estimate(state, delivered, is_new);
        } else if is_new {
            state.accept(ack, true);
        } else if delivered > 0 {
            state.dupacks += 1;
        }
        if !self.recovering && !self.board.is_empty() {
            self.consider_entry(state, delivered);
        }
        state.release();
    }

    /// Step 4: three duplicates, or the first missing segment is lost; after a timeout only beyond what it resent.
    fn consider_entry<G: Growth>(&mut self, state: &mut State<G>, delivered: u64) {
        let threshold = state.rules.dupack_threshold;
        let lost = state.dupacks >= threshold
            || self.board.lost_below(threshold) > state.una
            || state.rules.sack.rack_window && state.times.is_lost(state.una, self.board.highest() - 1);
        if !lost || (state.una < state.recover && state.una != 1) {
            return;
        }
        let window = state.window.cwnd as u64;
        state.begin_recovery();
        // ECN has halved for this round trip already if its mark is not yet answered.
        if state.last_cut == Cut::Ecn {
            state.last_cut = Cut::DupAcks;
        } else {
            state.halve(Cut::DupAcks);
        }
        self.recovering = true;
        self.order.clear();
        self.again.clear();
        self.resent = state.una;
        self.rescue = state.una + 1;
        self.entered = state.una + 1;
        self.overtaken = 0;
        state.nxt = state.max;
        self.prr = state.rules.sack.proportional_rate_reduction.then(|| Prr::new(window, state.window.ssthresh as u64));
        self.estimate(state, delivered, false);
        state.resend(state.una);
        self.count_resent(state, state.una);
    }

    fn leave<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment, delivered: u64) {
        self.recovering = false;
        state.last_cut = Cut::Recovered;
        if self.prr.take().is_some() {
            state.window.cwnd = state.window.ssthresh;
        }
        state.recovered();
        // What SACK told of before has been counted by the rate reduction.
        state.accept_counting(ack, state.rules.reno.grow_on_exit.then_some(delivered));
    }

    /// Step B: what is lost, what is in the network, and with rate reduction what may follow.
    fn estimate<G: Growth>(&mut self, state: &mut State<G>, delivered: u64, is_new: bool) {
        let threshold = if state.rules.sack.rack { 1 } else { state.rules.dupack_threshold };
        let lost_before = (self.lost_below, self.again.len());
        if state.rules.sack.rack {
            self.judge_retransmissions(state.una);
        }
        // The first segment is lost by the recovery's own reason, even if its three duplicates told of less.
        self.lost_below = self.board.lost_below(threshold).max(self.entered).max(self.overtaken);
        self.pipe = self.board.pipe(state.una, state.max, self.resent, self.lost_below);
        self.pipe = self.pipe.saturating_sub(self.again.len() as u64);
        if let Some(prr) = &mut self.prr
            && delivered > 0
        {
            let clean = is_new && (self.lost_below, self.again.len()) <= lost_before;
            state.window.cwnd = prr.window(self.pipe, delivered, clean) as f64;
        }
    }

    /// RACK: what was sent before something that has arrived is lost, be it a retransmission or not.
    fn judge_retransmissions(&mut self, una: u64) {
        let arrived = |seq: u64| seq < una || self.board.skip_received(seq) != seq;
        let highest = self.board.highest();
        let later = self.order.iter().rposition(|&(seq, sent_before)| sent_before < highest || arrived(seq));
        for (seq, sent_before) in self.order.drain(..later.map_or(0, |last| last + 1)) {
            if arrived(seq) {
                self.overtaken = self.overtaken.max(sent_before);
            } else {
                self.again.push_back(seq);
            }
        }
        self.again.retain(|&seq| !arrived(seq));
    }

    fn count_resent<G: Growth>(&mut self, state: &State<G>, seq: u64) {
        self.resent = self.resent.max(seq + 1);
        if state.rules.sack.rack {
            self.order.push_back((seq, state.max));
        }
        self.count_sent();
    }
    fn count_sent(&mut self) {
        self.pipe += 1;
        if let Some(prr) = &mut self.prr {
            prr.out += 1;
        }
    }

    fn on_timeout<G: Growth>(&mut self, state: &mut State<G>) {
        state.dupacks = 0;
        self.recovering = false;
        self.prr = None;
        self.again.clear();
        if !state.rules.sack.keep_sack_after_timeout {
            self.board.clear();
        }
    }

    /// Segments above the first missing one that have left the network, for which Limited Transmit sends others.
    fn gone<G: Growth>(&self, state: &State<G>) -> u64 {
        if state.rules.limited_transmit { self.board.received_below(state.nxt) } else { 0 }
    }

    fn next<G: Growth>(&self, state: &State<G>) -> Option<u64> {
        let limit = state.una + state.limit;
        if !self.recovering {
            let gone = self.gone(state);
            let seq = self.board.skip_received(state.nxt);
            return (state.nxt - state.una - gone < state.usable() && seq < limit && seq < state.end).then_some(seq);
        }
        if self.pipe >= state.window.cwnd as u64 {
            return None;
        }
        // NextSeg(), rules 1 to 4, after what RACK found.
        if let Some(&seq) = self.again.front() {
            return Some(seq);
        }
        let hole = self.board.skip_received(self.resent.max(state.una));
        if hole < self.lost_below.min(state.max) {
            return Some(hole);
        }
        if state.nxt < limit && state.nxt < state.end {
            return Some(state.nxt);
        }
        if hole < self.board.highest() {
            return Some(hole);
        }
        (state.una > self.rescue && state.una < state.max).then(|| self.board.last_missing(state.max))
    }

    fn sent<G: Growth>(&mut self, state: &mut State<G>, seq: u64) {
        if !self.recovering {
            if seq >= state.max && !self.board.is_empty() {
                // RFC 6675 section 5 step 3: duplicates report that other segments have left.
                state.limited_sent += 1;
            }
            state.nxt = seq + 1;
        } else if self.again.front() == Some(&seq) {
            self.again.pop_front();
            self.count_resent(state, seq);
        } else if seq >= state.nxt {
            state.nxt = seq + 1;
            self.count_sent();
        } else if seq >= self.lost_below && seq >= self.board.highest() {
            self.rescue = state.recover;
            self.count_sent();
        } else {
            self.count_resent(state, seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::{Acked, Window};
    use crate::sender::Flow;
    use crate::{Sink, TcpOptions};
    use headway_units::{Duration, Instant, Random, Registry};

    /// Counts what it sees, and shows it in the window when a recovery is over.
    struct Witness {
        seen: u32,
    }

    impl Growth for Witness {
        type Options = ();

        fn new(_rules: &Rules, _options: &()) -> Self {
            Self { seen: 0 }
        }
        fn observe(&mut self, _now: Instant, _una: u64, _max: u64, _ack: &Segment) {
            self.seen += 1;
        }
        fn grow(&mut self, _window: &mut Window, _acked: Acked) {}
        fn decrease(&mut self, cut: Cut, _cwnd: f64, base: f64) -> f64 {
            assert_eq!(cut, Cut::DupAcks);
            base / 2.0
        }
        fn settle(&self, cwnd: f64, _reduced: f64) -> f64 {
            assert_eq!(cwnd, 10.0);
            7.0
        }
        fn recovered(&mut self, window: &mut Window) {
            assert_eq!(window.cwnd, 7.0);
            window.cwnd = 77.0;
            window.ssthresh = f64::from(self.seen);
        }
    }

    /// Each recovery shows a growth every acknowledgement, duplicates too, and tells it of its end.
    #[test]
    fn a_growth_sees_all_of_a_recovery() {
        for pipe in [Pipe::Counted, Pipe::Scoreboard, Pipe::Fack] {
            let mut options = TcpOptions::preset("tcp-sack", Dialect::Rfc).unwrap();
            (options.rules_mut().sack.pipe, options.rules_mut().delayed_ack) = (pipe, None);
            let mut flow = Flow::<Sack, Witness>::new(&options.rules, &(), &(), Random::new(1, "witness"));
            let mut sink = Sink::new(&options);
            flow.write(Instant::ZERO, 100);
            let mut now = Instant::ZERO;
            while flow.state.window.cwnd != 77.0 {
                now += Duration::from_millis(100);
                assert!(now < Instant::from_secs(2), "{pipe:?}: no recovery");
                let sent: Vec<_> = std::iter::from_fn(|| flow.poll_transmit(now)).collect();
                for segment in sent.into_iter().filter(|segment| segment.seq != 3 || segment.retransmission) {
                    if flow.state.window.cwnd == 77.0 {
                        break;
                    }
                    sink.handle(now, &segment);
                    flow.handle(now, &sink.poll_transmit(now).unwrap());
                }
            }
            // One for each segment that arrived.
            assert_eq!(flow.state.counters.acks, flow.state.una, "{pipe:?}");
            assert_eq!(flow.state.window.ssthresh, flow.state.counters.acks as f64, "{pipe:?}");
        }
    }
}
