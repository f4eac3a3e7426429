//! Conversion of a figure's SVG to PDF (ISO 32000-1): vector graphics, and text in the embedded built-in font.

use super::PlotError;
use super::font::{self, FontMetrics};
use super::svg::{Drawing, Ink, PlacedText, RenderError, Shape};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, LineCapStyle, LineJoinStyle, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use std::collections::BTreeMap;
use std::io::Write;
use subsetter::GlyphRemapper;
use tiny_skia::{Path, PathSegment, Transform};

/// Points (1/72 inch) in a px (1/96 inch).
const POINTS: f32 = 72.0 / 96.0;
const FONT_NAME: Name<'_> = Name(b"HWAYUL+Ubuntu-Light");
const FONT: Name<'_> = Name(b"F");
const IDENTITY: SystemInfo<'_> = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

// Objects of the file.
const CATALOG: i32 = 1;
const PAGES: i32 = 2;
const PAGE: i32 = 3;
const CONTENT: i32 = 4;
const INFO: i32 = 5;
const TYPE0: i32 = 6;
const CID_FONT: i32 = 7;
const DESCRIPTOR: i32 = 8;
const FONT_FILE: i32 = 9;
const TO_UNICODE: i32 = 10;

pub(super) fn pdf(name: &str, svg: &str) -> Result<Vec<u8>, PlotError> {
    written(name, svg).map_err(|reason| PlotError::Render {
        name: name.to_owned(),
        format: "PDF",
        reason: reason.into(),
    })
}

fn written(name: &str, svg: &str) -> Result<Vec<u8>, RenderError> {
    let drawing = Drawing::read(svg)?;
    let (width, height) = (drawing.size.0 * POINTS, drawing.size.1 * POINTS);
    let mut page = PageContent {
        content: Content::new(),
        opacities: BTreeMap::new(),
        glyphs: GlyphRemapper::new(),
        used: BTreeMap::new(),
    };
    let scale = width / drawing.units;
    // The y axis of PDF points up.
    page.content.transform([scale, 0.0, 0.0, -scale, 0.0, height]);
    page.content.set_line_cap(LineCapStyle::RoundCap).set_line_join(LineJoinStyle::RoundJoin);
    for element in &drawing.elements {
        match element.shape()? {
            Some(Shape::Path(path)) => {
                if let Some(ink) = element.fill()? {
                    page.fill(&path, &ink);
                }
                if let Some(outline) = element.stroke()? {
                    page.set_stroke(&outline.ink);
                    page.content.set_line_width(outline.width).set_dash_pattern(outline.dashes, 0.0);
                    trace(&mut page.content, &path);
                    page.content.stroke();
                }
            }
            Some(Shape::Text(text)) => {
                if let Some(ink) = element.fill()? {
                    page.set_fill(&ink);
                    page.show(&text);
                }
            }
            None => {}
        }
    }
    page.document(name, (width, height))
}

/// The content of the page, and the resources that it uses.
struct PageContent {
    content: Content,
    /// Names of the graphics states by their opacity, in thousandths.
    opacities: BTreeMap<i32, String>,
    /// Glyphs of the font in the file.
    glyphs: GlyphRemapper,
    /// Character and width of each of them, by its number in the file. The unit of widths is a thousandth of an em.
    used: BTreeMap<u16, (char, f32)>,
}

impl PageContent {
    fn set_opacity(&mut self, ink: &Ink) {
        let thousandths = (ink.opacity * 1000.0).round() as i32;
        let name = self.opacities.entry(thousandths).or_insert_with(|| format!("O{thousandths}"));
        self.content.set_parameters(Name(name.as_bytes()));
    }

    fn set_fill(&mut self, ink: &Ink) {
        self.set_opacity(ink);
        let [red, green, blue] = ink.color.map(|part| f32::from(part) / 255.0);
        self.content.set_fill_rgb(red, green, blue);
    }

    fn set_stroke(&mut self, ink: &Ink) {
        self.set_opacity(ink);
        let [red, green, blue] = ink.color.map(|part| f32::from(part) / 255.0);
        self.content.set_stroke_rgb(red, green, blue);
    }

    fn fill(&mut self, path: &Path, ink: &Ink) {
        self.set_fill(ink);
        trace(&mut self.content, path);
        self.content.fill_nonzero();
    }

    /// Shows a text, with its kerning.
    fn show(&mut self, PlacedText { line, placed }: &PlacedText) {
        let em = line.units_per_em;
        // At a font size of 1, a unit of text space is an em.
        let Transform { sx, kx, ky, sy, tx, ty } = placed.pre_scale(em, em);
        self.content.begin_text().set_font(FONT, 1.0).set_text_matrix([sx, ky, kx, sy, tx, ty]);
        let mut show = self.content.show_positioned();
        let mut items = show.items();
        let mut at = 0.0;
        for glyph in &line.glyphs {
            if glyph.at != at {
                items.adjust((at - glyph.at) * 1000.0 / em);
            }
            let number = self.glyphs.remap(u16::try_from(glyph.number).unwrap_or(0));
            self.used.entry(number).or_insert((glyph.character, glyph.advance * 1000.0 / em));
            items.show(Str(&number.to_be_bytes()));
            at = glyph.at + glyph.advance;
        }
        items.finish();
        show.finish();
        self.content.end_text();
    }

