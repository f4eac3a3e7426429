//! Charts of delays: which flows and media kinds have a separate line, and the titles of the axes, as `docs/src/plots.md` defines them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_record::plot::{Chart, LineStyle, RunDelays, XAxis, YAxis, delay_chart, frame_chart};
use headway_record::{Distribution, Distributions, FlowDistributions};
use headway_units::MediaKind;

/// One packet and one frame of four, each after 0.25 s, for each flow and media kind.
fn run(flows: &[&str], kinds: &[MediaKind]) -> Distributions {
    let flow = |name: &&str| FlowDistributions {
        name: (*name).to_owned(),
        one_way_delay_s: Some(Distribution { of: 1, bins: vec![(0.25, 1)] }),
        frame_delay_s: kinds.iter().map(|kind| (*kind, Distribution { of: 4, bins: vec![(0.25, 1)] })).collect(),
    };
    Distributions { flows: flows.iter().map(flow).collect() }
}

fn frames(runs: &[(&str, &Distributions)], complementary: bool) -> Chart {
    let runs: Vec<_> = runs.iter().map(|(label, distributions)| RunDelays { label, distributions }).collect();
    frame_chart(&runs, XAxis::Numbers, complementary, None).unwrap()
}

fn delays(runs: &[(&str, &Distributions)], complementary: bool) -> Chart {
    let runs: Vec<_> = runs.iter().map(|(label, distributions)| RunDelays { label, distributions }).collect();
    delay_chart(&runs, XAxis::Logarithm, complementary, None).unwrap()
}

fn labels(chart: &Chart) -> Vec<&str> {
    chart.lines.iter().map(|line| line.label.as_str()).collect()
}

/// A line of frames is named after its flow, its media kind, or both, if there are several.
#[test]
fn frames_are_named_after_what_differs() {
    use MediaKind::{Audio, Video};
    for (flows, kinds, expected) in [
        (&["a"][..], &[Audio][..], &["a"][..]),
        (&["a"], &[Audio, Video], &["audio", "video"]),
        (&["a", "b"], &[Audio], &["a", "b"]),
        (&["a", "b"], &[Audio, Video], &["a, audio", "a, video", "b, audio", "b, video"]),
    ] {
        let kept = run(flows, kinds);
        assert_eq!(labels(&frames(&[("run", &kept)], false)), expected);
        let of_two: Vec<String> = if expected == ["a"] {
            vec!["1".into(), "2".into()]
        } else {
            ["1", "2"].iter().flat_map(|run| expected.iter().map(move |label| format!("{run}: {label}"))).collect()
        };
        assert_eq!(labels(&frames(&[("n=1", &kept), ("n=2", &kept)], false)), of_two);
    }
}

/// Up to eight lines are drawn. Of nine flows those whose names differ in their number are one line. If there are still more than eight, each run is
/// a line.
#[test]
fn more_than_eight_lines_are_combined() {
    let numbered: Vec<String> = (1..=9).map(|n| format!("ftp-{n}")).collect();
    let numbered: Vec<&str> = numbered.iter().map(String::as_str).collect();
    let named = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let chart = |flows: &[&str]| delays(&[("run", &run(flows, &[]))], false);
    assert_eq!(labels(&chart(&numbered[..8])), numbered[..8]);
    assert_eq!(labels(&chart(&numbered)), ["ftp"]);
    assert_eq!(labels(&chart(&named[..8])), named[..8]);
    assert_eq!(labels(&chart(&named)), ["run"]);
    let kept = run(&named, &[]);
    let of_two = delays(&[("n=1", &kept), ("n=2", &kept)], false);
    assert_eq!((labels(&of_two), of_two.heading.as_str()), (vec!["1", "2"], "n"));
    let colors: Vec<usize> = chart(&named[..8]).lines.iter().map(|line| line.color).collect();
    assert_eq!(colors, [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// The share above a time has a logarithmic axis; a quarter of the frames is complete, and three quarters are not.
#[test]
fn axes_state_what_a_share_is_of() {
    let kept = run(&["a"], &[MediaKind::Audio]);
    for (complementary, y, of_packets, of_frames, packets, frame) in [
        (
            false,
            YAxis::FromZero,
            "Cumulative share of packets",
            "Share of frames that are complete",
            [0.0, 1.0],
            [0.0, 0.25],
        ),
        (
            true,
            YAxis::Logarithm,
            "Share of packets above this",
            "Share of frames not yet complete",
            [1.0, 0.0],
            [1.0, 0.75],
        ),
    ] {
        let values =
            |chart: &Chart| chart.lines[0].points.iter().map(|point| (point.x, point.value)).collect::<Vec<_>>();
        let chart = delays(&[("run", &kept)], complementary);
        assert_eq!((chart.y, chart.y_title.as_str(), chart.x_title.as_str()), (y, of_packets, "One-way delay (ms)"));
        assert_eq!(values(&chart), packets.map(|share| (250.0, share)));
        assert_eq!((chart.name.as_str(), chart.x), ("delay-cdf", XAxis::Logarithm));
        let chart = frames(&[("run", &kept)], complementary);
        assert_eq!(
            (chart.y, chart.y_title.as_str(), chart.x_title.as_str()),
            (y, of_frames, "Time since written (ms)")
        );
        assert_eq!(values(&chart), frame.map(|share| (250.0, share)));
        assert_eq!((chart.name.as_str(), chart.x), ("frames", XAxis::Numbers));
        assert!(chart.lines.iter().all(|line| line.style == LineStyle::Steps));
    }
}

/// The title contains the keys that all runs share, and the flow if there is only one.
#[test]
fn titles_have_what_runs_share() {
    let (one, two) = (run(&["a"], &[]), run(&["a", "b"], &[]));
    let title = |runs: &[(&str, &Distributions)]| delays(runs, false).title;
    let of = |words: &str| format!("One-way delay of packets that arrived{words}");
    assert_eq!(title(&[("run", &one)]), of(": run"));
    assert_eq!(title(&[("n=1_m=3", &one), ("n=2_m=3", &one)]), of(": m=3, a"));
    assert_eq!(title(&[("n=1_m=3", &one), ("n=2_m=3", &two)]), of(": m=3"));
    assert_eq!(title(&[("n=1", &two), ("n=2", &two)]), of(""));
}
