//! Dropped packets by cause over time, from the events of a run.

use super::curves::Trace;
use super::draw::{self, Panel};
use super::style::Style;
use super::{Figure, MAX_PANELS, PlotError, RunLabels};
use crate::{DROPS_FIGURE, EventCause, EventKind, EventTable, Interval, axis_title};
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

/// The drops of one flow of a run, or of all its flows.
struct Drops<'a> {
    run: usize,
    /// `None` for all flows.
    flow: Option<&'a str>,
    /// Times of the drops by each cause, in the order of [`EventCause::names`].
    causes: Vec<Vec<Instant>>,
}

/// Draws the number of packets from senders to receivers that were dropped since the start of the measured interval, as
/// steps over time with a line for each cause: those of links and hosts, and those of send queues. There is a panel for
/// each flow of each run, or for all flows of each of the first four runs if there are more than four panels. Returns
/// `None` without drops.
///
/// # Errors
/// [`PlotError::Draw`]; no input is known to cause it.
pub fn drops_figure(runs: &[RunEvents<'_>], style: &Style) -> Result<Option<Figure>, PlotError> {
    let by_flow = drops(runs, true);
    let mut shown = if by_flow.len() <= MAX_PANELS { by_flow } else { drops(runs, false) };
    let Some(first) = shown.first() else { return Ok(None) };
    let only = first.flow.filter(|_| shown.len() == 1).unwrap_or_default();
    let count = shown.len();
    shown.truncate(MAX_PANELS);
    let labels: Vec<&str> = runs.iter().map(|run| run.label).collect();
    let run_labels = RunLabels::of_labels(&labels);
    let (y_title, scale) = axis_title("Dropped", Some("packets"), 0.0, style.y_title.as_deref());
    let panel = |drops: &Drops<'_>| {
        let run = &run_labels.runs.each[drops.run];
        let title = match drops.flow {
            _ if count == 1 => String::new(),
            Some(flow) => RunLabels::line(run, flow, runs.len() > 1, true),
            None => run.clone(),
        };
        let traces = lines_of(&runs[drops.run], drops);
        Panel { title, y_title: y_title.clone(), scale, heading: String::new(), traces, steps: true }
    };
    let panels: Vec<Panel> = shown.iter().map(panel).collect();
    let title = match count - panels.len() {
        0 => "Dropped packets by cause".to_owned(),
        _ => format!("Dropped packets by cause: the first {} of {count} runs", panels.len()),
    };
    draw::figure(DROPS_FIGURE, &run_labels.title(&title, only), panels, style).map(Some)
}

/// Returns the drops of each run, or of each flow of each run.
fn drops<'a>(runs: &[RunEvents<'a>], by_flow: bool) -> Vec<Drops<'a>> {
    let mut all: Vec<Drops<'a>> = Vec::new();
    for (run, of) in runs.iter().enumerate() {
        let mut places: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        let is_drawn = |at: Instant| (of.interval.from..=of.interval.to).contains(&at.as_secs_f64());
        let rows = of.events.iter().filter(|row| is_drawn(row.at) && !row.is_feedback());
        for row in rows.filter(|row| row.is(EventKind::Drop) || row.is(EventKind::Unsent)) {
            let cause = row.cause.and_then(|cause| EventCause::names().position(|name| name == cause));
            let (Some(cause), Some(flow)) = (cause, row.flow) else { continue };
            let flow = by_flow.then_some(flow);
            let place = *places.entry(flow).or_insert_with(|| {
                all.push(Drops { run, flow, causes: vec![Vec::new(); EventCause::names().count()] });
                all.len() - 1
            });
            all[place].causes[cause].push(row.at);
        }
    }
    all
}

/// Returns the steps of each cause that occurs, from the start of the interval to its end.
fn lines_of(run: &RunEvents<'_>, drops: &Drops<'_>) -> Vec<Trace> {
    // The number at the end of the interval is unknown if the file omits drops.
    let omits = [EventKind::Drop, EventKind::Unsent].into_iter().any(|kind| run.events.omitted(kind) > 0);
    // Damaged summaries have times that cannot be drawn.
    let [from, to] = [run.interval.from, run.interval.to].map(|at| Duration::from_secs_f64(at).as_secs_f64());
    let line = |(times, cause): (&Vec<Instant>, &str)| {
        let mut times: Vec<f64> = times.iter().map(|at| at.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let end = (!omits).then_some((to, times.len() as f64));
        let steps = times.into_iter().zip(1u32..).map(|(at, count)| (at, f64::from(count)));
        let points = [(from, 0.0)].into_iter().chain(steps).chain(end).collect();
        Trace::Line { label: cause.replace('_', " "), points, pale: false }
    };
    let causes = drops.causes.iter().zip(EventCause::names());
    causes.filter(|(times, _)| !times.is_empty()).map(line).collect()
}
