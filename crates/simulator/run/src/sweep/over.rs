//! Metrics of a sweep over one key: the data of plots.

use super::results::{ResultRow, ResultTable, estimate};
use headway_record::Estimate;
use headway_scenario::Cell;
use std::collections::BTreeMap;

/// Positions of the values of a varied key on the axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub enum Places {
    /// The values are numbers, in the key's unit, and are their own positions.
    Numbers,
    /// The values are names, at positions 0, 1, 2 and so on.
    Names(Vec<String>),
}

/// Values of a metric over a varied key, for one value of a second key.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Value of the second key; empty if there is none.
    pub label: String,
    /// Points in the order of the axis.
    pub points: Vec<LinePoint>,
}

/// A point of a [`Line`].
#[derive(Clone, Debug, PartialEq)]
pub struct LinePoint {
    /// Position of the varied key's value on the axis.
    pub x: f64,
    /// Values of the metric, one per seed. If keys other than the two vary, too, each is the mean over their values for
    /// this seed, so that confidence intervals are over seeds only.
    pub samples: Vec<f64>,
    /// Mean of the samples and its 95 % interval.
    pub number: Option<Estimate>,
}

/// Error: the key is not varied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{wanted}\" does not vary; keys that vary: {known}")]
pub struct NoSuchKey {
    wanted: String,
    known: String,
}

impl ResultTable {
    /// Returns the index of a varied key, given by its short or full name.
    ///
    /// # Errors
    /// The key is not varied.
    pub fn key(&self, wanted: &str) -> Result<usize, NoSuchKey> {
        self.keys.iter().position(|key| key.name == wanted || key.key == wanted).ok_or_else(|| {
            let known: Vec<&str> = self.keys.iter().map(|key| key.name.as_str()).collect();
            let known = if known.is_empty() { "none, only seeds".to_owned() } else { known.join(", ") };
            NoSuchKey { wanted: wanted.to_owned(), known }
        })
    }

    /// Returns the positions of the values of the varied key with this index on the axis of a chart.
    #[must_use]
    pub fn places(&self, key: usize) -> Places {
        let (names, numbers) = self.axis(key);
        if numbers.is_some() { Places::Numbers } else { Places::Names(names) }
    }

    /// Returns the values of a metric over key `x`, with one line for each value of key `by`. All arguments are indices
    /// in the table.
    #[must_use]
    pub fn over(&self, metric: usize, x: usize, by: Option<usize>) -> Vec<Line> {
        let (names, numbers) = self.axis(x);
        let places = numbers.unwrap_or_else(|| (0..names.len()).map(|place| place as f64).collect());
        let label = |row: &ResultRow| by.map_or_else(String::new, |by| row.values[by].clone());
        let mut lines: Vec<Line> = Vec::new();
        for row in &self.rows {
            if !lines.iter().any(|line| line.label == label(row)) {
                lines.push(Line { label: label(row), points: Vec::new() });
            }
        }
        for line in &mut lines {
            for (name, &x_of_name) in names.iter().zip(&places) {
                let here: Vec<&ResultRow> =
                    self.rows.iter().filter(|row| row.values[x] == *name && label(row) == line.label).collect();
                let mut seeds: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
                for (seed, value) in here.iter().flat_map(|row| row.samples(metric)) {
                    seeds.entry(*seed).or_default().push(*value);
                }
                let means = seeds.iter().map(|(seed, of)| (*seed, of.iter().sum::<f64>() / of.len() as f64));
                let means: Vec<(u64, f64)> = means.collect();
                if !means.is_empty() {
                    let number = estimate(&means);
                    let samples = means.into_iter().map(|(_, mean)| mean).collect();
                    line.points.push(LinePoint { x: x_of_name, samples, number });
                }
            }
            line.points.sort_by(|one, other| one.x.total_cmp(&other.x));
        }
        lines
    }

    /// Returns the values of a key as written, and as numbers if all are numbers.
    fn axis(&self, key: usize) -> (Vec<String>, Option<Vec<f64>>) {
        let (mut names, mut numbers) = (Vec::new(), Some(Vec::new()));
        for row in &self.rows {
            if names.contains(&row.values[key]) {
                continue;
            }
            names.push(row.values[key].clone());
            let number = match row.cells().get(key) {
                Some(Cell::Integer(number)) => Some(*number as f64),
                Some(Cell::Number(number)) => Some(*number),
                Some(Cell::Boolean(_) | Cell::Text(_)) | None => None,
            };
            numbers = numbers.zip(number).map(|(mut numbers, number)| {
                numbers.push(number);
                numbers
            });
        }
        (names, numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::Key;
    use super::*;

    fn results(rows: &[(&str, f64, &[f64])]) -> ResultTable {
        let row = |(queue, delay, samples): &(&str, f64, &[f64])| {
            let samples: Vec<(u64, f64)> = (1..).zip(samples.iter().copied()).collect();
            ResultRow {
                values: vec![(*queue).to_owned(), format!("{delay}ms")],
                runs: samples.len(),
                identical: false,
                metrics: vec![estimate(&samples)],
                samples: vec![samples],
                cells: vec![Cell::Text((*queue).to_owned()), Cell::Number(*delay)],
                overrides: Vec::new(),
            }
        };
        let key = |name: &str| Key { key: format!("link[0].{name}"), name: name.to_owned(), unit: None };
        let metrics = vec!["loss".to_owned()];
        ResultTable {
            keys: vec![key("queue"), key("delay")],
            metrics,
            rows: rows.iter().map(row).collect(),
            against: None,
            units: vec![None],
            percentiles: vec![false],
        }
    }

    #[test]
    fn other_keys_are_averaged_per_seed() {
        let results = results(&[("red", 9.0, &[1.0, 2.0]), ("red", 1.0, &[5.0]), ("droptail", 9.0, &[3.0, 8.0])]);
        let points = |line: &Line| line.points.iter().map(|point| (point.x, point.samples.clone())).collect::<Vec<_>>();
        let over_delay = results.over(0, results.key("delay").unwrap(), None);
        assert_eq!(points(&over_delay[0]), [(1.0, vec![5.0]), (9.0, vec![2.0, 5.0])]);
        assert_eq!(over_delay[0].points[1].number.unwrap().mean, 3.5);
        let by_queue = results.over(0, 1, Some(results.key("link[0].queue").unwrap()));
        assert_eq!(by_queue.iter().map(|line| line.label.as_str()).collect::<Vec<_>>(), ["red", "droptail"]);
        assert_eq!(points(&by_queue[1]), [(9.0, vec![3.0, 8.0])]);
        assert_eq!((results.places(1), results.places(0)), {
            (Places::Numbers, Places::Names(vec!["red".to_owned(), "droptail".to_owned()]))
        });
        assert_eq!(points(&results.over(0, 0, None)[0]), [(0.0, vec![3.0, 2.0]), (1.0, vec![3.0, 8.0])]);
    }

    #[test]
    fn a_key_that_does_not_vary_is_an_error() {
        let error = results(&[("red", 1.0, &[1.0])]).key("seed").unwrap_err();
        assert_eq!(error.to_string(), "\"seed\" does not vary; keys that vary: queue, delay");
    }
}
