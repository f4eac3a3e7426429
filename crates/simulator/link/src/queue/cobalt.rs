//! COBALT (T. Hoeiland-Joergensen, D. Taht and J. Morton, "Piece of CAKE", IEEE LANMAN 2018, section III.A; Linux
//! `net/sched/sch_cake.c`): CoDel whose state decays step by step, plus BLUE for unresponsive flows.
//!
//! ```text
//! over      wait > target, and wait > 4 packet times
//! departure over: dropping, and if it was not, next = now + interval / sqrt(count); count at least 1
//!           due (count > 0 and next <= now) and over: mark or drop, count += 1, next += interval / sqrt(count)
//!           due and not over: count -= 1, next += interval / sqrt(count), until it is not due
//!           drop with probability p, regardless of the ECN field
//! overflow  p += 1/256, at most once per target
//! empty     p -= 1/4096, at most once per target; if due, count -= 1, next += interval / sqrt(count)
//! ```

use headway_units::{Duration, Instant, Random};

/// Increase of `p_drop`, in units of 2^-32, at an overflow, and its decrease when the queue is found empty.
const P_UP: u32 = 1 << 24;
const P_DOWN: u32 = 1 << 20;

/// Parameters that the queues of a tin share. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Params {
    pub(super) target: u64,
    pub(super) interval: u64,
    /// Transmission time of the largest packet; 0 if no rate is known.
    pub(super) mtu_time: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Forward,
    Mark,
    /// Marked by CoDel and dropped by BLUE, unless it is the last packet of the queue.
    MarkAndDrop,
    /// Dropped, unless it is the last packet of the queue.
    Drop,
}

/// The state of one queue. Times in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    count: u32,
    /// 1 / sqrt(count) in units of 2^-32.
    inverse_sqrt: u32,
    dropping: bool,
    next: u64,
    /// When BLUE last changed its probability.
    blue_since: Option<u64>,
    /// Drop probability of BLUE, in units of 2^-32.
    p_drop: u32,
}

impl Control {
    /// Creates the initial state. `first_waits` is whether the very first mark or drop waits for the interval.
    pub(super) const fn new(first_waits: bool) -> Self {
        let inverse_sqrt = if first_waits { u32::MAX } else { 0 };
        Self { count: 0, inverse_sqrt, dropping: false, next: 0, blue_since: None, p_drop: 0 }
    }

    /// Returns whether the state is the initial one, so that it can be discarded.
    pub(super) const fn is_at_rest(&self, now: Instant) -> bool {
        self.p_drop == 0 && self.count == 0 && self.next <= now.as_nanos()
    }

    /// Reports that a packet of this queue was dropped because the limit was exceeded.
    pub(super) fn overflowed(&mut self, params: &Params, now: Instant) {
        let now = now.as_nanos();
        if self.may_blue(params, now) {
            self.p_drop = self.p_drop.saturating_add(P_UP);
            self.blue_since = Some(now);
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    pub(super) fn found_empty(&mut self, params: &Params, now: Instant) {
        let now = now.as_nanos();
        if self.p_drop > 0 && self.may_blue(params, now) {
            self.p_drop = self.p_drop.saturating_sub(P_DOWN);
            self.blue_since = Some(now);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.step_down(params);
        }
    }

    /// Decides about the packet that departs `now` after it has waited for `waited`.
    pub(super) fn decide(
        &mut self,
        params: &Params,
        now: Instant,
        waited: Duration,
        is_ecn: bool,
        random: &mut Random,
    ) -> Action {
        let (now, waited) = (now.as_nanos(), waited.as_nanos());
        let is_due = self.is_due(now);
        // When the next one was due when the packet departed; a time that is set here does not count.
        let mut planned = self.next;
        if waited > params.target && waited > params.mtu_time.saturating_mul(4) {
            if !self.dropping {
                self.dropping = true;
                self.next = self.after(params, now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let (mut marked, mut dropped) = (false, false);
        if is_due && self.dropping {
            (marked, dropped) = (is_ecn, !is_ecn);
            self.count = self.count.saturating_add(1);
            self.set_inverse_sqrt();
            self.next = self.after(params, self.next);
            planned = self.next;
        } else if is_due {
            while self.is_due(now) {
                self.step_down(params);
                planned = self.next;
            }
        }
        if self.p_drop > 0 && ((random.bits() >> 32) as u32) < self.p_drop {
            dropped = true;
        }
        // While the count is zero, `next` is the time until which the state is kept.
        if self.count == 0 {
            self.next = now.saturating_add(params.interval);
        } else if now > planned && !dropped {
            self.next = now;
        }
        match (marked, dropped) {
            (false, false) => Action::Forward,
            (true, false) => Action::Mark,
            (true, true) => Action::MarkAndDrop,
            (false, true) => Action::Drop,
        }
    }

    fn may_blue(&self, params: &Params, now: u64) -> bool {
        self.blue_since.is_none_or(|since| now.saturating_sub(since) > params.target)
    }

    const fn is_due(&self, now: u64) -> bool {
        self.count > 0 && self.next <= now
    }

    fn step_down(&mut self, params: &Params) {
        self.count = self.count.saturating_sub(1);
        self.set_inverse_sqrt();
        self.next = self.after(params, self.next);
    }

    /// Returns when the next mark or drop is due after one at `from`.
    fn after(&self, params: &Params, from: u64) -> u64 {
        from.saturating_add(((u128::from(params.interval) * u128::from(self.inverse_sqrt)) >> 32) as u64)
    }

    fn set_inverse_sqrt(&mut self) {
        self.inverse_sqrt = match SMALL.get(self.count as usize) {
            Some(known) => *known,
            None => newton_step(self.inverse_sqrt, self.count),
        };
    }
}

/// Values for small counts, for which one Newton step from the previous count is too inaccurate.
const SMALL: [u32; 16] = small();

const fn small() -> [u32; 16] {
    let mut known = [u32::MAX; 16];
    let mut inverse_sqrt = u32::MAX;
    let mut count = 1;
    while count < known.len() {
        let mut steps = 0;
        while steps < 4 {
            inverse_sqrt = newton_step(inverse_sqrt, count as u32);
            steps += 1;
        }
        known[count] = inverse_sqrt;
        count += 1;
    }
    known
}

/// Computes x <- x (3 - count x^2) / 2 in units of 2^-32.
const fn newton_step(inverse_sqrt: u32, count: u32) -> u32 {
    let inverse = inverse_sqrt as u64;
    let squared = (inverse * inverse) >> 32;
    let value = (3_u64 << 32).wrapping_sub((count as u64).wrapping_mul(squared)) >> 2;
    (value.wrapping_mul(inverse) >> 31) as u32
}

#[cfg(test)]
mod tests;
