//! Where pictures place plots, titles, names and legends. Lengths follow from the sizes in px below; a unit of a picture is a quarter of a px.
//!
//! A picture is 960 px wide. It has a title of 48 px, and a legend next to the plot has 216 px. A plot has 346 px with the numbers below it,
//! each of several panels 216 px; the lowest has 26 px more for the title of its axis. Around a plot are 14 px and 68 px for the numbers at the
//! left, 14 px at the right, 6 px above, and below it 24 px for numbers, 26 px for the title of the axis and 4 px.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::reading::{Element, Panel, Points, number};
use headway_record::plot::{
    Chart, ChartBox, ChartLine, ChartPoint, Figure, Group, GroupPoint, LegendPlace, LineStyle, Run, Style, Sweep,
    XAxis, YAxis, figures,
};
use headway_record::{Interval, SeriesNames, SeriesTable, metric};
use headway_units::Instant;

const BLUE: &str = "#0072B2";
const VERMILION: &str = "#D55E00";

/// A word of a picture and where it is, in px.
type Word<'a> = (&'a str, f64, f64);

fn words(figure: &Figure) -> Vec<Word<'_>> {
    let texts = Element::all(&figure.svg).into_iter().filter(|e| e.is("text") && !e.text.is_empty());
    texts.map(|e| (e.text, e.number("x") / 4.0, e.number("y") / 4.0)).collect()
}

fn texts(figure: &Figure) -> Vec<&str> {
    words(figure).into_iter().map(|(word, ..)| word).collect()
}

/// Where a word is that the picture has once.
fn place_of(figure: &Figure, word: &str) -> (f64, f64) {
    let found: Vec<Word<'_>> = words(figure).into_iter().filter(|(words, ..)| *words == word).collect();
    let [(_, x, y)] = found[..] else { panic!("{word}: {found:?}") };
    (x, y)
}

fn assert_at(figure: &Figure, word: &str, expected: (f64, f64)) {
    let (x, y) = place_of(figure, word);
    assert!((x - expected.0).abs() <= 0.5 && (y - expected.1).abs() <= 0.5, "{word} is at ({x}, {y}): {expected:?}");
}

/// The size of a picture, in px.
fn size(figure: &Figure) -> (f64, f64) {
    let elements = Element::all(&figure.svg);
    let svg = elements.iter().find(|e| e.is("svg")).unwrap();
    (svg.number("width"), svg.number("height"))
}

/// The plot of a panel: left, right, top and bottom in px.
fn assert_plot(panel: &Panel, expected: [f64; 4]) {
    let found = [panel.left, panel.right, panel.top, panel.bottom].map(|units| units / 4.0);
    let off = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
    assert!(off <= 1.0, "{found:?} is not {expected:?}");
}

/// Samples at 0, 5 and 10 s: (entity, metric, the three values).
fn table(series: &[(&str, &str, [f64; 3])]) -> SeriesTable {
    let mut names = SeriesNames::default();
    let ids: Vec<_> = series.iter().map(|(entity, metric, _)| names.series(entity, metric)).collect();
    let mut writer = names.samples();
    for (id, (.., values)) in ids.into_iter().zip(series) {
        for (value, at) in values.iter().zip([0, 5, 10]) {
            writer.push(id, Instant::from_secs(at), *value);
        }
    }
    let mut bytes = Vec::new();
    writer.finish(&mut bytes).unwrap();
    SeriesTable::from_ipc(&bytes).unwrap()
}

