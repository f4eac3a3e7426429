//! Results of a suite: means over seeds with their intervals, and whether they are within the bands.

use super::{Band, Case, Controller, Suite};
use crate::sweep::ResultTable;
use headway_record::Estimate;
use serde::Serialize;
use std::fmt::Write as _;

/// Results of all cases with all controllers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteResults {
    /// Title of the suite.
    pub title: String,
    /// Source of the cases.
    pub source: String,
    /// Version of Headway.
    pub version: &'static str,
    /// Number of seeds.
    pub seeds: u64,
    /// Results by case, in the order of the suite.
    pub cases: Vec<CaseResult>,
}

/// Results of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseResult {
    /// Name of the case.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// Scenario file.
    pub file: String,
    /// Names of the metrics.
    pub metrics: Vec<String>,
    /// Results by controller, in the order of the suite.
    pub controllers: Vec<ControllerResult>,
}

/// Results of a case with one controller.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControllerResult {
    /// Name of the controller.
    pub name: String,
    /// Whether it is only for comparison.
    pub reference: bool,
    /// Mean of each metric over the seeds with its 95 % interval; `None` if no run has the metric.
    pub metrics: Vec<Option<Estimate>>,
    /// Bands of the case; empty for a reference.
    pub bands: Vec<BandResult>,
}

/// Whether a controller is within a band.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BandResult {
    /// Name of the metric.
    pub metric: String,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Reason for the limits.
    pub why: String,
    /// Mean over the seeds; `None` without a value.
    pub mean: Option<f64>,
    /// Whether the mean is within the limits; `None` without a value.
    pub met: Option<bool>,
    /// Reason why the controller misses the band, if it does and the suite has one.
    pub explained: Option<String>,
}

impl ControllerResult {
    pub(super) fn new(case: &Case, controller: &Controller, table: &ResultTable) -> Self {
        let metrics = table.rows.first().map(|row| row.metrics.clone()).unwrap_or_default();
        let of_band = |band: &Band| {
            let number = case.metrics.iter().position(|metric| metric.name == band.metric);
            let mean = number.and_then(|number| metrics.get(number).copied().flatten()).map(|found| found.mean);
            let met = mean.map(|mean| band.contains(mean));
            let explained = band.explained.get(&controller.name).filter(|_| met == Some(false)).cloned();
            let Band { metric, min, max, why, .. } = band.clone();
            BandResult { metric, min, max, why, mean, met, explained }
        };
        let bands = if controller.reference { Vec::new() } else { case.bands.iter().map(of_band).collect() };
        Self { name: controller.name.clone(), reference: controller.reference, metrics, bands }
    }

    /// Returns the numbers of bands that are met, and that have a value.
    #[must_use]
    pub fn score(&self) -> (usize, usize) {
        let met = self.bands.iter().filter_map(|band| band.met);
        (met.clone().filter(|met| *met).count(), met.count())
    }
}

impl SuiteResults {
    /// Combines the results of all parts, which are in the order of cases, then of controllers.
    #[must_use]
    pub fn new(suite: &Suite, seeds: u64, parts: Vec<ControllerResult>) -> Self {
        let mut parts = parts.into_iter();
        let case = |case: &Case| CaseResult {
            name: case.name.clone(),
            title: case.title.clone(),
            file: case.file.clone(),
            metrics: case.metrics.iter().map(|metric| metric.name.clone()).collect(),
            controllers: parts.by_ref().take(suite.controllers.len()).collect(),
        };
        Self {
            title: suite.title.clone(),
            source: suite.source.clone(),
            version: env!("CARGO_PKG_VERSION"),
            seeds,
            cases: suite.cases.iter().map(case).collect(),
        }
    }

    /// Formats the results as CSV with a line for each case, controller and metric.
    #[must_use]
    pub fn csv(&self) -> String {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let mut text = "case,controller,metric,mean,ci95,min,max,met\n".to_owned();
        for case in &self.cases {
            for controller in &case.controllers {
                for (metric, value) in case.metrics.iter().zip(&controller.metrics) {
                    let band = controller.bands.iter().find(|band| band.metric == *metric);
                    let (min, max) = band.map_or((None, None), |band| (band.min, band.max));
                    let met = band.and_then(|band| band.met).map_or(String::new(), |met| met.to_string());
                    let (mean, ci95) = (value.map(|value| value.mean), value.and_then(|value| value.ci95));
                    let [mean, ci95, min, max] = [mean, ci95, min, max].map(number);
                    let name = metric.replace('"', "\"\"");
                    let _ =
                        writeln!(text, "{},{},\"{name}\",{mean},{ci95},{min},{max},{met}", case.name, controller.name);
                }
            }
        }
        text
    }
}
