//! Values read from figures by the labels of their axes, compared with the samples.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::reading::{Element, Panel, Points, lines, number};
use headway_record::plot::{Chart, ChartLine, ChartPoint, Figure, LineStyle, Run, Style, XAxis, YAxis, figures};
use headway_record::{Interval, SeriesNames, SeriesTable, metric};
use headway_units::Instant;

/// `(entity, metric, [(seconds, value)])`.
fn table(series: &[(String, &str, Points)]) -> SeriesTable {
    let mut names = SeriesNames::default();
    let ids: Vec<_> = series.iter().map(|(entity, metric, _)| names.series(entity, metric)).collect();
    let mut writer = names.samples();
    for (id, (.., points)) in ids.into_iter().zip(series) {
        for (at, value) in points {
            writer.push(id, Instant::from_nanos((at * 1e9).round() as u64), *value);
        }
    }
    let mut bytes = Vec::new();
    writer.finish(&mut bytes).unwrap();
    SeriesTable::from_ipc(&bytes).unwrap()
}

fn draw(series: &[(String, &str, Points)]) -> Vec<Figure> {
    figures(
        &[Run { label: "run", series: &table(series), interval: Interval { from: 0.0, to: f64::INFINITY } }],
        &Style::default(),
    )
    .unwrap()
}

fn times(points: &[(f64, f64)], factor: f64) -> Points {
    points.iter().map(|(at, value)| (*at, value * factor)).collect()
}

const SHAPE: [(f64, f64); 5] = [(1.3, 3.0), (2.0, 0.5), (4.75, 8.1), (6.0, 8.1), (9.4, 1.7)];

/// Each metric has its figure, whose lines show the samples in the unit of the axis title.
#[test]
fn lines_show_the_samples() {
    for (of, name, unit, divisor, factor) in [
        (metric::THROUGHPUT, "throughput", "Throughput (kb/s)", 1e3, 1e5),
        (metric::THROUGHPUT, "throughput", "Throughput (Mb/s)", 1e6, 1e6),
        (metric::THROUGHPUT, "throughput", "Throughput (Gb/s)", 1e9, 3e9),
        (metric::ALLOWED_RATE, "allowed-rate", "Rate (kb/s)", 1e3, 1e4),
        (metric::CWND, "cwnd", "Window (packets)", 1.0, 7.0),
        (metric::RTT, "rtt", "Round-trip time (ms)", 1e-3, 0.01),
        (metric::RTT, "rtt", "Round-trip time (s)", 1.0, 1.0),
        (metric::LOSS_EVENT_RATE, "loss-events", "Loss event rate", 1.0, 0.1),
        (metric::LOSS, "loss", "Lost (packets)", 1.0, 100.0),
    ] {
        let (one, other) = (times(&SHAPE, factor), times(&SHAPE[1..4], factor / 3.0));
        let drawn = draw(&[("one".into(), of, one.clone()), ("other".into(), of, other.clone())]);
        assert_eq!(drawn.iter().map(|figure| figure.name.as_str()).collect::<Vec<_>>(), [name]);
        assert!(drawn[0].svg.contains(unit), "{unit}");
        let elements = Element::all(&drawn[0].svg);
        let panels = Panel::all(&elements, number, number);
        let [panel] = &panels[..] else { panic!("{} panels", panels.len()) };
        let found = lines(&elements, panel);
        assert_eq!(found.len(), 2, "{name}");
        panel.assert_shows(&found[0], &times(&one, 1.0 / divisor), name);
        panel.assert_shows(&found[1], &times(&other, 1.0 / divisor), name);
    }
}

/// Each flow has a panel with a line for each of its rates. A flow without a sending rate, such as that of a record of an
/// earlier version, has none.
#[test]
fn the_rates_of_a_flow_share_a_panel() {
    let of = |factor: f64| times(&SHAPE, factor);
    let drawn = draw(&[
        ("video".into(), metric::ALLOWED_RATE, of(4e5)),
        ("video".into(), metric::SENDING_RATE, of(3e5)),
        ("video".into(), metric::ENCODER_RATE, of(2e5)),
        ("data".into(), metric::SENDING_RATE, of(1e6)),
        ("data".into(), metric::ALLOWED_RATE, of(1.5e6)),
        ("old".into(), metric::ALLOWED_RATE, of(1e5)),
    ]);
    let figure = drawn.iter().find(|figure| figure.name == "rates").unwrap();
    let elements = Element::all(&figure.svg);
    let panels = Panel::all(&elements, number, number);
    let [video, data] = &panels[..] else { panic!("{} panels", panels.len()) };
    for (panel, factors) in [(video, &[0.3, 0.4, 0.2][..]), (data, &[1.0, 1.5])] {
        let found = lines(&elements, panel);
        assert_eq!(found.len(), factors.len());
        found.iter().zip(factors).for_each(|(line, factor)| panel.assert_shows(line, &of(*factor), "a rate"));
    }
    let texts: Vec<&str> = elements.iter().filter(|e| e.is("text")).map(|e| e.text).collect();
    for expected in ["video", "data", "sending rate", "allowed rate", "encoder rate", "Rate (Mb/s)"] {
        assert!(texts.contains(&expected), "{expected}: {texts:?}");
    }
    assert!(!texts.contains(&"old"), "{texts:?}");
}

