//! The built-in font: Ubuntu Light, under the Ubuntu Font License 1.0.
//!
//! Reads parts of the OpenType tables `cmap` (format 4), `hmtx`, `loca`, `glyf` and `GPOS` (pair adjustment). Offsets
//! are those of the OpenType specification, version 1.9.

use tiny_skia::PathBuilder;

pub(super) const FONT: &[u8] = epaint_default_fonts::UBUNTU_LIGHT;

type Point = (f32, f32);

pub(super) struct Font {
    pub(super) units_per_em: f32,
    characters: &'static [u8],
    advances: &'static [u8],
    advance_count: usize,
    offsets: &'static [u8],
    outlines: &'static [u8],
    lookups: &'static [u8],
}

impl Font {
    /// Returns the font; `None` if a table is missing.
    pub(super) fn built_in() -> Option<Self> {
        let (head, cmap) = (table(b"head")?, table(b"cmap")?);
        // Platform 3 with encoding 1: Unicode's first plane.
        let mut encodings = (0..number(cmap, 2)?).filter_map(|index| cmap.get(4 + 8 * index..));
        let unicode = encodings.find(|record| record.starts_with(&[0, 3, 0, 1]))?;
        Some(Self {
            units_per_em: number(head, 18)? as f32,
            characters: cmap.get(long(unicode, 4)?..)?,
            advances: table(b"hmtx")?,
            advance_count: number(table(b"hhea")?, 34)?,
            // Offsets of four bytes.
            offsets: table(b"loca").filter(|_| number(head, 50) == Some(1))?,
            outlines: table(b"glyf")?,
            lookups: linked(table(b"GPOS")?, 8)?,
        })
    }

    /// Returns a character's glyph; `None` if the font lacks it.
    pub(super) fn glyph(&self, character: char) -> Option<usize> {
        let map = self.characters;
        let code = usize::try_from(u32::from(character)).ok()?;
        let bytes = number(map, 6)?;
        let segment = (14..14 + bytes).step_by(2).find(|&at| number(map, at).is_some_and(|end| end >= code))?;
        let (start_at, range_at) = (segment + 2 + bytes, segment + 2 + 3 * bytes);
        let (delta, range) = (number(map, start_at + bytes)?, number(map, range_at)?);
        let index = code.checked_sub(number(map, start_at)?)?;
        let glyph =
            if range == 0 { code } else { number(map, range_at + range + 2 * index).filter(|&glyph| glyph > 0)? };
        Some((glyph + delta) & 0xffff).filter(|&glyph| glyph > 0)
    }

    pub(super) fn advance(&self, glyph: usize) -> Option<f32> {
        number(self.advances, 4 * glyph.min(self.advance_count.checked_sub(1)?)).map(|advance| advance as f32)
    }

    /// Returns the kerning of a pair of glyphs. Each lookup of the font is kerning of Latin text.
    pub(super) fn kerning(&self, left: usize, right: usize) -> f32 {
        let lists = |table: &'static [u8], at: usize| {
            (0..number(table, at).unwrap_or(0)).filter_map(move |index| linked(table, at + 2 + 2 * index))
        };
        let subtables = lists(self.lookups, 0).flat_map(|lookup| lists(lookup, 4));
        subtables.filter_map(|subtable| adjustment(subtable, left, right)).sum()
    }

    /// Adds a glyph's outline to a path. Returns `None`, with a part of the outline added, if the glyph is invalid.
    pub(super) fn outline(&self, glyph: usize, (x, y): Point, path: &mut PathBuilder) -> Option<()> {
        let data = self.glyph_data(glyph)?;
        if data.is_empty() {
            return Some(());
        }
        if signed(data, 0)? >= 0 {
            return simple(data, (x, y), path);
        }
        let mut at = 10;
        loop {
            let (flags, component) = (number(data, at)?, number(data, at + 2)?);
            // This font's components have offsets (2), and no scales (8, 0x40, 0x80) or components.
            if flags & 0xca != 2 {
                return None;
            }
            let is_wide = flags & 1 == 1;
            let (dx, dy) = match is_wide {
                true => (signed(data, at + 4)?, signed(data, at + 6)?),
                false => (byte(data, at + 4)?, byte(data, at + 5)?),
            };
            simple(self.glyph_data(component)?, (x + f32::from(dx), y + f32::from(dy)), path)?;
            if flags & 0x20 == 0 {
                return Some(());
            }
            at += if is_wide { 8 } else { 6 };
        }
    }

    fn glyph_data(&self, glyph: usize) -> Option<&'static [u8]> {
        self.outlines.get(long(self.offsets, 4 * glyph)?..long(self.offsets, 4 * glyph + 4)?)
    }
}

