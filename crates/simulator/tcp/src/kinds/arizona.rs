//! TCP Vegas as the University of Arizona wrote it (Brakmo and Peterson 1995; ns-2.35 tcp/tcp-vegas.cc, whose every step this follows):
//! window and retransmission in one.
//!
//! ```text
//! each round trip:      delta = int((expected - actual) baseRTT + 1/2), expected = in flight / baseRTT, actual = sent / RTT
//!   slow start:         every other round: delta > gamma: ssthresh = 2, cwnd -= cwnd/8; else cwnd += 1 an acknowledgement
//!   avoidance:          delta > beta: cwnd -= 1;  delta < alpha: cwnd += 1/cwnd an acknowledgement
//! fine-grained timeout: (2 SRTT + 4 RTTVAR) / 2, and a sixteenth more
//! duplicate:            the third, or any once the timeout has passed: resend; if cwnd has not changed since the segment was sent
//!                       it becomes 3/4 (1/2 if it was sent before, 2 from 3 on), inflated by the duplicates
//! first two new acknowledgements behind it: resend the next segment if its timeout has passed
//! timeout:              ssthresh = half, cwnd = 2, and the back-off doubles though nothing may be in flight
//! ```
//! baseRTT is the least round trip seen, or that of a round with one segment.

use crate::growth::Growth;
use crate::kinds::vegas::{GAMMA, VegasOptions};
use crate::options::Rules;
use crate::segment::Segment;
use crate::sender::Recovery;
use crate::state::{Cut, State};
use headway_units::Instant;

/// ns-2 keeps its sending times by number modulo the window; a window above this shares places.
const MOST_PLACES: u64 = 1 << 20;

/// ns-2's default window, and some.
const USUAL_PLACES: usize = 32;

/// When the segment at a place was sent last, in seconds, and how often; [`UNSENT`] where it was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: f64,
    times: u32,
}

/// As ns-2 writes it: a second before the first packet.
const UNSENT: Sent = Sent { at: -1.0, times: 0 };

/// Arizona's Vegas. Times are seconds since the SYN went.
#[derive(Clone, Debug)]
pub(crate) struct Arizona {
    alpha: f64,
    beta: f64,
    first_sent: Instant,
    /// Something has come back.
    begun: bool,
    places: u64,
    /// As many of them as were used.
    sent: Vec<Sent>,
    /// What is added to cwnd at each acknowledgement of this round (`v_incr_`).
    increment: f64,
    /// Slow start opens the window in this round (`v_inc_flag_`).
    opens: bool,
    /// The round ends when this number is acknowledged (`v_begseq_`).
    round_end: u64,
    round_began: f64,
    round_sum: f64,
    round_samples: u32,
    base_rtt: f64,
    /// SRTT times 8, and its deviation times 4.
    mean8: f64,
    deviation4: f64,
    /// The fine-grained timeout (`v_timeout_`).
    timeout: f64,
    /// New acknowledgements that are still to look for an expired segment (`v_worried_`).
    worried: u64,
    /// cwnd without the duplicates (`v_newcwnd_`).
    deflated: f64,
    /// When a loss last changed cwnd (`t_cwnd_changed_`).
    changed_at: f64,
}

impl Recovery for Arizona {
    type Options = VegasOptions;

    fn new(rules: &Rules, options: &Self::Options) -> Self {
        Self {
            alpha: f64::from(options.vegas_alpha),
            beta: f64::from(options.vegas_beta),
            first_sent: Instant::ZERO,
            begun: false,
            places: rules.segments(rules.window).min(MOST_PLACES),
            sent: Vec::with_capacity(USUAL_PLACES),
            increment: 0.0,
            opens: true,
            round_end: 0,
            round_began: 0.0,
            round_sum: 0.0,
            round_samples: 0,
            base_rtt: f64::INFINITY,
            mean8: 0.0,
            deviation4: 0.0,
            timeout: f64::INFINITY,
            worried: 0,
            deflated: 0.0,
            changed_at: 0.0,
        }
    }

    fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        let now = self.time(state.now);
        if !self.begun {
            self.begun = true;
            self.base_rtt = now;
            self.mean8 = now * 8.0;
            self.deviation4 = now;
            self.timeout = (self.mean8 / 4.0 + self.deviation4) / 2.0;
        }
        if ack.seq > state.una {
            self.advance(state, ack, now);
        } else if ack.seq == state.una {
            self.duplicate(state, now);
        }
        if state.dupacks == 0 || state.dupacks >= state.rules.dupack_threshold {
            state.release();
        }
    }

    fn on_timeout<G: Growth>(&mut self, _state: &mut State<G>) {}

    /// As any other, but with nothing in flight too, and to a window of two.
    fn time_out<G: Growth>(&mut self, state: &mut State<G>) {
        state.dupacks = 0;
        state.counters.timeouts += u64::from(state.una < state.max);
        state.recover = state.max;
        state.last_cut = Cut::Timeout;
        state.back_off();
        state.restart_timer();
        state.drop_timing();
        state.go_back();
        state.window.ssthresh = (state.window.cwnd.min(state.limit as f64) / 2.0).floor().max(2.0);
        state.window.cwnd = 2.0;
        self.deflated = 0.0;
        self.changed_at = self.time(state.now);
        // `timeout` sends without regard to `maxburst_`.
        state.burst = u32::MAX;
    }

    /// Notes when the segment went. Unlike the others it lets a running timer run on where nothing was in flight.
    fn output<G: Growth>(&mut self, state: &mut State<G>, seq: u64) -> Segment {
        if seq == 0 {
            self.first_sent = state.now;
            self.sent.clear();
        }
        let running = state.retransmit_at;
        let segment = state.output(seq);
        if running != Instant::FAR_FUTURE {
            state.retransmit_at = running;
        }
        let at = self.time(state.now);
        let place = self.place(seq);
        if place >= self.sent.len() {
            self.sent.resize(place + 1, UNSENT);
        }
        if let Some(sent) = self.sent.get_mut(place) {
            *sent = Sent { at, times: sent.times.saturating_add(1) };
        }
        segment
    }
}

impl Arizona {
    /// ns-2's `vegastime`.
    fn time(&self, now: Instant) -> f64 {
        now.since(self.first_sent).as_secs_f64()
    }
    fn place(&self, seq: u64) -> usize {
        (seq % self.places) as usize
    }
    fn last_sent(&self, seq: u64) -> Sent {
        self.sent.get(self.place(seq)).copied().unwrap_or(UNSENT)
    }
    fn expired(&self, seq: u64, now: f64) -> bool {
        now - self.last_sent(seq).at >= self.timeout
    }

