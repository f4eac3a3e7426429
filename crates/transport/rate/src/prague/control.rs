//! The rate, the window and `alpha` in integers, as udp_prague of 2026-02-03 computes them (`PragueCC::ACKReceived`).
//!
//! Rates are in B/s, windows in uB (millionths of a byte) and times in us, so that a window is a rate times a time.

#[cfg(test)]
mod tests;

/// Round-trip time that shorter ones count as (`REF_RTT`).
const REFERENCE_US: u64 = 25_000;
/// `PROB_SHIFT`: a share of 1 is 2^20.
const SHARE_BITS: u32 = 20;
/// Gain of `alpha` per reference round-trip time, as a divisor (`ALPHA_SHIFT`).
const ALPHA_DIVISOR: u64 = 16;
/// Virtual round trips without congestion before faster growth (`MIN_STEP`), and the rate that adds one (`RATE_STEP`).
const MIN_STEP: u64 = 7;
const RATE_STEP: u64 = 1_920_000;
/// Growth per virtual round trip after them, as the time of a queue (`QUEUE_GROWTH`).
const QUEUE_GROWTH_US: u64 = 1000;
/// Round-trip time up to which the rate is controlled instead of the window.
const SHORT_RTT_US: u64 = 2000;
/// Offset of the pacing rate, in percent (`RATE_OFFSET`).
const OFFSET: u64 = 3;
const US_PER_S: u64 = 1_000_000;
/// Longest round-trip time: a longer sample is a suspended machine.
const MAX_RTT_US: u64 = 64 * US_PER_S;
/// Time that udp_prague's clock shows when it starts. 0 is a special value there.
const START_US: u64 = 1;

/// Limits of the rate in B/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) start: u64,
    pub(super) min: u64,
    pub(super) max: u64,
}

/// Cumulative numbers of packets. `lost` falls if a packet arrives late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) received: u64,
    pub(super) marked: u64,
    pub(super) lost: u64,
    pub(super) sent: u64,
}

/// Reason for a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    Loss,
    Mark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Growth,
    /// For a round after a loss, the rate neither grows nor shrinks.
    AfterLoss,
    /// For a round after a mark, the rate does not shrink by marks.
    AfterMark,
}

/// Round that ends when a packet sent after its start is acknowledged and a virtual round trip has passed.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    sent: u64,
    since_us: u64,
}

/// Reduction by a loss that a late arrival restores.
#[derive(Clone, Copy, Debug)]
struct Undo {
    by_rate: bool,
    amount: u64,
    /// Lost packets before the loss.
    lost: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Control {
    limits: Limits,
    /// Size of the largest packet.
    mtu: u64,
    reference_us: u64,
    alpha_divisor: i64,
    /// Whether a mark counts as a loss, and growth is one packet per virtual round trip at most.
    reno: bool,
    srtt_us: Option<u64>,
    /// Whether a report has been processed.
    started: bool,
    state: State,
    /// Whether the rate is controlled instead of the window.
    by_rate: bool,
    rate: u64,
    window: u64,
    alpha: i64,
    /// Virtual round trips until growth by [`QUEUE_GROWTH_US`].
    countdown: i64,
    counters: Counters,
    /// Round of `alpha`, and the counters at its start.
    alpha_round: Round,
    alpha_counters: Counters,
    round: Round,
    undo: Option<Undo>,
    /// Increase of `countdown` by losses that a late arrival takes back.
    undo_countdown: i64,
}

impl Control {
    /// Creates the state at the start. `frame_us` is the interval of frames, if the window counts frames.
    pub(super) fn new(limits: Limits, mtu: u64, frame_us: Option<u64>) -> Self {
        let frame_us = frame_us.map(|us| us.max(1));
        Self {
            limits,
            mtu,
            reference_us: frame_us.unwrap_or(REFERENCE_US),
            alpha_divisor: frame_us
                .map_or(ALPHA_DIVISOR, |us| (ALPHA_DIVISOR * REFERENCE_US / us).max(1))
                .cast_signed(),
            reno: false,
            srtt_us: None,
            started: false,
            state: State::Growth,
            by_rate: false,
            rate: limits.start,
            window: 0,
            alpha: 0,
            countdown: quiet_rounds(limits.start),
            counters: Counters::default(),
            alpha_round: Round { sent: 0, since_us: START_US },
            alpha_counters: Counters::default(),
            round: Round::default(),
            undo: None,
            undo_countdown: 0,
        }
    }

    pub(super) const fn rate(&self) -> u64 {
        self.rate
    }

    /// Returns the window in bytes.
    pub(super) const fn window_bytes(&self) -> u64 {
        self.window / US_PER_S
    }

    pub(super) const fn srtt_us(&self) -> Option<u64> {
        self.srtt_us
    }

