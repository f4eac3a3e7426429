//! Contents of figures, and robustness against any samples. The appearance is not tested.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_record::plot::{Chart, ChartLine, ChartPoint, Figure, LineStyle, PlotError, Run, Style, XAxis, YAxis};
use headway_record::{Interval, SeriesNames, SeriesTable, metric};
use headway_units::Instant;
use proptest::prelude::*;

const ALL: Interval = Interval { from: 0.0, to: f64::INFINITY };

fn figures(runs: &[Run<'_>]) -> Result<Vec<Figure>, PlotError> {
    headway_record::plot::figures(runs, &Style::default())
}

fn table(samples: &[(&str, &str, u64, f64)]) -> SeriesTable {
    let mut names = SeriesNames::default();
    let ids: Vec<_> = samples.iter().map(|(entity, metric, ..)| names.series(entity, metric)).collect();
    let mut writer = names.samples();
    for (id, (_, _, nanos, value)) in ids.into_iter().zip(samples) {
        writer.push(id, Instant::from_nanos(*nanos), *value);
    }
    let mut bytes = Vec::new();
    writer.finish(&mut bytes).unwrap();
    SeriesTable::from_ipc(&bytes).unwrap()
}

fn names(figures: &[Figure]) -> Vec<&str> {
    figures.iter().map(|figure| figure.name.as_str()).collect()
}

fn occurrences(figure: &Figure, text: &str) -> usize {
    figure.svg.matches(text).count()
}

/// Two flows and a RED link over two seconds.
fn small() -> SeriesTable {
    table(&[
        ("ftp", metric::THROUGHPUT, 0, 1e6),
        ("ftp", metric::THROUGHPUT, 2_000_000_000, 2e6),
        ("voice", metric::THROUGHPUT, 0, 64e3),
        ("voice", metric::THROUGHPUT, 2_000_000_000, 64e3),
        ("ftp", metric::CWND, 0, 1.0),
        ("ftp", metric::CWND, 2_000_000_000, 9.0),
        ("r1-r2", metric::QUEUE, 0, 3.0),
        ("r1-r2", metric::RED_AVERAGE, 0, 1.5),
        ("r1-r2", metric::THROUGHPUT, 0, 2e6),
    ])
}

#[test]
fn a_metric_with_samples_has_a_figure() {
    let series = small();
    let figures = figures(&[Run { label: "one", series: &series, interval: ALL }]).unwrap();
    assert_eq!(names(&figures), ["throughput", "queue", "cwnd"]);
    let throughput = &figures[0];
    for text in ["Throughput (Mb/s)", "Time (s)", "Throughput of each flow: one", "ftp", "voice"] {
        assert!(throughput.svg.contains(text), "{text}\n{}", throughput.svg);
    }
    // The throughput of the link is not shown.
    assert!(!throughput.svg.contains("r1-r2"));
    for text in ["r1-r2", "RED average", "Queue (packets)"] {
        assert!(figures[1].svg.contains(text), "{text}");
    }
}

/// One flow from 0 to 100 s, measured from 60 s: 900 kb/s before, 100 kb/s after.
#[test]
fn the_axis_has_the_drawn_interval() {
    let samples: Vec<_> = (0..=100)
        .map(|s: u64| ("ftp", metric::THROUGHPUT, s * 1_000_000_000, if s < 60 { 9e5 } else { 1e5 }))
        .collect();
    let series = table(&samples);
    let ticks_between = |from: f64, to: f64| -> Vec<u32> {
        let figures = figures(&[Run { label: "one", series: &series, interval: Interval { from, to } }]).unwrap();
        figures[0].svg.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let ticks = |from: f64| ticks_between(from, f64::INFINITY);
    assert!([0, 10, 60, 100, 800].iter().all(|tick| ticks(0.0).contains(tick)), "{:?}", ticks(0.0));
    let measured = ticks(60.0);
    assert!(measured.contains(&60) && measured.contains(&100), "{measured:?}");
    assert!(
        [0, 10, 50, 800].iter().filter(|tick| measured.contains(tick)).eq([&0]),
        "only 0 kb/s remains: {measured:?}"
    );
    let part = ticks_between(20.0, 40.0);
    assert!([20, 40, 800].iter().all(|tick| part.contains(tick)), "{part:?}");
    assert!([10, 50, 60, 100].iter().all(|tick| !part.contains(tick)), "{part:?}");
    assert_eq!(
        figures(&[Run { label: "one", series: &series, interval: Interval { from: 101.0, to: f64::INFINITY } }])
            .unwrap(),
        []
    );
}

#[test]
fn runs_without_samples_have_no_figures() {
    assert_eq!(figures(&[]).unwrap(), []);
    let empty = SeriesTable::default();
    assert_eq!(figures(&[Run { label: "empty", series: &empty, interval: ALL }]).unwrap(), []);
}

#[test]
fn runs_share_a_figure_and_labels_are_escaped() {
    let series = small();
    let runs =
        [Run { label: "a<b", series: &series, interval: ALL }, Run { label: "c&d", series: &series, interval: ALL }];
    let figures = figures(&runs).unwrap();
    for label in ["a&lt;b: ftp", "a&lt;b: voice", "c&amp;d: ftp", "c&amp;d: voice"] {
        assert!(figures[0].svg.contains(label), "{label}");
    }
    assert!(!figures[0].svg.contains("a<b"));
}

#[test]
fn fifty_flows_are_one_band() {
    let flows: Vec<String> = (1..=50).map(|index| format!("ftp-{index}")).collect();
    let samples: Vec<(&str, &str, u64, f64)> = flows
        .iter()
        .enumerate()
        .flat_map(|(index, name)| {
            [0, 1, 2].map(|second| (name.as_str(), metric::LOSS, second * 1_000_000_000, index as f64))
        })
        .collect();
    let series = table(&samples);
    let figures = figures(&[Run { label: "many", series: &series, interval: ALL }]).unwrap();
    assert_eq!(names(&figures), ["loss"]);
    assert!(figures[0].svg.contains("ftp (mean of 50)"));
    assert_eq!(occurrences(&figures[0], "<polygon"), 1);
}

#[test]
fn the_size_of_a_figure_does_not_grow_with_the_run() {
    let samples: Vec<(&str, &str, u64, f64)> =
        (0..200_000u64).map(|step| ("ftp", metric::CWND, step * 100_000_000, (step * 7919 % 101) as f64)).collect();
    let series = table(&samples);
    let figures = figures(&[Run { label: "long", series: &series, interval: ALL }]).unwrap();
    assert!(figures[0].svg.len() < 60_000, "{}", figures[0].svg.len());
}

/// PNG, "IHDR chunk": width and height follow the signature, a length and a name.
#[test]
fn a_png_has_the_given_scale_and_is_not_blank() {
    let series = small();
    let figures = figures(&[Run { label: "one", series: &series, interval: ALL }]).unwrap();
    let size = |png: &[u8]| -> (u32, u32) {
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        (number(16), number(20))
    };
    let one = figures[0].to_png(1.0).unwrap();
    let two = figures[0].to_png(2.0).unwrap();
    assert_eq!(size(&one).0, 960);
    assert_eq!(size(&two), (2 * size(&one).0, 2 * size(&one).1));
    // A blank PNG of this size has a few hundred bytes; text alone needs several thousand.
    assert!(one.len() > 5_000, "{}", one.len());
    assert_eq!(size(&figures[0].to_png(f32::NAN).unwrap()), size(&one));
    assert_eq!(size(&figures[0].to_png(1e9).unwrap()).0, 8 * 960);
}

fn chart(styles: &[LineStyle], points: Vec<ChartPoint>) -> Chart {
    let line = |style: &LineStyle| ChartLine { label: "a<b".into(), color: 1, style: *style, points: points.clone() };
    Chart {
        name: "delay".into(),
        title: "Figure 3".into(),
        x_title: "Clients".into(),
        y_title: "Delay (ms)".into(),
        x: XAxis::Places(["3", "50"].map(str::to_owned).into()),
        y: YAxis::Values,
        heading: String::new(),
        styles: styles.iter().map(|style| (*style, format!("{style:?}"))).collect(),
        lines: styles.iter().map(line).collect(),
        boxes: vec![],
    }
}

#[test]
fn a_chart_has_category_names_and_marks() {
    let point = |x, value, error| ChartPoint { x, value, error };
    let points = vec![point(0.0, 13.2, 0.1), point(1.0, 14.5, 0.0)];
    let drawn = chart(&[LineStyle::Claimed, LineStyle::Reference, LineStyle::Measured], points.clone()).draw().unwrap();
    for text in ["Figure 3", "Clients", "Delay (ms)", "a&lt;b", "Claimed", "Reference", "Measured", "\n50\n"] {
        assert!(drawn.svg.contains(text), "{text}\n{}", drawn.svg);
    }
    assert_eq!(occurrences(&drawn, "a&lt;b"), 1, "lines of one color have one label");
    // Rings on the claimed line and in the legend, filled marks on the measured line.
    assert_eq!(occurrences(&drawn, "<circle"), 2 + 1 + 2);
    let only_claimed = chart(&[LineStyle::Claimed], points).draw().unwrap();
    assert_eq!(occurrences(&only_claimed, "<circle"), 2 + 1);
    assert!(only_claimed.to_png(1.0).unwrap().len() > 5_000);
}

/// The figure is 960 by 420 px, with 48 px of title at the top and 216 px of legend at the right. In the remaining 744
/// by 372 px, margins and labels are 14 + 68 px at the left, 14 px at the right, 6 px at the top and 4 + 24 + 26 px at
/// the bottom. The plot is from 82 to 730 px horizontally and from 54 to 366 px vertically. Four categories have
/// margins of 0.3 of their distance, which is 180 px. The vertical axis is from 0 to 10.6, which is 6 % above the
/// largest value, 10, so that 5.3 is in the middle. A pixel is four units.
#[test]
fn points_are_drawn_at_their_coordinates() {
    let points = [(0.0, 0.0), (1.0, 5.3), (2.0, 10.0), (3.0, 10.0)];
    let points = points.map(|(x, value)| ChartPoint { x, value, error: 0.0 });
    let places: Vec<String> = ["3", "5", "8", "10"].map(str::to_owned).into();
    let drawn = Chart { x: XAxis::Places(places), y: YAxis::FromZero, ..chart(&[LineStyle::Claimed], points.into()) }
        .draw()
        .unwrap();
    let number = |tag: &str, name: &str| -> f64 {
        tag.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next()).unwrap().parse().unwrap()
    };
    let tags =
        |what: &str| drawn.svg.split('<').filter(|tag| tag.starts_with(what)).map(str::to_owned).collect::<Vec<_>>();
    let near = |found: &[f64], expected: &[f64]| {
        let is_near =
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - 4.0 * b).abs() <= 4.0);
        assert!(is_near, "{found:?} is not four times {expected:?}");
    };
    let rings = tags("circle");
    let at = |name: &str| rings.iter().map(|ring| number(ring, name)).collect::<Vec<_>>();
    // The last ring is in the legend: below 48 px of title, 6 px of margin, half a line of 11 px, and 33 px more.
    near(&at("cx"), &[136.0, 316.0, 496.0, 676.0, 744.0 + 12.0]);
    near(&at("cy"), &[366.0, 210.0, 71.7, 71.7, 48.0 + 17.0 + 33.0]);
    // Between two points of equal height: dashes of 3 px, 4 px apart.
    let level = tags("polyline").into_iter().filter(|tag| tag.contains("#D55E00")).filter_map(|tag| {
        let points = tag.split_once("points=\"")?.1.split('"').next()?.replace(',', " ");
        let at: Vec<f64> = points.split_whitespace().map(|number| number.parse().unwrap()).collect();
        (at.len() == 4 && at[1] == at[3] && at[0] > 2000.0 && at[2] < 2680.0).then(|| [at[0], at[2]])
    });
    let level: Vec<[f64; 2]> = level.collect();
    assert!(level.len() > 20 && level.iter().all(|[from, to]| (to - from - 12.0).abs() <= 1.0), "{level:?}");
    assert!(level.windows(2).all(|pair| (pair[1][0] - pair[0][1] - 16.0).abs() <= 1.0), "{level:?}");
    let paper = &tags("rect")[0];
    near(&["x", "y", "width", "height"].map(|name| number(paper, name)), &[0.0, 0.0, 960.0, 420.0]);
}

