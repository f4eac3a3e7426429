//! How long a packet that goes now is taken to be on its way.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Duration, Instant, RoundTripEstimate};

/// How long a packet that goes now is taken to be on its way. Before anything is measured: no time at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Travel {
    /// `rtt_share` of the round trip that the controller smooths: with 0.5 half of it (SFDPS), with 0 a packet is late when it
    /// has expired where it is.
    RoundTrip,
    /// The measured one-way delay, smoothed, where clocks agree; as `round-trip` until there is one.
    OneWay,
    /// The round trip less half of the smallest one seen: all waiting is on the way to the receiver. Clocks need not agree.
    Forward,
}

/// What is known of the way to the receiver and back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    /// As the controller smooths it, if it says so.
    smoothed: Option<Duration>,
    smallest_round_trip: Option<Duration>,
    one_way: Option<Duration>,
    smallest_one_way: Option<Duration>,
    /// When a packet went last.
    went: Option<Instant>,
    /// Of the samples. As all waiting may be on the way there, its deviation is the way's.
    measured: RoundTripEstimate,
}

impl Way {
    pub(super) fn set_round_trip(&mut self, rtt: Duration) {
        self.smoothed = Some(rtt);
    }

    /// A packet goes.
    pub(super) fn on_send(&mut self, now: Instant) {
        self.went = Some(now);
    }

    /// The controller's, or else the mean of the samples; nothing before either.
    fn smooth(&self) -> Duration {
        self.smoothed.or(self.measured.mean()).unwrap_or_default()
    }

    /// Of what is known, what counts now. A queue that takes every packet for late sends none, and would never learn that the way has
    /// become short again. So when nothing has gone for two round trips, and nothing is under way that could be measured, the way is
    /// taken to be as short as it ever was.
    fn fresh(&self, now: Instant, known: Duration, smallest: Option<Duration>) -> Duration {
        let silent = self.went.is_some_and(|went| now.since(went) > self.smooth() * 2);
        smallest.filter(|_| silent).map_or(known, |smallest| smallest.min(known))
    }

    fn round_trip(&self, now: Instant) -> Duration {
        self.fresh(now, self.smooth(), self.smallest_round_trip)
    }

    fn one_way(&self, now: Instant) -> Option<Duration> {
        self.one_way.map(|mean| self.fresh(now, mean, self.smallest_one_way))
    }

    pub(super) fn on_round_trip(&mut self, sample: Duration) {
        self.measured.sample(sample);
        self.smallest_round_trip = Some(self.smallest_round_trip.map_or(sample, |smallest| smallest.min(sample)));
    }

    pub(super) fn mean_deviations(&self, count: f64) -> Duration {
        Duration::from_nanos((self.measured.deviation().as_nanos() as f64 * count) as u64)
    }

    /// The mean moves by an eighth, as TCP's round trip does (RFC 6298 section 2).
    pub(super) fn on_one_way_delay(&mut self, sample: Duration) {
        self.one_way = Some(self.one_way.map_or(sample, |mean| mean - mean / 8 + sample / 8));
        self.smallest_one_way = Some(self.smallest_one_way.map_or(sample, |smallest| smallest.min(sample)));
    }
}

impl Travel {
    pub(super) fn estimate(self, way: &Way, rtt_share: f64, now: Instant) -> Duration {
        let share = || Duration::from_nanos((way.round_trip(now).as_nanos() as f64 * rtt_share) as u64);
        match self {
            Self::RoundTrip => share(),
            Self::OneWay => way.one_way(now).unwrap_or_else(share),
            Self::Forward => {
                let round_trip = way.round_trip(now);
                let smallest = way.smallest_round_trip.unwrap_or(round_trip).min(round_trip);
                round_trip - smallest / 2
            }
        }
    }
}
