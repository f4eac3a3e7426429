//! Rate of the loss half (section 6 of the draft).

use super::super::options::Limits;
use headway_units::{Duration, Instant};

const HIGH_LOSS: f64 = 0.1;
const LOW_LOSS: f64 = 0.02;
const INCREASE: f64 = 1.05;
/// Minimum time from change to change. The draft has the interval of RTCP reports, about 1 s.
const INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct LossRate {
    limits: Limits,
    bps: f64,
    packets: u32,
    lost: u32,
    updated: Option<Instant>,
}

impl LossRate {
    pub(super) fn new(limits: Limits, start_bps: f64) -> Self {
        Self { limits, bps: limits.clamp(start_bps), packets: 0, lost: 0, updated: None }
    }

    pub(super) const fn bps(&self) -> f64 {
        self.bps
    }

    /// Adds a packet that was received or lost.
    pub(super) fn add(&mut self, is_lost: bool) {
        self.packets = self.packets.saturating_add(1);
        self.lost = self.lost.saturating_add(u32::from(is_lost));
    }

    /// Handles the end of a report. The rate of the delay half limits the rate.
    pub(super) fn on_report(&mut self, now: Instant, delay_bps: f64) {
        let is_due = now.since(*self.updated.get_or_insert(now)) >= INTERVAL;
        if is_due && self.packets > 0 {
            let loss = f64::from(self.lost) / f64::from(self.packets);
            let factor = match loss {
                loss if loss > HIGH_LOSS => 1.0 - 0.5 * loss,
                loss if loss < LOW_LOSS => INCREASE,
                _ => 1.0,
            };
            self.bps *= factor;
            (self.packets, self.lost, self.updated) = (0, 0, Some(now));
        }
        // An unlimited rate would grow so far above that of the delay half that losses had no effect.
        self.bps = self.limits.clamp(self.bps.min(INCREASE * delay_bps));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::vectors::near;
    use super::*;

    /// Section 5: with 20 % lost, the factor is 0.9; with 5 %, 1; with 1 %, 1.05, up to 1.05 times the delay half's rate.
    #[test]
    fn losses_change_the_rate_five_times_per_second() {
        let mut rate = LossRate::new(Limits { min_bps: 5e3, max_bps: 1e9 }, 1e6);
        let mut report = |millis, lost| {
            (0..100).for_each(|packet| rate.add(packet < lost));
            rate.on_report(Instant::from_millis(millis), 1e6);
            rate.bps()
        };
        near(report(0, 0), 1e6, 1e-6);
        near(report(199, 40), 1e6, 1e-6);
        near(report(200, 20), 0.9e6, 1e-6);
        near(report(400, 5), 0.9e6, 1e-6);
        near(report(600, 1), 0.945e6, 1e-6);
        for interval in 4..10 {
            report(200 * interval, 0);
        }
        near(report(2000, 0), 1.05e6, 1e-6);
    }
}
