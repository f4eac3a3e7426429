//! The layout: title above, panels below one another, the legend in a column beside them.

use super::curves::{Drawn, thinned};
use super::{Figure, Panel, PlotError, Run};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The drawing library rounds to whole units, so a unit is a quarter of an SVG pixel.
pub(super) const PIXEL: i32 = 4;

pub(super) const WIDTH: i32 = 960;
pub(super) const TITLE_HEIGHT: i32 = 48;
/// Of a panel, without the title of the time axis, which only the lowest has.
pub(super) const PANEL_HEIGHT: i32 = 346;
/// Of several panels, each.
const SMALL_PANEL_HEIGHT: i32 = 216;
pub(super) const TIME_TITLE_HEIGHT: i32 = 26;
pub(super) const LEGEND_WIDTH: i32 = 216;
pub(super) const LEGEND_LINE: i32 = 22;
/// What fits beside a swatch.
pub(super) const LEGEND_CHARACTERS: usize = 26;
pub(super) const Y_LABELS_WIDTH: i32 = 68;
pub(super) const X_LABELS_HEIGHT: i32 = 24;
pub(super) const MARGIN: i32 = 14;

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
/// How opaque a band is.
pub(super) const BAND: f64 = 0.18;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type DrawError = DrawingAreaErrorKind<std::io::Error>;

