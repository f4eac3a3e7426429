//! Smoothed round-trip time.

use super::rules::{RttRule, Rules};
use headway_units::Instant;

/// Gain of RFC 6298 section 2.
const SRTT_G: f64 = 1.0 / 8.0;
const MIN_SRTT_S: f64 = 1e-3;
/// Resolution of the times of [`RttRule::Twice`].
const TICKS_PER_S: f64 = 65_536.0;

#[derive(Clone, Debug)]
pub(super) struct SmoothedRtt {
    rule: RttRule,
    unused_gain: f64,
    unused_only_falls: bool,
    srtt_s: Option<f64>,
    /// Round-trip time smoothed once, if it is smoothed twice, and the time of the last update of `srtt_s`.
    short_s: f64,
    updated: Instant,
    falls: bool,
}

impl SmoothedRtt {
    pub(super) const fn new(rules: &Rules, now: Instant) -> Self {
        Self {
            rule: rules.rtt,
            unused_gain: rules.unused_rtt_gain,
            unused_only_falls: rules.unused_rtt_only_falls,
            srtt_s: None,
            short_s: 0.0,
            updated: now,
            falls: false,
        }
    }

    pub(super) const fn get(&self) -> Option<f64> {
        self.srtt_s
    }

    /// Returns whether the last sample lowered the round-trip time that is smoothed once.
    pub(super) const fn falls(&self) -> bool {
        self.falls
    }

    /// Adds a sample. Small round trips of an application-limited flow, whose window is `unused`, would raise the media
    /// rate; they have a small gain. Returns whether it is the first sample.
    pub(super) fn add(&mut self, now: Instant, sample_s: f64, unused: bool) -> bool {
        let sample_s = sample_s.max(MIN_SRTT_S);
        let Some(srtt_s) = self.srtt_s else {
            (self.srtt_s, self.short_s) = (Some(sample_s), sample_s);
            return true;
        };
        match self.rule {
            RttRule::Once => self.srtt_s = Some(srtt_s + self.gain(unused, srtt_s, sample_s) * (sample_s - srtt_s)),
            RttRule::Twice => {
                let short_s = truncated(self.short_s + SRTT_G * (sample_s - self.short_s));
                self.falls = short_s < self.short_s;
                self.short_s = short_s;
                if now.since(self.updated).as_secs_f64() > short_s {
                    self.updated = now;
                    let gain = self.gain(unused, srtt_s, short_s);
                    self.srtt_s = Some(truncated(srtt_s + gain * (short_s - srtt_s)).max(MIN_SRTT_S));
                }
            }
        }
        false
    }

    fn gain(&self, unused: bool, srtt_s: f64, sample_s: f64) -> f64 {
        if unused && (sample_s < srtt_s || !self.unused_only_falls) { self.unused_gain } else { SRTT_G }
    }
}

/// Rounds a time down to a multiple of 1/65536 s.
fn truncated(s: f64) -> f64 {
    // The sum may be below an exact multiple by its rounding error.
    (s * TICKS_PER_S + 1e-6).floor() / TICKS_PER_S
}

#[cfg(test)]
mod tests {
    use super::super::options::Scream2Version;
    use super::*;

    /// After 100 ms, a sample of 60 or 140 ms moves the round-trip time by 1/8 of 40 ms, twice filtered by 1/8 of it. An
    /// unused window slows this down: downwards in the draft and Ericsson's sender, in both directions in libwebrtc.
    #[test]
    fn gains() {
        for (version, falls, rises, unused_falls, unused_rises) in [
            (Scream2Version::Draft01, 5.0, 5.0, 40.0 / 1024.0, 5.0),
            (Scream2Version::Ericsson202607, 0.625, 0.625, 5.0 / 1024.0, 0.625),
            (Scream2Version::Libwebrtc202607, 5.0, 5.0, 40.0 / 128.0, 40.0 / 128.0),
        ] {
            for (sample_s, unused, expected_ms) in
                [(0.06, false, -falls), (0.14, false, rises), (0.06, true, -unused_falls), (0.14, true, unused_rises)]
            {
                let mut rtt = SmoothedRtt::new(&Rules::of(version), Instant::ZERO);
                assert!(rtt.add(Instant::ZERO, 0.1, false));
                assert!(!rtt.add(Instant::from_secs(1), sample_s, unused));
                let change_ms = 1000.0 * (rtt.get().unwrap() - 0.1);
                assert!((change_ms - expected_ms).abs() < 0.031, "{version:?}, {sample_s}, {unused}: {change_ms}");
            }
        }
    }

    /// Ericsson's sender updates the round-trip time once per round trip, although each sample counts. Times are
    /// multiples of 1/65536 s, rounded down, so that a window that is not used lowers it by at least one.
    #[test]
    fn twice_filtered() {
        let mut rtt = SmoothedRtt::new(&Rules::of(Scream2Version::Ericsson202607), Instant::ZERO);
        let ticks = |ticks: u32| f64::from(ticks) / 65_536.0;
        rtt.add(Instant::ZERO, ticks(6400), false);
        let mut values = vec![];
        for ms in [50, 150, 160, 270] {
            rtt.add(Instant::from_millis(ms), ticks(6000), ms == 270);
            values.push(rtt.get().unwrap());
        }
        // 6400, then 6350, 6306, 6267 and 6233 once filtered.
        assert_eq!(values, [6400, 6388, 6388, 6387].map(ticks));
        assert!(rtt.falls());
    }
}
