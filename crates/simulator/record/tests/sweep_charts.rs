//! Charts that a sweep makes: labels, headings, lines and boxes as `docs/src/plots.md` defines them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::reading::Element;
use headway_record::plot::{
    Chart, ChartPoint, Group, GroupPoint, LegendPlace, LineStyle, Style, Sweep, SweepChart, XAxis, YAxis, is_drawable,
    whole_intervals,
};

fn group(label: &str, points: &[(f64, &[f64])]) -> Group {
    let point = |(x, samples): &(f64, &[f64])| GroupPoint { x: *x, samples: samples.to_vec() };
    Group { label: label.to_owned(), points: points.iter().map(point).collect() }
}

fn sweep(x: XAxis, groups: Vec<Group>) -> Sweep {
    Sweep {
        name: "sweep".into(),
        title: "Title".into(),
        x_title: "Rate (Mb/s)".into(),
        y_title: "Delay (ms)".into(),
        x,
        y: YAxis::Values,
        heading: "queue".into(),
        groups,
    }
}

fn places(names: &[&str]) -> XAxis {
    XAxis::Places(names.iter().map(|name| (*name).to_owned()).collect())
}

fn labels(chart: &Chart) -> Vec<&str> {
    chart.lines.iter().map(|line| line.label.as_str()).collect()
}

fn points(points: &[ChartPoint]) -> Vec<(f64, f64)> {
    points.iter().map(|point| (point.x, point.value)).collect()
}

/// The legend states of how many runs the means are, and that intervals have 95 %. One run has no mean.
#[test]
fn the_legend_of_means_states_the_number_of_runs() {
    let [one, three, other_three, equal]: [&[f64]; 4] = [&[7.0], &[1.0, 2.0, 3.0], &[5.0, 6.0, 9.0], &[4.0, 4.0, 4.0]];
    let five: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0];
    let with_nan: &[f64] = &[1.0, f64::NAN, 3.0, 4.0];
    for (samples, expected) in [
        (vec![three, other_three], Some("mean, 95 % of 3 runs")),
        (vec![three, five], Some("mean, 95 % of 3 to 5 runs")),
        (vec![five, three, three], Some("mean, 95 % of 3 to 5 runs")),
        // Equal samples have no interval, and a sample that is not a number is left out.
        (vec![equal, equal], Some("mean of 3 runs")),
        (vec![equal, with_nan], Some("mean, 95 % of 3 runs")),
        (vec![one, equal], Some("mean of 3 runs")),
        (vec![one, one], None),
        (vec![], None),
    ] {
        let all: Vec<(f64, &[f64])> = samples.iter().zip(0..).map(|(samples, x)| (f64::from(x), *samples)).collect();
        for (x, style) in [(XAxis::Numbers, LineStyle::Marked), (places(&["a", "b", "c"]), LineStyle::Marks)] {
            let found = sweep(x, vec![group("red", &all)]).lines().styles;
            let expected: Vec<(LineStyle, String)> =
                expected.iter().map(|words| (style, (*words).to_owned())).collect();
            assert_eq!(found, expected, "{samples:?}");
        }
        // The runs of all groups count.
        let apart = all.iter().map(|point| group("red", &[*point])).collect();
        let found = sweep(XAxis::Numbers, apart).lines().styles;
        assert_eq!(found.first().map(|(_, words)| words.as_str()), expected, "{samples:?}");
    }
}

