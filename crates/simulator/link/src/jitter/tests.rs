use super::*;
use headway_units::{Dialect, Options as _};

const DRAWS: u32 = 100_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn kinds() -> [JitterOptions; 4] {
    let preset = Dialect::Rfc;
    [
        JitterOptions::Uniform(uniform::Options { least: ms(5), most: ms(15), ..uniform::Options::preset(preset) }),
        JitterOptions::Normal(normal::Options { mean: ms(10), deviation: ms(2), ..normal::Options::preset(preset) }),
        JitterOptions::Exponential(exponential::Options { mean: ms(10), ..exponential::Options::preset(preset) }),
        JitterOptions::Pareto(pareto::Options { mean: ms(10), shape: 3.0, ..pareto::Options::preset(preset) }),
    ]
}

fn draws(options: &JitterOptions) -> Vec<f64> {
    let mut jitter = Jitter::new(options, Random::new(3, "jitter"));
    (0..DRAWS).map(|_| jitter.draw().as_secs_f64() * 1e3).collect()
}

/// All have a mean of 10 ms, within five standard errors: standard deviations of 10/sqrt(12), 2, 10, and 10/sqrt(3) ms
/// (shape 3: mean / sqrt(shape (shape - 2))). Fractions above 15 ms: none, 0.62 %, e^-1.5, and (m/15)^3 with m = 20/3.
#[test]
fn each_distribution_has_its_mean_and_tail() {
    let expected = [
        (10.0 / 12f64.sqrt(), 0.0),
        (2.0, 0.006_21),
        (10.0, libm::exp(-1.5)),
        (10.0 / 3f64.sqrt(), libm::pow(4.0 / 9.0, 3.0)),
    ];
    for (options, (deviation, tail)) in kinds().iter().zip(expected) {
        let seen = draws(options);
        let n = f64::from(DRAWS);
        let mean = seen.iter().sum::<f64>() / n;
        assert!((mean - 10.0).abs() < 5.0 * deviation / n.sqrt(), "{options:?}: {mean}");
        let above = seen.iter().filter(|extra| **extra > 15.0).count() as f64 / n;
        assert!((above - tail).abs() <= 5.0 * (tail * (1.0 - tail) / n).sqrt(), "{options:?}: {above}");
    }
}

#[test]
fn each_distribution_has_the_correlation_and_the_order_of_its_options() {
    let half = Probability::new(0.5).unwrap();
    for expected in [(Probability::ZERO, true), (Probability::ZERO, false), (half, true), (half, false)] {
        for mut options in kinds() {
            let (correlation, keeps_order) = match &mut options {
                JitterOptions::Uniform(of) => (&mut of.correlation, &mut of.keeps_order),
                JitterOptions::Normal(of) => (&mut of.correlation, &mut of.keeps_order),
                JitterOptions::Exponential(of) => (&mut of.correlation, &mut of.keeps_order),
                JitterOptions::Pareto(of) => (&mut of.correlation, &mut of.keeps_order),
            };
            (*correlation, *keeps_order) = expected;
            assert_eq!(Distribution::new(&options).options(), expected, "{options:?}");
            assert_eq!(options.keeps_order(), expected.1, "{options:?}");
        }
    }
}

#[test]
fn negative_normal_values_become_zero() {
    let options = normal::Options { deviation: ms(2), ..normal::Options::preset(Dialect::Rfc) };
    let seen = draws(&JitterOptions::Normal(options));
    let none = seen.iter().filter(|extra| **extra == 0.0).count() as f64 / f64::from(DRAWS);
    assert!((none - 0.5).abs() < 5.0 * 0.5 / f64::from(DRAWS).sqrt(), "{none}");
}

#[test]
fn correlation_keeps_the_mean() {
    let correlation = Probability::new(0.5).unwrap();
    let options = exponential::Options { mean: ms(10), correlation, ..exponential::Options::preset(Dialect::Rfc) };
    let seen = draws(&JitterOptions::Exponential(options));
    let mean = seen.iter().sum::<f64>() / f64::from(DRAWS);
    // Equivalent to a third of independent ones.
    assert!((mean - 10.0).abs() < 5.0 * 10.0 * (3.0 / f64::from(DRAWS)).sqrt(), "{mean}");
}

#[test]
fn invalid_jitter_is_rejected() {
    let wrong = |options: JitterOptions| headway_units::Registry::check(&options).unwrap_err();
    for kind in <JitterOptions as headway_units::Registry>::KINDS {
        let preset = <JitterOptions as headway_units::Registry>::preset(kind, Dialect::Rfc).unwrap();
        assert!(preset.keeps_order(), "{kind}");
        let error = wrong(preset);
        assert!(error.message.contains("such as \"10ms\""), "{kind}: {error}");
    }
    // The example is above `least`.
    let uniform = |least, most| uniform::Options { least, most, ..uniform::Options::preset(Dialect::Rfc) };
    let error = wrong(JitterOptions::Uniform(uniform(ms(30), ms(20))));
    assert_eq!(error.message, "20ms is not above least, 30ms; expected a value such as \"40ms\"");
    uniform(ms(30), ms(40)).check().unwrap();
    assert_eq!(wrong(JitterOptions::Uniform(uniform(MAX_DELAY, MAX_DELAY))).key, "least");
    let pareto = pareto::Options { mean: ms(10), shape: 1.0, ..pareto::Options::preset(Dialect::Rfc) };
    assert_eq!(wrong(JitterOptions::Pareto(pareto)).key, "shape");
    let long = exponential::Options { mean: ms(2_000_000_000), ..exponential::Options::preset(Dialect::Rfc) };
    assert!(wrong(JitterOptions::Exponential(long)).message.contains("out of range"));
    let all = exponential::Options {
        mean: ms(1),
        correlation: Probability::ONE,
        ..exponential::Options::preset(Dialect::Rfc)
    };
    assert_eq!(wrong(JitterOptions::Exponential(all)).key, "correlation");
}