/// A mean rate over the short last interval of a run is that of a few packets.
#[test]
fn a_sending_rate_over_a_short_interval_is_not_drawn() {
    let samples = |last: f64| -> Points { (1..=5).map(|n| (f64::from(n), 2e6)).chain([(last, 9e6)]).collect() };
    for (last, count) in [(5.2, 5), (6.0, 6)] {
        let drawn = draw(&[("f".into(), metric::SENDING_RATE, samples(last))]);
        let elements = Element::all(&drawn[0].svg);
        let panel = &Panel::all(&elements, number, number)[0];
        assert_eq!(lines(&elements, panel)[0].len(), count, "until {last} s");
    }
}

/// Six flows of two names have a panel for each name, with the mean of each rate. Of five names, the four fastest have a
/// panel.
#[test]
fn many_flows_share_a_panel_of_rates() {
    let flow = |name: String, rate: f64| {
        [(name.clone(), metric::SENDING_RATE, rate), (name, metric::ALLOWED_RATE, 2.0 * rate)]
            .map(|(name, metric, rate)| (name, metric, vec![(1.0, rate), (2.0, rate)]))
    };
    let figure = |flows: Vec<(String, f64)>| {
        let all: Vec<_> = flows.into_iter().flat_map(|(name, rate)| flow(name, rate)).collect();
        draw(&all).into_iter().find(|figure| figure.name == "rates").unwrap()
    };
    let named = (1..=5).map(|n| (format!("tfrc-{n}"), f64::from(n) * 1e6)).chain([("call".into(), 2e6)]);
    let drawn = figure(named.collect());
    let elements = Element::all(&drawn.svg);
    let panels = Panel::all(&elements, number, number);
    assert_eq!(panels.len(), 2);
    let found = lines(&elements, &panels[0]);
    panels[0].assert_shows(&found[0], &[(1.0, 3.0), (2.0, 3.0)], "mean of 1 to 5 Mb/s");
    panels[0].assert_shows(&found[1], &[(1.0, 6.0), (2.0, 6.0)], "mean of 2 to 10 Mb/s");
    let drawn = figure(["a", "b", "c", "d", "e"].into_iter().zip(2..).map(|(n, r)| (n.into(), f64::from(r))).collect());
    let elements = Element::all(&drawn.svg);
    let texts: Vec<&str> = elements.iter().filter(|e| e.is("text")).map(|e| e.text).collect();
    assert!(texts.iter().any(|text| text.contains("the 4 fastest of 5")), "{texts:?}");
    assert!(!texts.contains(&"a") && texts.contains(&"e"), "{texts:?}");
}

/// Twelve flows: at each time the minimum, the maximum and the mean of the flows with a sample.
#[test]
fn a_band_is_from_the_minimum_to_the_maximum() {
    let flow = |n: u32| -> (String, &str, Points) {
        let n_f = f64::from(n);
        let mut points = vec![(0.0, n_f), (2.5, 20.0 - n_f), (5.0, n_f * n_f / 4.0)];
        if n <= 4 {
            points.push((8.0, 2.0 * n_f));
        }
        (format!("ftp-{n}"), metric::CWND, points)
    };
    let drawn = draw(&(1..=12).map(flow).collect::<Vec<_>>());
    let elements = Element::all(&drawn[0].svg);
    let panel = &Panel::all(&elements, number, number)[0];
    // 1 to 12: sum 78, sum of squares 650; 2, 4, 6 and 8: mean 5.
    let mean = [(0.0, 6.5), (2.5, 13.5), (5.0, 650.0 / 48.0), (8.0, 5.0)];
    panel.assert_shows(&lines(&elements, panel)[0], &mean, "mean");
    let band: Vec<Points> = elements.iter().filter(|e| e.is("polygon")).map(Element::points).collect();
    let outline = [(0.0, 1.0), (2.5, 8.0), (5.0, 0.25), (8.0, 2.0), (8.0, 8.0), (5.0, 36.0), (2.5, 19.0), (0.0, 12.0)];
    assert_eq!(band.len(), 1);
    panel.assert_shows(&band[0], &outline, "band");
}

