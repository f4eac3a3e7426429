//! A link whose rate and delay change at times that are known in advance.
//!
//! A packet in transmission when the rate changes continues at the new rate: the rest takes (remaining bits) / (new
//! rate). A rate of zero is an outage, after which the transmission continues. A packet gets the delay at the end of
//! its transmission, but packets do not overtake one another: a packet that would arrive before its predecessor
//! arrives with it.

use headway_units::{Bytes, Duration, Instant, Rate};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A change of rate or delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkChange {
    /// Time of the change, from the start of the run.
    pub at: Duration,
    /// Transmission rate from the time of the change on; 0bps is an outage. If absent: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay of packets whose transmission ends at the time of the change or later. If absent: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
}

/// The changes of a link, in order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkChanges(Vec<LinkChange>);

/// The reason why a list of changes is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkChangesError {
    /// The change is not later than the previous one.
    #[error("each change must be later than the previous one; {at} is not later than {before}")]
    Order {
        /// Index of the change, from 0.
        index: usize,
        /// Time of the change.
        at: Duration,
        /// Time of the previous change.
        before: Duration,
    },
    /// The change has neither rate nor delay.
    #[error("a change without rate and delay has no effect; expected at least one of them")]
    Nothing {
        /// Index of the change, from 0.
        index: usize,
    },
    /// The last rate is zero, so that waiting packets would never depart.
    #[error("the last rate is 0bps; expected a rate above 0bps after an outage")]
    Outage {
        /// Index of the change, from 0.
        index: usize,
    },
}

impl LinkChangesError {
    /// Returns the index of the invalid change, from 0.
    #[must_use]
    pub const fn index(&self) -> usize {
        match *self {
            Self::Order { index, .. } | Self::Nothing { index } | Self::Outage { index } => index,
        }
    }
}

impl LinkChanges {
    /// Creates a list of changes.
    ///
    /// # Errors
    /// Returns the first change that is not later than the previous one; else the first without rate and delay; else
    /// the last change of the rate, if it sets the rate to zero.
    pub fn new(changes: Vec<LinkChange>) -> Result<Self, LinkChangesError> {
        if let Some(before) = changes.windows(2).position(|pair| pair[0].at >= pair[1].at) {
            let index = before + 1;
            return Err(LinkChangesError::Order { index, at: changes[index].at, before: changes[before].at });
        }
        if let Some(index) = changes.iter().position(|change| change.rate.is_none() && change.delay.is_none()) {
            return Err(LinkChangesError::Nothing { index });
        }
        if let Some(index) = changes.iter().rposition(|change| change.rate.is_some())
            && changes[index].rate.is_some_and(Rate::is_zero)
        {
            return Err(LinkChangesError::Outage { index });
        }
        Ok(Self(changes))
    }

    /// Returns the mean rate of the link between two times, in bit/s. `first` is the rate before the first change.
    #[must_use]
    pub fn mean_rate(&self, first: Rate, from: Instant, to: Instant) -> f64 {
        let of = |rate: Rate, from: Instant, to: Instant| rate.bits_per_second() as f64 * to.since(from).as_secs_f64();
        let (mut rate, mut since, mut bits) = (first, from, 0.0);
        for change in self.0.iter().take_while(|change| Instant::ZERO + change.at <= to) {
            let at = from.max(Instant::ZERO + change.at);
            bits += of(rate, since, at);
            (rate, since) = (change.rate.unwrap_or(rate), at);
        }
        let seconds = to.since(from).as_secs_f64();
        if seconds > 0.0 { (bits + of(rate, since, to)) / seconds } else { rate.bits_per_second() as f64 }
    }

    /// Returns the propagation delay of packets whose transmission ends at this time. `first` is the delay before the
    /// first change.
    #[must_use]
    pub fn delay_at(&self, first: Duration, at: Instant) -> Duration {
        let known = self.0.iter().take_while(|change| Instant::ZERO + change.at <= at);
        known.filter_map(|change| change.delay).last().unwrap_or(first)
    }

    /// Returns start and end of each outage: the times in which the rate is zero.
    #[must_use]
    pub fn outages(&self) -> Vec<(Instant, Instant)> {
        let (mut outages, mut since) = (Vec::new(), None);
        for (at, rate) in self.0.iter().filter_map(|change| Some((Instant::ZERO + change.at, change.rate?))) {
            if rate.is_zero() {
                since.get_or_insert(at);
            } else if let Some(from) = since.take() {
                outages.push((from, at));
            }
        }
        outages
    }

