//! Charts of samples over a parameter and of delays: values read from their axes, any style and any numbers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::reading::{Element, Panel, Points, number};
use headway_record::plot::{
    Chart, ChartBox, ChartLine, ChartPoint, Figure, Group, GroupPoint, LegendPlace, LineStyle, Run, RunDelays, Style,
    Sweep, XAxis, YAxis, delay_chart, figures, frame_chart,
};
use headway_record::{
    Distribution, Distributions, FlowDistributions, FlowLabel, FlowMeter, FlowPacket, Interval, Measured, SeriesNames,
    SeriesTable, WrittenFrame, metric,
};
use headway_units::{Duration, Instant, MediaKind};
use proptest::prelude::*;

const BLUE: &str = "#0072B2";
const VERMILION: &str = "#D55E00";

fn group(label: &str, points: &[(f64, &[f64])]) -> Group {
    let point = |(x, samples): &(f64, &[f64])| GroupPoint { x: *x, samples: samples.to_vec() };
    Group { label: label.to_owned(), points: points.iter().map(point).collect() }
}

fn sweep(x: XAxis, y: YAxis, groups: Vec<Group>) -> Sweep {
    Sweep {
        name: "sweep".into(),
        title: "Title".into(),
        x_title: "Rate (Mb/s)".into(),
        y_title: "Delay (ms)".into(),
        x,
        y,
        heading: "queue".into(),
        groups,
    }
}

/// Parses a label of a logarithmic axis.
fn log(label: &str) -> Option<f64> {
    label.parse().ok().map(f64::log10)
}

/// Returns the texts of a figure, in the order of drawing.
fn texts(figure: &Figure) -> Vec<String> {
    let elements = Element::all(&figure.svg);
    elements.iter().filter(|e| e.is("text")).map(|e| e.text.to_owned()).collect()
}

