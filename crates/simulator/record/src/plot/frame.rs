//! The common frame of all figures: size, title, areas of plot and legend, colors and text styles.

use super::legend::Legend;
use super::style::{LegendPlace, Style};
use super::{Figure, PlotError};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Units in an SVG pixel. A unit is a quarter of a pixel because the drawing library rounds to whole units.
pub(super) const PIXEL: i32 = 4;

// Lengths in px with text of 13 px; they scale with the text.
const TITLE_HEIGHT: i32 = 48;
pub(super) const TIME_TITLE_HEIGHT: i32 = 26;
const LEGEND_WIDTH: i32 = 216;
pub(super) const Y_LABELS_WIDTH: i32 = 68;
pub(super) const X_LABELS_HEIGHT: i32 = 24;
pub(super) const MARGIN: i32 = 14;
const FONT_SIZE: f64 = 13.0;

/// Maximum width of a legend at the right, in percent of the figure's width.
const MAX_LEGEND_PERCENT: i32 = 35;

/// Okabe and Ito's colors (2008), with gray instead of yellow, which is too pale for lines on white.
pub(super) const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(140, 140, 140),
];
pub(super) const INK: RGBColor = RGBColor(34, 34, 34);
pub(super) const AXIS: RGBColor = RGBColor(102, 102, 102);
pub(super) const GRID: RGBColor = RGBColor(230, 230, 230);
/// Opacity of bands.
pub(super) const BAND: f64 = 0.18;
/// Stroke width of lines, in units (1.75 px).
pub(super) const LINE: u32 = 7;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type DrawError = DrawingAreaErrorKind<std::io::Error>;

#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) style: &'a Style,
    /// Width of the figure, in units.
    pub(super) width: i32,
    /// Height of the figure, in units, if the style sets it.
    height: Option<i32>,
    /// Size of labels, in px.
    font_size: f64,
}

/// Converts a width or height of a figure in px to units. Values outside 200 to 4000 px are clamped; NaN is 200 px.
fn in_units(pixels: f64) -> i32 {
    let pixels = if pixels.is_nan() { 200.0 } else { pixels };
    (pixels.clamp(200.0, 4000.0) * f64::from(PIXEL)).round() as i32
}

impl<'a> Frame<'a> {
    pub(super) fn new(style: &'a Style) -> Self {
        let (width, height) = (in_units(style.width), style.height.map(in_units));
        let max_size = f64::from(width.min(height.unwrap_or(width)) / PIXEL) / 20.0;
        Self { style, width, height, font_size: style.font_size.min(max_size).max(6.0) }
    }

    /// Converts a length in px at text of 13 px to units at the actual text size.
    pub(super) fn px(&self, pixels: i32) -> i32 {
        (f64::from(pixels * PIXEL) * self.font_size / FONT_SIZE).round() as i32
    }

    pub(super) fn at(&self, (x, y): (i32, i32)) -> (i32, i32) {
        (self.px(x), self.px(y))
    }

