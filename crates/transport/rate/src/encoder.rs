//! Target rate of an encoder: the controller's rate, smoothed.
//!
//! An encoder adapts slowly, looks bad when its rate changes often, and overshoots. Its rate is therefore lower than
//! the allowed rate (`headroom`), ignores small changes (`dead_band`), falls at once, rises slowly (`growth`), and is
//! never below the rate that the encoder can use (`floor`). If the controller allows less than `floor`, the send queue
//! discards what cannot be sent.

use headway_units::{Instant, OptionError, Rate};

/// Smoothing of the controller's rate for an encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderOptions {
    /// Fraction of the controller's rate that the encoder does not get, reserved for frames larger than the mean, 0 to
    /// 0.9.
    pub headroom: f64,
    /// Smallest change that is reported, as a fraction of the last reported rate, 0 to 0.5. Changes to `floor` or
    /// `ceiling` are always reported.
    pub dead_band: f64,
    /// Maximum growth of the encoder's rate in one second, a factor of 1.01 to 100. It may fall at once.
    pub growth: f64,
    /// Minimum rate that the encoder can produce, above 0 and at most `ceiling`. It is reported even if the controller
    /// allows less.
    pub floor: Rate,
    /// Maximum rate that the encoder can produce.
    pub ceiling: Rate,
}

impl Default for EncoderOptions {
    /// Returns a headroom of 10 %, dead band of 5 %, growth by 2 in one second, 30 kb/s to 1 Gb/s.
    fn default() -> Self {
        Self {
            headroom: 0.1,
            dead_band: 0.05,
            growth: 2.0,
            floor: Rate::from_bits_per_second(30_000),
            ceiling: Rate::from_bits_per_second(1_000_000_000),
        }
    }
}

impl EncoderOptions {
    /// Checks that each option is in its range.
    ///
    /// # Errors
    ///
    /// The first option that is out of range.
    pub fn check(&self) -> Result<(), OptionError> {
        let wrong = |key, message: String| Err(OptionError::new(key, message));
        if !(0.0..=0.9).contains(&self.headroom) {
            return wrong("headroom", format!("{} is out of range; expected 0 to 0.9", self.headroom));
        }
        if !(0.0..=0.5).contains(&self.dead_band) {
            return wrong("dead_band", format!("{} is out of range; expected 0 to 0.5", self.dead_band));
        }
        if !(1.01..=100.0).contains(&self.growth) {
            return wrong("growth", format!("{} is out of range; expected 1.01 to 100", self.growth));
        }
        if self.floor > self.ceiling || self.floor.is_zero() {
            let Self { floor, ceiling, .. } = self;
            return wrong(
                "floor",
                format!("{floor} is out of range; expected more than 0bps and at most the ceiling, {ceiling}"),
            );
        }
        Ok(())
    }
}

/// Smoothed rate of one encoder.
#[derive(Clone, Debug)]
pub struct EncoderRate {
    options: EncoderOptions,
    reported: Option<(Instant, Rate)>,
    /// Last allowed rate, if the reported rate has reached it.
    settled: Option<Option<Rate>>,
}

impl EncoderRate {
    /// Creates the smoothed rate of an encoder, without a reported rate.
    #[must_use]
    pub const fn new(options: EncoderOptions) -> Self {
        Self { options, reported: None, settled: None }
    }