    fn document(self, name: &str, (width, height): (f32, f32)) -> Result<Vec<u8>, RenderError> {
        let metrics = FontMetrics::built_in().ok_or(RenderError::Font)?;
        let subset =
            subsetter::subset(font::FONT, 0, &self.glyphs).map_err(|error| RenderError::Encoding(error.to_string()))?;
        let mut pdf = Pdf::new();
        pdf.catalog(Ref::new(CATALOG)).pages(Ref::new(PAGES));
        pdf.pages(Ref::new(PAGES)).kids([Ref::new(PAGE)]).count(1);
        pdf.document_info(Ref::new(INFO)).title(TextStr(name)).producer(TextStr("Headway"));
        let mut page = pdf.page(Ref::new(PAGE));
        page.parent(Ref::new(PAGES)).contents(Ref::new(CONTENT)).media_box(Rect::new(0.0, 0.0, width, height));
        let mut resources = page.resources();
        resources.fonts().pair(FONT, Ref::new(TYPE0));
        let mut states = resources.ext_g_states();
        for (thousandths, name) in &self.opacities {
            let opacity = *thousandths as f32 / 1000.0;
            let mut state = states.insert(Name(name.as_bytes())).start::<pdf_writer::writers::ExtGraphicsState<'_>>();
            state.non_stroking_alpha(opacity).stroking_alpha(opacity);
        }
        states.finish();
        resources.finish();
        page.finish();
        pdf.type0_font(Ref::new(TYPE0))
            .base_font(FONT_NAME)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(Ref::new(CID_FONT))
            .to_unicode(Ref::new(TO_UNICODE));
        let mut cid = pdf.cid_font(Ref::new(CID_FONT));
        cid.subtype(CidFontType::Type2).base_font(FONT_NAME).system_info(IDENTITY).default_width(0.0);
        cid.cid_to_gid_map_predefined(Name(b"Identity")).font_descriptor(Ref::new(DESCRIPTOR));
        let mut widths = cid.widths();
        let mut characters = UnicodeCmap::new(Name(b"Custom"), IDENTITY);
        for (number, (character, width)) in &self.used {
            widths.same(*number, *number, *width);
            characters.pair(*number, *character);
        }
        widths.finish();
        cid.finish();
        let [left, bottom, right, top] = metrics.bounds;
        pdf.font_descriptor(Ref::new(DESCRIPTOR))
            .name(FONT_NAME)
            .flags(FontFlags::NON_SYMBOLIC)
            .bbox(Rect::new(left, bottom, right, top))
            .italic_angle(0.0)
            .ascent(metrics.ascent)
            .descent(metrics.descent)
            .cap_height(metrics.cap_height)
            .stem_v(STEM_V)
            .font_file2(Ref::new(FONT_FILE));
        for (object, bytes) in [
            (CONTENT, self.content.finish().as_slice()),
            (FONT_FILE, &subset[..]),
            (TO_UNICODE, characters.finish().as_slice()),
        ] {
            let compressed = compressed(bytes).map_err(|error| RenderError::Encoding(error.to_string()))?;
            let mut stream = pdf.stream(Ref::new(object), &compressed);
            stream.filter(Filter::FlateDecode);
            if object == FONT_FILE {
                stream.pair(Name(b"Length1"), i32::try_from(bytes.len()).unwrap_or(i32::MAX));
            }
        }
        Ok(pdf.finish())
    }
}

/// Width of vertical stems in thousandths of an em, an estimate: readers use it only if the font is missing.
const STEM_V: f32 = 60.0;

