//! Pacing by a gap that may change with each packet.

use crate::contract::Permit;
use headway_units::{Bytes, Duration, Instant, Rate};

/// Instant with a fraction of a nanosecond, from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fine {
    pub(crate) at: Instant,
    pub(crate) fraction: f64,
}

impl Fine {
    pub(crate) const fn at(at: Instant) -> Self {
        Self { at, fraction: 0.0 }
    }

    /// Returns the instant `ns` later; [`Instant::FAR_FUTURE`] if out of range.
    pub(crate) fn after(self, ns: f64) -> Self {
        let ns = self.fraction + ns;
        if ns < u64::MAX as f64 {
            let whole = ns as u64;
            Self { at: self.at + Duration::from_nanos(whole), fraction: ns - whole as f64 }
        } else {
            Self::at(Instant::FAR_FUTURE)
        }
    }
}

/// Even pacing of packets. Gaps keep their fraction of a nanosecond, so that errors do not accumulate. A late packet
/// delays later ones, without bursts to catch up, unless it is late by less than the credit.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    next: Option<Fine>,
    credit: Duration,
    /// Last gap, if the next packet is due exactly that long after the last one.
    gap_s: Option<f64>,
}

impl Pacer {
    /// Creates a pacer that permits the first packet immediately. After a pause, the packets that were due in the last
    /// `credit` may be sent in a burst.
    #[must_use]
    pub const fn new(credit: Duration) -> Self {
        Self { next: None, credit, gap_s: None }
    }

    /// Sets the credit: the time of a delay or pause that later packets may make up for by a burst.
    pub const fn set_credit(&mut self, credit: Duration) {
        self.credit = credit;
    }

    /// Returns whether a packet may be sent now, or when.
    #[must_use]
    pub fn permit(&self, now: Instant) -> Permit {
        match self.next {
            Some(next) if next.at > now => Permit::At(next.at),
            _ => Permit::Now,
        }
    }

    /// Handles a packet sent now; the next is due `gap_s` seconds later, never if infinite.
    pub fn on_send(&mut self, now: Instant, gap_s: f64) {
        let oldest = now.checked_sub(self.credit).unwrap_or(Instant::ZERO);
        // A wake-up at the nearest nanosecond may be 1 ns late, which does not count as a delay.
        let due = self
            .next
            .filter(|next| next.at + Duration::from_nanos(1) >= oldest)
            .unwrap_or(Fine::at(if self.next.is_some() { oldest } else { now }));
        self.gap_s = (due.at + Duration::from_nanos(1) >= now).then_some(gap_s);
        self.next = Some(due.after(gap_s.max(0.0) * 1e9));
    }

    /// Returns the exact gap that paces the next packet: its time after the last packet, in s, not rounded to
    /// nanoseconds. `None` before the first packet, or if the next packet is due earlier, to make up for a delay or
    /// because the gap has become shorter.
    #[must_use]
    pub const fn last_gap_s(&self) -> Option<f64> {
        self.gap_s
    }

    /// Returns the gap from start to start of packets of this size at this rate, in seconds; infinite at rate zero.
    #[must_use]
    pub fn gap_s(size: Bytes, rate: Rate) -> f64 {
        size.count() as f64 * 8.0 / rate.bits_per_second() as f64
    }

    /// Permits the next packet at `at` or earlier, after the gap has become shorter.
    pub fn bring_forward(&mut self, at: Instant) {
        if self.next.is_some_and(|next| next.at > at) {
            (self.next, self.gap_s) = (Some(Fine::at(at)), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The n-th packet of 1000 B at 777,777 B/s is sent n * 1000 / 777,777 s after the first, to the nanosecond.
    #[test]
    fn fractions_of_a_nanosecond_are_kept() {
        let gap = Pacer::gap_s(Bytes::new(1000), Rate::from_bits_per_second(777_777 * 8));
        let (mut pacer, mut now) = (Pacer::new(Duration::ZERO), Instant::from_secs(3));
        for n in 0u128..100_000 {
            let exact = 3_000_000_000 + n * 1_000_000_000_000 / 777_777;
            assert!(u128::from(now.as_nanos()).abs_diff(exact) <= 1, "packet {n} at {now}");
            assert_eq!(pacer.permit(now), Permit::Now);
            pacer.on_send(now, gap);
            let Permit::At(at) = pacer.permit(now) else { panic!("{n}") };
            now = at;
        }
    }

    /// Packets every 10 ms, then a pause of a second: the packets of the last `credit` may follow immediately.
    #[test]
    fn credit() {
        for (credit, packets) in [(0, 1), (35, 4), (5000, 100)] {
            let mut pacer = Pacer::new(Duration::from_millis(credit));
            pacer.on_send(Instant::ZERO, 0.01);
            let (now, mut sent) = (Instant::from_millis(1005), 0);
            while pacer.permit(now) == Permit::Now {
                pacer.on_send(now, 0.01);
                sent += 1;
            }
            assert_eq!(sent, packets, "{credit} ms");
        }
    }

    #[test]
    fn a_shorter_gap() {
        let mut pacer = Pacer::new(Duration::ZERO);
        pacer.on_send(Instant::ZERO, f64::INFINITY);
        assert_eq!(pacer.permit(Instant::from_secs(1 << 20)), Permit::At(Instant::FAR_FUTURE));
        pacer.bring_forward(Instant::from_millis(7));
        pacer.bring_forward(Instant::from_millis(8));
        assert_eq!(pacer.permit(Instant::ZERO), Permit::At(Instant::from_millis(7)));
    }
}
