//! Pictures: what they show, and that no samples break them. How they look is for eyes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_record::plot::{Chart, ChartLine, ChartPoint, Figure, LineStyle, PlotError, Run, Style, XAxis, YAxis};
use headway_record::{SeriesNames, SeriesTable, metric};
use headway_units::Instant;
use proptest::prelude::*;

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

fn count(figure: &Figure, what: &str) -> usize {
    figure.svg.matches(what).count()
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
fn a_metric_with_samples_has_a_picture() {
    let series = small();
    let figures = figures(&[Run { label: "one", series: &series, from: 0.0 }]).unwrap();
    assert_eq!(names(&figures), ["throughput", "queue", "cwnd"]);
    let throughput = &figures[0];
    for text in ["Throughput (Mb/s)", "Time (s)", "Throughput of each flow: one", "ftp", "voice"] {
        assert!(throughput.svg.contains(text), "{text}\n{}", throughput.svg);
    }
    // The link's throughput is not a flow's.
    assert!(!throughput.svg.contains("r1-r2"));
    for text in ["r1-r2", "RED average", "Queue (packets)"] {
        assert!(figures[1].svg.contains(text), "{text}");
    }
}

/// One flow from 0 to 100 s, measured from 60 s on: 900 kb/s before, 100 kb/s after.
#[test]
fn the_axis_begins_where_the_run_was_measured() {
    let samples: Vec<_> = (0..=100)
        .map(|s: u64| ("ftp", metric::THROUGHPUT, s * 1_000_000_000, if s < 60 { 9e5 } else { 1e5 }))
        .collect();
    let series = table(&samples);
    let ticks = |from: f64| -> Vec<u32> {
        let figures = figures(&[Run { label: "one", series: &series, from }]).unwrap();
        figures[0].svg.lines().filter_map(|line| line.parse().ok()).collect()
    };
    assert!([0, 10, 60, 100, 800].iter().all(|tick| ticks(0.0).contains(tick)), "{:?}", ticks(0.0));
    let measured = ticks(60.0);
    assert!(measured.contains(&60) && measured.contains(&100), "{measured:?}");
    assert!([0, 10, 50, 800].iter().filter(|tick| measured.contains(tick)).eq([&0]), "0 kb/s is left: {measured:?}");
    assert_eq!(figures(&[Run { label: "one", series: &series, from: 101.0 }]).unwrap(), []);
}

#[test]
fn no_samples_no_pictures() {
    assert_eq!(figures(&[]).unwrap(), []);
    let empty = SeriesTable::default();
    assert_eq!(figures(&[Run { label: "empty", series: &empty, from: 0.0 }]).unwrap(), []);
}

#[test]
fn runs_lie_over_one_another_and_labels_are_escaped() {
    let series = small();
    let runs = [Run { label: "a<b", series: &series, from: 0.0 }, Run { label: "c&d", series: &series, from: 0.0 }];
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
    let figures = figures(&[Run { label: "many", series: &series, from: 0.0 }]).unwrap();
    assert_eq!(names(&figures), ["loss"]);
    assert!(figures[0].svg.contains("ftp (mean of 50)"));
    assert_eq!(count(&figures[0], "<polygon"), 1);
}

#[test]
fn a_long_run_is_no_larger_than_its_pixels() {
    let samples: Vec<(&str, &str, u64, f64)> =
        (0..200_000u64).map(|step| ("ftp", metric::CWND, step * 100_000_000, (step * 7919 % 101) as f64)).collect();
    let series = table(&samples);
    let figures = figures(&[Run { label: "long", series: &series, from: 0.0 }]).unwrap();
    assert!(figures[0].svg.len() < 60_000, "{}", figures[0].svg.len());
}

/// PNG, "IHDR chunk": width and height follow the signature, a length and a name.
#[test]
fn png_has_the_size_asked_for_and_is_not_blank() {
    let series = small();
    let figures = figures(&[Run { label: "one", series: &series, from: 0.0 }]).unwrap();
    let size = |png: &[u8]| -> (u32, u32) {
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        (number(16), number(20))
    };
    let one = figures[0].to_png(1.0).unwrap();
    let two = figures[0].to_png(2.0).unwrap();
    assert_eq!(size(&one).0, 960);
    assert_eq!(size(&two), (2 * size(&one).0, 2 * size(&one).1));
    // A blank picture of this size is a few hundred bytes; text alone makes several thousand.
    assert!(one.len() > 5_000, "{}", one.len());
    assert_eq!(size(&figures[0].to_png(f32::NAN).unwrap()), size(&one));
    assert_eq!(size(&figures[0].to_png(1e9).unwrap()).0, 8 * 960);
}

fn chart(styles: &[LineStyle], points: Vec<ChartPoint>) -> Chart {
    let line = |style: &LineStyle| ChartLine { label: "a<b".into(), colour: 1, style: *style, points: points.clone() };
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
fn a_chart_names_its_places_and_shows_its_errors() {
    let point = |x, value, error| ChartPoint { x, value, error };
    let points = vec![point(0.0, 13.2, 0.1), point(1.0, 14.5, 0.0)];
    let drawn = chart(&[LineStyle::Said, LineStyle::Reference, LineStyle::Measured], points.clone()).draw().unwrap();
    for text in ["Figure 3", "Clients", "Delay (ms)", "a&lt;b", "Said", "Reference", "Measured", "\n50\n"] {
        assert!(drawn.svg.contains(text), "{text}\n{}", drawn.svg);
    }
    assert_eq!(count(&drawn, "a&lt;b"), 1, "lines of one colour have one label");
    // Rings on the claimed line and in the legend; filled marks of the measured one.
    assert_eq!(count(&drawn, "<circle"), 2 + 1 + 2);
    let only_said = chart(&[LineStyle::Said], points).draw().unwrap();
    assert_eq!(count(&only_said, "<circle"), 2 + 1);
    assert!(only_said.to_png(1.0).unwrap().len() > 5_000);
}

/// 960 px by 420: the title's 48 px above, the legend's 216 at the right. Of the 744 by 372 between them the values have what lies right of
/// 14 and 68 for the labels and left of 14, below 6 and above 4, 24 and 26 for labels and title: 82 to 730 across, 54 to 366 down. Four places
/// have 0.3 of one before the first and behind the last, so that they are 180 px apart; zero is at the bottom, and 6 % of air above the highest
/// value, 10, makes the top 10.6: 5.3 is halfway. Pixels are four units.
#[test]
fn a_value_is_drawn_where_its_axes_say() {
    let points = [(0.0, 0.0), (1.0, 5.3), (2.0, 10.0), (3.0, 10.0)];
    let points = points.map(|(x, value)| ChartPoint { x, value, error: 0.0 });
    let places: Vec<String> = ["3", "5", "8", "10"].map(str::to_owned).into();
    let drawn = Chart { x: XAxis::Places(places), y: YAxis::FromZero, ..chart(&[LineStyle::Said], points.into()) }
        .draw()
        .unwrap();
    let number = |tag: &str, name: &str| -> f64 {
        tag.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next()).unwrap().parse().unwrap()
    };
    let tags =
        |what: &str| drawn.svg.split('<').filter(|tag| tag.starts_with(what)).map(str::to_owned).collect::<Vec<_>>();
    let near = |found: &[f64], expected: &[f64]| {
        let good = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - 4.0 * b).abs() <= 4.0);
        assert!(good, "{found:?} is not four times {expected:?}");
    };
    let rings = tags("circle");
    let at = |name: &str| rings.iter().map(|ring| number(ring, name)).collect::<Vec<_>>();
    // The last ring is the legend's, beside the words: below the title's 48, 6 of margin and half a line of 11, and as much again and a line.
    near(&at("cx"), &[136.0, 316.0, 496.0, 676.0, 744.0 + 12.0]);
    near(&at("cy"), &[366.0, 210.0, 71.7, 71.7, 48.0 + 17.0 + 33.0]);
    // Between two places of the same height: dashes of 3 px, 4 px apart.
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

