//! Frequency of channel losses: binomial, within five standard deviations.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_link::LossOptions;
use headway_link::loss::Loss;
use headway_units::{Dialect, Instant, Probability, Random, Registry};

/// Of a million packets, p million are lost, within sqrt(p (1 - p) million): 32 of 1000, 99 of 10 000, 300 of 100 000.
#[test]
fn as_many_are_lost_as_the_probability_says() {
    for (probability, expected, deviation) in [(0.001, 1_000, 32), (0.01, 10_000, 99), (0.1, 100_000, 300)] {
        let mut options = LossOptions::preset("bernoulli", Dialect::Rfc).unwrap();
        let LossOptions::Bernoulli(bernoulli) = &mut options else { panic!("another model") };
        bernoulli.probability = Probability::new(probability);
        let (mut loss, mut random) = (Loss::new(&options), Random::new(7, "loss"));
        let lost = (0..1_000_000).filter(|_| loss.loses(Instant::ZERO, &mut random)).count();
        assert!(lost.abs_diff(expected) <= 5 * deviation, "{lost} for {expected}");
    }
}
