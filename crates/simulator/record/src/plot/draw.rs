//! Values over time: panels below one another, each with its part of the legend beside it.

use super::axis::{Drawn as Axis, Scale};
use super::curves::{Drawn, thinned};
use super::frame::{
    AXIS, Area, BAND, COLOURS, DrawError, Frame, GRID, LINE, MARGIN, PIXEL, TIME_TITLE_HEIGHT, X_LABELS_HEIGHT,
    printable, range, shortened,
};
use super::legend::Legend;
use super::style::{LegendPlace, Style};
use super::{Figure, PlotError};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub(super) struct Panel {
    pub(super) title: String,
    pub(super) y_title: String,
    /// What a value is divided by to be in the unit of `y_title`.
    pub(super) scale: f64,
    /// What the labels of the lines are values of, if they are.
    pub(super) heading: String,
    pub(super) drawn: Vec<Drawn>,
}

/// In px: of a panel, without the title of the time axis, which only the lowest has.
const PANEL_HEIGHT: i32 = 346;
/// Of several panels, each.
const SMALL_PANEL_HEIGHT: i32 = 216;
/// What a panel needs at least, where words have 13 px.
const LOWEST_PANEL: i32 = 96;
/// Above a panel, if no legend has its title.
const PANEL_TITLE: i32 = 18;

pub(super) fn figure(name: &str, title: &str, panels: &[Panel], style: &Style) -> Result<Figure, PlotError> {
    let frame = Frame::new(style);
    let many = panels.len() as i32;
    let panel_height = if many > 1 { SMALL_PANEL_HEIGHT } else { PANEL_HEIGHT } * PIXEL;
    let own_height = panel_height * many + frame.px(TIME_TITLE_HEIGHT);
    let lowest = frame.px(LOWEST_PANEL) * many + frame.px(TIME_TITLE_HEIGHT);
    let legend = legend_of_all(panels);
    frame.figure(name, title, (own_height, lowest), &legend, |area, column| draw(&frame, area, column, panels))
}

fn draw(frame: &Frame<'_>, area: &Area<'_>, column: Option<&Area<'_>>, panels: &[Panel]) -> Result<(), DrawError> {
    let time = range(panels.iter().flat_map(|panel| &panel.drawn).flat_map(Drawn::all_points).map(|point| point.0));
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
        // Panels that mean the same by their colours have one legend.
        let labels: Vec<&str> = panel.drawn.iter().map(Drawn::label).collect();
        if let Some(column) = column {
            let mut legend = Legend::default();
            legend.heading(&panel.title);
            if labels != known {
                fill(&mut legend, panel);
            }
            // Below it there is room as far as the next panel that has a legend of its own.
            let next = panels[index + 1..].iter().position(|below| !below.title.is_empty());
            let room = next.map_or(own_height, |between| panel_height * (between as i32 + 1));
            legend.draw_in_column(frame, &column.clone().shrink((0, top), size(column.dim_in_pixel().0)), room)?;
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
    let values = panel.drawn.iter().flat_map(Drawn::all_points).map(|point| point.1 / panel.scale);
    let (low, high) = range(values.chain([0.0]));
    let time_title_height = if is_last { TIME_TITLE_HEIGHT } else { 0 };
    let title = if frame.style.legend == LegendPlace::Beside { "" } else { panel.title.as_str() };
    let title_height = if title.is_empty() { 0 } else { PANEL_TITLE };
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    let x = Axis::numbers(Scale::Linear, from..to, frame.x_ticks(width));
    // Air above the highest value.
    let y = Axis::numbers(Scale::Linear, low..high + (high - low) * 0.06, frame.y_ticks(height));
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
        .label_style(frame.words(13))
        .axis_desc_style(frame.words(frame.fitting(y_title, height - below + frame.px(12), 14)))
        .draw()?;
    if !title.is_empty() {
        let words = Pos::new(HPos::Left, VPos::Center);
        let at = (frame.px(MARGIN) + y_labels, frame.px(6 + PANEL_TITLE / 2));
        let fitting = shortened(title, frame.characters(width - at.0, 14));
        area.draw(&Text::new(printable(&fitting), at, frame.words(14).pos(words)))?;
    }
    let columns = chart.plotting_area().dim_in_pixel().0 as usize / PIXEL as usize;
    let placed = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        thinned(points, from, to, columns).into_iter().map(|(time, value)| (time, value / panel.scale)).collect()
    };
    // Bands lie below every line.
    for (drawn, colour) in coloured(&panel.drawn) {
        if let Drawn::Band { low, high, .. } = drawn {
            let mut outline = placed(low);
            outline.extend(placed(high).into_iter().rev());
            chart.draw_series([Polygon::new(outline, colour.mix(BAND).filled())])?;
        }
    }
    for (drawn, colour) in coloured(&panel.drawn) {
        let points = match drawn {
            Drawn::Line { points, .. } => points,
            Drawn::Band { mean, .. } => mean,
        };
        chart.draw_series([PathElement::new(placed(points), line(drawn, colour))])?;
    }
    Ok(())
}

/// For each line a swatch as the panel draws it, and its name.
fn fill(legend: &mut Legend<'_>, panel: &Panel) {
    legend.heading(&panel.heading);
    for (drawn, colour) in coloured(&panel.drawn) {
        legend.entry(drawn.label(), swatch(drawn, colour));
    }
    if panel.drawn.iter().any(|drawn| matches!(drawn, Drawn::Band { .. })) {
        legend.note("shaded: smallest to largest");
    }
}

/// That of the picture as a whole, in which each panel finds its lines.
fn legend_of_all(panels: &[Panel]) -> Legend<'static> {
    let mut legend = Legend::default();
    let mut known: Vec<(&str, RGBColor, bool)> = Vec::new();
    let mut with_bands = false;
    for (number, panel) in panels.iter().enumerate() {
        if number == 0 {
            legend.heading(&panel.heading);
        }
        for (drawn, colour) in coloured(&panel.drawn) {
            let entry = (drawn.label(), colour, drawn.is_pale());
            with_bands |= matches!(drawn, Drawn::Band { .. });
            if !known.contains(&entry) {
                known.push(entry);
                legend.entry(drawn.label(), swatch(drawn, colour));
            }
        }
    }
    if with_bands {
        legend.note("shaded: smallest to largest");
    }
    legend
}

fn swatch(drawn: &Drawn, colour: RGBColor) -> super::legend::Swatch<'static> {
    let (style, is_band) = (line(drawn, colour), matches!(drawn, Drawn::Band { .. }));
    Box::new(move |area, at| {
        if is_band {
            area.draw(&Rectangle::new([at(0, -7), at(24, 7)], colour.mix(BAND).filled()))?;
        }
        area.draw(&PathElement::new(vec![at(0, 0), at(24, 0)], style))
    })
}

/// Each with its colour; a pale one has that of the next.
fn coloured(drawn: &[Drawn]) -> impl Iterator<Item = (&Drawn, RGBColor)> {
    let mut next = 0;
    drawn.iter().map(move |drawn| {
        let colour = COLOURS[next % COLOURS.len()];
        next += usize::from(!drawn.is_pale());
        (drawn, colour)
    })
}

/// 1.75 pixels wide; pale ones 1.25, and half transparent.
fn line(drawn: &Drawn, colour: RGBColor) -> ShapeStyle {
    if drawn.is_pale() { colour.mix(0.45).stroke_width(5) } else { colour.stroke_width(LINE) }
}
