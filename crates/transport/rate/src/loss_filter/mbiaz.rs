//! mBiaz (Biaz and Vaidya, "Discriminating congestion losses from wireless losses using inter-arrival times at the
//! receiver", 1999, with the upper bound of Cen, Cosman and Voelker 2003). For n consecutive losses between two packets
//! with interarrival time T:
//!
//! ```text
//! channel loss if (n + 1) Tmin <= T < (n + 1.25) Tmin        Tmin: minimum interarrival time of consecutive packets
//! ```
//! The later packet then arrives when it would without the losses: the wireless link is the bottleneck, with a queue.

use super::gaps::Gaps;
use super::{LossFilter, Seen};
use headway_units::{Duration, Instant};

/// Upper bound of 1.25 in quarters; Biaz used 2.
const UPPER_QUARTERS: u128 = 5;

/// Minimum interarrival time, and the gaps classified by it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mbiaz {
    gaps: Gaps,
    last: Option<Instant>,
    least: Option<Duration>,
}

impl Mbiaz {
    fn is_channels(&self, apart: Duration, missing: u64) -> bool {
        let Some(least) = self.least else { return false };
        let (apart, least) = (u128::from(apart.as_nanos()), u128::from(least.as_nanos()));
        let missing = u128::from(missing);
        (missing + 1) * least <= apart && 4 * apart < (4 * missing + UPPER_QUARTERS) * least
    }
}

impl LossFilter for Mbiaz {
    fn on_packet(&mut self, seen: &Seen) {
        let missing = self.gaps.before(seen);
        let Some(last) = self.last.replace(seen.arrived) else { return };
        let apart = seen.arrived.since(last);
        if missing == 0 {
            self.least = Some(self.least.map_or(apart, |least| least.min(apart)));
        }
        self.gaps.judge(seen, missing, !self.is_channels(apart, missing));
    }

    fn counts(&mut self, first: u64, _: u64) -> bool {
        self.gaps.counts(first)
    }
}

#[cfg(test)]
mod tests {
    use super::super::seen;
    use super::*;

    /// Tmin is 800 us. One loss is the channel's from 1600 to 1800 us, two from 2400 to 2600 us.
    #[test]
    fn an_undelayed_arrival_after_a_gap_is_a_channel_loss() {
        for (missing, apart, counts) in
            [(1, 1599, true), (1, 1600, false), (1, 1799, false), (1, 1800, true), (2, 2400, false), (2, 2600, true)]
        {
            let mut mbiaz = Mbiaz::default();
            [(0, 0), (1, 800), (2, 1700)]
                .into_iter()
                .for_each(|(number, arrived)| mbiaz.on_packet(&seen(number, 0, arrived)));
            mbiaz.on_packet(&seen(3 + missing, 0, 1700 + apart));
            assert_eq!(mbiaz.counts(3, 2 + missing), counts, "{missing} {apart}");
        }
    }

    /// Before two consecutive packets arrive, all losses count.
    #[test]
    fn without_a_minimum_interarrival_time_all_losses_count() {
        let mut mbiaz = Mbiaz::default();
        [(0, 0), (2, 800)].into_iter().for_each(|(number, arrived)| mbiaz.on_packet(&seen(number, 0, arrived)));
        assert!(mbiaz.counts(1, 1));
    }
}