    /// Returns the virtual round-trip time: the smoothed one, at least 25 ms or the interval of frames.
    pub(super) fn virtual_rtt_us(&self) -> u64 {
        self.srtt_us.map_or(self.reference_us, |srtt| srtt.max(self.reference_us))
    }

    /// Sets whether a mark counts as a loss and growth is that of Reno at most.
    pub(super) const fn set_reno(&mut self, reno: bool) {
        self.reno = reno;
    }

    /// Returns the rate of sending. It is 3 % higher in the first half of a virtual round trip after an update of
    /// `alpha`, and 3 % lower after it.
    pub(super) fn pacing_rate(&self, now_us: u64) -> u64 {
        let half_us = if self.started { self.virtual_rtt_us() / 2 } else { 0 };
        if now_us.saturating_sub(self.alpha_round.since_us) >= half_us {
            self.rate * 100 / (100 + OFFSET)
        } else {
            self.rate * (100 + OFFSET) / 100
        }
    }

    /// Adds a round-trip sample. Before the first report, it replaces the earlier ones.
    pub(super) fn on_rtt(&mut self, rtt_us: u64) {
        let rtt_us = rtt_us.clamp(1, MAX_RTT_US);
        self.srtt_us = Some(match self.srtt_us.filter(|_| self.started) {
            Some(srtt) => srtt.saturating_add_signed((rtt_us.cast_signed() - srtt.cast_signed()) >> 3).max(1),
            None => rtt_us,
        });
    }

    /// Handles a report. `size` is the mean size of the packets that it is the first to report, and growth ends at the
    /// rate `most`. Returns the reason if the report reduced the rate. Without a round-trip time, it has no effect.
    pub(super) fn on_report(&mut self, now_us: u64, counters: Counters, size: u64, most: u64) -> Option<Reduction> {
        let srtt_us = self.srtt_us?;
        let now_us = now_us.max(START_US);
        let acknowledged = counters.received + counters.lost;
        self.select_mode(srtt_us, size);
        self.update_alpha(now_us, &counters);
        self.undo_loss(counters.lost);
        if self.state == State::AfterLoss && self.is_over(&self.round, now_us, acknowledged) {
            self.state = State::Growth;
        }
        let mut reduction = None;
        if self.state != State::AfterLoss && counters.lost > self.counters.lost {
            self.reduce_by_loss();
            self.round = Round { sent: counters.sent, since_us: now_us };
            reduction = Some(Reduction::Loss);
        }
        let received = counters.received - self.counters.received;
        let unmarked = received.saturating_sub(counters.marked - self.counters.marked);
        if self.state != State::AfterLoss && unmarked > 0 {
            self.grow(srtt_us, unmarked, size, most);
        }
        if self.state == State::AfterMark && self.is_over(&self.round, now_us, acknowledged) {
            self.state = State::Growth;
        }
        if self.state == State::Growth && counters.marked > self.counters.marked {
            self.reduce_by_mark();
            self.round = Round { sent: counters.sent, since_us: now_us };
            reduction = Some(Reduction::Mark);
        }
        self.align(srtt_us);
        self.counters = counters;
        reduction
    }

    /// Halves the rate because no report arrives. `sent` is the number of packets sent that are not forgotten.
    pub(super) fn on_silence(&mut self, sent: u64) {
        (self.rate, self.by_rate, self.state, self.undo) = (self.rate / 2, true, State::Growth, None);
        self.countdown = quiet_rounds(self.rate);
        (self.counters.sent, self.alpha_round.sent) = (sent, self.alpha_round.sent.min(sent));
        if let Some(srtt_us) = self.srtt_us {
            self.align(srtt_us);
        } else {
            self.rate = self.rate.clamp(self.limits.min, self.limits.max);
        }
    }

    fn is_over(&self, round: &Round, now_us: u64, acknowledged: u64) -> bool {
        acknowledged > round.sent && now_us.saturating_sub(round.since_us) >= self.virtual_rtt_us()
    }

    /// Chooses between the window and the rate. If the round-trip time is 2 ms at most, or the time of a packet, the
    /// window would follow its noise.
    fn select_mode(&mut self, srtt_us: u64, size: u64) {
        let by_rate = srtt_us <= SHORT_RTT_US || srtt_us <= quotient(size, US_PER_S, self.rate);
        if !self.started || self.by_rate && !by_rate {
            self.window = srtt_us * self.rate;
        }
        (self.started, self.by_rate) = (true, by_rate);
    }

