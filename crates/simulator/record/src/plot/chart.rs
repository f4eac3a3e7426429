//! Charts of values over categories or numbers, with error bars, steps and boxes.

use super::axis::{AxisScale, MAX_DECADES, MAX_NAMED_PLACES, MAX_VALUE, Scale, XAxis, YAxis};
use super::boxes::{BoxStatistics, ChartBox};
use super::curves::MAX_LINES;
use super::frame::{
    AXIS, Area, BAND, DrawError, Frame, GRID, INK, LINE, MARGIN, PIXEL, TIME_TITLE_HEIGHT, X_LABELS_HEIGHT,
    Y_LABELS_WIDTH, printable, range, shortened,
};
use super::legend::{Legend, Swatch};
use super::marks::{self, look};
use super::multiples::MAX_MULTIPLES;
use super::style::Style;
use super::{Figure, PlotError};
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::collections::BTreeSet;

/// A chart of lines and boxes, such as a figure of a paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Name of the chart, usable as a file name.
    pub name: String,
    /// Title above the chart.
    pub title: String,
    /// Title of the horizontal axis.
    pub x_title: String,
    /// Title of the vertical axis, with the unit.
    pub y_title: String,
    /// Horizontal axis.
    pub x: XAxis,
    /// Vertical axis.
    pub y: YAxis,
    /// Name of the parameter whose values are the labels of the lines, shown above the legend; may be empty.
    pub heading: String,
    /// Text in the legend for each style of line, which describes the source of its values.
    pub styles: Vec<(LineStyle, String)>,
    /// Lines, in the order of drawing.
    pub lines: Vec<ChartLine>,
    /// Boxes, in the order of drawing, below all lines.
    pub boxes: Vec<ChartBox>,
}

/// Height of the plot with its labels, in px.
const PLOT_HEIGHT: i32 = 346;
/// Minimum height of each of several panels with their labels, in px.
const SMALL_PLOT_HEIGHT: i32 = 216;
/// Minimum height of the plot with text of 13 px, in px.
const MIN_PLOT_HEIGHT: i32 = 120;
/// Maximum number of rows of long category names.
const MAX_ROWS: i32 = 3;
/// Distance of the rows, in px.
const NAME_ROW: i32 = 16;
/// Stroke width of error bars and box outlines, in units.
const THIN: u32 = 5;
/// Stroke width of medians, in units.
const MEDIAN: u32 = 10;

/// A line of a [`Chart`].
#[derive(Clone, Debug, PartialEq)]
pub struct ChartLine {
    /// Label in the legend; lines of one color share a label. An empty label is not in the legend.
    pub label: String,
    /// Index of the color and, in styles with marks, of the mark. Indices above the number of colors repeat the colors
    /// with other marks.
    pub color: usize,
    /// Style of the line, which shows the source of the values.
    pub style: LineStyle,
    /// Points, from left to right.
    pub points: Vec<ChartPoint>,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartPoint {
    /// Value on the horizontal axis: a number, or an index of a category, possibly fractional.
    pub x: f64,
    /// Value on the vertical axis.
    pub value: f64,
    /// Half the length of the point's error bar, in units of `value`; 0 for none.
    pub error: f64,
}

/// Style of a line, which shows the source of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStyle {
    /// Values claimed by a paper: hollow marks on dashed lines.
    Claimed,
    /// Values of another program: pale and wide, in a band if there are error bars.
    Reference,
    /// Values measured by Headway: lines with error bars.
    Measured,
    /// Mean of values measured at many points: a line in a band.
    Mean,
    /// Values of a single run: pale and thin.
    SingleRun,
    /// Measured values with error bars, on lines that differ in marks and dashes as well as colors.
    Marked,
    /// Marks with error bars and without lines, for categories.
    Marks,
    /// A step at each point, with marks at the quartiles.
    Steps,
}

impl LineStyle {
    fn is_dashed(self) -> bool {
        matches!(self, Self::Marked | Self::Steps)
    }
}

pub(super) type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<AxisScale, AxisScale>>;

