//! Numbers as they are written.

use headway_record::Estimate;
use serde::{Deserialize, Serialize};

/// A mean as `results.json` holds it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// The mean over runs.
    pub mean: f64,
    /// Half the width of its 95 % interval; null for a single run.
    pub ci95: Option<f64>,
    /// How many runs.
    pub runs: usize,
}

impl From<Estimate> for Number {
    /// Nine digits: more would differ between machines whose logarithms differ in the last bit.
    fn from(estimate: Estimate) -> Self {
        let nine = |number: f64| format!("{number:.8e}").parse().unwrap_or(number);
        Self { mean: nine(estimate.mean), ci95: estimate.ci95.map(nine), runs: estimate.runs }
    }
}

/// Six significant digits at most.
pub(crate) fn shortest(number: f64) -> String {
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    rounded.to_string()
}