/// The only picture of these runs.
fn figure(runs: &[(&str, &SeriesTable)], style: &Style) -> Figure {
    let runs: Vec<_> = runs
        .iter()
        .map(|(label, series)| Run { label, series, interval: Interval { from: 0.0, to: f64::INFINITY } })
        .collect();
    let mut all = figures(&runs, style).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn below() -> Style {
    Style { legend: LegendPlace::Below, ..Style::default() }
}

fn two_queues() -> SeriesTable {
    table(&[("short", metric::QUEUE, [1.0, 2.0, 3.0]), ("long", metric::QUEUE, [20.0, 40.0, 60.0])])
}

/// Panels are below one another, each with its name in the column of the legend. Both mean the same by their colors, so that the first
/// has the entry.
#[test]
fn panels_are_below_one_another() {
    let figure = figure(&[("run", &two_queues())], &Style::default());
    assert_eq!(size(&figure), (960.0, 48.0 + 2.0 * 216.0 + 26.0));
    let elements = Element::all(&figure.svg);
    let panels = Panel::all(&elements, number, number);
    assert_eq!(panels.len(), 2);
    assert_plot(&panels[0], [82.0, 730.0, 54.0, 236.0]);
    assert_plot(&panels[1], [82.0, 730.0, 270.0, 452.0]);
    // The column begins at 744 px, and half a line below 6 px.
    assert_at(&figure, "long", (744.0, 48.0 + 17.0));
    assert_at(&figure, "queue", (744.0 + 32.0, 48.0 + 17.0 + 22.0));
    assert_at(&figure, "short", (744.0, 48.0 + 216.0 + 17.0));
    assert_at(&figure, "Queue of each link: run", (14.0, 24.0));
    assert_eq!(texts(&figure).iter().filter(|word| **word == "Time (s)").count(), 1, "only the lowest");
    // Above the largest value are 6 % of the values' range: 60 is at 60 / 63.6.
    let top = (panels[0].y.pixel(63.6) - panels[0].top).abs();
    assert!(top <= 2.0, "{top}");
}

/// A panel whose lines have other labels than those of the panel above it has its own entries.
#[test]
fn panels_of_other_lines_have_their_own_legend() {
    let [first, second] = [("x", [9.0, 9.0, 9.0]), ("y", [1.0, 1.0, 1.0])]
        .map(|(link, values)| table(&[(link, metric::QUEUE, values), ("z", metric::QUEUE, [4.0, 4.0, 4.0])]));
    let figure = figure(&[("red", &first), ("codel", &second)], &Style::default());
    let found = texts(&figure);
    let legend: Vec<&str> = found.into_iter().filter(|word| ["x", "y", "z", "red", "codel"].contains(word)).collect();
    assert_eq!(legend, ["x", "red", "z", "red", "codel", "y", "codel"]);
}

/// Without a legend next to the plots, a panel's name is above it, where its plot begins, and needs 18 px. The legend below has 20 px for
/// its row and 14 px.
#[test]
fn names_of_panels_are_above_them() {
    let figure = figure(&[("run", &two_queues())], &below());
    assert_eq!(size(&figure), (960.0, 48.0 + 2.0 * 216.0 + 26.0 + 34.0));
    let elements = Element::all(&figure.svg);
    let panels = Panel::all(&elements, number, number);
    assert_eq!(panels.len(), 2);
    assert_plot(&panels[0], [82.0, 946.0, 72.0, 236.0]);
    assert_plot(&panels[1], [82.0, 946.0, 288.0, 452.0]);
    assert_at(&figure, "long", (82.0, 48.0 + 15.0));
    assert_at(&figure, "short", (82.0, 48.0 + 216.0 + 15.0));
    assert_at(&figure, "queue", (14.0 + 32.0, 506.0 + 10.0));
    let nowhere = Style { legend: LegendPlace::Hidden, ..Style::default() };
    let one = self::figure(&[("run", &table(&[("ftp", metric::CWND, [1.0, 2.0, 3.0])]))], &nowhere);
    assert_eq!(size(&one), (960.0, 48.0 + 346.0 + 26.0));
    let elements = Element::all(&one.svg);
    assert_plot(&Panel::all(&elements, number, number)[0], [82.0, 946.0, 54.0, 366.0]);
}

/// The legend of several panels has one heading above all entries, and each entry once.
#[test]
fn panels_share_the_legend_below_them() {
    let three = table(&["a", "b", "c"].map(|link| (link, metric::QUEUE, [3.0, f64::from(link.as_bytes()[0]), 1.0])));
    let drawn = figure(&[("rate=1Mbps", &three), ("rate=2Mbps", &three)], &below());
    let found = texts(&drawn);
    assert_eq!(found[found.len() - 3..], ["rate", "1Mbps", "2Mbps"]);
    assert_eq!(found.iter().filter(|word| **word == "rate").count(), 1);
    // Ten seeds at two rates are a band for each rate, and one note explains all bands.
    let runs: Vec<String> = (0..20).map(|n| format!("rate={}Mbps_seed={n}", n % 2)).collect();
    let runs: Vec<(&str, &SeriesTable)> = runs.iter().map(|label| (label.as_str(), &three)).collect();
    let drawn = figure(&runs, &below());
    let found = texts(&drawn);
    let expected = ["rate", "0Mbps (mean of 10)", "1Mbps (mean of 10)", "shaded: smallest to largest"];
    assert_eq!(found[found.len() - 4..], expected);
    assert_eq!(found.iter().filter(|word| expected.contains(word)).count(), 4);
}

/// A legend next to a panel has the 216 px of the panel: two headings and six entries, and how many more there are.
#[test]
fn a_legend_ends_where_the_next_panel_begins() {
    let both = two_queues();
    let runs: Vec<String> = (1..=8).map(|n| format!("rate={n}Mbps")).collect();
    let runs: Vec<(&str, &SeriesTable)> = runs.iter().map(|label| (label.as_str(), &both)).collect();
    let drawn = figure(&runs, &Style::default());
    let found: Vec<Word<'_>> = words(&drawn).into_iter().filter(|(_, x, _)| *x >= 744.0).collect();
    let shown: Vec<&str> = found.iter().map(|(words, ..)| *words).collect();
    let entries = ["1Mbps", "2Mbps", "3Mbps", "4Mbps", "5Mbps", "6Mbps"];
    assert_eq!(shown, [&["long", "rate"], &entries[..], &["and 2 more", "short"]].concat());
    assert_at(&drawn, "and 2 more", (744.0 + 32.0, 48.0 + 17.0 + 22.0 * 8.0));
}

/// A queue is a pale line below that of its average and has its color; another run has the next color.
#[test]
fn a_queue_has_the_color_of_its_average() {
    let queue = [("link", metric::QUEUE, [5.0, 6.0, 7.0]), ("link", metric::RED_AVERAGE, [1.0, 2.0, 3.0])];
    let (first, second) = (table(&queue), table(&queue.map(|(link, of, values)| (link, of, values.map(|v| v * 2.0)))));
    let drawn = figure(&[("red", &first), ("ared", &second)], &Style::default());
    let elements = Element::all(&drawn.svg);
    let panel = &Panel::all(&elements, number, number)[0];
    let lines = elements.iter().filter(|e| e.is("polyline") && ["5", "7"].contains(&e.get("stroke-width")));
    let within = lines.filter(|e| e.points().iter().all(|point| panel.holds(*point)));
    let looks: Vec<(&str, &str)> = within.map(|e| (e.get("stroke"), e.get("stroke-width"))).collect();
    assert_eq!(looks, [(BLUE, "5"), (BLUE, "7"), (VERMILION, "5"), (VERMILION, "7")]);
}

/// Of five links with a queue the one with the shortest mean has no panel. A link without packets in its queue does not count.
#[test]
fn the_four_longest_queues_have_a_panel() {
    let links = |many: usize| {
        let names = ["v", "w", "x", "y", "z"];
        let mut series: Vec<_> =
            names.iter().zip(1..).map(|(link, n)| (*link, metric::QUEUE, [f64::from(n); 3])).collect();
        series.truncate(many);
        series.push(("idle", metric::QUEUE, [0.0; 3]));
        table(&series)
    };
    let drawn = figure(&[("run", &links(5))], &Style::default());
    let found = texts(&drawn);
    assert_eq!(found[0], "Queue of each link: the 4 longest of 5: run");
    let panels: Vec<&str> = found.into_iter().filter(|word| ["v", "w", "x", "y", "z", "idle"].contains(word)).collect();
    assert_eq!(panels, ["z", "y", "x", "w"]);
    assert_eq!(texts(&figure(&[("run", &links(4))], &Style::default()))[0], "Queue of each link: run");
}

fn chart(x: XAxis, y: YAxis, style: LineStyle, points: &[(f64, f64, f64)]) -> Chart {
    let points = points.iter().map(|(x, value, error)| ChartPoint { x: *x, value: *value, error: *error }).collect();
    Chart {
        name: "chart".into(),
        title: "Title".into(),
        x_title: "across".into(),
        y_title: "up".into(),
        x,
        y,
        heading: String::new(),
        styles: vec![],
        lines: vec![ChartLine { label: String::new(), color: 0, style, points }],
        boxes: vec![],
    }
}

/// Names of places in the order of drawing, with their places.
fn names_of(names: &[String], width: u32) -> (Figure, Vec<(String, f64, f64)>) {
    let style = Style { width: width.into(), ..Style::default() };
    let drawn = chart(XAxis::Places(names.to_vec()), YAxis::Values, LineStyle::Claimed, &[(0.0, 1.0, 0.0)]);
    let figure = drawn.draw_styled(&style).unwrap();
    let stem = |word: &str| {
        names.iter().any(|name| name == word || word.strip_suffix("...").is_some_and(|w| name.starts_with(w)))
    };
    let found =
        words(&figure).into_iter().filter(|(word, ..)| stem(word)).map(|(w, x, y)| (w.to_owned(), x, y)).collect();
    (figure, found)
}

/// How many rows the names of places have; each row is 16 px below the last, and the picture is that much higher.
fn rows_of(names: &[String], width: u32) -> usize {
    let (figure, found) = names_of(names, width);
    assert_eq!(found.len(), names.len(), "{found:?}");
    let mut heights: Vec<f64> = found.iter().map(|(.., y)| *y).collect();
    heights.sort_by(f64::total_cmp);
    heights.dedup();
    assert!(heights.windows(2).all(|pair| pair[1] - pair[0] == 16.0), "{heights:?}");
    assert_eq!(size(&figure).1, 420.0 + 16.0 * (heights.len() - 1) as f64);
    heights.len()
}

/// `many` names of `length` characters, all different.
fn letters(many: usize, length: usize) -> Vec<String> {
    (0..many).map(|n| format!("{n:a>length$}")).map(|name| name.replacen('a', "b", 1)).collect()
}

fn digits(many: usize, length: usize) -> Vec<String> {
    (0..many).map(|n| format!("1{n:0>rest$}", rest = length - 1)).collect()
}

/// A character of 13 px is 0.54 times as wide: 28.08 units. Without a legend the plot has 960 - 28 - 68 = 864 px, so that each of twelve
/// places has 288 units: room for ten characters. Words have a space between them, numbers do not need it. Two rows leave a quarter of
/// theirs free, which is room for 432 units or 15 characters with the space; three rows for 648 units or 23 characters.
#[test]
fn names_take_turns_in_as_many_rows_as_they_need() {
    for (length, rows) in [(2, 1), (9, 1), (10, 2), (14, 2), (15, 3), (23, 3), (24, 3), (60, 3)] {
        assert_eq!(rows_of(&letters(12, length), 960), rows, "words of {length}");
    }
    for (length, rows) in [(9, 1), (10, 1), (11, 2), (15, 2), (16, 3)] {
        assert_eq!(rows_of(&digits(12, length), 960), rows, "numbers of {length}");
    }
    // One name that is not a number is enough.
    let mut mixed = digits(12, 10);
    mixed[7] = "many".into();
    assert_eq!(rows_of(&mixed, 960), 2);
    // Of a picture of 307 px each of two places has (4 x 307 - 384) / 2 = 422 units: 15 x 28.08 = 421.2, which is rounded up.
    assert_eq!([306, 307].map(|width| rows_of(&digits(2, 15), width)), [2, 1]);
}

/// Longer names are cut: 648 units are 23 characters. A name that would reach beyond the edge of the picture is moved.
#[test]
fn long_names_are_cut_and_stay_in_the_picture() {
    for length in [23, 24] {
        let names = letters(12, length);
        let (_, found) = names_of(&names, 960);
        for (number, ((words, x, y), name)) in found.iter().zip(&names).enumerate() {
            let expected = if length == 23 { name.clone() } else { format!("{}...", &name[..20]) };
            assert_eq!(words, &expected);
            // From the bottom of the plot at 366 px: 8 px, and 16 px for each row.
            assert!((y - 374.0 - 16.0 * (number % 3) as f64).abs() <= 0.5, "{words} is at a height of {y}");
            // Places from -0.3 to 11.3 lie on 864 px from 82 px on; 23 characters are 646 units or 161.5 px.
            let place = 82.0 + 864.0 * (number as f64 + 0.3) / 11.6;
            let within = place.clamp(80.75, 960.0 - 80.75);
            assert!((x - within).abs() <= 1.0, "{words} is at {x}: {within}");
        }
        assert!((found[0].1 - 104.3).abs() <= 1.0 && (found[11].1 - 879.25).abs() <= 1.0, "{found:?}");
    }
}

/// Each of up to 40 places has its name, in rows if they are long. Of more places some have it, in one row.
#[test]
fn many_places_are_named_in_part() {
    let names = letters(40, 12);
    assert_eq!(rows_of(&names, 960), 3);
    for (many, step) in [(41, 5), (100, 10)] {
        let names = letters(many, 12);
        let (figure, found) = names_of(&names, 960);
        let words: Vec<&str> = found.iter().map(|(words, ..)| words.as_str()).collect();
        let expected: Vec<&str> = names.iter().step_by(step).map(String::as_str).collect();
        assert_eq!(words, expected);
        assert!(found.iter().all(|(.., y)| *y == found[0].2), "{found:?}");
        assert_eq!(size(&figure), (960.0, 420.0));
        for ((_, x, _), number) in found.iter().zip((0..).step_by(step)) {
            let place = 82.0 + 864.0 * (f64::from(number) + 0.3) / (many as f64 - 0.4);
            assert!((x - place).abs() <= 1.0, "{x}: {place}");
        }
    }
}

/// Circles of a line within the plot, in px.
fn circles(figure: &Figure) -> Points {
    let elements = Element::all(&figure.svg);
    elements.iter().filter(|e| e.is("circle")).map(|e| (e.number("cx") / 4.0, e.number("cy") / 4.0)).collect()
}

/// The plot lies from 82 to 946 px and from 54 to 366 px. Numbers have 3 % of their range on both sides, values 6 % above and below, or
/// above zero only above.
#[test]
fn axes_have_room_around_what_they_show() {
    let numbers = [(0.0, 10.0, 0.0), (10.0, 20.0, 0.0)];
    let across = |part: f64| 82.0 + 864.0 * part;
    let up = |part: f64| 366.0 - 312.0 * part;
    let below_zero = [(0.0, -5.0, 0.0), (10.0, 10.0, 0.0)];
    for (points, y, expected) in [
        (&numbers, YAxis::Values, [(0.3 / 10.6, 0.6 / 11.2), (10.3 / 10.6, 10.6 / 11.2)]),
        (&numbers, YAxis::FromZero, [(0.3 / 10.6, 10.0 / 21.2), (10.3 / 10.6, 20.0 / 21.2)]),
        (&below_zero, YAxis::FromZero, [(0.3 / 10.6, 0.0), (10.3 / 10.6, 15.0 / 15.9)]),
    ] {
        let found = circles(&chart(XAxis::Numbers, y, LineStyle::Claimed, points).draw().unwrap());
        assert_eq!(found.len(), 2);
        for (found, (x, y)) in found.iter().zip(expected) {
            let off = (found.0 - across(x)).abs().max((found.1 - up(y)).abs());
            assert!(off <= 1.0, "{found:?} is not ({}, {})", across(x), up(y));
        }
    }
    // A number alone is in the middle, on both axes of numbers.
    for x in [XAxis::Numbers, XAxis::Logarithm] {
        let found = circles(&chart(x, YAxis::Values, LineStyle::Claimed, &[(5.0, 3.0, 0.0)]).draw().unwrap());
        assert!((found[0].0 - across(0.5)).abs() <= 1.0 && (found[0].1 - up(0.06 / 1.12)).abs() <= 1.0, "{found:?}");
    }
    // Places have 0.3 of the distance between two next to them, and 0.5 if something at them has a width.
    let names = XAxis::Places(["a", "b", "c"].map(str::to_owned).into());
    for (style, part) in [(LineStyle::Claimed, 0.3 / 2.6), (LineStyle::Marks, 0.5 / 3.0)] {
        let found = circles(&chart(names.clone(), YAxis::Values, style, &[(0.0, 3.0, 0.0)]).draw().unwrap());
        assert!((found[0].0 - across(part)).abs() <= 1.0, "{found:?}");
    }
}

/// A band reaches from the lower ends of the error bars to the upper ones; a point without one is at its value.
#[test]
fn bands_are_drawn_from_end_to_end_of_error_bars() {
    let points = [(0.0, 10.0, 2.0), (5.0, 12.0, 0.0), (10.0, 20.0, 4.0)];
    let outline = [(0.0, 8.0), (5.0, 12.0), (10.0, 16.0), (10.0, 24.0), (5.0, 12.0), (0.0, 12.0)];
    for style in [LineStyle::Mean, LineStyle::Reference] {
        let figure = chart(XAxis::Numbers, YAxis::FromZero, style, &points).draw().unwrap();
        let elements = Element::all(&figure.svg);
        let panel = &Panel::all(&elements, number, number)[0];
        let bands: Vec<Points> = elements.iter().filter(|e| e.is("polygon")).map(Element::points).collect();
        assert_eq!(bands.len(), 1, "{style:?}");
        panel.assert_shows(&bands[0], &outline, "the band");
    }
    let without = points.map(|(x, value, _)| (x, value, 0.0));
    let figure = chart(XAxis::Numbers, YAxis::FromZero, LineStyle::Reference, &without).draw().unwrap();
    assert!(!figure.svg.contains("<polygon"), "no error bars, no band");
}

/// Upright and level strokes of error bars and whiskers.
fn strokes(elements: &[Element<'_>], panel: &Panel) -> (Vec<Points>, Vec<Points>) {
    let of = |e: &&Element<'_>| e.is("polyline") && e.get("stroke") == BLUE && e.get("stroke-width") == "5";
    let all = elements.iter().filter(of).map(Element::points);
    all.filter(|p| p.len() == 2 && p.iter().all(|point| panel.holds(*point))).partition(|p| p[0].0 == p[1].0)
}

/// An error bar has a cap of 3 px on each side at both ends. On a logarithmic axis a bar that reaches zero ends at its point.
#[test]
fn error_bars_have_caps() {
    let points = [(0.0, 10.0, 5.0), (5.0, 100.0, 100.0), (10.0, 1000.0, 0.0)];
    let figure = chart(XAxis::Numbers, YAxis::Logarithm, LineStyle::Marked, &points).draw().unwrap();
    let elements = Element::all(&figure.svg);
    let logarithm = |words: &str| words.parse().ok().map(f64::log10);
    let panel = &Panel::all(&elements, number, logarithm)[0];
    let (bars, caps) = strokes(&elements, panel);
    let ends: [[f64; 2]; 2] = [[5.0, 15.0], [100.0, 200.0]];
    assert_eq!((bars.len(), caps.len()), (2, 4));
    for ((bar, x), ends) in bars.iter().zip([0.0, 5.0]).zip(ends) {
        panel.assert_shows(bar, &ends.map(|end| (x, end.log10())), "a bar");
    }
    for (cap, end) in caps.iter().zip(bars.iter().flatten()) {
        assert_eq!(*cap, [(end.0 - 12.0, end.1), (end.0 + 12.0, end.1)]);
    }
}

fn sweep(many: usize, label: impl Fn(usize) -> String, places: usize) -> Sweep {
    let points = || (0..places).map(|x| GroupPoint { x: x as f64, samples: vec![1.0, 2.0, 3.0, 4.0, 5.0] }).collect();
    Sweep {
        name: "sweep".into(),
        title: "Title".into(),
        x_title: "across".into(),
        y_title: "up".into(),
        x: XAxis::Places((0..places).map(|place| format!("p{place}")).collect()),
        y: YAxis::FromZero,
        heading: "queue".into(),
        groups: (0..many).map(|number| Group { label: label(number), points: points() }).collect(),
    }
}

/// Of 1 to 5 the quartiles are 2, 3 and 4, and the whiskers end at 1 and 5. A box is 0.4 of the distance between places wide, and the cap of a whisker
/// half as wide. The mean has a mark of 4 px, or of a third of the width of a narrow box.
#[test]
fn whiskers_have_caps_of_half_the_width_of_their_box() {
    let figure = sweep(1, |_| String::new(), 3).boxes().draw().unwrap();
    let elements = Element::all(&figure.svg);
    let place = |words: &str| words.strip_prefix('p').and_then(|n| n.parse().ok());
    let panel = &Panel::all(&elements, place, number)[0];
    let (whiskers, caps) = strokes(&elements, panel);
    assert_eq!((whiskers.len(), caps.len()), (6, 6));
    for (number, x) in [0.0, 1.0, 2.0].into_iter().enumerate() {
        let [lower, upper] = [2 * number, 2 * number + 1];
        panel.assert_shows(&whiskers[lower], &[(x, 2.0), (x, 1.0)], "the lower whisker");
        panel.assert_shows(&whiskers[upper], &[(x, 4.0), (x, 5.0)], "the upper whisker");
        panel.assert_shows(&caps[lower], &[(x - 0.1, 1.0), (x + 0.1, 1.0)], "the lower cap");
        panel.assert_shows(&caps[upper], &[(x - 0.1, 5.0), (x + 0.1, 5.0)], "the upper cap");
    }
    let radii = |figure: &Figure| -> Vec<f64> {
        Element::all(&figure.svg).iter().filter(|e| e.is("circle")).map(|e| e.number("r")).collect()
    };
    assert_eq!(radii(&figure), [16.0; 3]);
    // Next to the legend a plot has 648 px: 54 px for each of twelve places, of which a box of three groups has 0.8 x 0.7 / 3. That is 40
    // units, a third is 13. The last circle is that of the legend.
    let narrow = radii(&sweep(3, |n| format!("g{n}"), 12).boxes().draw().unwrap());
    assert_eq!((narrow.len(), narrow[12]), (13, 16.0));
    assert!(narrow[..12].iter().all(|radius| (radius - 13.0).abs() <= 1.0), "{narrow:?}");
}

/// A chart of groups of one run each, which has no entry for the meaning of its style.
fn of_one_run(many: usize, label: impl Fn(usize) -> String) -> Chart {
    let mut sweep = sweep(many, label, 3);
    sweep.groups.iter_mut().flat_map(|group| &mut group.points).for_each(|point| point.samples.truncate(1));
    let mut chart = sweep.lines();
    // Lines of this style have one panel.
    chart.lines.iter_mut().for_each(|line| line.style = LineStyle::Measured);
    chart
}

/// The heading and each entry have 22 px of the 372 px next to a plot. 15 entries fit; of more 14 are shown, and how many are not.
#[test]
fn a_legend_next_to_a_plot_counts_what_does_not_fit() {
    for many in [14, 15, 16, 30] {
        let figure = of_one_run(many, |n| format!("g{n}")).draw().unwrap();
        let found = texts(&figure);
        let shown = found.iter().filter(|word| word.starts_with('g')).count();
        let more: Vec<&&str> = found.iter().filter(|word| word.ends_with(" more")).collect();
        if many <= 15 {
            assert_eq!((shown, more.len()), (many, 0));
        } else {
            assert_eq!((shown, more), (14, vec![&format!("and {} more", many - 14).as_str()]));
            assert_at(&figure, more_of(&found), (744.0 + 32.0, 48.0 + 17.0 + 22.0 * 15.0));
        }
        assert_at(&figure, "queue", (744.0, 48.0 + 17.0));
        assert_at(&figure, "g13", (744.0 + 32.0, 48.0 + 17.0 + 22.0 * 14.0));
    }
}

fn more_of<'a>(words: &[&'a str]) -> &'a str {
    words.iter().find(|word| word.ends_with(" more")).unwrap()
}

