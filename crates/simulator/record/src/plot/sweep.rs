//! Charts of a metric over a parameter for several groups: means with intervals, boxes, or distributions.

use super::axis::{MAX_VALUE, XAxis, YAxis, tick_label};
use super::boxes::ChartBox;
use super::chart::{Chart, ChartLine, ChartPoint, LineStyle};
use super::curves::MAX_LINES;
use super::delays::{cumulative, shares_title};
use super::multiples::MAX_MULTIPLES;
use super::{Figure, PlotError, Style};
use crate::Estimate;

/// Samples of a metric over a varied parameter, from many runs. [`lines`](Self::lines), [`boxes`](Self::boxes) and
/// [`distributions`](Self::distributions) return charts of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Name of the charts, usable as a file name.
    pub name: String,
    /// Title above the charts.
    pub title: String,
    /// Title of the parameter, with its unit.
    pub x_title: String,
    /// Title of the metric, with its unit.
    pub y_title: String,
    /// Axis of the parameter: categories if it is not a number.
    pub x: XAxis,
    /// Vertical axis: that of the metric in [`lines`](Self::lines) and [`boxes`](Self::boxes), and that of the shares
    /// in [`distributions`](Self::distributions), where [`YAxis::Values`] is drawn as [`YAxis::FromZero`].
    pub y: YAxis,
    /// Name of the parameter whose values are the labels of the groups; may be empty.
    pub heading: String,
    /// Groups in the order of the legend.
    pub groups: Vec<Group>,
}

/// Samples at several values of the parameter, drawn as one line, as a box or distribution for each [`GroupPoint`], or
/// as a row of the heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Label in the legend; not shown for a single group.
    pub label: String,
    /// Points of the group, in any order.
    pub points: Vec<GroupPoint>,
}

/// Samples at one value of the parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPoint {
    /// Value of the parameter, or index of the category, from 0.
    pub x: f64,
    /// Values of the metric, one per run. NaN and magnitudes above 10^15 are omitted.
    pub samples: Vec<f64>,
}

impl GroupPoint {
    pub(super) fn drawable(&self) -> Vec<f64> {
        self.samples.iter().copied().filter(|sample| sample.abs() <= MAX_VALUE).collect()
    }
}

/// Kind of a chart of a [`Sweep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepChart {
    /// Chart of the means over the runs with their 95 % confidence intervals.
    Lines,
    /// Box plot: quartiles and whiskers of the runs.
    Boxes,
    /// Cumulative distributions over the runs.
    Distributions,
    /// Heat map: means over the runs as colors.
    HeatMap,
}

/// Width of all groups at a category, as a fraction of the distance of categories.
const GROUP_WIDTH: f64 = 0.7;

impl Sweep {
    /// Draws these samples as a chart of this kind.
    ///
    /// # Errors
    /// [`PlotError::Draw`]; no input is known to cause it.
    pub fn draw(&self, chart: SweepChart, style: &Style) -> Result<Figure, PlotError> {
        match chart {
            SweepChart::Lines => self.lines().draw_styled(style),
            SweepChart::Boxes => self.boxes().draw_styled(style),
            SweepChart::Distributions => self.distributions(false, XAxis::Numbers).draw_styled(style),
            SweepChart::HeatMap => self.heat_map().draw(style),
        }
    }

    /// Returns the chart of means over the runs with their 95 % confidence intervals. Over numbers, each group is a
    /// line; over categories, groups are marks side by side.
    #[must_use]
    pub fn lines(&self) -> Chart {
        let is_places = matches!(self.x, XAxis::Places(_));
        let style = if is_places { LineStyle::Marks } else { LineStyle::Marked };
        let line = |(number, group): (usize, &Group)| {
            let shift = if is_places { self.shift(number) } else { 0.0 };
            let point = |point: &GroupPoint| {
                let Estimate { mean, ci95, .. } = Estimate::of(&point.drawable())?;
                Some(ChartPoint { x: point.x + shift, value: mean, error: ci95.unwrap_or(0.0) })
            };
            let mut points: Vec<ChartPoint> = group.points.iter().filter_map(point).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            ChartLine { label: self.label(group), color: number, style, points }
        };
        let lines: Vec<ChartLine> = self.groups.iter().enumerate().map(line).collect();
        let points = self.groups.iter().flat_map(|group| &group.points);
        let runs: Vec<usize> = points.map(|point| point.drawable().len()).filter(|runs| *runs > 1).collect();
        let bars = lines.iter().flat_map(|line| &line.points).any(|point| point.error > 0.0);
        let mean = if bars { "mean, 95 %" } else { "mean" };
        let meaning = match (runs.iter().min(), runs.iter().max()) {
            (Some(min), Some(max)) if min == max => Some(format!("{mean} of {max} runs")),
            (Some(min), Some(max)) => Some(format!("{mean} of {min} to {max} runs")),
            _ => None,
        };
        let styles = meaning.map(|meaning| (style, meaning)).into_iter().collect();
        Chart { styles, lines, ..self.empty() }
    }