pub(super) fn figure(
    name: &'static str,
    title: &str,
    runs: &[Run<'_>],
    panels: Vec<Panel>,
) -> Result<Figure, PlotError> {
    let panel_height = if panels.len() > 1 { SMALL_PANEL_HEIGHT } else { PANEL_HEIGHT };
    let height = TITLE_HEIGHT + panel_height * panels.len() as i32 + TIME_TITLE_HEIGHT;
    let title = match runs {
        [only] => format!("{title}: {}", shortened(only.label, 60)),
        _ => title.to_owned(),
    };
    let mut svg = String::new();
    draw(&mut svg, height, panel_height, &title, &panels)
        .map_err(|error| PlotError::Draw { name: name.to_owned(), why: error.to_string() })?;
    Ok(Figure { name: name.to_owned(), svg: in_pixels(&svg, height) })
}

fn draw(svg: &mut String, height: i32, panel_height: i32, title: &str, panels: &[Panel]) -> Result<(), DrawError> {
    let root = SVGBackend::with_string(svg, ((WIDTH * PIXEL) as u32, (height * PIXEL) as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    text(&root, title, (MARGIN, TITLE_HEIGHT / 2), 19)?;
    let time = range(panels.iter().flat_map(|panel| &panel.drawn).flat_map(Drawn::all_points).map(|point| point.0));
    let mut known: Vec<&str> = Vec::new();
    for (index, panel) in panels.iter().enumerate() {
        let is_last = index + 1 == panels.len();
        let top = TITLE_HEIGHT + panel_height * index as i32;
        let own_height = panel_height + if is_last { TIME_TITLE_HEIGHT } else { 0 };
        let part = |left: i32, width: i32| {
            root.clone().shrink((left * PIXEL, top * PIXEL), ((width * PIXEL) as u32, (own_height * PIXEL) as u32))
        };
        draw_panel(&part(0, WIDTH - LEGEND_WIDTH), panel, time, is_last)?;
        // Panels that mean the same by their colours have one legend.
        let labels: Vec<&str> = panel.drawn.iter().map(Drawn::label).collect();
        draw_legend(&part(WIDTH - LEGEND_WIDTH, LEGEND_WIDTH), panel, labels != known)?;
        known = labels;
    }
    root.present()
}

fn draw_panel(area: &Area<'_>, panel: &Panel, (from, to): (f64, f64), is_last: bool) -> Result<(), DrawError> {
    let values = panel.drawn.iter().flat_map(Drawn::all_points).map(|point| point.1 / panel.scale);
    let (low, high) = range(values.chain([0.0]));
    let time_title_height = if is_last { TIME_TITLE_HEIGHT } else { 0 };
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN * PIXEL)
        .margin_top(6 * PIXEL)
        .margin_bottom(4 * PIXEL)
        .set_label_area_size(LabelAreaPosition::Left, Y_LABELS_WIDTH * PIXEL)
        .set_label_area_size(LabelAreaPosition::Bottom, (X_LABELS_HEIGHT + time_title_height) * PIXEL)
        // Air above the highest value.
        .build_cartesian_2d(from..to, low..high + (high - low) * 0.06)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.stroke_width(PIXEL as u32))
        .axis_style(AXIS.stroke_width(PIXEL as u32))
        .set_all_tick_mark_size(4 * PIXEL)
        .x_labels(11)
        .y_labels(7)
        .x_label_formatter(&tick)
        .y_label_formatter(&tick)
        .x_desc(if is_last { "Time (s)" } else { "" })
        .y_desc(panel.y_title.as_str())
        .label_style(style(13))
        .axis_desc_style(style(14))
        .draw()?;
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

/// The panel's title, and for each line a swatch as the panel draws it, and its name.
fn draw_legend(area: &Area<'_>, panel: &Panel, with_lines: bool) -> Result<(), DrawError> {
    let mut y = 6 + LEGEND_LINE / 2;
    if !panel.title.is_empty() {
        text(area, &shortened(&panel.title, LEGEND_CHARACTERS), (0, y), 14)?;
        y += LEGEND_LINE;
    }
    if !with_lines {
        return Ok(());
    }
    let at = |x: i32, y: i32| (x * PIXEL, y * PIXEL);
    for (drawn, colour) in coloured(&panel.drawn) {
        if matches!(drawn, Drawn::Band { .. }) {
            area.draw(&Rectangle::new([at(0, y - 7), at(24, y + 7)], colour.mix(BAND).filled()))?;
        }
        area.draw(&PathElement::new(vec![at(0, y), at(24, y)], line(drawn, colour)))?;
        for words in wrapped(drawn.label()) {
            text(area, &words, (32, y), 13)?;
            y += LEGEND_LINE - 4;
        }
        y += 4;
    }
    if panel.drawn.iter().any(|drawn| matches!(drawn, Drawn::Band { .. })) {
        text(area, "shaded: smallest to largest", (0, y), 12)?;
    }
    Ok(())
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
    if drawn.is_pale() { colour.mix(0.45).stroke_width(5) } else { colour.stroke_width(7) }
}

pub(super) fn style(pixels: i32) -> TextStyle<'static> {
    // The SVG backend divides by 1.24.
    ("sans-serif", f64::from(pixels * PIXEL) * 1.24).into_font().color(&INK)
}

/// Text that starts at a point and is centred on its height.
pub(super) fn text(area: &Area<'_>, words: &str, (x, y): (i32, i32), pixels: i32) -> Result<(), DrawError> {
    // XML has no way to write these, escaped or not (XML 1.0 section 2.2).
    let words = words.replace(|c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'), "?");
    area.draw(&Text::new(words, (x * PIXEL, y * PIXEL), style(pixels).pos(Pos::new(HPos::Left, VPos::Center))))
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

/// At most six decimals, without trailing zeros.
pub(super) fn tick(value: &f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

pub(super) fn shortened(words: &str, most: usize) -> String {
    if words.chars().count() <= most {
        return words.to_owned();
    }
    words.chars().take(most - 3).chain("...".chars()).collect()
}

/// One line of a legend or two, broken at a space if there is one.
pub(super) fn wrapped(words: &str) -> Vec<String> {
    let Some((end, _)) = words.char_indices().nth(LEGEND_CHARACTERS) else {
        return vec![words.to_owned()];
    };
    let end = words[..end].rfind(' ').unwrap_or(end);
    vec![words[..end].to_owned(), shortened(words[end..].trim_start(), LEGEND_CHARACTERS)]
}

/// The first tag says quarter pixels; the picture's size is in pixels, and corners are round as a drawn curve's.
pub(super) fn in_pixels(svg: &str, height: i32) -> String {
    let body = svg.split_once('>').map_or("", |(_, body)| body);
    format!(
        "<svg width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {} {}\" stroke-linejoin=\"round\" \
         stroke-linecap=\"round\" xmlns=\"http://www.w3.org/2000/svg\">{body}",
        WIDTH * PIXEL,
        height * PIXEL,
    )
}
