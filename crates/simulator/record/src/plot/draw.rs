//! Figures of values over time: panels in a column, each with its part of the legend at the right.

use super::axis::{AxisScale, Scale};
use super::chart::to_area;
use super::curves::{Trace, held, thinned};
use super::frame::{
    AXIS, Area, BAND, COLORS, DrawError, Frame, GRID, LINE, MARGIN, PIXEL, TIME_TITLE_HEIGHT, X_LABELS_HEIGHT,
    printable, range, shortened,
};
use super::legend::Legend;
use super::style::{LegendPlace, Style};
use super::{Figure, PlotError, is_drawable, marks};
use crate::{Interval, axis_title, check_label};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::collections::BTreeMap;

pub(super) struct Panel {
    pub(super) title: String,
    pub(super) y_title: String,
    /// Divisor that converts values to the unit of `y_title`.
    pub(super) scale: f64,
    /// Parameter of which the labels are values; may be empty.
    pub(super) heading: String,
    pub(super) traces: Vec<Trace>,
    pub(super) between: Between,
}

/// What is drawn between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    Line,
    /// The value holds until the next sample, as that of a queue does.
    Steps,
    /// A line, or nothing where samples are missing: for the mean of the packets that arrived.
    LineWithoutGaps,
}

impl Panel {
    fn rename(&mut self, style: &Style) {
        self.title = style.named(&self.title);
        self.heading = style.named(&self.heading);
        for trace in &mut self.traces {
            let (Trace::Line { label, .. } | Trace::Band { label, .. } | Trace::Marks { label, .. }) = trace;
            *label = style.named(label);
        }
    }
}

/// Height of a single panel without the title of the time axis, in px.
const PANEL_HEIGHT: i32 = 346;
/// Height of each of several panels, in px.
const SMALL_PANEL_HEIGHT: i32 = 216;
/// Minimum height of a panel with text of 13 px, in px.
const MIN_PANEL_HEIGHT: i32 = 96;
/// Height of a panel's title if the title is not in the legend, in px.
const PANEL_TITLE: i32 = 18;

/// Draws panels with a common axis of time: the given time in s, or that of all points. If the style's title of this
/// axis has a unit of time, its numbers have that unit.
pub(super) fn figure(
    name: &str,
    title: &str,
    mut panels: Vec<Panel>,
    time: Option<Interval>,
    style: &Style,
) -> Result<Figure, PlotError> {
    if let Some(label) = &style.x_title {
        check_label(label, "s").map_err(|error| PlotError::Label { name: name.to_owned(), error })?;
    }
    let (x_title, second) = axis_title("Time", Some("s"), 1.0, style.x_title.as_deref());
    for panel in &mut panels {
        panel.rename(style);
        panel.traces.iter_mut().flat_map(Trace::all_points_mut).for_each(|point| point.0 /= second);
    }
    let times = || panels.iter().flat_map(|panel| &panel.traces).flat_map(Trace::all_points).map(|point| point.0);
    // Damaged summaries have times that cannot be drawn.
    let time = time.filter(|Interval { from, to }| is_drawable(*from) && is_drawable(*to) && from < to);
    let time = time.map_or_else(|| range(times()), |Interval { from, to }| (from / second, to / second));
    let time = TimeAxis { title: style.x_title.as_deref().unwrap_or(&x_title), range: time };
    let colors = colors(&panels);
    let frame = Frame::new(style);
    let count = panels.len() as i32;
    let panel_height = if count > 1 { SMALL_PANEL_HEIGHT } else { PANEL_HEIGHT } * PIXEL;
    let own_height = panel_height * count + frame.px(TIME_TITLE_HEIGHT);
    let min_height = frame.px(MIN_PANEL_HEIGHT) * count + frame.px(TIME_TITLE_HEIGHT);
    let legend = legend_of_all(&panels, &colors);
    let figure = frame.figure(name, title, (own_height, min_height), &legend, |area, column| {
        draw(&frame, area, column, &panels, &colors, &time)
    })?;
    Ok(Figure { svg: marks::dashed(&figure.svg), ..figure })
}

/// The horizontal axis of all panels: its title, and its range in the unit of its numbers.
struct TimeAxis<'a> {
    title: &'a str,
    range: (f64, f64),
}

/// Colors by the label of a trace: the same in all panels.
type Colors<'a> = BTreeMap<&'a str, usize>;

