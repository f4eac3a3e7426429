//! Rate of the delay half: multiplicative and additive increase, multiplicative decrease (`aimd_rate_control.cc`).

use super::link_capacity::LinkCapacity;
use super::options::Limits;
use super::overuse::Signal;
use headway_units::{Duration, Instant};

const BETA: f64 = 0.85;
const GROWTH_PER_S: f64 = 1.08;
const MIN_GROWTH_BPS: f64 = 1000.0;
/// Minimum of the additive increase, in bit/s per s.
const MIN_ADDITIVE_BPS: f64 = 4000.0;
/// Factor and offset above the acknowledged rate, up to which the rate increases.
const MAX_ABOVE_ACKNOWLEDGED: f64 = 1.5;
const MAX_ABOVE_ACKNOWLEDGED_BPS: f64 = 10_000.0;
/// Bounds of the round-trip time that separates two decreases.
const MIN_REDUCTION_INTERVAL: Duration = Duration::from_millis(10);
const MAX_REDUCTION_INTERVAL: Duration = Duration::from_millis(200);
/// Video frames per s and bits per packet, by which the additive increase is computed.
const FRAMES_PER_S: f64 = 30.0;
const PACKET_BITS: f64 = 9600.0;
const RESPONSE_S: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
}

/// Rate of the delay half.
#[derive(Clone, Debug)]
pub(super) struct Aimd {
    limits: Limits,
    bps: f64,
    state: State,
    /// Last acknowledged rate.
    acknowledged_bps: f64,
    capacity: LinkCapacity,
    changed: Option<Instant>,
}

impl Aimd {
    pub(super) fn new(limits: Limits, start_bps: f64) -> Self {
        Self {
            limits,
            bps: limits.clamp(start_bps),
            state: State::Hold,
            acknowledged_bps: start_bps,
            capacity: LinkCapacity::new(),
            changed: None,
        }
    }

    pub(super) const fn bps(&self) -> f64 {
        self.bps
    }

    /// Handles a report. `rtt` is the time from sending a packet to its report, and `probe_bps` the result of a probe.
    /// Returns whether the rate was reduced.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        rtt: Duration,
        signal: Signal,
        acknowledged_bps: Option<f64>,
        probe_bps: Option<f64>,
    ) -> bool {
        self.acknowledged_bps = acknowledged_bps.unwrap_or(self.acknowledged_bps);
        let before = self.bps;
        match (signal, acknowledged_bps, probe_bps) {
            (Signal::OverUse, Some(acknowledged), _) => {
                let interval = rtt.clamp(MIN_REDUCTION_INTERVAL, MAX_REDUCTION_INTERVAL);
                if self.is_unchanged_for(now, interval) || acknowledged < self.bps / 2.0 {
                    self.decrease(now, acknowledged);
                }
            }
            (Signal::OverUse, None, _) => {
                if self.is_unchanged_for(now, MAX_REDUCTION_INTERVAL) {
                    self.set(now, self.bps / 2.0);
                }
            }
            (_, _, Some(probe)) => self.set(now, probe),
            (Signal::UnderUse, ..) => self.state = State::Hold,
            (Signal::Normal, ..) => self.increase(now, rtt),
        }
        self.bps < before
    }

    fn is_unchanged_for(&self, now: Instant, time: Duration) -> bool {
        self.changed.is_none_or(|changed| now.since(changed) >= time)
    }

    fn set(&mut self, now: Instant, bps: f64) {
        (self.bps, self.changed) = (self.limits.clamp(bps), Some(now));
    }

    fn increase(&mut self, now: Instant, rtt: Duration) {
        if self.state == State::Hold {
            (self.state, self.changed) = (State::Increase, Some(now));
        }
        if self.capacity.is_below(self.acknowledged_bps) {
            self.capacity.reset();
        }
        let limit = MAX_ABOVE_ACKNOWLEDGED * self.acknowledged_bps + MAX_ABOVE_ACKNOWLEDGED_BPS;
        let time_s = self.changed.map_or(Duration::ZERO, |changed| now.since(changed)).as_secs_f64();
        let mut bps = self.bps;
        if bps < limit {
            bps += match self.capacity.bps() {
                Some(_) => additive_bps_per_s(bps, rtt.as_secs_f64()) * time_s,
                None => multiplicative_bps(bps, time_s),
            };
            bps = bps.min(limit);
        }
        self.set(now, bps);
    }

    fn decrease(&mut self, now: Instant, acknowledged: f64) {
        let mut bps = BETA * acknowledged;
        if bps > self.bps {
            bps = self.capacity.bps().map_or(bps, |capacity| BETA * capacity);
        }
        if self.capacity.is_above(acknowledged) {
            self.capacity.reset();
        }
        self.capacity.on_overuse(acknowledged);
        self.state = State::Hold;
        self.set(now, bps.min(self.bps));
    }
}

