//! The sender common to all kinds: [`Recovery`] handles losses, [`Growth`] opens the window.

use crate::growth::Growth;
use crate::options::{EcnEcho, Rules};
use crate::segment::Segment;
use crate::state::State;
use headway_units::{Dialect, Instant, Random};
use std::sync::Arc;

/// Loss recovery: handling of duplicate, partial and full acknowledgements.
pub(crate) trait Recovery {
    /// Options of this recovery only.
    type Options;

    /// Applies the options that this recovery requires on top of the dialect.
    fn adjust(_rules: &mut Rules, _dialect: Dialect) {}

    fn new(rules: &Rules, options: &Self::Options) -> Self;

    /// Returns the window until the SYN is acknowledged, in segments.
    fn first_window(_rules: &Rules) -> u64 {
        1
    }

    /// Handles ECN-Echo, before the acknowledgement is processed.
    fn on_echo<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        state.echo_of_congestion(ack);
    }

    /// Handles an acknowledgement, new or old, of data that was sent.
    fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment);

    /// Handles an expiry of the retransmission timer, before [`State::time_out`] reduces the window.
    fn on_timeout<G: Growth>(&mut self, state: &mut State<G>);

    /// Handles an expiry of the retransmission timer completely.
    fn time_out<G: Growth>(&mut self, state: &mut State<G>) {
        self.on_timeout(state);
        state.time_out();
        state.release();
    }

    /// Returns the number to send next, if the window allows one.
    fn next<G: Growth>(&self, state: &State<G>) -> Option<u64> {
        state.next_in_window()
    }
    /// Returns how many more segments the window admits outside recovery.
    fn room<G: Growth>(&self, state: &State<G>) -> u64 {
        state.room(0)
    }
    /// Records the transmission of `seq`, returned by [`Recovery::next`].
    fn sent<G: Growth>(&mut self, state: &mut State<G>, _seq: u64) {
        state.nxt += 1;
    }
    fn output<G: Growth>(&mut self, state: &mut State<G>, seq: u64) -> Segment {
        state.output(seq)
    }
}

/// Sender of one kind, aligned to a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow<R, G> {
    pub(crate) state: State<G>,
    pub(crate) recovery: R,
}

impl<R: Recovery, G: Growth> Flow<R, G> {
    pub(crate) fn new(rules: &Arc<Rules>, recovery: &R::Options, growth: &G::Options, random: Random) -> Self {
        let state = State::new(rules, growth, R::first_window(rules), random);
        Self { recovery: R::new(rules, recovery), state }
    }

    pub(crate) fn write(&mut self, now: Instant, segments: u64) {
        if segments == 0 {
            return;
        }
        let state = &mut self.state;
        state.now = now;
        state.resume();
        // The SYN is counted as a segment.
        state.end = state.end.saturating_add(segments).saturating_add(u64::from(!state.opened));
        state.opened = true;
        state.released = false;
        state.release();
    }

    pub(crate) fn handle(&mut self, now: Instant, ack: &Segment) {
        let state = &mut self.state;
        if !ack.is_ack || ack.seq > state.max {
            return;
        }
        state.now = now;
        state.released = false;
        state.burst = 0;
        state.peer_sent = ack.sent;
        state.counters.acks += 1;
        let counted;
        let mut ack = ack;
        if ack.ece && state.reads_ecn() {
            if state.rules.ecn_echo == EcnEcho::Accurate {
                counted = state.read_counts(ack);
                ack = &counted;
            } else {
                state.observe(ack);
            }
            if ack.ece {
                self.recovery.on_echo(state, ack);
            }
        } else {
            state.observe(ack);
        }
        self.recovery.on_ack(state, ack);
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let state = &mut self.state;
        state.now = now;
        state.burst = 0;
        if state.release_at <= now {
            state.release_at = Instant::FAR_FUTURE;
            state.released = true;
            state.release();
        } else {
            state.released = false;
        }
        if state.retransmit_at <= now {
            self.time_out();
        }
    }

    /// Kept out of line, so that it does not slow releases.
    #[cold]
    #[inline(never)]
    fn time_out(&mut self) {
        self.state.retransmit_at = Instant::FAR_FUTURE;
        self.recovery.time_out(&mut self.state);
    }

    /// Kept out of line: inlined for each kind into the loop of the caller, it would make that loop save the addresses
    /// of all fields first.
    #[inline(never)]
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        let segment = self.next_segment(now);
        debug_assert!(
            segment.is_some() || !self.state.is_stuck(),
            "data to send, but neither an open window nor a timer"
        );
        segment
    }

    #[inline]
    fn next_segment(&mut self, now: Instant) -> Option<Segment> {
        let state = &mut self.state;
        state.now = now;
        if let Some(seq) = state.take_pending() {
            return Some(self.output_again(seq));
        }
        if state.burst == 0 || state.release_at != Instant::FAR_FUTURE || state.waits_for_timer {
            return None;
        }
        let seq = self.recovery.next(state)?;
        if !state.is_released() {
            return None;
        }
        let first = state.keeps_times && state.rules.push && seq > 0 && seq >= state.max;
        if first {
            state.deferred = state.defers(seq, self.recovery.room(state));
            if state.deferred {
                return None;
            }
        }
        state.burst -= 1;
        self.recovery.sent(state, seq);
        let mut segment = self.recovery.output(state, seq);
        if first {
            let more = state.burst > 0 && self.recovery.next(state) == Some(seq + 1);
            segment.push = state.ends_unit(seq, more);
        }
        Some(segment)
    }

    /// Kept out of line, so that it does not slow first transmissions.
    #[cold]
    #[inline(never)]
    fn output_again(&mut self, seq: u64) -> Segment {
        self.recovery.output(&mut self.state, seq)
    }
}
