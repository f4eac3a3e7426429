//! Boxes and arrows: state machines and block diagrams.

use super::canvas::{CHARACTER_PX, Canvas, LINE_PX};

/// A box. Columns and rows start at 0.
pub(super) struct Node {
    pub(super) lines: &'static [&'static str],
    pub(super) column: f64,
    pub(super) row: f64,
}

/// An arrow of a state machine, from one box to another or back to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Index of the box at the start.
    pub from: usize,
    /// Index of the box at the end.
    pub to: usize,
    /// Lines of text at the arrow: cause and action of the transition.
    pub label: &'static [&'static str],
}

/// A drawing of boxes and arrows.
pub(super) struct Graph {
    pub(super) nodes: &'static [Node],
    pub(super) transitions: &'static [Transition],
    /// Distance between columns and between rows, in px.
    pub(super) apart: (f64, f64),
    /// Whether boxes are drawn as states, with round ends.
    pub(super) states: bool,
}

const MARGIN_PX: f64 = 40.0;

impl Node {
    fn size(&self) -> (f64, f64) {
        let longest = self.lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        (longest as f64 * CHARACTER_PX + 28.0, self.lines.len() as f64 * LINE_PX + 20.0)
    }
}

impl Graph {
    fn center(&self, node: &Node) -> (f64, f64) {
        (MARGIN_PX + 110.0 + node.column * self.apart.0, MARGIN_PX + 70.0 + node.row * self.apart.1)
    }

    pub(super) fn draw(&self, title: &str) -> String {
        let farthest = |of: fn(&Node) -> f64| self.nodes.iter().map(of).fold(0.0, f64::max);
        let width = 2.0 * (MARGIN_PX + 110.0) + farthest(|node| node.column) * self.apart.0;
        let height = 2.0 * (MARGIN_PX + 70.0) + farthest(|node| node.row) * self.apart.1;
        let mut canvas = Canvas::new(width.max(560.0), height);
        for (number, transition) in self.transitions.iter().enumerate() {
            let [Some(from), Some(to)] = [transition.from, transition.to].map(|node| self.nodes.get(node)) else {
                continue;
            };
            if transition.from == transition.to {
                let before = self.transitions.iter().take(number);
                let below = before.filter(|other| other.from == other.to && other.from == transition.from).count() == 1;
                let ((x, y), (_, height)) = (self.center(from), from.size());
                let side = if below { 1.0 } else { -1.0 };
                let edge = y + side * height / 2.0;
                canvas.turn((x, edge), -side * 44.0);
                canvas
                    .lines((x, edge + side * (42.0 + transition.label.len() as f64 * LINE_PX / 2.0)), transition.label);
                continue;
            }
            let (start, end) = (self.center(from), self.center(to));
            let back = self.transitions.iter().any(|other| (other.from, other.to) == (transition.to, transition.from));
            let bend = if back { 34.0 } else { 0.0 };
            let (dx, dy) = (end.0 - start.0, end.1 - start.1);
            let length = f64::max(libm::sqrt(dx * dx + dy * dy), 1.0);
            let middle = ((start.0 + end.0) / 2.0 + dy / length * bend, (start.1 + end.1) / 2.0 - dx / length * bend);
            canvas.arrow(border(start, middle, from.size()), middle, border(end, middle, to.size()));
            let lift = transition.label.len() as f64 * LINE_PX / 2.0 + 6.0;
            // To the right of a steep arrow, above a flat one.
            let label = if dx.abs() > dy.abs() {
                (middle.0, middle.1 - lift)
            } else {
                let longest = transition.label.iter().map(|line| line.chars().count()).max().unwrap_or(0);
                (middle.0 + longest as f64 * CHARACTER_PX / 2.0 + 10.0, middle.1)
            };
            canvas.label(label, transition.label);
        }
        for node in self.nodes {
            let ((x, y), (width, height)) = (self.center(node), node.size());
            let round = if self.states { height / 2.0 } else { 3.0 };
            canvas.rectangle((x - width / 2.0, y - height / 2.0), (width, height), round, "#eef3fb");
            canvas.lines((x, y), node.lines);
        }
        canvas.finish(title)
    }
}

