//! Words as outlines of the built-in font: no picture depends on what a machine has installed.
//!
//! Each character gets its nominal glyph, the advance width of `hmtx` and the pair kerning of `GPOS`.
//! The font's only other default feature joins `f` to `f`, `i` and `l`; a joined glyph is as wide as its parts,
//! so this module leaves it out. A character that the font lacks gets glyph 0, a box.

use tiny_skia::{Path, PathBuilder};
use ttf_parser::gpos::{PairAdjustment, PositioningSubtable};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Ubuntu Light, under the Ubuntu Font License 1.0.
const FONT: &[u8] = epaint_default_fonts::UBUNTU_LIGHT;

/// A line of words on the baseline, in font units: the y axis points up and the first glyph starts at 0.
pub(super) struct Line {
    /// None if no glyph has an outline, as in a line of spaces.
    pub(super) path: Option<Path>,
    pub(super) width: f32,
    pub(super) units_per_em: f32,
}

/// Lays out words from left to right. Returns none if the font is unreadable.
pub(super) fn line(words: &str) -> Option<Line> {
    let face = Face::parse(FONT, 0).ok()?;
    let mut pen = Pen { path: PathBuilder::new(), x: 0.0 };
    let mut previous = None;
    for character in words.chars() {
        let glyph = face.glyph_index(character).unwrap_or(GlyphId(0));
        pen.x += previous.map_or(0.0, |left| kerning(&face, left, glyph));
        face.outline_glyph(glyph, &mut pen);
        pen.x += f32::from(face.glyph_hor_advance(glyph)?);
        previous = Some(glyph);
    }
    Some(Line { path: pen.path.finish(), width: pen.x, units_per_em: f32::from(face.units_per_em()) })
}

/// Returns what the font adds to the advance width of `left` before `right`. Each of its kerning lookups serves Latin text.
fn kerning(face: &Face<'_>, left: GlyphId, right: GlyphId) -> f32 {
    let lookups = face.tables().gpos.into_iter().flat_map(|gpos| gpos.lookups);
    let pairs = lookups.flat_map(|lookup| lookup.subtables.into_iter::<PositioningSubtable<'_>>());
    let adjustments = pairs.filter_map(|subtable| {
        let PositioningSubtable::Pair(pair) = subtable else { return None };
        let row = pair.coverage().get(left)?;
        match pair {
            PairAdjustment::Format1 { sets, .. } => sets.get(row)?.get(right),
            PairAdjustment::Format2 { classes, matrix, .. } => matrix.get((classes.0.get(left), classes.1.get(right))),
        }
    });
    adjustments.map(|(of_left, _)| f32::from(of_left.x_advance)).sum()
}

struct Pen {
    path: PathBuilder,
    x: f32,
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.x + x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.x + x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.x + x1, y1, self.x + x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.path.cubic_to(self.x + x1, y1, self.x + x2, y2, self.x + x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Advance widths from `hmtx`: T 548, o 582, L 502, digits 564, period 246, f 376, l 255, w 775.
    /// Kerning from `GPOS`: To -44, LT -102.
    #[test]
    fn a_line_is_as_wide_as_its_advance_widths_and_kerning() {
        for (words, width) in [
            ("To", 548 - 44 + 582),
            ("LT", 502 - 102 + 548),
            ("0.5", 564 + 246 + 564),
            ("flow", 376 + 255 + 582 + 775),
            ("", 0),
        ] {
            assert_eq!(line(words).unwrap().width, width as f32, "{words}");
        }
        assert_eq!(line("To").unwrap().units_per_em, 1000.0);
    }

    /// Extents from `glyf`: T from 18 to 530 and up to 693, o from 55 to 527 and down to -12.
    #[test]
    fn a_glyph_starts_where_the_one_before_it_ends() {
        let bounds = line("To").unwrap().path.unwrap().bounds();
        let extents = [bounds.left(), bounds.right(), bounds.top(), bounds.bottom()];
        assert_eq!(extents, [18.0, (548 - 44 + 527) as f32, -12.0, 693.0]);
    }

    #[test]
    fn each_character_of_a_label_has_an_outline() {
        let face = Face::parse(FONT, 0).unwrap();
        for character in ('!'..='~').chain("äñαβγδλμρστωΔΩ±µ−–×·°≤≥≈…²".chars()) {
            assert!(face.glyph_index(character).is_some_and(|glyph| glyph.0 > 0), "{character}");
            assert!(line(&character.to_string()).unwrap().path.is_some(), "{character}");
        }
        let spaces = line("  ").unwrap();
        assert!(spaces.path.is_none() && spaces.width > 0.0);
    }

    /// Glyph 0 of the font: 500 wide, its outline from 50 to 450 and from 0 to 750.
    #[test]
    fn a_character_that_the_font_lacks_is_a_box() {
        for character in ["→", "中", "😀", "\u{fffd}"] {
            let line = line(character).unwrap();
            let bounds = line.path.unwrap().bounds();
            let extents = [bounds.left(), bounds.right(), bounds.top(), bounds.bottom()];
            assert_eq!((line.width, extents), (500.0, [50.0, 450.0, 0.0, 750.0]), "{character}");
        }
    }
}
