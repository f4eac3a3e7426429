//! Heat maps: a value over two parameters as color, and as text where it fits.

use super::axis::{MAX_VALUE, XAxis, tick_label};
use super::frame::{
    AXIS, Area, DrawError, Frame, INK, MARGIN, PIXEL, TIME_TITLE_HEIGHT, X_LABELS_HEIGHT, printable, range, shortened,
};
use super::legend::Legend;
use super::style::{LegendPlace, Style};
use super::{Figure, PlotError, Sweep};
use crate::Estimate;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Heat map: values over two parameters, drawn as colors.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// Name of the figure, usable as a file name.
    pub name: String,
    /// Title above the figure, with the unit of the values.
    pub title: String,
    /// Title of the horizontal axis.
    pub x_title: String,
    /// Title of the vertical axis.
    pub y_title: String,
    /// Values of the parameter on the horizontal axis.
    pub columns: Vec<String>,
    /// Values of the parameter on the vertical axis, the lowest first.
    pub rows: Vec<String>,
    /// Value of each row and column. `None`, NaN and magnitudes above 10^15 have no color.
    pub cells: Vec<Vec<Option<f64>>>,
}

/// Height of the map with its labels, in px.
const MAP_HEIGHT: i32 = 346;
/// Width of the title of the vertical axis, in px with text of 13 px; the same holds for the other lengths.
const Y_TITLE: i32 = 12;
/// Minimum height of a row.
const MIN_ROW: i32 = 16;
const SCALE_WIDTH: i32 = 14;
/// Space right of the map for the scale and its labels, and for its title.
const SCALE_SPACE: i32 = 84;
const SCALE_TITLE: i32 = 22;
/// Number of colors on the scale.
const STEPS: i32 = 64;

/// Colors of the smallest, the middle and the largest value: ColorBrewer's sequential scheme "Blues", whose lightness
/// falls steadily, so that it can be read in grayscale.
const COLORS: [[f64; 3]; 3] = [[247.0, 251.0, 255.0], [107.0, 174.0, 214.0], [8.0, 48.0, 107.0]];

/// Returns the color of a part of the range, from 0 to 1.
fn color(part: f64) -> RGBColor {
    let (from, to, part) = if part < 0.5 { (0, 1, 2.0 * part) } else { (1, 2, 2.0 * part - 1.0) };
    let mixed = |channel: usize| {
        let (from, to): (f64, f64) = (COLORS[from][channel], COLORS[to][channel]);
        (from + (to - from) * part).round() as u8
    };
    RGBColor(mixed(0), mixed(1), mixed(2))
}

impl Sweep {
    /// Returns the heat map of the means over the runs: the parameter on the horizontal axis, the groups on the
    /// vertical axis.
    #[must_use]
    pub fn heat_map(&self) -> HeatMap {
        let mut values: Vec<f64> = self.groups.iter().flat_map(|group| &group.points).map(|point| point.x).collect();
        values.retain(|value| value.abs() <= MAX_VALUE);
        values.sort_by(f64::total_cmp);
        values.dedup();
        let column = |value: &f64| match &self.x {
            XAxis::Places(names) => names.get(*value as usize).cloned().unwrap_or_default(),
            XAxis::Numbers | XAxis::Logarithm => tick_label(*value),
        };
        let mean = |group: &super::Group, value: f64| {
            let point = group.points.iter().find(|point| point.x == value)?;
            Estimate::of(&point.drawable()).map(|estimate| estimate.mean)
        };
        HeatMap {
            name: self.name.clone(),
            // Its color is the metric.
            title: self.y_title.clone(),
            x_title: self.x_title.clone(),
            y_title: self.heading.clone(),
            columns: values.iter().map(column).collect(),
            rows: self.groups.iter().map(|group| group.label.clone()).collect(),
            cells: self.groups.iter().map(|group| values.iter().map(|value| mean(group, *value)).collect()).collect(),
        }
    }
}

/// Lengths of a map, in units.
struct Layout {
    left: i32,
    top: i32,
    width: i32,
    height: i32,
    /// Smallest and largest value.
    values: (f64, f64),
}

impl HeatMap {
    /// Draws the map.
    ///
    /// # Errors
    /// [`PlotError::Draw`]; no input is known to cause it.
    pub fn draw(&self, style: &Style) -> Result<Figure, PlotError> {
        let frame = Frame::new(style);
        let named = |labels: &[String]| labels.iter().map(|label| style.named(label)).collect();
        let y_title = style.named(&self.y_title);
        let map = Self { columns: named(&self.columns), rows: named(&self.rows), y_title, ..self.clone() };
        let below = frame.px(X_LABELS_HEIGHT + TIME_TITLE_HEIGHT);
        let min_height = frame.px(MIN_ROW) * self.rows.len().clamp(1, 200) as i32 + below;
        let own_height = (MAP_HEIGHT * PIXEL + below).max(min_height);
        frame.figure(&self.name, &self.title, (own_height, min_height), &Legend::default(), |area, _| {
            map.draw_map(&frame, area)
        })
    }