/// The layout of a chart: points in coordinates, in the order of drawing.
struct Layout<'a> {
    lines: Vec<(&'a ChartLine, Vec<Spot>)>,
    boxes: Vec<(&'a ChartBox, f64, BoxStatistics)>,
    x: AxisScale,
    y: AxisScale,
    scale: Scale,
}

#[derive(Clone, Copy)]
struct Spot {
    x: f64,
    y: f64,
    /// Lower and upper end of the error bar, if it has one.
    ends: Option<(f64, f64)>,
    value: f64,
}

impl Chart {
    /// Draws the chart in the default style.
    ///
    /// # Errors
    /// The errors of [`draw_styled`](Self::draw_styled).
    pub fn draw(&self) -> Result<Figure, PlotError> {
        self.draw_styled(&Style::default())
    }

    /// Draws the chart. Omits points of unknown categories, with NaN, with a magnitude above 10^15, or, on a
    /// logarithmic axis, at or below 0.
    ///
    /// # Errors
    /// [`PlotError::Draw`]; no input is known to cause it.
    pub fn draw_styled(&self, style: &Style) -> Result<Figure, PlotError> {
        self.renamed(style).draw_named(style)
    }

    fn draw_named(&self, style: &Style) -> Result<Figure, PlotError> {
        let frame = Frame::new(style);
        let names = NameRows::of(self, &frame);
        let legend = self.legend(None);
        let panels = self.panels();
        let of_panels = panels.iter().enumerate().map(|(index, colors)| self.legend(Some((colors, index == 0))));
        let legends: Vec<Legend<'_>> = of_panels.collect();
        let (count, title_height) = (panels.len() as i32, frame.px(TIME_TITLE_HEIGHT));
        let own_panel = match frame.legend_width(&legend) {
            _ if count == 1 => PLOT_HEIGHT * PIXEL,
            0 => SMALL_PLOT_HEIGHT * PIXEL,
            width => {
                let legend = legends.iter().map(|legend| legend.height_in_column(&frame, width)).max().unwrap_or(0);
                legend.max(SMALL_PLOT_HEIGHT * PIXEL)
            }
        };
        let height = |panel: i32| (panel + names.extra_height(&frame)) * count + title_height;
        let heights = (height(own_panel), height(frame.px(MIN_PLOT_HEIGHT)));
        let figure = frame.figure(&self.name, &self.title, heights, &legend, |area, column| {
            let panel_height = (area.dim_in_pixel().1 as i32 - title_height) / count;
            for (index, colors) in panels.iter().enumerate() {
                let is_last = index + 1 == panels.len();
                let own_height = panel_height + if is_last { title_height } else { 0 };
                let top = panel_height * index as i32;
                let plot = rows(area, top, own_height);
                self.draw_plot(&frame, &plot, &names, colors, is_last)?;
                if let Some(column) = column {
                    legends[index].draw_in_column(&frame, &rows(column, top, own_height), own_height)?;
                }
            }
            Ok(())
        })?;
        let is_dashed = self.lines.iter().any(|line| line.style.is_dashed());
        Ok(if is_dashed { Figure { svg: marks::dashed(&figure.svg), ..figure } } else { figure })
    }

    /// Returns the indices of the colors in each panel: eight per panel if all lines and boxes are equal in rank, as
    /// those of a sweep are. Otherwise, and with more than six panels, there is one panel.
    fn panels(&self) -> Vec<Vec<usize>> {
        let colors = self.lines.iter().map(|line| line.color).chain(self.boxes.iter().map(|of| of.color));
        let all: BTreeSet<usize> = colors.collect();
        let all: Vec<usize> = all.into_iter().collect();
        let panels: Vec<Vec<usize>> =
            all.chunk_by(|a, b| a / MAX_LINES == b / MAX_LINES).map(<[usize]>::to_vec).collect();
        let is_split = (2..=MAX_MULTIPLES).contains(&panels.len())
            && self.lines.iter().all(|line| line.style.is_dashed() || line.style == LineStyle::Marks);
        if is_split { panels } else { vec![all] }
    }

    /// Returns the chart with the names of the style.
    fn renamed(&self, style: &Style) -> Self {
        let mut chart = self.clone();
        let labels = chart.lines.iter_mut().map(|line| &mut line.label);
        let labels = labels.chain(chart.boxes.iter_mut().map(|of| &mut of.label)).chain([&mut chart.heading]);
        let places = match &mut chart.x {
            XAxis::Places(places) => places.as_mut_slice(),
            XAxis::Numbers | XAxis::Logarithm => &mut [],
        };
        labels.chain(places).for_each(|label| *label = style.named(label));
        chart
    }

    /// Returns the number of points of lines that the horizontal axis cannot show: on a logarithmic axis, those at or
    /// below 0; on an axis of categories, those of unknown categories.
    #[must_use]
    pub fn omitted_points(&self) -> usize {
        let points = self.lines.iter().flat_map(|line| &line.points);
        points.filter(|point| self.x_coordinate(point.x).is_none()).count()
    }

    fn layout(&self, frame: &Frame<'_>, width: i32, height: i32) -> Layout<'_> {
        let scale = if self.y == YAxis::Logarithm { Scale::Logarithm } else { Scale::Linear };
        let lines: Vec<_> = self.lines.iter().map(|line| (line, self.spots(line, scale))).collect();
        let widest = if self.x == XAxis::Logarithm { MAX_DECADES } else { MAX_VALUE };
        let boxes: Vec<_> = self
            .boxes
            .iter()
            .filter_map(|chart_box| {
                let x = self.x_coordinate(chart_box.x)?;
                // On a logarithmic axis, a box is of the samples that can be drawn.
                let drawable: Vec<f64> =
                    chart_box.samples.iter().copied().filter(|sample| scale.coordinate(*sample).is_some()).collect();
                let has_valid_width = chart_box.width > 0.0 && chart_box.width <= widest;
                Some((chart_box, x, BoxStatistics::of(&drawable)?)).filter(|_| has_valid_width)
            })
            .collect();
        let spots = || lines.iter().flat_map(|(_, spots)| spots);
        let line_values = spots().flat_map(|spot| spot.ends.map_or([spot.y, spot.y], |(low, high)| [low, high]));
        let box_values =
            boxes.iter().flat_map(|(.., statistics)| statistics.outliers.iter().chain(&statistics.whiskers));
        let values = line_values.chain(box_values.filter_map(|value| scale.coordinate(*value)));
        let (low, high) = range(values.chain((self.y == YAxis::FromZero).then_some(0.0)));
        let margin = (high - low) * 0.06;
        let low = if self.y == YAxis::FromZero { low } else { low - margin };
        let x = match &self.x {
            XAxis::Places(names) => {
                let has_width = !self.boxes.is_empty() || self.lines.iter().any(|line| line.style == LineStyle::Marks);
                AxisScale::places(names, if has_width { 0.5 } else { 0.3 })
            }
            numbers => {
                let box_ends = boxes.iter().flat_map(|(of, x, _)| [x - of.width / 2.0, x + of.width / 2.0]);
                let ends = || spots().map(|spot| spot.x).chain(box_ends.clone());
                let (from, to) = match range(ends()) {
                    // A single number is centered.
                    (from, _) if ends().all(|x| x == from) => (from - 0.5, from + 0.5),
                    range => range,
                };
                let margin = (to - from) * 0.03;
                let scale = if *numbers == XAxis::Logarithm { Scale::Logarithm } else { Scale::Linear };
                let (range, max_ticks) = (from - margin..to + margin, frame.x_ticks(width));
                let marked = lines.iter().filter(|(line, _)| line.style == LineStyle::Marked);
                let at = marked.flat_map(|(_, spots)| spots).map(|spot| spot.x).collect();
                AxisScale::numbers_at(scale, range, max_ticks, at)
            }
        };
        let y = AxisScale::numbers(scale, low..high + margin, frame.y_ticks(height));
        Layout { lines, boxes, x, y, scale }
    }

    fn x_coordinate(&self, x: f64) -> Option<f64> {
        match &self.x {
            XAxis::Places(names) => (x > -0.5 && x < names.len() as f64 - 0.5).then_some(x),
            XAxis::Numbers => Scale::Linear.coordinate(x),
            XAxis::Logarithm => Scale::Logarithm.coordinate(x),
        }
    }

    fn spots(&self, line: &ChartLine, scale: Scale) -> Vec<Spot> {
        let spot = |point: &ChartPoint| {
            if !(0.0..=MAX_VALUE).contains(&point.error) {
                return None;
            }
            let (x, y) = (self.x_coordinate(point.x)?, scale.coordinate(point.value)?);
            let high = scale.coordinate(point.value + point.error).unwrap_or(y);
            // On a logarithmic axis, a bar that reaches 0 ends at its point.
            let low = scale.coordinate(point.value - point.error).unwrap_or(y);
            Some(Spot { x, y, ends: (point.error > 0.0).then_some((low, high)), value: point.value })
        };
        line.points.iter().filter_map(spot).collect()
    }

    /// Draws a panel with the lines and boxes of these colors. Its axes are those of the whole chart.
    fn draw_plot(
        &self,
        frame: &Frame<'_>,
        area: &Area<'_>,
        names: &NameRows,
        colors: &[usize],
        is_last: bool,
    ) -> Result<(), DrawError> {
        let (width, height) = area.dim_in_pixel();
        let layout = self.layout(frame, width as i32, height as i32);
        let title_height = if is_last { TIME_TITLE_HEIGHT } else { 0 };
        let below = frame.px(X_LABELS_HEIGHT + title_height) + names.extra_height(frame);
        let mut plot = ChartBuilder::on(area)
            .margin(frame.px(MARGIN))
            .margin_top(frame.px(6))
            .margin_bottom(frame.px(4))
            .set_label_area_size(LabelAreaPosition::Left, frame.y_labels_width(layout.y.longest_label()))
            .set_label_area_size(LabelAreaPosition::Bottom, below)
            .build_cartesian_2d(layout.x.clone(), layout.y.clone())?;
        let x_title = frame.style.x_title.as_deref().unwrap_or(&self.x_title);
        let x_title = if self.x.is_distorted() { format!("{x_title}, not to scale") } else { x_title.to_owned() };
        let y_title = frame.style.y_title.as_deref().unwrap_or(&self.y_title);
        let has_name_rows = names.rows > 1;
        plot.configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(PIXEL as u32))
            .axis_style(AXIS.stroke_width(PIXEL as u32))
            .set_all_tick_mark_size(4 * PIXEL)
            .x_label_formatter(&|at| if has_name_rows { String::new() } else { layout.x.format_ext(at) })
            .x_desc(if is_last { printable(&x_title) } else { String::new() })
            .y_desc(printable(y_title))
            .label_style(frame.text_style(13))
            .axis_desc_style(frame.text_style(frame.fitting(y_title, height as i32 - below + frame.px(12), 14)))
            .draw()?;
        if has_name_rows {
            names.draw(frame, area, &plot, &layout)?;
        }
        for (of, x, statistics) in layout.boxes.iter().filter(|(of, ..)| colors.contains(&of.color)) {
            draw_box(area, &plot, of, *x, statistics, layout.scale)?;
        }
        for (line, spots) in layout.lines.iter().filter(|(line, _)| colors.contains(&line.color)) {
            draw_line(area, &mut plot, line, spots, layout.scale)?;
        }
        Ok(())
    }

    /// Returns the legend of the whole chart, or of a panel with these colors, of which only the first explains the
    /// symbols.
    fn legend(&self, panel: Option<(&[usize], bool)>) -> Legend<'_> {
        let mut legend = Legend::default();
        let of_lines = self.lines.iter().map(|line| (line.color, &line.label, Some(line.style)));
        let of_boxes = self.boxes.iter().map(|of| (of.color, &of.label, None));
        let mut known: Vec<usize> = Vec::new();
        for (color, label, style) in of_lines.chain(of_boxes) {
            let is_shown = panel.is_none_or(|(colors, _)| colors.contains(&color));
            if known.contains(&color) || label.is_empty() || !is_shown {
                continue;
            }
            if known.is_empty() {
                legend.heading(&self.heading);
            }
            known.push(color);
            legend.entry(label, color_swatch(color, style));
        }
        if panel.is_some_and(|(_, is_first)| !is_first) {
            return legend;
        }
        legend.gap();
        for (style, meaning) in &self.styles {
            legend.entry(meaning, style_swatch(*style));
        }
        if !self.boxes.is_empty() {
            legend.note("box: quartiles, median, mean");
            legend.note("whiskers: up to 1.5 times the box");
        }
        legend
    }
}

