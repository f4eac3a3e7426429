//! A metric over a parameter, of several groups: as means with intervals, as boxes, as distributions.

use super::axis::{LARGEST, XAxis, YAxis, each};
use super::boxes::ChartBox;
use super::chart::{Chart, ChartLine, ChartPoint, LineStyle};
use super::delays::{cumulative, shares};
use crate::Estimate;

/// What is drawn of runs over a parameter. [`lines`](Self::lines), [`boxes`](Self::boxes) and [`distributions`](Self::distributions)
/// make charts of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// What it shows, fit for a file name.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// What the parameter is, with its unit.
    pub x_title: String,
    /// What the metric is, with its unit.
    pub y_title: String,
    /// Places of a parameter that is no number; otherwise numbers.
    pub x: XAxis,
    /// How values are drawn. Shares of [`distributions`](Self::distributions) are drawn from zero, unless they are by logarithms.
    pub y: YAxis,
    /// What the labels of the groups are values of; empty if they are not.
    pub heading: String,
    /// In the order of the legend.
    pub groups: Vec<Group>,
}

/// A line, or a box or distribution for each of its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What the legend calls it; that of an only group is not shown.
    pub label: String,
    /// In any order.
    pub points: Vec<GroupPoint>,
}

/// What was measured at one value of the parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPoint {
    /// The parameter, or which of the places, from 0.
    pub x: f64,
    /// A sample a run. What is no number, or beyond 10^15, is left out.
    pub samples: Vec<f64>,
}

impl GroupPoint {
    fn drawable(&self) -> Vec<f64> {
        self.samples.iter().copied().filter(|sample| sample.abs() <= LARGEST).collect()
    }
}

/// Of the way from one place to the next, what is drawn at a place takes.
const GROUP_WIDTH: f64 = 0.7;

impl Sweep {
    /// Means with their intervals. Over numbers each group is a line; over places, between which there is nothing, it is a mark at each, the
    /// groups side by side.
    #[must_use]
    pub fn lines(&self) -> Chart {
        let is_places = matches!(self.x, XAxis::Places(_));
        let style = if is_places { LineStyle::Marks } else { LineStyle::Marked };
        let beside = GROUP_WIDTH / self.groups.len().max(1) as f64;
        let line = |(number, group): (usize, &Group)| {
            let shift = if is_places { beside * (number as f64 - (self.groups.len() - 1) as f64 / 2.0) } else { 0.0 };
            let point = |point: &GroupPoint| {
                let Estimate { mean, ci95, .. } = Estimate::of(&point.drawable())?;
                Some(ChartPoint { x: point.x + shift, value: mean, error: ci95.unwrap_or(0.0) })
            };
            let mut points: Vec<ChartPoint> = group.points.iter().filter_map(point).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            ChartLine { label: self.label(group), colour: number, style, points }
        };
        let lines: Vec<ChartLine> = self.groups.iter().enumerate().map(line).collect();
        let points = self.groups.iter().flat_map(|group| &group.points);
        let runs: Vec<usize> = points.map(|point| point.drawable().len()).filter(|runs| *runs > 1).collect();
        let bars = lines.iter().flat_map(|line| &line.points).any(|point| point.error > 0.0);
        let mean = if bars { "mean, 95 %" } else { "mean" };
        let meaning = match (runs.iter().min(), runs.iter().max()) {
            (Some(least), Some(most)) if least == most => Some(format!("{mean} of {most} runs")),
            (Some(least), Some(most)) => Some(format!("{mean} of {least} to {most} runs")),
            _ => None,
        };
        let styles = meaning.map(|meaning| (style, meaning)).into_iter().collect();
        Chart { styles, lines, ..self.empty() }
    }

    /// Samples as boxes: the groups side by side at each place. Numbers become places, since a box has a width.
    #[must_use]
    pub fn boxes(&self) -> Chart {
        let (places, values) = self.places();
        let beside = GROUP_WIDTH / self.groups.len().max(1) as f64;
        let mut boxes = Vec::new();
        for (number, group) in self.groups.iter().enumerate() {
            let shift = beside * (number as f64 - (self.groups.len() - 1) as f64 / 2.0);
            for point in &group.points {
                let Some(place) = values.iter().position(|value| *value == point.x) else { continue };
                boxes.push(ChartBox {
                    label: self.label(group),
                    colour: number,
                    x: place as f64 + shift,
                    width: (0.8 * beside).min(0.4),
                    samples: point.samples.clone(),
                });
            }
        }
        Chart { x: XAxis::Places(places), boxes, ..self.empty() }
    }

    /// For each group, and each of its points if they differ in `x`, the share of samples that do not exceed a value; with `complementary`
    /// the share that does. What the metric is stands below the axis.
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
                lines.push(ChartLine { label, colour: lines.len(), style: LineStyle::Steps, points });
            }
        }
        let heading = if self.groups.len() > 1 { &self.heading } else { &self.x_title };
        let y_title = shares("runs", complementary);
        let y = if self.y == YAxis::Logarithm { YAxis::Logarithm } else { YAxis::FromZero };
        Chart { x, x_title: self.y_title.clone(), y, y_title, heading: heading.clone(), lines, ..self.empty() }
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

    /// What sets a group apart from others: nothing if there are none.
    fn label(&self, group: &Group) -> String {
        if self.groups.len() > 1 { group.label.clone() } else { String::new() }
    }

    fn places(&self) -> (Vec<String>, Vec<f64>) {
        if let XAxis::Places(names) = &self.x {
            return (names.clone(), (0..names.len()).map(|place| place as f64).collect());
        }
        let all = self.groups.iter().flat_map(|group| &group.points).map(|point| point.x);
        let mut values: Vec<f64> = all.filter(|x| x.abs() <= LARGEST).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        (values.iter().map(|value| each(*value)).collect(), values)
    }
}
