//! Several metrics of one unit, such as the sending, allowed and encoder rate: a panel for each flow.

use super::curves::{self, Curve, Names};
use super::draw::{self, Between, Panel};
use super::figure::y_axis_title;
use super::style::Style;
use super::{Figure, Found, MAX_PANELS, PlotError, RunLabels, is_drawable, largest};
use crate::{SeriesFigure, metric};
use indexmap::{IndexMap, IndexSet};

/// Draws a panel for each flow, or for the flows of one name (`ftp-1`, `ftp-2`, ...) if there are more than four. If
/// there are still more than four, these are the ones with the largest mean of the first metric. Returns `None` without
/// samples.
pub(super) fn figure(
    figure: &SeriesFigure,
    run_labels: &RunLabels,
    found: &[Found<'_>],
    style: &Style,
) -> Result<Option<Figure>, PlotError> {
    let by_flow = titles(figure, found, |entity| entity);
    let has_few = by_flow.len() <= MAX_PANELS;
    let title_of = if has_few { |entity| entity } else { curves::stem };
    let mut titles = if has_few { by_flow } else { titles(figure, found, curves::stem) };
    let count = titles.len();
    if count > MAX_PANELS {
        titles.sort_by(|_, a, _, b| b.total_cmp(a));
        titles.truncate(MAX_PANELS);
    }
    let Some((first, _)) = titles.first() else { return Ok(None) };
    let only = if count == 1 { *first } else { "" };
    let (y_title, scale) = y_axis_title(figure.name, figure.y_title, figure.unit(), largest(found), style)?;
    // Runs and flows are in the order of the file, and the metrics of each in the order of the figure.
    let entities: IndexSet<&str> = found.iter().map(|found| found.entity).collect();
    let panel = |title: &str| {
        let members = || found.iter().filter(|found| title_of(found.entity) == title);
        let first = members().next().map(|found| found.entity);
        let many = members().any(|found| Some(found.entity) != first);
        let curve = |found: &Found<'_>| {
            let metric = metric::label_of(found.metric);
            let label = if many { format!("{}: {metric}", found.entity) } else { metric.clone() };
            let names = run_labels.names(found.run, &label, true, &metric, true);
            Curve::new(Names { coarse: metric, ..names }, found.samples)
        };
        let mut ordered: Vec<&Found<'_>> = members().collect();
        let rank = |found: &Found<'_>| figure.metrics.iter().position(|metric| *metric == found.metric);
        ordered.sort_by_key(|found| (found.run, entities.get_index_of(found.entity), rank(found)));
        let (traces, grouping) = curves::reduce(ordered.into_iter().filter_map(curve).collect());
        let heading = grouping.heading(&run_labels.runs, &run_labels.over_seeds, false);
        let title = if count == 1 { "" } else { title };
        let (title, heading) = (title.to_owned(), heading.to_owned());
        Panel { title, y_title: y_title.clone(), scale, heading, traces, between: Between::Line }
    };
    let panels: Vec<Panel> = titles.keys().map(|title| panel(title)).collect();
    let title = match count - panels.len() {
        0 => figure.title.to_owned(),
        _ => format!("{}: the {} fastest of {count}", figure.title, panels.len()),
    };
    draw::figure(figure.name, &run_labels.title(&title, only), panels, None, style).map(Some)
}

/// Returns the titles of the panels in the order of the file, each with the largest mean of the first metric of a flow.
fn titles<'a>(
    figure: &SeriesFigure,
    found: &[Found<'a>],
    title_of: impl Fn(&'a str) -> &'a str,
) -> IndexMap<&'a str, f64> {
    let mut titles = IndexMap::new();
    for found in found {
        let title = title_of(found.entity);
        let values = || found.samples.iter().map(|(_, value)| *value).filter(|value| is_drawable(*value));
        let is_first = figure.metrics.first() == Some(&found.metric);
        let mean = if is_first { values().sum::<f64>() / values().count().max(1) as f64 } else { 0.0 };
        let largest: &mut f64 = titles.entry(title).or_insert(0.0);
        *largest = largest.max(mean);
    }
    titles
}