/// Returns the color of each label. A new label has the first color that no other has, or at least no other in its
/// panel.
fn colors(panels: &[Panel]) -> Colors<'_> {
    let mut colors = Colors::new();
    for panel in panels {
        // Pale traces have the color of the trace after them.
        for group in panel.traces.chunk_by(|trace, _| trace.is_pale()) {
            let labels = || group.iter().map(Trace::label);
            let own = group.iter().find_map(Trace::own_color);
            let color = own.or_else(|| labels().find_map(|label| colors.get(label).copied())).unwrap_or_else(|| {
                let in_panel = || panel.traces.iter().filter_map(|trace| colors.get(trace.label()));
                let free = |used: &[&usize]| (0..COLORS.len()).find(|color| !used.contains(&color));
                let all: Vec<&usize> = colors.values().collect();
                free(&all).or_else(|| free(&in_panel().collect::<Vec<_>>())).unwrap_or(0)
            });
            colors.extend(labels().map(|label| (label, color)));
        }
    }
    colors
}

fn draw(
    frame: &Frame<'_>,
    area: &Area<'_>,
    column: Option<&Area<'_>>,
    panels: &[Panel],
    colors: &Colors<'_>,
    time: &TimeAxis<'_>,
) -> Result<(), DrawError> {
    let (width, height) = area.dim_in_pixel();
    let time_title = frame.px(TIME_TITLE_HEIGHT);
    let panel_height = (height as i32 - time_title) / panels.len().max(1) as i32;
    let mut known: Vec<&str> = Vec::new();
    for (index, panel) in panels.iter().enumerate() {
        let is_last = index + 1 == panels.len();
        let top = panel_height * index as i32;
        let own_height = panel_height + if is_last { time_title } else { 0 };
        let size = |width: u32| (width, own_height as u32);
        draw_panel(frame, &area.clone().shrink((0, top), size(width)), panel, colors, time, is_last)?;
        // A panel with the labels of the previous one shares its legend.
        let labels: Vec<&str> = panel.traces.iter().map(Trace::label).collect();
        if let Some(column) = column {
            let mut legend = Legend::default();
            legend.heading(&panel.title);
            if labels != known {
                add_entries(&mut legend, panel, colors);
            }
            legend.draw_in_column(
                frame,
                &column.clone().shrink((0, top), size(column.dim_in_pixel().0)),
                own_height,
            )?;
        }
        known = labels;
    }
    Ok(())
}

fn draw_panel(
    frame: &Frame<'_>,
    area: &Area<'_>,
    panel: &Panel,
    colors: &Colors<'_>,
    time: &TimeAxis<'_>,
    is_last: bool,
) -> Result<(), DrawError> {
    let values = panel.traces.iter().flat_map(Trace::all_points).map(|point| point.1 / panel.scale);
    let (from, to) = time.range;
    let has_marks = panel.traces.iter().any(|trace| matches!(trace, Trace::Marks { .. }));
    let (low, high) = range(values.chain((!has_marks).then_some(0.0)));
    let time_title_height = if is_last { TIME_TITLE_HEIGHT } else { 0 };
    let title = if frame.style.legend == LegendPlace::Right { "" } else { panel.title.as_str() };
    let title_height = if title.is_empty() { 0 } else { PANEL_TITLE };
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    let x = AxisScale::numbers(Scale::Linear, from..to, frame.x_ticks(width));
    // A margin of 6 % above the highest value, and below the lowest mark.
    let margin = (high - low) * 0.06;
    let low = if has_marks { low - margin } else { low };
    let y = AxisScale::numbers(Scale::Linear, low..high + margin, frame.y_ticks(height));
    let y_labels = frame.y_labels_width(y.longest_label());
    let below = frame.px(X_LABELS_HEIGHT + time_title_height);
    let mut chart = ChartBuilder::on(area)
        .margin(frame.px(MARGIN))
        .margin_top(frame.px(6 + title_height))
        .margin_bottom(frame.px(4))
        .set_label_area_size(LabelAreaPosition::Left, y_labels)
        .set_label_area_size(LabelAreaPosition::Bottom, below)
        .build_cartesian_2d(x, y)?;
    let y_title = frame.style.y_title.as_deref().unwrap_or(&panel.y_title);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.stroke_width(PIXEL as u32))
        .axis_style(AXIS.stroke_width(PIXEL as u32))
        .set_all_tick_mark_size(4 * PIXEL)
        .x_desc(if is_last { printable(time.title) } else { String::new() })
        .y_desc(printable(y_title))
        .label_style(frame.text_style(13))
        .axis_desc_style(frame.text_style(frame.fitting(y_title, height - below + frame.px(12), 14)))
        .draw()?;
    if !title.is_empty() {
        let position = Pos::new(HPos::Left, VPos::Center);
        let at = (frame.px(MARGIN) + y_labels, frame.px(6 + PANEL_TITLE / 2));
        let fitting = shortened(title, frame.characters(width - at.0, 14));
        area.draw(&Text::new(printable(&fitting), at, frame.text_style(14).pos(position)))?;
    }
    let columns = chart.plotting_area().dim_in_pixel().0 as usize / PIXEL as usize;
    let placed = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let points = thinned(points, from, to, columns).into_iter().map(|(time, value)| (time, value / panel.scale));
        if panel.between == Between::Steps { held(points) } else { points.collect() }
    };
    let longest = match panel.between {
        Between::LineWithoutGaps => (1.5 * sample_interval(&panel.traces)).max((to - from) / columns as f64),
        Between::Line | Between::Steps => f64::INFINITY,
    };
    // Bands are drawn below all lines.
    for (trace, color) in colored(panel, colors) {
        if let Trace::Band { low, high, .. } = trace {
            let (low, high) = (placed(low), placed(high));
            for (low, high) in without_gaps(&low, longest).zip(without_gaps(&high, longest)) {
                let outline: Vec<_> = low.iter().chain(high.iter().rev()).copied().collect();
                chart.draw_series([Polygon::new(outline, color.mix(BAND).filled())])?;
            }
        }
    }
    for (trace, color) in colored(panel, colors) {
        let points = match trace {
            Trace::Line { points, .. } => points,
            Trace::Band { mean, .. } => mean,
            Trace::Marks { points, shape, percent, .. } => {
                let to_area = to_area(area, &chart);
                for (at, value) in points {
                    let at = to_area(*at, value / panel.scale);
                    marks::draw(area, *shape, at, marks::RADIUS * percent / 100, color)?;
                }
                continue;
            }
        };
        for points in without_gaps(&placed(points), longest) {
            if let [point] = *points {
                chart.draw_series([Circle::new(point, 3 * PIXEL, color.filled())])?;
            }
            chart.draw_series([PathElement::new(points, line(trace, color))])?;
        }
    }
    Ok(())
}

