//! Lines, boxes and text as SVG.

use std::fmt::Write;

/// Height of a line of text, in px.
pub(super) const LINE_PX: f64 = 16.0;
/// Space above the drawing for the title, in px.
pub(super) const TITLE_PX: f64 = 40.0;
/// Approximate width of a character, in px.
pub(super) const CHARACTER_PX: f64 = 7.0;

/// A picture under construction. The origin is the upper left corner, below the title.
pub(super) struct Canvas {
    parts: String,
    width: f64,
    height: f64,
}

/// Position of a text relative to its point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { parts: String::new(), width, height }
    }

    fn add(&mut self, part: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.parts, "{part}");
    }

    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = anchor.name();
        self.add(format_args!(r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#, escaped(text)));
    }

    /// Draws lines of text below one another, centered on the point.
    pub(super) fn lines(&mut self, (x, y): (f64, f64), lines: &[&str]) {
        let first = y - (lines.len() as f64 - 1.0) / 2.0 * LINE_PX + 4.5;
        for (number, line) in lines.iter().enumerate() {
            self.text((x, first + number as f64 * LINE_PX), Anchor::Middle, line);
        }
    }

    /// Draws lines of text with an outline, readable on top of a line.
    pub(super) fn label(&mut self, at: (f64, f64), lines: &[&str]) {
        self.add(format_args!(r#"<g class="label">"#));
        self.lines(at, lines);
        self.add(format_args!("</g>"));
    }

    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), dashed: bool) {
        let dash = if dashed { r#" stroke-dasharray="5 4""# } else { "" };
        self.add(format_args!(r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"{dash}/>"#));
    }

    /// Draws a curve from one point to another, bent towards a third, with a head at its end.
    pub(super) fn arrow(&mut self, (x1, y1): (f64, f64), (bx, by): (f64, f64), (x2, y2): (f64, f64)) {
        self.add(format_args!(
            r#"<path d="M {x1:.1} {y1:.1} Q {bx:.1} {by:.1} {x2:.1} {y2:.1}" marker-end="url(#head)"/>"#
        ));
    }

    /// Draws a loop above a point, or below it, with a head at its end.
    pub(super) fn turn(&mut self, (x, y): (f64, f64), reach: f64) {
        let (left, right, top) = (x - 22.0, x + 22.0, y - reach);
        self.add(format_args!(
            r#"<path d="M {left:.1} {y:.1} C {left:.1} {top:.1} {right:.1} {top:.1} {right:.1} {y:.1}" marker-end="url(#head)"/>"#
        ));
    }

    pub(super) fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), round: f64, fill: &str) {
        self.add(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="{round}" fill="{fill}"/>"#
        ));
    }

    pub(super) fn path(&mut self, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.add(format_args!(r#"<polyline points="{}" stroke-width="2"/>"#, points.join(" ")));
    }

    pub(super) fn finish(self, title: &str) -> String {
        let (width, height, title) = (self.width, self.height + TITLE_PX, escaped(title));
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" font-family="sans-serif" font-size="13">
<title>{title}</title>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M 0 0 L 10 5 L 0 10 z" fill="#333"/></marker></defs>
<rect width="100%" height="100%" fill="white"/>
<text x="16" y="25" font-size="16">{title}</text>
<g transform="translate(0 {TITLE_PX})" fill="none" stroke="#333" stroke-width="1.2">
<style>text {{ fill: #111; stroke: none }} .label text {{ stroke: white; stroke-width: 4px; paint-order: stroke }}</style>
{}</g>
</svg>
"##,
            self.parts
        )
    }
}

/// Returns the numbers of each element of this kind in a picture, in the order of its attributes up to `end`.
#[cfg(test)]
pub(super) fn numbers(svg: &str, kind: &str, end: &str) -> Vec<Vec<f64>> {
    let start = format!("<{kind} ");
    let drawn = svg.split_once("</style>").map_or("", |(_, drawn)| drawn);
    let elements = drawn.lines().filter_map(|line| line.strip_prefix(&start)?.split_once(end));
    let words = |text: &str| text.split([' ', '"', ',', '=']).filter_map(|word| word.parse().ok()).collect();
    elements.map(|(attributes, _)| words(attributes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped() {
        let mut canvas = Canvas::new(100.0, 50.0);
        canvas.text((1.0, 2.0), Anchor::Start, "a<b & \"c\"");
        let svg = canvas.finish("x > y");
        assert!(svg.contains("a&lt;b &amp; &quot;c&quot;") && svg.contains("<title>x &gt; y</title>"), "{svg}");
    }

    /// The picture is as wide as the drawing, and higher by the space for the title.
    #[test]
    fn the_title_is_above_the_drawing() {
        let svg = Canvas::new(100.0, 50.0).finish("title");
        assert!(svg.contains(r#"width="100" height="90" viewBox="0 0 100 90""#), "{svg}");
        assert!(svg.contains(r#"transform="translate(0 40)""#), "{svg}");
    }

    /// One, two and three lines of text have the same mean height, and their anchors differ.
    #[test]
    fn lines_of_text_are_centered_on_their_point() {
        for lines in [&["a"][..], &["a", "b"], &["a", "b", "c"]] {
            let mut canvas = Canvas::new(100.0, 50.0);
            canvas.lines((30.0, 20.0), lines);
            let svg = canvas.finish("");
            let places = numbers(&svg, "text", "text-anchor");
            assert!(places.iter().all(|place| place[0] == 30.0) && svg.contains("text-anchor=\"middle\""), "{svg}");
            assert!(places.windows(2).all(|pair| pair[1][1] - pair[0][1] == LINE_PX), "{places:?}");
            let mean = places.iter().map(|place| place[1]).sum::<f64>() / lines.len() as f64;
            // A baseline is a third of a character below its middle.
            assert!((mean - 20.0 - 4.5).abs() < 1e-9, "{places:?}");
        }
        let mut canvas = Canvas::new(100.0, 50.0);
        [Anchor::Start, Anchor::End].into_iter().for_each(|anchor| canvas.text((0.0, 0.0), anchor, "a"));
        let svg = canvas.finish("");
        assert!(svg.contains("text-anchor=\"start\"") && svg.contains("text-anchor=\"end\""), "{svg}");
    }

    #[test]
    fn only_dashed_lines_have_dashes() {
        let dashes = |dashed| {
            let mut canvas = Canvas::new(100.0, 50.0);
            canvas.line((0.0, 0.0), (1.0, 1.0), dashed);
            canvas.finish("").matches("stroke-dasharray").count()
        };
        assert_eq!([dashes(false), dashes(true)], [0, 1]);
    }
}