    pub(super) fn text_style(&self, pixels: i32) -> TextStyle<'static> {
        // The SVG backend divides by 1.24.
        ("sans-serif", f64::from(self.px(pixels)) * 1.24).into_font().color(&INK)
    }

    /// Draws a text that starts at a point and is centered vertically.
    pub(super) fn text(&self, area: &Area<'_>, text: &str, at: (i32, i32), pixels: i32) -> Result<(), DrawError> {
        area.draw(&Text::new(printable(text), at, self.text_style(pixels).pos(Pos::new(HPos::Left, VPos::Center))))
    }

    pub(super) fn characters(&self, width: i32, pixels: i32) -> usize {
        // The mean width of a character is 54 % of the font size.
        (100 * width / (54 * self.px(pixels)).max(1)).max(4) as usize
    }

    /// Returns the approximate width of a text, in units.
    pub(super) fn width_of(&self, characters: usize, pixels: i32) -> i32 {
        (characters.min(1000) as i32 * 54 * self.px(pixels) + 99) / 100
    }

    /// Returns the width of the labels and title of a vertical axis whose longest label has `longest` characters, in
    /// units.
    pub(super) fn y_labels_width(&self, longest: usize) -> i32 {
        self.px(Y_LABELS_WIDTH).max(self.width_of(longest, 12) + self.px(26))
    }

    /// Returns the maximum number of labeled ticks on the horizontal axis of a plot of this width.
    pub(super) fn x_ticks(&self, width: i32) -> usize {
        let available = width - 2 * self.px(MARGIN) - self.px(Y_LABELS_WIDTH);
        (available / self.px(58)).clamp(2, 11) as usize
    }

    /// Returns the maximum number of labeled ticks on the vertical axis of a plot of this height.
    pub(super) fn y_ticks(&self, height: i32) -> usize {
        (height / self.px(30)).clamp(2, 7) as usize
    }

    /// Returns the largest text size up to `pixels` with which a text fits into a length, at least 8.
    pub(super) fn fitting(&self, text: &str, length: i32, pixels: i32) -> i32 {
        let needed = self.width_of(text.chars().count(), pixels);
        if needed <= length { pixels } else { (pixels * length / needed).max(8) }
    }

    pub(super) fn title_height(&self) -> i32 {
        self.px(if self.style.title.as_deref() == Some("") { MARGIN } else { TITLE_HEIGHT })
    }

    pub(super) fn legend_width(&self, legend: &Legend<'_>) -> i32 {
        match self.style.legend {
            LegendPlace::Right if !legend.is_empty() => {
                self.px(LEGEND_WIDTH).min(self.width * MAX_LEGEND_PERCENT / 100)
            }
            _ => 0,
        }
    }

    /// Draws a figure. `own_height` is the default height of its plots and `min_height` the minimum, in units.
    pub(super) fn figure(
        &self,
        name: &str,
        title: &str,
        (own_height, min_height): (i32, i32),
        legend: &Legend<'_>,
        plot: impl FnOnce(&Area<'_>, Option<&Area<'_>>) -> Result<(), DrawError>,
    ) -> Result<Figure, PlotError> {
        let below = if self.style.legend == LegendPlace::Below { legend.height_in_rows(self) } else { 0 };
        let around = self.title_height() + below;
        let height = self.height.map_or(own_height + around, |height| height.max(min_height + around));
        let mut svg = String::new();
        let draw = |svg: &mut String| {
            let root = SVGBackend::with_string(svg, (self.width as u32, height as u32)).into_drawing_area();
            root.fill(&WHITE)?;
            let title = self.style.title.as_deref().unwrap_or(title);
            if !title.is_empty() {
                let fitting = shortened(title, self.characters(self.width - 2 * self.px(MARGIN), 19).max(4));
                self.text(&root, &fitting, (self.px(MARGIN), self.title_height() / 2), 19)?;
            }
            let legend_width = self.legend_width(legend);
            let part = |x: i32, y: i32, width: i32, height: i32| {
                root.clone().shrink((x, y), (width.max(0) as u32, height.max(0) as u32))
            };
            let (top, plots) = (self.title_height(), height - around);
            let column = (legend_width > 0).then(|| part(self.width - legend_width, top, legend_width, plots));
            plot(&part(0, top, self.width - legend_width, plots), column.as_ref())?;
            if below > 0 {
                legend.draw_in_rows(self, &part(0, top + plots, self.width, below))?;
            }
            root.present()
        };
        draw(&mut svg).map_err(|error| PlotError::Draw { name: name.to_owned(), reason: error.to_string() })?;
        Ok(Figure { name: name.to_owned(), svg: in_pixels(&svg, self.width, height) })
    }
}

/// Replaces characters that XML cannot represent, even escaped (XML 1.0 section 2.2).
pub(super) fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'), "?")
}

/// Returns the smallest and the largest value, as a range that is never empty.
pub(super) fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low < high {
        (low, high)
    } else if low.is_finite() {
        (low, low + 1.0)
    } else {
        (0.0, 1.0)
    }
}

pub(super) fn shortened(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max.saturating_sub(3)).chain("...".chars()).collect()
}

/// Replaces the first tag, whose size is in quarter pixels, by one with the size in pixels and round line joins.
fn in_pixels(svg: &str, width: i32, height: i32) -> String {
    let body = svg.split_once('>').map_or("", |(_, body)| body);
    let pixels = |units: i32| f64::from(units) / f64::from(PIXEL);
    format!(
        "<svg width=\"{}\" height=\"{}\" viewBox=\"0 0 {width} {height}\" stroke-linejoin=\"round\" \
         stroke-linecap=\"round\" xmlns=\"http://www.w3.org/2000/svg\">{body}",
        pixels(width),
        pixels(height),
    )
}
