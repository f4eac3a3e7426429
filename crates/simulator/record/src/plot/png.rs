//! Conversion of a figure's SVG to PNG.

use super::PlotError;
use super::svg::{Drawing, Element, Ink, RenderError, Shape};
use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, Path, Pixmap, Stroke, StrokeDash, Transform};

pub(super) fn png(name: &str, svg: &str, scale: f32) -> Result<Vec<u8>, PlotError> {
    pixels(svg, scale)
        .and_then(|pixels| pixels.encode_png().map_err(|error| RenderError::Encoding(error.to_string())))
        .map_err(|reason| PlotError::Render { name: name.to_owned(), format: "PNG", reason: reason.into() })
}

fn pixels(svg: &str, scale: f32) -> Result<Pixmap, RenderError> {
    let Drawing { size: (width, height), units, elements } = Drawing::read(svg)?;
    let scale = if scale.is_finite() { scale.clamp(0.1, 8.0) } else { 1.0 };
    let whole = |length: f32| (length * scale).round() as u32;
    let mut pixels = Pixmap::new(whole(width.round()), whole(height.round())).ok_or(RenderError::Size)?;
    let to_pixels = Transform::from_scale(scale * width / units, scale * width / units);
    for element in elements {
        paint(&element, to_pixels, &mut pixels)?;
    }
    Ok(pixels)
}

fn paint(element: &Element<'_>, to_pixels: Transform, pixels: &mut Pixmap) -> Result<(), RenderError> {
    let Some(path) = path(element)? else { return Ok(()) };
    if let Some(ink) = element.fill()? {
        pixels.fill_path(&path, &color(&ink), FillRule::Winding, to_pixels, None);
    }
    if let Some(outline) = element.stroke()? {
        let dash = StrokeDash::new(outline.dashes, 0.0);
        let (line_cap, line_join) = (LineCap::Round, LineJoin::Round);
        let stroke = Stroke { width: outline.width, line_cap, line_join, dash, ..Stroke::default() };
        pixels.stroke_path(&path, &color(&outline.ink), &stroke, to_pixels, None);
    }
    Ok(())
}

/// Returns the shape, or the outlines of the text; `None` if there are none.
fn path(element: &Element<'_>) -> Result<Option<Path>, RenderError> {
    Ok(match element.shape()? {
        Some(Shape::Text(text)) => {
            let outlines = text.line.outlines().ok_or(RenderError::Font)?;
            outlines.finish().and_then(|path| path.transform(text.placed))
        }
        Some(Shape::Path(path)) => Some(path),
        None => None,
    })
}

fn color(ink: &Ink) -> Paint<'static> {
    let [red, green, blue] = ink.color;
    let mut color = Color::from_rgba8(red, green, blue, 255);
    color.apply_opacity(ink.opacity);
    let mut paint = Paint::default();
    paint.set_color(color);
    paint
}

#[cfg(test)]
mod tests {
    use super::super::glyphs;
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
        let bounds = path(&Element::read(text).unwrap()).unwrap().unwrap().bounds();
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
        let of_bar = bar.outlines().unwrap().finish().unwrap().bounds().right();
        let right = glyphs::line("<>\"'&lt; |").unwrap().width - bar.width + of_bar;
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
