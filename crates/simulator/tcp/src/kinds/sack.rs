//! SACK-based loss recovery (RFC 6675), optionally with proportional rate reduction (RFC 6937).
//!
//! ```text
//! entry:     3 duplicates with new SACK blocks, or 3 segments received above the first missing: halve, resend it
//! recovery:  while pipe < cwnd: (1) lost and not resent, (2) new data, (3) missing below the highest received,
//!            (4) once: the highest missing
//! exit:      all segments sent before the entry are acknowledged
//! ```
//! With `rack` (RFC 8985), in recovery: (0) lost retransmissions come first; (1) applies to all segments below the
//! highest received. With `rack_window`, RACK may start the recovery.
//! With `pipe = "counted"` the recovery is that of ns-2's Sack1, with `pipe = "fack"` that of its Agent/TCP/Linux, and
//! with `pipe = "rack-tlp"` that of RFC 8985.

use crate::growth::Growth;
use crate::kinds::fack::Fack;
use crate::kinds::rack_tlp::RackTlp;
use crate::kinds::sack1::Counted;
use crate::options::{Pipe, Rules};
use crate::prr::Prr;
use crate::scoreboard::Scoreboard;
use crate::segment::Segment;
use crate::sender::Recovery;
use crate::state::{Cut, State};
use headway_units::Dialect;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) enum Sack {
    Counted(Counted),
    Scoreboard(Board),
    Fack(Fack),
    RackTlp(Box<RackTlp>),
}

#[derive(Clone, Debug)]
pub(crate) struct Board {
    board: Scoreboard,
    recovering: bool,
    /// One past HighRxt.
    resent: u64,
    /// One past RescueRxt.
    rescue: u64,
    /// Pipe after the last acknowledgement, plus segments sent since.
    pipe: u64,
    lost_below: u64,
    prr: Option<Prr>,
    /// Retransmissions of this recovery in sending order, each with one past the highest number sent before it.
    order: VecDeque<(u64, u64)>,
    /// Retransmissions that were lost.
    again: VecDeque<u64>,
    /// Missing segments below this number were sent before a retransmission that was received.
    overtaken: u64,
    /// One past the segment that started the recovery.
    entered: u64,
}

impl Recovery for Sack {
    type Options = ();

