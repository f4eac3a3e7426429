//! Result of a sweep: for each combination of varied values, the mean of each metric and its 95 % confidence
//! interval over seeds.

use crate::sweep::Metric;
use headway_record::{Estimate, PERCENTILE_ERROR, number_table};
use headway_scenario::{Cell, Column, Override};
use serde::Serialize;
use std::fmt::Write as _;

/// Significant digits of a number without an interval.
const DIGITS: i32 = 4;
const INTERVAL_DIGITS: i32 = 2;
/// Maximum number of decimals.
const MAX_DECIMALS: usize = 9;

/// Explanation that tables print for rows in which all seeds gave equal numbers.
pub const NO_RANDOMNESS: &str = "the scenario uses no random numbers, or they made no difference. There is no interval,\nand a start some milliseconds later may give other numbers. Random numbers are used by \
     `start = { uniform = [\"0s\", \"0.1s\"] }`\nof a flow, the `loss` of a link, a `red` queue, or a source with random times or sizes.";

/// Result of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultTable {
    /// The varied keys, except the seed.
    pub keys: Vec<Key>,
    /// Names of the metrics.
    pub metrics: Vec<String>,
    /// Unit of each metric, such as `bps`; `None` if its expression has none.
    pub units: Vec<Option<&'static str>>,
    /// One row per combination of values, in the order of the sweep.
    pub rows: Vec<ResultRow>,
    /// Differences from a baseline combination; `None` unless [`against()`](Self::against()) was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
    /// Whether each metric uses a percentile.
    #[serde(skip)]
    pub(super) percentiles: Vec<bool>,
}

/// A varied key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    /// Full name, as in a scenario.
    pub key: String,
    /// Short name, as in the dataset.
    pub name: String,
    /// Unit of the key's values in the dataset; `None` if they have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

impl From<&Column> for Key {
    fn from(column: &Column) -> Self {
        Self { key: column.key.clone(), name: column.name.clone(), unit: column.unit.map(str::to_owned) }
    }
}

/// Results of one combination of varied values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultRow {
    /// Values of the varied keys, as written in the scenario.
    pub values: Vec<String>,
    /// Number of runs of this combination of values.
    pub runs: usize,
    /// Whether there are two or more runs (with different seeds) and all have equal numbers. The order of their events
    /// may differ.
    pub identical: bool,
    /// Mean of each metric over the runs (seeds) of this combination, with its 95 % interval; `None` if no run has the
    /// metric.
    pub metrics: Vec<Option<Estimate>>,
    /// Values of each metric, with the seeds of the runs.
    #[serde(skip)]
    pub(super) samples: Vec<Vec<(u64, f64)>>,
    /// Values of the keys, as numbers in the keys' units if possible.
    #[serde(skip)]
    pub(super) cells: Vec<Cell>,
    /// Overrides that set the values.
    #[serde(skip)]
    pub(super) overrides: Vec<Override>,
}

impl ResultRow {
    /// Returns the values of the varied keys as they are in the dataset: numbers in the keys' units if possible.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns whether the value of a key is equivalent to `text`.
    fn has_value(&self, key: usize, text: &str) -> bool {
        self.overrides.get(key).is_some_and(|set| set.has_value(text))
    }

    /// Returns whether the interval of a metric is [wider](Estimate::is_within) than this part of its mean.
    pub(super) fn is_wider_than(&self, relative: f64) -> bool {
        self.metrics.iter().flatten().any(|number| !number.is_within(relative))
    }

    /// Returns the seed and the value of a metric for each run that has it.
    #[must_use]
    pub fn samples(&self, metric: usize) -> &[(u64, f64)] {
        self.samples.get(metric).map_or(&[], Vec::as_slice)
    }
}

/// Differences from a baseline, which is one value of a varied key: each combination of values is compared with the one
/// that has the baseline value and otherwise equal values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// Baseline: short name of the key, and its value.
    pub value: [String; 2],
    /// Whether runs with equal seeds are compared in pairs; otherwise the intervals are Welch's.
    pub paired: bool,
    /// One row for each combination that does not have the baseline value. A combination has no row if the sweep lacks
    /// the combination that it is compared with.
    pub rows: Vec<Difference>,
}

/// Difference between a combination of values and its baseline combination.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Values of the varied keys of the compared combination.
    pub values: Vec<String>,
    /// Mean difference of each metric, compared combination minus baseline, with its 95 % interval; `None` if it cannot
    /// be computed.
    pub metrics: Vec<Option<Estimate>>,
}

/// Error: no run has this value of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no run has {wanted}; expected KEY=VALUE, one of {known}")]
pub struct NoSuchValue {
    wanted: String,
    known: String,
}

