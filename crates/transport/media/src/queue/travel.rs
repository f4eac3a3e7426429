//! Estimate of the path delay of a packet.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Duration, Instant, RoundTripEstimate};

/// Estimate of the one-way path delay of a packet sent now. Zero before the first measurement. If no packet was sent
/// for two round trips, the smallest measurement replaces the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Travel {
    /// The estimate is `rtt_share` times the controller's smoothed round-trip time: 0.5 for half of it (SFDPS). With 0,
    /// a packet is late only once it has expired at the sender.
    RoundTrip,
    /// The estimate is the smoothed measured one-way delay, which needs synchronized clocks; before the first
    /// measurement it is that of `round-trip`.
    OneWay,
    /// The estimate is the smoothed round-trip time minus half of the smallest one measured. It assumes that all
    /// queueing is on the path to the receiver, and needs no synchronized clocks.
    Forward,
}

/// Measurements of the path to the receiver and back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathDelay {
    /// Round trip smoothed by the controller, if it reports one.
    smoothed: Option<Duration>,
    smallest_round_trip: Option<Duration>,
    one_way: Option<Duration>,
    smallest_one_way: Option<Duration>,
    /// Time of the last transmission.
    last_sent: Option<Instant>,
    /// Estimate from the samples. If all queueing is on the forward path, its deviation is that of the forward path.
    measured: RoundTripEstimate,
}

impl PathDelay {
    pub(super) fn set_round_trip(&mut self, rtt: Duration) {
        self.smoothed = Some(rtt);
    }

    pub(super) fn on_send(&mut self, now: Instant) {
        self.last_sent = Some(now);
    }

    /// Returns the controller's round trip, or else the mean of the samples; zero without either.
    fn smooth(&self) -> Duration {
        self.smoothed.or(self.measured.mean()).unwrap_or_default()
    }

    /// Returns the current estimate, given the mean and the smallest sample. A queue that considers every packet late
    /// sends none, and would never measure a recovered path. If no packet was sent for two round trips, no measurement
    /// is pending, and the smallest sample is used.
    fn fresh(&self, now: Instant, known: Duration, smallest: Option<Duration>) -> Duration {
        let silent = self.last_sent.is_some_and(|last_sent| now.since(last_sent) > self.smooth() * 2);
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

    /// Updates the mean with a gain of an eighth, as TCP's round trip (RFC 6298 section 2).
    pub(super) fn on_one_way_delay(&mut self, sample: Duration) {
        self.one_way = Some(self.one_way.map_or(sample, |mean| mean - mean / 8 + sample / 8));
        self.smallest_one_way = Some(self.smallest_one_way.map_or(sample, |smallest| smallest.min(sample)));
    }
}

impl Travel {
    pub(super) fn estimate(self, path: &PathDelay, rtt_share: f64, now: Instant) -> Duration {
        let share = || Duration::from_nanos((path.round_trip(now).as_nanos() as f64 * rtt_share) as u64);
        match self {
            Self::RoundTrip => share(),
            Self::OneWay => path.one_way(now).unwrap_or_else(share),
            Self::Forward => {
                let round_trip = path.round_trip(now);
                let smallest = path.smallest_round_trip.unwrap_or(round_trip).min(round_trip);
                round_trip - smallest / 2
            }
        }
    }
}
