use super::*;
use headway_units::Options as _;

fn runs(mean: f64, run: f64) -> Options {
    Options { mean: Probability::new(mean), run: Some(run), ..Options::preset(Dialect::Rfc) }
}

fn states(values: [f64; 4]) -> Options {
    let [to_bad, to_good, loss_good, loss_bad] = values.map(Probability::new);
    Options { to_bad, to_good, loss_good, loss_bad, ..Options::preset(Dialect::Rfc) }
}

fn million(options: &Options) -> Vec<bool> {
    options.check().unwrap();
    let (mut loss, mut random) = (GilbertElliott::new(options), Random::new(7, "loss"));
    (0..1_000_000).map(|_| loss.loses(&mut random)).collect()
}

fn count(lost: &[bool]) -> f64 {
    lost.iter().filter(|lost| **lost).count() as f64
}

fn starts(lost: &[bool]) -> f64 {
    lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64
}

/// Of n packets, n p are lost, with variance n p (1 - p) (1 + g) / (1 - g), g = 1 - to_bad - to_good. Run lengths are
/// geometric, with variance r (r - 1). The bound is five standard deviations for each:
///
/// | p, r | g | losses | runs | their mean |
/// |---|---|---|---|---|
/// | 0.05, 5 | 0.789474 | 50000, 635 | 10000 | 5, sqrt(20 / 10000) = 0.0447 |
/// | 0.2, 1.25 (independent) | 0 | 200000, 400 | 160000 | 1.25, sqrt(0.3125 / 160000) = 0.0014 |
/// | 0.3, 20 | 0.928571 | 300000, 2381 | 15000 | 20, sqrt(380 / 15000) = 0.159 |
#[test]
fn losses_have_the_configured_mean_and_runs() {
    for (mean, run, of_losses, of_runs) in
        [(0.05, 5.0, 635.0, 0.0447), (0.2, 1.25, 400.0, 0.0014), (0.3, 20.0, 2381.0, 0.159)]
    {
        let lost = million(&runs(mean, run));
        let losses = count(&lost);
        assert!((losses - 1e6 * mean).abs() < 5.0 * of_losses, "{mean} {run}: {losses}");
        let found = losses / starts(&lost);
        assert!((found - run).abs() < 5.0 * of_runs, "{mean} {run}: {found}");
    }
}

/// netem's four parameters (`tc-netem(8)`, `loss gemodel p r 1-h 1-k`), here p = 1 %, r = 9 %, 1-h = 50 %, 1-k = 0.1
/// %: a tenth of packets find the bad state, and 0.1 * 0.5 + 0.9 * 0.001 = 5.09 % are lost. Of a million: 50900, with
/// variance n (m (1 - m) + 2 (0.5 - 0.001)^2 * 0.1 * 0.9 * 0.9 / (1 - 0.9)) = n (0.048309 + 0.403382), deviation 672.
///
/// Two losses in a row, from the fractions of each state and the next one:
/// 0.1 * 0.5 (0.91 * 0.5 + 0.09 * 0.001) + 0.9 * 0.001 (0.01 * 0.5 + 0.99 * 0.001) = 0.02276. Of a million 22760. A
/// pair overlaps with the next one with 0.02276 * 0.455, and increases the probability of one k packets later by 0.2275 * 0.9 * 0.9^(k - 1): variance n
/// (0.0222 + 2 (0.0099 + 0.02276 * 0.2048 * 9)) = 0.126 n, standard deviation 355.
#[test]
fn the_four_parameters_are_those_of_netem() {
    let lost = million(&states([0.01, 0.09, 0.001, 0.5]));
    let losses = count(&lost);
    assert!((losses - 50_900.0).abs() < 5.0 * 672.0, "{losses}");
    let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64;
    assert!((pairs - 22_760.0).abs() < 5.0 * 355.0, "{pairs}");
}

