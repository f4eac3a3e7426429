//! Counts of received and lost packets under a condition, compared with those under a base condition.

/// Number of standard deviations attributed to chance.
const DEVIATIONS: f64 = 3.0;
/// Factor applied to the unexplained share of losses: all count if the base explains less than 1/GAIN of them.
const GAIN: f64 = 2.0;

/// Weighted counts of received and lost packets; older packets have less weight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) received: f64,
    pub(super) lost: f64,
}

impl Counts {
    pub(super) fn sum(all: &[Self]) -> Self {
        all.iter().fold(Self::default(), |sum, counts| sum.with(*counts))
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self { received: self.received + other.received, lost: self.lost + other.lost }
    }

    pub(super) fn fade(&mut self, keep: f64) {
        self.received *= keep;
        self.lost *= keep;
    }

    /// Returns the share of the losses that counts as congestion if `base` has the loss rate of the channel.
    pub(super) fn beyond(self, base: Self) -> f64 {
        if self.lost <= 0.0 {
            return 0.0;
        }
        let expected = base.lost / base.received * self.received;
        let variance = if base.lost > 0.0 { expected + expected * expected / base.lost } else { 0.0 };
        (GAIN * (1.0 - (expected + DEVIATIONS * variance.sqrt()) / self.lost)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn counts(received: f64, lost: f64) -> Counts {
        Counts { received, lost }
    }

    /// Received and lost counts fade alike: a quarter of 100 and 10 is 25 and 2.5.
    #[test]
    fn fading_keeps_the_rate() {
        let mut faded = counts(100.0, 10.0);
        faded.fade(0.25);
        assert_eq!((faded.received, faded.lost), (25.0, 2.5));
    }

    /// A base with 1 % loss explains an equal loss rate. A base without loss explains none. With 100 losses and 10
    /// expected (with chance 10 + 3 sqrt(10 + 100/10) = 23.4), more than half are unexplained, so all count. With 30
    /// losses, 2 (1 - 23.4/30) = 0.44 count.
    #[test]
    fn losses_explained_by_the_base_do_not_count() {
        let base = counts(1000.0, 10.0);
        assert_eq!(counts(1000.0, 10.0).beyond(base), 0.0);
        assert_eq!(counts(1000.0, 3.0).beyond(counts(1000.0, 0.0)), 1.0);
        assert_eq!(counts(1000.0, 100.0).beyond(base), 1.0);
        let part = counts(1000.0, 30.0).beyond(base);
        let worked = 2.0 * (1.0 - (10.0 + 3.0 * 20.0_f64.sqrt()) / 30.0);
        assert!((part - worked).abs() < 1e-12 && (part - 0.439).abs() < 0.001, "{part}");
    }
}