/// Labels of 48 characters are 337 px wide, and 46 px next to them make 383: two of 932 px, in the first row next to the heading, too,
/// which is 38 px wide. Ten rows are shown; of more rows nine are shown, and how many entries are not.
#[test]
fn a_legend_below_a_plot_counts_what_does_not_fit() {
    for (many, shown, rows) in [(2, 2, 1), (19, 19, 10), (20, 20, 10), (21, 18, 10), (30, 18, 10)] {
        let figure = of_one_run(many, |n| format!("g{n:x>47}")).draw_styled(&below()).unwrap();
        let found = texts(&figure);
        assert_eq!(found.iter().filter(|word| word.starts_with('g')).count(), shown, "{many}");
        assert_eq!(found.iter().any(|word| word.ends_with(" more")), shown < many);
        if shown < many {
            assert_eq!(more_of(&found), format!("and {} more", many - shown));
            assert_at(&figure, more_of(&found), (14.0, 420.0 + 20.0 * 9.0 + 10.0));
        }
        assert_eq!(size(&figure), (960.0, 420.0 + 20.0 * f64::from(rows) + 14.0));
        assert_at(&figure, "queue", (14.0, 420.0 + 10.0));
        let label = |n: usize| format!("g{n:x>47}");
        assert_at(&figure, &label(0), (14.0 + 38.0 + 14.0 + 32.0, 420.0 + 10.0));
        assert_at(&figure, &label(1), (14.0 + 38.0 + 14.0 + 383.0 + 32.0, 420.0 + 10.0));
    }
}

