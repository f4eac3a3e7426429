//! What came and what was lost under some condition, and what is more than another condition explains.

/// Standard deviations of a count that may be chance.
const CHANCE: f64 = 3.0;
/// Where the other condition explains less than the inverse of this, all losses count.
const GAIN: f64 = 2.0;

/// What came and what was lost; older packets weigh less.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) came: f64,
    pub(super) lost: f64,
}

impl Counts {
    pub(super) fn sum(all: &[Self]) -> Self {
        all.iter().fold(Self::default(), |sum, counts| sum.with(*counts))
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self { came: self.came + other.came, lost: self.lost + other.lost }
    }

    pub(super) fn fade(&mut self, keep: f64) {
        self.came *= keep;
        self.lost *= keep;
    }

    /// Which part of its losses is to count, where `base`, of which some came, is what the channel does.
    pub(super) fn beyond(self, base: Self) -> f64 {
        if self.lost <= 0.0 {
            return 0.0;
        }
        let expected = base.lost / base.came * self.came;
        let variance = if base.lost > 0.0 { expected + expected * expected / base.lost } else { 0.0 };
        (GAIN * (1.0 - (expected + CHANCE * variance.sqrt()) / self.lost)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn counts(came: f64, lost: f64) -> Counts {
        Counts { came, lost }
    }

    /// Older packets weigh less, received and lost ones alike: of 100 and 10 a quarter is 25 and 2.5.
    #[test]
    fn fading_keeps_the_rate() {
        let mut faded = counts(100.0, 10.0);
        faded.fade(0.25);
        assert_eq!((faded.came, faded.lost), (25.0, 2.5));
    }

    /// 1 % everywhere explains what there is. Where the base has lost nothing, all losses count. 100 where the base
    /// makes 10, with chance 10 + 3 sqrt(10 + 100/10) = 23.4: more than half is beyond it, and all count. 30: 2 (1 - 23.4/30) = 0.44 of them.
    #[test]
    fn what_the_base_explains_does_not_count() {
        let base = counts(1000.0, 10.0);
        assert_eq!(counts(1000.0, 10.0).beyond(base), 0.0);
        assert_eq!(counts(1000.0, 3.0).beyond(counts(1000.0, 0.0)), 1.0);
        assert_eq!(counts(1000.0, 100.0).beyond(base), 1.0);
        let part = counts(1000.0, 30.0).beyond(base);
        let worked = 2.0 * (1.0 - (10.0 + 3.0 * 20.0_f64.sqrt()) / 30.0);
        assert!((part - worked).abs() < 1e-12 && (part - 0.439).abs() < 0.001, "{part}");
    }
}