/// Layout of category names below the axis.
struct NameRows {
    /// Number of rows among which the names alternate.
    rows: i32,
    characters: usize,
}

impl NameRows {
    /// Selects the number of rows in which the names do not overlap.
    fn of(chart: &Chart, frame: &Frame<'_>) -> Self {
        let XAxis::Places(names) = &chart.x else { return Self { rows: 1, characters: usize::MAX } };
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let plot = frame.width - frame.legend_width(&chart.legend(None)) - frame.px(2 * MARGIN + Y_LABELS_WIDTH);
        let width = (plot / names.len().max(1) as i32).max(1);
        let are_numbers = names.iter().all(|name| name.parse::<f64>().is_ok());
        let needed = frame.width_of(longest + usize::from(!are_numbers), 13);
        // Of more than MAX_NAMED_PLACES categories, only some are labeled.
        let fits = needed <= width || names.len() > MAX_NAMED_PLACES;
        if fits {
            return Self { rows: 1, characters: usize::MAX };
        }
        // A quarter of each row is left free, because the first and last names may be moved inside the figure.
        let available = |rows: i32| width * rows * 3 / 4;
        let rows = (2..MAX_ROWS).find(|rows| needed <= available(*rows)).unwrap_or(MAX_ROWS);
        Self { rows, characters: frame.characters(available(rows), 13) }
    }

