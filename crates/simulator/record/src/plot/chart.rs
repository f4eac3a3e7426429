//! Numbers over places or other numbers, with error bars, steps and boxes: the figures of papers.

use super::axis::{Drawn as Axis, LARGEST, MOST_DECADES, NAMED_PLACES, Scale, XAxis, YAxis};
use super::boxes::{ChartBox, Five};
use super::frame::{
    AXIS, Area, BAND, DrawError, Frame, GRID, INK, LINE, MARGIN, PIXEL, TIME_TITLE_HEIGHT, X_LABELS_HEIGHT,
    Y_LABELS_WIDTH, printable, range, shortened,
};
use super::legend::{Legend, Swatch};
use super::marks::{self, look};
use super::style::Style;
use super::{Figure, PlotError};
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A figure of a paper, and who says what.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows, fit for a file name.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// What the places or numbers are.
    pub x_title: String,
    /// What the values are, with their unit.
    pub y_title: String,
    /// What values are drawn over.
    pub x: XAxis,
    /// How values are drawn.
    pub y: YAxis,
    /// What labels are values of; empty if they are not.
    pub heading: String,
    /// What each style means.
    pub styles: Vec<(LineStyle, String)>,
    /// In the order of drawing.
    pub lines: Vec<ChartLine>,
    /// In the order of drawing, below all lines.
    pub boxes: Vec<ChartBox>,
}

/// In px: the plot with the numbers below it.
const PLOT_HEIGHT: i32 = 346;
/// What it needs at least, where words have 13 px.
const LOWEST_PLOT: i32 = 120;
/// Names of places that are too long to stand side by side stand in so many rows at most.
const MOST_ROWS: i32 = 3;
/// From one such row to the next, in px.
const NAME_ROW: i32 = 16;
/// An error bar's width, and that of a box's outline, in units.
const THIN: u32 = 5;
const MEDIAN: u32 = 10;

/// One line of a [`Chart`].
#[derive(Clone, Debug, PartialEq)]
pub struct ChartLine {
    /// What its colour means; lines of one colour have one label. One without is not in the legend.
    pub label: String,
    /// Which of the colours; of [`LineStyle::Marked`] and the like also which mark. More than there are begin again with other marks.
    pub colour: usize,
    /// Whose numbers they are.
    pub style: LineStyle,
    /// Its points, from left to right.
    pub points: Vec<ChartPoint>,
}

/// A value at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartPoint {
    /// A number of the axis, or which of the places, from 0: what is between them lies between them.
    pub x: f64,
    /// The value.
    pub value: f64,
    /// Half the length of its error bar; 0 for none.
    pub error: f64,
}

/// Whose numbers a line shows, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStyle {
    /// What somebody claims: hollow marks on broken lines.
    Said,
    /// What another program gave: pale and wide, in a band where it has error bars.
    Reference,
    /// What was measured here: lines with error bars.
    Measured,
    /// The mean of what was measured at many places: a line in a band.
    Mean,
    /// One run of it: pale and thin.
    One,
    /// What was measured, where lines are told apart by marks and dashes as well as by colours: with error bars.
    Marked,
    /// The same without lines, where nothing lies between the places.
    Marks,
    /// A step up or down at each point, with a mark where a quarter, a half and three quarters are passed.
    Steps,
}

impl LineStyle {
    fn is_dashed(self) -> bool {
        matches!(self, Self::Marked | Self::Steps)
    }
}