/// Returns the lines of this color and the standard width in the plot.
fn lines_of(elements: &[Element<'_>], panel: &Panel, color: &str) -> Vec<Points> {
    let of = |e: &&Element<'_>| e.is("polyline") && e.get("stroke") == color && e.get("stroke-width") == "7";
    let lines = elements.iter().filter(of).map(Element::points);
    lines.filter(|points| points.iter().all(|point| panel.holds(*point))).collect()
}

/// Returns the thin vertical strokes of this color in the plot.
fn bars_of(elements: &[Element<'_>], panel: &Panel, color: &str) -> Vec<Points> {
    let of = |e: &&Element<'_>| e.is("polyline") && e.get("stroke") == color && e.get("stroke-width") == "5";
    let strokes = elements.iter().filter(of).map(Element::points);
    strokes.filter(|p| p.len() == 2 && p[0].0 == p[1].0 && p.iter().all(|point| panel.holds(*point))).collect()
}

/// Student's t with 2 degrees of freedom is 4.302653. The samples 1, 2 and 3 have the mean 2 and the half interval
/// 4.302653 / sqrt(3) = 2.484138.
#[test]
fn means_and_intervals_are_drawn_at_their_coordinates() {
    let one: [(f64, &[f64]); 3] = [(100.0, &[4.0, 6.0, 5.0]), (1.0, &[1.0, 2.0, 3.0]), (10.0, &[7.0])];
    let other: [(f64, &[f64]); 2] = [(1.0, &[8.0, 8.0]), (100.0, &[9.5, f64::NAN])];
    let chart = sweep(XAxis::Logarithm, YAxis::Values, vec![group("red", &one), group("droptail", &other)]).lines();
    let figure = chart.draw().unwrap();
    let elements = Element::all(&figure.svg);
    let panel = &Panel::all(&elements, log, number)[0];
    let expected = [(0.0, 2.0), (1.0, 7.0), (2.0, 5.0)];
    panel.assert_shows(&lines_of(&elements, panel, BLUE)[0], &expected, "the line, from left to right");
    let circles = elements.iter().filter(|e| e.is("circle")).map(|e| (e.number("cx"), e.number("cy")));
    let marks: Points = circles.filter(|at| panel.holds(*at)).collect();
    panel.assert_shows(&marks, &expected, "its marks");
    let bars = bars_of(&elements, panel, BLUE);
    assert_eq!(bars.len(), 2, "one sample has no interval");
    for (bar, (x, mean)) in bars.iter().zip([(0.0, 2.0), (2.0, 5.0)]) {
        panel.assert_shows(bar, &[(x, mean - 2.484_138), (x, mean + 2.484_138)], "an interval");
    }
    panel.assert_shows(&lines_of(&elements, panel, VERMILION)[0], &[(0.0, 8.0), (2.0, 9.5)], "the other line");
    assert!(bars_of(&elements, panel, VERMILION).is_empty(), "equal samples have no interval");
    for expected in
        ["queue", "red", "droptail", "mean, 95 % of 2 to 3 runs", "Rate (Mb/s)", "Delay (ms)", "1", "10", "100"]
    {
        assert!(texts(&figure).iter().any(|found| found == expected), "{expected}: {:?}", texts(&figure));
    }
}

/// Groups differ in color, mark and dashes, in the plot and in the legend.
#[test]
fn groups_differ_in_marks_and_dashes() {
    let groups = (0..8).map(|n| group(&format!("g{n}"), &[(0.0, &[f64::from(n)]), (1.0, &[f64::from(n)])])).collect();
    let figure = sweep(XAxis::Numbers, YAxis::FromZero, groups).lines().draw().unwrap();
    let elements = Element::all(&figure.svg);
    let lines = elements.iter().filter(|e| e.is("polyline") && e.get("stroke-width") == "7");
    let mut looks: Vec<(&str, &str)> = lines.map(|e| (e.get("stroke"), e.get("stroke-dasharray"))).collect();
    assert_eq!(looks.len(), 16, "a line and a swatch for each group");
    looks.sort_unstable();
    looks.dedup();
    assert_eq!(looks.len(), 8, "swatches have the look of their lines: {looks:?}");
    let mut dashes: Vec<&str> = looks.iter().map(|(_, dashes)| *dashes).collect();
    dashes.sort_unstable();
    dashes.dedup();
    assert_eq!(dashes.len(), 8, "the dashes of all groups differ");
}

/// Categories have no lines between them. The marks of two groups are 0.35 of the distance of categories apart.
#[test]
fn groups_at_categories_are_marks_side_by_side() {
    let names: Vec<String> = ["droptail", "red", "codel"].map(str::to_owned).into();
    let points: [(f64, &[f64]); 3] = [(0.0, &[1.0]), (1.0, &[2.0]), (2.0, &[4.0])];
    let groups = vec![group("tfrc", &points), group("tcp", &points[..2])];
    let figure = sweep(XAxis::Places(names.clone()), YAxis::FromZero, groups).lines().draw().unwrap();
    let elements = Element::all(&figure.svg);
    let place = |label: &str| names.iter().position(|name| name == label).map(|at| at as f64);
    let panel = &Panel::all(&elements, place, number)[0];
    assert!(lines_of(&elements, panel, BLUE).is_empty());
    let circles = elements.iter().filter(|e| e.is("circle")).map(|e| (e.number("cx"), e.number("cy")));
    let marks: Points = circles.filter(|at| panel.holds(*at)).collect();
    panel.assert_shows(&marks, &[(-0.175, 1.0), (0.825, 2.0), (1.825, 4.0)], "circles");
    let squares = elements.iter().filter(|e| e.is("polygon") && e.get("fill") == VERMILION).map(Element::points);
    let middle = |p: Points| ((p[0].0 + p[2].0) / 2.0, (p[0].1 + p[2].1) / 2.0);
    let marks: Points = squares.map(middle).filter(|at| panel.holds(*at)).collect();
    panel.assert_shows(&marks, &[(0.175, 1.0), (1.175, 2.0)], "squares");
}

/// The samples 1, 2, 4, 7, 11 and 40 have the quartiles 2.5, 5.5 and 10, whiskers at 1 and 11, the outlier 40, and the
/// mean 65/6.
#[test]
fn a_box_has_quartiles_whiskers_and_outliers() {
    let points: [(f64, &[f64]); 3] = [(5.0, &[40.0, 7.0, 1.0, 11.0, 2.0, 4.0]), (20.0, &[3.0]), (80.0, &[])];
    let figure = sweep(XAxis::Numbers, YAxis::FromZero, vec![group("only", &points)]).boxes().draw().unwrap();
    let elements = Element::all(&figure.svg);
    // Numbers become categories, because a box has a width.
    let place = |label: &str| [5.0, 20.0, 80.0].iter().position(|x| label.parse() == Ok(*x)).map(|at| at as f64);
    let panel = &Panel::all(&elements, place, number)[0];
    let boxes: Vec<Points> = elements.iter().filter(|e| e.is("polygon")).map(Element::points).collect();
    assert_eq!(boxes.len(), 2, "an empty group has no box, and a single group no swatch");
    let half = 0.2;
    panel.assert_shows(&boxes[0], &[(-half, 2.5), (half, 2.5), (half, 10.0), (-half, 10.0)], "box");
    let bars = bars_of(&elements, panel, BLUE);
    panel.assert_shows(&bars[0], &[(0.0, 2.5), (0.0, 1.0)], "lower whisker");
    panel.assert_shows(&bars[1], &[(0.0, 10.0), (0.0, 11.0)], "upper whisker");
    let median: Vec<Points> =
        elements.iter().filter(|e| e.is("polyline") && e.get("stroke-width") == "10").map(Element::points).collect();
    panel.assert_shows(&median[0], &[(-half, 5.5), (half, 5.5)], "median");
    panel.assert_shows(&median[1], &[(1.0 - half, 3.0), (1.0 + half, 3.0)], "median of one sample");
    let circles = |hollow: bool| -> Points {
        let of = |e: &&Element<'_>| e.is("circle") && (e.get("fill") == "none") == hollow;
        elements.iter().filter(of).map(|e| (e.number("cx"), e.number("cy"))).collect()
    };
    panel.assert_shows(&circles(true), &[(0.0, 40.0)], "outliers");
    panel.assert_shows(&circles(false), &[(0.0, 65.0 / 6.0), (1.0, 3.0)], "means");
    assert!(!texts(&figure).iter().any(|found| found == "only" || found == "queue"), "a single group has no label");
}

/// Steps of a quarter at 1, 2, 2 and 5; marks at the quartiles.
#[test]
fn a_distribution_is_drawn_as_steps() {
    let samples: [(f64, &[f64]); 1] = [(0.0, &[5.0, 2.0, 1.0, 2.0])];
    for (complementary, y) in [(false, YAxis::FromZero), (true, YAxis::Values), (true, YAxis::Logarithm)] {
        let of = sweep(XAxis::Numbers, y, vec![group("one", &samples)]);
        let figure = of.distributions(complementary, XAxis::Numbers).draw().unwrap();
        let elements = Element::all(&figure.svg);
        let value = if y == YAxis::Logarithm { log } else { number };
        let panel = &Panel::all(&elements, number, value)[0];
        if y != YAxis::Logarithm {
            assert!((panel.y.pixel(0.0) - panel.bottom).abs() <= 2.0, "shares start at 0");
        }
        let line = &lines_of(&elements, panel, BLUE)[0];
        let up = [(1.0, 0.0), (1.0, 0.25), (2.0, 0.25), (2.0, 0.75), (5.0, 0.75), (5.0, 1.0)];
        let down = up.map(|(x, share)| (x, 1.0 - share));
        match (complementary, y) {
            // The share above the last sample is 0, which has no logarithm.
            (true, YAxis::Logarithm) => {
                let down: Points = down[..4].iter().map(|(x, share): &(f64, f64)| (*x, share.log10())).collect();
                panel.assert_shows(line, &down, "above, logarithmic axis");
            }
            (true, _) => panel.assert_shows(line, &down, "above"),
            _ => panel.assert_shows(line, &up, "up to"),
        }
        if y != YAxis::Logarithm {
            let circles = elements.iter().filter(|e| e.is("circle")).map(|e| (e.number("cx"), e.number("cy")));
            let marks: Points = circles.filter(|at| panel.holds(*at)).collect();
            // The smallest values that a quarter, a half and three quarters of the samples do not exceed.
            let quartiles = [(1.0, 0.25), (2.0, 0.5), (2.0, 0.75)];
            let turned = if complementary { quartiles.map(|(x, share)| (x, 1.0 - share)) } else { quartiles };
            let mut expected: Points = turned.to_vec();
            expected.sort_by(|a, b| a.1.total_cmp(&b.1));
            panel.assert_shows(&marks, &expected, "quartiles");
        }
    }
}

fn distributions(flows: &[(&str, &[(f64, u64)])]) -> Distributions {
    let flow = |(name, bins): &(&str, &[(f64, u64)])| FlowDistributions {
        name: (*name).to_owned(),
        one_way_delay_s: Some(Distribution { of: bins.iter().map(|bin| bin.1).sum(), bins: bins.to_vec() }),
        ..FlowDistributions::default()
    };
    Distributions { flows: flows.iter().map(flow).collect() }
}

fn labels(chart: &Chart) -> Vec<&str> {
    chart.lines.iter().map(|line| line.label.as_str()).collect()
}

/// Labels contain the flow if flows differ and the run if runs differ, as a value if one key differs. The common part
/// is in the title.
#[test]
fn legend_labels_contain_only_differences() {
    let (two, one) =
        (distributions(&[("video", &[(0.1, 1)]), ("ftp", &[(0.2, 1)])]), distributions(&[("video", &[(0.1, 1)])]));
    let chart = |runs: &[(&str, &Distributions)]| {
        let runs: Vec<_> = runs.iter().map(|(label, distributions)| RunDelays { label, distributions }).collect();
        delay_chart(&runs, XAxis::Numbers, false, None).unwrap()
    };
    let of = chart(&[("run", &two)]);
    assert_eq!((labels(&of), of.title.as_str()), (vec!["video", "ftp"], "One-way delay of packets that arrived: run"));
    let of = chart(&[("rate=1Mbps_kind=red", &one), ("rate=2Mbps_kind=red", &one)]);
    assert_eq!((labels(&of), of.heading.as_str()), (vec!["1Mbps", "2Mbps"], "rate"));
    assert!(of.title.ends_with(": kind=red, video"), "{}", of.title);
    let of = chart(&[("rate=1Mbps", &two), ("rate=2Mbps", &one)]);
    assert_eq!(labels(&of), ["1Mbps: video", "1Mbps: ftp", "2Mbps: video"]);
    // Runs that differ only in seeds are merged.
    let of = chart(&[("rate=1Mbps_seed=1", &one), ("rate=1Mbps_seed=2", &one), ("rate=2Mbps_seed=1", &one)]);
    assert_eq!((labels(&of), of.heading.as_str()), (vec!["1Mbps", "2Mbps"], "rate"));
    let of = chart(&[("seed=1", &one), ("seed=2", &one)]);
    assert_eq!(labels(&of), ["video"]);
}

#[test]
fn legend_labels_of_series_contain_only_differences() {
    let table = |flows: &[&str]| {
        let mut names = SeriesNames::default();
        let ids: Vec<_> = flows.iter().map(|flow| names.series(flow, metric::CWND)).collect();
        let mut writer = names.samples();
        for at in [1, 2] {
            ids.iter().for_each(|id| writer.push(*id, Instant::from_secs(at), 3.0));
        }
        let mut bytes = Vec::new();
        writer.finish(&mut bytes).unwrap();
        SeriesTable::from_ipc(&bytes).unwrap()
    };
    let draw = |runs: &[(&str, &SeriesTable)]| {
        let runs: Vec<_> = runs
            .iter()
            .map(|(label, series)| Run { label, series, interval: Interval { from: 0.0, to: f64::INFINITY } })
            .collect();
        texts(&figures(&runs, &Style::default()).unwrap()[0])
    };
    let (one, two) = (table(&["ftp"]), table(&["ftp", "call"]));
    let found = draw(&[("rate=1Mbps_seed=1", &one), ("rate=2Mbps_seed=1", &one)]);
    assert_eq!(found[0], "Congestion window of each flow: seed=1, ftp");
    assert_eq!(found[found.len() - 3..], ["rate", "1Mbps", "2Mbps"]);
    let found = draw(&[("red", &two), ("droptail", &one)]);
    assert_eq!(found[found.len() - 3..], ["red: ftp", "red: call", "droptail: ftp"]);
    // Ten seeds at two rates: a band for each rate.
    let runs: Vec<String> = (0..20).map(|n| format!("rate={}Mbps_seed={n}", n % 2)).collect();
    let found = draw(&runs.iter().map(|label| (label.as_str(), &one)).collect::<Vec<_>>());
    assert_eq!(
        found[found.len() - 4..],
        ["rate", "0Mbps (mean of 10)", "1Mbps (mean of 10)", "shaded: smallest to largest"]
    );
}

/// Fifty flows of one name are one line over the packets of all.
#[test]
fn many_flows_of_one_name_are_merged() {
    let names: Vec<String> = (1..=50).map(|n| format!("ftp-{n}")).collect();
    let bins = [(0.1, 1), (0.2, 3)];
    let flows: Vec<(&str, &[(f64, u64)])> = names.iter().map(|name| (name.as_str(), &bins[..])).collect();
    let distributions = distributions(&flows);
    let chart =
        delay_chart(&[RunDelays { label: "run", distributions: &distributions }], XAxis::Numbers, false, None).unwrap();
    assert_eq!(labels(&chart), ["ftp"]);
    let points: Points = chart.lines[0].points.iter().map(|point| (point.x, point.value)).collect();
    assert_eq!(points, [(100.0, 0.0), (100.0, 0.25), (200.0, 1.0)]);
    assert_eq!(chart.x_title, "One-way delay (ms)");
}

/// Distributions have the percentiles of the summary and round-trip through JSON.
#[test]
fn distributions_equal_those_of_the_summary() {
    let mut meter = FlowMeter::new(&Measured::between(Instant::ZERO, Instant::FAR_FUTURE));
    for n in 1..=1000u64 {
        let sent_at = Instant::from_millis(n);
        let packet = FlowPacket { sent_at, wire_bytes: 100, kind: MediaKind::Video, deadline: None };
        meter.sent(&packet);
        meter.received(sent_at + Duration::from_micros(n * n), &packet, 60);
        let frame = WrittenFrame { kind: MediaKind::Video, created: sent_at, deadline: Instant::FAR_FUTURE };
        meter.frame_written(&frame);
        if n % 4 == 0 {
            meter.frame_complete(sent_at + Duration::from_millis(n), &frame);
        }
    }
    let label = FlowLabel { name: "call".into(), ..FlowLabel::default() };
    let summary = meter.summary(label, Instant::from_secs(9));
    let distributions = Distributions { flows: vec![meter.distributions("call".into())] };
    assert_eq!(Distributions::from_json(&distributions.to_json()).unwrap(), distributions);
    let delays = distributions.flows[0].one_way_delay_s.as_ref().unwrap();
    let percentile = |percent: u64| {
        let mut remaining = (delays.of * percent).div_ceil(100);
        let reached = delays.bins.iter().find(|(_, count)| {
            let is_reached = remaining <= *count;
            remaining = remaining.saturating_sub(*count);
            is_reached
        });
        reached.unwrap().0
    };
    let one_way = summary.one_way_delay_s.unwrap();
    assert_eq!((percentile(50), percentile(95), percentile(99)), (one_way.p50, one_way.p95, one_way.p99));
    assert_eq!(delays.bins.iter().map(|bin| bin.1).sum::<u64>(), 1000);
    // Three of four frames are never complete, so that the curve ends at a quarter.
    let chart =
        frame_chart(&[RunDelays { label: "run", distributions: &distributions }], XAxis::Numbers, false, None).unwrap();
    assert_eq!(chart.lines[0].points.last().unwrap().value, 0.25);
    assert_eq!(summary.frames[&MediaKind::Video].complete_ratio, 0.25);
    assert_eq!(frame_chart(&[], XAxis::Numbers, false, None), None);
    assert!(Distributions::from_json("{\"flows\":[{\"name\":3}]}").is_err());
}

/// Asserts that all texts are within the figure and do not overlap. The assumed width of a character is half its
/// height.
fn assert_texts_fit(figure: &Figure) {
    let elements = Element::all(&figure.svg);
    let background = elements.iter().find(|e| e.is("rect")).unwrap();
    let (width, height) = (background.number("width"), background.number("height"));
    let mut boxes: Vec<(f64, f64, f64, f64, &str)> = Vec::new();
    for text in elements.iter().filter(|e| e.is("text") && !e.text.is_empty()) {
        let (x, y, size) = (text.number("x"), text.number("y"), text.number("font-size"));
        let length = 0.5 * size * text.text.chars().count() as f64;
        let along = match text.get("text-anchor") {
            "start" => (0.0, length),
            "end" => (-length, 0.0),
            _ => (-length / 2.0, length / 2.0),
        };
        let down = match text.get("dy") {
            "0.76em" => (0.0, size),
            "-0.5ex" => (-size, 0.0),
            _ => (-size / 2.0, size / 2.0),
        };
        // Rotated text runs upwards.
        let (left, right, top, bottom) = if text.get("transform").is_empty() {
            (x + along.0, x + along.1, y + down.0, y + down.1)
        } else {
            (x + down.0, x + down.1, y + along.0, y + along.1)
        };
        assert!(
            left >= 0.0 && right <= width && top >= 0.0 && bottom <= height,
            "{} at {left}..{right}, {top}..{bottom} of {width} x {height}",
            text.text
        );
        for (l, r, t, b, other) in &boxes {
            let is_apart = right <= *l || left >= *r || bottom <= *t + 1.0 || top + 1.0 >= *b;
            assert!(is_apart, "{} overlaps {other}", text.text);
        }
        boxes.push((left, right, top, bottom, text.text));
    }
}

#[test]
fn texts_fit_in_every_style() {
    let long = ["tcp-westwood", "spacing-equation", "tfrc-filtered", "tcp-newreno", "udpm", "tcp-like"];
    let points: Vec<(f64, &[f64])> = (0..6).map(|n| (f64::from(n), &[1e6, 2e6, 9e6][..])).collect();
    let groups: Vec<Group> =
        ["a controller with an extremely long name", "b", "c"].map(|label| group(label, &points)).into();
    let places = XAxis::Places(long.map(str::to_owned).into());
    let sizes = [(960, None), (800, Some(500)), (480, Some(320)), (300, Some(220)), (1600, Some(900))];
    let sizes = sizes.map(|(width, height)| (f64::from(width), height.map(f64::from)));
    for ((width, height), legend) in sizes
        .into_iter()
        .flat_map(|size| [LegendPlace::Right, LegendPlace::Below, LegendPlace::Hidden].map(|place| (size, place)))
    {
        for (font_size, title) in [(13.0, None), (20.0, Some(String::new())), (9.0, Some("A title of the user".into()))]
        {
            let style = Style { width, height, legend, font_size, title, ..Style::default() };
            let of = sweep(places.clone(), YAxis::FromZero, groups.clone());
            for chart in [of.lines(), of.boxes()] {
                assert_texts_fit(&chart.draw_styled(&style).unwrap());
            }
            let of = sweep(XAxis::Numbers, YAxis::FromZero, groups.clone());
            assert_texts_fit(&of.lines().draw_styled(&style).unwrap());
            assert_texts_fit(&of.distributions(false, XAxis::Logarithm).draw_styled(&style).unwrap());
        }
    }
}

#[test]
fn a_style_sets_titles_and_size() {
    let points: [(f64, &[f64]); 2] = [(1.0, &[1.0]), (2.0, &[3.0])];
    let chart = sweep(XAxis::Numbers, YAxis::Values, vec![group("a", &points), group("b", &points)]).lines();
    let style = Style {
        title: Some("Own".into()),
        x_title: Some("across".into()),
        y_title: Some("up".into()),
        width: 800.0,
        height: Some(500.0),
        ..Style::default()
    };
    let figure = chart.draw_styled(&style).unwrap();
    assert!(figure.svg.starts_with("<svg width=\"800\" height=\"500\" "), "{}", &figure.svg[..80]);
    let found = texts(&figure);
    for expected in ["Own", "across", "up", "a", "b"] {
        assert!(found.iter().any(|text| text == expected), "{expected}: {found:?}");
    }
    assert!(!found.iter().any(|text| ["Title", "Rate (Mb/s)", "Delay (ms)"].contains(&text.as_str())));
    let without =
        chart.draw_styled(&Style { title: Some(String::new()), legend: LegendPlace::Hidden, ..style }).unwrap();
    assert!(!texts(&without).iter().any(|text| ["Title", "a", "b"].contains(&text.as_str())));
    let figures = figures(&[], &Style::default()).unwrap();
    assert!(figures.is_empty());
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -1e3..1e3f64,
        Just(0.0),
        Just(-0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(5e-324),
        Just(1e15),
        Just(-1e15),
        Just(1e300),
    ]
}

fn any_style() -> impl Strategy<Value = Style> {
    let place = prop_oneof![Just(LegendPlace::Right), Just(LegendPlace::Below), Just(LegendPlace::Hidden)];
    let size = prop_oneof![0.0..2000.0, any::<f64>()];
    (size.clone(), prop::option::of(size), any::<f64>(), place, prop::option::of(any::<String>())).prop_map(
        |(width, height, font_size, legend, title)| Style {
            width,
            height,
            font_size,
            legend,
            title: title.clone(),
            x_title: title.clone(),
            names: title.iter().map(|title| ("a".to_owned(), title.clone())).collect(),
            y_title: title,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    /// No points, one point, NaN, huge numbers, negative numbers and 0, on any axes and in any style.
    #[test]
    fn any_sweep_can_be_drawn(
        groups in prop::collection::vec(
            (any::<String>(), prop::collection::vec((any_number(), prop::collection::vec(any_number(), 0..5)), 0..5)),
            0..12,
        ),
        names in prop::collection::vec(any::<String>(), 0..6),
        style in any_style(),
        (of_x, of_y, complementary) in (0..3usize, 0..3usize, any::<bool>()),
    ) {
        let group = |(label, points): &(String, Vec<(f64, Vec<f64>)>)| Group {
            label: label.clone(),
            points: points.iter().map(|(x, samples)| GroupPoint { x: *x, samples: samples.clone() }).collect(),
        };
        let x = [XAxis::Places(names), XAxis::Numbers, XAxis::Logarithm][of_x].clone();
        let y = [YAxis::Values, YAxis::FromZero, YAxis::Logarithm][of_y];
        let of = sweep(x.clone(), y, groups.iter().map(group).collect());
        let numbers = if matches!(x, XAxis::Places(_)) { XAxis::Numbers } else { x };
        for chart in [of.lines(), of.boxes(), of.distributions(complementary, numbers)] {
            let figure = chart.draw_styled(&style).unwrap();
            prop_assert!(figure.svg.len() < 1_000_000);
            figure.to_png(0.1).unwrap();
        }
    }

    #[test]
    fn any_chart_can_be_drawn(
        points in prop::collection::vec((any_number(), any_number(), any_number()), 0..20),
        boxes in prop::collection::vec((any_number(), any_number(), prop::collection::vec(any_number(), 0..5)), 0..4),
        color in any::<usize>(),
        style in any_style(),
        (of_x, of_y) in (0..3usize, 0..3usize),
    ) {
        use LineStyle::{Claimed, Marked, Marks, Mean, Measured, Reference, SingleRun, Steps};
        let points: Vec<ChartPoint> = points.into_iter().map(|(x, value, error)| ChartPoint { x, value, error }).collect();
        let styles = [Claimed, Reference, Measured, Mean, SingleRun, Marked, Marks, Steps];
        let line = |style: LineStyle| ChartLine { label: "l".into(), color, style, points: points.clone() };
        let chart = Chart {
            x: [XAxis::Places(vec!["a".into(), "b".into()]), XAxis::Numbers, XAxis::Logarithm][of_x].clone(),
            y: [YAxis::Values, YAxis::FromZero, YAxis::Logarithm][of_y],
            styles: styles.map(|style| (style, format!("{style:?}"))).into(),
            lines: styles.map(line).into(),
            boxes: boxes.into_iter().map(|(x, width, samples)| ChartBox { label: "b".into(), color, x, width, samples }).collect(),
            ..sweep(XAxis::Numbers, YAxis::Values, vec![]).lines()
        };
        chart.draw_styled(&style).unwrap().to_png(0.1).unwrap();
    }
}