#[test]
fn each_category_is_labeled_once() {
    for count in 1..=16 {
        let places: Vec<String> = (0..count).map(|place| format!("place {place}")).collect();
        let points = (0..count).map(|place| ChartPoint { x: f64::from(place), value: 1.0, error: 0.0 }).collect();
        let drawn = Chart { x: XAxis::Places(places.clone()), ..chart(&[LineStyle::Measured], points) }.draw().unwrap();
        for place in places {
            assert_eq!(occurrences(&drawn, &format!("\n{place}\n")), 1, "{place} of {count}");
        }
    }
}

#[test]
fn equal_samples_give_equal_figures() {
    let series = small();
    let draw = || figures(&[Run { label: "one", series: &series, interval: ALL }]).unwrap();
    assert_eq!(draw(), draw());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any times, values and names.
    #[test]
    fn any_samples_can_be_drawn(
        samples in prop::collection::vec(
            (any::<String>(), 0usize..5, any::<u64>(), prop_oneof![any::<f64>(), -1e3..1e3f64, Just(5e-324), Just(1e15)]),
            0..40,
        ),
        label in any::<String>(),
    ) {
        let metrics = [metric::THROUGHPUT, metric::CWND, metric::LOSS, metric::QUEUE, metric::RED_AVERAGE];
        let samples: Vec<(&str, &str, u64, f64)> = samples
            .iter()
            .map(|(entity, of, nanos, value)| (entity.as_str(), metrics[*of], *nanos, *value))
            .collect();
        let series = table(&samples);
        let values = samples.iter().zip(0..).map(|((.., value), at)| ChartPoint { x: f64::from(at % 4), value: *value, error: value.abs() });
        let styles = [LineStyle::Claimed, LineStyle::Reference, LineStyle::Measured];
        let with_label = Chart { title: label.clone(), ..chart(&styles, values.collect()) };
        with_label.draw().unwrap().to_png(0.1).unwrap();
        for figure in figures(&[Run { label: &label, series: &series, interval: ALL }, Run { label: "b", series: &series, interval: ALL }]).unwrap() {
            prop_assert!(figure.svg.len() < 1_000_000);
            figure.to_png(0.1).unwrap();
        }
    }
}