    /// Returns the delays and the times from which they apply. `first` is the delay before the first change.
    pub(crate) fn delays(&self, first: Duration) -> Vec<(Instant, Duration)> {
        let later = self.0.iter().filter_map(|change| Some((Instant::ZERO + change.at, change.delay?)));
        [(Instant::ZERO, first)].into_iter().chain(later).collect()
    }

    /// Returns the changes, in order of time.
    #[must_use]
    pub fn as_slice(&self) -> &[LinkChange] {
        &self.0
    }
}

#[derive(Debug)]
pub(crate) struct Changing {
    changes: Arc<LinkChanges>,
    /// Number of changes that have been applied.
    seen: usize,
    rate: Rate,
    /// Unused capacity of the last nanosecond of the last transmission, in bits times 1e9.
    spare: u128,
}

impl Changing {
    pub(crate) fn new(rate: Rate, changes: Option<&Arc<LinkChanges>>) -> Self {
        let changes = changes.map_or_else(|| Arc::new(LinkChanges(Vec::new())), Arc::clone);
        Self { changes, seen: 0, rate, spare: 0 }
    }

    fn next(&self) -> Option<(Instant, Option<Rate>)> {
        self.changes.0.get(self.seen).map(|change| (Instant::ZERO + change.at, change.rate))
    }