/// ns-2.35's `ErrorModel/TwoStateMarkov` with 95 packets good and 5 bad loses packets that overlap the bad state
/// (`queue/errmodel.cc`): 1 - 0.95 e^(-1/95) = 5.995 % of packets, in runs of 0.05995 / (0.94005 (1 - e^(-1/95))) =
/// 6.09. Of a million it lost 60545 in 9975 runs with seed 1, 60617 in 9917 with seed 2. The standard deviation of
/// losses is 770 in each program, that of runs at most 100. The bound is five standard deviations of the difference.
#[test]
fn means_and_runs_are_those_of_ns2() {
    let lost = million(&runs(0.05995, 6.09));
    let (losses, starts) = (count(&lost), starts(&lost));
    for (expected, expected_starts) in [(60_545.0, 9_975.0), (60_617.0, 9_917.0)] {
        assert!((losses - expected).abs() < 5.0 * 1089.0, "{losses} and {expected}");
        assert!((starts - expected_starts).abs() < 5.0 * 141.0, "{starts} and {expected_starts}");
    }
}

#[test]
fn mean_and_run_equal_two_transitions() {
    assert_eq!(million(&runs(0.2, 4.0)), million(&states([0.0625, 0.25, 0.0, 1.0])));
}

/// Of 10000 channels 3000 lose their first packet, standard deviation sqrt(10000 * 0.3 * 0.7) = 45.8.
#[test]
fn the_initial_state_is_stationary() {
    let first = |seed| GilbertElliott::new(&runs(0.3, 2.0)).loses(&mut Random::new(seed, "loss"));
    let lost = (0..10_000).filter(|seed| first(*seed)).count();
    assert!(lost.abs_diff(3000) < 5 * 46, "{lost}");
}

/// A mean of one half in runs of one: every other packet, the shortest possible run.
#[test]
fn the_shortest_runs_leave_one_packet_between_two() {
    let lost = million(&runs(0.5, 1.0));
    assert!(lost.windows(2).all(|pair| pair[0] != pair[1]));
    // In floating point, 0.9 / (9 * 0.1) is above 1.
    let lost = million(&runs(0.9, 9.0));
    assert!(lost.windows(2).all(|pair| pair[0] || pair[1]));
    assert!(million(&runs(0.0, 3.0)).iter().all(|lost| !lost));
}

#[test]
fn errors_name_the_key() {
    let mixed = Options { to_bad: Probability::new(0.1), ..runs(0.1, 2.0) };
    let half = |options: Options, key: &str| match key {
        "mean" => Options { run: None, ..options },
        _ => Options { mean: None, ..options },
    };
    let states = |values: [Option<f64>; 4]| {
        let [to_bad, to_good, loss_good, loss_bad] = values.map(|value| value.and_then(Probability::new));
        Options { to_bad, to_good, loss_good, loss_bad, ..Options::preset(Dialect::Rfc) }
    };
    for (options, key, part) in [
        (Options::preset(Dialect::Rfc), "mean", "needs mean and run"),
        (half(runs(0.1, 2.0), "mean"), "run", "mean needs a run"),
        (half(runs(0.1, 2.0), "run"), "mean", "run needs a mean"),
        (mixed, "to_bad", "expected mean and run alone, or to_bad and to_good without them"),
        (runs(1.0, 2.0), "mean", "below 1"),
        (runs(0.1, 0.5), "run", "0.5 is out of range"),
        (runs(0.1, f64::NAN), "run", "out of range"),
        (runs(0.1, f64::INFINITY), "run", "out of range"),
        (
            runs(0.75, 2.0),
            "run",
            "2 is too short for a mean of 0.75, as a packet passes between two runs; expected 3.000 or more",
        ),
        (states([Some(0.1), None, None, None]), "to_good", "needs a to_good"),
        (states([None, Some(0.1), None, None]), "to_bad", "needs a to_bad"),
        (states([None, None, None, Some(0.1)]), "to_bad", "needs mean and run"),
        (states([Some(0.0), Some(0.0), None, None]), "to_bad", "the state of the channel is undefined"),
    ] {
        let error = options.check().unwrap_err();
        assert_eq!(error.key, key, "{error}");
        assert!(error.message.contains(part), "{error}");
    }
}