/// Student's t of 2 degrees of freedom is 4.302653: half the interval of 1, 2 and 3 is 4.302653 / sqrt(3).
#[test]
fn a_line_has_the_mean_and_interval_of_each_point() {
    let red: [(f64, &[f64]); 4] =
        [(20.0, &[1.0, 2.0, 3.0]), (5.0, &[7.0]), (10.0, &[1e15, 1.1e15]), (15.0, &[f64::INFINITY])];
    let codel: [(f64, &[f64]); 1] = [(5.0, &[1.0, 2.0])];
    let chart = sweep(XAxis::Logarithm, vec![group("red", &red), group("codel", &codel)]).lines();
    assert_eq!(labels(&chart), ["red", "codel"]);
    assert_eq!(chart.lines.iter().map(|line| line.color).collect::<Vec<_>>(), [0, 1]);
    assert!(chart.lines.iter().all(|line| line.style == LineStyle::Marked));
    // From left to right; 10^15 can be drawn, larger numbers cannot.
    assert_eq!(points(&chart.lines[0].points), [(5.0, 7.0), (10.0, 1e15), (20.0, 2.0)]);
    let errors: Vec<f64> = chart.lines[0].points.iter().map(|point| point.error).collect();
    assert_eq!(errors[..2], [0.0, 0.0]);
    assert!((errors[2] - 4.302_653 / 3.0_f64.sqrt()).abs() < 1e-6, "{errors:?}");
    assert_eq!((chart.name.as_str(), chart.title.as_str()), ("sweep", "Title"));
    assert_eq!((chart.x_title.as_str(), chart.y_title.as_str()), ("Rate (Mb/s)", "Delay (ms)"));
    assert_eq!((chart.x, chart.y, chart.heading.as_str()), (XAxis::Logarithm, YAxis::Values, "queue"));
    assert!(chart.boxes.is_empty());
}

/// Groups have 0.7 of the distance between places: two are 0.35 apart, three 0.7 / 3. One is at its place, without a label.
#[test]
fn groups_are_side_by_side_at_places() {
    let all: [(f64, &[f64]); 2] = [(0.0, &[1.0]), (1.0, &[2.0])];
    let xs = |many: usize| -> Vec<Vec<f64>> {
        let groups = ["a", "b", "c"][..many].iter().map(|label| group(label, &all)).collect();
        let chart = sweep(places(&["p", "q"]), groups).lines();
        assert!(chart.lines.iter().all(|line| line.style == LineStyle::Marks));
        chart.lines.iter().map(|line| line.points.iter().map(|point| point.x).collect()).collect()
    };
    let third = 0.7 / 3.0;
    for (many, shifts) in [(1, vec![0.0]), (2, vec![-0.175, 0.175]), (3, vec![-third, 0.0, third])] {
        let found = xs(many);
        assert_eq!(found.len(), many);
        for (xs, shift) in found.iter().zip(shifts) {
            assert_eq!(xs.len(), 2);
            assert!((xs[0] - shift).abs() < 1e-12 && (xs[1] - 1.0 - shift).abs() < 1e-12, "{xs:?}: {shift}");
        }
    }
    // Numbers stay where they are.
    let chart = sweep(XAxis::Numbers, vec![group("a", &all), group("b", &all)]).lines();
    assert!(chart.lines.iter().all(|line| points(&line.points) == [(0.0, 1.0), (1.0, 2.0)]));
    assert_eq!(labels(&sweep(XAxis::Numbers, vec![group("a", &all)]).lines()), [""]);
    assert!(sweep(XAxis::Numbers, vec![]).lines().lines.is_empty());
}

/// Numbers become places in rising order. A box has 0.8 of its group's part of the distance, and 0.4 at most: 0.56 of one group is 0.4,
/// two groups have 0.28 each.
#[test]
fn boxes_are_side_by_side_at_places() {
    let one: [(f64, &[f64]); 2] = [(50.0, &[1.0, f64::NAN]), (2.5, &[2.0])];
    let other: [(f64, &[f64]); 2] = [(10.0, &[3.0]), (f64::NAN, &[4.0])];
    let chart = sweep(XAxis::Numbers, vec![group("red", &one), group("codel", &other)]).boxes();
    assert_eq!(chart.x, places(&["2.5", "10", "50"]));
    let found: Vec<(&str, usize, usize)> =
        chart.boxes.iter().map(|of| (of.label.as_str(), of.color, of.samples.len())).collect();
    assert_eq!(found, [("red", 0, 2), ("red", 0, 1), ("codel", 1, 1)]);
    for (of, (x, width)) in chart.boxes.iter().zip([(1.825, 0.28), (-0.175, 0.28), (1.175, 0.28)]) {
        assert!((of.x - x).abs() < 1e-12 && (of.width - width).abs() < 1e-12, "{of:?}: {x}");
    }
    assert_eq!((chart.heading.as_str(), chart.x_title.as_str(), chart.lines.len()), ("queue", "Rate (Mb/s)", 0));
    let alone = sweep(places(&["p", "q"]), vec![group("red", &[(1.0, &[1.0]), (2.0, &[1.0])])]).boxes();
    assert_eq!(alone.x, places(&["p", "q"]));
    // There are two places, from 0.
    assert_eq!(alone.boxes.len(), 1);
    assert_eq!((alone.boxes[0].label.as_str(), alone.boxes[0].x, alone.boxes[0].width), ("", 1.0, 0.4));
    let three: Vec<Group> = ["a", "b", "c"].map(|label| group(label, &[(0.0, &[1.0])])).into();
    let chart = sweep(places(&["p"]), three).boxes();
    let third = 0.7 / 3.0;
    for (of, x) in chart.boxes.iter().zip([-third, 0.0, third]) {
        assert!((of.x - x).abs() < 1e-12 && (of.width - 0.8 * third).abs() < 1e-12, "{of:?}: {x}");
    }
}

