//! The line below all one-way delays: what is above it is the queues', and its slope is what one clock gains on the other (Moon, Skelly and Towsley, "Estimation
//! and removal of clock skew from network delay measurements", INFOCOM 1999). Queues only make delays longer, so the least delays of each stretch of time lie on it.

use super::Seen;
use std::collections::VecDeque;

/// A stretch of time, in ns, of which the least delay is kept.
const STRETCH: i64 = 500_000_000;
/// Of so many: what is older may be of another path.
const MOST: usize = 120;
/// Of fewer nothing is said of a slope.
const FEWEST: usize = 8;
/// No clock that counts gains more: 500 ppm (what RFC 5905 takes for the worst).
const STEEPEST: f64 = 500e-6;

/// When a packet came and its delay, in ns.
type Point = (i64, i64);

/// The least delays, and the line below them.
#[derive(Clone, Debug, Default)]
pub(super) struct FloorLine {
    least: VecDeque<Point>,
    /// A point on the line, and its slope.
    on: Point,
    slope: f64,
}

impl FloorLine {
    /// A packet has come; how far its delay is above the line, in ns, and never below.
    pub(super) fn add(&mut self, seen: &Seen) -> f64 {
        let point = (seen.came.as_nanos() as i64, seen.delay_ns());
        match self.least.back_mut() {
            Some(last) if point.0.div_euclid(STRETCH) == last.0.div_euclid(STRETCH) => {
                if point.1 < last.1 {
                    *last = point;
                }
            }
            _ => {
                self.fit();
                self.least.push_back(point);
                if self.least.len() > MOST {
                    self.least.pop_front();
                }
                if self.least.len() == 1 {
                    self.on = point;
                }
            }
        }
        let above = self.above(point);
        if above < 0.0 {
            // It is the floor now.
            self.on = point;
        }
        above.max(0.0)
    }

    /// By how much delays grow in a unit of time because clocks differ.
    pub(super) fn slope(&self) -> f64 {
        self.slope
    }

    fn above(&self, point: Point) -> f64 {
        let line = self.slope * (point.0.wrapping_sub(self.on.0)) as f64;
        point.1.wrapping_sub(self.on.1) as f64 - line
    }

    /// Of the lines below all points the one with the least sum of distances: the edge of the lower convex hull over the mean time. Too
    /// steep ones are no clock's, and of few points the line is level.
    fn fit(&mut self) {
        let edge = if self.least.len() < FEWEST { None } else { self.edge() };
        let slope = edge.map_or(0.0, |(from, to)| (to.1 - from.1) as f64 / (to.0 - from.0) as f64);
        self.slope = slope.clamp(-STEEPEST, STEEPEST);
        self.on = (0, 0);
        let lowest = self.least.iter().min_by(|a, b| self.above(**a).total_cmp(&self.above(**b)));
        self.on = lowest.copied().unwrap_or_default();
    }

    fn edge(&self) -> Option<(Point, Point)> {
        let mean = self.least.iter().map(|point| point.0 as f64).sum::<f64>() / self.least.len() as f64;
        let mut hull: Vec<Point> = Vec::with_capacity(self.least.len());
        for point in &self.least {
            while let [.., before, last] = hull[..]
                && turn(before, last, *point) <= 0
            {
                hull.pop();
            }
            hull.push(*point);
        }
        let over = hull.windows(2).find(|edge| edge[0].0 as f64 <= mean && mean <= edge[1].0 as f64)?;
        Some((over[0], over[1]))
    }
}

/// Above zero where the way from `a` by `b` to `c` turns left.
fn turn(a: Point, b: Point, c: Point) -> i128 {
    let less = |to: Point| (i128::from(to.0) - i128::from(a.0), i128::from(to.1) - i128::from(a.1));
    let (ab, ac) = (less(b), less(c));
    ab.0 * ac.1 - ab.1 * ac.0
}
