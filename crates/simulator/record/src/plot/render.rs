//! Conversion of SVG to PNG, only for the elements and attributes of this crate's figures.

use super::{PlotError, glyphs};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};

/// Supported attributes: those that are drawn, and those equal in all figures, such as line joins, line caps and the
/// font.
const ATTRIBUTES: &str = "cx cy dy fill font-family font-size height opacity points r stroke stroke-dasharray \
     stroke-linecap stroke-linejoin stroke-width text-anchor transform viewBox width x x1 x2 xmlns y y1 y2";

pub(super) fn png(name: &str, svg: &str, scale: f32) -> Result<Vec<u8>, PlotError> {
    pixels(svg, scale)
        .and_then(|pixels| pixels.encode_png().map_err(|error| RenderError::Encoding(error.to_string())))
        .map_err(|reason| PlotError::Render { name: name.to_owned(), reason })
}

/// Reason why an SVG text is not a figure of this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum RenderError {
    #[error("\"{0}\" is not a tag with attributes")]
    Tag(String),
    #[error("figures have no {0}")]
    Unknown(String),
    #[error("<{tag}> has no {key}")]
    Missing { tag: String, key: String },
    #[error("{key}=\"{value}\" of <{tag}> is not {expected}")]
    Value { tag: String, key: String, value: String, expected: &'static str },
    #[error("the size is missing or too large")]
    Size,
    #[error("the built-in font is invalid")]
    Font,
    /// Error of the PNG encoder.
    #[error("{0}")]
    Encoding(String),
}

fn pixels(svg: &str, scale: f32) -> Result<Pixmap, RenderError> {
    // The drawing library escapes `<`, `>` and `"` in text and attributes.
    let mut elements = svg.split('<').filter(|element| !element.is_empty() && !element.starts_with('/'));
    let root = Element::read(elements.next().unwrap_or_default())?;
    let scale = if scale.is_finite() { scale.clamp(0.1, 8.0) } else { 1.0 };
    let whole = |length: f32| (length.round() * scale).round() as u32;
    let (width, height) = (root.number("width")?, root.number("height")?);
    let mut pixels = Pixmap::new(whole(width), whole(height)).ok_or(RenderError::Size)?;
    let [_, _, units, _] = root.numbers("viewBox")?[..] else { return Err(root.invalid("viewBox", "four numbers")) };
    let to_pixels = Transform::from_scale(scale * width / units, scale * width / units);
    for element in elements {
        let element = Element::read(element)?;
        if let Some(path) = element.path()? {
            element.paint(&path, to_pixels, &mut pixels)?;
        }
    }
    Ok(pixels)
}

struct Element<'a> {
    tag: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    /// The text up to the next tag.
    text: &'a str,
}

