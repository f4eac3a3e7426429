//! Agreement with ns-2, by hand, and the number of runs of a number of several points.

use headway_papers::{Bound, Check, Measured, Paper, Profile, Reduce, Reference, Results, Share, ShareOf, Values};
use std::collections::BTreeMap;

/// Returns numbers with the mean `mean` and the standard deviation 1, for an even `runs`: mean +- sqrt((runs - 1) /
/// runs).
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

/// The margin of the throughput is 2 %: 2 of ns-2's 100. The interval of the difference of two means of ten runs with
/// standard deviation 1 is t(18) sqrt(1/10 + 1/10) = 2.100922 x 0.447214 = 0.939561 (that of ns-2's mean: 2.262157 /
/// sqrt 10 = 0.715357). So 101 agrees (1.94), 101.1 does not (2.04), and 102.5 does not although its interval overlaps
/// the margin.
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
    assert_eq!(agreement(runs(100.0, 8)), [], "eight runs are too few, regardless of the runs of ns-2");
}

/// One point has ten runs and the other six: a number of both has six.
#[test]
fn a_curve_has_the_smallest_number_of_runs() {
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