/// Metrics of the font, in thousandths of an em.
pub(super) struct FontMetrics {
    /// Left, bottom, right and top of all glyphs.
    pub(super) bounds: [f32; 4],
    pub(super) ascent: f32,
    /// Below zero.
    pub(super) descent: f32,
    pub(super) cap_height: f32,
}

impl FontMetrics {
    /// Returns the metrics; `None` if a table is missing.
    pub(super) fn built_in() -> Option<Self> {
        let (head, lines) = (table(b"head")?, table(b"hhea")?);
        let units_per_em = number(head, 18)? as f32;
        let metric = |table: &[u8], at: usize| Some(f32::from(signed(table, at)?) * 1000.0 / units_per_em);
        Some(Self {
            bounds: [metric(head, 36)?, metric(head, 38)?, metric(head, 40)?, metric(head, 42)?],
            ascent: metric(lines, 4)?,
            descent: metric(lines, 6)?,
            cap_height: metric(table(b"OS/2")?, 88)?,
        })
    }
}

fn simple(data: &[u8], (x, y): Point, path: &mut PathBuilder) -> Option<()> {
    let contours = usize::try_from(signed(data, 0)?).ok()?;
    let ends: Vec<usize> = (0..contours).map(|contour| number(data, 10 + 2 * contour)).collect::<Option<_>>()?;
    let count = ends.last().map_or(0, |end| end + 1);
    let mut at = 12 + 2 * contours + number(data, 10 + 2 * contours)?;
    let mut flags = Vec::new();
    while flags.len() < count {
        let flag = *data.get(at)?;
        let repeats = if flag & 8 == 0 { 0 } else { usize::from(*data.get(at + 1)?) };
        at += if flag & 8 == 0 { 1 } else { 2 };
        flags.extend(std::iter::repeat_n(flag, 1 + repeats));
    }
    let mut read = |from: f32, is_short: u8, is_same: u8| {
        let mut value = from;
        let values = flags.iter().take(count).map(|flag| {
            if flag & is_short != 0 {
                let step = f32::from(*data.get(at)?);
                value += if flag & is_same != 0 { step } else { -step };
                at += 1;
            } else if flag & is_same == 0 {
                value += f32::from(signed(data, at)?);
                at += 2;
            }
            Some(value)
        });
        values.collect::<Option<Vec<f32>>>()
    };
    let (xs, ys) = (read(x, 2, 0x10)?, read(y, 4, 0x20)?);
    let points: Vec<(Point, bool)> =
        xs.into_iter().zip(ys).zip(&flags).map(|(point, flag)| (point, flag & 1 == 1)).collect();
    let mut first = 0;
    for end in ends {
        contour(points.get(first..=end)?, path);
        first = end + 1;
    }
    Some(())
}

/// Adds a closed contour of on-curve points and control points. The midpoint of two control points is an on-curve
/// point.
fn contour(points: &[(Point, bool)], path: &mut PathBuilder) {
    let middle = |a: Point, b: Point| ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
    let (Some(&(first, is_on)), Some(&(last, last_is_on))) = (points.first(), points.last()) else { return };
    let start = if is_on {
        first
    } else if last_is_on {
        last
    } else {
        middle(first, last)
    };
    path.move_to(start.0, start.1);
    let mut control: Option<Point> = None;
    for &(point, is_on) in points.iter().chain([&(start, true)]) {
        let to = if is_on { point } else { control.map_or(point, |control| middle(control, point)) };
        match control {
            Some(control) => path.quad_to(control.0, control.1, to.0, to.1),
            None if is_on => path.line_to(to.0, to.1),
            None => {}
        }
        control = (!is_on).then_some(point);
    }
    path.close();
}

/// Returns the advance adjustment of `left` in a pair, by the pair or by the classes of its glyphs.
fn adjustment(pairs: &[u8], left: usize, right: usize) -> Option<f32> {
    let row = ranked(linked(pairs, 2)?, left)?;
    let (format, size) = (number(pairs, 4)?, 2 * (number(pairs, 4)?.count_ones() + number(pairs, 6)?.count_ones()));
    let size = usize::try_from(size).ok()?;
    let values = if number(pairs, 0)? == 1 {
        let set = linked(pairs, 10 + 2 * row)?;
        let mut of_left = (0..number(set, 0)?).filter_map(|index| set.get(2 + index * (2 + size)..));
        of_left.find(|record| number(record, 0) == Some(right))?.get(2..)?
    } else {
        let class = |at: usize, glyph: usize| Some(class(linked(pairs, at)?, glyph).unwrap_or(0));
        pairs.get(16 + size * (class(8, left)? * number(pairs, 14)? + class(10, right)?)..)?
    };
    // A record has a value for each set bit: 1 and 2 are placements, 4 is the advance.
    let before = usize::try_from((format & 3).count_ones()).ok()?;
    signed(values, 2 * before).filter(|_| format & 4 != 0).map(f32::from)
}

