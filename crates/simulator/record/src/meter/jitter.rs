//! Interarrival jitter (RFC 3550 section 6.4.1, in the integer form of appendix A.8).
//!
//! For packets i, j in the order of arrival, sent at S and received at R:
//! `D = (R_j - R_i) - (S_j - S_i)`, `J += (|D| - J) / 16`. Appendix A.8 keeps `16 J` as an integer with rounded
//! division, and reports `J`. RFC 3550 counts in RTP clock ticks; the tick here is 1 ns.

#[derive(Clone, Debug, Default)]
pub(crate) struct Jitter {
    /// `16 J`, in ns.
    scaled: u64,
    last_transit: u64,
}

impl Jitter {
    /// Records the arrival of a packet with a one-way delay of `transit` ns after `before` earlier packets.
    pub(crate) fn arrived(&mut self, before: u64, transit: u64) {
        let last = std::mem::replace(&mut self.last_transit, transit);
        if before > 0 {
            let d = transit.abs_diff(last);
            // Never below zero: (s + 8) >> 4 <= s for every s >= 1, and 0 for s = 0.
            self.scaled = (self.scaled - ((self.scaled.saturating_add(8)) >> 4)).saturating_add(d);
        }
    }

    /// Returns `J` in ns; `None` before a second packet.
    pub(crate) fn nanos(&self, packets: u64) -> Option<u64> {
        (packets >= 2).then_some(self.scaled >> 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: [u64; 6] = [0, 20, 40, 60, 80, 100];
    const RECEIVED: [u64; 6] = [50, 71, 95, 110, 150, 151];

    fn reports(tick: u64) -> Vec<u64> {
        let mut jitter = Jitter::default();
        let mut all = Vec::new();
        for (index, (s, r)) in SENT.into_iter().zip(RECEIVED).enumerate() {
            jitter.arrived(index as u64, (r - s) * tick);
            all.extend(jitter.nanos(index as u64 + 1));
        }
        all
    }

    /// Computed by hand by appendix A.8: six packets of a 20 ms source, in ticks of 1 ms.
    #[test]
    fn rfc3550_a8_integer_reports() {
        assert_eq!(reports(1), [0, 0, 0, 1, 2]);
    }

    /// The packets in ticks of 1 ns: the real-valued recursion of section 6.4.1, computed by hand in ms, within
    /// rounding.
    #[test]
    fn rfc3550_6_4_1_real_values() {
        let exact = [0.0625, 0.308_593_75, 0.601_806_640_625, 1.814_193_725_585_937_5, 2.888_306_617_736_816_4];
        for (found, expected) in reports(1_000_000).into_iter().zip(exact) {
            assert!((found as f64 / 1e6 - expected).abs() < 2e-6, "{found} {expected}");
        }
    }

    #[test]
    fn one_packet_has_no_jitter_and_extremes_do_not_wrap() {
        let mut jitter = Jitter::default();
        jitter.arrived(0, 5);
        assert_eq!(jitter.nanos(1), None);
        for transit in [0, u64::MAX, 0, u64::MAX, 0] {
            jitter.arrived(1, transit);
        }
        assert_eq!(jitter.nanos(6), Some(u64::MAX >> 4));
    }
}
