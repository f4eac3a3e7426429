//! The chart of a sweep's metric over one of its keys.

use super::{Line, LinePoint, Places, ResultTable, SEED};
use headway_record::axis_title;
use headway_record::plot::{Group, GroupPoint, Style, Sweep, SweepChart, XAxis, YAxis};

/// Kind and axes of a chart of a sweep's metric over one of its keys.
#[derive(Clone, Copy, Debug)]
pub struct ChartOptions {
    /// Kind of the chart.
    pub chart: SweepChart,
    /// Index of the key on the horizontal axis; `None` for all seeds at one place, in a sweep of seeds only.
    pub x: Option<usize>,
    /// Index of the key whose values are the groups (lines or colors); `None` for one group.
    pub by: Option<usize>,
    /// Whether the horizontal axis is logarithmic, if the key has numbers.
    pub log_x: bool,
}

/// Samples of a metric over a key of a sweep, for charts.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepOf {
    /// Groups and titles in readable units.
    pub sweep: Sweep,
    /// Size of the unit in which the chart shows the metric, in units of the metric: 1e6 for Mb/s of a metric in bit/s.
    pub scale: f64,
    /// Size of the unit in which the chart shows the key, in units of the key: 1e6 for Mb/s of a key in bit/s.
    pub x_scale: f64,
}

impl ResultTable {
    /// Returns the samples of a metric, given by its index, over a key. If the title of an axis in `style` ends in a
    /// unit, the axis has this unit.
    #[must_use]
    pub fn sweep_of(&self, metric: usize, axes: &ChartOptions, style: &Style) -> SweepOf {
        let (x_label, y_label) = (style.x_title.as_deref(), style.y_title.as_deref());
        // Distributions have the metric on the horizontal axis, and heat maps have it as color.
        let metric_label = match axes.chart {
            SweepChart::Lines | SweepChart::Boxes => y_label,
            SweepChart::Distributions => x_label,
            SweepChart::HeatMap => None,
        };
        let axis = match axes.x.map(|x| self.places(x)) {
            Some(Places::Numbers) if axes.log_x => XAxis::Logarithm,
            Some(Places::Numbers) => XAxis::Numbers,
            Some(Places::Names(names)) => XAxis::Places(names),
            None => XAxis::Places(vec!["all seeds".to_owned()]),
        };
        let lines = axes.x.map_or_else(|| self.over_seeds(metric), |x| self.over(metric, x, axes.by));
        let points = || lines.iter().flat_map(|line| &line.points);
        let numbers = matches!(axis, XAxis::Numbers | XAxis::Logarithm);
        let x_name = axes.x.map_or(SEED, |x| self.keys[x].name.as_str());
        let x_unit = axes.x.and_then(|x| self.keys[x].unit.as_deref()).filter(|_| numbers);
        let (x_title, x_scale) = axis_title(x_name, x_unit, largest(points().map(|point| point.x)), x_label);
        let name = &self.metrics[metric];
        let samples = points().flat_map(|point| point.samples.iter().copied());
        let (y_title, scale) = axis_title(name, self.units[metric], largest(samples), metric_label);
        let sweep = Sweep {
            name: format!("{name}-over-{x_name}"),
            title: name.clone(),
            x_title,
            y_title,
            x: axis,
            y: YAxis::Values,
            heading: axes.by.map_or_else(String::new, |by| self.keys[by].name.clone()),
            groups: lines.into_iter().map(|line| group(line, x_scale, scale)).collect(),
        };
        SweepOf { sweep, scale, x_scale }
    }

    /// Returns the values of all seeds as one point.
    fn over_seeds(&self, metric: usize) -> Vec<Line> {
        let samples = self.rows.iter().flat_map(|row| row.samples(metric)).map(|(_, sample)| *sample).collect();
        vec![Line { label: String::new(), points: vec![LinePoint { x: 0.0, samples, number: None }] }]
    }
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