/// A line is named after its group if there are several groups, and after its point if there are several points. The heading is that of the
/// groups, or of the points of an only group.
#[test]
fn distributions_are_named_after_what_differs() {
    let two: [(f64, &[f64]); 2] = [(2.5, &[1.0]), (10.0, &[2.0])];
    for (groups, expected, heading) in [
        (
            vec![group("red", &two), group("codel", &two)],
            vec!["red: 2.5", "red: 10", "codel: 2.5", "codel: 10"],
            "queue",
        ),
        (vec![group("red", &two[..1]), group("codel", &two[1..])], vec!["red: 2.5", "codel: 10"], "queue"),
        (vec![group("red", &two[1..]), group("codel", &two[1..])], vec!["red", "codel"], "queue"),
        (vec![group("red", &two)], vec!["2.5", "10"], "Rate (Mb/s)"),
        (vec![group("red", &two[..1])], vec![""], "Rate (Mb/s)"),
        (vec![], vec![], "Rate (Mb/s)"),
    ] {
        let chart = sweep(XAxis::Numbers, groups).distributions(false, XAxis::Numbers);
        assert_eq!((labels(&chart), chart.heading.as_str()), (expected, heading));
        assert!(chart.lines.iter().all(|line| line.style == LineStyle::Steps));
        let colors: Vec<usize> = chart.lines.iter().map(|line| line.color).collect();
        assert_eq!(colors, (0..colors.len()).collect::<Vec<_>>());
    }
    let of = sweep(places(&["droptail", "red"]), vec![group("tcp", &[(1.0, &[1.0]), (0.0, &[2.0])])]);
    assert_eq!(labels(&of.distributions(false, XAxis::Numbers)), ["red", "droptail"]);
}

/// Of 5, 2, 1 and 2 a quarter does not exceed 1, three quarters do not exceed 2, and all do not exceed 5.
#[test]
fn distributions_are_shares_of_runs() {
    let samples: [(f64, &[f64]); 1] = [(1.0, &[5.0, 2.0, f64::NAN, 1.0, 2.0])];
    let of = sweep(XAxis::Numbers, vec![group("red", &samples)]);
    let chart = of.distributions(false, XAxis::Logarithm);
    assert_eq!(points(&chart.lines[0].points), [(1.0, 0.0), (1.0, 0.25), (2.0, 0.5), (2.0, 0.75), (5.0, 1.0)]);
    assert_eq!((chart.x_title.as_str(), chart.y_title.as_str()), ("Delay (ms)", "Cumulative share of runs"));
    assert_eq!((chart.x, chart.y), (XAxis::Logarithm, YAxis::FromZero));
    let chart = of.distributions(true, XAxis::Numbers);
    assert_eq!(points(&chart.lines[0].points), [(1.0, 1.0), (1.0, 0.75), (2.0, 0.5), (2.0, 0.25), (5.0, 0.0)]);
    assert_eq!((chart.y_title.as_str(), chart.y), ("Share of runs above this", YAxis::FromZero));
    let logarithmic = Sweep { y: YAxis::Logarithm, ..of }.distributions(true, XAxis::Numbers);
    assert_eq!(logarithmic.y, YAxis::Logarithm);
    let empty = sweep(XAxis::Numbers, vec![group("red", &[(1.0, &[f64::NAN])])]).distributions(false, XAxis::Numbers);
    assert_eq!(points(&empty.lines[0].points), []);
}

