//! Numbers as they are written.

use headway_record::Estimate;
use serde::{Deserialize, Serialize};

/// A mean. In `results.json` it is `[mean, ci95, runs]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Written", from = "Written")]
pub struct Number {
    /// The mean over runs.
    pub mean: f64,
    /// Half the width of its 95 % interval; null for a single run.
    pub ci95: Option<f64>,
    /// How many runs.
    pub runs: usize,
}

type Written = (f64, Option<f64>, usize);

impl From<Number> for Written {
    fn from(Number { mean, ci95, runs }: Number) -> Self {
        (mean, ci95, runs)
    }
}

impl From<Written> for Number {
    fn from((mean, ci95, runs): Written) -> Self {
        Self { mean, ci95, runs }
    }
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