fn ranked(coverage: &[u8], glyph: usize) -> Option<usize> {
    let mut entries = 0..number(coverage, 2)?;
    if number(coverage, 0)? == 1 {
        return entries.find(|index| number(coverage, 4 + 2 * index) == Some(glyph));
    }
    let (range, first) = range(coverage, entries, glyph)?;
    Some(number(range, 4)? + glyph - first)
}

/// Returns a glyph's class; `None` is class 0.
fn class(classes: &[u8], glyph: usize) -> Option<usize> {
    if number(classes, 0)? == 1 {
        let index = glyph.checked_sub(number(classes, 2)?).filter(|&index| Some(index) < number(classes, 4))?;
        return number(classes, 6 + 2 * index);
    }
    number(range(classes, 0..number(classes, 2)?, glyph)?.0, 4)
}

/// Returns the range record that contains a glyph, and the first glyph of the range.
fn range(table: &[u8], mut entries: std::ops::Range<usize>, glyph: usize) -> Option<(&[u8], usize)> {
    entries.find_map(|index| {
        let record = table.get(4 + 6 * index..)?;
        let (first, last) = (number(record, 0)?, number(record, 2)?);
        (first..=last).contains(&glyph).then_some((record, first))
    })
}

fn table(name: &[u8; 4]) -> Option<&'static [u8]> {
    let mut records = (0..number(FONT, 4)?).filter_map(|index| FONT.get(12 + 16 * index..));
    let record = records.find(|record| record.starts_with(name))?;
    FONT.get(long(record, 8)?..)?.get(..long(record, 12)?)
}

fn linked(table: &[u8], at: usize) -> Option<&[u8]> {
    table.get(number(table, at)?..)
}

fn number(data: &[u8], at: usize) -> Option<usize> {
    data.get(at..)?.first_chunk().map(|bytes| usize::from(u16::from_be_bytes(*bytes)))
}

fn signed(data: &[u8], at: usize) -> Option<i16> {
    data.get(at..)?.first_chunk().map(|bytes| i16::from_be_bytes(*bytes))
}

fn byte(data: &[u8], at: usize) -> Option<i16> {
    data.get(at).map(|byte| i16::from(byte.cast_signed()))
}

fn long(data: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_be_bytes(*data.get(at..)?.first_chunk()?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `maxp` has 1261 glyphs, and `cmap` has 1194 characters.
    #[test]
    fn each_glyph_of_the_font_is_readable() {
        let font = Font::built_in().unwrap();
        assert_eq!(number(table(b"maxp").unwrap(), 4), Some(1261));
        for glyph in 0..1261 {
            assert!(font.advance(glyph).is_some(), "{glyph}");
            assert!(font.outline(glyph, (0.0, 0.0), &mut PathBuilder::new()).is_some(), "{glyph}");
        }
        assert_eq!(('\0'..=char::MAX).filter(|&character| font.glyph(character).is_some()).count(), 1194);
    }

    /// The header of Ä in `glyf`: from 10 to 631, like A (glyph 36), and from 0 to 877.
    #[test]
    fn components_have_their_offsets() {
        let font = Font::built_in().unwrap();
        let bounds = |character: char| {
            let mut path = PathBuilder::new();
            font.outline(font.glyph(character).unwrap(), (0.0, 0.0), &mut path).unwrap();
            let bounds = path.finish().unwrap().bounds();
            (bounds.left(), bounds.right(), bounds.top(), bounds.bottom())
        };
        assert_eq!(font.glyph('A'), Some(36));
        assert_eq!(bounds('Ä'), (10.0, 631.0, 0.0, 877.0));
    }

    /// A square of four control points: a curve through the middles of its sides.
    #[test]
    fn the_midpoint_of_two_control_points_is_on_the_curve() {
        let mut path = PathBuilder::new();
        contour(&[(0.0, 0.0), (8.0, 0.0), (8.0, 8.0), (0.0, 8.0)].map(|point| (point, false)), &mut path);
        let mut expected = PathBuilder::new();
        expected.move_to(0.0, 4.0);
        expected.quad_to(0.0, 0.0, 4.0, 0.0);
        expected.quad_to(8.0, 0.0, 8.0, 4.0);
        expected.quad_to(8.0, 8.0, 4.0, 8.0);
        expected.quad_to(0.0, 8.0, 0.0, 4.0);
        expected.close();
        assert_eq!(path.finish(), expected.finish());
    }

    #[test]
    fn truncated_outlines_are_rejected() {
        let font = Font::built_in().unwrap();
        let data = font.glyph_data(font.glyph('o').unwrap()).unwrap();
        let read = |length: usize| simple(&data[..length], (0.0, 0.0), &mut PathBuilder::new());
        // The last bytes are padding to a multiple of four.
        assert!((0..data.len() - 4).all(|length| read(length).is_none()));
        assert!(read(data.len()).is_some());
    }
}
