//! Metrics of the runs, by cell and seed.

use crate::check::Check;
use crate::points::{Point, spread_ratio};
use crate::reduce::Reduce;
use crate::timeline::{Curve, Traces, curves};
use headway_record::Estimate;
use std::collections::{BTreeMap, BTreeSet};

/// Metrics of one run, by name.
pub type Values = BTreeMap<String, f64>;

/// The metrics of all runs of a paper, by cell (experiment) and seed.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    runs: BTreeMap<String, BTreeMap<u64, Values>>,
    traces: BTreeMap<String, BTreeMap<u64, Traces>>,
    /// Deterministic cells.
    exact: BTreeSet<String>,
}

impl Measured {
    /// Adds the metrics of a run of `cell`. If the cell is deterministic, the run represents all seeds.
    pub fn add(&mut self, cell: &str, seed: u64, deterministic: bool, values: Values) {
        self.runs.entry(cell.to_owned()).or_default().insert(seed, values);
        if deterministic {
            self.exact.insert(cell.to_owned());
        }
    }

    /// Adds the samples over time of a run that timelines (charts over time) show.
    pub fn add_traces(&mut self, cell: &str, seed: u64, traces: Traces) {
        if !traces.is_empty() {
            self.traces.entry(cell.to_owned()).or_default().insert(seed, traces);
        }
    }

    pub(crate) fn curves(&self) -> BTreeMap<String, BTreeMap<String, Curve>> {
        self.traces.iter().map(|(cell, runs)| (cell.clone(), curves(runs.values()))).collect()
    }