/// A row of a legend below a plot has 960 - 2 x 14 px, which are 3728 units. Three labels of 38 characters with 46 px next to them, the
/// last with 32 px, need 3700 units, and those of 39 characters 3784. The first row has the heading and two of either. Longer labels than
/// 48 characters are cut.
#[test]
fn a_legend_below_a_plot_has_as_many_entries_in_a_row_as_fit() {
    for (length, rows) in [(38, 3), (39, 4), (60, 4)] {
        let rest = length - 1;
        let figure = of_one_run(8, |n| format!("g{n:x>rest$}")).draw_styled(&below()).unwrap();
        assert_eq!(size(&figure), (960.0, 420.0 + 20.0 * f64::from(rows) + 14.0), "{length}");
        let cut = texts(&figure).iter().filter(|word| word.starts_with('g') && word.ends_with("...")).count();
        assert_eq!(cut, if length > 48 { 8 } else { 0 });
    }
}

/// Width and height are from 200 to 4000 px. A picture is never lower than its words need.
#[test]
fn sizes_have_bounds() {
    let of = |width: u32, height: Option<u32>| {
        let drawn = chart(XAxis::Numbers, YAxis::Values, LineStyle::Claimed, &[(0.0, 1.0, 0.0)]);
        size(
            &drawn
                .draw_styled(&Style { width: width.into(), height: height.map(f64::from), ..Style::default() })
                .unwrap(),
        )
    };
    assert_eq!(of(199, Some(500)), (200.0, 500.0));
    assert_eq!(of(201, Some(500)), (201.0, 500.0));
    assert_eq!(of(4000, Some(4000)), (4000.0, 4000.0));
    assert_eq!(of(4001, Some(4001)), (4000.0, 4000.0));
    assert_eq!(of(960, Some(199)), of(960, Some(200)));
    // Words of 13 px need 48 px for the title, 26 px for the title of the axis and 120 px for the plot. Those of a picture of 200 px
    // have 10 px.
    assert_eq!(of(960, Some(300)).1, 300.0);
    assert!((of(960, Some(1)).1 - 200.0).abs() <= 1.0);
    let four = table(&["w", "x", "y", "z"].map(|link| (link, metric::QUEUE, [1.0, 10.0, 1.0])));
    let low = figure(&[("run", &four)], &Style { height: Some(300.0), ..Style::default() });
    // Four panels of 96 px.
    assert_eq!(size(&low).1, 48.0 + 4.0 * 96.0 + 26.0);
}

