//! Charts of a sweep's metrics over one of its keys.

use crate::arguments::SweepOptions;
use crate::error::Failure;
use crate::output;
use crate::plot::style;
use headway_record::axis_title;
use headway_record::plot::{Figure, Group, GroupPoint, Sweep, XAxis, YAxis, is_drawable};
use headway_run::{Line, LinePoint, Places, ResultTable, safe_name};
use headway_scenario::Cell;
use headway_units::counted;
use std::collections::BTreeSet;

/// Key of `--plot` for the distribution over the seeds.
const SEED: &str = "seed";

/// Maximum number of omitted points that the warning lists.
const MAX_NAMED: usize = 3;

/// Returns the key of `--plot`; `None` for the distribution over the seeds of a sweep without other varied keys.
pub(super) fn key(results: &ResultTable, over: &str, options: &SweepOptions) -> Result<Option<usize>, Failure> {
    match results.key(over) {
        Ok(key) => Ok(Some(key)),
        Err(_) if results.keys.is_empty() && over == SEED && (options.cdf || options.boxes) => Ok(None),
        Err(_) if results.keys.is_empty() => Err(Failure::Sweep(format!(
            "--plot {over}: only the seeds vary; vary a key with --vary KEY=V1,V2, or draw the distribution over the seeds \
             with --plot {SEED} --cdf or --plot {SEED} --boxes"
        ))),
        Err(error) => Err(Failure::Sweep(format!("--plot: {error}"))),
    }
}

/// Checks that all values of a key are numbers above 0, as a logarithmic axis requires.
pub(super) fn check_logarithmic(outline: &ResultTable, over: &str) -> Result<(), Failure> {
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

/// Returns a chart for each metric over the key `over`, with a line for each value of `--by`.
pub(super) fn charts(results: &ResultTable, over: &str, options: &SweepOptions) -> Result<Vec<Figure>, Failure> {
    let x = key(results, over, options)?;
    let by = options.by.as_deref().map(|by| results.key(by)).transpose();
    let by = by.map_err(|error| Failure::Sweep(format!("--by: {error}")))?;
    let axis = match x.map(|x| results.places(x)) {
        Some(Places::Numbers) if options.log_x => XAxis::Logarithm,
        Some(Places::Numbers) => XAxis::Numbers,
        Some(Places::Names(names)) => XAxis::Places(names),
        None => XAxis::Places(vec!["all seeds".to_owned()]),
    };
    let over = |metric, by| x.map_or_else(|| over_seeds(results, metric), |x| results.over(metric, x, by));
    let numbers = matches!(axis, XAxis::Numbers | XAxis::Logarithm);
    let values = || over(0, None).into_iter().flat_map(|line| line.points).map(|point| point.x);
    let name_of_x = x.map_or(SEED, |x| results.keys[x].name.as_str());
    let key_unit = x.and_then(|x| results.keys[x].unit).filter(|_| numbers);
    let (x_title, x_scale) = axis_title(name_of_x, key_unit, largest(values()), options.style.x_label.as_deref());
    let mut figures = Vec::new();
    let mut files = BTreeSet::new();
    for (metric, name) in results.metrics.iter().enumerate() {
        let lines = over(metric, by);
        let samples = lines.iter().flat_map(|line| &line.points).flat_map(|point| point.samples.iter().copied());
        // Distributions have the metric on the horizontal axis.
        let label = if options.cdf && !options.boxes { &options.style.x_label } else { &options.style.y_label };
        let (y_title, scale) = axis_title(name, results.units[metric], largest(samples), label.as_deref());
        if let Some(why) = omitted_points(results, metric, scale, x, by) {
            output::note(&format!("warning: {why}"));
        }
        let groups = lines.into_iter().map(|line| group(line, x_scale, scale)).collect();
        let sweep = Sweep {
            name: unused(&mut files, safe_name(&format!("{name}-over-{name_of_x}"))),
            title: name.clone(),
            x_title: x_title.clone(),
            y_title,
            x: axis.clone(),
            y: YAxis::Values,
            heading: by.map_or_else(String::new, |by| results.keys[by].name.clone()),
            groups,
        };
        let chart = match (options.boxes, options.cdf) {
            (true, _) => sweep.boxes(),
            (_, true) => sweep.distributions(false, XAxis::Numbers),
            _ => sweep.lines(),
        };
        figures.push(chart.draw_styled(&style(&options.style)).map_err(|error| Failure::Plot(error.to_string()))?);
    }
    Ok(figures)
}

/// Returns the values of all seeds as one point.
fn over_seeds(results: &ResultTable, metric: usize) -> Vec<Line> {
    let samples = results.rows.iter().flat_map(|row| row.samples(metric)).map(|(_, sample)| *sample).collect();
    vec![Line { label: String::new(), points: vec![LinePoint { x: 0.0, samples, number: None }] }]
}

/// Returns this file name, or a numbered one if another chart uses it. Names of metrics can differ in punctuation only.
fn unused(files: &mut BTreeSet<String>, name: String) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !files.contains(name)).unwrap_or(name);
    files.insert(free.clone());
    free
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).fold(0.0, f64::max)
}

fn group(line: Line, x_scale: f64, scale: f64) -> Group {
    let point = |point: LinePoint| GroupPoint {
        x: point.x / x_scale,
        samples: point.samples.into_iter().map(|sample| sample / scale).collect(),
    };
    Group { label: line.label, points: line.points.into_iter().map(point).collect() }
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