/// Returns the point where the line from the center of a box towards a point leaves the box.
fn border((x, y): (f64, f64), towards: (f64, f64), (width, height): (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (towards.0 - x, towards.1 - y);
    let share = f64::min(width / 2.0 / dx.abs().max(1e-9), height / 2.0 / dy.abs().max(1e-9)).min(1.0);
    (x + dx * share, y + dy * share)
}

#[cfg(test)]
mod tests {
    use super::super::canvas::numbers;
    use super::*;

    const fn node(lines: &'static [&'static str], column: f64, row: f64) -> Node {
        Node { lines, column, row }
    }

    const NODES: &[Node] =
        &[node(&["ab"], 0.0, 0.0), node(&["a", "abcdef"], 1.0, 0.0), node(&["abc", "a", "b"], 1.0, 1.0)];

    fn draw(transitions: &'static [Transition], states: bool) -> String {
        Graph { nodes: NODES, transitions, apart: (300.0, 200.0), states }.draw("title")
    }

    /// Returns left edge, upper edge, width, height and corner radius of each box.
    fn boxes(svg: &str) -> Vec<Vec<f64>> {
        numbers(svg, "rect", "fill")
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 0.11
    }

    /// Centers are at multiples of the distance between columns and rows, and the text is centered in its box.
    #[test]
    fn boxes_are_centered_on_their_places_and_hold_their_text() {
        let svg = draw(&[], false);
        let (boxes, mut texts) = (boxes(&svg), numbers(&svg, "text", "text-anchor").into_iter());
        let center = |of: &[f64]| (of[0] + of[2] / 2.0, of[1] + of[3] / 2.0);
        let first = center(&boxes[0]);
        assert_eq!(boxes.len(), NODES.len());
        for (node, of) in NODES.iter().zip(&boxes) {
            let (x, y) = center(of);
            assert!(close(x - first.0, node.column * 300.0) && close(y - first.1, node.row * 200.0), "{of:?}");
            let longest = node.lines.iter().map(|line| line.len()).max().unwrap() as f64;
            assert!(of[2] > longest * CHARACTER_PX && of[3] > node.lines.len() as f64 * LINE_PX, "{of:?}");
            let lines: Vec<_> = texts.by_ref().take(node.lines.len()).collect();
            assert!(lines.iter().all(|line| close(line[0], x) && of[1] < line[1] && line[1] < of[1] + of[3]), "{of:?}");
        }
        // The space around the text does not depend on its length.
        let spare = |n: usize, characters: f64, lines: f64| {
            (boxes[n][2] - characters * CHARACTER_PX, boxes[n][3] - lines * LINE_PX)
        };
        assert_eq!([spare(0, 2.0, 1.0), spare(1, 6.0, 2.0)], [spare(2, 3.0, 3.0); 2]);
    }

    /// The picture ends as far from the last boxes as it begins before the first, and has a minimum width.
    #[test]
    fn all_boxes_are_in_the_picture() {
        let size = |columns: f64| {
            let svg = Graph { nodes: NODES, transitions: &[], apart: (columns, 200.0), states: false }.draw("title");
            let size = svg.split_once("viewBox=\"0 0 ").unwrap().1.split_once('"').unwrap().0;
            let (width, height) = size.split_once(' ').unwrap();
            (width.parse::<f64>().unwrap(), height.parse::<f64>().unwrap() - super::super::canvas::TITLE_PX)
        };
        let boxes = boxes(&draw(&[], false));
        let middle = |n: usize| (boxes[n][0] + boxes[n][2] / 2.0, boxes[n][1] + boxes[n][3] / 2.0);
        let (first, last) = (middle(0), middle(2));
        assert!(first.0 > boxes[0][2] / 2.0 && first.1 > boxes[0][3] / 2.0, "{boxes:?}");
        assert_eq!(size(300.0), (first.0 + last.0, first.1 + last.1));
        assert_eq!(size(10.0).0, 560.0);
    }

    #[test]
    fn only_states_have_round_ends() {
        assert!(boxes(&draw(&[], true)).iter().all(|of| of[4] == of[3] / 2.0));
        assert!(boxes(&draw(&[], false)).iter().all(|of| of[4] < of[3] / 4.0));
    }

    /// The first loop of a box is above it and the second below, both of the same size. Each label is beyond its loop.
    #[test]
    fn loops_are_above_and_below_their_box() {
        const LOOP: Transition = Transition { from: 1, to: 1, label: &["one", "two"] };
        let svg = draw(&[LOOP, LOOP], false);
        let (paths, of) = (numbers(&svg, "path", "marker-end"), &boxes(&svg)[1]);
        let (upper, lower) = (of[1], of[1] + of[3]);
        // M left y C left reach right reach right y
        let [above, below] = &paths[..] else { panic!("{svg}") };
        assert!(close(above[1], upper) && close(below[1], lower), "{svg}");
        let (up, down) = (upper - above[3], below[3] - lower);
        assert!(close(up, down) && up > LINE_PX, "{svg}");
        for path in [above, below] {
            assert!(close(path[0] + path[4], 2.0 * of[0] + of[2]) && path[0] < path[4], "{svg}");
        }
        // A Bezier curve reaches three quarters of the distance to its control points.
        let labels = &numbers(&svg, "text", "text-anchor")[..4];
        assert!(labels[..2].iter().all(|line| line[1] < upper - 0.75 * up), "{svg}");
        assert!(labels[2..].iter().all(|line| line[1] - LINE_PX > lower + 0.75 * down), "{svg}");
    }

    /// A single arrow is straight. Two opposite arrows bend to opposite sides.
    #[test]
    fn opposite_arrows_bend_apart() {
        const FORTH: Transition = Transition { from: 0, to: 1, label: &["forth"] };
        const BACK: Transition = Transition { from: 1, to: 0, label: &["back"] };
        // M from Q middle to
        let paths = |svg: &str| numbers(svg, "path", "marker-end");
        let svg = draw(&[FORTH], false);
        let (straight, of) = (&paths(&svg)[0], boxes(&svg));
        assert!(close(straight[0], of[0][0] + of[0][2]) && close(straight[4], of[1][0]), "{svg}");
        assert!(straight[1] == straight[3] && straight[3] == straight[5], "{svg}");
        let svg = draw(&[FORTH, BACK], false);
        let bent = paths(&svg);
        let [up, down] = [straight[1] - bent[0][3], bent[1][3] - straight[1]];
        assert!(close(up.abs(), down.abs()) && up * down > 0.0 && up.abs() > LINE_PX, "{svg}");
        assert!(bent.iter().all(|path| close(path[2], straight[2])), "{svg}");
        assert!(bent[0][0] < bent[0][4] && bent[1][0] > bent[1][4], "{svg}");
        // Arrows to boxes that do not exist are left out.
        assert_eq!(paths(&draw(&[Transition { from: 0, to: 3, label: &[] }], false)).len(), 0);
    }

    /// The label is above the middle of a flat arrow, and to the right of a steep one.
    #[test]
    fn labels_do_not_cover_their_arrow() {
        const FLAT: Transition = Transition { from: 0, to: 1, label: &["flat"] };
        const STEEP: Transition = Transition { from: 1, to: 2, label: &["steep", "and two lines"] };
        let svg = draw(&[FLAT, STEEP], false);
        let (paths, labels) = (numbers(&svg, "path", "marker-end"), numbers(&svg, "text", "text-anchor"));
        assert!(close(labels[0][0], paths[0][2]) && labels[0][1] < paths[0][3], "{svg}");
        let half = "and two lines".len() as f64 * CHARACTER_PX / 2.0;
        assert!(labels[1..3].iter().all(|line| line[0] - half > paths[1][2]), "{svg}");
        assert!(labels[1][1] < paths[1][3] && paths[1][3] < labels[2][1], "{svg}");
    }

    /// By hand, for a box of 40 by 20 px with its center at (100, 50).
    #[test]
    fn arrows_begin_at_the_border_of_a_box() {
        for (towards, leaves) in [
            ((100.0, 0.0), (20.0, 0.0)),
            ((-100.0, 0.0), (-20.0, 0.0)),
            ((0.0, 50.0), (0.0, 10.0)),
            ((0.0, -50.0), (0.0, -10.0)),
            ((50.0, 50.0), (10.0, 10.0)),
            ((80.0, -20.0), (20.0, -5.0)),
            ((-40.0, 20.0), (-20.0, 10.0)),
            // A point inside of the box.
            ((5.0, -4.0), (5.0, -4.0)),
        ] {
            let (x, y) = border((100.0, 50.0), (100.0 + towards.0, 50.0 + towards.1), (40.0, 20.0));
            assert!((x - 100.0 - leaves.0).abs() < 1e-9 && (y - 50.0 - leaves.1).abs() < 1e-9, "{towards:?}: {x}, {y}");
        }
    }
}
