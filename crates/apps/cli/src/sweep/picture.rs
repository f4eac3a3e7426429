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

/// Maximum number of omitted points that the warning lists.
const MAX_NAMED: usize = 3;

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
fn omitted_points(results: &ResultTable, metric: usize, scale: f64, x: usize, by: Option<usize>) -> Option<String> {
    let mut points: Vec<(String, bool)> = Vec::new();
    for row in &results.rows {
        let value = |key: usize| format!("{}={}", results.keys[key].name, row.values[key]);
        let name = std::iter::once(x).chain(by.filter(|by| *by != x)).map(value).collect::<Vec<_>>().join(" ");
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
    let key =
        |name: &str, option: &str| results.key(name).map_err(|error| Failure::Sweep(format!("{option}: {error}")));
    let x = key(over, "--plot")?;
    let by = options.by.as_deref().map(|by| key(by, "--by")).transpose()?;
    let axis = match results.places(x) {
        Places::Numbers if options.log_x => XAxis::Logarithm,
        Places::Numbers => XAxis::Numbers,
        Places::Names(names) => XAxis::Places(names),
    };
    let numbers = results.places(x) == Places::Numbers;
    let values = || results.over(0, x, None).into_iter().flat_map(|line| line.points).map(|point| point.x);
    let key_unit = results.keys[x].unit.filter(|_| numbers);
    let (x_title, x_scale) =
        axis_title(&results.keys[x].name, key_unit, largest(values()), options.style.x_label.as_deref());
    let mut figures = Vec::new();
    let mut files = BTreeSet::new();
    for (metric, name) in results.metrics.iter().enumerate() {
        let lines = results.over(metric, x, by);
        let samples = lines.iter().flat_map(|line| &line.points).flat_map(|point| point.samples.iter().copied());
        // Distributions have the metric on the horizontal axis.
        let label = if options.cdf && !options.boxes { &options.style.x_label } else { &options.style.y_label };
        let (y_title, scale) = axis_title(name, results.units[metric], largest(samples), label.as_deref());
        if let Some(why) = omitted_points(results, metric, scale, x, by) {
            output::note(&format!("warning: {why}"));
        }
        let groups = lines.into_iter().map(|line| group(line, x_scale, scale)).collect();
        let sweep = Sweep {
            name: unused(&mut files, safe_name(&format!("{name}-over-{}", results.keys[x].name))),
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