/// Returns the parts of a line between which samples are missing for longer than `longest`.
fn without_gaps(points: &[(f64, f64)], longest: f64) -> impl Iterator<Item = &[(f64, f64)]> {
    points.chunk_by(move |before, after| after.0 - before.0 <= longest)
}

/// Returns the shortest time between two samples, except for the last one of a trace, which may be earlier.
fn sample_interval(traces: &[Trace]) -> f64 {
    let points = traces.iter().map(|trace| match trace {
        Trace::Line { points, .. } | Trace::Marks { points, .. } => points,
        Trace::Band { mean, .. } => mean,
    });
    let intervals = points.flat_map(|points| points[..points.len().max(1) - 1].windows(2));
    intervals.map(|pair| pair[1].0 - pair[0].0).fold(f64::INFINITY, f64::min)
}

/// Adds the swatch and label of each trace.
fn add_entries(legend: &mut Legend<'_>, panel: &Panel, colors: &Colors<'_>) {
    legend.heading(&panel.heading);
    for (trace, color) in colored(panel, colors) {
        legend.entry(trace.label(), swatch(trace, color));
    }
    if panel.traces.iter().any(|trace| matches!(trace, Trace::Band { .. })) {
        legend.note("shaded: smallest to largest");
    }
}

/// Returns the legend of the whole figure, without duplicates.
fn legend_of_all(panels: &[Panel], colors: &Colors<'_>) -> Legend<'static> {
    let mut legend = Legend::default();
    let mut known: Vec<(&str, RGBColor, bool)> = Vec::new();
    let mut with_bands = false;
    for (number, panel) in panels.iter().enumerate() {
        if number == 0 {
            legend.heading(&panel.heading);
        }
        for (trace, color) in colored(panel, colors) {
            let entry = (trace.label(), color, trace.is_pale());
            with_bands |= matches!(trace, Trace::Band { .. });
            if !known.contains(&entry) {
                known.push(entry);
                legend.entry(trace.label(), swatch(trace, color));
            }
        }
    }
    if with_bands {
        legend.note("shaded: smallest to largest");
    }
    legend
}

fn swatch(trace: &Trace, color: RGBColor) -> super::legend::Swatch<'static> {
    let (style, is_band) = (line(trace, color), matches!(trace, Trace::Band { .. }));
    if let Trace::Marks { shape, percent, .. } = *trace {
        return Box::new(move |area, at| marks::draw(area, shape, at(12, 0), marks::RADIUS * percent / 100, color));
    }
    Box::new(move |area, at| {
        if is_band {
            area.draw(&Rectangle::new([at(0, -7), at(24, 7)], color.mix(BAND).filled()))?;
        }
        area.draw(&PathElement::new(vec![at(0, 0), at(24, 0)], style))
    })
}

fn colored<'a>(panel: &'a Panel, colors: &'a Colors<'_>) -> impl Iterator<Item = (&'a Trace, RGBColor)> {
    panel.traces.iter().map(|trace| (trace, COLORS[colors.get(trace.label()).copied().unwrap_or(0)]))
}

/// Returns the stroke of a trace: 1.75 px wide, or for a pale trace 1.25 px and translucent.
fn line(trace: &Trace, color: RGBColor) -> ShapeStyle {
    if trace.is_pale() { color.mix(0.45).stroke_width(5) } else { color.stroke_width(LINE) }
}