/// A number below an axis has 58 px, one next to it 30 px. A plot of 300 px has 300 - 28 - 68 = 204 px for numbers, which is room for three;
/// a panel of 96 px has room for three, too. There are eleven and seven numbers at most.
#[test]
fn axes_have_as_many_numbers_as_they_have_room_for() {
    let points = [(0.0, 0.0, 0.0), (10.0, 10.0, 0.0)];
    let numbers = |figure: &Figure| -> Vec<String> {
        texts(figure).into_iter().filter(|word| number(word).is_some()).map(str::to_owned).collect()
    };
    let drawn = |width: u32| {
        let of = chart(XAxis::Numbers, YAxis::FromZero, LineStyle::Claimed, &points);
        numbers(&of.draw_styled(&Style { width: width.into(), ..Style::default() }).unwrap())
    };
    let even = ["0", "2", "4", "6", "8", "10"];
    let all = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
    let sorted = |mut words: Vec<String>| {
        words.sort();
        words
    };
    let expected = |parts: &[&[&str]]| sorted(parts.concat().into_iter().map(str::to_owned).collect());
    assert_eq!(sorted(drawn(300)), expected(&[&["0", "5", "10"], &even]));
    assert_eq!(sorted(drawn(960)), expected(&[&all, &even]));
    let four = table(&["w", "x", "y", "z"].map(|link| (link, metric::QUEUE, [0.0, 10.0, 10.0])));
    let low = figure(&[("run", &four)], &Style { height: Some(300.0), ..Style::default() });
    let three: &[&str] = &["0", "5", "10"];
    // Next to the legend a panel has 744 - 28 - 68 = 648 px for numbers of time, which is room for eleven.
    assert_eq!(sorted(numbers(&low)), expected(&[three, three, three, three, &all, &all, &all, &all]));
}