fn compressed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Adds a path to the content, not painted yet.
fn trace(content: &mut Content, path: &Path) {
    let mut last = (0.0, 0.0);
    for segment in path.segments() {
        match segment {
            PathSegment::MoveTo(to) => {
                content.move_to(to.x, to.y);
                last = (to.x, to.y);
            }
            PathSegment::LineTo(to) => {
                content.line_to(to.x, to.y);
                last = (to.x, to.y);
            }
            // PDF has cubic curves only. Their control points are two thirds of the way to that of a quadratic curve.
            PathSegment::QuadTo(control, to) => {
                let toward = |from: (f32, f32)| {
                    (from.0 + (control.x - from.0) * 2.0 / 3.0, from.1 + (control.y - from.1) * 2.0 / 3.0)
                };
                let (first, second) = (toward(last), toward((to.x, to.y)));
                content.cubic_to(first.0, first.1, second.0, second.1, to.x, to.y);
                last = (to.x, to.y);
            }
            PathSegment::CubicTo(first, second, to) => {
                content.cubic_to(first.x, first.y, second.x, second.y, to.x, to.y);
                last = (to.x, to.y);
            }
            PathSegment::Close => {
                content.close_path();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;
    use std::io::Read;

    const SVG: &str = "<svg width=\"336\" height=\"96\" viewBox=\"0 0 1344 384\" stroke-linejoin=\"round\" \
         stroke-linecap=\"round\" xmlns=\"http://www.w3.org/2000/svg\">\n\
         <polyline fill=\"none\" opacity=\"0.5\" stroke=\"#0072B2\" stroke-width=\"7\" stroke-dasharray=\"36 22\" \
         points=\"8,64 136,64 \"/>\n\
         <circle cx=\"60\" cy=\"20\" r=\"16\" opacity=\"1\" fill=\"#FF0000\" stroke=\"none\" stroke-width=\"1\"/>\n\
         <text x=\"200\" y=\"300\" dy=\"0.5ex\" text-anchor=\"start\" font-size=\"100\" opacity=\"1\" fill=\"#222222\">\n\
         To &lt;10 ms\n</text>\n</svg>\n";

    /// Returns the contents of all streams.
    fn streams(pdf: &[u8]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let mut rest = pdf;
        while let Some(at) = rest.windows(8).position(|bytes| bytes == b"\nstream\n") {
            rest = &rest[at + 8..];
            let mut stream = Vec::new();
            ZlibDecoder::new(rest).read_to_end(&mut stream).unwrap();
            found.push(stream);
        }
        found
    }

    /// Returns a string of two bytes (ISO 32000-1 section 7.3.4.2) as hexadecimal digits.
    fn code(literal: &str) -> String {
        let escaped = literal.strip_prefix("\\000").unwrap();
        let byte = match escaped.strip_prefix('\\').unwrap().as_bytes() {
            [b'b', ..] => 8,
            [b't', ..] => 9,
            [b'n', ..] => 10,
            octal => u8::from_str_radix(std::str::from_utf8(&octal[..3]).unwrap(), 8).unwrap(),
        };
        format!("00{byte:02X}")
    }

    fn content() -> String {
        String::from_utf8_lossy(&streams(&pdf("figure", SVG).unwrap())[0]).into_owned()
    }

    /// An inch is 96 px and 72 points.
    #[test]
    fn the_page_has_the_size_of_the_figure() {
        let pdf = pdf("figure", SVG).unwrap();
        let text = String::from_utf8_lossy(&pdf);
        assert!(text.contains("/MediaBox [0 0 252 72]"), "{text}");
        assert!(content().starts_with("0.1875 0 0 -0.1875 0 72 cm"), "{}", content());
    }

    #[test]
    fn shapes_are_paths_with_colors_dashes_and_opacity() {
        let content = content();
        let lines: Vec<&str> = content.lines().collect();
        let line = ["/O500 gs", "0 0.44705883 0.69803923 RG", "7 w", "[36 22] 0 d", "8 64 m", "136 64 l", "S"];
        assert!(lines.windows(line.len()).any(|window| window == line), "{content}");
        let disk: Vec<&&str> = lines.iter().skip_while(|line| **line != "1 0 0 rg").collect();
        assert!(disk.iter().any(|line| line.ends_with(" c")) && disk.contains(&&"f"), "{content}");
        let pdf = pdf("figure", SVG).unwrap();
        assert!(String::from_utf8_lossy(&pdf).contains("/O500 <<"));
    }

    /// The codes in the content are those of `ToUnicode`, so that the text can be selected. Kerning of "To" is -44 of 1000.
    #[test]
    fn text_is_shown_in_the_embedded_font() {
        let streams = streams(&pdf("figure", SVG).unwrap());
        let characters = String::from_utf8_lossy(&streams[2]).into_owned();
        let unicode = |code: &str| {
            let line = characters.lines().find(|line| line.starts_with(&format!("<{code}> <")))?;
            char::from_u32(u32::from_str_radix(line.split(['<', '>']).nth(3)?, 16).ok()?)
        };
        let content = content();
        let shown = content.lines().find_map(|line| line.strip_suffix(" TJ")).unwrap();
        let text: Option<String> = shown.split('(').skip(1).map(|part| unicode(&code(part))).collect();
        assert_eq!(text.as_deref(), Some("To <10 ms"), "{shown}\n{characters}");
        assert!(shown.contains(") 44 ("), "{shown}");
        // An OpenType font with TrueType outlines.
        assert_eq!(streams[1][..4], [0, 1, 0, 0]);
        assert!(streams[1].len() < 10_000, "{} bytes: only these glyphs", streams[1].len());
    }

    /// Widths are those of `hmtx`: T 548, o 582.
    #[test]
    fn the_widths_are_those_of_the_font() {
        let pdf = pdf("figure", SVG).unwrap();
        let text = String::from_utf8_lossy(&pdf).into_owned();
        assert!(text.contains("/W [1 1 548 2 2 582 "), "{text}");
    }
}
