//! Placement of labels next to lines, without covering lines, boxes and other labels if possible.

use super::canvas::{CHARACTER_PX, LINE_PX};

type Point = (f64, f64);
pub(super) type Segment = (Point, Point);

/// Distance of a label from its line, in px.
const APART_PX: f64 = 4.0;
/// Positions along a line at which a label is tried, in this order.
const POSITIONS: [f64; 5] = [0.5, 0.4, 0.6, 0.3, 0.7];

/// A rectangle, by its center and half its sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    center: Point,
    half: (f64, f64),
}

impl Area {
    pub(super) const fn new(center: Point, (width, height): (f64, f64)) -> Self {
        Self { center, half: (width / 2.0, height / 2.0) }
    }

    fn overlaps(&self, other: &Self) -> bool {
        (self.center.0 - other.center.0).abs() < self.half.0 + other.half.0
            && (self.center.1 - other.center.1).abs() < self.half.1 + other.half.1
    }

    /// Whether a line passes through the interior.
    fn is_crossed(&self, (from, to): &Segment) -> bool {
        let axes = [(from.0, to.0, self.center.0, self.half.0), (from.1, to.1, self.center.1, self.half.1)];
        let mut part = (0.0f64, 1.0f64);
        for (from, to, center, half) in axes {
            if from == to {
                if (from - center).abs() >= half {
                    return false;
                }
                continue;
            }
            let (one, other) = ((center - half - from) / (to - from), (center + half - from) / (to - from));
            part = (part.0.max(one.min(other)), part.1.min(one.max(other)));
        }
        part.0 < part.1
    }
}

/// Lines and areas that labels must not cover.
#[derive(Debug, Default)]
pub(super) struct Obstacles {
    pub(super) lines: Vec<Segment>,
    pub(super) areas: Vec<Area>,
}

impl Obstacles {
    fn is_free(&self, area: &Area) -> bool {
        !self.lines.iter().any(|line| area.is_crossed(line)) && !self.areas.iter().any(|known| known.overlaps(area))
    }

    /// Returns the center of a label of one of these lines, and reserves its area.
    pub(super) fn place(&mut self, label: &[&str], lines: &[Segment]) -> Point {
        let longest = label.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        let size = (longest as f64 * CHARACTER_PX, label.len() as f64 * LINE_PX);
        let places = lines.iter().flat_map(|line| {
            [-1.0, 1.0]
                .into_iter()
                .flat_map(move |side| POSITIONS.map(|part| Area::new(next_to(line, part, side, size), size)))
        });
        let mut places = places.peekable();
        let Some(first) = places.peek().copied() else { return Point::default() };
        let area = places.find(|area| self.is_free(area)).unwrap_or(first);
        self.areas.push(area);
        area.center
    }
}

/// Returns the center of a label of this size above (`side` -1) or below (1) a line, at the fraction `part` of its
/// length.
fn next_to((from, to): &Segment, part: f64, side: f64, (width, height): (f64, f64)) -> Point {
    let x = from.0 + part * (to.0 - from.0);
    let y = |x: f64| {
        if from.0 == to.0 {
            return from.1 + part * (to.1 - from.1);
        }
        from.1 + ((x - from.0) / (to.0 - from.0)).clamp(0.0, 1.0) * (to.1 - from.1)
    };
    let (left, right) = (y(x - width / 2.0), y(x + width / 2.0));
    let edge = if side < 0.0 { left.min(right) } else { left.max(right) };
    (x, edge + side * (height / 2.0 + APART_PX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the diagonal of a square passes through its center, and 6 px away from the corner of a smaller one.
    #[test]
    fn lines_cross_areas() {
        let diagonal = ((0.0, 0.0), (100.0, 100.0));
        assert!(Area::new((50.0, 50.0), (10.0, 10.0)).is_crossed(&diagonal));
        assert!(!Area::new((62.0, 40.0), (10.0, 10.0)).is_crossed(&diagonal));
        assert!(!Area::new((150.0, 150.0), (10.0, 10.0)).is_crossed(&diagonal), "beyond its end");
        assert!(Area::new((50.0, 3.0), (10.0, 10.0)).is_crossed(&((0.0, 0.0), (100.0, 0.0))));
        assert!(!Area::new((50.0, 8.0), (10.0, 10.0)).is_crossed(&((0.0, 0.0), (100.0, 0.0))));
    }

    /// A label of two lines is above the middle of a horizontal line, and its edge is 4 px away.
    #[test]
    fn a_label_is_as_high_as_its_lines() {
        let line = ((0.0, 100.0), (200.0, 100.0));
        let center = Obstacles::default().place(&["one", "three"], &[line]);
        assert_eq!(center, (100.0, 100.0 - APART_PX - LINE_PX));
    }

    /// The fan of ten clients of lan-queues' Figure 2: its label covered three of the lines.
    #[test]
    fn a_label_of_a_fan_covers_no_line() {
        let lines: Vec<Segment> = (0..10).map(|n| ((60.0, 60.0 + 58.0 * f64::from(n)), (310.0, 321.0))).collect();
        let mut obstacles = Obstacles { lines: lines.clone(), areas: Vec::new() };
        for label in [["10Mbps, 3ms", "droptail 16packets"], ["another", "label"]] {
            let center = obstacles.place(&label, &lines);
            let area = *obstacles.areas.last().unwrap();
            assert!(!lines.iter().any(|line| area.is_crossed(line)), "{label:?} at {center:?}");
        }
        assert!(!obstacles.areas[0].overlaps(&obstacles.areas[1]));
    }
}