/// Returns the increase per s near the capacity of the link: half a packet per response time.
fn additive_bps_per_s(bps: f64, rtt_s: f64) -> f64 {
    (packet_bits(bps) / (2.0 * (rtt_s + RESPONSE_S))).max(MIN_ADDITIVE_BPS)
}

/// Returns the mean size of the packets of a video frame, in bits.
pub(super) fn packet_bits(bps: f64) -> f64 {
    let frame_bits = bps / FRAMES_PER_S;
    frame_bits / (frame_bits / PACKET_BITS).ceil().max(1.0)
}

/// Returns the increase in `time_s` while the capacity is unknown: 8 % per s.
pub(super) fn multiplicative_bps(bps: f64, time_s: f64) -> f64 {
    (bps * (libm::pow(GROWTH_PER_S, time_s.min(1.0)) - 1.0)).max(MIN_GROWTH_BPS)
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{near, numbers, rows};
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn aimd(start_bps: f64) -> Aimd {
        Aimd::new(Limits { min_bps: 5e3, max_bps: 1e9 }, start_bps)
    }

    fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn increases() {
        let rows = rows("increase");
        assert_eq!(rows.len(), 4);
        for row in rows {
            let (input, expected) = (numbers(&row[0]), numbers(&row[1]));
            let [bps, rtt_s, time_s] = input[..] else { panic!("{row}") };
            near(multiplicative_bps(bps, time_s), expected[0], 6e-7);
            near(additive_bps_per_s(bps, rtt_s) * time_s, expected[1], 6e-7);
        }
    }

    /// The rate grows by 8 % per s to 1.5 times the acknowledged rate and 10 kb/s.
    #[test]
    fn growth_ends_above_the_acknowledged_rate() {
        let mut aimd = aimd(1e6);
        for report in 0..=10 {
            aimd.on_report(ms(100 * report), RTT, Signal::Normal, Some(1e6), None);
        }
        // Each step adds at least 1000 bit/s, also the first one, whose time is 0.
        near(aimd.bps(), 1.001e6 * 1.08, 1e-3);
        for report in 11..100 {
            aimd.on_report(ms(100 * report), RTT, Signal::Normal, Some(1e6), None);
        }
        near(aimd.bps(), 1.51e6, 1e-3);
    }

    /// An over-use at an acknowledged rate of 1 Mb/s sets 850 kb/s; another one within a round trip changes nothing,
    /// unless less than half of the rate arrives. Afterwards the capacity is known, and the increase is additive.
    #[test]
    fn decreases() {
        let mut aimd = aimd(1.2e6);
        assert!(aimd.on_report(ms(0), RTT, Signal::OverUse, Some(1e6), None));
        near(aimd.bps(), 850e3, 1e-6);
        assert!(!aimd.on_report(ms(99), RTT, Signal::OverUse, Some(0.9e6), None));
        assert!(aimd.on_report(ms(99), RTT, Signal::OverUse, Some(0.4e6), None));
        near(aimd.bps(), 340e3, 1e-6);
        aimd.on_report(ms(200), RTT, Signal::Normal, Some(0.4e6), None);
        aimd.on_report(ms(1200), RTT, Signal::Normal, Some(0.4e6), None);
        // Frames of 340 kb/s / 30 are two packets of 5667 bits.
        near(aimd.bps(), 340e3 + 340e3 / 60.0 / 0.4, 1e-6);
    }

    /// An over-use never raises the rate: 0.85 of the acknowledged rate is above it, and 0.85 of the capacity is not.
    #[test]
    fn an_overuse_never_raises_the_rate() {
        let mut aimd = aimd(500e3);
        aimd.on_report(ms(0), RTT, Signal::OverUse, Some(1e6), None);
        near(aimd.bps(), 500e3, 1e-6);
        aimd.on_report(ms(1000), RTT, Signal::UnderUse, Some(1e6), None);
        near(aimd.bps(), 500e3, 1e-6);
    }

    /// Before an acknowledged rate is known, an over-use halves the rate, once per 200 ms.
    #[test]
    fn an_early_overuse_halves_the_rate() {
        let mut aimd = aimd(400e3);
        for (at, expected) in [(0, 200e3), (199, 200e3), (200, 100e3)] {
            aimd.on_report(ms(at), RTT, Signal::OverUse, None, None);
            near(aimd.bps(), expected, 1e-6);
        }
    }

    #[test]
    fn a_probe_sets_the_rate_except_in_overuse() {
        let mut aimd = aimd(300e3);
        aimd.on_report(ms(0), RTT, Signal::Normal, Some(300e3), Some(900e3));
        near(aimd.bps(), 900e3, 1e-6);
        aimd.on_report(ms(500), RTT, Signal::OverUse, Some(600e3), Some(1.8e6));
        near(aimd.bps(), 510e3, 1e-6);
    }
}
