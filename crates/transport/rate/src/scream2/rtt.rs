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