/// The title of the vertical axis has 14 px, or less if it is too long: 372 px without the 50 px below the plot and with 12 px are 1336 units,
/// and a character of 14 px has 30.24 units. 8 px is the least.
#[test]
fn long_titles_of_axes_are_smaller() {
    for (length, pixels) in [(10, 14), (44, 14), (45, 13), (60, 10), (73, 8), (300, 8)] {
        let title = "y".repeat(length);
        let drawn = chart(XAxis::Numbers, YAxis::Values, LineStyle::Claimed, &[(0.0, 1.0, 0.0)]);
        let figure = Chart { y_title: title.clone(), ..drawn }.draw().unwrap();
        let elements = Element::all(&figure.svg);
        let found = elements.iter().find(|e| e.is("text") && e.text == title).unwrap();
        assert!(
            (found.number("font-size") - f64::from(4 * pixels)).abs() <= 0.5,
            "{length}: {}",
            found.get("font-size")
        );
    }
}

/// A title has 19 px, and a character is 0.54 times as wide: 932 px are 90 characters. A longer title is cut.
#[test]
fn long_titles_are_cut() {
    let title = |length: usize| {
        let drawn = chart(XAxis::Numbers, YAxis::Values, LineStyle::Claimed, &[(0.0, 1.0, 0.0)]);
        let figure = Chart { title: "\u{e4}".repeat(length), ..drawn }.draw().unwrap();
        texts(&figure)[0].to_owned()
    };
    assert_eq!(title(90), "\u{e4}".repeat(90));
    assert_eq!(title(91), "\u{e4}".repeat(87) + "...");
}

