//! Charts of a sweep's metrics over one of its keys.

use super::style;
use crate::arguments::{OverOptions, StyleOptions};
use crate::error::Failure;
use crate::output;
use headway_record::plot::{Figure, Sweep, SweepChart, is_drawable};
use headway_run::{ChartOptions, Places, ResultTable, SEED, SweepOf, safe_name};
use headway_scenario::Cell;
use headway_units::counted;
use std::collections::BTreeSet;

/// A key of a sweep, and how to draw the metrics over it.
pub(crate) struct Over<'a> {
    /// The option with the key: `--plot` or `--over`.
    pub(crate) option: &'static str,
    pub(crate) key: &'a str,
    /// Key with a line for each value.
    pub(crate) by: Option<&'a str>,
    pub(crate) log_x: bool,
    pub(crate) options: &'a OverOptions,
    pub(crate) style: &'a StyleOptions,
}

/// Maximum number of omitted points that the warning lists.
const MAX_NAMED: usize = 3;

impl Over<'_> {
    /// Checks the keys and the axis before the first run.
    pub(crate) fn check(&self, outline: &ResultTable) -> Result<(), Failure> {
        let key = self.key(outline)?;
        let by = self.by(outline)?;
        if key == by
            && let Some(by) = self.by
        {
            let message = format!("--by {by}: this is the key of {}; set another key, or remove --by", self.option);
            return Err(Failure::Sweep(message));
        }
        if self.options.heat_map && by.is_none() {
            return Err(Failure::Sweep("--heat-map needs two keys; add --by KEY".to_owned()));
        }
        if self.log_x {
            if self.options.chart() != SweepChart::Lines {
                let message = "--log-x: boxes, distributions and heat maps have no axis of numbers; remove --log-x";
                return Err(Failure::Sweep(message.to_owned()));
            }
            check_logarithmic(outline, self.key)?;
        }
        Ok(())
    }

    /// Returns the key; `None` for the distribution over the seeds of a sweep without other varied keys.
    fn key(&self, results: &ResultTable) -> Result<Option<usize>, Failure> {
        let Self { option, key: over, options, .. } = self;
        match results.key(over) {
            Ok(key) => Ok(Some(key)),
            Err(_) if results.keys.is_empty() && *over == SEED && (options.cdf || options.boxes) => Ok(None),
            Err(_) if results.keys.is_empty() => Err(Failure::Sweep(format!(
                "{option} {over}: only the seeds vary; vary a key with --vary KEY=V1,V2, or draw the distribution over the \
                 seeds with {option} {SEED} --cdf or {option} {SEED} --boxes"
            ))),
            Err(error) => Err(Failure::Sweep(format!("{option}: {error}"))),
        }
    }

    fn by(&self, results: &ResultTable) -> Result<Option<usize>, Failure> {
        let by = self.by.map(|by| results.key(by)).transpose();
        by.map_err(|error| Failure::Sweep(format!("--by: {error}")))
    }
}

/// Checks that all values of a key are numbers above 0, as a logarithmic axis requires.
fn check_logarithmic(outline: &ResultTable, over: &str) -> Result<(), Failure> {
    let wrong = |why: String| Err(Failure::Sweep(format!("--log-x: {why}; remove --log-x")));
    let Ok(x) = outline.key(over) else { return Ok(()) };
    let name = &outline.keys[x].name;
    if outline.places(x) != Places::Numbers {
        return wrong(format!("the values of {name} are not numbers"));
    }
    let is_positive = |cell: Option<&Cell>| match cell {
        Some(Cell::Integer(number)) => *number > 0,
        Some(Cell::Number(number)) => *number > 0.0,
        _ => false,
    };
    match outline.rows.iter().find(|row| !is_positive(row.cells().get(x))) {
        Some(row) => {
            wrong(format!("{name} has the value {}, but a logarithmic axis needs values above 0", row.values[x]))
        }
        None => Ok(()),
    }
}

/// Returns a warning if no run has a drawable value at some points of a chart.
fn omitted_points(
    results: &ResultTable,
    metric: usize,
    scale: f64,
    x: Option<usize>,
    by: Option<usize>,
) -> Option<String> {
    let mut points: Vec<(String, bool)> = Vec::new();
    for row in &results.rows {
        let value = |key: usize| format!("{}={}", results.keys[key].name, row.values[key]);
        let name = x.into_iter().chain(by.filter(|by| Some(*by) != x)).map(value).collect::<Vec<_>>().join(" ");
        let is_drawn = row.samples(metric).iter().any(|(_, sample)| is_drawable(sample / scale));
        match points.iter_mut().find(|(known, _)| *known == name) {
            Some((_, drawn)) => *drawn |= is_drawn,
            None => points.push((name, is_drawn)),
        }
    }
    let all = points.len() as u64;
    let omitted: Vec<String> = points.into_iter().filter(|(_, is_drawn)| !is_drawn).map(|(name, _)| name).collect();
    let named = omitted.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match omitted.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let of = format!("{} of {}", omitted.len(), counted(all, "point"));
    let name = &results.metrics[metric];
    (!omitted.is_empty()).then(|| format!("{name}: the chart omits {of} without a value: {named}{more}"))
}

/// Returns a chart for each metric over the key, with a line for each value of the second key.
pub(crate) fn charts(results: &ResultTable, of: &Over<'_>) -> Result<Vec<Figure>, Failure> {
    let (x, by, chart) = (of.key(results)?, of.by(results)?, of.options.chart());
    let (axes, style) = (ChartOptions { chart, x, by, log_x: of.log_x }, style(of.style));
    let mut figures = Vec::new();
    let mut files = BTreeSet::new();
    for metric in 0..results.metrics.len() {
        let SweepOf { sweep, scale, .. } = results.sweep_of(metric, &axes, &style);
        if let Some(why) = omitted_points(results, metric, scale, x, by) {
            output::note(&format!("warning: {why}"));
        }
        let sweep = Sweep { name: unused(&mut files, safe_name(&sweep.name)), ..sweep };
        figures.push(sweep.draw(chart, &style).map_err(|error| Failure::Plot(error.to_string()))?);
    }
    Ok(figures)
}

/// Returns this file name, or a numbered one if another chart uses it. Names of metrics can differ in punctuation only.
fn unused(files: &mut BTreeSet<String>, name: String) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !files.contains(name)).unwrap_or(name);
    files.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The safe file name of `a/b` and of `a b` is `a_b`.
    #[test]
    fn charts_have_distinct_file_names() {
        let mut files = BTreeSet::new();
        let names = ["a/b", "a b", "c", "a_b"].map(|name| unused(&mut files, safe_name(name)));
        assert_eq!(names, ["a_b", "a_b-2", "c", "a_b-3"]);
    }
}