impl ResultTable {
    pub(super) fn new(keys: Vec<Key>, metrics: &[Metric], rows: Vec<ResultRow>) -> Self {
        let percentiles = metrics.iter().map(|metric| metric.of.uses_percentile()).collect();
        let units = metrics.iter().map(|metric| metric.of.unit()).collect();
        let metrics = metrics.iter().map(|metric| metric.name.clone()).collect();
        Self { keys, metrics, units, rows, against: None, percentiles }
    }

    /// Adds the differences from a baseline, `KEY=VALUE`: one value of a varied key. If `paired`, runs with equal seeds
    /// are compared; otherwise all runs of both combinations, by Welch's method.
    ///
    /// # Errors
    /// The key is not varied, or never has this value.
    pub fn against(mut self, wanted: &str, paired: bool) -> Result<Self, NoSuchValue> {
        // Keys may have an = in brackets, and inline tables contain several.
        let mut splits = wanted.match_indices('=').map(|(at, _)| (wanted[..at].trim(), wanted[at + 1..].trim()));
        let place = splits.find_map(|(key, value)| {
            let place = self.keys.iter().position(|known| known.name == key || known.key == key)?;
            let by_label = self.rows.iter().find(|row| is_label(&row.values[place], value));
            let row = by_label.or_else(|| self.rows.iter().find(|row| row.has_value(place, value)))?;
            Some((place, row.values[place].clone()))
        });
        let Some((place, value)) = place else { return Err(self.no_such(wanted)) };
        let rest = |row: &ResultRow| {
            let others = row.values.iter().enumerate().filter(|(at, _)| *at != place);
            others.map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        let mut rows = Vec::new();
        for row in self.rows.iter().filter(|row| row.values[place] != value) {
            let like = |other: &&ResultRow| other.values[place] == value && rest(other) == rest(row);
            let Some(base) = self.rows.iter().find(like) else { continue };
            let metrics = (0..self.metrics.len()).map(|metric| difference(row, base, metric, paired)).collect();
            rows.push(Difference { values: row.values.clone(), metrics });
        }
        self.against = Some(Against { value: [self.keys[place].name.clone(), value], paired, rows });
        Ok(self)
    }

    fn no_such(&self, wanted: &str) -> NoSuchValue {
        let mut known = Vec::new();
        for (place, key) in self.keys.iter().enumerate() {
            for row in &self.rows {
                let value = format!("{}={}", key.name, row.values[place]);
                if !known.contains(&value) {
                    known.push(value);
                }
            }
        }
        let known = if known.is_empty() { "(only the seed is varied)".to_owned() } else { known.join(", ") };
        NoSuchValue { wanted: wanted.to_owned(), known }
    }

    /// Formats the result as a text table with explanations.
    #[must_use]
    pub fn plain(&self) -> String {
        let mut text = self.table(self.rows.iter().map(|row| (&row.values, &row.metrics, Some(row))), &self.metrics);
        let identical = self.rows.iter().filter(|row| row.identical).count();
        if self.rows.iter().any(|row| row.metrics.iter().flatten().any(|number| number.ci95.is_some())) {
            text.push_str("mean ± 95 % interval over seeds (Student)\n");
        }
        if identical < self.rows.len() {
            let numbers = self.rows.iter().filter(|row| !row.identical).flat_map(|row| &row.metrics);
            text.push_str(constants(numbers.flatten()));
        }
        if identical > 0 {
            let which = if identical == self.rows.len() {
                "In every row,".to_owned()
            } else {
                format!("In rows marked = ({identical} of {})", self.rows.len())
            };
            let _ = writeln!(text, "{which} all seeds gave the same numbers: {NO_RANDOMNESS}");
        }
        text.push_str(&self.percentiles());
        if let Some(against) = &self.against {
            let [key, value] = &against.value;
            let how = if against.paired { "paired by seed" } else { "Welch" };
            let numbers = || against.rows.iter().flat_map(|row| &row.metrics).flatten();
            let interval = if numbers().any(|number| number.ci95.is_some()) {
                format!(", 95 % interval ({how}); * if it excludes 0")
            } else {
                String::new()
            };
            let _ = writeln!(text, "\ndifference from {key}={value}{interval}");
            let metrics: Vec<String> = self.metrics.iter().map(|name| format!("Δ {name}")).collect();
            text.push_str(&self.table(against.rows.iter().map(|row| (&row.values, &row.metrics, None)), &metrics));
            text.push_str(constants(numbers()));
        }
        text
    }

    /// Explains the precision of percentiles that are equal in all runs of a row.
    fn percentiles(&self) -> String {
        let is_constant = |metric: usize| {
            let mut numbers = self.rows.iter().filter_map(|row| row.metrics.get(metric).copied().flatten());
            numbers.any(|number| number.is_constant())
        };
        let named = self.metrics.iter().enumerate().filter(|(at, _)| self.percentiles[*at] && is_constant(*at));
        let named: Vec<&str> = named.map(|(_, name)| name.as_str()).collect();
        if named.is_empty() {
            return String::new();
        }
        format!(
            "Of {}: a percentile is the middle of a histogram's bucket, at most {:.1} % off. If it is the same in all runs,\n\
             all values were in one bucket.\n",
            named.join(", "),
            100.0 * PERCENTILE_ERROR
        )
    }

    fn table<'a>(
        &self,
        rows: impl Iterator<Item = (&'a Vec<String>, &'a Vec<Option<Estimate>>, Option<&'a ResultRow>)>,
        metrics: &[String],
    ) -> String {
        let with_runs = self.against.is_none() || metrics == self.metrics;
        let heads = self.keys.iter().map(|key| key.name.clone());
        let heads = heads.chain(with_runs.then(|| "runs".to_owned())).chain(metrics.iter().map(|name| two_lines(name)));
        let of_row = |(values, metrics, row): (&Vec<String>, &Vec<Option<Estimate>>, Option<&ResultRow>)| {
            let runs = row.map(|row| format!("{}{}", row.runs, if row.identical { " =" } else { "" }));
            let shown =
                metrics.iter().map(|number| number.map_or("-".to_owned(), |number| shown(number, row.is_none())));
            values.iter().cloned().chain(runs).chain(shown).collect()
        };
        number_table(self.keys.len(), heads.collect(), rows.map(of_row).collect())
    }

    /// Formats the result as CSV: the keys, the number of runs, and the mean and half width of the interval
    /// of each metric. After [`against`](Self::against), the differences follow in columns with a Δ.
    #[must_use]
    pub fn csv(&self) -> String {
        let field = |text: &str| {
            if text.contains(['"', ',', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.to_owned()
            }
        };
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let two = |of: &Option<Estimate>| [number(of.map(|of| of.mean)), number(of.and_then(|of| of.ci95))];
        let named = |delta: &'static str| {
            self.metrics.iter().flat_map(move |name| [format!("{delta}{name}"), format!("{delta}{name} ci95")])
        };
        let heads = self.keys.iter().map(|key| key.name.clone()).chain(["runs".to_owned()]).chain(named(""));
        let heads: Vec<String> = heads.chain(self.against.iter().flat_map(|_| named("Δ "))).collect();
        let mut text = heads.iter().map(|head| field(head)).collect::<Vec<_>>().join(",");
        text.push('\n');
        for row in &self.rows {
            let values = row.values.iter().map(|value| field(value)).chain([row.runs.to_string()]);
            let mut line: Vec<String> = values.chain(row.metrics.iter().flat_map(two)).collect();
            if let Some(against) = &self.against {
                let differences = against.rows.iter().find(|of| of.values == row.values);
                line.extend(differences.into_iter().flat_map(|of| of.metrics.iter().flat_map(two)));
                line.resize(heads.len(), String::new());
            }
            text.push_str(&line.join(","));
            text.push('\n');
        }
        text
    }

    /// Returns the number of combinations of values with a metric that is not [within](Estimate::is_within) `relative`:
    /// half the width of its 95 % interval is above `relative` times its mean, or all runs have equal
    /// values, but are fewer than [`MIN_RUNS`](headway_record::MIN_RUNS).
    #[must_use]
    pub fn wider_than(&self, relative: f64) -> usize {
        self.rows.iter().filter(|row| row.is_wider_than(relative)).count()
    }
}

/// Puts the last word of a name, usually the unit, on a second line.
fn two_lines(name: &str) -> String {
    name.rsplit_once(' ').map_or_else(|| name.to_owned(), |(name, unit)| format!("{name}\n{unit}"))
}

/// Returns whether `text` is this label of a value or the table that the label abbreviates (`{kind=codel}`),
/// ignoring spaces and quotes.
fn is_label(label: &str, text: &str) -> bool {
    let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect::<String>();
    label == text || bare(label) == bare(text) || format!("{{kind={label}}}") == bare(text)
}

fn difference(row: &ResultRow, base: &ResultRow, metric: usize, paired: bool) -> Option<Estimate> {
    let (ours, theirs) = (row.samples(metric), base.samples(metric));
    if paired {
        let of_seed = |seed: u64| theirs.iter().find(|(other, _)| *other == seed).map(|(_, value)| *value);
        let pairs: Vec<(f64, f64)> = ours.iter().filter_map(|(seed, value)| Some((*value, of_seed(*seed)?))).collect();
        return Estimate::of_differences(&pairs);
    }
    let (ours, theirs) = (estimate(ours)?, estimate(theirs)?);
    Some(Estimate { mean: ours.mean - theirs.mean, ci95: ours.welch(&theirs), runs: ours.runs.min(theirs.runs) })
}

/// Returns the mean of samples given with their seeds.
pub(super) fn estimate(samples: &[(u64, f64)]) -> Option<Estimate> {
    Estimate::of(&samples.iter().map(|(_, value)| *value).collect::<Vec<_>>())
}

/// Explains numbers without an interval, if there are any.
fn constants<'a>(mut numbers: impl Iterator<Item = &'a Estimate>) -> &'static str {
    if numbers.any(Estimate::is_constant) {
        "A number without ± is the same in all runs: it has no interval\n"
    } else {
        ""
    }
}

