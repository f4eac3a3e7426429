//! Speech quality by the E-model (ITU-T G.107), in its simplified form for narrowband speech without echo:
//! R = 93.2 - Idd - Ie,eff, and the mean opinion score (MOS) that follows from R.
//!
//! 93.2 is R of G.107's default values without loss or delay. Idd is G.107's impairment by absolute delay; the fit of
//! Cole and Rosenbluth (2001) contains default echo and differs by up to 17 points at 500 ms. Ie,eff is the impairment
//! by the codec and its losses (G.113).

use headway_units::Duration;

/// R without loss and delay, at the default values of G.107.
const R_DEFAULT: f64 = 93.2;
/// Limit of Ie,eff for high loss.
const IE_MAX: f64 = 95.0;
/// Maximum absolute delay without impairment, in ms.
const DELAY_MS: f64 = 100.0;

/// Parameters of a codec in the E-model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EModel {
    /// Equipment impairment factor Ie without loss.
    pub ie: f64,
    /// Packet-loss robustness factor Bpl, above 0.
    pub bpl: f64,
    /// BurstR: mean length of loss bursts divided by that of random losses with the same ratio; 1 for random losses.
    pub burst_ratio: f64,
}

impl EModel {
    /// Returns R for a mouth-to-ear delay and a ratio of lost or late packets from 0 to 1. R is at most 93.2, and below
    /// 0 for large impairments.
    #[must_use]
    pub fn r_factor(&self, delay: Duration, loss_ratio: f64) -> f64 {
        let percent = 100.0 * loss_ratio;
        let ie_eff = self.ie + (IE_MAX - self.ie) * percent / (percent / self.burst_ratio + self.bpl);
        R_DEFAULT - delay_impairment(delay) - ie_eff
    }
}

fn delay_impairment(delay: Duration) -> f64 {
    let ms = delay.as_secs_f64() * 1e3;
    if ms <= DELAY_MS {
        return 0.0;
    }
    let x = libm::log2(ms / DELAY_MS);
    let root = |x: f64| libm::pow(1.0 + libm::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// Returns the mean opinion score for R, from 1 to 4.5.
#[must_use]
pub fn mos(r: f64) -> f64 {
    if r <= 0.0 {
        1.0
    } else if r >= 100.0 {
        4.5
    } else {
        // The cubic is below 1 for R below 6.52.
        (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 5e-7
    }

    /// ITU-T G.107's Idd, computed by an independent program (`media_vectors.py`, 2026-11).
    #[test]
    fn delay_impairments_are_those_of_g_107() {
        for (ms, idd) in [
            (50.0, 0.0),
            (100.0, 0.0),
            (150.0, 0.163_531_2),
            (177.3, 1.172_058_1),
            (200.0, 3.044_414_2),
            (250.0, 8.916_709_8),
            (300.0, 14.760_694_7),
            (400.0, 24.070_089_2),
            (500.0, 30.635_924_5),
        ] {
            let delay = Duration::from_secs_f64(ms / 1e3);
            assert!(close(delay_impairment(delay), idd), "{ms} ms: {}", delay_impairment(delay));
        }
    }

    /// Codec, delay in ms, loss in %, R and MOS, from `media_vectors.py`; Ie and Bpl of G.113 appendix I.
    #[test]
    fn ratings_are_those_of_g_107() {
        const G711: (f64, f64) = (0.0, 4.3);
        const G711_PLC: (f64, f64) = (0.0, 25.1);
        const G729A: (f64, f64) = (11.0, 19.0);
        const G7231: (f64, f64) = (15.0, 16.1);
        for ((ie, bpl), ms, percent, r, score) in [
            (G711, 50, 0.0, 93.2, 4.409_285_8),
            (G711, 150, 1.0, 75.111_940_5, 3.826_668_7),
            (G711, 150, 3.0, 53.995_372_9, 2.785_428_0),
            (G711, 250, 5.0, 33.208_021_4, 1.746_303_0),
            (G711, 400, 10.0, 2.696_344_3, 1.0),
            (G711_PLC, 150, 1.0, 89.396_622_1, 4.323_938_4),
            (G711_PLC, 150, 3.0, 82.894_120_1, 4.128_537_5),
            (G711_PLC, 250, 5.0, 68.502_559_3, 3.526_008_7),
            (G711_PLC, 400, 10.0, 42.064_383_7, 2.166_286_5),
            (G729A, 50, 0.0, 82.2, 4.104_375_1),
            (G729A, 150, 1.0, 77.836_468_8, 3.939_668_1),
            (G729A, 400, 10.0, 29.164_393_5, 1.574_835_7),
            (G7231, 250, 5.0, 50.325_944_2, 2.592_119_3),
            (G7231, 400, 10.0, 23.478_569_8, 1.362_445_6),
        ] {
            let model = EModel { ie, bpl, burst_ratio: 1.0 };
            let found = model.r_factor(Duration::from_millis(ms), percent / 100.0);
            assert!(close(found, r) && close(mos(found), score), "{ie} {ms} ms {percent} %: {found} {}", mos(found));
        }
    }

    #[test]
    fn mos_follows_g_107() {
        for (r, score) in [
            (-1.0, 1.0),
            (0.0, 1.0),
            (6.5, 1.0),
            (20.0, 1.252),
            (50.0, 2.575),
            (60.0, 3.1),
            (70.0, 3.597),
            (80.0, 4.024),
            (90.0, 4.339),
            (93.2, 4.409_285_8),
            (100.0, 4.5),
            (101.0, 4.5),
        ] {
            assert!(close(mos(r), score), "{r}: {}", mos(r));
        }
    }

    /// Losses in bursts of twice the random length: 5 / (5 / 2 + 25.1) of 95 points.
    #[test]
    fn bursts_lower_the_rating() {
        let model = EModel { ie: 0.0, bpl: 25.1, burst_ratio: 2.0 };
        let expected = 93.2 - 95.0 * 5.0 / (2.5 + 25.1);
        assert!(close(model.r_factor(Duration::ZERO, 0.05), expected));
        assert!(model.r_factor(Duration::ZERO, 1.0).is_finite());
    }
}
