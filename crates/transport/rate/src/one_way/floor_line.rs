//! Line below all one-way delays, whose slope is the skew between the clocks (Moon, Skelly and Towsley, "Estimation and
//! removal of clock skew from network delay measurements", INFOCOM 1999). Queues only add delay, so the minima of short
//! intervals are on it.

use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// Interval of which the minimum delay is kept, in ns, by default.
pub(super) const INTERVAL_NS: i64 = 500_000_000;
/// Maximum number of intervals; older ones may belong to another path.
pub(super) const MAX_INTERVALS: usize = 120;
const MIN_INTERVALS: usize = 8;
/// Maximum skew of a working clock: MAXFREQ of RFC 5905, 500 ppm.
const MAX_SKEW: f64 = 500e-6;
/// Residual drift of a clock with known skew: PHI of RFC 5905 section 7.2, 15 ppm.
const DRIFT: f64 = 15e-6;

/// Arrival time and delay, in ns.
type Point = (i64, i64);

/// Minimum delays and the line below them.
#[derive(Clone, Debug)]
pub(crate) struct FloorLine {
    interval_ns: i64,
    /// Maximum of the slope, in either direction.
    max_skew: f64,
    least: VecDeque<Point>,
    on: Point,
    slope: f64,
    fitted: bool,
    /// Mean height of the minima above the line, in ns.
    spread: f64,
}

impl Default for FloorLine {
    /// Returns a line below the delays of the last minute.
    fn default() -> Self {
        Self::over(Duration::from_nanos(INTERVAL_NS.unsigned_abs() * MAX_INTERVALS as u64), MAX_SKEW)
    }
}

impl FloorLine {
    /// Creates a line below the delays of the last `memory`, whose slope is at most `max_skew` in either direction.
    pub(crate) fn over(memory: Duration, max_skew: f64) -> Self {
        Self {
            interval_ns: (memory.as_nanos() as i64 / MAX_INTERVALS as i64).max(1),
            max_skew,
            least: VecDeque::new(),
            on: (0, 0),
            slope: 0.0,
            fitted: false,
            spread: 0.0,
        }
    }

    /// Adds a packet with its delay in ns and returns the delay above the line in ns, at least zero.
    pub(crate) fn add(&mut self, arrived: Instant, delay: i64) -> f64 {
        let point = (arrived.as_nanos() as i64, delay);
        match self.least.back_mut() {
            Some(last) if point.0.div_euclid(self.interval_ns) == last.0.div_euclid(self.interval_ns) => {
                if point.1 < last.1 {
                    *last = point;
                }
            }
            _ => {
                self.fit();
                self.least.push_back(point);
                if self.least.len() > MAX_INTERVALS {
                    self.least.pop_front();
                }
                if self.least.len() == 1 {
                    self.on = point;
                }
            }
        }
        let above = self.above(point);
        if above < 0.0 {
            self.on = point;
        }
        above.max(0.0)
    }

    /// Returns the slope: the growth of delays per unit of time due to skew.
    pub(crate) fn slope(&self) -> f64 {
        self.slope
    }

    /// Returns whether the slope has been measured. With few intervals the line is level.
    pub(super) const fn is_fitted(&self) -> bool {
        self.fitted
    }

    /// Returns the height of a delay above the line in ns, negative below it; `None` before the first packet.
    pub(super) fn height(&self, arrived: Instant, delay: i64) -> Option<f64> {
        (!self.least.is_empty()).then(|| self.above((arrived.as_nanos() as i64, delay)))
    }

    /// Returns the expected error bound of the line at `arrived`, in ns: the mean height of the minima above it, which
    /// queues or another skew may cause, limited to clocks that diverge by [`DRIFT`] to [`MAX_SKEW`].
    pub(super) fn uncertainty(&self, arrived: Instant) -> f64 {
        let oldest = self.least.front().map_or(0, |point| point.0);
        let time = (arrived.as_nanos() as i64).wrapping_sub(oldest).unsigned_abs() as f64;
        let spread = if self.fitted { self.spread } else { f64::INFINITY };
        spread.clamp(DRIFT * time, MAX_SKEW * time)
    }

    fn above(&self, point: Point) -> f64 {
        let line = self.slope * (point.0.wrapping_sub(self.on.0)) as f64;
        point.1.wrapping_sub(self.on.1) as f64 - line
    }

