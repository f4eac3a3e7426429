//! Reads the SVG of this crate's figures, and only their elements and attributes, to convert it to other formats.

use super::glyphs::{self, Line};
use tiny_skia::{Path, PathBuilder, Rect, Transform};

/// Supported attributes: those that are drawn, and those equal in all figures, such as line joins, line caps and the
/// font.
const ATTRIBUTES: &str = "cx cy dy fill font-family font-size height opacity points r stroke stroke-dasharray \
     stroke-linecap stroke-linejoin stroke-width text-anchor transform viewBox width x x1 x2 xmlns y y1 y2";

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
    /// Error of the PNG encoder or of the font's reduction.
    #[error("{0}")]
    Encoding(String),
}

/// A figure: its size and its elements in the order of drawing.
pub(super) struct Drawing<'a> {
    /// Width and height, in px.
    pub(super) size: (f32, f32),
    /// Width of the `viewBox`, in units.
    pub(super) units: f32,
    pub(super) elements: Vec<Element<'a>>,
}

impl<'a> Drawing<'a> {
    pub(super) fn read(svg: &'a str) -> Result<Self, RenderError> {
        // The drawing library escapes `<`, `>` and `"` in text and attributes.
        let mut elements = svg.split('<').filter(|element| !element.is_empty() && !element.starts_with('/'));
        let root = Element::read(elements.next().unwrap_or_default())?;
        let size = (root.number("width")?, root.number("height")?);
        let [_, _, units, _] = root.numbers("viewBox")?[..] else {
            return Err(root.invalid("viewBox", "four numbers"));
        };
        Ok(Self { size, units, elements: elements.map(Element::read).collect::<Result<_, _>>()? })
    }
}

/// What an element draws, in units of the `viewBox`.
pub(super) enum Shape {
    Path(Path),
    Text(PlacedText),
}

/// A line of text, and where its baseline is.
pub(super) struct PlacedText {
    pub(super) line: Line,
    /// From font units, with the y axis up, to units of the `viewBox`.
    pub(super) placed: Transform,
}

/// Stroke or fill.
pub(super) struct Ink {
    /// Red, green and blue.
    pub(super) color: [u8; 3],
    /// From 0 to 1.
    pub(super) opacity: f32,
}

/// A stroke with round caps and joins.
pub(super) struct Outline {
    pub(super) ink: Ink,
    /// In units of the `viewBox`.
    pub(super) width: f32,
    /// Lengths of dashes and gaps in turn, in units of the `viewBox`; empty for a solid line.
    pub(super) dashes: Vec<f32>,
}

pub(super) struct Element<'a> {
    tag: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    /// The text up to the next tag.
    text: &'a str,
}

impl<'a> Element<'a> {
    /// Parses an element without its first bracket.
    pub(super) fn read(element: &'a str) -> Result<Self, RenderError> {
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

    /// Returns the shape; `None` if it is empty.
    pub(super) fn shape(&self) -> Result<Option<Shape>, RenderError> {
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
            "text" => return self.text().map(|text| Some(Shape::Text(text))),
            tag => return Err(RenderError::Unknown(format!("<{tag}>"))),
        }
        Ok(path.finish().map(Shape::Path))
    }

    /// Returns the text and its place. Consecutive spaces are one space, and an `ex` is half an `em`.
    fn text(&self) -> Result<PlacedText, RenderError> {
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
        Ok(PlacedText { line, placed })
    }

    pub(super) fn fill(&self) -> Result<Option<Ink>, RenderError> {
        self.ink("fill")
    }

    pub(super) fn stroke(&self) -> Result<Option<Outline>, RenderError> {
        let Some(ink) = self.ink("stroke")? else { return Ok(None) };
        let width = self.attribute("stroke-width").map_or(Ok(1.0), |_| self.number("stroke-width"))?;
        let dashes = self.attribute("stroke-dasharray").map_or(Ok(Vec::new()), |_| self.numbers("stroke-dasharray"))?;
        Ok(Some(Outline { ink, width, dashes }))
    }

    fn ink(&self, key: &str) -> Result<Option<Ink>, RenderError> {
        let Some(text) = self.attribute(key).filter(|color| *color != "none") else { return Ok(None) };
        let number = text.strip_prefix('#').and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let number = number.ok_or_else(|| self.invalid(key, "# and six hexadecimal digits"))?;
        let [_, color @ ..] = number.to_be_bytes();
        Ok(Some(Ink { color, opacity: self.number("opacity")? }))
    }
}