/// Formats a mean and its interval with the decimals that the interval justifies: two significant digits of the
/// interval, or four significant digits of a mean without an interval.
#[must_use]
pub fn shown_estimate(number: Estimate) -> String {
    shown(number, false)
}

/// Formats a number with the decimals that its interval justifies: two significant digits of the interval, or
/// four of a number without one.
fn shown(number: Estimate, is_difference: bool) -> String {
    let Estimate { mean, ci95, .. } = number;
    let (of, digits) = ci95.map_or((mean.abs(), DIGITS), |half| (half, INTERVAL_DIGITS));
    let magnitude =
        if of > 0.0 { format!("{of:e}").split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0) } else { 0 };
    let decimals = usize::try_from(digits - 1 - magnitude).unwrap_or(0).min(MAX_DECIMALS);
    let decimals = if of > 0.0 { decimals } else { 0 };
    let sign = if is_difference && mean > 0.0 { "+" } else { "" };
    match ci95 {
        Some(half) => {
            let clear = if is_difference && mean.abs() > half { "*" } else { "" };
            format!("{sign}{mean:.decimals$} ± {half:.decimals$}{clear}")
        }
        None => format!("{sign}{mean:.decimals$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_determine_the_decimals() {
        for (mean, ci95, shown) in [
            (1.213_456, Some(0.012_34), "1.213 ± 0.012"),
            (1234.56, Some(123.4), "1235 ± 123"),
            (0.000_012, None, "0.00001200"),
            (3.0, None, "3.000"),
            (0.0, None, "0"),
            (-5.25, Some(0.5), "-5.25 ± 0.50"),
            (1e300, Some(1e-300), &format!("{:.9} ± 0.000000000", 1e300)),
        ] {
            assert_eq!(super::shown(Estimate { mean, ci95, runs: 2 }, false), shown);
        }
        let difference = |mean, ci95| shown(Estimate { mean, ci95, runs: 2 }, true);
        assert_eq!(difference(2.0, Some(1.0)), "+2.0 ± 1.0*");
        assert_eq!(difference(-0.5, Some(1.0)), "-0.5 ± 1.0");
        assert_eq!(difference(0.974_4, None), "+0.9744");
    }

    fn results() -> ResultTable {
        let row = |value: &str, samples: &[f64]| {
            let samples: Vec<(u64, f64)> = (1..).zip(samples.iter().copied()).collect();
            ResultRow {
                values: vec![value.to_owned(), "10ms".to_owned()],
                runs: samples.len(),
                identical: false,
                metrics: vec![estimate(&samples)],
                samples: vec![samples],
                cells: Vec::new(),
                overrides: vec![
                    format!("link[0].queue={value}").parse().unwrap(),
                    "link[0].delay=10ms".parse().unwrap(),
                ],
            }
        };
        let key = |name: &str| Key { key: format!("link[0].{name}"), name: name.to_owned(), unit: None };
        let rows = vec![row("red", &[1.0, 2.0, 3.0]), row("droptail", &[2.0, 3.0, 4.5])];
        ResultTable {
            keys: vec![key("queue"), key("delay")],
            metrics: vec!["a, b".to_owned()],
            rows,
            against: None,
            units: vec![None],
            percentiles: vec![false],
        }
    }

    /// Pairs differ by 1, 1 and 1.5: mean 7/6, s = 0.288675, t(2) = 4.302653: 0.717109.
    #[test]
    fn differences_are_paired_by_seed_or_welchs() {
        let paired = results().against("queue=red", true).unwrap().against.unwrap();
        let number = paired.rows[0].metrics[0].unwrap();
        assert!((number.mean - 7.0 / 6.0).abs() < 1e-12 && (number.ci95.unwrap() - 0.717_109).abs() < 1e-5);
        let welch = results().against("link[0].queue=red", false).unwrap().against.unwrap();
        let number = welch.rows[0].metrics[0].unwrap();
        // s^2 / 3 = 1/3 and 0.527778; degrees 3.8014; t = 2.8349: 2.6305.
        assert!((number.ci95.unwrap() - 2.6305).abs() < 5e-3, "{number:?}");
        let error = results().against("queue=pie", false).unwrap_err().to_string();
        assert!(error.contains("queue=red, queue=droptail, delay=10ms"), "{error}");
    }

    /// Equal samples in both rows: `headway sweep scenarios/demo.toml` printed `-0.01749 ± 0.00000*` before.
    #[test]
    fn zero_spread_has_no_interval_and_no_star() {
        let mut equal = results();
        for (row, value) in equal.rows.iter_mut().zip([1.213, 1.195]) {
            row.samples = vec![(1..=5).map(|seed| (seed, value)).collect()];
            row.metrics = vec![estimate(&row.samples[0])];
            row.runs = 5;
        }
        for paired in [false, true] {
            let equal = equal.clone().against("queue=red", paired).unwrap();
            let text = equal.plain();
            let mut numbers = text.lines().filter(|line| line.starts_with("red") || line.starts_with("droptail"));
            assert!(numbers.all(|line| !line.contains(['±', '*'])), "{text}");
            assert!(text.contains("-0.01800") && text.contains("A number without ±"), "{text}");
            assert_eq!(equal.csv().lines().nth(2).unwrap(), "droptail,10ms,5,1.195,,-0.018000000000000016,");
            let json = serde_json::to_value(&equal).unwrap();
            assert!(json["rows"][0]["metrics"][0]["ci95"].is_null(), "{json}");
            assert!(json["against"]["rows"][0]["metrics"][0]["ci95"].is_null(), "{json}");
        }
        assert_eq!(equal.wider_than(0.01), 2, "five equal runs are no proof of a constant");
    }

    /// The error message lists only values that are accepted.
    #[test]
    fn every_value_in_the_error_message_is_accepted() {
        let mut tables = results();
        for (row, value) in tables.rows.iter_mut().zip(["{kind=codel}", "{kind=codel,limit=30packets}"]) {
            row.values[0] = value.to_owned();
        }
        let error = tables.clone().against("queue=pie", false).unwrap_err().to_string();
        let (_, offered) = error.split_once("one of ").unwrap();
        for offer in offered.split(", ") {
            tables.clone().against(offer, false).unwrap_or_else(|error| panic!("{error}"));
        }
        let written = tables.clone().against("queue={ kind = \"codel\", limit = \"30packets\" }", false).unwrap();
        assert_eq!(written.against.unwrap().value, ["queue", "{kind=codel,limit=30packets}"]);
        // Equivalent values with another order of keys or another unit.
        for (row, value) in tables.rows.iter_mut().zip(["{kind=codel}", "{kind=codel,limit=30kB}"]) {
            row.values[0] = value.to_owned();
            row.overrides[0] = format!("link[0].queue={value}").parse().unwrap();
        }
        for same in ["queue={limit=30kB,kind=codel}", "queue={ limit = \"30000B\", kind = \"codel\" }"] {
            let against = tables.clone().against(same, false).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(against.against.unwrap().value, ["queue", "{kind=codel,limit=30kB}"]);
        }
        let delay = results().against("delay=0.01s", false).unwrap();
        assert_eq!(delay.against.unwrap().value, ["delay", "10ms"]);
        assert!(tables.against("queue={limit=31kB,kind=codel}", false).is_err());
        // Tables of different kinds are labeled by their kinds.
        let red = results().against("queue={ kind = \"red\" }", false).unwrap();
        assert_eq!(red.against.unwrap().value, ["queue", "red"]);
    }

    #[test]
    fn csv_fields_are_quoted_if_necessary() {
        let text = results().csv();
        assert!(text.starts_with("queue,delay,runs,\"a, b\",\"a, b ci95\"\nred,10ms,3,2,"), "{text}");
        let text = results().against("queue=red", true).unwrap().csv();
        assert!(text.starts_with("queue,delay,runs,\"a, b\",\"a, b ci95\",\"Δ a, b\",\"Δ a, b ci95\"\n"), "{text}");
        let (red, droptail) = (text.lines().nth(1).unwrap(), text.lines().nth(2).unwrap());
        assert!(red.ends_with(",,") && droptail.contains(",1.166"), "{text}");
    }
}
