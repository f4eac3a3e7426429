//! Results of a suite: means over seeds with their intervals, and whether they are within the bands.

use super::{Band, Case, Controller, Explanation, Suite};
use crate::sweep::ResultTable;
use headway_record::Estimate;
use serde::Serialize;
use std::fmt::Write as _;

/// Results of all cases with all controllers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteResults {
    /// Title of the suite.
    pub title: String,
    /// Document that the cases are from, such as an RFC.
    pub source: String,
    /// Version of Headway.
    pub version: &'static str,
    /// Number of seeds with which each case was run.
    pub seeds: u64,
    /// Results by case, in the order of the suite.
    pub cases: Vec<CaseResult>,
}

/// Results of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseResult {
    /// Name of the case.
    pub name: String,
    /// Description of the case.
    pub title: String,
    /// Scenario file of the case, in the folder of the suite.
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
    /// Whether the controller is only a reference for comparison, to which no pass bands apply.
    pub reference: bool,
    /// Mean of each metric over the seeds with its 95 % interval; `None` if no run has the metric.
    pub metrics: Vec<Option<Estimate>>,
    /// Results of the pass bands of the case; empty if `reference` is true.
    pub bands: Vec<BandResult>,
}

/// Whether the mean of a metric is within a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BandVerdict {
    /// The mean is within the band, and its 95 % confidence interval contains no limit of the band.
    Met,
    /// The 95 % confidence interval of the mean contains a limit of the band.
    Undecided,
    /// The mean is outside of the band, and its 95 % confidence interval contains no limit of the band. Or fewer than
    /// half of the runs have a value of the metric.
    Missed,
}

impl BandVerdict {
    /// Returns the name of the verdict in the results, such as `met`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Undecided => "undecided",
            Self::Missed => "missed",
        }
    }
}

/// Result of a controller in a band.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BandResult {
    /// The band: limits of a metric.
    #[serde(flatten)]
    pub band: Band,
    /// Mean of the metric over the seeds; `None` if no run has a value.
    pub mean: Option<f64>,
    /// Whether the mean is within the limits of the band.
    pub verdict: BandVerdict,
    /// Reason in the suite why the controller misses the band; `None` if it does not, or if the suite has no reason.
    pub explained: Option<String>,
}

fn verdict(band: &Band, found: Estimate) -> BandVerdict {
    let half = found.ci95.unwrap_or(0.0);
    let mut limits = [band.min, band.max].into_iter().flatten();
    if limits.any(|limit| half > 0.0 && (found.mean - limit).abs() <= half) {
        return BandVerdict::Undecided;
    }
    if band.contains(found.mean) { BandVerdict::Met } else { BandVerdict::Missed }
}

impl ControllerResult {
    pub(super) fn new(case: &Case, controller: &Controller, table: &ResultTable) -> Self {
        let metrics = table.rows.first().map(|row| row.metrics.clone()).unwrap_or_default();
        let runs = table.rows.first().map_or(0, |row| row.runs);
        let of_band = |band: &Band| {
            let number = case.metrics.iter().position(|metric| metric.name == band.metric);
            let found = number.and_then(|number| metrics.get(number).copied().flatten());
            let verdict =
                found.filter(|found| 2 * found.runs >= runs).map_or(BandVerdict::Missed, |found| verdict(band, found));
            BandResult { band: band.clone(), mean: found.map(|found| found.mean), verdict, explained: None }
        };
        let bands = if controller.reference { Vec::new() } else { case.bands.iter().map(of_band).collect() };
        Self { name: controller.name.clone(), reference: controller.reference, metrics, bands }
    }

    /// Adds the reasons for which bands are missed.
    fn explain(&mut self, case: &str, explanations: &[Explanation]) {
        for band in self.bands.iter_mut().filter(|band| band.verdict == BandVerdict::Missed) {
            let reason = explanations.iter().find(|reason| reason.applies(case, &self.name, &band.band.metric));
            band.explained = reason.map(|reason| reason.why.clone());
        }
    }

    /// Returns the controller's result for the band of a metric; `None` if the metric has no band.
    #[must_use]
    pub fn band(&self, metric: &str) -> Option<&BandResult> {
        self.bands.iter().find(|band| band.band.metric == metric)
    }

    /// Returns the number of bands of the case with this verdict.
    #[must_use]
    pub fn count(&self, verdict: BandVerdict) -> usize {
        self.bands.iter().filter(|band| band.verdict == verdict).count()
    }
}

impl CaseResult {
    /// Returns the results of the controllers to which bands apply.
    pub fn tested(&self) -> impl Iterator<Item = &ControllerResult> {
        self.controllers.iter().filter(|controller| !controller.reference)
    }
}

impl SuiteResults {
    /// Combines the results of all parts, which are in the order of cases, then of controllers.
    #[must_use]
    pub fn new(suite: &Suite, seeds: u64, parts: Vec<ControllerResult>) -> Self {
        let mut parts = parts.into_iter();
        let explained = |case: &Case, mut part: ControllerResult| {
            part.explain(&case.name, &suite.explanations);
            part
        };
        let case = |case: &Case| CaseResult {
            name: case.name.clone(),
            title: case.title.clone(),
            file: case.file.clone(),
            metrics: case.metrics.iter().map(|metric| metric.name.clone()).collect(),
            controllers: parts.by_ref().take(suite.controllers.len()).map(|part| explained(case, part)).collect(),
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
        let mut text = "case,controller,metric,runs,mean,ci95,min,max,verdict\n".to_owned();
        for case in &self.cases {
            for controller in &case.controllers {
                for (metric, value) in case.metrics.iter().zip(&controller.metrics) {
                    let band = controller.band(metric);
                    let (min, max) = band.map_or((None, None), |band| (band.band.min, band.band.max));
                    let verdict = band.map_or("", |band| band.verdict.name());
                    let runs = value.map_or(0, |value| value.runs);
                    let (mean, ci95) = (value.map(|value| value.mean), value.and_then(|value| value.ci95));
                    let [mean, ci95, min, max] = [mean, ci95, min, max].map(number);
                    let name = metric.replace('"', "\"\"");
                    let _ = writeln!(
                        text,
                        "{},{},\"{name}\",{runs},{mean},{ci95},{min},{max},{verdict}",
                        case.name, controller.name
                    );
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mean whose interval contains a limit is undecided; equal runs have no interval.
    #[test]
    fn a_limit_within_the_interval_is_undecided() {
        let band = Band { metric: "rate".to_owned(), min: Some(1.0), max: Some(2.0), why: String::new() };
        let of = |mean, ci95| verdict(&band, Estimate { mean, ci95, runs: 3 });
        for (mean, ci95, expected) in [
            (1.5, Some(0.4), BandVerdict::Met),
            (1.5, Some(0.5), BandVerdict::Undecided),
            (0.9, Some(0.05), BandVerdict::Missed),
            (2.1, Some(0.2), BandVerdict::Undecided),
            (2.0, None, BandVerdict::Met),
            (2.1, None, BandVerdict::Missed),
        ] {
            assert_eq!(of(mean, ci95), expected, "{mean} {ci95:?}");
        }
    }
}