    fn extra_height(&self, frame: &Frame<'_>) -> i32 {
        frame.px(NAME_ROW) * (self.rows - 1)
    }

    fn draw(
        &self,
        frame: &Frame<'_>,
        area: &Area<'_>,
        plot: &Plot<'_, '_>,
        layout: &Layout<'_>,
    ) -> Result<(), DrawError> {
        let to_area = to_area(area, plot);
        for (number, (at, name)) in layout.x.ticks.iter().enumerate() {
            let (x, bottom) = to_area(*at, layout.y.range.start);
            let y = bottom + frame.px(8) + frame.px(NAME_ROW) * (number as i32 % self.rows);
            let text = shortened(name, self.characters);
            let half = frame.width_of(text.chars().count(), 13) / 2;
            let x = x.min(area.dim_in_pixel().0 as i32 - half).max(half);
            area.draw(&Text::new(text, (x, y), frame.text_style(13).pos(Pos::new(HPos::Center, VPos::Top))))?;
        }
        Ok(())
    }
}

/// Returns a part of an area with its whole width.
fn rows<'a>(area: &Area<'a>, top: i32, height: i32) -> Area<'a> {
    area.clone().shrink((0, top), (area.dim_in_pixel().0, height as u32))
}

/// Returns a conversion from coordinates to units of the area that contains the plot.
pub(super) fn to_area(area: &Area<'_>, plot: &Plot<'_, '_>) -> impl Fn(f64, f64) -> (i32, i32) {
    let (left, top) = area.get_base_pixel();
    move |x, y| {
        let (at_x, at_y) = plot.backend_coord(&(x, y));
        (at_x - left, at_y - top)
    }
}

