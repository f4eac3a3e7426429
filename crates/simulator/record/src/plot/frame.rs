//! What all pictures have in common: paper, title, and room for a plot and its legend; lengths, colours, words.

use super::legend::Legend;
use super::style::{LegendPlace, Style};
use super::{Figure, PlotError};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The drawing library rounds to whole units, so a unit is a quarter of an SVG pixel.
pub(super) const PIXEL: i32 = 4;

// Lengths in px where words have 13 px; they grow with the words.
const TITLE_HEIGHT: i32 = 48;
pub(super) const TIME_TITLE_HEIGHT: i32 = 26;
const LEGEND_WIDTH: i32 = 216;
pub(super) const Y_LABELS_WIDTH: i32 = 68;
pub(super) const X_LABELS_HEIGHT: i32 = 24;
pub(super) const MARGIN: i32 = 14;
const FONT_SIZE: i32 = 13;

/// Of a picture's whole width, what a legend beside it has at most, in percent.
const LEGEND_PERCENT: i32 = 35;

/// Okabe and Ito's colours (2008), with grey for their yellow, which is too pale for a line on white.
pub(super) const COLOURS: [RGBColor; 8] = [
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
pub(super) const BAND: f64 = 0.18;
/// Of a line, in units: 1.75 px.
pub(super) const LINE: u32 = 7;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type DrawError = DrawingAreaErrorKind<std::io::Error>;

#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) style: &'a Style,
    /// In units.
    pub(super) width: i32,
    /// In px.
    font_size: i32,
}

impl<'a> Frame<'a> {
    pub(super) fn new(style: &'a Style) -> Self {
        let bounded = |pixels: u32| pixels.clamp(200, 4000) as i32;
        let (width, height) = (bounded(style.width), style.height.map(bounded));
        let most = width.min(height.unwrap_or(width)) / 20;
        Self { style, width: width * PIXEL, font_size: (style.font_size.min(4000) as i32).min(most).max(6) }
    }

    /// A length that grows with the words, in units.
    pub(super) fn px(&self, pixels: i32) -> i32 {
        (pixels * PIXEL * self.font_size + FONT_SIZE / 2).div_euclid(FONT_SIZE)
    }

    pub(super) fn at(&self, (x, y): (i32, i32)) -> (i32, i32) {
        (self.px(x), self.px(y))
    }

    pub(super) fn words(&self, pixels: i32) -> TextStyle<'static> {
        // The SVG backend divides by 1.24.
        ("sans-serif", f64::from(self.px(pixels)) * 1.24).into_font().color(&INK)
    }

    /// Words that start at a point and are centred on its height.
    pub(super) fn text(&self, area: &Area<'_>, words: &str, at: (i32, i32), pixels: i32) -> Result<(), DrawError> {
        area.draw(&Text::new(printable(words), at, self.words(pixels).pos(Pos::new(HPos::Left, VPos::Center))))
    }

    pub(super) fn characters(&self, width: i32, pixels: i32) -> usize {
        // A character is little more than half as wide as it is high.
        (100 * width / (54 * self.px(pixels)).max(1)).max(4) as usize
    }

    /// About how wide so many characters are.
    pub(super) fn width_of(&self, characters: usize, pixels: i32) -> i32 {
        (characters.min(1000) as i32 * 54 * self.px(pixels) + 99) / 100
    }

    /// What the numbers beside a plot and its title there take, if the longest has so many characters.
    pub(super) fn y_labels_width(&self, longest: usize) -> i32 {
        self.px(Y_LABELS_WIDTH).max(self.width_of(longest, 12) + self.px(26))
    }

    /// How many ticks a horizontal axis of a plot so wide has room for, labels and all.
    pub(super) fn x_ticks(&self, width: i32) -> usize {
        let room = width - 2 * self.px(MARGIN) - self.px(Y_LABELS_WIDTH);
        (room / self.px(58)).clamp(2, 11) as usize
    }

    /// How many ticks a vertical axis of a plot so high has room for.
    pub(super) fn y_ticks(&self, height: i32) -> usize {
        (height / self.px(30)).clamp(2, 7) as usize
    }

    /// This size, or a smaller one in which the words fit into a length.
    pub(super) fn fitting(&self, words: &str, length: i32, pixels: i32) -> i32 {
        let needed = self.width_of(words.chars().count(), pixels);
        if needed <= length { pixels } else { (pixels * length / needed).max(8) }
    }

    pub(super) fn title_height(&self) -> i32 {
        self.px(if self.style.title.as_deref() == Some("") { MARGIN } else { TITLE_HEIGHT })
    }

    pub(super) fn legend_width(&self, legend: &Legend<'_>) -> i32 {
        match self.style.legend {
            LegendPlace::Beside if !legend.is_empty() => self.px(LEGEND_WIDTH).min(self.width * LEGEND_PERCENT / 100),
            _ => 0,
        }
    }

    /// Draws a picture. `own_height` is that of its plots, in units; `lowest` what they need at least.
    pub(super) fn figure(
        &self,
        name: &str,
        title: &str,
        (own_height, lowest): (i32, i32),
        legend: &Legend<'_>,
        plot: impl FnOnce(&Area<'_>, Option<&Area<'_>>) -> Result<(), DrawError>,
    ) -> Result<Figure, PlotError> {
        let below = if self.style.legend == LegendPlace::Below { legend.height_in_rows(self) } else { 0 };
        let around = self.title_height() + below;
        let height = self
            .style
            .height
            .map_or(own_height + around, |height| (height.clamp(200, 4000) as i32 * PIXEL).max(lowest + around));
        let mut svg = String::new();
        let draw = |svg: &mut String| {
            let root = SVGBackend::with_string(svg, (self.width as u32, height as u32)).into_drawing_area();
            root.fill(&WHITE)?;
            let title = self.style.title.as_deref().unwrap_or(title);
            if !title.is_empty() {
                let fitting = shortened(title, self.characters(self.width - 2 * self.px(MARGIN), 19).max(4));
                self.text(&root, &fitting, (self.px(MARGIN), self.title_height() / 2), 19)?;
            }
            let beside = self.legend_width(legend);
            let part = |x: i32, y: i32, width: i32, height: i32| {
                root.clone().shrink((x, y), (width.max(0) as u32, height.max(0) as u32))
            };
            let (top, plots) = (self.title_height(), height - around);
            let column = (beside > 0).then(|| part(self.width - beside, top, beside, plots));
            plot(&part(0, top, self.width - beside, plots), column.as_ref())?;
            if below > 0 {
                legend.draw_in_rows(self, &part(0, top + plots, self.width, below))?;
            }
            root.present()
        };
        draw(&mut svg).map_err(|error| PlotError::Draw { name: name.to_owned(), why: error.to_string() })?;
        Ok(Figure { name: name.to_owned(), svg: in_pixels(&svg, self.width, height) })
    }
}

/// XML has no way to write some characters, escaped or not (XML 1.0 section 2.2).
pub(super) fn printable(words: &str) -> String {
    words.replace(|c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'), "?")
}

/// From the smallest to the largest, never empty.
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

pub(super) fn shortened(words: &str, most: usize) -> String {
    if words.chars().count() <= most {
        return words.to_owned();
    }
    words.chars().take(most.saturating_sub(3)).chain("...".chars()).collect()
}

/// The first tag says quarter pixels; the picture's size is in pixels, and corners are round as a drawn curve's.
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
