//! Metrics of a run of an experiment: numbers with names and units.

use crate::measured::Values;
use headway_record::{Expression, ExpressionError, FlowSummary, Names, Numbers, SeriesTable, Summary};
use headway_scenario::Scenario;
use serde::Deserialize;

/// A finished run of an experiment, from which metrics are computed.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// The scenario of the run.
    pub scenario: &'a Scenario,
    /// The summary of the run.
    pub summary: &'a Summary,
    /// Time series of the run, if the scenario records them.
    pub series: Option<&'a SeriesTable>,
}

/// A metric of a paper that is computed by a function.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name by which claims refer to the metric; it ends in the unit.
    pub name: &'static str,
    /// Unit of the metric, as printed.
    pub unit: &'static str,
    /// Number of decimals with which tables print the metric.
    pub decimals: usize,
    /// Function that computes the metric; it returns `None` if the metric does not apply to the run.
    pub of: fn(&Outcome<'_>) -> Option<f64>,
}

/// `[[metric]]`: a metric that `claims.toml` defines by an expression.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpressionMetric {
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

/// The metrics of a paper: functions in Rust, and expressions in `claims.toml`.
#[derive(Clone, Debug)]
pub struct Metrics {
    built_in: &'static [Metric],
    expressions: Vec<ExpressionMetric>,
}

/// Name and format of a metric in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown<'a> {
    /// Name by which claims refer to the metric.
    pub name: &'a str,
    /// Unit of the metric, as printed.
    pub unit: &'a str,
    /// Number of decimals with which tables print the metric.
    pub decimals: usize,
}

impl Metrics {
    pub(crate) const fn new(built_in: &'static [Metric], expressions: Vec<ExpressionMetric>) -> Self {
        Self { built_in, expressions }
    }

    /// Returns every metric: those computed by functions, then those computed by expressions.
    pub fn iter(&self) -> impl Iterator<Item = Shown<'_>> {
        let built_in = self.built_in.iter().map(|&Metric { name, unit, decimals, .. }| Shown { name, unit, decimals });
        let expressions = self.expressions.iter().map(|metric| Shown {
            name: &metric.name,
            unit: &metric.unit,
            decimals: metric.decimals,
        });
        built_in.chain(expressions)
    }

    /// Checks the expressions of `claims.toml` before any run. `names` are those that the record of a run will have.
    ///
    /// # Errors
    /// If an expression refers to a name that no such record has, to a text, or to several numbers.
    pub fn check_names(&self, names: &Names) -> Result<(), ExpressionError> {
        self.expressions.iter().try_for_each(|metric| metric.of.check_names(names))
    }

    /// Computes every metric that applies to a finished run.
    ///
    /// # Errors
    /// If an expression refers to a name that the record does not have.
    pub fn of(&self, outcome: &Outcome<'_>) -> Result<Values, ExpressionError> {
        let value = |metric: &Metric| (metric.of)(outcome).filter(|value| value.is_finite());
        let mut values: Values =
            self.built_in.iter().filter_map(|metric| Some((metric.name.to_owned(), value(metric)?))).collect();
        if !self.expressions.is_empty() {
            let numbers = Numbers::new(outcome.summary);
            for ExpressionMetric { name, of, .. } in &self.expressions {
                values.extend(of.evaluate(&numbers)?.map(|value| (name.clone(), value)));
            }
        }
        Ok(values)
    }
}

pub(crate) fn flows<'a>(run: &Outcome<'a>, prefix: &'static str) -> impl Iterator<Item = &'a FlowSummary> {
    run.summary.flows.iter().filter(move |flow| flow.name.starts_with(prefix))
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
