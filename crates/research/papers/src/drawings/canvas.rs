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
}
