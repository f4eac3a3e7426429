//! Numbers of `results.json`, and their format.

use headway_record::Estimate;
use serde::{Deserialize, Serialize};

/// A mean over runs with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// Mean over the runs.
    pub mean: f64,
    /// Half the width of the mean's 95 % confidence interval; `None` (null in JSON) for a single run or equal runs.
    pub ci95: Option<f64>,
    /// Number of runs over which `mean` is taken.
    pub runs: usize,
}

impl From<Estimate> for Number {
    /// Rounds to nine digits: further digits differ between machines whose logarithms differ in the last bit.
    fn from(estimate: Estimate) -> Self {
        let nine = |number: f64| format!("{number:.8e}").parse().unwrap_or(number);
        Self { mean: nine(estimate.mean), ci95: estimate.ci95.map(nine), runs: estimate.runs }
    }
}

/// Numbers by cell and metric in `results.json`: `[mean, ci95, runs]`.
pub(crate) mod by_cell {
    use super::Number;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    type Cells<N> = BTreeMap<String, BTreeMap<String, N>>;
    type Written = (f64, Option<f64>, usize);

    fn each<A, B>(cells: Cells<A>, to: fn(A) -> B) -> Cells<B> {
        let cell = |of: BTreeMap<String, A>| of.into_iter().map(|(metric, number)| (metric, to(number))).collect();
        cells.into_iter().map(|(name, of)| (name, cell(of))).collect()
    }

    pub(crate) fn serialize<S: Serializer>(cells: &Cells<Number>, serializer: S) -> Result<S::Ok, S::Error> {
        each(cells.clone(), |Number { mean, ci95, runs }| (mean, ci95, runs)).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cells<Number>, D::Error> {
        Ok(each(Cells::<Written>::deserialize(deserializer)?, |(mean, ci95, runs)| Number { mean, ci95, runs }))
    }
}

/// Formats a number with at most six significant digits.
pub(crate) fn shortest(number: f64) -> String {
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    rounded.to_string()
}