fn draw_line(
    area: &Area<'_>,
    plot: &mut Plot<'_, '_>,
    line: &ChartLine,
    spots: &[Spot],
    scale: Scale,
) -> Result<(), DrawError> {
    let (color, mark) = look(line.color);
    let at: Vec<(f64, f64)> = spots.iter().map(|spot| (spot.x, spot.y)).collect();
    match line.style {
        LineStyle::Reference => {
            if spots.iter().any(|spot| spot.ends.is_some()) {
                plot.draw_series([band(spots, color)])?;
            }
            plot.draw_series([PathElement::new(at, color.mix(0.25).stroke_width(6 * PIXEL as u32))])?;
        }
        LineStyle::Claimed => {
            let dashes = color.mix(0.7).stroke_width(PIXEL as u32);
            plot.draw_series(DashedLineSeries::new(at.clone(), 3 * PIXEL, 4 * PIXEL, dashes))?;
            let ring = color.stroke_width(6);
            plot.draw_series(at.into_iter().map(|point| Circle::new(point, 4 * PIXEL, ring)))?;
        }
        LineStyle::Measured => {
            plot.draw_series([PathElement::new(at, color.stroke_width(LINE))])?;
            let bar = |spot: &Spot| {
                let (low, high) = spot.ends.unwrap_or((spot.y, spot.y));
                ErrorBar::new_vertical(spot.x, low, spot.y, high, color.filled(), 7 * PIXEL as u32)
            };
            plot.draw_series(spots.iter().map(bar))?;
        }
        LineStyle::Mean => {
            plot.draw_series([band(spots, color)])?;
            plot.draw_series([PathElement::new(at, color.stroke_width(LINE))])?;
        }
        LineStyle::SingleRun => {
            plot.draw_series([PathElement::new(at, color.mix(0.45).stroke_width(PIXEL as u32))])?;
        }
        LineStyle::Marked | LineStyle::Marks => {
            let to_area = to_area(area, plot);
            let line_at = |at: &[(f64, f64)]| at.iter().map(|(x, y)| to_area(*x, *y)).collect::<Vec<_>>();
            if line.style == LineStyle::Marked {
                area.draw(&PathElement::new(line_at(&at), color.stroke_width(LINE)))?;
            }
            for spot in spots {
                if let Some((low, high)) = spot.ends {
                    error_bar(area, to_area(spot.x, low), to_area(spot.x, high), color)?;
                }
            }
            for (x, y) in at {
                marks::draw(area, mark, to_area(x, y), marks::RADIUS, color)?;
            }
        }
        LineStyle::Steps => {
            let to_area = to_area(area, plot);
            area.draw(&PathElement::new(corners(&at, &to_area), color.stroke_width(LINE)))?;
            for (x, y) in quarters(spots).into_iter().filter_map(|(x, value)| Some((x, scale.coordinate(value)?))) {
                marks::draw(area, mark, to_area(x, y), marks::RADIUS, color)?;
            }
        }
    }
    Ok(())
}