    fn values(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        self.cells.iter().enumerate().flat_map(|(row, cells)| {
            let drawable = |value: &f64| value.abs() <= MAX_VALUE;
            cells.iter().enumerate().filter_map(move |(column, cell)| Some((row, column, cell.filter(drawable)?)))
        })
    }

    fn draw_map(&self, frame: &Frame<'_>, area: &Area<'_>) -> Result<(), DrawError> {
        let (width, height) = area.dim_in_pixel();
        let longest = self.rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
        let labels = frame.width_of(longest + 1, 13).min(width as i32 / 3);
        let left = frame.px(MARGIN + Y_TITLE) + labels + frame.px(6);
        let has_scale = frame.style.legend != LegendPlace::Hidden;
        // Without a title above the map, the scale has it.
        let title = frame.style.title.as_ref().filter(|title| title.is_empty()).map(|_| self.title.as_str());
        let title = title.filter(|_| has_scale);
        let right = match title {
            Some(_) => frame.px(SCALE_SPACE + SCALE_TITLE),
            None if has_scale => frame.px(SCALE_SPACE),
            None => frame.px(MARGIN),
        };
        let top = frame.px(6);
        let layout = Layout {
            left,
            top,
            width: (width as i32 - left - right).max(1),
            height: (height as i32 - top - frame.px(X_LABELS_HEIGHT + TIME_TITLE_HEIGHT)).max(1),
            values: range(self.values().map(|(.., value)| value)),
        };
        self.draw_cells(frame, area, &layout)?;
        self.draw_labels(frame, area, &layout, width as i32, height as i32)?;
        if let Some(title) = title {
            let at = (width as i32 - frame.px(SCALE_TITLE / 2), layout.top + layout.height / 2);
            draw_rotated(frame, area, title, at, layout.height)?;
        }
        if has_scale { draw_scale(frame, area, &layout) } else { Ok(()) }
    }

    /// Returns the corners of a cell.
    fn cell(&self, layout: &Layout, row: usize, column: usize) -> [(i32, i32); 2] {
        let edge = |of: i32, number: usize, count: usize| of * number as i32 / count.max(1) as i32;
        let (rows, columns) = (self.rows.len(), self.columns.len());
        let x = |number: usize| layout.left + edge(layout.width, number, columns);
        // The first row is the lowest.
        let y = |number: usize| layout.top + layout.height - edge(layout.height, number, rows);
        [(x(column), y(row + 1)), (x(column + 1), y(row))]
    }

    fn draw_cells(&self, frame: &Frame<'_>, area: &Area<'_>, layout: &Layout) -> Result<(), DrawError> {
        let (low, high) = layout.values;
        let label = |value: f64| tick_label(format!("{value:.2e}").parse().unwrap_or(value));
        let longest = self.values().map(|(.., value)| label(value).chars().count()).max().unwrap_or(0);
        for (row, column, value) in self.values() {
            let part = (value - low) / (high - low);
            let corners = self.cell(layout, row, column);
            area.draw(&Rectangle::new(corners, color(part).filled()))?;
            let [(left, top), (right, bottom)] = corners;
            if frame.width_of(longest + 1, 12) <= right - left && frame.px(MIN_ROW) <= bottom - top {
                let ink = if part > 0.55 { WHITE } else { INK };
                let style = frame.text_style(12).color(&ink).pos(Pos::new(HPos::Center, VPos::Center));
                area.draw(&Text::new(label(value), ((left + right) / 2, (top + bottom) / 2), style))?;
            }
        }
        let frame_of_map = [(layout.left, layout.top), (layout.left + layout.width, layout.top + layout.height)];
        area.draw(&Rectangle::new(frame_of_map, AXIS.stroke_width(PIXEL as u32)))
    }

    fn draw_labels(
        &self,
        frame: &Frame<'_>,
        area: &Area<'_>,
        layout: &Layout,
        width: i32,
        height: i32,
    ) -> Result<(), DrawError> {
        let text = |words: &str, at: (i32, i32), pixels: i32, position: HPos| {
            area.draw(&Text::new(printable(words), at, frame.text_style(pixels).pos(Pos::new(position, VPos::Center))))
        };
        let longest = self.columns.iter().map(|column| column.chars().count()).max().unwrap_or(0);
        let column_width = (layout.width / self.columns.len().max(1) as i32).max(1);
        // Labels that are much longer than a column are shortened, others are drawn at each n-th column.
        let step = ((frame.width_of(longest.min(12) + 1, 13) - 1) / column_width + 1).max(1);
        let characters = frame.characters(column_width * step, 13);
        let y = layout.top + layout.height + frame.px(X_LABELS_HEIGHT / 2 + 2);
        for (column, label) in self.columns.iter().enumerate().step_by(step as usize) {
            let [(left, _), (right, _)] = self.cell(layout, 0, column);
            text(&shortened(label, characters), ((left + right) / 2, y), 13, HPos::Center)?;
        }
        let row_height = (layout.height / self.rows.len().max(1) as i32).max(1);
        let step = ((frame.px(MIN_ROW) - 1) / row_height + 1).max(1);
        let characters = frame.characters(layout.left - frame.px(MARGIN + Y_TITLE + 6), 13);
        for (row, label) in self.rows.iter().enumerate().step_by(step as usize) {
            let [(_, top), (_, bottom)] = self.cell(layout, row, 0);
            let at = (layout.left - frame.px(6), (top + bottom) / 2);
            text(&shortened(label, characters), at, 13, HPos::Right)?;
        }
        let x_title = frame.style.x_title.as_deref().unwrap_or(&self.x_title);
        let y_title = frame.style.y_title.as_deref().unwrap_or(&self.y_title);
        let middle = layout.left + layout.width / 2;
        let size = frame.fitting(x_title, width.min(2 * middle), 14);
        text(x_title, (middle, height - frame.px(TIME_TITLE_HEIGHT / 2)), size, HPos::Center)?;
        draw_rotated(frame, area, y_title, (frame.px(MARGIN), layout.top + layout.height / 2), layout.height)
    }
}