/// Each link has a panel with a separate scale, the longest mean queue first. RED's average is drawn over its queue.
#[test]
fn each_queue_has_a_separate_axis() {
    let (short, long) = (times(&SHAPE, 0.5), times(&SHAPE, 11.0));
    let average = times(&SHAPE[..4], 6.0);
    let drawn = draw(&[
        ("a->b".into(), metric::QUEUE, short.clone()),
        ("b->c".into(), metric::QUEUE, long.clone()),
        ("b->c".into(), metric::RED_AVERAGE, average.clone()),
    ]);
    let elements = Element::all(&drawn[0].svg);
    let panels = Panel::all(&elements, number, number);
    assert_eq!(panels.len(), 2);
    let [upper, lower] = [&panels[0], &panels[1]].map(|panel| lines(&elements, panel));
    assert_eq!((upper.len(), lower.len()), (2, 1));
    panels[0].assert_shows(&upper[0], &steps(&long), "b->c, queue");
    panels[0].assert_shows(&upper[1], &steps(&average), "b->c, average");
    panels[1].assert_shows(&lower[0], &steps(&short), "a->b, queue");
}

/// A line of one point is invisible.
#[test]
fn a_single_sample_is_a_mark() {
    for (points, marks) in [(&SHAPE[..1], 1), (&SHAPE[..2], 0)] {
        let drawn = draw(&[("one".into(), metric::CWND, points.to_vec())]);
        assert_eq!(drawn[0].svg.matches("<circle").count(), marks, "{points:?}");
    }
}

/// Returns the corners of a curve whose values hold until the next sample.
fn steps(samples: &Points) -> Points {
    let mut corners = vec![samples[0]];
    for pair in samples.windows(2) {
        if pair[0].1 != pair[1].1 {
            corners.push((pair[1].0, pair[0].1));
        }
        corners.push(pair[1]);
    }
    corners
}

/// The thinned points of a sawtooth of 50 000 samples are on the sawtooth and include its extremes.
#[test]
fn thinned_points_are_samples() {
    let sawtooth: Points = (0..50_000u32).map(|n| (f64::from(n) / 100.0, f64::from(n % 5_000) / 1_000.0)).collect();
    let drawn = draw(&[("saw".into(), metric::CWND, sawtooth)]);
    let elements = Element::all(&drawn[0].svg);
    let panel = &Panel::all(&elements, number, number)[0];
    let line = &lines(&elements, panel)[0];
    assert!((1_000..3_000).contains(&line.len()), "{}", line.len());
    let (tops, bottoms): (Vec<_>, Vec<_>) =
        (0..10).map(|n| (50.0 * f64::from(n + 1) - 0.01, 50.0 * f64::from(n))).unzip();
    for (ends, value) in [(tops, 4.999), (bottoms, 0.0)] {
        for at in ends {
            let expected = (panel.x.pixel(at), panel.y.pixel(value));
            let near = |mark: &&(f64, f64)| (mark.0 - expected.0).abs() <= 2.0 && (mark.1 - expected.1).abs() <= 2.0;
            assert!(line.iter().any(|mark| near(&mark)), "no extreme at {at} s");
        }
    }
    // On a rising edge of 50 s and 5 packets, y determines the position of x in its tooth.
    let (width, height) = (panel.x.pixel(50.0) - panel.x.pixel(0.0), panel.y.pixel(0.0) - panel.y.pixel(5.0));
    for (x, y) in line {
        let tooth = (x - panel.x.pixel(0.0)) / width;
        let risen = (panel.y.pixel(0.0) - y) / height;
        let error = (tooth - risen - (tooth - risen).round()).abs();
        assert!(error < 3.0 / width, "({x}, {y}) is {error} of a tooth off");
    }
}

