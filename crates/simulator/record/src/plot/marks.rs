//! Marks and dashes of lines, so that they differ not only in color.

use super::frame::{Area, COLORS, DrawError, LINE, PIXEL};
use plotters::prelude::*;

/// Half the width of a mark, in units.
pub(super) const RADIUS: i32 = 4 * PIXEL;

/// Dashes and gaps of each color, in units; round caps take half a stroke width at each end of a gap.
const DASHES: [&str; COLORS.len()] =
    ["", "36 22", "6 16", "36 18 6 18", "68 22", "36 16 6 16 6 16", "18 18", "68 18 6 18"];

/// Returns the color and mark of a line by its index. The first 64 pairs are distinct, because marks shift when colors
/// repeat.
pub(super) fn look(index: usize) -> (RGBColor, usize) {
    let count = COLORS.len();
    (COLORS[index % count], (index % count + index / count % count) % count)
}

pub(super) fn draw(
    area: &Area<'_>,
    mark: usize,
    (x, y): (i32, i32),
    radius: i32,
    color: RGBColor,
) -> Result<(), DrawError> {
    let polygon = |corners: &[(i32, i32)]| {
        let corners: Vec<_> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        area.draw(&Polygon::new(corners, color.filled()))
    };
    // Smaller marks have thinner strokes, but not those of lines, which have dashes.
    let width = ((LINE as i32 + 1) * radius / RADIUS).max(3) as u32;
    let width = if width == LINE { LINE + 1 } else { width };
    let strokes = |ends: [[(i32, i32); 2]; 2]| {
        ends.iter().try_for_each(|line| {
            let ends: Vec<_> = line.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
            area.draw(&PathElement::new(ends, color.stroke_width(width)))
        })
    };
    // Narrower marks have corners further out, so that all marks look equally large.
    let part = |percent: i32| radius * percent / 100;
    let (side, tip, half) = (part(90), part(125), part(62));
    match mark {
        0 => area.draw(&Circle::new((x, y), radius, color.filled())),
        1 => polygon(&[(-side, -side), (side, -side), (side, side), (-side, side)]),
        2 => polygon(&[(0, -tip), (part(110), half), (-part(110), half)]),
        3 => polygon(&[(0, -tip), (tip, 0), (0, tip), (-tip, 0)]),
        4 => polygon(&[(0, tip), (part(110), -half), (-part(110), -half)]),
        5 => strokes([[(-side, -side), (side, side)], [(-side, side), (side, -side)]]),
        6 => strokes([[(-tip, 0), (tip, 0)], [(0, -tip), (0, tip)]]),
        _ => {
            area.draw(&Circle::new((x, y), radius, WHITE.filled()))?;
            area.draw(&Circle::new((x, y), radius, color.stroke_width(width.min(LINE))))
        }
    }
}

/// Adds the dashes of its color to each line of width [`LINE`]. The drawing library has no dashes.
pub(super) fn dashed(svg: &str) -> String {
    COLORS.iter().zip(DASHES).filter(|(_, dashes)| !dashes.is_empty()).fold(svg.to_owned(), |svg, (color, dashes)| {
        let RGBColor(r, g, b) = color;
        let line = format!("stroke=\"#{r:02X}{g:02X}{b:02X}\" stroke-width=\"{LINE}\" points");
        let with_dashes = line.replace(" points", &format!(" stroke-dasharray=\"{dashes}\" points"));
        // Quotes in text are escaped, so that text cannot match.
        svg.replace(&line, &with_dashes)
    })
}
