//! Arrival-time filter: a Kalman filter of the delay variation (section 5.3 of the draft).
//!
//! ```text
//! z = d - m,  var_v = max(a var_v + (1 - a) z², 1),  a = (1 - chi)^(30/groups per s)
//! k = (e + q)/(var_v + e + q),  m += z k,  e = (1 - k)(e + q)
//! ```

use super::super::arrival_groups::Deltas;
use std::collections::VecDeque;

const Q: f64 = 1e-3;
const FIRST_E: f64 = 0.1;
/// From 0.1 to 0.001 in the draft.
const CHI: f64 = 0.01;
/// Factor of the standard deviation that limits the residual.
const MAX_DEVIATIONS: f64 = 3.0;
/// Number of groups of which the maximum frequency is used (`K`), and maximum factor of the estimate.
const GROUPS: usize = 60;

#[derive(Debug)]
pub(super) struct ArrivalFilter {
    /// Estimate m of the growth of the delay from group to group, in ms.
    m_ms: f64,
    e: f64,
    var_v: f64,
    /// Times between the sending times of the last groups, in ms.
    gaps_ms: VecDeque<f64>,
    groups: usize,
}

impl Default for ArrivalFilter {
    fn default() -> Self {
        Self { m_ms: 0.0, e: FIRST_E, var_v: 0.0, gaps_ms: VecDeque::new(), groups: 0 }
    }
}

impl ArrivalFilter {
    /// Adds a group. Returns the growth of the delay, and the modified growth, which is compared with the threshold.
    pub(super) fn add(&mut self, deltas: &Deltas) -> (f64, f64) {
        if self.gaps_ms.len() == GROUPS {
            self.gaps_ms.pop_front();
        }
        self.gaps_ms.push_back(deltas.sent_ms.max(1.0));
        let gap_ms = self.gaps_ms.iter().copied().fold(f64::INFINITY, f64::min);
        self.update(deltas.arrival_ms - deltas.sent_ms, 1000.0 / gap_ms);
        self.groups = (self.groups + 1).min(GROUPS);
        (self.m_ms, self.groups as f64 * self.m_ms)
    }

    /// Returns the gain k.
    fn update(&mut self, d_ms: f64, groups_per_s: f64) -> f64 {
        let z = d_ms - self.m_ms;
        let a = libm::pow(1.0 - CHI, 30.0 / groups_per_s);
        // The limit applies upwards only, as in implementations.
        let limited = z.min(MAX_DEVIATIONS * self.var_v.sqrt());
        self.var_v = (a * self.var_v + (1.0 - a) * limited * limited).max(1.0);
        let k = (self.e + Q) / (self.var_v + self.e + Q);
        self.m_ms += z * k;
        self.e = (1.0 - k) * (self.e + Q);
        k
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::vectors::{near, numbers, rows};
    use super::*;

    /// Delay variations of 0, 0, 5, 5, 5, -5 and 0 ms of 33.3 groups per s.
    #[test]
    fn growth_and_gain() {
        let mut filter = ArrivalFilter::default();
        let rows = rows("kalman");
        assert_eq!(rows.len(), 7);
        for (d_ms, row) in [0.0, 0.0, 5.0, 5.0, 5.0, -5.0, 0.0].into_iter().zip(rows) {
            let k = filter.update(d_ms, 1000.0 / 30.0);
            let expected = numbers(&row);
            near(filter.m_ms, expected[0], 6e-10);
            near(k, expected[1], 6e-10);
        }
    }
}
