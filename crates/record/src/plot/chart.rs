//! Means over named places, with error bars: the figures of papers.

use super::draw::{
    AXIS, Area, BAND, COLOURS, DrawError, GRID, INK, LEGEND_CHARACTERS, LEGEND_LINE, LEGEND_WIDTH, MARGIN,
    PANEL_HEIGHT, PIXEL, TIME_TITLE_HEIGHT, TITLE_HEIGHT, WIDTH, X_LABELS_HEIGHT, Y_LABELS_WIDTH, in_pixels, range,
    shortened, style, text, tick, wrapped,
};
use super::{Figure, PlotError};
use plotters::prelude::*;

/// A figure of a paper, and who says what.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows, fit for a file name.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// What the places are.
    pub x_title: String,
    /// What the values are, with their unit.
    pub y_title: String,
    /// What stands below each place.
    pub places: Vec<String>,
    /// Whether the vertical axis begins at zero.
    pub from_zero: bool,
    /// What each style means.
    pub styles: Vec<(LineStyle, String)>,
    /// In the order of drawing.
    pub lines: Vec<ChartLine>,
}

/// Up to so many places each has its name below it; of more, some do.
const NAMED_PLACES: usize = 40;
const X_LABELS: usize = 11;

/// One line of a [`Chart`].
#[derive(Clone, Debug, PartialEq)]
pub struct ChartLine {
    /// What its colour means; lines of one colour have one label.
    pub label: String,
    /// Which of the colours.
    pub colour: usize,
    /// Whose numbers they are.
    pub style: LineStyle,
    /// Its points, in the order of places.
    pub points: Vec<ChartPoint>,
}

/// A value at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartPoint {
    /// Which of the places, from 0.
    pub place: usize,
    /// The value.
    pub value: f64,
    /// Half the length of its error bar; 0 for none.
    pub error: f64,
}

/// Whose numbers a line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStyle {
    /// What somebody claims: hollow marks on broken lines.
    Said,
    /// What another program gave: pale and wide.
    Reference,
    /// What was measured here: lines with error bars.
    Measured,
    /// The mean of what was measured at many places: a line in a band.
    Mean,
    /// One run of it: pale and thin.
    One,
}

impl Chart {
    /// Draws it. Points whose place does not exist, or whose value is no number, are left out.
    ///
    /// # Errors
    /// [`PlotError::Draw`], which no input is known to cause.
    pub fn draw(&self) -> Result<Figure, PlotError> {
        let height = TITLE_HEIGHT + PANEL_HEIGHT + TIME_TITLE_HEIGHT;
        let mut svg = String::new();
        self.draw_on(&mut svg, height)
            .map_err(|error| PlotError::Draw { name: self.name.clone(), why: error.to_string() })?;
        Ok(Figure { name: self.name.clone(), svg: in_pixels(&svg, height) })
    }

    fn draw_on(&self, svg: &mut String, height: i32) -> Result<(), DrawError> {
        let root = SVGBackend::with_string(svg, ((WIDTH * PIXEL) as u32, (height * PIXEL) as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        text(&root, &shortened(&self.title, 90), (MARGIN, TITLE_HEIGHT / 2), 19)?;
        let part = |left: i32, width: i32| {
            let size = ((width * PIXEL) as u32, ((height - TITLE_HEIGHT) * PIXEL) as u32);
            root.clone().shrink((left * PIXEL, TITLE_HEIGHT * PIXEL), size)
        };
        self.draw_lines(&part(0, WIDTH - LEGEND_WIDTH))?;
        self.draw_legend(&part(WIDTH - LEGEND_WIDTH, LEGEND_WIDTH))?;
        root.present()
    }

    fn draw_lines(&self, area: &Area<'_>) -> Result<(), DrawError> {
        let lines: Vec<(&ChartLine, Vec<ChartPoint>)> =
            self.lines.iter().map(|line| (line, self.drawable(line))).collect();
        let ends = lines.iter().flat_map(|(_, points)| points).flat_map(|p| [p.value - p.error, p.value + p.error]);
        let zero = self.from_zero.then_some(0.0);
        let (low, high) = range(ends.chain(zero));
        let air = (high - low) * 0.06;
        let low = if self.from_zero { low } else { low - air };
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN * PIXEL)
            .margin_top(6 * PIXEL)
            .margin_bottom(4 * PIXEL)
            .set_label_area_size(LabelAreaPosition::Left, Y_LABELS_WIDTH * PIXEL)
            .set_label_area_size(LabelAreaPosition::Bottom, (X_LABELS_HEIGHT + TIME_TITLE_HEIGHT) * PIXEL)
            .build_cartesian_2d(-0.3..self.places.len() as f64 - 0.7, low..high + air)?;
        let place = |at: &f64| {
            let nearest = at.round();
            let known = (at - nearest).abs() < 1e-6 && nearest >= 0.0;
            known.then(|| self.places.get(nearest as usize)).flatten().cloned().unwrap_or_default()
        };
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(PIXEL as u32))
            .axis_style(AXIS.stroke_width(PIXEL as u32))
            .set_all_tick_mark_size(4 * PIXEL)
            .x_labels(if self.places.len() > NAMED_PLACES { X_LABELS } else { self.places.len() })
            .y_labels(7)
            .x_label_formatter(&place)
            .y_label_formatter(&tick)
            .x_desc(self.x_title.as_str())
            .y_desc(self.y_title.as_str())
            .label_style(style(13))
            .axis_desc_style(style(14))
            .draw()?;
        for (line, points) in &lines {
            let colour = COLOURS[line.colour % COLOURS.len()];
            let at: Vec<(f64, f64)> = points.iter().map(|point| (point.place as f64, point.value)).collect();
            match line.style {
                LineStyle::Reference => {
                    chart.draw_series([PathElement::new(at, colour.mix(0.25).stroke_width(6 * PIXEL as u32))])?;
                }
                LineStyle::Said => {
                    let dashes = colour.mix(0.7).stroke_width(PIXEL as u32);
                    chart.draw_series(DashedLineSeries::new(at.clone(), 3 * PIXEL, 4 * PIXEL, dashes))?;
                    let ring = colour.stroke_width(6);
                    chart.draw_series(at.into_iter().map(|point| Circle::new(point, 4 * PIXEL, ring)))?;
                }
                LineStyle::Measured => {
                    chart.draw_series([PathElement::new(at, colour.stroke_width(7))])?;
                    let bar = |point: &ChartPoint| {
                        let (low, high) = (point.value - point.error, point.value + point.error);
                        let at = point.place as f64;
                        ErrorBar::new_vertical(at, low, point.value, high, colour.filled(), 7 * PIXEL as u32)
                    };
                    chart.draw_series(points.iter().map(bar))?;
                }
                LineStyle::Mean => {
                    let edge =
                        |of: fn(&ChartPoint) -> f64| points.iter().map(move |point| (point.place as f64, of(point)));
                    let low = edge(|point| point.value - point.error);
                    let band: Vec<(f64, f64)> = low.chain(edge(|point| point.value + point.error).rev()).collect();
                    chart.draw_series([Polygon::new(band, colour.mix(BAND))])?;
                    chart.draw_series([PathElement::new(at, colour.stroke_width(7))])?;
                }
                LineStyle::One => {
                    chart.draw_series([PathElement::new(at, colour.mix(0.45).stroke_width(PIXEL as u32))])?;
                }
            }
        }
        Ok(())
    }