    /// Returns the names of the cells (experiments) that were run.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        self.runs.keys().map(String::as_str)
    }

    /// Returns the mean of `metric` over the runs of `cell`. Returns `None` if a run lacks the metric, because the mean
    /// of the other runs would be biased.
    #[must_use]
    pub fn estimate(&self, cell: &str, metric: &str) -> Option<Estimate> {
        let runs = self.runs.get(cell)?;
        let samples = runs.values().map(|values| values.get(metric).copied()).collect::<Option<Vec<f64>>>()?;
        Estimate::of(&samples)
    }

    /// Returns the number that `check` judges: the mean over runs with cells paired by seed, or a share or ratio
    /// computed from all runs together. Returns `None` if a run lacks the metric.
    #[must_use]
    pub fn of(&self, check: &Check) -> Option<Estimate> {
        match check.reduce {
            Reduce::Share(share) => {
                let (points, runs) = self.points(check)?;
                Some(Estimate { mean: share.of(&points)?, ci95: None, runs })
            }
            Reduce::SpreadRatio => {
                let (points, runs) = self.points(check)?;
                spread_ratio(&points).map(|(mean, ci95)| Estimate { mean, ci95, runs })
            }
            _ => self.by_run(check),
        }
    }

    pub(crate) fn is_exact(&self, check: &Check) -> bool {
        check.cells.iter().all(|cell| self.exact.contains(cell))
    }

    /// Returns the points of the two curves of `check`, with runs paired by seed, and the smallest number of runs of a
    /// point; none if a run lacks the metric.
    fn points(&self, check: &Check) -> Option<(Vec<Point>, usize)> {
        let (first, second) = check.cells.split_at(check.cells.len() / 2);
        let value = |values: &Values| values.get(check.metric.as_str()).copied();
        let point = |(first, second): (&String, &String)| {
            let (first, second) = (self.runs.get(first)?, self.runs.get(second)?);
            let paired = first.iter().filter_map(|(seed, values)| Some((values, second.get(seed)?)));
            paired.map(|(first, second)| Some((value(first)?, value(second)?))).collect::<Option<Point>>()
        };
        let points: Vec<Point> = first.iter().zip(second).map(point).collect::<Option<_>>()?;
        let runs = points.iter().map(Vec::len).min()?;
        Some((points, runs))
    }

    /// Returns the mean over runs of the number that each seed gives.
    fn by_run(&self, check: &Check) -> Option<Estimate> {
        let exact = |cell: &String| self.exact.contains(cell);
        let reduced = |seed: u64| {
            let value = |cell: &String| {
                let runs = self.runs.get(cell)?;
                let values = if exact(cell) { runs.values().next()? } else { runs.get(&seed)? };
                values.get(check.metric.as_str()).copied()
            };
            check.reduce.of(&check.cells.iter().map(value).collect::<Option<Vec<f64>>>()?)
        };
        match check.cells.iter().find(|cell| !exact(cell)) {
            None => Estimate::of(&[reduced(0)?]),
            Some(drawn) => {
                let ran = |seed: u64, cell: &String| {
                    exact(cell) || self.runs.get(cell).is_some_and(|runs| runs.contains_key(&seed))
                };
                let paired = |seed: &&u64| check.cells.iter().all(|cell| ran(**seed, cell));
                let seeds = self.runs.get(drawn)?.keys().filter(paired);
                Estimate::of(&seeds.map(|seed| reduced(*seed)).collect::<Option<Vec<f64>>>()?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Bound;
    use crate::points::{Share, ShareOf};

    fn check(cells: &[&str]) -> Check {
        let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
        Check { metric: "m".to_owned(), cells, reduce: Reduce::Difference, bound: Bound::Above(0.0) }
    }

    /// Two cells that vary together: their difference does not vary.
    #[test]
    fn cells_are_paired_by_seed() {
        let mut measured = Measured::default();
        for seed in 1..=10 {
            measured.add("a", seed, false, Values::from([("m".to_owned(), seed as f64 + 0.5)]));
            measured.add("b", seed + 1, false, Values::from([("m".to_owned(), seed as f64 + 1.0)]));
        }
        let difference = measured.of(&check(&["a", "b"])).unwrap();
        assert_eq!((difference.mean, difference.ci95, difference.runs), (0.5, None, 9));
        assert!(measured.estimate("a", "m").unwrap().ci95.unwrap() > 2.0);
        assert_eq!(measured.of(&check(&["a", "no"])), None);
        assert_eq!(measured.estimate("a", "no"), None);
    }

    /// The first curve is above the second at one of two points, by the seeds that both cells have.
    #[test]
    fn points_are_judged_by_paired_runs() {
        let mut measured = Measured::default();
        for seed in 1..=10 {
            for (cell, value) in [("a", 2.0), ("b", 3.0), ("c", 1.0), ("d", 4.0)] {
                measured.add(cell, seed, false, Values::from([("m".to_owned(), value + seed as f64)]));
            }
        }
        measured.add("a", 11, false, Values::from([("m".to_owned(), 0.0)]));
        let share = Reduce::Share(Share { of: ShareOf::Above, times: 1.0, where_second_below: None });
        let check = |cells: &[&str]| Check { reduce: share, ..check(cells) };
        let found = measured.of(&check(&["a", "b", "c", "d"]));
        assert_eq!(found, Some(Estimate { mean: 0.5, ci95: None, runs: 10 }));
        assert_eq!(measured.of(&check(&["a", "b", "c", "no"])), None);
    }

    /// Ten of thirty runs have the number: a mean of these ten would be biased.
    #[test]
    fn a_number_that_some_runs_lack_has_no_mean() {
        let mut measured = Measured::default();
        for seed in 1..=30 {
            let values = if seed <= 10 { Values::from([("m".to_owned(), 1.0)]) } else { Values::new() };
            measured.add("a", seed, false, values.clone());
            measured.add("b", seed, false, values);
        }
        assert_eq!(measured.estimate("a", "m"), None);
        assert_eq!(measured.of(&check(&["a", "b"])), None);
    }

    #[test]
    fn a_deterministic_cell_represents_all_seeds() {
        let mut measured = Measured::default();
        measured.add("fixed", 1, true, Values::from([("m".to_owned(), 2.0)]));
        for seed in 1..=10 {
            measured.add("drawn", seed, false, Values::from([("m".to_owned(), 3.0)]));
        }
        assert_eq!(measured.of(&check(&["drawn", "fixed"])).unwrap().runs, 10);
        assert_eq!(measured.of(&check(&["fixed", "fixed"])), Estimate::of(&[0.0]));
    }
}