impl<'a> Element<'a> {
    /// Parses an element without its first bracket.
    fn read(element: &'a str) -> Result<Self, RenderError> {
        let parts = element.split_once('>').and_then(|(head, text)| Some((head.split_once(' ')?, text)));
        let ((tag, attributes), text) = parts.ok_or_else(|| RenderError::Tag(element.to_owned()))?;
        let attributes = attributes.trim_end_matches('/').strip_suffix('"').unwrap_or(attributes).split("\" ");
        let read = |attribute: &'a str| {
            let pair = attribute.split_once("=\"").filter(|(key, _)| ATTRIBUTES.split(' ').any(|known| known == *key));
            pair.ok_or_else(|| RenderError::Unknown(format!("attribute {attribute} of <{tag}>")))
        };
        Ok(Self { tag, attributes: attributes.map(read).collect::<Result<_, _>>()?, text })
    }

    fn attribute(&self, key: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// Returns the error of a missing or invalid attribute.
    fn invalid(&self, key: &str, expected: &'static str) -> RenderError {
        let (tag, key) = (self.tag.to_owned(), key.to_owned());
        match self.attribute(&key) {
            Some(value) => RenderError::Value { tag, key, value: value.to_owned(), expected },
            None => RenderError::Missing { tag, key },
        }
    }

    fn numbers(&self, key: &str) -> Result<Vec<f32>, RenderError> {
        let numbers = self.attribute(key).map(|text| text.split([' ', ',']).filter(|number| !number.is_empty()));
        let numbers = numbers.and_then(|numbers| numbers.map(|number| number.parse().ok()).collect());
        numbers.ok_or_else(|| self.invalid(key, "a number"))
    }

    fn number(&self, key: &str) -> Result<f32, RenderError> {
        let [number] = self.numbers(key)?[..] else { return Err(self.invalid(key, "one number")) };
        Ok(number)
    }

    /// Returns the shape, in units of the `viewBox`; `None` if it is empty.
    fn path(&self) -> Result<Option<Path>, RenderError> {
        let mut path = PathBuilder::new();
        match self.tag {
            "rect" => {
                let (x, y) = (self.number("x")?, self.number("y")?);
                let rect = Rect::from_xywh(x, y, self.number("width")?, self.number("height")?);
                path.push_rect(rect.ok_or_else(|| self.invalid("width", "a width of a rectangle"))?);
            }
            "circle" => path.push_circle(self.number("cx")?, self.number("cy")?, self.number("r")?),
            "line" => {
                path.move_to(self.number("x1")?, self.number("y1")?);
                path.line_to(self.number("x2")?, self.number("y2")?);
            }
            "polyline" | "polygon" => {
                for (number, point) in self.numbers("points")?.chunks_exact(2).enumerate() {
                    let draw = if number == 0 { PathBuilder::move_to } else { PathBuilder::line_to };
                    draw(&mut path, point[0], point[1]);
                }
                if self.tag == "polygon" {
                    path.close();
                }
            }
            "text" => return self.text_path(),
            tag => return Err(RenderError::Unknown(format!("<{tag}>"))),
        }
        Ok(path.finish())
    }

    /// Returns the outlines of the text. Consecutive spaces are one space, and an `ex` is half an `em`.
    fn text_path(&self) -> Result<Option<Path>, RenderError> {
        let words: Vec<&str> = self.text.split([' ', '\n']).filter(|word| !word.is_empty()).collect();
        let words = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
            .into_iter()
            .fold(words.join(" "), |words, (escape, character)| words.replace(escape, character));
        let line = glyphs::line(&words).ok_or(RenderError::Font)?;
        let (x, y, size) = (self.number("x")?, self.number("y")?, self.number("font-size")?);
        let anchor = match self.attribute("text-anchor") {
            Some("middle") => 0.5,
            Some("end") => 1.0,
            _ => 0.0,
        };
        let below = match self.attribute("dy") {
            Some("0.76em") => 0.76,
            Some("0.5ex") => 0.25,
            Some("-0.5ex") => -0.25,
            _ => return Err(self.invalid("dy", "a value of these figures")),
        };
        let degrees = match self.attribute("transform") {
            None => 0.0,
            Some(rotation) if rotation.starts_with("rotate(90,") => 90.0,
            Some(rotation) if rotation.starts_with("rotate(270,") => 270.0,
            Some(_) => return Err(self.invalid("transform", "a value of these figures")),
        };
        let placed = Transform::from_rotate_at(degrees, x, y)
            .pre_translate(x, y + below * size)
            .pre_scale(size / line.units_per_em, -size / line.units_per_em)
            .pre_translate(-anchor * line.width, 0.0);
        Ok(line.path.and_then(|path| path.transform(placed)))
    }

    fn paint(&self, path: &Path, to_pixels: Transform, pixels: &mut Pixmap) -> Result<(), RenderError> {
        if let Some(fill) = self.color("fill")? {
            pixels.fill_path(path, &fill, FillRule::Winding, to_pixels, None);
        }
        if let Some(color) = self.color("stroke")? {
            let width = self.attribute("stroke-width").map_or(Ok(1.0), |_| self.number("stroke-width"))?;
            let dash = self.attribute("stroke-dasharray").map(|_| self.numbers("stroke-dasharray")).transpose()?;
            let dash = dash.and_then(|lengths| StrokeDash::new(lengths, 0.0));
            let (line_cap, line_join) = (LineCap::Round, LineJoin::Round);
            let stroke = Stroke { width, line_cap, line_join, dash, ..Stroke::default() };
            pixels.stroke_path(path, &color, &stroke, to_pixels, None);
        }
        Ok(())
    }

    fn color(&self, key: &str) -> Result<Option<Paint<'static>>, RenderError> {
        let Some(text) = self.attribute(key).filter(|color| *color != "none") else { return Ok(None) };
        let number = text.strip_prefix('#').and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let number = number.ok_or_else(|| self.invalid(key, "# and six hexadecimal digits"))?;
        let [_, red, green, blue] = number.to_be_bytes();
        let mut color = Color::from_rgba8(red, green, blue, 255);
        color.apply_opacity(self.number("opacity")?);
        let mut paint = Paint::default();
        paint.set_color(color);
        Ok(Some(paint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders a figure of 40 px by 20 px, in quarter pixels.
    fn drawn(elements: &str) -> Result<Pixmap, RenderError> {
        let svg = format!(
            "<svg width=\"40\" height=\"20\" viewBox=\"0 0 160 80\" stroke-linejoin=\"round\" stroke-linecap=\"round\" \
             xmlns=\"http://www.w3.org/2000/svg\">\n\
             <rect x=\"0\" y=\"0\" width=\"160\" height=\"80\" opacity=\"1\" fill=\"#FFFFFF\" stroke=\"none\"/>\n{elements}</svg>\n"
        );
        pixels(&svg, 1.0)
    }

    fn color(pixels: &Pixmap, x: u32, y: u32) -> [u8; 3] {
        let pixel = pixels.pixel(x, y).unwrap();
        [pixel.red(), pixel.green(), pixel.blue()]
    }

    fn extents(text: &str) -> [f32; 4] {
        let bounds = Element::read(text).unwrap().path().unwrap().unwrap().bounds();
        [bounds.left(), bounds.right(), bounds.top(), bounds.bottom()].map(|length| (length * 1e3).round() / 1e3)
    }

    /// H is 692 wide; its outline is from 90 to 602 and from 0 to 693 of 1000. At a font size of 100, half a line is
    /// 34.6, and 0.5ex is 25.
    #[test]
    fn text_is_placed_by_its_anchor_and_offset() {
        let text = |anchor: &str, dy: &str, transform: &str| {
            extents(&format!(
                "text x=\"200\" y=\"300\" dy=\"{dy}\" text-anchor=\"{anchor}\" font-size=\"100\"{transform}>\nH\n"
            ))
        };
        assert_eq!(text("start", "0.5ex", ""), [209.0, 260.2, 255.7, 325.0]);
        assert_eq!(text("middle", "-0.5ex", ""), [174.4, 225.6, 205.7, 275.0]);
        assert_eq!(text("end", "0.76em", ""), [139.8, 191.0, 306.7, 376.0]);
        // Rotated by 90 degrees to the left: 25.6 to both sides of y, and the baseline 25 to the right of x.
        assert_eq!(text("middle", "0.5ex", " transform=\"rotate(270, 200, 300)\""), [155.7, 225.0, 274.4, 325.6]);
        assert_eq!(text("middle", "0.5ex", " transform=\"rotate(90, 200, 300)\""), [175.0, 244.3, 274.4, 325.6]);
    }

    #[test]
    fn escaped_characters_are_one_glyph_each() {
        let width = |text: &str| {
            extents(&format!("text x=\"0\" y=\"0\" dy=\"0.5ex\" text-anchor=\"start\" font-size=\"1000\">\n{text}\n"))
                [1]
        };
        let escaped = width("&lt;&gt;&quot;&apos;&amp;lt;  |");
        let bar = glyphs::line("|").unwrap();
        let right = glyphs::line("<>\"'&lt; |").unwrap().width - bar.width + bar.path.unwrap().bounds().right();
        assert!((escaped - right).abs() < 0.01, "{escaped} {right}");
    }

    #[test]
    fn shapes_have_their_positions_and_colors() {
        let pixels = drawn(
            "<polygon opacity=\"0.5\" fill=\"#FF0000\" points=\"0,0 40,0 40,40 0,40 \"/>\n\
             <circle cx=\"60\" cy=\"20\" r=\"16\" opacity=\"1\" fill=\"#0072B2\" stroke=\"none\" stroke-width=\"1\"/>\n\
             <line opacity=\"1\" stroke=\"#00FF00\" stroke-width=\"8\" x1=\"84\" y1=\"20\" x2=\"156\" y2=\"20\"/>\n\
             <polyline fill=\"none\" opacity=\"1\" stroke=\"#000000\" stroke-width=\"8\" stroke-dasharray=\"32 32\" \
             points=\"8,64 136,64 \"/>\n\
             <polyline fill=\"none\" opacity=\"1\" stroke=\"#000000\" stroke-width=\"8\" points=\"\"/>\n",
        )
        .unwrap();
        assert_eq!(color(&pixels, 5, 5), [255, 127, 127]);
        assert_eq!(color(&pixels, 15, 5), [0, 0x72, 0xb2]);
        assert_eq!(color(&pixels, 25, 5), [0, 255, 0]);
        // Dashes from 2 to 10 px and from 18 to 26 px, with round caps of 1 px.
        let dashes = [6, 14, 22, 30].map(|x| color(&pixels, x, 16)[0]);
        assert_eq!(dashes, [0, 255, 0, 255]);
    }

    #[test]
    fn unsupported_elements_are_errors() {
        for (element, error) in [
            ("<ellipse cx=\"1\"/>", "figures have no <ellipse>"),
            ("<line stroke-opacity=\"1\"/>", "figures have no attribute stroke-opacity=\"1 of <line>"),
            ("<circle cx=\"1\" cy=\"2\"/>", "<circle> has no r"),
            ("<circle cx=\"1\" cy=\"2\" r=\"x\"/>", "r=\"x\" of <circle> is not a number"),
            ("<circle cx=\"1\" cy=\"2\" r=\"3 4\"/>", "r=\"3 4\" of <circle> is not one number"),
            (
                "<circle cx=\"1\" cy=\"2\" r=\"3\" opacity=\"1\" fill=\"red\"/>",
                "fill=\"red\" of <circle> is not # and six hexadecimal digits",
            ),
            ("<rect", "\"rect\" is not a tag with attributes"),
        ] {
            assert_eq!(drawn(element).unwrap_err().to_string(), error, "{element}");
        }
        assert_eq!(pixels("", 1.0).unwrap_err().to_string(), "\"\" is not a tag with attributes");
    }
}
