//! mBiaz (Biaz and Vaidya, "Discriminating congestion losses from wireless losses using inter-arrival times at the receiver", 1999, with the upper bound of
//! Cen, Cosman and Voelker 2003). Of n packets lost in a row, between two that come T apart:
//!
//! ```text
//! the channel's if (n + 1) Tmin <= T < (n + 1.25) Tmin        Tmin the least time between two arrivals in a row
//! ```
//! The packets behind are where they would be if the lost ones had been there: the wireless link is the slowest, and its queue was not empty.

use super::gaps::Gaps;
use super::{LossFilter, Seen};
use headway_units::{Duration, Instant};

/// 1.25 in quarters; Biaz took 2.
const UPPER_QUARTERS: u128 = 5;

/// The least time between two arrivals, and what was judged by it.
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
        let Some(last) = self.last.replace(seen.came) else { return };
        let apart = seen.came.since(last);
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

    /// Tmin is 800 us. With one lost, from 1600 to 1800 us it was the channel's; with two, from 2400 to 2600.
    #[test]
    fn who_comes_when_it_should_was_lost_behind_the_queue() {
        for (missing, apart, counts) in
            [(1, 1599, true), (1, 1600, false), (1, 1799, false), (1, 1800, true), (2, 2400, false), (2, 2600, true)]
        {
            let mut mbiaz = Mbiaz::default();
            [(0, 0), (1, 800), (2, 1700)]
                .into_iter()
                .for_each(|(number, came)| mbiaz.on_packet(&seen(number, 0, came)));
            mbiaz.on_packet(&seen(3 + missing, 0, 1700 + apart));
            assert_eq!(mbiaz.counts(3, 2 + missing), counts, "{missing} {apart}");
        }
    }

    /// Where nothing came in a row yet, all counts.
    #[test]
    fn without_a_least_time_all_counts() {
        let mut mbiaz = Mbiaz::default();
        [(0, 0), (2, 800)].into_iter().for_each(|(number, came)| mbiaz.on_packet(&seen(number, 0, came)));
        assert!(mbiaz.counts(1, 1));
    }
}
