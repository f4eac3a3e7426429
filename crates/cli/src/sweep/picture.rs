//! A sweep's metrics over one of its keys, as pictures.

use crate::arguments::SweepOptions;
use crate::error::Failure;
use crate::plot::style;
use headway_record::plot::{Figure, Group, GroupPoint, Sweep, XAxis, YAxis};
use headway_record::{readable_unit, titled};
use headway_run::{Answer, Line, LinePoint, Places, safe_name};

/// A picture for each metric: over the key that was asked for, a line for each value of another one.
pub(super) fn pictures(answer: &Answer, over: &str, options: &SweepOptions) -> Result<Vec<Figure>, Failure> {
    let key =
        |asked: &str, option: &str| answer.key(asked).map_err(|error| Failure::Sweep(format!("{option}: {error}")));
    let x = key(over, "--plot")?;
    let by = options.by.as_deref().map(|by| key(by, "--by")).transpose()?;
    let axis = match answer.places(x) {
        Places::Numbers if options.log_x => XAxis::Logarithm,
        Places::Numbers => XAxis::Numbers,
        Places::Names(names) => XAxis::Places(names),
    };
    let numbers = answer.places(x) == Places::Numbers;
    let values = || answer.over(0, x, None).into_iter().flat_map(|line| line.points).map(|point| point.x);
    let key_unit = answer.keys[x].unit.filter(|_| numbers);
    let (x_unit, x_scale) = scaled(key_unit, values(), options.look.x_label.as_deref());
    let mut figures = Vec::new();
    for (metric, name) in answer.metrics.iter().enumerate() {
        let lines = answer.over(metric, x, by);
        let samples = lines.iter().flat_map(|line| &line.points).flat_map(|point| point.samples.iter().copied());
        // Values of distributions stand along the horizontal axis.
        let label = if options.cdf && !options.boxes { &options.look.x_label } else { &options.look.y_label };
        let (unit, scale) = scaled(answer.units[metric], samples, label.as_deref());
        let groups = lines.into_iter().map(|line| group(line, x_scale, scale)).collect();
        let sweep = Sweep {
            name: safe_name(&format!("{name}-over-{}", answer.keys[x].name)),
            title: name.clone(),
            x_title: titled(&answer.keys[x].name, x_unit),
            y_title: titled(name, unit),
            x: axis.clone(),
            y: YAxis::Values,
            heading: by.map_or_else(String::new, |by| answer.keys[by].name.clone()),
            groups,
        };
        let chart = match (options.boxes, options.cdf) {
            (true, _) => sweep.boxes(),
            (_, true) => sweep.distributions(false, XAxis::Numbers),
            _ => sweep.lines(),
        };
        figures.push(chart.draw_styled(&style(&options.look)).map_err(|error| Failure::Plot(error.to_string()))?);
    }
    Ok(figures)
}

/// The unit in which values are drawn, if they have one, and how many of theirs it is.
fn scaled(
    unit: Option<&'static str>,
    values: impl Iterator<Item = f64>,
    label: Option<&str>,
) -> (Option<&'static str>, f64) {
    let largest = values.map(f64::abs).fold(0.0, f64::max);
    unit.map_or((None, 1.0), |unit| {
        let (unit, scale) = readable_unit(unit, largest, label);
        (Some(unit), scale)
    })
}

fn group(line: Line, x_scale: f64, scale: f64) -> Group {
    let point = |point: LinePoint| GroupPoint {
        x: point.x / x_scale,
        samples: point.samples.into_iter().map(|sample| sample / scale).collect(),
    };
    Group { label: line.label, points: line.points.into_iter().map(point).collect() }
}