    /// Fits the line below all points with the least sum of distances: the edge of the lower convex hull at the mean
    /// time. The slope is limited to [`MAX_SKEW`]; with few points it is zero.
    fn fit(&mut self) {
        let edge = if self.least.len() < MIN_INTERVALS { None } else { self.edge() };
        self.fitted = edge.is_some();
        let run = |(from, to): (Point, Point)| (to.1.wrapping_sub(from.1) as f64, to.0.wrapping_sub(from.0) as f64);
        let slope = edge.map(run).filter(|(_, time)| *time != 0.0).map_or(0.0, |(rise, time)| rise / time);
        self.slope = slope.clamp(-self.max_skew, self.max_skew);
        self.on = (0, 0);
        let lowest = self.least.iter().min_by(|a, b| self.above(**a).total_cmp(&self.above(**b)));
        self.on = lowest.copied().unwrap_or_default();
        self.spread = self.least.iter().map(|point| self.above(*point)).sum::<f64>() / self.least.len() as f64;
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

/// Returns a value above zero if the path a, b, c turns left.
fn turn(a: Point, b: Point, c: Point) -> i128 {
    let less = |to: Point| (i128::from(to.0) - i128::from(a.0), i128::from(to.1) - i128::from(a.1));
    let (ab, ac) = (less(b), less(c));
    ab.0.saturating_mul(ac.1).saturating_sub(ab.1.saturating_mul(ac.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds packets every 100 ms with delays in us as a function of the time in us, and collects the results of
    /// `each`.
    fn fed<T>(seconds: u64, delay: impl Fn(u64) -> u64, mut each: impl FnMut(u64, f64, &FloorLine) -> T) -> Vec<T> {
        let mut line = FloorLine::default();
        let packets = (0..seconds * 10).map(|number| 100_000 * number);
        let packet = |arrived: u64| {
            let at = Instant::from_secs(1000) + Duration::from_micros(arrived);
            let above = line.add(at, delay(arrived) as i64 * 1000);
            each(arrived, above, &line)
        };
        packets.map(packet).collect()
    }

    fn ppm(seconds: u64, delay: impl Fn(u64) -> u64) -> f64 {
        fed(seconds, delay, |_, _, line| line.slope() * 1e6).pop().unwrap()
    }

    fn is_near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 0.1
    }

    /// A clock gains 50 ppm: the line is level for eight intervals, then has the slope.
    #[test]
    fn a_slope_requires_eight_intervals() {
        let slopes = fed(5, |t| 100_000 + t / 20_000, |t, _, line| (t, line.slope() * 1e6));
        for (t, slope) in slopes {
            assert!(is_near(slope, if t < 4_000_000 { 0.0 } else { 50.0 }), "{t}: {slope}");
        }
    }

    /// Slopes are limited to 500 ppm in either direction.
    #[test]
    fn a_slope_is_limited_to_500_ppm() {
        for gains in [0, 40, 100, 400, 500, 600, 5000] {
            let expected = gains.min(500) as f64;
            let rises = ppm(20, |t| 100_000 + t * gains / 1_000_000);
            let falls = ppm(20, |t| 300_000 - t * gains / 1_000_000);
            assert!(is_near(rises, expected) && is_near(falls, -expected), "{gains}: {rises} {falls}");
        }
    }

    /// Moon, Skelly and Towsley: queues of up to 20 ms do not change the slope, and are the height above the line.
    #[test]
    fn queues_do_not_tilt_the_line() {
        let queue = |t: u64| 200 * ((t / 100_000) % 101);
        let seen = fed(60, |t| 100_000 + t / 10_000 + queue(t), |t, above, line| (t, above, line.slope() * 1e6));
        for (t, above, slope) in seen.into_iter().filter(|(t, ..)| *t > 30_000_000) {
            assert!(is_near(slope, 100.0), "{t}: {slope}");
            // Within the skew per interval, rounded to a microsecond.
            assert!((above - 1000.0 * queue(t) as f64).abs() < 2000.0, "{t}: {above}");
        }
    }

    /// After a change of slope, the line is the edge at the mean time: that of the longer part.
    #[test]
    fn the_line_is_the_edge_at_the_mean_time() {
        let kink = |at: u64| move |t: u64| 100_000 + t.abs_diff(at) / 10_000;
        for (at, expected) in [(2_000_000, 100.0), (10_000_000, -100.0)] {
            let found = ppm(12, kink(at));
            assert!(is_near(found, expected), "{at}: {found}");
        }
    }

    /// The memory is a minute of intervals. A skew of 100 ppm that ends at 60 s is forgotten once its last interval,
    /// from 59.5 s, is the 121st before.
    #[test]
    fn intervals_before_the_last_120_are_discarded() {
        for (t, slope) in fed(121, |t| 100_000 + t.min(60_000_000) / 10_000, |t, _, line| (t, line.slope())) {
            if (61_000_000..121_000_000).contains(&t) {
                assert_eq!(slope > 0.0, t < 120_000_000, "{t}: {slope}");
            }
        }
    }

    /// A delay below the line becomes the floor: 5, 5.2, 4.9 and 5 ms.
    #[test]
    fn a_shorter_delay_is_the_floor() {
        let delays = [5000, 5200, 4900, 5000];
        let above = fed(1, |t| delays.get((t / 100_000) as usize).copied().unwrap_or(4900), |_, above, _| above);
        assert_eq!(above[..5], [0.0, 200_000.0, 0.0, 100_000.0, 0.0]);
    }
}
