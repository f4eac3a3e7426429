//! Curves over time of the first run and of the mean of all runs.

use crate::number::shortest;
use headway_record::Estimate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Samples of one run for timelines (charts over time). A key is the name of an entity, a space and a metric; a sample
/// is a time in s and a value.
pub type Traces = BTreeMap<String, Vec<(f64, f64)>>;

/// A sampled metric over time, in the runs of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Times of the samples, in s.
    pub at_s: Vec<f64>,
    /// Mean of the metric over the runs, at each time.
    pub mean: Vec<f64>,
    /// Half the width of the 95 % interval of the mean, at each time; `None` where all runs are equal.
    pub ci95: Vec<Option<f64>>,
    /// Values of the metric in the run with the smallest seed, at each time.
    pub first: Vec<f64>,
}

pub(crate) fn key(entity: &str, metric: &str) -> String {
    format!("{entity} {metric}")
}

/// Returns the curves of a cell from the samples of its runs, ordered by seed. Times that are missing in a run are
/// omitted.
pub(crate) fn curves<'a>(runs: impl Iterator<Item = &'a Traces> + Clone) -> BTreeMap<String, Curve> {
    let digits = |number: f64| shortest(number).parse().unwrap_or(number);
    let curve = |name: &String| {
        let runs: Vec<&Vec<(f64, f64)>> = runs.clone().filter_map(|run| run.get(name)).collect();
        let mut by_time: BTreeMap<u64, (f64, Vec<f64>)> = BTreeMap::new();
        for (at, value) in runs.iter().copied().flatten() {
            // Times are not negative, so their bits sort like their values.
            by_time.entry(at.to_bits()).or_insert((*at, Vec::new())).1.push(*value);
        }
        let mut curve = Curve { at_s: Vec::new(), mean: Vec::new(), ci95: Vec::new(), first: Vec::new() };
        for (at, values) in by_time.into_values().filter(|(_, values)| values.len() == runs.len()) {
            let Some((first, estimate)) = values.first().zip(Estimate::of(&values)) else { continue };
            curve.at_s.push(at);
            curve.first.push(digits(*first));
            curve.mean.push(digits(estimate.mean));
            curve.ci95.push(estimate.ci95.map(digits));
        }
        (name.clone(), curve)
    };
    runs.clone().next().into_iter().flat_map(BTreeMap::keys).map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1 and 3 have the mean 2, the standard error 1 and t = 12.7062 (one degree of freedom).
    #[test]
    fn a_curve_has_the_mean_and_the_first_run() {
        let run = |values: &[f64]| {
            let samples = values.iter().enumerate().map(|(n, value)| (n as f64 / 2.0, *value)).collect();
            Traces::from([("a->b queue".to_owned(), samples)])
        };
        let runs = [run(&[1.0, 5.0, 9.0]), run(&[3.0, 5.0])];
        let curves = curves(runs.iter());
        let curve = &curves["a->b queue"];
        assert_eq!((&curve.at_s, &curve.mean, &curve.first), (&vec![0.0, 0.5], &vec![2.0, 5.0], &vec![1.0, 5.0]));
        assert!((curve.ci95[0].unwrap() - 12.7062).abs() < 1e-3 && curve.ci95[1].is_none(), "{curve:?}");
    }
}