    fn drawable(&self, line: &ChartLine) -> Vec<ChartPoint> {
        let good = |point: &&ChartPoint| {
            point.place < self.places.len() && point.value.abs() <= 1e15 && (0.0..=1e15).contains(&point.error)
        };
        line.points.iter().filter(good).copied().collect()
    }

    /// A swatch for each colour, then one for each style.
    fn draw_legend(&self, area: &Area<'_>) -> Result<(), DrawError> {
        let at = |x: i32, y: i32| (x * PIXEL, y * PIXEL);
        let mut y = 6 + LEGEND_LINE / 2;
        let mut known: Vec<usize> = Vec::new();
        for line in &self.lines {
            if known.contains(&line.colour) {
                continue;
            }
            known.push(line.colour);
            let colour = COLOURS[line.colour % COLOURS.len()];
            area.draw(&PathElement::new(vec![at(0, y), at(24, y)], colour.stroke_width(7)))?;
            for words in wrapped(&line.label) {
                text(area, &words, (32, y), 13)?;
                y += LEGEND_LINE - 4;
            }
            y += 4;
        }
        y += LEGEND_LINE / 2;
        for (style, meaning) in &self.styles {
            match style {
                LineStyle::Said => {
                    area.draw(&PathElement::new(vec![at(0, y), at(4, y)], INK.mix(0.7).stroke_width(4)))?;
                    area.draw(&Circle::new(at(12, y), 4 * PIXEL, INK.stroke_width(6)))?;
                    area.draw(&PathElement::new(vec![at(20, y), at(24, y)], INK.mix(0.7).stroke_width(4)))?;
                }
                LineStyle::Reference => {
                    let wide = INK.mix(0.25).stroke_width(6 * PIXEL as u32);
                    area.draw(&PathElement::new(vec![at(2, y), at(22, y)], wide))?;
                }
                LineStyle::Mean => {
                    let corners = [(at(0, y - 6)), (at(24, y + 6))];
                    area.draw(&Rectangle::new(corners, INK.mix(BAND).filled()))?;
                    area.draw(&PathElement::new(vec![at(0, y), at(24, y)], INK.stroke_width(7)))?;
                }
                LineStyle::One => {
                    let thin = INK.mix(0.45).stroke_width(PIXEL as u32);
                    area.draw(&PathElement::new(vec![at(0, y), at(24, y)], thin))?;
                }
                LineStyle::Measured => {
                    area.draw(&PathElement::new(vec![at(0, y), at(24, y)], INK.stroke_width(7)))?;
                    for (from, to) in [((12, -6), (12, 6)), ((9, -6), (15, -6)), ((9, 6), (15, 6))] {
                        let bar = vec![at(from.0, y + from.1), at(to.0, y + to.1)];
                        area.draw(&PathElement::new(bar, INK.stroke_width(PIXEL as u32)))?;
                    }
                }
            }
            for words in wrapped(&shortened(meaning, 2 * LEGEND_CHARACTERS)) {
                text(area, &words, (32, y), 13)?;
                y += LEGEND_LINE - 4;
            }
            y += 4;
        }
        Ok(())
    }
}
