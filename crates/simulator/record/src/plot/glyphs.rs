//! Text as outlines of the built-in font, independent of installed fonts.
//!
//! Each character has its nominal glyph, the advance width of `hmtx` and the pair kerning of `GPOS`. The font's only
//! other default feature, ligatures of `f` with `f`, `i` and `l`, is omitted; ligatures are as wide as their parts. A
//! character that the font lacks is glyph 0, a box.

use super::font::Font;
use tiny_skia::{Path, PathBuilder};

/// A line of text on the baseline, in font units: the y axis points up and the first glyph starts at 0.
pub(super) struct Line {
    /// `None` if no glyph has an outline, such as in a line of spaces.
    pub(super) path: Option<Path>,
    pub(super) width: f32,
    pub(super) units_per_em: f32,
}

/// Lays out text from left to right. Returns `None` if the font is invalid.
pub(super) fn line(text: &str) -> Option<Line> {
    let font = Font::built_in()?;
    let (mut path, mut width) = (PathBuilder::new(), 0.0);
    let mut previous = None;
    for character in text.chars() {
        let glyph = font.glyph(character).unwrap_or(0);
        width += previous.map_or(0.0, |left| font.kerning(left, glyph));
        font.outline(glyph, (width, 0.0), &mut path)?;
        width += font.advance(glyph)?;
        previous = Some(glyph);
    }
    Some(Line { path: path.finish(), width, units_per_em: font.units_per_em })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Advance widths from `hmtx`: T 548, o 582, L 502, digits 564, period 246, f 376, l 255, w 775.
    /// Kerning from `GPOS`: To -44, LT -102.
    #[test]
    fn a_line_is_as_wide_as_its_advance_widths_and_kerning() {
        for (text, width) in [
            ("To", 548 - 44 + 582),
            ("LT", 502 - 102 + 548),
            ("0.5", 564 + 246 + 564),
            ("flow", 376 + 255 + 582 + 775),
            ("", 0),
        ] {
            assert_eq!(line(text).unwrap().width, width as f32, "{text}");
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
        let font = Font::built_in().unwrap();
        for character in ('!'..='~').chain("äñαβγδλμρστωΔΩ±µ−–×·°≤≥≈…²".chars()) {
            assert!(font.glyph(character).is_some(), "{character}");
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
