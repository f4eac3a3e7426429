//! Agreement with ns-2, worked by hand; and how many runs stand behind a number of several points.

use headway_papers::{Bound, Check, Measured, Paper, Profile, Reduce, Reference, Results, Share, ShareOf, Values};
use std::collections::BTreeMap;

/// Numbers of mean `mean` and standard deviation 1: with an even `runs`, half of them above by sqrt((runs - 1) / runs), half below.
fn runs(mean: f64, runs: u64) -> Vec<f64> {
    let half = ((runs as f64 - 1.0) / runs as f64).sqrt();
    (0..runs).map(|run| if run % 2 == 0 { mean + half } else { mean - half }).collect()
}

fn measured(cells: &[(&str, &'static str, Vec<f64>)]) -> Measured {
    let mut measured = Measured::default();
    for (cell, metric, values) in cells {
        for (seed, value) in (1..).zip(values) {
            measured.add(cell, seed, false, Values::from([((*metric).to_owned(), *value)]));
        }
    }
    measured
}

/// The margin of the throughput is 2 %: 2 of ns-2's 100. Two means of ten runs with standard deviation 1 differ by chance by
/// t(18) sqrt(1/10 + 1/10) = 2.100922 x 0.447214 = 0.939561 (ns-2's own interval: 2.262157 / sqrt 10 = 0.715357). So 101 agrees,
/// with 1.94; 101.1 does not, with 2.04; nor does 102.5, though chance could bring it within.
#[test]
fn the_whole_interval_of_the_difference_lies_inside_the_margin() {
    const CELL: &str = "droptail.tcp.3";
    let ns2 = format!("cell,metric,mean,ci95,runs\n{CELL},throughput_kbps,100,0.715357,10\n");
    let paper = Paper::find("lan-queues").unwrap();
    let (claims, ns2) = (paper.claims().unwrap(), Reference::parse(&ns2).unwrap());
    let agreement = |values: Vec<f64>| {
        let measured = measured(&[(CELL, "throughput_kbps", values)]);
        Results::new(paper, &claims, &ns2, Profile::Default, &measured, BTreeMap::new()).agreement
    };
    for (mean, agrees) in [(101.0, true), (99.0, true), (101.1, false), (98.9, false), (102.5, false), (97.5, false)] {
        let found = agreement(runs(mean, 10));
        let [one] = &found[..] else { panic!("{found:?}") };
        assert!((one.difference - (mean - 100.0)).abs() < 1e-4, "{one:?}");
        assert!((one.ci95.unwrap() - 0.939_56).abs() < 1e-4 && (one.margin - 2.0).abs() < 1e-9, "{one:?}");
        assert_eq!(one.agrees, agrees, "{mean}");
    }
    assert_eq!(agreement(runs(100.0, 8)), [], "eight runs prove nothing, however many ns-2 had");
}

/// Ten runs at one point and six at the other: six stand behind what is said of both.
#[test]
fn a_curve_has_the_runs_of_its_least_point() {
    let measured = measured(&[
        ("a", "m", runs(5.0, 10)),
        ("b", "m", runs(5.0, 6)),
        ("c", "m", runs(1.0, 10)),
        ("d", "m", runs(1.0, 10)),
    ]);
    for reduce in
        [Reduce::Share(Share { of: ShareOf::Above, times: 1.0, where_second_below: None }), Reduce::SpreadRatio]
    {
        let cells = ["a", "b", "c", "d"].map(str::to_owned).into();
        let check = Check { metric: "m".to_owned(), cells, reduce, bound: Bound::AtLeast(0.0) };
        let found = measured.of(&check).unwrap();
        assert_eq!(found.runs, 6, "{reduce:?}");
    }
}
