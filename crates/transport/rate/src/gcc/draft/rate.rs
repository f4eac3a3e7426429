//! Rate of the delay half (section 5.5 of the draft).

use super::super::aimd::{multiplicative_bps, packet_bits};
use super::super::options::Limits;
use super::super::overuse::Signal;
use headway_units::{Duration, Instant};

const BETA: f64 = 0.85;
const MAX_ABOVE_RECEIVED: f64 = 1.5;
const MIN_ADDITIVE_BPS: f64 = 1000.0;
const RESPONSE_S: f64 = 0.1;
/// Gain of the mean of the rates at decreases.
const GAIN: f64 = 0.95;
/// Number of standard deviations from the mean that are near the maximum.
const NEAR: f64 = 3.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// Mean and variance of the received rates at decreases.
#[derive(Clone, Copy, Debug)]
struct Maximum {
    bps: f64,
    variance: f64,
}

#[derive(Debug)]
pub(super) struct DelayRate {
    limits: Limits,
    bps: f64,
    state: State,
    maximum: Option<Maximum>,
    updated: Option<Instant>,
}

impl DelayRate {
    pub(super) fn new(limits: Limits, start_bps: f64) -> Self {
        Self { limits, bps: limits.clamp(start_bps), state: State::Increase, maximum: None, updated: None }
    }

    pub(super) const fn bps(&self) -> f64 {
        self.bps
    }

    /// Handles a report. Before the first received rate, only an over-use has an effect: it halves the rate.
    pub(super) fn on_report(&mut self, now: Instant, rtt: Duration, signal: Signal, received_bps: Option<f64>) {
        self.state = match (signal, self.state) {
            (Signal::OverUse, _) => State::Decrease,
            (Signal::UnderUse, _) | (Signal::Normal, State::Decrease) => State::Hold,
            (Signal::Normal, _) => State::Increase,
        };
        let time_s = self.updated.replace(now).map_or(0.0, |updated| now.since(updated).as_secs_f64());
        let bps = match (self.state, received_bps) {
            (State::Hold, _) | (State::Increase, None) => self.bps,
            (State::Decrease, None) => self.bps / 2.0,
            (State::Decrease, Some(received)) => self.decreased(received),
            (State::Increase, Some(received)) => self.increased(received, rtt.as_secs_f64(), time_s),
        };
        self.bps = self.limits.clamp(bps);
    }

    fn decreased(&mut self, received: f64) -> f64 {
        self.maximum = Some(self.maximum.map_or(Maximum { bps: received, variance: 0.0 }, |maximum| {
            let difference = received - maximum.bps;
            Maximum {
                bps: maximum.bps + GAIN * difference,
                variance: (1.0 - GAIN) * (maximum.variance + GAIN * difference * difference),
            }
        }));
        self.bps.min(BETA * received)
    }

    fn increased(&mut self, received: f64, rtt_s: f64, time_s: f64) -> f64 {
        let distance = self.maximum.map(|maximum| (received - maximum.bps) / (NEAR * maximum.variance.sqrt()).max(1.0));
        let increase = if distance.is_some_and(|distance| distance.abs() <= 1.0) {
            additive_bps(self.bps, rtt_s, time_s)
        } else {
            if distance.is_some_and(|distance| distance > 1.0) {
                self.maximum = None;
            }
            multiplicative_bps(self.bps, time_s)
        };
        // The limit does not reduce the rate: after a pause of the application, the received rate is small.
        (self.bps + increase).min(MAX_ABOVE_RECEIVED * received).max(self.bps)
    }
}

/// Returns the increase near the maximum: half a packet per response time.
fn additive_bps(bps: f64, rtt_s: f64, time_s: f64) -> f64 {
    (0.5 * (time_s / (RESPONSE_S + rtt_s)).min(1.0) * packet_bits(bps)).max(MIN_ADDITIVE_BPS)
}

#[cfg(test)]
mod tests {
    use super::super::super::vectors::{near, numbers, rows};
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn additive_increases() {
        let rows = rows("increase");
        assert_eq!(rows.len(), 4);
        for row in rows {
            let [bps, rtt_s, time_s] = numbers(&row[0])[..] else { panic!("{row}") };
            near(additive_bps(bps, rtt_s, time_s), numbers(&row[1])[2], 6e-7);
        }
    }

    /// The state machine, with 1 Mb/s received: an over-use sets 850 kb/s. The first normal signal holds it, the second
    /// one increases it. Near the maximum the increase is additive; at 1.2 Mb/s received, it is multiplicative again.
    #[test]
    fn states() {
        let mut rate = DelayRate::new(Limits { min_bps: 5e3, max_bps: 1e9 }, 1e6);
        let mut report = |second, signal, received| {
            rate.on_report(Instant::from_secs(second), RTT, signal, Some(received));
            rate.bps()
        };
        near(report(1, Signal::OverUse, 1e6), 850e3, 1e-6);
        near(report(2, Signal::Normal, 1e6), 850e3, 1e-6);
        // Frames of 850 kb/s / 30 are three packets of 9444 bits.
        near(report(3, Signal::Normal, 1e6), 850e3 + 850e3 / 180.0, 1e-6);
        near(report(4, Signal::UnderUse, 1e6), 850e3 + 850e3 / 180.0, 1e-6);
        near(report(5, Signal::Normal, 1.2e6), (850e3 + 850e3 / 180.0) * 1.08, 1e-6);
        near(report(6, Signal::OverUse, 2e6), (850e3 + 850e3 / 180.0) * 1.08, 1e-6);
    }

    #[test]
    fn the_received_rate_limits_growth_only() {
        let mut rate = DelayRate::new(Limits { min_bps: 5e3, max_bps: 1e9 }, 1e6);
        for (second, received, expected) in [(1, 500e3, 1e6), (2, 700e3, 1.05e6), (3, 700e3, 1.05e6)] {
            rate.on_report(Instant::from_secs(second), RTT, Signal::Normal, Some(received));
            near(rate.bps(), expected, 1e-6);
        }
    }
}