/// Returns the polygon between the lower and the upper ends of error bars.
fn band(spots: &[Spot], color: RGBColor) -> Polygon<(f64, f64)> {
    let ends = |spot: &Spot| spot.ends.unwrap_or((spot.y, spot.y));
    let low = spots.iter().map(|spot| (spot.x, ends(spot).0));
    let corners: Vec<(f64, f64)> = low.chain(spots.iter().rev().map(|spot| (spot.x, ends(spot).1))).collect();
    Polygon::new(corners, color.mix(BAND))
}

/// Returns the corners of steps, in units; several steps within a unit are merged.
fn corners(at: &[(f64, f64)], to_area: impl Fn(f64, f64) -> (i32, i32)) -> Vec<(i32, i32)> {
    let mut corners: Vec<(i32, i32)> = Vec::new();
    for (x, y) in at {
        let (x, y) = to_area(*x, *y);
        match corners.as_mut_slice() {
            [.., before, last] if before.0 == x && last.0 == x => last.1 = y,
            [.., last] if last.1 == y => corners.push((x, y)),
            [.., last] if last.0 == x => corners.push((x, y)),
            [.., last] => {
                let height = last.1;
                corners.extend([(x, height), (x, y)]);
            }
            [] => corners.push((x, y)),
        }
    }
    corners
}

/// Returns the points at which steps first reach or pass a quarter, a half and three quarters, ascending or descending.
fn quarters(spots: &[Spot]) -> Vec<(f64, f64)> {
    let passed = |quarter: f64| {
        let step = spots.windows(2).find(|pair| {
            let (before, after) = (pair[0].value, pair[1].value);
            before < quarter && quarter <= after || before > quarter && quarter >= after
        });
        step.map(|pair| (pair[1].x, quarter))
    };
    [0.25, 0.5, 0.75].into_iter().filter_map(passed).collect()
}

fn error_bar(area: &Area<'_>, low: (i32, i32), high: (i32, i32), color: RGBColor) -> Result<(), DrawError> {
    let thin = color.stroke_width(THIN);
    area.draw(&PathElement::new(vec![low, high], thin))?;
    for (x, y) in [low, high] {
        area.draw(&PathElement::new(vec![(x - 3 * PIXEL, y), (x + 3 * PIXEL, y)], thin))?;
    }
    Ok(())
}