    /// Returns the chart of box plots, with groups side by side. Numbers of the parameter become categories, because a
    /// box has a width.
    #[must_use]
    pub fn boxes(&self) -> Chart {
        let (places, values) = self.places();
        let mut boxes = Vec::new();
        for (number, group) in self.groups.iter().enumerate() {
            let shift = self.shift(number);
            for point in &group.points {
                let Some(index) = values.iter().position(|value| *value == point.x) else { continue };
                boxes.push(ChartBox {
                    label: self.label(group),
                    color: number,
                    x: index as f64 + shift,
                    width: (0.8 * GROUP_WIDTH / self.groups_side_by_side() as f64).min(0.4),
                    samples: point.samples.clone(),
                });
            }
        }
        Chart { x: XAxis::Places(places), boxes, ..self.empty() }
    }

    /// Returns the chart of cumulative distributions of the metric, one line for each group and value of the parameter.
    /// With `complementary`, the vertical axis is the share of samples above a value. The metric is on the horizontal
    /// axis.
    #[must_use]
    pub fn distributions(&self, complementary: bool, x: XAxis) -> Chart {
        let (places, values) = self.places();
        let mut lines = Vec::new();
        for group in &self.groups {
            for point in &group.points {
                let mut bins: Vec<(f64, u64)> = point.drawable().into_iter().map(|sample| (sample, 1)).collect();
                bins.sort_by(|a, b| a.0.total_cmp(&b.0));
                let place = values.iter().position(|value| *value == point.x).and_then(|place| places.get(place));
                let label = match (self.groups.len() > 1, values.len() > 1) {
                    (true, true) => format!("{}: {}", group.label, place.map_or("", String::as_str)),
                    (true, false) => group.label.clone(),
                    (false, true) => place.cloned().unwrap_or_default(),
                    (false, false) => String::new(),
                };
                let points = cumulative(&bins, bins.len() as u64, complementary);
                lines.push(ChartLine { label, color: lines.len(), style: LineStyle::Steps, points });
            }
        }
        let heading = if self.groups.len() > 1 { &self.heading } else { &self.x_title };
        let y_title = shares_title("runs", complementary);
        let y = if self.y == YAxis::Logarithm { YAxis::Logarithm } else { YAxis::FromZero };
        Chart { x, x_title: self.y_title.clone(), y, y_title, heading: heading.clone(), lines, ..self.empty() }
    }

    /// Returns the number of groups side by side at a category: those of a panel.
    fn groups_side_by_side(&self) -> usize {
        let groups = self.groups.len().max(1);
        if groups > MAX_LINES * MAX_MULTIPLES { groups } else { groups.min(MAX_LINES) }
    }

    /// Returns the position of a group relative to its category.
    fn shift(&self, number: usize) -> f64 {
        let count = self.groups_side_by_side();
        GROUP_WIDTH / count as f64 * ((number % count) as f64 - (count - 1) as f64 / 2.0)
    }

    fn empty(&self) -> Chart {
        Chart {
            name: self.name.clone(),
            title: self.title.clone(),
            x_title: self.x_title.clone(),
            y_title: self.y_title.clone(),
            x: self.x.clone(),
            y: self.y,
            heading: self.heading.clone(),
            styles: Vec::new(),
            lines: Vec::new(),
            boxes: Vec::new(),
        }
    }

    /// Returns the label of a group; empty for a single group.
    fn label(&self, group: &Group) -> String {
        if self.groups.len() > 1 { group.label.clone() } else { String::new() }
    }

    fn places(&self) -> (Vec<String>, Vec<f64>) {
        if let XAxis::Places(names) = &self.x {
            return (names.clone(), (0..names.len()).map(|place| place as f64).collect());
        }
        let all = self.groups.iter().flat_map(|group| &group.points).map(|point| point.x);
        let mut values: Vec<f64> = all.filter(|x| x.abs() <= MAX_VALUE).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        (values.iter().map(|value| tick_label(*value)).collect(), values)
    }
}