    /// Returns the last reported rate; `None` before the first [update](Self::update).
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.reported.map(|(_, rate)| rate)
    }

    /// Updates the rate that the controller allows (`None`: unlimited). Returns the new rate of the encoder if it
    /// differs enough from the last one to be reported.
    pub fn update(&mut self, now: Instant, allowed: Option<Rate>) -> Option<Rate> {
        if self.settled == Some(allowed) {
            return None;
        }
        let EncoderOptions { headroom, dead_band, growth, floor, ceiling } = self.options;
        let of = |rate: Rate, factor: f64| Rate::from_bits_per_second((rate.bits_per_second() as f64 * factor) as u64);
        let wanted = allowed.map_or(ceiling, |allowed| of(allowed, 1.0 - headroom)).clamp(floor, ceiling);
        let mut rate = wanted;
        if let Some((at, last)) = self.reported {
            let grown = libm::pow(growth, now.since(at).as_secs_f64());
            rate = rate.min(of(last, grown)).clamp(floor, ceiling);
            self.settled = (rate == wanted).then_some(allowed);
            let change = rate.bits_per_second().abs_diff(last.bits_per_second());
            let at_its_end = (rate == floor || rate == ceiling) && rate != last;
            if (change as f64) < dead_band * last.bits_per_second() as f64 && !at_its_end || change == 0 {
                return None;
            }
        }
        self.reported = Some((now, rate));
        Some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Duration;
    use proptest::prelude::*;

    const fn kbps(rate: u64) -> Rate {
        Rate::from_bits_per_second(rate * 1000)
    }
    const fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Headroom, dead band, growth and floor.
    #[test]
    fn falls_at_once_and_rises_slowly() {
        let mut encoder = EncoderRate::new(EncoderOptions::default());
        assert_eq!(encoder.update(at(0), Some(kbps(1000))), Some(kbps(900)), "headroom");
        assert_eq!(encoder.update(at(100), Some(kbps(1030))), None, "dead band");
        assert_eq!(encoder.update(at(200), Some(kbps(970))), None, "dead band");
        assert_eq!(encoder.update(at(300), Some(kbps(500))), Some(kbps(450)), "at once");
        assert_eq!(encoder.update(at(1300), Some(kbps(5000))), Some(kbps(900)), "twice as much after a second");
        assert_eq!(encoder.update(at(1400), Some(kbps(1))), Some(kbps(30)), "the floor");
        assert_eq!(encoder.rate(), Some(kbps(30)));
    }

    /// Without an allowed rate the encoder may use the ceiling.
    #[test]
    fn without_an_allowed_rate_the_ceiling_holds() {
        let mut encoder = EncoderRate::new(EncoderOptions { ceiling: kbps(700), ..EncoderOptions::default() });
        assert_eq!(encoder.update(at(0), None), Some(kbps(700)));
        assert_eq!(encoder.update(at(1), None), None);
    }

    #[test]
    fn each_bound_of_the_options_holds_on_both_sides() {
        let of = |change: fn(&mut EncoderOptions)| {
            let mut options = EncoderOptions::default();
            change(&mut options);
            options.check().map_err(|error| error.key)
        };
        for change in [
            (|of| of.headroom = 0.0) as fn(&mut EncoderOptions),
            |of| of.headroom = 0.9,
            |of| of.dead_band = 0.0,
            |of| of.dead_band = 0.5,
            |of| of.growth = 1.01,
            |of| of.growth = 100.0,
            |of| of.floor = of.ceiling,
            |of| of.floor = Rate::from_bits_per_second(1),
        ] {
            assert_eq!(of(change), Ok(()));
        }
        for (key, change) in [
            ("headroom", (|of| of.headroom = -0.01) as fn(&mut EncoderOptions)),
            ("headroom", |of| of.headroom = 0.91),
            ("dead_band", |of| of.dead_band = -0.01),
            ("dead_band", |of| of.dead_band = 0.51),
            ("growth", |of| of.growth = 1.0),
            ("growth", |of| of.growth = 100.1),
            ("growth", |of| of.growth = f64::NAN),
            ("floor", |of| of.floor = Rate::from_bits_per_second(0)),
            ("floor", |of| of.ceiling = Rate::from_bits_per_second(29_999)),
        ] {
            assert_eq!(of(change), Err(key));
        }
    }

    /// A change of exactly the dead band is reported; the floor and the ceiling are reported also within it.
    #[test]
    fn changes_within_the_dead_band_are_not_reported() {
        let options =
            EncoderOptions { headroom: 0.0, floor: kbps(98), ceiling: kbps(1000), ..EncoderOptions::default() };
        let second = |from: u64, to: u64| {
            let mut encoder = EncoderRate::new(options);
            encoder.update(at(0), Some(kbps(from)));
            encoder.update(at(1000), Some(kbps(to)))
        };
        for (from, to, reported) in [
            (200, 190, Some(190)),
            (200, 191, None),
            (200, 210, Some(210)),
            (200, 209, None),
            (200, 401, Some(400)),
            (100, 98, Some(98)),
            (98, 97, None),
            (990, 1000, Some(1000)),
            (1000, 2000, None),
        ] {
            assert_eq!(second(from, to), reported.map(kbps), "{from} to {to}");
        }
    }

    proptest! {
        /// The rate never exceeds the allowed rate (above the floor), never grows faster than `growth`, and
        /// converges.
        #[test]
        fn never_more_than_is_allowed(rates in prop::collection::vec((1u64..50_000, 1u64..2000), 1..60)) {
            let options = EncoderOptions::default();
            let mut encoder = EncoderRate::new(options);
            let (mut now, mut reported) = (at(0), None::<(Instant, Rate)>);
            for (rate, gap) in &rates {
                now += Duration::from_millis(*gap);
                if let Some(new) = encoder.update(now, Some(kbps(*rate))) {
                    let ends = [options.floor, options.ceiling].contains(&new);
                    prop_assert!(ends || new.bits_per_second() <= rate * 900);
                    if let Some((when, old)) = reported && new > old {
                        let most = old.bits_per_second() as f64 * libm::exp2(now.since(when).as_secs_f64());
                        prop_assert!(new == options.floor || new.bits_per_second() as f64 <= most + 1.0);
                    }
                    reported = Some((now, new));
                }
            }
            let last = rates.last().map_or(0, |(rate, _)| *rate);
            for _ in 0..60 {
                now += Duration::from_secs(1);
                encoder.update(now, Some(kbps(last)));
            }
            let want = (last * 900).max(30_000) as f64;
            let have = encoder.rate().unwrap().bits_per_second() as f64;
            prop_assert!((have - want).abs() <= 0.06 * want, "{have} instead of {want}");
        }
    }
}
