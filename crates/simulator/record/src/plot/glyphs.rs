//! Text as outlines of the built-in font, independent of installed fonts.
//!
//! Each character has its nominal glyph, the advance width of `hmtx` and the pair kerning of `GPOS`. The font's only
//! other default feature, ligatures of `f` with `f`, `i` and `l`, is omitted; ligatures are as wide as their parts. A
//! character that the font lacks is glyph 0, a box.

use super::font::Font;
use tiny_skia::PathBuilder;

/// A line of text on the baseline, in font units: the y axis points up and the first glyph starts at 0.
pub(super) struct Line {
    pub(super) glyphs: Vec<Glyph>,
    pub(super) width: f32,
    pub(super) units_per_em: f32,
}

/// A character's glyph.
pub(super) struct Glyph {
    pub(super) character: char,
    /// Number of the glyph in the font.
    pub(super) number: usize,
    /// Start of the glyph, after kerning.
    pub(super) at: f32,
    pub(super) advance: f32,
}

/// Lays out text from left to right. Returns `None` if the font is invalid.
pub(super) fn line(text: &str) -> Option<Line> {
    let font = Font::built_in()?;
    let (mut glyphs, mut width): (Vec<Glyph>, f32) = (Vec::new(), 0.0);
    for character in text.chars() {
        let number = font.glyph(character).unwrap_or(0);
        width += glyphs.last().map_or(0.0, |left| font.kerning(left.number, number));
        let advance = font.advance(number)?;
        glyphs.push(Glyph { character, number, at: width, advance });
        width += advance;
    }
    Some(Line { glyphs, width, units_per_em: font.units_per_em })
}

impl Line {
    /// Returns the outlines of all glyphs; `None` if the font is invalid.
    pub(super) fn outlines(&self) -> Option<PathBuilder> {
        let (font, mut path) = (Font::built_in()?, PathBuilder::new());
        self.glyphs.iter().try_for_each(|glyph| font.outline(glyph.number, (glyph.at, 0.0), &mut path))?;
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Option<tiny_skia::Path> {
        line(text).unwrap().outlines().unwrap().finish()
    }

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
        let bounds = path("To").unwrap().bounds();
        let extents = [bounds.left(), bounds.right(), bounds.top(), bounds.bottom()];
        assert_eq!(extents, [18.0, (548 - 44 + 527) as f32, -12.0, 693.0]);
    }

    #[test]
    fn each_character_of_a_label_has_an_outline() {
        let font = Font::built_in().unwrap();
        for character in ('!'..='~').chain("äñαβγδλμρστωΔΩ±µ−–×·°≤≥≈…²".chars()) {
            assert!(font.glyph(character).is_some(), "{character}");
            assert!(path(&character.to_string()).is_some(), "{character}");
        }
        assert!(path("  ").is_none() && line("  ").unwrap().width > 0.0);
    }

    /// Glyph 0 of the font: 500 wide, its outline from 50 to 450 and from 0 to 750.
    #[test]
    fn a_character_that_the_font_lacks_is_a_box() {
        for character in ["→", "中", "😀", "\u{fffd}"] {
            let bounds = path(character).unwrap().bounds();
            let extents = [bounds.left(), bounds.right(), bounds.top(), bounds.bottom()];
            assert_eq!((line(character).unwrap().width, extents), (500.0, [50.0, 450.0, 0.0, 750.0]), "{character}");
        }
    }
}
