//! Reads figures by the labels of their ticks, without knowledge of the layout.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub(crate) type Points = Vec<(f64, f64)>;

/// A tag of an SVG, and the text after it.
pub(crate) struct Element<'a> {
    pub(crate) tag: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Element<'a> {
    pub(crate) fn all(svg: &'a str) -> Vec<Self> {
        svg.split('<')
            .filter_map(|part| part.split_once('>'))
            .map(|(tag, text)| Self { tag, text: text.trim() })
            .collect()
    }

    pub(crate) fn get(&self, attribute: &str) -> &'a str {
        self.tag.split_once(&format!(" {attribute}=\"")).and_then(|(_, rest)| rest.split('"').next()).unwrap_or("")
    }

    pub(crate) fn number(&self, attribute: &str) -> f64 {
        self.get(attribute).parse().unwrap()
    }

    pub(crate) fn points(&self) -> Points {
        let pair = |text: &str| text.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap();
        self.get("points").split_whitespace().map(pair).collect()
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.tag.split(' ').next() == Some(name)
    }
}

/// Conversion between numbers and pixels by the two outermost labels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    first: (f64, f64),
    last: (f64, f64),
}

impl Axis {
    /// Creates the conversion from the pixels and labels of ticks, which must be collinear.
    fn new(ticks: &[(f64, f64)]) -> Self {
        let axis = Self { first: ticks[0], last: *ticks.last().unwrap() };
        assert!(ticks.len() >= 3, "{ticks:?}");
        for (pixel, label) in ticks {
            assert!((axis.pixel(*label) - pixel).abs() <= 1.5, "{label} at {pixel}: {axis:?}");
        }
        axis
    }

    pub(crate) fn pixel(&self, value: f64) -> f64 {
        let (from, to) = (self.first, self.last);
        from.0 + (value - from.1) * (to.0 - from.0) / (to.1 - from.1)
    }
}

/// A plot area with its bounds and axes.
pub(crate) struct Panel {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

/// Color of axes and their ticks.
const AXIS: &str = "#666666";

impl Panel {
    /// Returns all panels. `place` and `value` parse the labels of the horizontal and the vertical axis.
    pub(crate) fn all(
        elements: &[Element<'_>],
        place: impl Fn(&str) -> Option<f64>,
        value: impl Fn(&str) -> Option<f64>,
    ) -> Vec<Self> {
        let lines: Vec<Points> =
            elements.iter().filter(|e| e.is("polyline") && e.get("stroke") == AXIS).map(Element::points).collect();
        let long = |line: &&Points| (line[0].0 - line[1].0).abs() + (line[0].1 - line[1].1).abs() > 100.0;
        let labels = |anchor: &str| -> Vec<(f64, f64, &str)> {
            let of = |e: &&Element<'_>| e.is("text") && e.get("text-anchor") == anchor && e.get("transform").is_empty();
            elements.iter().filter(of).map(|e| (e.number("x"), e.number("y"), e.text)).collect()
        };
        let (at_left, below) = (labels("end"), labels("middle"));
        let verticals = lines.iter().filter(long).filter(|line| line[0].0 == line[1].0);
        verticals
            .map(|vertical| {
                let (top, bottom) = (vertical[0].1.min(vertical[1].1), vertical[0].1.max(vertical[1].1));
                let horizontal = lines
                    .iter()
                    .filter(long)
                    .find(|line| line[0].1 == line[1].1 && (line[0].1 - bottom).abs() < 3.0)
                    .unwrap();
                // A label is at the height of its tick, or below it.
                let ticks_y: Points = at_left
                    .iter()
                    .filter(|(_, y, _)| (top..=bottom).contains(y))
                    .inspect(|(_, y, _)| {
                        assert!(lines.iter().any(|l| l[0].0 != l[1].0 && l[0].1 == *y && l[1].1 == *y));
                    })
                    .map(|(_, y, label)| (*y, value(label).unwrap()))
                    .collect();
                let ticks_x: Points = below
                    .iter()
                    .filter(|(_, y, _)| (bottom..bottom + 60.0).contains(y))
                    .filter_map(|(x, _, label)| Some((*x, place(label)?)))
                    .inspect(|(x, _)| assert!(lines.iter().any(|l| l[0].1 != l[1].1 && l[0].0 == *x && l[1].0 == *x)))
                    .collect();
                let (x, y) = (Axis::new(&ticks_x), Axis::new(&ticks_y));
                Self { left: horizontal[0].0, right: horizontal[1].0, top, bottom, x, y }
            })
            .collect()
    }

    pub(crate) fn holds(&self, (x, y): (f64, f64)) -> bool {
        (self.left - 2.0..=self.right + 2.0).contains(&x) && (self.top - 2.0..=self.bottom + 2.0).contains(&y)
    }

    /// Asserts that marks are at the coordinates of the data, with an error of at most half a pixel (2 units).
    pub(crate) fn assert_shows(&self, marks: &[(f64, f64)], data: &[(f64, f64)], name: &str) {
        assert_eq!(marks.len(), data.len(), "{name}: {marks:?}");
        for (mark, (x, y)) in marks.iter().zip(data) {
            let expected = (self.x.pixel(*x), self.y.pixel(*y));
            let error = (mark.0 - expected.0).abs().max((mark.1 - expected.1).abs());
            assert!(error <= 2.0, "{name}: ({x}, {y}) is drawn at {mark:?} instead of {expected:?}");
        }
    }
}

/// Returns the lines in a panel in the order of drawing.
pub(crate) fn lines(elements: &[Element<'_>], panel: &Panel) -> Vec<Points> {
    let drawn = elements.iter().filter(|e| e.is("polyline") && e.get("stroke") != AXIS).map(Element::points);
    drawn.filter(|points| points.iter().all(|point| panel.holds(*point))).collect()
}

pub(crate) fn number(label: &str) -> Option<f64> {
    label.parse().ok()
}
