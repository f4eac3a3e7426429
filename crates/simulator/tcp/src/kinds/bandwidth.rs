//! Bandwidth estimates of Westwood, in segments per second.
//!
//! ```text
//! plus:    a sample each max(RTT, 50 ms):  b = segments acknowledged / time
//!          first = (7 first + b)/8,  BWE = (7 BWE + first)/8; both start at the first sample         (Grieco and Mascolo 2004; Linux net/ipv4/tcp_westwood.c)
//! tustin:  a sample each acknowledgement, d after the last:   b = segments / d
//!          BWE = ((2T - d) BWE + d (b + previous b)) / (2T + d)
//!          a silence counts as samples of 0, T/2 apart    (Mascolo, Casetti, Gerla, Sanadidi and Wang 2001)
//! ```

use crate::kinds::westwood::BandwidthFilter;
use headway_units::{Duration, Instant};

/// Time constant T of `tustin`, in seconds.
const TIME_CONSTANT_S: f64 = 0.5;
/// Minimum sample interval of `plus`.
const SHORTEST: Duration = Duration::from_millis(50);
/// Maximum number of zero samples; they reduce any estimate to nothing (0.6^100).
const SILENCES: u64 = 100;

#[derive(Clone, Debug)]
pub(crate) enum Bandwidth {
    Plus(Plus),
    Tustin(Tustin),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Plus {
    since: Instant,
    segments: u64,
    first: f64,
    second: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Tustin {
    last: Instant,
    segments: u64,
    sample: f64,
    rate: f64,
}

impl Bandwidth {
    pub(crate) fn new(filter: BandwidthFilter) -> Self {
        match filter {
            BandwidthFilter::Plus | BandwidthFilter::Linux => Self::Plus(Plus::default()),
            BandwidthFilter::Tustin => {
                Self::Tustin(Tustin { last: Instant::ZERO, segments: 0, sample: 0.0, rate: 0.0 })
            }
        }
    }

    pub(crate) fn start(&mut self, now: Instant) {
        match self {
            Self::Plus(plus) => plus.since = now,
            Self::Tustin(tustin) => tustin.last = now,
        }
    }

    /// Counts an acknowledgement of `segments`. `rtt` is the last round-trip sample, if any.
    pub(crate) fn acknowledged(&mut self, now: Instant, segments: u64, rtt: Option<Duration>) {
        match self {
            Self::Plus(plus) => plus.acknowledged(now, segments, rtt),
            Self::Tustin(tustin) => tustin.acknowledged(now, segments),
        }
    }

    pub(crate) fn rate(&self) -> f64 {
        match self {
            Self::Plus(plus) => plus.second,
            Self::Tustin(tustin) => tustin.rate,
        }
    }
}

impl Plus {
    fn acknowledged(&mut self, now: Instant, segments: u64, rtt: Option<Duration>) {
        let time = now.since(self.since);
        if rtt.is_some_and(|rtt| time > rtt.max(SHORTEST)) {
            let sample = self.segments as f64 / time.as_secs_f64();
            if self.first == 0.0 && self.second == 0.0 {
                (self.first, self.second) = (sample, sample);
            } else {
                self.first = (7.0 * self.first + sample) / 8.0;
                self.second = (7.0 * self.second + self.first) / 8.0;
            }
            self.segments = 0;
            self.since = now;
        }
        self.segments += segments;
    }
}

impl Tustin {
    fn acknowledged(&mut self, now: Instant, segments: u64) {
        self.segments += segments;
        let gap = now.since(self.last).as_secs_f64();
        if gap <= 0.0 {
            // Simultaneous acknowledgements form one sample.
            return;
        }
        // The filter needs at least two samples per time constant.
        let most = TIME_CONSTANT_S / 2.0;
        let silences = ((gap / most).ceil() as u64).saturating_sub(1);
        for _ in 0..silences.min(SILENCES) {
            self.filter(most, 0.0);
        }
        self.filter((gap - silences as f64 * most).max(0.0), self.segments as f64 / gap);
        self.segments = 0;
        self.last = now;
    }

    fn filter(&mut self, gap: f64, sample: f64) {
        let twice = 2.0 * TIME_CONSTANT_S;
        self.rate = ((twice - gap) * self.rate + gap * (sample + self.sample)) / (twice + gap);
        self.sample = sample;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(filter: BandwidthFilter) -> Bandwidth {
        let mut bandwidth = Bandwidth::new(filter);
        bandwidth.start(Instant::from_secs(1));
        bandwidth
    }

    /// Acknowledges one segment at each of these times, in ms after the start.
    fn feed(bandwidth: &mut Bandwidth, at: impl IntoIterator<Item = u64>, rtt: Option<u64>) {
        for millis in at {
            bandwidth.acknowledged(Instant::from_millis(1000 + millis), 1, rtt.map(Duration::from_millis));
        }
    }

    fn assert_near(bandwidth: &Bandwidth, rate: f64) {
        assert!((bandwidth.rate() - rate).abs() < 1e-4, "{} is not {rate}", bandwidth.rate());
    }

    /// RTT 100 ms, a segment every 10 ms. The acknowledgement at 110 ms closes the first sample without being part of
    /// it: 10/0.11 = 90.9091. The one at 220 ms closes 11/0.11 = 100: first (7 x 90.9091 + 100)/8 = 92.0455, BWE (7 x
    /// 90.9091 + 92.0455)/8 = 91.0511.
    #[test]
    fn plus_samples_once_a_round_trip() {
        let mut bandwidth = estimate(BandwidthFilter::Plus);
        feed(&mut bandwidth, (10..=100).step_by(10), Some(100));
        assert_near(&bandwidth, 0.0);
        feed(&mut bandwidth, [110], Some(100));
        assert_near(&bandwidth, 90.9091);
        feed(&mut bandwidth, (120..=210).step_by(10), Some(100));
        assert_near(&bandwidth, 90.9091);
        feed(&mut bandwidth, [220], Some(100));
        assert_near(&bandwidth, 91.0511);
    }

    /// TCP_WESTWOOD_RTT_MIN: with a round trip of 10 ms a sample spans more than 50 ms. Without a round trip there is
    /// no sample.
    #[test]
    fn plus_samples_span_at_least_50_ms() {
        let mut bandwidth = estimate(BandwidthFilter::Plus);
        feed(&mut bandwidth, (10..=50).step_by(10), Some(10));
        assert_near(&bandwidth, 0.0);
        feed(&mut bandwidth, [60], Some(10));
        assert_near(&bandwidth, 5.0 / 0.06);
        let mut bandwidth = estimate(BandwidthFilter::Plus);
        feed(&mut bandwidth, (10..=900).step_by(10), None);
        assert_near(&bandwidth, 0.0);
    }

    /// T = 0.5 s, a segment every 100 ms: (0.9 x 0 + 0.1 (10 + 0))/1.1 = 0.909091, (0.9 x 0.909091 + 0.1 (10 + 10))/1.1
    /// = 2.561983. A silence of 0.6 s has two samples of 0, 0.25 s apart: (0.75 x 2.561983 + 0.25 (0 + 10))/1.25 =
    /// 3.537190, 0.6 times that = 2.122314. Then a sample of 1/0.6 after the remaining 0.1 s: (0.9 x 2.122314 + 0.1
    /// (1.666667 + 0))/1.1 = 1.887954.
    #[test]
    fn tustin_filters_each_acknowledgement() {
        let mut bandwidth = estimate(BandwidthFilter::Tustin);
        feed(&mut bandwidth, [100], None);
        assert_near(&bandwidth, 0.909_091);
        feed(&mut bandwidth, [200], None);
        assert_near(&bandwidth, 2.561_983);
        feed(&mut bandwidth, [800], None);
        assert_near(&bandwidth, 1.887_954);
    }

    /// Two simultaneous acknowledgements form one sample of two segments when the next one arrives.
    #[test]
    fn tustin_combines_simultaneous_acknowledgements() {
        let [mut apart, mut together] = [(); 2].map(|()| estimate(BandwidthFilter::Tustin));
        feed(&mut apart, [100], None);
        apart.acknowledged(Instant::from_millis(1200), 2, None);
        feed(&mut together, [100, 100, 200], None);
        assert_near(&together, apart.rate());
    }

    /// Both filters converge to a constant rate. `tustin` decays to zero in the longest silence.
    #[test]
    fn both_converge_to_a_constant_rate() {
        for filter in [BandwidthFilter::Plus, BandwidthFilter::Tustin] {
            let mut bandwidth = estimate(filter);
            feed(&mut bandwidth, (4..=10_000).step_by(4), Some(100));
            assert!((bandwidth.rate() - 250.0).abs() < 1.0, "{filter:?}: {}", bandwidth.rate());
        }
        let mut bandwidth = estimate(BandwidthFilter::Tustin);
        feed(&mut bandwidth, (4..=10_000).step_by(4), None);
        bandwidth.acknowledged(Instant::FAR_FUTURE, 1, None);
        assert!(bandwidth.rate() < 1e-6, "{}", bandwidth.rate());
    }
}
