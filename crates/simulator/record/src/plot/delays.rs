//! Cumulative distributions of the delays of packets and frames.

use super::RunLabels;
use super::axis::{XAxis, YAxis};
use super::chart::{Chart, ChartLine, ChartPoint, LineStyle};
use super::curves::{MAX_LINES, stem};
use crate::figures::DISTRIBUTION_FIGURES;
use crate::{Distribution, Distributions, axis_title};
use headway_units::MediaKind;
use std::collections::BTreeMap;

/// The delays of a run and their label.
#[derive(Clone, Copy, Debug)]
pub struct RunDelays<'a> {
    /// Label of the run in the legend.
    pub label: &'a str,
    /// Distributions of packet and frame delays of the run.
    pub distributions: &'a Distributions,
}

/// Returns the chart of one-way delays of received packets, one line per flow; `None` without received packets.
///
/// Runs that differ only in their seeds are merged. With more than eight lines, flows of one name (`ftp-1`, `ftp-2`,
/// ...) are merged, too, and if there are still more, all flows of a run. With `complementary`, the vertical axis is
/// the share of longer delays, and logarithmic. If the user's `x_label` ends in a unit of time, delays are in that
/// unit.
#[must_use]
pub fn delay_chart(runs: &[RunDelays<'_>], x: XAxis, complementary: bool, x_label: Option<&str>) -> Option<Chart> {
    let mut found = Vec::new();
    for (run, delays) in runs.iter().enumerate() {
        for flow in &delays.distributions.flows {
            let distributions = flow.one_way_delay_s.iter();
            found.extend(distributions.map(|distribution| Found { run, flow: &flow.name, kind: None, distribution }));
        }
    }
    let titles = Titles {
        name: DISTRIBUTION_FIGURES[0],
        title: "One-way delay of packets that arrived",
        x: "One-way delay",
        y: shares_title("packets", complementary),
    };
    chart(runs, &found, x, complementary, (titles, x_label))
}

/// Returns the chart of the share of frames that are complete within a time after they were written, one line per flow
/// and media kind. Frames that are never complete keep the share below 1. Returns `None` without frames. Lines are
/// merged as in [`delay_chart`].
#[must_use]
pub fn frame_chart(runs: &[RunDelays<'_>], x: XAxis, complementary: bool, x_label: Option<&str>) -> Option<Chart> {
    let mut found = Vec::new();
    for (run, delays) in runs.iter().enumerate() {
        for flow in &delays.distributions.flows {
            let kinds = flow.frame_delay_s.iter();
            found.extend(kinds.map(|(kind, distribution)| Found {
                run,
                flow: &flow.name,
                kind: Some(*kind),
                distribution,
            }));
        }
    }
    let y = if complementary { "Share of frames not yet complete" } else { "Share of frames that are complete" };
    let titles = Titles {
        name: DISTRIBUTION_FIGURES[1],
        title: "Frames that are complete on time",
        x: "Time since written",
        y: y.to_owned(),
    };
    chart(runs, &found, x, complementary, (titles, x_label))
}

struct Found<'a> {
    run: usize,
    flow: &'a str,
    kind: Option<MediaKind>,
    distribution: &'a Distribution,
}

struct Titles {
    name: &'static str,
    title: &'static str,
    x: &'static str,
    y: String,
}

fn chart(
    runs: &[RunDelays<'_>],
    found: &[Found<'_>],
    x: XAxis,
    complementary: bool,
    (titles, x_label): (Titles, Option<&str>),
) -> Option<Chart> {
    let first = found.first()?;
    let labels: Vec<&str> = runs.iter().map(|run| run.label).collect();
    let run_labels = RunLabels::of_labels(&labels);
    let many_kinds = found.iter().any(|found| found.kind != first.kind);
    let many_flows = found.iter().any(|found| found.flow != first.flow);
    let label = |found: &Found<'_>, flow: &str| {
        let flow = match found.kind {
            Some(kind) if many_kinds && many_flows => format!("{flow}, {kind}"),
            Some(kind) if many_kinds => kind.to_string(),
            _ => flow.to_owned(),
        };
        RunLabels::line(&run_labels.over_seeds.each[found.run], &flow, runs.len() > 1, many_flows || many_kinds)
    };
    let run = |found: &Found<'_>| run_labels.names(found.run, "", false, "", false).coarse;
    let coarser: [&dyn Fn(&Found<'_>) -> String; 2] = [&|found| label(found, stem(found.flow)), &run];
    let mut merged = merge(found, |found| label(found, found.flow));
    for label in coarser {
        if merged.len() > MAX_LINES {
            merged = merge(found, label);
        }
    }
    let longest = merged
        .iter()
        .filter_map(|(_, distribution)| distribution.bins.last())
        .map(|(delay, _)| *delay)
        .fold(0.0, f64::max);
    let (x_title, scale) = axis_title(titles.x, Some("s"), longest, x_label);
    let line = |(color, (label, distribution)): (usize, (String, Distribution))| {
        let bins: Vec<(f64, u64)> = distribution.bins.iter().map(|(delay, count)| (delay / scale, *count)).collect();
        ChartLine { label, color, style: LineStyle::Steps, points: cumulative(&bins, distribution.of, complementary) }
    };
    let only = if many_flows { "" } else { first.flow };
    Some(Chart {
        name: titles.name.to_owned(),
        title: run_labels.title(titles.title, only),
        x_title,
        y_title: titles.y,
        x,
        y: if complementary { YAxis::Logarithm } else { YAxis::FromZero },
        heading: run_labels.over_seeds.heading,
        styles: Vec::new(),
        lines: merged.into_iter().enumerate().map(line).collect(),
        boxes: Vec::new(),
    })
}

/// Returns the sums of distributions with equal labels, in the order of first occurrence.
fn merge(found: &[Found<'_>], label: impl Fn(&Found<'_>) -> String) -> Vec<(String, Distribution)> {
    let mut order: Vec<String> = Vec::new();
    let mut all: BTreeMap<String, Vec<&Distribution>> = BTreeMap::new();
    for found in found {
        let label = label(found);
        all.entry(label.clone())
            .or_insert_with(|| {
                order.push(label);
                Vec::new()
            })
            .push(found.distribution);
    }
    order
        .into_iter()
        .map(|label| {
            let sum = Distribution::sum(&all[&label]);
            (label, sum)
        })
        .collect()
}

/// Returns the points of a cumulative distribution over `of` items: the share up to each value or, with
/// `complementary`, above it.
pub(super) fn cumulative(bins: &[(f64, u64)], of: u64, complementary: bool) -> Vec<ChartPoint> {
    let Some((first, _)) = bins.first() else { return Vec::new() };
    let point = |x: f64, seen: u64| {
        let share = seen as f64 / of.max(1) as f64;
        ChartPoint { x, value: if complementary { 1.0 - share } else { share }, error: 0.0 }
    };
    let mut seen = 0u64;
    let steps = bins.iter().map(|(x, count)| {
        seen = seen.saturating_add(*count);
        point(*x, seen)
    });
    std::iter::once(point(*first, 0)).chain(steps).collect()
}

/// Returns the title of an axis of shares.
pub(super) fn shares_title(of: &str, complementary: bool) -> String {
    if complementary { format!("Share of {of} above this") } else { format!("Cumulative share of {of}") }
}
