//! What is measured of a run: numbers with names and units.

use crate::measured::Values;
use headway_record::{Expression, ExpressionError, FlowSummary, Names, Numbers, SeriesTable, Summary};
use headway_scenario::Scenario;
use serde::Deserialize;

/// A finished run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// What was run.
    pub scenario: &'a Scenario,
    /// What came of it.
    pub summary: &'a Summary,
    /// Samples over time, if the scenario asks for them.
    pub series: Option<&'a SeriesTable>,
}

/// A number that a paper's runs are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// What claims call it; ends in its unit.
    pub name: &'static str,
    /// Its unit, for people.
    pub unit: &'static str,
    /// Decimals that tables show.
    pub decimals: usize,
    /// The number; none where the run has no such thing.
    pub of: fn(&Outcome<'_>) -> Option<f64>,
}

/// `[[metric]]`: a number that a `claims.toml` asks runs for, without a line of Rust.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    pub(crate) name: String,
    #[serde(default)]
    unit: String,
    #[serde(default = "three")]
    decimals: usize,
    of: Expression,
}

const fn three() -> usize {
    3
}

/// What a paper's runs are asked for: functions of Rust, and expressions of its `claims.toml`.
#[derive(Clone, Debug)]
pub struct Metrics {
    built_in: &'static [Metric],
    asked: Vec<Asked>,
}

/// How a metric is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown<'a> {
    /// What claims call it.
    pub name: &'a str,
    /// Its unit, for people.
    pub unit: &'a str,
    /// Decimals that tables show.
    pub decimals: usize,
}

impl Metrics {
    pub(crate) const fn new(built_in: &'static [Metric], asked: Vec<Asked>) -> Self {
        Self { built_in, asked }
    }

    /// Every metric, those of Rust first.
    pub fn iter(&self) -> impl Iterator<Item = Shown<'_>> {
        let built_in = self.built_in.iter().map(|&Metric { name, unit, decimals, .. }| Shown { name, unit, decimals });
        let asked =
            self.asked.iter().map(|Asked { name, unit, decimals, .. }| Shown { name, unit, decimals: *decimals });
        built_in.chain(asked)
    }

    /// Checks the metrics of a `claims.toml` against the names that a record will have.
    ///
    /// # Errors
    /// If an expression names what no such record has, a text, or several numbers.
    pub fn check_names(&self, names: &Names) -> Result<(), ExpressionError> {
        self.asked.iter().try_for_each(|asked| asked.of.check_names(names))
    }

    /// Asks a run for every metric that it has.
    ///
    /// # Errors
    /// If an expression names what the record does not have.
    pub fn of(&self, outcome: &Outcome<'_>) -> Result<Values, ExpressionError> {
        let value = |metric: &Metric| (metric.of)(outcome).filter(|value| value.is_finite());
        let mut values: Values =
            self.built_in.iter().filter_map(|metric| Some((metric.name.to_owned(), value(metric)?))).collect();
        if !self.asked.is_empty() {
            let numbers = Numbers::new(outcome.summary);
            for Asked { name, of, .. } in &self.asked {
                values.extend(of.of(&numbers)?.map(|value| (name.clone(), value)));
            }
        }
        Ok(values)
    }
}

/// The flows whose names begin so.
pub(crate) fn flows<'a>(run: &Outcome<'a>, begins: &'static str) -> impl Iterator<Item = &'a FlowSummary> {
    run.summary.flows.iter().filter(move |flow| flow.name.starts_with(begins))
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