fn draw_box(
    area: &Area<'_>,
    plot: &Plot<'_, '_>,
    of: &ChartBox,
    x: f64,
    statistics: &BoxStatistics,
    scale: Scale,
) -> Result<(), DrawError> {
    let (color, mark) = look(of.color);
    let Some(y) = scale.coordinate(statistics.quartiles[1]) else { return Ok(()) };
    let to_area = to_area(area, plot);
    let at = |value: f64| scale.coordinate(value).map(|y| to_area(x, y));
    let ([whisker_low, whisker_high], [q1, q2, q3]) = (statistics.whiskers, statistics.quartiles);
    let [Some(low), Some(high), Some(q1), Some(median), Some(q3)] = [whisker_low, whisker_high, q1, q2, q3].map(at)
    else {
        return Ok(());
    };
    let half = to_area(x + of.width / 2.0, y).0 - median.0;
    let (left, right) = (median.0 - half, median.0 + half);
    let thin = color.stroke_width(THIN);
    let corners = vec![(left, q1.1), (right, q1.1), (right, q3.1), (left, q3.1)];
    area.draw(&Polygon::new(corners.clone(), color.mix(0.25).filled()))?;
    area.draw(&PathElement::new([corners.as_slice(), &[(left, q1.1)]].concat(), thin))?;
    let (middle, cap) = (low.0, (right - left) / 4);
    for (from, to) in [(q1.1, low.1), (q3.1, high.1)] {
        area.draw(&PathElement::new(vec![(middle, from), (middle, to)], thin))?;
        area.draw(&PathElement::new(vec![(middle - cap, to), (middle + cap, to)], thin))?;
    }
    area.draw(&PathElement::new(vec![(left, median.1), (right, median.1)], color.stroke_width(MEDIAN)))?;
    for outlier in statistics.outliers.iter().filter_map(|value| at(*value)) {
        area.draw(&Circle::new(outlier, 2 * PIXEL, color.stroke_width(THIN)))?;
    }
    let radius = marks::RADIUS.min((right - left) / 3);
    if let Some(mean) = at(statistics.mean) {
        marks::draw(area, mark, mean, radius, color)?;
    }
    Ok(())
}

/// Returns the swatch of a line's color in its style, or of a box without a style.
fn color_swatch(number: usize, style: Option<LineStyle>) -> Swatch<'static> {
    let (color, mark) = look(number);
    Box::new(move |area, at| {
        let has_mark = matches!(style, None | Some(LineStyle::Marked | LineStyle::Marks | LineStyle::Steps));
        match style {
            Some(LineStyle::Marks) => {}
            Some(_) => area.draw(&PathElement::new(vec![at(0, 0), at(24, 0)], color.stroke_width(LINE)))?,
            None => {
                let corners = vec![at(2, -7), at(22, -7), at(22, 7), at(2, 7)];
                area.draw(&Polygon::new(corners.clone(), color.mix(0.25).filled()))?;
                area.draw(&PathElement::new([corners.as_slice(), &[at(2, -7)]].concat(), color.stroke_width(THIN)))?;
            }
        }
        if has_mark {
            marks::draw(area, mark, at(12, 0), marks::RADIUS, color)?;
        }
        Ok(())
    })
}

fn style_swatch(style: LineStyle) -> Swatch<'static> {
    Box::new(move |area, at| {
        let path = |from: (i32, i32), to: (i32, i32), style: ShapeStyle| {
            area.draw(&PathElement::new(vec![at(from.0, from.1), at(to.0, to.1)], style))
        };
        let line = |color: RGBAColor, width: u32| path((0, 0), (24, 0), color.stroke_width(width));
        match style {
            LineStyle::Claimed => {
                path((0, 0), (4, 0), INK.mix(0.7).stroke_width(4))?;
                area.draw(&Circle::new(at(12, 0), 4 * PIXEL, INK.stroke_width(6)))?;
                path((20, 0), (24, 0), INK.mix(0.7).stroke_width(4))
            }
            LineStyle::Reference => path((2, 0), (22, 0), INK.mix(0.25).stroke_width(6 * PIXEL as u32)),
            LineStyle::Mean => {
                area.draw(&Rectangle::new([at(0, -6), at(24, 6)], INK.mix(BAND).filled()))?;
                line(INK.mix(1.0), LINE)
            }
            LineStyle::SingleRun => line(INK.mix(0.45), PIXEL as u32),
            LineStyle::Measured => {
                line(INK.mix(1.0), LINE)?;
                for (from, to) in [((12, -6), (12, 6)), ((9, -6), (15, -6)), ((9, 6), (15, 6))] {
                    path(from, to, INK.stroke_width(PIXEL as u32))?;
                }
                Ok(())
            }
            LineStyle::Marked | LineStyle::Marks => error_bar(area, at(12, 7), at(12, -7), INK),
            LineStyle::Steps => line(INK.mix(1.0), LINE),
        }
    })
}