    /// Returns when the transmission of a packet ends that is next from `start` on. `waited` is whether it waited for
    /// the end of the last transmission. Times are rounded up to a nanosecond, and the next packet uses the rest.
    pub(crate) fn transmit(&mut self, start: Instant, waited: bool, bytes: Bytes) -> Instant {
        let mut left = 8_000_000_000 * u128::from(bytes.count());
        if waited {
            left = left.saturating_sub(self.spare);
        }
        self.spare = 0;
        let mut at = start;
        loop {
            let next = self.next();
            if let Some((change, rate)) = next
                && change <= at
            {
                self.rate = rate.unwrap_or(self.rate);
                self.seen += 1;
                continue;
            }
            let rate = u128::from(self.rate.bits_per_second());
            let needs = if rate == 0 { u128::MAX } else { left.div_ceil(rate) };
            let until = next.map_or(u128::MAX, |(change, _)| u128::from(change.since(at).as_nanos()));
            if needs <= until {
                self.spare = needs.saturating_mul(rate).saturating_sub(left);
                let end = Instant::from_nanos(at.as_nanos().saturating_add(u64::try_from(needs).unwrap_or(u64::MAX)));
                return end;
            }
            left -= until * rate;
            at = Instant::from_nanos(at.as_nanos() + until as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn mbps(rate: u64) -> Rate {
        Rate::from_bits_per_second(rate * 1_000_000)
    }

    fn changing(rate: u64, changes: &[(u64, Option<u64>, Option<u64>)]) -> Changing {
        let change = |&(at, rate, delay): &(u64, Option<u64>, Option<u64>)| LinkChange {
            at: ms(at),
            rate: rate.map(mbps),
            delay: delay.map(ms),
        };
        let changes = LinkChanges::new(changes.iter().map(change).collect()).unwrap();
        Changing::new(mbps(rate), Some(&Arc::new(changes)))
    }

    /// 1000 B take 8 ms at 1 Mb/s.
    #[test]
    fn a_packet_in_transmission_continues_at_the_new_rate() {
        let size = Bytes::new(1000);
        let mut link = changing(1, &[(4, Some(2), None), (20, Some(0), None), (30, Some(1), None)]);
        // Half of it until 4 ms, the rest at twice the rate.
        assert_eq!(link.transmit(at(0), false, size), at(6));
        assert_eq!(link.transmit(at(6), true, size), at(10));
        // Half of it in 2 ms before the outage; the rest takes 4 ms after it.
        assert_eq!(link.transmit(at(18), false, size), at(34));
        // A packet that arrives in an outage waits for its end.
        let mut link = changing(1, &[(20, Some(0), None), (30, Some(4), None)]);
        assert_eq!(link.transmit(at(25), false, size), at(32));
    }

    #[test]
    fn changes_are_in_order_and_end_with_a_rate() {
        let change = |at: u64, rate: Option<u64>, delay: Option<u64>| LinkChange {
            at: ms(at),
            rate: rate.map(mbps),
            delay: delay.map(ms),
        };
        for (changes, why, index) in [
            (
                vec![change(1, Some(1), None), change(3, Some(1), None), change(2, Some(2), None)],
                "2ms is not later than 3ms",
                2,
            ),
            (vec![change(2, Some(1), None), change(2, Some(2), None)], "2ms is not later than 2ms", 1),
            (vec![change(2, None, None)], "has no effect", 0),
            (vec![change(2, Some(0), None), change(3, None, Some(1))], "the last rate is 0bps", 0),
        ] {
            let error = LinkChanges::new(changes).unwrap_err();
            assert_eq!(error.index(), index, "{why}");
            assert!(error.to_string().contains(why), "{error}");
        }
        assert!(LinkChanges::new(Vec::new()).is_ok());
    }

    #[test]
    fn the_mean_rate_is_the_integral_over_time() {
        let changes =
            changing(8, &[(1000, Some(2), None), (2000, Some(0), None), (2500, None, Some(1)), (3000, Some(4), None)])
                .changes;
        let mean = |from: u64, to: u64| changes.mean_rate(mbps(8), at(from), at(to)) / 1e6;
        for (from, to, rate) in [
            (0, 1000, 8.0),
            (0, 2000, 5.0),
            (0, 4000, 3.5),
            (1500, 2500, 1.0),
            (2200, 2800, 0.0),
            (9000, 10_000, 4.0),
            (500, 500, 8.0),
            (1000, 1000, 2.0),
        ] {
            assert!((mean(from, to) - rate).abs() < 1e-9, "{from} {to}: {}", mean(from, to));
        }
    }

    #[test]
    fn outages_last_until_there_is_a_rate_again() {
        let of = |changes: &[(u64, Option<u64>, Option<u64>)]| changing(8, changes).changes.outages();
        assert_eq!(of(&[(5, Some(2), None), (9, None, Some(3))]), []);
        let changes = [(5, Some(0), None), (6, None, Some(1)), (7, Some(0), None), (9, Some(1), None)];
        assert_eq!(of(&changes), [(at(5), at(9))]);
        assert_eq!(of(&[(0, Some(0), None), (2, Some(1), None), (3, Some(0), None), (4, Some(2), Some(1))]).len(), 2);
    }

    #[test]
    fn the_delay_is_that_of_the_last_change() {
        let changes = changing(8, &[(5, None, Some(30)), (6, Some(1), None), (8, None, Some(1))]).changes;
        for (now, delay) in [(0, 10), (4, 10), (5, 30), (7, 30), (8, 1), (99, 1)] {
            assert_eq!(changes.delay_at(ms(10), at(now)), ms(delay), "{now}");
        }
    }

    proptest! {
        /// The bits of back-to-back packets are equal to the integral of the rate, to a nanosecond and never more; in
        /// rational numbers.
        #[test]
        fn a_busy_link_carries_the_integral_of_its_rate(
            rates in prop::collection::vec((1u64..50, 0u64..20), 0..12),
            last in 1u64..100,
            sizes in prop::collection::vec(1u64..3000, 1..60),
        ) {
            let mut changes: Vec<(u64, Option<u64>, Option<u64>)> =
                rates.iter().scan(0, |now, (step, rate)| { *now += step; Some((*now, Some(*rate), None)) }).collect();
            let end = changes.last().map_or(1, |(at, ..)| at + 1);
            changes.push((end, Some(last), None));
            let mut link = changing(3, &changes);
            // Capacity until a time, in bits times 1e9.
            let room = |until: Instant| {
                let mut segments = vec![(0, 3)];
                segments.extend(changes.iter().map(|(at, rate, _)| (at * 1_000_000, rate.unwrap())));
                segments.iter().enumerate().map(|(number, (from, rate))| {
                    let to = segments.get(number + 1).map_or(u64::MAX, |(to, _)| *to).min(until.as_nanos());
                    u128::from(to.saturating_sub(*from)) * u128::from(rate * 1_000_000)
                }).sum::<u128>()
            };
            let (mut now, mut sent) = (Instant::ZERO, 0_u128);
            for (number, size) in sizes.iter().enumerate() {
                now = link.transmit(now, number > 0, Bytes::new(*size));
                sent += 8_000_000_000 * u128::from(*size);
                prop_assert!(room(now) >= sent);
                // A nanosecond earlier there was not enough.
                prop_assert!(room(Instant::from_nanos(now.as_nanos() - 1)) < sent);
            }
        }
    }
}