type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// A chart whose places are found: points in coordinates, in the order of drawing.
struct Placed<'a> {
    lines: Vec<(&'a ChartLine, Vec<Spot>)>,
    boxes: Vec<(&'a ChartBox, f64, Five)>,
    x: Axis,
    y: Axis,
    scale: Scale,
}

#[derive(Clone, Copy)]
struct Spot {
    x: f64,
    y: f64,
    /// The ends of its error bar, if it has one.
    ends: Option<(f64, f64)>,
    value: f64,
}

impl Chart {
    /// Draws it as pictures look by default.
    ///
    /// # Errors
    /// As [`draw_styled`](Self::draw_styled).
    pub fn draw(&self) -> Result<Figure, PlotError> {
        self.draw_styled(&Style::default())
    }

    /// Draws it. Points whose place does not exist, or whose value is no number or beyond 10^15, are left out; on an axis of logarithms
    /// also what is not above zero.
    ///
    /// # Errors
    /// [`PlotError::Draw`], which no input is known to cause.
    pub fn draw_styled(&self, style: &Style) -> Result<Figure, PlotError> {
        let frame = Frame::new(style);
        let names = Names::of(self, &frame);
        let below = frame.px(TIME_TITLE_HEIGHT) + names.extra_height(&frame);
        let own_height = PLOT_HEIGHT * PIXEL + below;
        let lowest = frame.px(LOWEST_PLOT) + below;
        let legend = self.legend();
        let figure = frame.figure(&self.name, &self.title, (own_height, lowest), &legend, |area, column| {
            self.draw_plot(&frame, area, &names)?;
            match column {
                Some(column) => legend.draw_in_column(&frame, column, column.dim_in_pixel().1 as i32),
                None => Ok(()),
            }
        })?;
        let is_dashed = self.lines.iter().any(|line| line.style.is_dashed());
        Ok(if is_dashed { Figure { svg: marks::dashed(&figure.svg), ..figure } } else { figure })
    }

    /// Number of points of lines that have no place on the horizontal axis: on a logarithmic one those at or below 0.
    #[must_use]
    pub fn left_out(&self) -> usize {
        let points = self.lines.iter().flat_map(|line| &line.points);
        points.filter(|point| self.x_coordinate(point.x).is_none()).count()
    }

    fn placed(&self, frame: &Frame<'_>, width: i32, height: i32) -> Placed<'_> {
        let scale = if self.y == YAxis::Logarithm { Scale::Logarithm } else { Scale::Linear };
        let lines: Vec<_> = self.lines.iter().map(|line| (line, self.spots(line, scale))).collect();
        let widest = if self.x == XAxis::Logarithm { MOST_DECADES } else { LARGEST };
        let boxes: Vec<_> = self
            .boxes
            .iter()
            .filter_map(|of| {
                let x = self.x_coordinate(of.x)?;
                // On an axis of logarithms a box is of what can be drawn there.
                let drawable: Vec<f64> =
                    of.samples.iter().copied().filter(|sample| scale.coordinate(*sample).is_some()).collect();
                Some((of, x, Five::of(&drawable)?)).filter(|_| of.width > 0.0 && of.width <= widest)
            })
            .collect();
        let spots = || lines.iter().flat_map(|(_, spots)| spots);
        let of_lines = spots().flat_map(|spot| spot.ends.map_or([spot.y, spot.y], |(low, high)| [low, high]));
        let of_boxes = boxes.iter().flat_map(|(_, _, five)| five.outliers.iter().chain(&five.whiskers));
        let values = of_lines.chain(of_boxes.filter_map(|value| scale.coordinate(*value)));
        let (low, high) = range(values.chain((self.y == YAxis::FromZero).then_some(0.0)));
        let air = (high - low) * 0.06;
        let low = if self.y == YAxis::FromZero { low } else { low - air };
        let x = match &self.x {
            XAxis::Places(names) => {
                let has_width = !self.boxes.is_empty() || self.lines.iter().any(|line| line.style == LineStyle::Marks);
                Axis::places(names, if has_width { 0.5 } else { 0.3 })
            }
            numbers => {
                let of_boxes = boxes.iter().flat_map(|(of, x, _)| [x - of.width / 2.0, x + of.width / 2.0]);
                let ends = || spots().map(|spot| spot.x).chain(of_boxes.clone());
                let (from, to) = match range(ends()) {
                    // A number alone is in the middle.
                    (from, _) if ends().all(|x| x == from) => (from - 0.5, from + 0.5),
                    range => range,
                };
                let beside = (to - from) * 0.03;
                let scale = if *numbers == XAxis::Logarithm { Scale::Logarithm } else { Scale::Linear };
                let (range, many) = (from - beside..to + beside, frame.x_ticks(width));
                let marked = lines.iter().filter(|(line, _)| line.style == LineStyle::Marked);
                Axis::numbers_at(scale, range, many, marked.flat_map(|(_, spots)| spots).map(|spot| spot.x).collect())
            }
        };
        Placed { lines, boxes, x, y: Axis::numbers(scale, low..high + air, frame.y_ticks(height)), scale }
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
            if !(0.0..=LARGEST).contains(&point.error) {
                return None;
            }
            let (x, y) = (self.x_coordinate(point.x)?, scale.coordinate(point.value)?);
            let high = scale.coordinate(point.value + point.error).unwrap_or(y);
            // Where there is no zero, a bar that reaches it ends at its point.
            let low = scale.coordinate(point.value - point.error).unwrap_or(y);
            Some(Spot { x, y, ends: (point.error > 0.0).then_some((low, high)), value: point.value })
        };
        line.points.iter().filter_map(spot).collect()
    }

    fn draw_plot(&self, frame: &Frame<'_>, area: &Area<'_>, names: &Names) -> Result<(), DrawError> {
        let (width, height) = area.dim_in_pixel();
        let placed = self.placed(frame, width as i32, height as i32);
        let below = frame.px(X_LABELS_HEIGHT + TIME_TITLE_HEIGHT) + names.extra_height(frame);
        let mut plot = ChartBuilder::on(area)
            .margin(frame.px(MARGIN))
            .margin_top(frame.px(6))
            .margin_bottom(frame.px(4))
            .set_label_area_size(LabelAreaPosition::Left, frame.y_labels_width(placed.y.longest_label()))
            .set_label_area_size(LabelAreaPosition::Bottom, below)
            .build_cartesian_2d(placed.x.clone(), placed.y.clone())?;
        let x_title = frame.style.x_title.as_deref().unwrap_or(&self.x_title);
        let x_title = if self.x.is_distorted() { format!("{x_title}, not to scale") } else { x_title.to_owned() };
        let y_title = frame.style.y_title.as_deref().unwrap_or(&self.y_title);
        let own_names = names.rows > 1;
        plot.configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(PIXEL as u32))
            .axis_style(AXIS.stroke_width(PIXEL as u32))
            .set_all_tick_mark_size(4 * PIXEL)
            .x_label_formatter(&|at| if own_names { String::new() } else { placed.x.format_ext(at) })
            .x_desc(printable(&x_title))
            .y_desc(printable(y_title))
            .label_style(frame.words(13))
            .axis_desc_style(frame.words(frame.fitting(y_title, height as i32 - below + frame.px(12), 14)))
            .draw()?;
        if own_names {
            names.draw(frame, area, &plot, &placed)?;
        }
        for (of, x, five) in &placed.boxes {
            draw_box(area, &plot, of, *x, five, placed.scale)?;
        }
        for (line, spots) in &placed.lines {
            draw_line(area, &mut plot, line, spots, placed.scale)?;
        }
        Ok(())
    }

    fn legend(&self) -> Legend<'_> {
        let mut legend = Legend::default();
        let of_lines = self.lines.iter().map(|line| (line.colour, &line.label, Some(line.style)));
        let of_boxes = self.boxes.iter().map(|of| (of.colour, &of.label, None));
        let mut known: Vec<usize> = Vec::new();
        for (colour, label, style) in of_lines.chain(of_boxes) {
            if known.contains(&colour) || label.is_empty() {
                continue;
            }
            if known.is_empty() {
                legend.heading(&self.heading);
            }
            known.push(colour);
            legend.entry(label, colour_swatch(colour, style));
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

struct Names {
    /// How many rows they take turns in.
    rows: i32,
    characters: usize,
}

impl Names {
    /// As many rows as they need not to touch.
    fn of(chart: &Chart, frame: &Frame<'_>) -> Self {
        let XAxis::Places(names) = &chart.x else { return Self { rows: 1, characters: usize::MAX } };
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let plot = frame.width - frame.legend_width(&chart.legend()) - frame.px(2 * MARGIN + Y_LABELS_WIDTH);
        let own = (plot / names.len().max(1) as i32).max(1);
        let are_numbers = names.iter().all(|name| name.parse::<f64>().is_ok());
        let needed = frame.width_of(longest + usize::from(!are_numbers), 13);
        // Of many places not all have their names.
        let fits = needed <= own || names.len() > NAMED_PLACES;
        if fits {
            return Self { rows: 1, characters: usize::MAX };
        }
        // Of each row a quarter is left free, since the first and the last name may have to give way to the picture's edge.
        let room = |rows: i32| own * rows * 3 / 4;
        let rows = (2..MOST_ROWS).find(|rows| needed <= room(*rows)).unwrap_or(MOST_ROWS);
        Self { rows, characters: frame.characters(room(rows), 13) }
    }

    fn extra_height(&self, frame: &Frame<'_>) -> i32 {
        frame.px(NAME_ROW) * (self.rows - 1)
    }

    fn draw(
        &self,
        frame: &Frame<'_>,
        area: &Area<'_>,
        plot: &Plot<'_, '_>,
        placed: &Placed<'_>,
    ) -> Result<(), DrawError> {
        let to_area = to_area(area, plot);
        for (number, (at, name)) in placed.x.ticks.iter().enumerate() {
            let (x, bottom) = to_area(*at, placed.y.range.start);
            let y = bottom + frame.px(8) + frame.px(NAME_ROW) * (number as i32 % self.rows);
            let words = shortened(name, self.characters);
            let half = frame.width_of(words.chars().count(), 13) / 2;
            let x = x.min(area.dim_in_pixel().0 as i32 - half).max(half);
            area.draw(&Text::new(words, (x, y), frame.words(13).pos(Pos::new(HPos::Center, VPos::Top))))?;
        }
        Ok(())
    }
}

/// From coordinates to the units of the area that the plot lies in.
fn to_area(area: &Area<'_>, plot: &Plot<'_, '_>) -> impl Fn(f64, f64) -> (i32, i32) {
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
    let (colour, mark) = look(line.colour);
    let at: Vec<(f64, f64)> = spots.iter().map(|spot| (spot.x, spot.y)).collect();
    match line.style {
        LineStyle::Reference => {
            if spots.iter().any(|spot| spot.ends.is_some()) {
                plot.draw_series([band(spots, colour)])?;
            }
            plot.draw_series([PathElement::new(at, colour.mix(0.25).stroke_width(6 * PIXEL as u32))])?;
        }
        LineStyle::Said => {
            let dashes = colour.mix(0.7).stroke_width(PIXEL as u32);
            plot.draw_series(DashedLineSeries::new(at.clone(), 3 * PIXEL, 4 * PIXEL, dashes))?;
            let ring = colour.stroke_width(6);
            plot.draw_series(at.into_iter().map(|point| Circle::new(point, 4 * PIXEL, ring)))?;
        }
        LineStyle::Measured => {
            plot.draw_series([PathElement::new(at, colour.stroke_width(LINE))])?;
            let bar = |spot: &Spot| {
                let (low, high) = spot.ends.unwrap_or((spot.y, spot.y));
                ErrorBar::new_vertical(spot.x, low, spot.y, high, colour.filled(), 7 * PIXEL as u32)
            };
            plot.draw_series(spots.iter().map(bar))?;
        }
        LineStyle::Mean => {
            plot.draw_series([band(spots, colour)])?;
            plot.draw_series([PathElement::new(at, colour.stroke_width(LINE))])?;
        }
        LineStyle::One => {
            plot.draw_series([PathElement::new(at, colour.mix(0.45).stroke_width(PIXEL as u32))])?;
        }
        LineStyle::Marked | LineStyle::Marks => {
            let to_area = to_area(area, plot);
            let line_at = |at: &[(f64, f64)]| at.iter().map(|(x, y)| to_area(*x, *y)).collect::<Vec<_>>();
            if line.style == LineStyle::Marked {
                area.draw(&PathElement::new(line_at(&at), colour.stroke_width(LINE)))?;
            }
            for spot in spots {
                if let Some((low, high)) = spot.ends {
                    error_bar(area, to_area(spot.x, low), to_area(spot.x, high), colour)?;
                }
            }
            for (x, y) in at {
                marks::draw(area, mark, to_area(x, y), marks::RADIUS, colour)?;
            }
        }
        LineStyle::Steps => {
            let to_area = to_area(area, plot);
            area.draw(&PathElement::new(corners(&at, &to_area), colour.stroke_width(LINE)))?;
            for (x, y) in quarters(spots).into_iter().filter_map(|(x, value)| Some((x, scale.coordinate(value)?))) {
                marks::draw(area, mark, to_area(x, y), marks::RADIUS, colour)?;
            }
        }
    }
    Ok(())
}

/// From the lower ends of error bars to the upper ones.
fn band(spots: &[Spot], colour: RGBColor) -> Polygon<(f64, f64)> {
    let ends = |spot: &Spot| spot.ends.unwrap_or((spot.y, spot.y));
    let low = spots.iter().map(|spot| (spot.x, ends(spot).0));
    let corners: Vec<(f64, f64)> = low.chain(spots.iter().rev().map(|spot| (spot.x, ends(spot).1))).collect();
    Polygon::new(corners, colour.mix(BAND))
}

/// The corners of steps, in units; several steps within a unit are one.
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

/// Where steps first pass a quarter, a half and three quarters, whether they rise or fall.
fn quarters(spots: &[Spot]) -> Vec<(f64, f64)> {
    let passed = |quarter: f64| {
        let of = spots.windows(2).find(|pair| {
            let (before, after) = (pair[0].value, pair[1].value);
            before < quarter && quarter <= after || before > quarter && quarter >= after
        });
        of.map(|pair| (pair[1].x, quarter))
    };
    [0.25, 0.5, 0.75].into_iter().filter_map(passed).collect()
}

fn error_bar(area: &Area<'_>, low: (i32, i32), high: (i32, i32), colour: RGBColor) -> Result<(), DrawError> {
    let thin = colour.stroke_width(THIN);
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
    five: &Five,
    scale: Scale,
) -> Result<(), DrawError> {
    let (colour, mark) = look(of.colour);
    let Some(y) = scale.coordinate(five.quartiles[1]) else { return Ok(()) };
    let to_area = to_area(area, plot);
    let at = |value: f64| scale.coordinate(value).map(|y| to_area(x, y));
    let [Some(low), Some(high), Some(q1), Some(median), Some(q3)] =
        [five.whiskers[0], five.whiskers[1], five.quartiles[0], five.quartiles[1], five.quartiles[2]].map(at)
    else {
        return Ok(());
    };
    let half = to_area(x + of.width / 2.0, y).0 - median.0;
    let (left, right) = (median.0 - half, median.0 + half);
    let thin = colour.stroke_width(THIN);
    let corners = vec![(left, q1.1), (right, q1.1), (right, q3.1), (left, q3.1)];
    area.draw(&Polygon::new(corners.clone(), colour.mix(0.25).filled()))?;
    area.draw(&PathElement::new([corners.as_slice(), &[(left, q1.1)]].concat(), thin))?;
    let (middle, cap) = (low.0, (right - left) / 4);
    for (from, to) in [(q1.1, low.1), (q3.1, high.1)] {
        area.draw(&PathElement::new(vec![(middle, from), (middle, to)], thin))?;
        area.draw(&PathElement::new(vec![(middle - cap, to), (middle + cap, to)], thin))?;
    }
    area.draw(&PathElement::new(vec![(left, median.1), (right, median.1)], colour.stroke_width(MEDIAN)))?;
    for outlier in five.outliers.iter().filter_map(|value| at(*value)) {
        area.draw(&Circle::new(outlier, 2 * PIXEL, colour.stroke_width(THIN)))?;
    }
    let radius = marks::RADIUS.min((right - left) / 3);
    if let Some(mean) = at(five.mean) {
        marks::draw(area, mark, mean, radius, colour)?;
    }
    Ok(())
}

/// Of a line's colour, in its style; of a box without.
fn colour_swatch(number: usize, style: Option<LineStyle>) -> Swatch<'static> {
    let (colour, mark) = look(number);
    Box::new(move |area, at| {
        let has_mark = matches!(style, None | Some(LineStyle::Marked | LineStyle::Marks | LineStyle::Steps));
        match style {
            Some(LineStyle::Marks) => {}
            Some(_) => area.draw(&PathElement::new(vec![at(0, 0), at(24, 0)], colour.stroke_width(LINE)))?,
            None => {
                let corners = vec![at(2, -7), at(22, -7), at(22, 7), at(2, 7)];
                area.draw(&Polygon::new(corners.clone(), colour.mix(0.25).filled()))?;
                area.draw(&PathElement::new([corners.as_slice(), &[at(2, -7)]].concat(), colour.stroke_width(THIN)))?;
            }
        }
        if has_mark {
            marks::draw(area, mark, at(12, 0), marks::RADIUS, colour)?;
        }
        Ok(())
    })
}

fn style_swatch(style: LineStyle) -> Swatch<'static> {
    Box::new(move |area, at| {
        let path = |from: (i32, i32), to: (i32, i32), style: ShapeStyle| {
            area.draw(&PathElement::new(vec![at(from.0, from.1), at(to.0, to.1)], style))
        };
        let line = |colour: RGBAColor, width: u32| path((0, 0), (24, 0), colour.stroke_width(width));
        match style {
            LineStyle::Said => {
                path((0, 0), (4, 0), INK.mix(0.7).stroke_width(4))?;
                area.draw(&Circle::new(at(12, 0), 4 * PIXEL, INK.stroke_width(6)))?;
                path((20, 0), (24, 0), INK.mix(0.7).stroke_width(4))
            }
            LineStyle::Reference => path((2, 0), (22, 0), INK.mix(0.25).stroke_width(6 * PIXEL as u32)),
            LineStyle::Mean => {
                area.draw(&Rectangle::new([at(0, -6), at(24, 6)], INK.mix(BAND).filled()))?;
                line(INK.mix(1.0), LINE)
            }
            LineStyle::One => line(INK.mix(0.45), PIXEL as u32),
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