/// However many places: each has its name below it, once.
#[test]
fn every_place_is_named() {
    for many in 1..=16 {
        let places: Vec<String> = (0..many).map(|place| format!("place {place}")).collect();
        let points = (0..many).map(|place| ChartPoint { x: f64::from(place), value: 1.0, error: 0.0 }).collect();
        let drawn = Chart { x: XAxis::Places(places.clone()), ..chart(&[LineStyle::Measured], points) }.draw().unwrap();
        for place in places {
            assert_eq!(count(&drawn, &format!("\n{place}\n")), 1, "{place} of {many}");
        }
    }
}

#[test]
fn same_samples_same_picture() {
    let series = small();
    let draw = || figures(&[Run { label: "one", series: &series, from: 0.0 }]).unwrap();
    assert_eq!(draw(), draw());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any times, any values, any names.
    #[test]
    fn no_samples_break_a_picture(
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
        let styles = [LineStyle::Said, LineStyle::Reference, LineStyle::Measured];
        let with_label = Chart { title: label.clone(), ..chart(&styles, values.collect()) };
        with_label.draw().unwrap().to_png(0.1).unwrap();
        for figure in figures(&[Run { label: &label, series: &series, from: 0.0 }, Run { label: "b", series: &series, from: 0.0 }]).unwrap() {
            prop_assert!(figure.svg.len() < 1_000_000);
            figure.to_png(0.1).unwrap();
        }
    }
}
