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
    let numbers = answer.places(x) == Places::Numbers;
    let (unit, scale) = answer.keys[x].unit.filter(|_| numbers).map_or((None, 1.0), |unit| {
        let values = answer.over(0, x, None).into_iter().flat_map(|line| line.points).map(|point| point.x.abs());
        let (unit, scale) = readable(unit, values.fold(0.0, f64::max));
        (Some(unit), scale)
    });
    let mut figures = Vec::new();
    for (metric, name) in answer.metrics.iter().enumerate() {
        let groups = answer.over(metric, x, by).into_iter().map(|line| group(line, scale)).collect();
        let unit = unit.map_or_else(String::new, |unit| format!(" ({unit})"));
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

/// The unit in which the largest of these values has few digits, and how many of the dataset's units it is.
fn readable(unit: &'static str, largest: f64) -> (&'static str, f64) {
    let units: &[(&'static str, f64)] = match unit {
        "bps" => &[("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0)],
        "s" => &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)],
        "B" => &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)],
        _ => return (unit, 1.0),
    };
    let fits = |(_, scale): &&(&'static str, f64)| largest >= *scale;
    units.iter().find(fits).copied().unwrap_or((unit, 1.0))
}

fn group(line: Line, scale: f64) -> Group {
    let points = line.points.into_iter().map(|point| GroupPoint { x: point.x / scale, samples: point.samples });
    Group { label: line.label, points: points.collect() }
}

#[cfg(test)]
mod tests {
    use super::readable;

    /// Ticks of a rate were 1e6 and 1e7 under a label in bits per second.
    #[test]
    fn an_axis_has_the_unit_of_its_largest_value() {
        assert_eq!(readable("bps", 1e7), ("Mb/s", 1e6));
        assert_eq!(readable("bps", 2.5e9), ("Gb/s", 1e9));
        assert_eq!(readable("s", 0.08), ("ms", 1e-3));
        assert_eq!(readable("s", 90.0), ("s", 1.0));
        assert_eq!(readable("B", 1500.0), ("kB", 1e3));
        assert_eq!(readable("s", 0.0), ("s", 1.0));
        assert_eq!(readable("packets", 1e7), ("packets", 1.0));
    }
}
