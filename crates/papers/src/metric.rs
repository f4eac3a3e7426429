//! What is measured of a run: numbers with names and units.

use headway_record::{FlowSummary, SeriesTable, Summary};
use headway_scenario::Scenario;

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

/// The flows whose names begin so.
pub(crate) fn flows<'a>(run: &Outcome<'a>, begins: &'static str) -> impl Iterator<Item = &'a FlowSummary> {
    run.summary.flows.iter().filter(move |flow| flow.name.starts_with(begins))
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
