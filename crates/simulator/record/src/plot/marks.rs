//! What tells lines apart besides their colours: marks on them, and dashes.

use super::frame::{Area, COLOURS, DrawError, LINE, PIXEL};
use plotters::prelude::*;

/// Half the width of a mark.
pub(super) const RADIUS: i32 = 4 * PIXEL;

/// The dashes of each colour and the gaps between them, in units; round ends take half a line's width of each gap.
const DASHES: [&str; COLOURS.len()] =
    ["", "36 22", "6 16", "36 18 6 18", "68 22", "36 16 6 16 6 16", "18 18", "68 18 6 18"];

/// A line's colour and mark, by its number: no two of the first 64 have the same. The mark shifts where colours begin again.
pub(super) fn look(number: usize) -> (RGBColor, usize) {
    let many = COLOURS.len();
    (COLOURS[number % many], (number % many + number / many % many) % many)
}

pub(super) fn draw(
    area: &Area<'_>,
    mark: usize,
    (x, y): (i32, i32),
    radius: i32,
    colour: RGBColor,
) -> Result<(), DrawError> {
    let polygon = |corners: &[(i32, i32)]| {
        let corners: Vec<_> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        area.draw(&Polygon::new(corners, colour.filled()))
    };
    let strokes = |ends: [[(i32, i32); 2]; 2]| {
        ends.iter().try_for_each(|line| {
            let ends: Vec<_> = line.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
            area.draw(&PathElement::new(ends, colour.stroke_width(LINE + 1)))
        })
    };
    // A mark's corners lie further out where it is narrower between them, so that marks look equally large.
    let part = |percent: i32| radius * percent / 100;
    let (side, tip, half) = (part(90), part(125), part(62));
    match mark {
        0 => area.draw(&Circle::new((x, y), radius, colour.filled())),
        1 => polygon(&[(-side, -side), (side, -side), (side, side), (-side, side)]),
        2 => polygon(&[(0, -tip), (part(110), half), (-part(110), half)]),
        3 => polygon(&[(0, -tip), (tip, 0), (0, tip), (-tip, 0)]),
        4 => polygon(&[(0, tip), (part(110), -half), (-part(110), -half)]),
        5 => strokes([[(-side, -side), (side, side)], [(-side, side), (side, -side)]]),
        6 => strokes([[(-tip, 0), (tip, 0)], [(0, -tip), (0, tip)]]),
        _ => {
            area.draw(&Circle::new((x, y), radius, WHITE.filled()))?;
            area.draw(&Circle::new((x, y), radius, colour.stroke_width(LINE)))
        }
    }
}

/// Gives each line of a colour, of the width of a line, the colour's dashes. The drawing library knows of none.
pub(super) fn dashed(svg: &str) -> String {
    COLOURS.iter().zip(DASHES).filter(|(_, dashes)| !dashes.is_empty()).fold(svg.to_owned(), |svg, (colour, dashes)| {
        let RGBColor(r, g, b) = colour;
        let line = format!("stroke=\"#{r:02X}{g:02X}{b:02X}\" stroke-width=\"{LINE}\" points");
        let with_dashes = line.replace(" points", &format!(" stroke-dasharray=\"{dashes}\" points"));
        // Words cannot be mistaken for this: quotes are escaped in them.
        svg.replace(&line, &with_dashes)
    })
}
