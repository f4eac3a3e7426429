//! COBALT (T. Hoeiland-Joergensen, D. Taht and J. Morton, "Piece of CAKE", IEEE LANMAN 2018, section III.A; Linux `net/sched/sch_cake.c`): CoDel whose state
//! decays step by step, and BLUE beside it for flows that do not listen.
//!
//! ```text
//! over      wait > target, and wait > 4 packet times
//! leaves    over: dropping, and if it was not, next = now + interval / sqrt(count); count at least 1
//!           due (count > 0 and next <= now) and over: mark or drop, count += 1, next += interval / sqrt(count)
//!           due and not over: count -= 1, next += interval / sqrt(count), until it is not due
//!           and dropped by chance p, whatever its ECN field says
//! overflow  p += 1/256, at most once a target
//! empty     p -= 1/4096, at most once a target; if due, count -= 1, next += interval / sqrt(count)
//! ```

use headway_units::{Duration, Instant, Random};

/// What it adds to `p_drop` of 2^32 when the queue overflows, and takes from it when it is found empty.
const P_UP: u32 = 1 << 24;
const P_DOWN: u32 = 1 << 20;

/// What the queues of a tin have in common. In ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Law {
    pub(super) target: u64,
    pub(super) interval: u64,
    /// What the largest packet takes; 0 if no rate is known.
    pub(super) mtu_time: u64,
}

/// What becomes of a packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Passes,
    Marked,
    /// Marked, and to be dropped by BLUE, unless it is the last.
    DroppedMarked,
    /// To be dropped, unless it is the last.
    Dropped,
}

/// The state of one queue. Times in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    count: u32,
    /// 1 / sqrt(count) in units of 2^-32.
    inverse_sqrt: u32,
    dropping: bool,
    next: u64,
    /// When BLUE last changed its mind, if ever.
    blue_since: Option<u64>,
    /// In units of 2^-32.
    p_drop: u32,
}

impl Control {
    /// At rest. `first_waits` tells whether the first mark or drop of all waits for the interval, as all later ones do.
    pub(super) const fn new(first_waits: bool) -> Self {
        let inverse_sqrt = if first_waits { u32::MAX } else { 0 };
        Self { count: 0, inverse_sqrt, dropping: false, next: 0, blue_since: None, p_drop: 0 }
    }

    /// Whether nothing of it would be lost if it were forgotten.
    pub(super) const fn is_at_rest(&self, now: Instant) -> bool {
        self.p_drop == 0 && self.count == 0 && self.next <= now.as_nanos()
    }

    /// A packet of this queue was dropped because there were too many.
    pub(super) fn overflowed(&mut self, law: &Law, now: Instant) {
        let now = now.as_nanos();
        if self.may_blue(law, now) {
            self.p_drop = self.p_drop.saturating_add(P_UP);
            self.blue_since = Some(now);
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// The queue was to be served, and has nothing.
    pub(super) fn found_empty(&mut self, law: &Law, now: Instant) {
        let now = now.as_nanos();
        if self.p_drop > 0 && self.may_blue(law, now) {
            self.p_drop = self.p_drop.saturating_sub(P_DOWN);
            self.blue_since = Some(now);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.step_down(law);
        }
    }

    /// Decides about the packet that leaves `now` and has waited for so long.
    pub(super) fn decide(
        &mut self,
        law: &Law,
        now: Instant,
        waited: Duration,
        is_ecn: bool,
        random: &mut Random,
    ) -> Fate {
        let (now, waited) = (now.as_nanos(), waited.as_nanos());
        let is_due = self.is_due(now);
        // By when the next was planned as the packet left: a plan that is made here does not count.
        let mut planned = self.next;
        if waited > law.target && waited > law.mtu_time.saturating_mul(4) {
            if !self.dropping {
                self.dropping = true;
                self.next = self.after(law, now);
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
            self.next = self.after(law, self.next);
            planned = self.next;
        } else if is_due {
            while self.is_due(now) {
                self.step_down(law);
                planned = self.next;
            }
        }
        if self.p_drop > 0 && ((random.bits() >> 32) as u32) < self.p_drop {
            dropped = true;
        }
        // While nothing is counted, until when the queue is kept in mind.
        if self.count == 0 {
            self.next = now.saturating_add(law.interval);
        } else if now > planned && !dropped {
            self.next = now;
        }
        match (marked, dropped) {
            (false, false) => Fate::Passes,
            (true, false) => Fate::Marked,
            (true, true) => Fate::DroppedMarked,
            (false, true) => Fate::Dropped,
        }
    }

    fn may_blue(&self, law: &Law, now: u64) -> bool {
        self.blue_since.is_none_or(|since| now.saturating_sub(since) > law.target)
    }

    const fn is_due(&self, now: u64) -> bool {
        self.count > 0 && self.next <= now
    }

    fn step_down(&mut self, law: &Law) {
        self.count = self.count.saturating_sub(1);
        self.set_inverse_sqrt();
        self.next = self.after(law, self.next);
    }

    /// When the next is due behind one at `from`.
    fn after(&self, law: &Law, from: u64) -> u64 {
        from.saturating_add(((u128::from(law.interval) * u128::from(self.inverse_sqrt)) >> 32) as u64)
    }

    fn set_inverse_sqrt(&mut self) {
        self.inverse_sqrt = match SMALL.get(self.count as usize) {
            Some(known) => *known,
            None => newton_step(self.inverse_sqrt, self.count),
        };
    }
}

/// Of counts so small that one step from the last count would be far off.
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

/// x <- x (3 - count x^2) / 2 in units of 2^-32.
const fn newton_step(inverse_sqrt: u32, count: u32) -> u32 {
    let inverse = inverse_sqrt as u64;
    let squared = (inverse * inverse) >> 32;
    let value = (3_u64 << 32).wrapping_sub((count as u64).wrapping_mul(squared)) >> 2;
    (value.wrapping_mul(inverse) >> 31) as u32
}

#[cfg(test)]
mod tests;
