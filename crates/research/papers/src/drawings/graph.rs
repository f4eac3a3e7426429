//! Boxes and arrows: state machines and block diagrams.

use super::canvas::{CHARACTER_PX, Canvas, LINE_PX};

/// A box. Columns and rows start at 0.
pub(super) struct Node {
    pub(super) lines: &'static [&'static str],
    pub(super) column: f64,
    pub(super) row: f64,
}

/// An arrow from one box to another, or to the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Index of the box at the start.
    pub from: usize,
    /// Index of the box at the end.
    pub to: usize,
    /// Cause and action, one line of text each.
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