/// Twelve calls with two media kinds, and eighteen downloads: a band for each name and kind.
#[test]
fn media_kinds_have_bands_of_their_own() {
    let calls = (1..=12).flat_map(|n| ["", "/audio", "/video"].map(|kind| format!("call{n}{kind}")));
    let flows: Vec<String> = calls.chain((1..=18).map(|n| format!("ftp{n}"))).collect();
    let samples: Vec<(&str, &str, u64, f64)> =
        flows.iter().map(|name| (name.as_str(), metric::ONE_WAY_DELAY, 0, 0.05)).collect();
    let series = table(&samples);
    let figure = &figures(&[Run { label: "one", series: &series, interval: ALL }]).unwrap()[0];
    for label in ["call (mean of 12)", "call/audio (mean of 12)", "call/video (mean of 12)", "ftp (mean of 18)"] {
        assert_eq!(occurrences(figure, &format!("\n{label}\n")), 1, "{label}");
    }
}

/// Panels of runs that differ only in their seeds name the seed of each line.
#[test]
fn lines_of_one_panel_name_their_seeds() {
    let series = small();
    let labels: Vec<String> = ["1Mbps", "2Mbps", "3Mbps", "4Mbps", "5Mbps"]
        .iter()
        .flat_map(|rate| [1, 2].map(|seed| format!("rate={rate} seed={seed}")))
        .collect();
    let runs: Vec<Run<'_>> = labels.iter().map(|label| Run { label, series: &series, interval: ALL }).collect();
    let figure = &figures(&runs).unwrap()[0];
    for label in ["ftp: seed 1", "ftp: seed 2", "voice: seed 1", "voice: seed 2"] {
        assert!(figure.svg.contains(&format!("\n{label}\n")), "{label}: {}", figure.svg);
    }
}
