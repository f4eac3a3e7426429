//! What to tell an encoder: the controller's rate, made steady.
//!
//! An encoder takes a while to follow, looks bad when it is pulled about, and overshoots. So it is told less than the controller allows
//! (`headroom`), nothing of changes that it could not follow anyway (`dead_band`), each fall at once, and each rise only slowly
//! (`growth`); and never less than it can do anything with (`floor`): a program that cannot send so much had better send nothing, which its
//! send queue does for it.

use headway_units::{Instant, OptionError, Rate};

/// How the rate for an encoder follows that of the controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderOptions {
    /// The part of the controller's rate that an encoder is not told of, 0 to 0.9: room for frames that are larger than the mean.
    pub headroom: f64,
    /// Changes by less than this part of what was told last are not told, 0 to 0.5.
    pub dead_band: f64,
    /// By which factor the rate grows in a second at most, 1.01 to 100.
    pub growth: f64,
    /// The least that is told.
    pub floor: Rate,
    /// The most that is told: what the encoder can make use of.
    pub ceiling: Rate,
}

impl Default for EncoderOptions {
    /// 10 % of headroom, a dead band of 5 %, twice as much in a second, 30 kb/s to 1 Gb/s.
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
    /// # Errors
    ///
    /// The key that is out of its range.
    pub fn check(&self) -> Result<(), OptionError> {
        let wrong = |key, message: &str| Err(OptionError::new(key, message));
        if !(0.0..=0.9).contains(&self.headroom) {
            return wrong("headroom", "it is 0 to 0.9 of the rate");
        }
        if !(0.0..=0.5).contains(&self.dead_band) {
            return wrong("dead_band", "it is 0 to 0.5 of the rate");
        }
        if !(1.01..=100.0).contains(&self.growth) {
            return wrong("growth", "it is a factor of 1.01 to 100");
        }
        if self.floor > self.ceiling || self.floor.is_zero() {
            return wrong("floor", "it is more than 0bps, and not more than the ceiling");
        }
        Ok(())
    }
}

/// What an encoder was told last.
#[derive(Clone, Debug)]
pub struct EncoderRate {
    options: EncoderOptions,
    told: Option<(Instant, Rate)>,
    /// What the controller said last, if the encoder has been told all that there is to it.
    settled: Option<Option<Rate>>,
}

impl EncoderRate {
    /// Nothing has been told.
    #[must_use]
    pub const fn new(options: EncoderOptions) -> Self {
        Self { options, told: None, settled: None }
    }

    /// What the encoder should produce; `None` before the first [update](Self::update).
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.told.map(|(_, rate)| rate)
    }

    /// The controller allows this rate now; `None`: any. Returns what the encoder is to be told, if that has changed.
    pub fn update(&mut self, now: Instant, allowed: Option<Rate>) -> Option<Rate> {
        if self.settled == Some(allowed) {
            return None;
        }
        let EncoderOptions { headroom, dead_band, growth, floor, ceiling } = self.options;
        let of = |rate: Rate, factor: f64| Rate::from_bits_per_second((rate.bits_per_second() as f64 * factor) as u64);
        let wanted = allowed.map_or(ceiling, |allowed| of(allowed, 1.0 - headroom)).clamp(floor, ceiling);
        let mut rate = wanted;
        if let Some((at, last)) = self.told {
            let grown = libm::pow(growth, now.since(at).as_secs_f64());
            rate = rate.min(of(last, grown)).clamp(floor, ceiling);
            self.settled = (rate == wanted).then_some(allowed);
            let change = rate.bits_per_second().abs_diff(last.bits_per_second());
            let at_its_end = (rate == floor || rate == ceiling) && rate != last;
            if (change as f64) < dead_band * last.bits_per_second() as f64 && !at_its_end || change == 0 {
                return None;
            }
        }
        self.told = Some((now, rate));
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

    /// The rules, one after the other.
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

    /// Without a controller's word the encoder may have all.
    #[test]
    fn without_a_limit_the_ceiling_holds() {
        let mut encoder = EncoderRate::new(EncoderOptions { ceiling: kbps(700), ..EncoderOptions::default() });
        assert_eq!(encoder.update(at(0), None), Some(kbps(700)));
        assert_eq!(encoder.update(at(1), None), None);
    }

    proptest! {
        /// Whatever the controller does: never more than it allows (above the floor), never by more than `growth` upwards, and in the end there.
        #[test]
        fn never_more_than_is_allowed(rates in prop::collection::vec((1u64..50_000, 1u64..2000), 1..60)) {
            let options = EncoderOptions::default();
            let mut encoder = EncoderRate::new(options);
            let (mut now, mut told) = (at(0), None::<(Instant, Rate)>);
            for (rate, gap) in &rates {
                now += Duration::from_millis(*gap);
                if let Some(new) = encoder.update(now, Some(kbps(*rate))) {
                    let ends = [options.floor, options.ceiling].contains(&new);
                    prop_assert!(ends || new.bits_per_second() <= rate * 900);
                    if let Some((when, old)) = told && new > old {
                        let most = old.bits_per_second() as f64 * libm::exp2(now.since(when).as_secs_f64());
                        prop_assert!(new == options.floor || new.bits_per_second() as f64 <= most + 1.0);
                    }
                    told = Some((now, new));
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