    fn adjust(rules: &mut Rules, dialect: Dialect) {
        rules.sack.sack_blocks = 3;
        // net/ipv4/tcp_input.c, `tcp_cong_control`: the reduction ends before the acknowledgement opens the window.
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
            Pipe::RackTlp => Self::RackTlp(Box::new(RackTlp::new(rules, &()))),
        }
    }

    fn first_window(rules: &Rules) -> u64 {
        if rules.sack.pipe == Pipe::Fack { rules.initial_window_segments() } else { 1 }
    }
    fn on_echo<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        // Fack handles the echo together with the rest of the acknowledgement.
        if !matches!(self, Self::Fack(_)) {
            state.echo_of_congestion(ack);
        }
    }

    fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        match self {
            Self::Counted(counted) => counted.on_ack(state, ack),
            Self::Scoreboard(board) => board.on_ack(state, ack),
            Self::Fack(fack) => fack.on_ack(state, ack),
            Self::RackTlp(rack) => rack.on_ack(state, ack),
        }
    }
    fn on_timeout<G: Growth>(&mut self, state: &mut State<G>) {
        match self {
            Self::Counted(counted) => counted.on_timeout(state),
            Self::Scoreboard(board) => board.on_timeout(state),
            // Handled by `time_out`.
            Self::Fack(_) | Self::RackTlp(_) => {}
        }
    }
    fn time_out<G: Growth>(&mut self, state: &mut State<G>) {
        match self {
            Self::Fack(fack) => fack.time_out(state),
            Self::RackTlp(rack) => rack.time_out(state),
            Self::Counted(_) | Self::Scoreboard(_) => {
                self.on_timeout(state);
                state.time_out();
                state.release();
            }
        }
    }
    fn next<G: Growth>(&self, state: &State<G>) -> Option<u64> {
        match self {
            Self::Counted(counted) => counted.next(state),
            Self::Scoreboard(board) => board.next(state),
            Self::Fack(fack) => fack.next(state),
            Self::RackTlp(rack) => rack.next(state),
        }
    }
    fn room<G: Growth>(&self, state: &State<G>) -> u64 {
        match self {
            Self::Scoreboard(board) => state.room(board.left_network(state)),
            Self::RackTlp(rack) => rack.room(state),
            Self::Counted(_) | Self::Fack(_) => state.room(0),
        }
    }
    fn sent<G: Growth>(&mut self, state: &mut State<G>, seq: u64) {
        match self {
            Self::Counted(counted) => counted.sent(state, seq),
            Self::Scoreboard(board) => board.sent(state, seq),
            Self::Fack(fack) => fack.sent(state, seq),
            Self::RackTlp(rack) => rack.sent(state, seq),
        }
    }
    fn output<G: Growth>(&mut self, state: &mut State<G>, seq: u64) -> Segment {
        if let Self::RackTlp(rack) = self { rack.output(state, seq) } else { state.output(seq) }
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

    /// Starts a recovery on three duplicates or a lost first segment (step 4); after a timeout, only above the segments
    /// resent by it.
    fn consider_entry<G: Growth>(&mut self, state: &mut State<G>, delivered: u64) {
        let threshold = state.rules.dupack_threshold;
        let lost = state.dupacks >= threshold
            || self.board.lost_below(threshold) > state.una
            || state.rules.sack.rack_window && state.times.is_lost(state.una, self.board.highest() - 1);
        let marked = state.last_cut == Cut::Ecn;
        let again = state.una == 1 || marked;
        if !lost || (state.una < state.recover && !again) {
            return;
        }
        let window = state.window.cwnd as u64;
        state.begin_recovery();
        // ECN has already halved in this round trip if its mark is not yet acknowledged.
        if marked && !G::REDUCES_AFTER_MARK {
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
        // Rate reduction has already counted earlier SACK reports.
        state.accept_counting(ack, state.rules.reno.grow_on_exit.then_some(delivered));
    }

    /// Updates the lost segments, the pipe, and with rate reduction the window (step B).
    fn estimate<G: Growth>(&mut self, state: &mut State<G>, delivered: u64, is_new: bool) {
        let threshold = if state.rules.sack.rack { 1 } else { state.rules.dupack_threshold };
        let lost_before = (self.lost_below, self.again.len());
        if state.rules.sack.rack {
            self.detect_lost_retransmissions(state.una);
        }
        // The first segment is lost by the entry condition, even if its duplicates reported fewer segments.
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

    /// Detects lost retransmissions with RACK: segments sent before a received one are lost, including retransmissions.
    fn detect_lost_retransmissions(&mut self, una: u64) {
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

    /// Returns the segments above the first missing one that left the network, for Limited Transmit.
    fn left_network<G: Growth>(&self, state: &State<G>) -> u64 {
        if state.rules.limited_transmit { self.board.received_below(state.nxt) } else { 0 }
    }

    fn next<G: Growth>(&self, state: &State<G>) -> Option<u64> {
        let limit = state.una + state.limit;
        if !self.recovering {
            let left_network = self.left_network(state);
            let seq = self.board.skip_received(state.nxt);
            return (state.nxt - state.una - left_network < state.usable() && seq < limit && seq < state.end)
                .then_some(seq);
        }
        if self.pipe >= state.window.cwnd as u64 {
            return None;
        }
        // NextSeg(), rules 1 to 4, after the losses that RACK detected.
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
                // A new segment sent by Limited Transmit (RFC 6675 section 5 step 3).
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

    /// Counts acknowledgements and exposes the count in the window at the end of a recovery.
    struct Recorder {
        seen: u32,
    }

    impl Growth for Recorder {
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

    /// Each recovery passes every acknowledgement to the growth, including duplicates, and notifies it of its end.
    #[test]
    fn a_growth_observes_the_whole_recovery() {
        for pipe in [Pipe::Counted, Pipe::Scoreboard, Pipe::Fack] {
            let mut options = TcpOptions::preset("tcp-sack", Dialect::Rfc).unwrap();
            (options.rules_mut().sack.pipe, options.rules_mut().delayed_ack) = (pipe, None);
            let mut flow = Flow::<Sack, Recorder>::new(&options.rules, &(), &(), Random::new(1, "recorder"));
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
            // One acknowledgement for each received segment.
            assert_eq!(flow.state.counters.acks, flow.state.una, "{pipe:?}");
            assert_eq!(flow.state.window.ssthresh, flow.state.counters.acks as f64, "{pipe:?}");
        }
    }
}