/// Up to eight lines are lines, and a queue with its average is one of them. Nine are a band.
#[test]
fn averages_and_their_queues_are_one_line_each() {
    let queue = [("link", metric::QUEUE, [5.0, 6.0, 7.0]), ("link", metric::RED_AVERAGE, [1.0, 2.0, 3.0])];
    let both = table(&queue);
    let labels: Vec<String> = (0..9).map(|n| format!("run {n}")).collect();
    let bands = |many: usize| {
        let runs: Vec<(&str, &SeriesTable)> = labels[..many].iter().map(|label| (label.as_str(), &both)).collect();
        figure(&runs, &Style::default()).svg.matches("<polygon").count()
    };
    assert_eq!(bands(8), 0);
    assert!(bands(9) > 0);
}

/// Boxes are explained below the entries of the legend, if there is room.
#[test]
fn boxes_are_explained() {
    let notes = |many: usize| -> Vec<String> {
        let line = |color| ChartLine { label: String::new(), color, style: LineStyle::Measured, points: Vec::new() };
        let boxes = sweep(many, |n| format!("g{n}"), 3).boxes();
        // With a line of this style there is one panel.
        let figure = Chart { lines: vec![line(0)], ..boxes }.draw().unwrap();
        texts(&figure)
            .into_iter()
            .filter(|word| word.contains(": ") || word.ends_with(" more"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(notes(2), ["box: quartiles, median, mean", "whiskers: up to 1.5 times the box"]);
    assert_eq!(notes(15), [""; 0], "all entries are shown, and no room is left");
    assert!(!texts(&sweep(2, |n| format!("g{n}"), 3).lines().draw().unwrap()).iter().any(|word| word.contains("box")));
}

/// A box without a width is not drawn, and neither is one that is wider than 10^15 or, on a logarithmic axis, than 30 powers of ten.
#[test]
fn boxes_have_a_width() {
    let boxes = |x: XAxis, width: f64| {
        let of = ChartBox { label: String::new(), color: 0, x: 5.0, width, samples: vec![1.0, 2.0, 3.0] };
        let chart = chart(x, YAxis::Values, LineStyle::Claimed, &[]);
        Chart { boxes: vec![of], ..chart }.draw().unwrap().svg.matches("<polygon").count()
    };
    for (width, drawn) in [(0.0, 0), (-1.0, 0), (f64::NAN, 0), (1.0, 1), (1e15, 1), (1.1e15, 0)] {
        assert_eq!(boxes(XAxis::Numbers, width), drawn, "{width}");
    }
    assert_eq!([30.0, 30.1].map(|width| boxes(XAxis::Logarithm, width)), [1, 0]);
}

/// Places whose names are numbers at unequal distances are not to scale, and the title of the axis states it.
#[test]
fn unequal_steps_are_not_to_scale() {
    let title = |names: [&str; 3]| {
        let x = XAxis::Places(names.map(str::to_owned).into());
        let figure = chart(x, YAxis::Values, LineStyle::Claimed, &[(0.0, 1.0, 0.0)]).draw().unwrap();
        texts(&figure).into_iter().find(|word| word.starts_with("across")).map(str::to_owned)
    };
    assert_eq!(title(["1", "2", "4"]).as_deref(), Some("across, not to scale"));
    assert_eq!(title(["1", "2", "3"]).as_deref(), Some("across"));
}

/// Lines that differ in marks have dashes, too; other lines have none.
#[test]
fn only_lines_with_marks_have_dashes() {
    for (style, dashed) in [(LineStyle::Marked, true), (LineStyle::Steps, true), (LineStyle::Measured, false)] {
        let mut chart = chart(XAxis::Numbers, YAxis::Values, style, &[(0.0, 1.0, 0.0), (1.0, 2.0, 0.0)]);
        chart.lines[0].color = 1;
        assert_eq!(chart.draw().unwrap().svg.contains("stroke-dasharray"), dashed, "{style:?}");
    }
}

/// The numbers below a line with marks are those of its points, unless they are too close for their words.
#[test]
fn numbers_of_an_axis_are_those_of_the_points() {
    let below = |xs: [f64; 3]| -> Vec<String> {
        let points = xs.map(|x| (x, 500.0, 0.0));
        let figure = chart(XAxis::Numbers, YAxis::FromZero, LineStyle::Marked, &points).draw().unwrap();
        let found = words(&figure).into_iter().filter(|(word, _, y)| number(word).is_some() && *y > 366.0);
        found.map(|(word, ..)| word.to_owned()).collect()
    };
    assert_eq!(below([1.0, 4.5, 10.0]), ["1", "4.5", "10"]);
    assert_eq!(below([0.0, 0.1, 10.0]), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
}
