//! How delays are distributed: the share of packets, or of frames, that take so long at most.

use super::Named;
use super::axis::{XAxis, YAxis};
use super::chart::{Chart, ChartLine, ChartPoint, LineStyle};
use super::curves::{MAX_LINES, stem};
use super::labels::Labels;
use crate::figures::DISTRIBUTION_FIGURES;
use crate::{Distribution, Distributions, axis_title};
use headway_units::MediaKind;
use std::collections::BTreeMap;

/// A run whose delays are drawn: what the legend calls it, and what it has kept.
#[derive(Clone, Copy, Debug)]
pub struct RunDelays<'a> {
    /// What the legend calls it.
    pub label: &'a str,
    /// What it has kept.
    pub kept: &'a Distributions,
}

/// The one-way delays of packets that arrived, a line a flow; none if nothing arrived. Runs that differ in nothing but their seed are
/// taken together, and so are flows of one name (`ftp-1`, `ftp-2`, ...) where there are more than eight lines. With `complementary` the share that takes longer, over an
/// axis of logarithms. The unit is that of `x_label`, if a user wrote one.
#[must_use]
pub fn delay_chart(runs: &[RunDelays<'_>], x: XAxis, complementary: bool, x_label: Option<&str>) -> Option<Chart> {
    let mut found = Vec::new();
    for (run, of_run) in runs.iter().enumerate() {
        for flow in &of_run.kept.flows {
            found.extend(flow.one_way_delay_s.iter().map(|of| Found { run, flow: &flow.name, kind: None, of }));
        }
    }
    let words = Words {
        name: DISTRIBUTION_FIGURES[0],
        title: "One-way delay of packets that arrived",
        x: "One-way delay",
        y: shares("packets", complementary),
    };
    chart(runs, &found, x, complementary, (words, x_label))
}

/// The share of the frames that were written that are complete within a time from then on, a line for each flow and media kind: those that
/// never are leave it below 1. None without frames; what is taken together is as of [`delay_chart`].
#[must_use]
pub fn frame_chart(runs: &[RunDelays<'_>], x: XAxis, complementary: bool, x_label: Option<&str>) -> Option<Chart> {
    let mut found = Vec::new();
    for (run, of_run) in runs.iter().enumerate() {
        for flow in &of_run.kept.flows {
            let kinds = flow.frame_delay_s.iter();
            found.extend(kinds.map(|(kind, of)| Found { run, flow: &flow.name, kind: Some(*kind), of }));
        }
    }
    let y = if complementary { "Share of frames not yet complete" } else { "Share of frames that are complete" };
    let words = Words {
        name: DISTRIBUTION_FIGURES[1],
        title: "Frames that are complete in time",
        x: "Time since written",
        y: y.to_owned(),
    };
    chart(runs, &found, x, complementary, (words, x_label))
}

struct Found<'a> {
    run: usize,
    flow: &'a str,
    kind: Option<MediaKind>,
    of: &'a Distribution,
}

struct Words {
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
    (words, x_label): (Words, Option<&str>),
) -> Option<Chart> {
    let first = found.first()?;
    let labels: Vec<&str> = runs.iter().map(|run| run.label).collect();
    let named = Named { runs: Labels::of(&labels), over_seeds: Labels::but_for_seed(&labels) };
    let many_kinds = found.iter().any(|found| found.kind != first.kind);
    let many_flows = found.iter().any(|found| found.flow != first.flow);
    let label = |found: &Found<'_>, flow: &str| {
        let flow = match found.kind {
            Some(kind) if many_kinds && many_flows => format!("{flow}, {kind}"),
            Some(kind) if many_kinds => kind.to_string(),
            _ => flow.to_owned(),
        };
        Named::line(&named.over_seeds.each[found.run], &flow, runs.len() > 1, many_flows || many_kinds)
    };
    let run = |found: &Found<'_>| named.names(found.run, "", false, "", false).coarse;
    let coarser: [&dyn Fn(&Found<'_>) -> String; 2] = [&|found| label(found, stem(found.flow)), &run];
    let mut together = together(found, |found| label(found, found.flow));
    for label in coarser {
        if together.len() > MAX_LINES {
            together = self::together(found, label);
        }
    }
    let longest = together.iter().filter_map(|(_, of)| of.bins.last()).map(|(delay, _)| *delay).fold(0.0, f64::max);
    let (x_title, scale) = axis_title(words.x, Some("s"), longest, x_label);
    let line = |(colour, (label, of)): (usize, (String, Distribution))| {
        let bins: Vec<(f64, u64)> = of.bins.iter().map(|(delay, count)| (delay / scale, *count)).collect();
        ChartLine { label, colour, style: LineStyle::Steps, points: cumulative(&bins, of.of, complementary) }
    };
    let only = if many_flows { "" } else { first.flow };
    Some(Chart {
        name: words.name.to_owned(),
        title: named.title(words.title, only),
        x_title,
        y_title: words.y,
        x,
        y: if complementary { YAxis::Logarithm } else { YAxis::FromZero },
        heading: named.over_seeds.heading,
        styles: Vec::new(),
        lines: together.into_iter().enumerate().map(line).collect(),
        boxes: Vec::new(),
    })
}

/// The sums of what is called the same, in the order of the first of each.
fn together(found: &[Found<'_>], label: impl Fn(&Found<'_>) -> String) -> Vec<(String, Distribution)> {
    let mut order: Vec<String> = Vec::new();
    let mut all: BTreeMap<String, Vec<&Distribution>> = BTreeMap::new();
    for found in found {
        let label = label(found);
        all.entry(label.clone())
            .or_insert_with(|| {
                order.push(label);
                Vec::new()
            })
            .push(found.of);
    }
    order
        .into_iter()
        .map(|label| {
            let sum = Distribution::sum(&all[&label]);
            (label, sum)
        })
        .collect()
}

/// The corners of a distribution of `of` in all: how many of them do not exceed each value, or do.
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

/// What stands beside the shares of so many of something.
pub(super) fn shares(of: &str, complementary: bool) -> String {
    if complementary { format!("Share of {of} above this") } else { format!("Cumulative share of {of}") }
}