/// Draws a text from bottom to top, centered at a point.
fn draw_rotated(frame: &Frame<'_>, area: &Area<'_>, words: &str, at: (i32, i32), length: i32) -> Result<(), DrawError> {
    let style = frame.text_style(frame.fitting(words, length, 14)).transform(FontTransform::Rotate270);
    area.draw(&Text::new(printable(words), at, style.pos(Pos::new(HPos::Center, VPos::Center))))
}

/// Draws the scale of colors right of the map, with the smallest, the middle and the largest value.
fn draw_scale(frame: &Frame<'_>, area: &Area<'_>, layout: &Layout) -> Result<(), DrawError> {
    let left = layout.left + layout.width + frame.px(MARGIN);
    let right = left + frame.px(SCALE_WIDTH);
    let y = |step: i32| layout.top + layout.height - layout.height * step / STEPS;
    for step in 0..STEPS {
        let part = f64::from(step) / f64::from(STEPS - 1);
        // Each color covers the rest of the previous one, so that there are no seams.
        area.draw(&Rectangle::new([(left, layout.top), (right, y(step))], color(part).filled()))?;
    }
    let (low, high) = layout.values;
    for (part, at) in [(0.0, layout.height), (0.5, layout.height / 2), (1.0, 0)] {
        let value = low + (high - low) * part;
        let value = format!("{value:.2e}").parse().unwrap_or(value);
        // The outer labels are inside the ends of the scale.
        let inside = frame.px(6) * (1 - 2 * at / layout.height.max(1)).signum();
        let position = Pos::new(HPos::Left, VPos::Center);
        let at = (right + frame.px(6), layout.top + at + if part == 0.5 { 0 } else { inside });
        area.draw(&Text::new(tick_label(value), at, frame.text_style(12).pos(position)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(cells: Vec<Vec<Option<f64>>>) -> HeatMap {
        let text = |text: &str| text.to_owned();
        HeatMap {
            name: text("map"),
            title: text("Delay (ms)"),
            x_title: text("Rate (Mb/s)"),
            y_title: text("queue"),
            columns: ["1", "2", "4"].map(str::to_owned).to_vec(),
            rows: vec![text("droptail"), text("red")],
            cells,
        }
    }

    #[test]
    fn each_value_is_a_color_and_a_text() {
        let cells = vec![vec![Some(10.0), Some(20.5), None], vec![Some(30.0), Some(f64::NAN), Some(1e300)]];
        let style = Style { names: vec![("red".to_owned(), "RED".to_owned())], ..Style::default() };
        let svg = map(cells).draw(&style).unwrap().svg;
        let texts: Vec<&str> = svg.lines().filter(|line| !line.starts_with('<')).collect();
        for text in ["Delay (ms)", "Rate (Mb/s)", "queue", "droptail", "RED", "4", "10", "20.5", "30"] {
            assert!(texts.contains(&text), "{text}: {texts:?}");
        }
        // The smallest and the largest value, each also at an end of the scale.
        assert_eq!([svg.matches("#F7FBFF").count(), svg.matches("#08306B").count()], [2, 2]);
    }

    #[test]
    fn lightness_falls_with_the_value() {
        let lightness = |part: f64| {
            let RGBColor(red, green, blue) = color(part);
            0.2126 * f64::from(red) + 0.7152 * f64::from(green) + 0.0722 * f64::from(blue)
        };
        let all: Vec<f64> = (0..=20).map(|step| lightness(f64::from(step) / 20.0)).collect();
        assert!(all.windows(2).all(|pair| pair[1] < pair[0] - 1.0), "{all:?}");
    }

    #[test]
    fn any_map_can_be_drawn() {
        for cells in [vec![], vec![vec![]], vec![vec![None; 3]; 2], vec![vec![Some(0.0); 3]; 2]] {
            for width in [200.0, 960.0] {
                let figure =
                    map(cells.clone()).draw(&Style { width, height: Some(200.0), ..Style::default() }).unwrap();
                assert!(figure.to_png(1.0).is_ok() && figure.to_pdf().is_ok());
            }
        }
        let empty = HeatMap { columns: Vec::new(), rows: Vec::new(), ..map(Vec::new()) };
        assert!(empty.draw(&Style::default()).is_ok());
    }
}