    fn update_alpha(&mut self, now_us: u64, counters: &Counters) {
        let received = counters.received - self.alpha_counters.received;
        let is_over = self.is_over(&self.alpha_round, now_us, counters.received + counters.lost);
        // udp_prague divides by zero if all packets of a round are lost.
        if !is_over || received == 0 {
            return;
        }
        let marked = counters.marked - self.alpha_counters.marked;
        let share = quotient(marked, 1 << SHARE_BITS, received).cast_signed();
        self.alpha += (share - self.alpha) / self.alpha_divisor;
        self.alpha = self.alpha.min(1 << SHARE_BITS);
        self.alpha_round = Round { sent: counters.sent, since_us: now_us };
        self.alpha_counters = *counters;
        self.countdown -= i64::from(self.countdown > 0);
    }

    fn undo_loss(&mut self, lost: u64) {
        let Some(undo) = self.undo.take_if(|undo| lost <= undo.lost) else { return };
        self.by_rate = undo.by_rate;
        *self.controlled() += undo.amount;
        self.countdown = (self.countdown - std::mem::take(&mut self.undo_countdown)).max(0);
        self.state = State::Growth;
    }

    const fn controlled(&mut self) -> &mut u64 {
        if self.by_rate { &mut self.rate } else { &mut self.window }
    }

    /// Halves the rate. Faster growth waits until a Reno flow of the reference round-trip time would have its rate again.
    fn reduce_by_loss(&mut self) {
        let rtt_us = self.virtual_rtt_us();
        let countdown = quotient(quotient(self.rate / 2 / self.mtu, REFERENCE_US, rtt_us), REFERENCE_US, US_PER_S);
        let countdown = countdown.cast_signed();
        self.undo_countdown = (self.undo_countdown + countdown - self.countdown).min(countdown);
        self.countdown = countdown;
        let (by_rate, lost) = (self.by_rate, self.counters.lost);
        let controlled = self.controlled();
        let amount = *controlled / 2;
        *controlled -= amount;
        self.undo = Some(Undo { by_rate, amount, lost });
        self.state = State::AfterLoss;
    }

    /// Reduces the rate by `alpha/2`.
    fn reduce_by_mark(&mut self) {
        self.countdown = quiet_rounds(self.rate);
        let (alpha, reno) = (self.alpha.unsigned_abs(), self.reno);
        let controlled = self.controlled();
        *controlled -= if reno { *controlled / 2 } else { quotient(*controlled, alpha, 1 << (SHARE_BITS + 1)) };
        self.state = State::AfterMark;
    }

    /// Grows by one packet per virtual round trip, or by 1 ms of the rate after a time without congestion, up to `most`.
    ///
    /// `W += acks * size * (srtt/vrtt)^2 * increment/W`, or `r += acks * increment/vrtt * size/(r vrtt)`
    fn grow(&mut self, srtt_us: u64, acks: u64, size: u64, most: u64) {
        let queue = quotient(self.rate, QUEUE_GROWTH_US, US_PER_S);
        let increment = if queue < self.mtu || self.countdown > 0 || self.reno { self.mtu } else { queue };
        let [acks, size, srtt, increment] = [acks, size, srtt_us, increment].map(u128::from);
        let [vrtt, rate, us_per_s] = [self.virtual_rtt_us(), self.rate, US_PER_S].map(u128::from);
        let (grown, most) = if self.by_rate {
            let packets = rounded(rate * vrtt, size.max(1) * us_per_s).max(1);
            (rate + rounded(rounded(acks * increment * us_per_s, vrtt), packets), u128::from(most))
        } else {
            let window = u128::from(self.window.max(1));
            let scale = rounded(srtt * us_per_s * srtt, vrtt * vrtt);
            (window + rounded(acks * size * scale * us_per_s, window) * increment, u128::from(most) * srtt)
        };
        let controlled = self.controlled();
        let grown = u64::try_from(grown.min(most)).unwrap_or(u64::MAX);
        *controlled = grown.max(*controlled);
    }

    /// Limits the rate, and sets the window to it.
    fn align(&mut self, srtt_us: u64) {
        if !self.by_rate {
            self.rate = self.window / srtt_us;
        }
        self.rate = self.rate.clamp(self.limits.min, self.limits.max);
        self.window = (self.rate * srtt_us).max(1);
    }
}

/// Returns the number of virtual round trips without marks before faster growth.
fn quiet_rounds(rate: u64) -> i64 {
    (rate / RATE_STEP + MIN_STEP).cast_signed()
}

/// Returns `a * b / divisor`, rounded down.
fn quotient(a: u64, b: u64, divisor: u64) -> u64 {
    u64::try_from(u128::from(a) * u128::from(b) / u128::from(divisor.max(1))).unwrap_or(u64::MAX)
}

/// Returns `a / divisor`, rounded to the nearest integer.
const fn rounded(a: u128, divisor: u128) -> u128 {
    (a + divisor / 2) / divisor
}
