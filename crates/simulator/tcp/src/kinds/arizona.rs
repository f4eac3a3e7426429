//! TCP Vegas as implemented by the University of Arizona (Brakmo and Peterson 1995; follows ns-2.35 tcp/tcp-vegas.cc
//! step by step). Combines window growth and retransmission.
//!
//! ```text
//! each round trip:      delta = int((expected - actual) baseRTT + 1/2),
//!                       expected = in flight / baseRTT, actual = sent / RTT
//!   slow start:         every other round: delta > gamma: ssthresh = 2, cwnd -= cwnd/8; else cwnd += 1 per ack
//!   avoidance:          delta > beta: cwnd -= 1;  delta < alpha: cwnd += 1/cwnd per acknowledgement
//! fine-grained timeout: (2 SRTT + 4 RTTVAR) / 2, plus a sixteenth
//! duplicate:            the third, or any once the timeout has expired: resend. If cwnd has not changed since the
//!                       segment was sent: 3/4 of it (1/2 if resent before, 2 for cwnd up to 3), plus the duplicates
//! next two new acks:    resend the next segment if its fine-grained timeout has expired
//! timeout:              ssthresh = half, cwnd = 2; the back-off doubles even if nothing is in flight
//! ```
//! baseRTT is the least round trip seen, or that of a round with one segment.

use crate::growth::Growth;
use crate::kinds::vegas::{GAMMA, VegasOptions};
use crate::options::Rules;
use crate::segment::Segment;
use crate::sender::Recovery;
use crate::state::{Cut, State};
use headway_units::Instant;

/// Maximum number of send times kept. As in ns-2, they are indexed by segment number modulo the window.
const MAX_PLACES: u64 = 1 << 20;

/// Initial capacity, above ns-2's default window.
const USUAL_PLACES: usize = 32;

/// Time of the last transmission of a segment, in seconds, and number of transmissions; [`UNSENT`] once acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: f64,
    times: u32,
}

/// ns-2's marker: one second before the first packet.
const UNSENT: Sent = Sent { at: -1.0, times: 0 };

#[derive(Clone, Debug)]
pub(crate) struct Arizona {
    alpha: f64,
    beta: f64,
    first_sent: Instant,
    /// Whether any acknowledgement was received.
    started: bool,
    places: u64,
    /// Send times, up to the highest place used.
    sent: Vec<Sent>,
    /// Increase of cwnd per acknowledgement in this round (`v_incr_`).
    increment: f64,
    /// Whether slow start opens the window in this round (`v_inc_flag_`).
    opens: bool,
    /// Segment whose acknowledgement ends the round (`v_begseq_`).
    round_end: u64,
    round_began: f64,
    round_sum: f64,
    round_samples: u32,
    base_rtt: f64,
    /// 8 times SRTT and 4 times its deviation.
    mean8: f64,
    deviation4: f64,
    /// Fine-grained timeout (`v_timeout_`).
    timeout: f64,
    /// Number of new acknowledgements that still check for an expired segment (`v_worried_`).
    worried: u64,
    /// cwnd without the inflation by duplicates (`v_newcwnd_`).
    deflated: f64,
    /// Time of the last change of cwnd by a loss (`t_cwnd_changed_`).
    changed_at: f64,
}

impl Recovery for Arizona {
    type Options = VegasOptions;

    fn new(rules: &Rules, options: &Self::Options) -> Self {
        Self {
            alpha: f64::from(options.vegas_alpha),
            beta: f64::from(options.vegas_beta),
            first_sent: Instant::ZERO,
            started: false,
            places: rules.segments(rules.window).min(MAX_PLACES),
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
        if !self.started {
            self.started = true;
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

    /// Handles a timeout, even with nothing in flight, and leaves a window of two.
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

    /// Records the time of transmission. A running timer is not restarted when nothing was in flight.
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
    /// Returns seconds since the SYN (ns-2's `vegastime`).
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

    fn advance<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment, now: f64) {
        // The window opens with the first data acknowledged, not with the SYN-ACK.
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
            // With cwnd 0 the increment 1/cwnd is infinite in ns-2, so the window is capped.
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

    /// Ends a round trip: compares the actual rate with the rate expected on an empty path.
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
            self.adjust_window(state, delta);
        }
        self.round_end = state.nxt;
        self.round_began = now;
    }

    fn adjust_window<G: Growth>(&mut self, state: &mut State<G>, delta: f64) {
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

    /// Removes the segments `before..una` and samples the round trip of the last one if it was sent once.
    fn measure(&mut self, before: u64, una: u64, now: f64) {
        let last = una - 1;
        let sent = self.last_sent(last);
        // ns-2 iterates from the first place to the last, and stops immediately if the range wraps.
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
        // The SYN, sent at time 0, gives no sample.
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
        // After a timeout, segments sent before it cause no fast retransmit.
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