    /// An acknowledgement of new data.
    fn advance<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment, now: f64) {
        // Unlike the others it opens the window with the first data that is acknowledged, not with the SYN's answer.
        if state.una == 1 {
            state.window.cwnd = state.rules.initial_window_segments() as f64;
        }
        if state.dupacks > state.rules.dupack_threshold && state.window.cwnd > self.deflated {
            state.window.cwnd = self.deflated.max(state.least_window(Cut::DupAcks));
            state.window.ssthresh = 2.0;
        }
        let before = state.una;
        state.advance(ack);
        if ack.seq > self.round_end {
            self.end_round(state, now);
        }
        if self.increment == 1.0 && !state.window.in_slow_start() {
            self.increment = 0.0;
        }
        let spare = state.window.cwnd - (state.nxt - state.una + 1) as f64;
        if self.increment > 0.0 && spare <= 2.0 {
            // A window of none grows beyond any bound: ns-2's inverse of it is infinite.
            state.window.cwnd = (state.window.cwnd + self.increment).min(f64::from(u32::MAX));
        }
        self.measure(before, ack.seq, now);
        if self.worried > 0 {
            self.worried -= 1;
            if self.expired(state.una, now) {
                state.dupacks = state.rules.dupack_threshold;
                state.resend(state.una);
            } else {
                self.worried = 0;
            }
        }
    }

    /// What is done once a round trip: compares what was sent with what the empty path would have carried.
    fn end_round<G: Growth>(&mut self, state: &mut State<G>, now: f64) {
        let rtt = match self.round_samples {
            0 => now - self.round_began,
            samples => self.round_sum / f64::from(samples),
        };
        (self.round_sum, self.round_samples) = (0.0, 0);
        let sent = state.nxt - self.round_end;
        if rtt > 0.0 {
            if rtt < self.base_rtt || sent <= 1 {
                self.base_rtt = rtt;
            }
            let actual = sent as f64 / rtt;
            let expected = (state.nxt - state.una + 1) as f64 / self.base_rtt;
            let delta = ((expected - actual) * self.base_rtt + 0.5).trunc();
            self.judge(state, delta);
        }
        self.round_end = state.nxt;
        self.round_began = now;
    }

    fn judge<G: Growth>(&mut self, state: &mut State<G>, delta: f64) {
        let window = &mut state.window;
        self.increment = 0.0;
        if window.in_slow_start() {
            self.opens = !self.opens;
            if self.opens && delta > GAMMA {
                window.ssthresh = 2.0;
                window.cwnd = (window.cwnd - window.cwnd / 8.0).max(2.0);
            } else if self.opens {
                self.increment = 1.0;
            }
        } else if delta > self.beta {
            window.cwnd = (window.cwnd - 1.0).max(2.0);
        } else if delta < self.alpha {
            self.increment = 1.0 / window.cwnd;
        }
    }

    /// Forgets the segments `before..una`, and takes the last one's round trip if it was sent once.
    fn measure(&mut self, before: u64, una: u64, now: f64) {
        let last = una - 1;
        let sent = self.last_sent(last);
        // ns-2 walks from the first place to the last: over the end of the table it stops at once.
        let mut place = self.place(before);
        let end = self.place(last);
        for _ in before..una {
            if place > end {
                break;
            }
            if let Some(sent) = self.sent.get_mut(place) {
                *sent = UNSENT;
            }
            place = (place + 1) % self.places as usize;
        }
        // The SYN, sent at 0, is no sample.
        if sent.at == 0.0 || sent.times != 1 {
            return;
        }
        let rtt = now - sent.at;
        self.round_sum += rtt;
        self.round_samples += 1;
        if rtt > 0.0 {
            self.base_rtt = self.base_rtt.min(rtt);
            let error = rtt - self.mean8 / 8.0;
            self.mean8 += error;
            self.deviation4 += error.abs() - self.deviation4 / 4.0;
            self.timeout = (self.mean8 / 4.0 + self.deviation4) / 2.0;
            self.timeout += self.timeout / 16.0;
        }
    }

    fn duplicate<G: Growth>(&mut self, state: &mut State<G>, now: f64) {
        state.dupacks += 1;
        let threshold = state.rules.dupack_threshold;
        if !self.expired(state.una, now) && state.dupacks != threshold {
            if state.dupacks > threshold {
                state.window.cwnd += 1.0;
            }
            return;
        }
        // As the others after a timeout: not again for what was sent before.
        if state.una <= state.recover && state.last_cut == Cut::Timeout {
            return;
        }
        let sent = self.last_sent(state.una);
        let window = state.usable();
        state.last_cut = Cut::DupAcks;
        self.worried = (state.nxt - state.una + 1).min(2);
        self.timeout += if sent.times > 1 { self.timeout } else { self.timeout / 8.0 };
        if self.changed_at < sent.at {
            let left = match window {
                0..=3 => 2,
                _ if sent.times > 1 => window / 2,
                _ => window - window / 4,
            };
            self.deflated = left as f64;
            state.window.cwnd = self.deflated + f64::from(state.dupacks);
            self.changed_at = now;
        }
        state.back_off();
        state.begin_recovery();
        state.resend(state.una);
        if sent.times == 1 {
            state.dupacks = threshold;
        }
    }
}
