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
use super::{Figure, PlotError, marks};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub(super) struct Panel {
    pub(super) title: String,
    pub(super) y_title: String,
    /// Divisor that converts values to the unit of `y_title`.
    pub(super) scale: f64,
    /// Parameter of which the labels are values; may be empty.
    pub(super) heading: String,
    pub(super) traces: Vec<Trace>,
    /// Whether a value holds until the next sample, as that of a queue does.
    pub(super) steps: bool,
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

pub(super) fn figure(name: &str, title: &str, mut panels: Vec<Panel>, style: &Style) -> Result<Figure, PlotError> {
    panels.iter_mut().for_each(|panel| panel.rename(style));
    let frame = Frame::new(style);
    let count = panels.len() as i32;
    let panel_height = if count > 1 { SMALL_PANEL_HEIGHT } else { PANEL_HEIGHT } * PIXEL;
    let own_height = panel_height * count + frame.px(TIME_TITLE_HEIGHT);
    let min_height = frame.px(MIN_PANEL_HEIGHT) * count + frame.px(TIME_TITLE_HEIGHT);
    let legend = legend_of_all(&panels);
    let figure = frame
        .figure(name, title, (own_height, min_height), &legend, |area, column| draw(&frame, area, column, &panels))?;
    Ok(Figure { svg: marks::dashed(&figure.svg), ..figure })
}

fn draw(frame: &Frame<'_>, area: &Area<'_>, column: Option<&Area<'_>>, panels: &[Panel]) -> Result<(), DrawError> {
    let time = range(panels.iter().flat_map(|panel| &panel.traces).flat_map(Trace::all_points).map(|point| point.0));
    let (width, height) = area.dim_in_pixel();
    let time_title = frame.px(TIME_TITLE_HEIGHT);
    let panel_height = (height as i32 - time_title) / panels.len().max(1) as i32;
    let mut known: Vec<&str> = Vec::new();
    for (index, panel) in panels.iter().enumerate() {
        let is_last = index + 1 == panels.len();
        let top = panel_height * index as i32;
        let own_height = panel_height + if is_last { time_title } else { 0 };
        let size = |width: u32| (width, own_height as u32);
        draw_panel(frame, &area.clone().shrink((0, top), size(width)), panel, time, is_last)?;
        // A panel with the labels of the previous one shares its legend.
        let labels: Vec<&str> = panel.traces.iter().map(Trace::label).collect();
        if let Some(column) = column {
            let mut legend = Legend::default();
            legend.heading(&panel.title);
            if labels != known {
                add_entries(&mut legend, panel);
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
    (from, to): (f64, f64),
    is_last: bool,
) -> Result<(), DrawError> {
    let values = panel.traces.iter().flat_map(Trace::all_points).map(|point| point.1 / panel.scale);
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
    let x_title = frame.style.x_title.as_deref().unwrap_or("Time (s)");
    let y_title = frame.style.y_title.as_deref().unwrap_or(&panel.y_title);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.stroke_width(PIXEL as u32))
        .axis_style(AXIS.stroke_width(PIXEL as u32))
        .set_all_tick_mark_size(4 * PIXEL)
        .x_desc(if is_last { printable(x_title) } else { String::new() })
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
        if panel.steps { held(points) } else { points.collect() }
    };
    // Bands are drawn below all lines.
    for (trace, color) in colored(&panel.traces) {
        if let Trace::Band { low, high, .. } = trace {
            let mut outline = placed(low);
            outline.extend(placed(high).into_iter().rev());
            chart.draw_series([Polygon::new(outline, color.mix(BAND).filled())])?;
        }
    }
    for (trace, color) in colored(&panel.traces) {
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
        let points = placed(points);
        if let [point] = points[..] {
            chart.draw_series([Circle::new(point, 3 * PIXEL, color.filled())])?;
        }
        chart.draw_series([PathElement::new(points, line(trace, color))])?;
    }
    Ok(())
}

/// Adds the swatch and label of each trace.
fn add_entries(legend: &mut Legend<'_>, panel: &Panel) {
    legend.heading(&panel.heading);
    for (trace, color) in colored(&panel.traces) {
        legend.entry(trace.label(), swatch(trace, color));
    }
    if panel.traces.iter().any(|trace| matches!(trace, Trace::Band { .. })) {
        legend.note("shaded: smallest to largest");
    }
}

/// Returns the legend of the whole figure, without duplicates.
fn legend_of_all(panels: &[Panel]) -> Legend<'static> {
    let mut legend = Legend::default();
    let mut known: Vec<(&str, RGBColor, bool)> = Vec::new();
    let mut with_bands = false;
    for (number, panel) in panels.iter().enumerate() {
        if number == 0 {
            legend.heading(&panel.heading);
        }
        for (trace, color) in colored(&panel.traces) {
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

/// Returns each trace with its color; a pale trace has the color of the next one.
fn colored(traces: &[Trace]) -> impl Iterator<Item = (&Trace, RGBColor)> {
    let mut next = 0;
    traces.iter().map(move |trace| {
        let color = COLORS[next % COLORS.len()];
        next += usize::from(!trace.is_pale());
        (trace, color)
    })
}

/// Returns the stroke of a trace: 1.75 px wide, or for a pale trace 1.25 px and translucent.
fn line(trace: &Trace, color: RGBColor) -> ShapeStyle {
    if trace.is_pale() { color.mix(0.45).stroke_width(5) } else { color.stroke_width(LINE) }
}