/// A figure of a paper: rings at claimed values, a wide line of reference values, and marks with error bars at measured
/// values.
#[test]
fn chart_points_are_at_their_categories() {
    let points: Vec<ChartPoint> = [(0.0, 13.2, 0.4), (1.0, 14.5, 0.0), (3.0, 11.9, 1.25)]
        .map(|(x, value, error)| ChartPoint { x, value, error })
        .into();
    let styles = [LineStyle::Claimed, LineStyle::Reference, LineStyle::Measured];
    let shifted = |by: f64| points.iter().map(|point| ChartPoint { value: point.value + by, ..*point }).collect();
    let names: Vec<String> = ["3", "5", "8", "10"].map(str::to_owned).into();
    for from_zero in [false, true] {
        let chart = Chart {
            name: "delay".into(),
            title: "Figure 3".into(),
            x_title: "Clients".into(),
            y_title: "Delay (ms)".into(),
            x: XAxis::Places(names.clone()),
            y: if from_zero { YAxis::FromZero } else { YAxis::Values },
            heading: String::new(),
            boxes: vec![],
            styles: vec![],
            lines: styles
                .iter()
                .zip([0.0, 0.5, -0.25])
                .map(|(style, by)| ChartLine { label: "l".into(), color: 1, style: *style, points: shifted(by) })
                .collect(),
        };
        let drawn = chart.draw().unwrap();
        let elements = Element::all(&drawn.svg);
        let place = |label: &str| names.iter().position(|place| place == label).map(|at| at as f64);
        let panel = &Panel::all(&elements, place, number)[0];
        if from_zero {
            assert!((panel.y.pixel(0.0) - panel.bottom).abs() <= 2.0, "the axis starts at 0");
        }
        let data = |by: f64| -> Points { points.iter().map(|point| (point.x, point.value + by)).collect() };
        let circles = |hollow: bool| -> Points {
            let of = |e: &&Element<'_>| e.is("circle") && (e.get("fill") == "none") == hollow;
            elements.iter().filter(of).map(|e| (e.number("cx"), e.number("cy"))).filter(|at| panel.holds(*at)).collect()
        };
        panel.assert_shows(&circles(true), &data(0.0), "claimed");
        panel.assert_shows(&circles(false), &data(-0.25), "measured");
        // Dashes are short.
        let is_whole = |line: &Points| line[line.len() - 1].0 - line[0].0 > 1000.0;
        let whole: Vec<Points> = lines(&elements, panel).into_iter().filter(is_whole).collect();
        assert_eq!(whole.len(), 2);
        panel.assert_shows(&whole[0], &data(0.5), "reference");
        panel.assert_shows(&whole[1], &data(-0.25), "measured line");
        // Vertical strokes with a cap at both ends.
        let strokes: Vec<[f64; 4]> = elements
            .iter()
            .filter(|e| e.is("line") && e.get("stroke") != "#E6E6E6")
            .map(|e| ["x1", "y1", "x2", "y2"].map(|name| e.number(name)))
            .collect();
        let (vertical, caps): (Vec<_>, Vec<_>) = strokes.into_iter().partition(|[x1, _, x2, _]| x1 == x2);
        let ends = |up: f64| -> Points {
            points.iter().map(|point| (point.x, point.value - 0.25 + up * point.error)).collect()
        };
        let low: Points = vertical.iter().map(|[x, y1, _, y2]| (*x, y1.max(*y2))).collect();
        let high: Points = vertical.iter().map(|[x, y1, _, y2]| (*x, y1.min(*y2))).collect();
        panel.assert_shows(&low, &ends(-1.0), "lower end");
        panel.assert_shows(&high, &ends(1.0), "upper end");
        let centers: Points = caps.iter().map(|[x1, y, x2, _]| (f64::midpoint(*x1, *x2), *y)).collect();
        for end in low.iter().chain(&high) {
            assert!(centers.iter().any(|cap| (cap.0 - end.0).abs() <= 1.0 && cap.1 == end.1), "no cap at {end:?}");
        }
    }
}

/// No packet arrived from 0.3 to 1.0 s: nothing is drawn there. The last interval of the run is shorter.
#[test]
fn delays_are_not_drawn_where_no_packet_arrived() {
    let points =
        |factor: f64| -> Points { [0.1, 0.2, 0.3, 1.0, 1.1, 1.2, 1.25].map(|at| (at, 0.05 * factor)).to_vec() };
    let figure = &draw(&[("f".to_owned(), metric::ONE_WAY_DELAY, points(1.0))])[0];
    let elements = Element::all(&figure.svg);
    let panel = &Panel::all(&elements, number, number)[0];
    let [before, after] = &lines(&elements, panel)[..] else { panic!("{}", figure.svg) };
    let shown = points(1e3);
    panel.assert_shows(before, &shown[..3], "before");
    panel.assert_shows(after, &shown[3..], "after");
}