/// On a logarithmic axis a point at or below 0 has no place; among places one has from half a distance before the first to half after the last.
#[test]
fn points_without_a_place_are_counted() {
    let all: [(f64, &[f64]); 5] = [(-1.0, &[1.0]), (0.0, &[1.0]), (1.0, &[1.0]), (2.0, &[1.0]), (3.0, &[1.0])];
    let groups = || vec![group("a", &all), group("b", &all)];
    for (x, expected) in [(XAxis::Numbers, 0), (XAxis::Logarithm, 4)] {
        assert_eq!(sweep(x, groups()).lines().omitted_points(), expected);
    }
    // Of one group at three places, -1 and 3 have none.
    assert_eq!(sweep(places(&["p", "q", "r"]), vec![group("a", &all)]).lines().omitted_points(), 2);
    let line = |x: f64| {
        let mut chart = sweep(places(&["p", "q"]), vec![group("a", &[(0.0, &[1.0])])]).lines();
        chart.lines[0].points[0].x = x;
        chart.omitted_points()
    };
    assert_eq!([-0.5, -0.49, 1.49, 1.5].map(line), [1, 0, 0, 1]);
}

/// After at least three intervals a last one is whole if it has 0.9 of the shortest of them.
#[test]
fn a_last_interval_is_whole_from_nine_tenths_on() {
    let of = |last: f64| whole_intervals(&[0.0, 10.0, 20.0, 30.0, last]);
    assert_eq!([39.5, 39.0, 38.9, 31.0].map(of), [5, 5, 4, 4]);
    // The shortest of 10, 20 and 5 is 5.
    assert_eq!([39.5, 39.4].map(|last| whole_intervals(&[0.0, 10.0, 30.0, 35.0, last])), [5, 4]);
    assert_eq!(whole_intervals(&[0.0, 10.0, 20.0, 21.0]), 4, "two intervals before it are too few");
}

/// Numbers up to 10^15 can be drawn.
#[test]
fn numbers_up_to_a_bound_can_be_drawn() {
    assert!([0.0, -3.5, 1e15, -1e15].into_iter().all(is_drawable));
    assert!(![1.000_001e15, -1.000_001e15, f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().any(is_drawable));
}

/// At most eight lines or boxes share a panel. Panels have the same axes, and every group is in a legend. More than six
/// panels would be too small.
#[test]
fn a_panel_shows_at_most_eight_groups() {
    let samples: [&[f64]; 2] = [&[1.0, 2.0, 4.0], &[5.0, 6.0, 9.0]];
    for (chart, x, y_title, x_title, tick) in [
        (SweepChart::Lines, XAxis::Numbers, "Delay (ms)", "Rate (Mb/s)", "5"),
        (SweepChart::Lines, places(&["a", "b"]), "Delay (ms)", "Rate (Mb/s)", "5"),
        (SweepChart::Boxes, places(&["a", "b"]), "Delay (ms)", "Rate (Mb/s)", "4"),
        (SweepChart::Distributions, places(&["a"]), "Cumulative share of runs", "Delay (ms)", "0.4"),
    ] {
        for (groups, expected) in [(8, 1), (9, 2), (20, 3), (48, 6), (49, 1)] {
            let names: Vec<String> = (0..groups).map(|number| format!("q{number}")).collect();
            let points: &[(f64, &[f64])] = if chart == SweepChart::Distributions {
                &[(0.0, samples[0])]
            } else {
                &[(0.0, samples[0]), (1.0, samples[1])]
            };
            let groups = names.iter().map(|name| group(name, points)).collect();
            for legend in [LegendPlace::Right, LegendPlace::Below] {
                let style = Style { legend, ..Style::default() };
                let figure = sweep(x.clone(), Vec::clone(&groups)).draw(chart, &style).unwrap();
                let texts: Vec<&str> = Element::all(&figure.svg).iter().map(|element| element.text).collect();
                let count = |text: &str| texts.iter().filter(|found| **found == text).count();
                let panels = texts.iter().filter(|text| text.starts_with(y_title)).count();
                assert_eq!((panels, count(x_title)), (expected, 1), "{chart:?}, {} groups", names.len());
                if expected > 1 {
                    assert!(names.iter().all(|name| count(name) == 1), "{chart:?}, {legend:?}: {texts:?}");
                }
                assert_eq!(count(tick), expected, "{chart:?}: {tick}");
            }
        }
    }
}
