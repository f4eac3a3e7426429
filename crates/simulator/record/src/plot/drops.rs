//! Dropped packets by cause over time, from the events of a run.

use super::curves::Trace;
use super::draw::{self, Between, Panel};
use super::figure::y_axis_title;
use super::style::Style;
use super::{Figure, MAX_PANELS, PlotError, Points, RunLabels, SeriesLines};
use crate::{DROPS_FIGURE, EventCause, EventKind, EventRow, EventTable, Interval, axis_title};
use headway_units::{Duration, Instant};
use std::collections::BTreeMap;

/// The events of a run, to draw its drops.
#[derive(Clone, Copy, Debug)]
pub struct RunEvents<'a> {
    /// Label of the run.
    pub label: &'a str,
    /// Events of the run.
    pub events: &'a EventTable,
    /// Time to draw, such as the measured interval of the run. Other drops are not counted.
    pub interval: Interval,
}

impl<'a> RunEvents<'a> {
    /// Returns the dropped packets to draw: those from senders to receivers in the interval.
    fn rows(&self) -> impl Iterator<Item = EventRow<'a>> {
        let Interval { from, to } = self.interval;
        let rows = self.events.iter().filter(move |row| (from..=to).contains(&row.at.as_secs_f64()));
        rows.filter(|row| !row.is_feedback() && (row.is(EventKind::Drop) || row.is(EventKind::Unsent)))
    }

    /// Returns whether a figure shows a drop of this run.
    #[must_use]
    pub fn has_drops(&self) -> bool {
        self.rows().next().is_some()
    }
}

/// The drops of one flow of a run, or of all its flows.
struct Drops<'a> {
    run: usize,
    /// `None` for all flows.
    flow: Option<&'a str>,
    /// Times of the drops by each cause, in the order of [`EventCause::names`].
    causes: Vec<Vec<Instant>>,
}

impl Drops<'_> {
    /// Returns the label of its run, if there are several, and of its flow.
    fn label(&self, runs: &RunLabels) -> String {
        let run = &runs.runs.each[self.run];
        RunLabels::line(run, self.flow.unwrap_or_default(), runs.runs.each.len() > 1, self.flow.is_some())
    }
}

fn labels(runs: &[RunEvents<'_>]) -> RunLabels {
    RunLabels::of_labels(&runs.iter().map(|run| run.label).collect::<Vec<_>>())
}

/// Returns the lines of [`drops_figure`] for another drawing program: one for each cause of each flow of each run. A
/// number holds until the next point.
#[must_use]
pub fn drop_lines(runs: &[RunEvents<'_>]) -> SeriesLines {
    let (all, run_labels) = (drops(runs, true), labels(runs));
    let mut lines = Vec::new();
    for drops in &all {
        for (cause, points) in lines_of(&runs[drops.run], drops) {
            let label = if all.len() == 1 { cause } else { format!("{}: {cause}", drops.label(&run_labels)) };
            lines.push((label, points));
        }
    }
    SeriesLines { y_title: axis_title("Dropped", Some("packets"), 0.0, None).0, lines }
}

/// Draws the number of packets from senders to receivers that were dropped since the start of the measured interval, as
/// steps over time with a line for each cause: those of links and hosts, and those of send queues. There is a panel for
/// each flow of each run that has drops, in the order of the scenario. If these are more than four panels, there is one
/// for all flows of each of the first four runs with drops. Returns `None` without drops.
///
/// # Errors
/// [`PlotError::Label`] if a label of an axis has a unit of another quantity; [`PlotError::Draw`], which no input is known
/// to cause.
pub fn drops_figure(runs: &[RunEvents<'_>], style: &Style) -> Result<Option<Figure>, PlotError> {
    let by_flow = drops(runs, true);
    let mut shown = if by_flow.len() <= MAX_PANELS { by_flow } else { drops(runs, false) };
    let Some(first) = shown.first() else { return Ok(None) };
    let run_labels = labels(runs);
    let line = |drops: &Drops<'_>| drops.label(&run_labels);
    let count = shown.len();
    let only = if count == 1 { line(first) } else { String::new() };
    shown.truncate(MAX_PANELS);
    let (y_title, scale) = y_axis_title(DROPS_FIGURE, "Dropped", Some("packets"), 0.0, style)?;
    let panel = |drops: &Drops<'_>| {
        let title = if count == 1 { String::new() } else { line(drops) };
        let lines = lines_of(&runs[drops.run], drops).into_iter();
        let traces = lines.map(|(label, points)| Trace::Line { label, points, pale: false }).collect();
        Panel { title, y_title: y_title.clone(), scale, heading: String::new(), traces, between: Between::Steps }
    };
    let panels: Vec<Panel> = shown.iter().map(panel).collect();
    let title = match count - panels.len() {
        0 => "Dropped packets by cause".to_owned(),
        _ => format!("Dropped packets by cause: the first {} of {count} runs with drops", panels.len()),
    };
    draw::figure(DROPS_FIGURE, &run_labels.title(&title, &only), panels, None, style).map(Some)
}

/// Returns the drops of each run, or of each flow of each run.
fn drops<'a>(runs: &[RunEvents<'a>], by_flow: bool) -> Vec<Drops<'a>> {
    let mut all: Vec<Drops<'a>> = Vec::new();
    for (run, of) in runs.iter().enumerate() {
        let numbers: BTreeMap<&str, usize> = of.events.flows().zip(0..).collect();
        let mut found: BTreeMap<Option<usize>, Drops<'a>> = BTreeMap::new();
        for row in of.rows() {
            let cause = row.cause.and_then(|cause| EventCause::names().position(|name| name == cause));
            let (Some(cause), Some(flow)) = (cause, row.flow) else { continue };
            let number = numbers.get(flow).copied().filter(|_| by_flow);
            let none =
                || Drops { run, flow: by_flow.then_some(flow), causes: vec![Vec::new(); EventCause::names().count()] };
            found.entry(number).or_insert_with(none).causes[cause].push(row.at);
        }
        all.extend(found.into_values());
    }
    all
}

/// Returns the label and steps of each cause that occurs, from the start of the interval to its end.
fn lines_of(run: &RunEvents<'_>, drops: &Drops<'_>) -> Vec<(String, Points)> {
    // The number at the end of the interval is unknown if the file omits drops.
    let omits = [EventKind::Drop, EventKind::Unsent].into_iter().any(|kind| run.events.omitted(kind) > 0);
    // Damaged summaries have times that cannot be drawn.
    let [from, to] = [run.interval.from, run.interval.to].map(|at| Duration::from_secs_f64(at).as_secs_f64());
    let line = |(times, cause): (&Vec<Instant>, &str)| {
        let mut times: Vec<f64> = times.iter().map(|at| at.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let end = (!omits).then_some((to, times.len() as f64));
        let steps = times.into_iter().zip(1u32..).map(|(at, count)| (at, f64::from(count)));
        (cause.replace('_', " "), [(from, 0.0)].into_iter().chain(steps).chain(end).collect())
    };
    let causes = drops.causes.iter().zip(EventCause::names());
    causes.filter(|(times, _)| !times.is_empty()).map(line).collect()
}
