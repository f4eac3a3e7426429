//! A sweep's metrics over one of its keys, as pictures.

use crate::arguments::SweepOptions;
use crate::error::Failure;
use crate::plot::style;
use headway_record::plot::{Figure, Group, GroupPoint, Sweep, XAxis, YAxis};
use headway_run::{Answer, Line, Places, safe_name};

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
    let mut figures = Vec::new();
    for (metric, name) in answer.metrics.iter().enumerate() {
        let groups = answer.over(metric, x, by).into_iter().map(group).collect();
        let unit = answer.keys[x].unit.map_or_else(String::new, |unit| format!(", {unit}"));
        let sweep = Sweep {
            name: safe_name(&format!("{name}-over-{}", answer.keys[x].name)),
            title: name.clone(),
            x_title: format!("{}{unit}", answer.keys[x].name),
            y_title: name.clone(),
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

fn group(line: Line) -> Group {
    let points = line.points.into_iter().map(|point| GroupPoint { x: point.x, samples: point.samples });
    Group { label: line.label, points: points.collect() }
}
