//! `suite.toml`: the cases, controllers, metrics and bands of a suite.

use crate::sweep::Metric;
use headway_record::ExpressionError;
use headway_scenario::{ScenarioError, hint, table};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A suite of cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// Title of the page of results.
    pub title: String,
    /// Document that the cases are from, such as an RFC.
    pub source: String,
    /// Number of seeds of each case with each controller.
    pub seeds: u64,
    /// Controllers, in the order of the columns of the results.
    pub controllers: Vec<Controller>,
    /// Cases, in the order of the rows of the results.
    pub cases: Vec<Case>,
    /// Reasons why controllers miss pass bands.
    pub explanations: Vec<Explanation>,
}

/// A controller to test: the scenario keys that select it and its options.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Name of the controller, such as `scream2`.
    pub name: String,
    /// Description of the controller.
    #[serde(default)]
    pub about: String,
    /// Overrides of each scenario that select the controller and its options, in the syntax of `--set`.
    pub set: Vec<String>,
    /// Whether the controller is only a reference for comparison, to which no pass bands apply.
    #[serde(default)]
    pub reference: bool,
}

/// A test case: a scenario with metrics, and with pass bands, the ranges that the metrics must be in.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the test case, such as `5.1`.
    pub name: String,
    /// Description of the case.
    pub title: String,
    /// Scenario file in the folder of the suite.
    pub file: String,
    /// Overrides of the scenario, in the syntax of `--set`, which are applied after those of the controller.
    pub set: Vec<String>,
    /// Further overrides for the runs with some controllers, by their names; applied after `set`.
    pub set_for: BTreeMap<String, Vec<String>>,
    /// Metrics of the case: those of the suite, then its own.
    pub metrics: Vec<Metric>,
    /// Pass bands of the metrics: those of the suite, then those of the case.
    pub bands: Vec<Band>,
}

/// A range in which a metric must be.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Name of the metric that must be in the range.
    pub metric: String,
    /// Smallest value in the range; `None` for no lower limit.
    pub min: Option<f64>,
    /// Largest value in the range; `None` for no upper limit.
    pub max: Option<f64>,
    /// Reason for the limits of the range.
    pub why: String,
}

/// Known reason why some controllers miss pass bands: why metrics are outside of the required ranges.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// Names of the controllers that the explanation concerns.
    pub controllers: Vec<String>,
    /// Names of the metrics whose pass bands are missed.
    pub metrics: Vec<String>,
    /// Names of the test cases in which the bands are missed; empty for all.
    #[serde(default)]
    pub cases: Vec<String>,
    /// Reason why the controllers miss the pass bands.
    pub why: String,
}

impl Explanation {
    /// Returns whether this explanation applies to a controller that misses the pass band of a metric in a case.
    #[must_use]
    pub fn applies(&self, case: &str, controller: &str, metric: &str) -> bool {
        let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
        has(&self.controllers, controller)
            && has(&self.metrics, metric)
            && (self.cases.is_empty() || has(&self.cases, case))
    }
}

impl Case {
    /// Returns the overrides for a run of the case with a controller, in the syntax of `--set`. The order is `set` of
    /// the controller, `set` of the case, `set_for` of the case for this controller. Later overrides replace earlier
    /// ones.
    pub fn overrides<'a>(&'a self, controller: &'a Controller) -> impl Iterator<Item = &'a String> {
        let more = self.set_for.get(&controller.name).into_iter().flatten();
        controller.set.iter().chain(&self.set).chain(more)
    }
}

impl Band {
    /// Returns whether a value is within the band; both limits are inclusive.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max)
    }
}

/// Error of a suite.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum SuiteError {
    #[error(transparent)]
    File(#[from] ScenarioError),
    #[error("metric \"{name}\": {error}")]
    Metric { name: String, error: Box<ExpressionError> },
    #[error("case \"{case}\": it has no metric \"{metric}\"{hint}")]
    NoMetric { case: String, metric: String, hint: String },
    #[error("case \"{case}\": the band of \"{metric}\" has no limit; expected min, max or both")]
    NoLimit { case: String, metric: String },
    #[error("case \"{case}\": the band of \"{metric}\" has min = {min} above max = {max}")]
    NoRange { case: String, metric: String, min: f64, max: f64 },
    #[error("case \"{case}\": there is no earlier case \"{like}\"{hint}")]
    NotLike { case: String, like: String, hint: String },
    #[error("case \"{0}\" has neither a file nor an earlier case that it is like")]
    NoFile(String),
    #[error("case \"{case}\": set_for names the controller \"{name}\", which does not exist{hint}")]
    SetFor { case: String, name: String, hint: String },
    #[error("an explanation names the {what} \"{name}\", which does not exist{hint}")]
    Unexplained { what: &'static str, name: String, hint: String },
    #[error("there are two {0}s \"{1}\"")]
    Twice(&'static str, String),
    #[error("there is no {what} \"{name}\"; expected one of {known}")]
    Unknown { what: &'static str, name: String, known: String },
    #[error(
        "{0} \"{1}\" is not a name: a name has letters, digits, - and ., does not start with . and does not end with .html, .csv or .json"
    )]
    Name(&'static str, String),
    #[error("seeds = {0} is out of range: from 2 to 100000")]
    Seeds(u64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteTable {
    title: String,
    source: String,
    seeds: u64,
    controller: Vec<Controller>,
    #[serde(default)]
    metric: Vec<MetricTable>,
    #[serde(default)]
    band: Vec<Band>,
    case: Vec<CaseTable>,
    #[serde(default)]
    explanation: Vec<Explanation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricTable {
    name: String,
    of: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseTable {
    name: String,
    title: String,
    file: Option<String>,
    like: Option<String>,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    set_for: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    metric: Vec<MetricTable>,
    #[serde(default)]
    band: Vec<Band>,
    /// Metrics whose inherited bands do not apply.
    #[serde(default)]
    without: Vec<String>,
}

impl Suite {
    /// Parses `suite.toml`. `file` is its name in error messages.
    ///
    /// # Errors
    /// All errors of the text, or the first wrong name.
    pub fn parse(file: &str, text: &str) -> Result<Self, SuiteError> {
        let read: SuiteTable = table(file, text)?;
        if !(2..=100_000).contains(&read.seeds) {
            return Err(SuiteError::Seeds(read.seeds));
        }
        check_names("controller", read.controller.iter().map(|controller| &controller.name))?;
        check_names("case", read.case.iter().map(|case| &case.name))?;
        let base = (metrics(&[], read.metric)?, read.band);
        let mut cases: Vec<Case> = Vec::new();
        for case in read.case {
            cases.push(inherit(&cases, &base, case)?);
        }
        check_references(&read.controller, &cases, &read.explanation)?;
        Ok(Self {
            title: read.title,
            source: read.source,
            seeds: read.seeds,
            controllers: read.controller,
            cases,
            explanations: read.explanation,
        })
    }

    /// Adds a controller.
    ///
    /// # Errors
    /// The name is in use, or cannot be the name of a folder.
    pub fn add(&mut self, controller: Controller) -> Result<(), SuiteError> {
        self.controllers.push(controller);
        check_names("controller", self.controllers.iter().map(|controller| &controller.name))
    }

    /// Keeps only the controllers and cases with these names, in their order in the suite. Empty lists keep all.
    ///
    /// # Errors
    /// A name is unknown.
    pub fn select(&mut self, controllers: &[String], cases: &[String]) -> Result<(), SuiteError> {
        select("controller", &mut self.controllers, controllers, |controller| &controller.name)?;
        select("case", &mut self.cases, cases, |case| &case.name)
    }
}

/// Checks that cases and explanations name existing controllers, cases and metrics.
fn check_references(
    controllers: &[Controller],
    cases: &[Case],
    explanations: &[Explanation],
) -> Result<(), SuiteError> {
    let controllers: BTreeSet<&str> = controllers.iter().map(|controller| controller.name.as_str()).collect();
    for case in cases {
        if let Some(name) = case.set_for.keys().find(|name| !controllers.contains(name.as_str())) {
            let hint = hint(name, controllers.iter().copied());
            return Err(SuiteError::SetFor { case: case.name.clone(), name: name.clone(), hint });
        }
    }
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    let metrics = cases.iter().flat_map(|case| &case.metrics).map(|metric| metric.name.as_str()).collect();
    for explanation in explanations {
        for (what, used, known) in [
            ("controller", &explanation.controllers, &controllers),
            ("case", &explanation.cases, &names),
            ("metric", &explanation.metrics, &metrics),
        ] {
            if let Some(name) = used.iter().find(|name| !known.contains(name.as_str())) {
                let hint = hint(name, known.iter().copied());
                return Err(SuiteError::Unexplained { what, name: name.clone(), hint });
            }
        }
    }
    Ok(())
}

fn select<T>(
    what: &'static str,
    all: &mut Vec<T>,
    names: &[String],
    name_of: impl Fn(&T) -> &String,
) -> Result<(), SuiteError> {
    if let Some(name) = names.iter().find(|name| !all.iter().any(|one| name_of(one) == *name)) {
        let known = all.iter().map(|one| name_of(one).as_str()).collect::<Vec<_>>().join(", ");
        return Err(SuiteError::Unknown { what, name: name.clone(), known });
    }
    all.retain(|one| names.is_empty() || names.contains(name_of(one)));
    Ok(())
}

/// Checks that names are unique and can be names of folders.
fn check_names<'a>(what: &'static str, names: impl Iterator<Item = &'a String>) -> Result<(), SuiteError> {
    let mut seen: Vec<&String> = Vec::new();
    for name in names {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let is_file = [".html", ".csv", ".json"].iter().any(|ending| name.ends_with(ending));
        if name.is_empty() || name.len() > 64 || name.starts_with('.') || is_file || !name.chars().all(is_plain) {
            return Err(SuiteError::Name(what, name.clone()));
        }
        if seen.contains(&name) {
            return Err(SuiteError::Twice(what, name.clone()));
        }
        seen.push(name);
    }
    Ok(())
}

fn metric(name: &str, of: &str) -> Result<Metric, SuiteError> {
    let of = of.parse().map_err(|error| SuiteError::Metric { name: name.to_owned(), error: Box::new(error) })?;
    Ok(Metric { name: name.to_owned(), of })
}

/// Adds metrics to inherited ones. A metric replaces an inherited one with the same name.
fn metrics(inherited: &[Metric], more: Vec<MetricTable>) -> Result<Vec<Metric>, SuiteError> {
    let mut all = inherited.to_vec();
    for MetricTable { name, of } in more {
        let metric = metric(&name, &of)?;
        match all.iter_mut().find(|known| known.name == name) {
            Some(known) => *known = metric,
            None => all.push(metric),
        }
    }
    Ok(all)
}

fn inherit(earlier: &[Case], base: &(Vec<Metric>, Vec<Band>), case: CaseTable) -> Result<Case, SuiteError> {
    let CaseTable { name, title, file, like, set, set_for, metric, band, without } = case;
    let parent = match &like {
        None => None,
        Some(like) => Some(earlier.iter().find(|case| case.name == *like).ok_or_else(|| SuiteError::NotLike {
            case: name.clone(),
            like: like.clone(),
            hint: hint(like, earlier.iter().map(|case| case.name.as_str())),
        })?),
    };
    let (inherited, bands) = parent.map_or((&base.0, &base.1), |case| (&case.metrics, &case.bands));
    let metrics = metrics(inherited, metric)?;
    let mut bands: Vec<Band> = bands.iter().filter(|band| !without.contains(&band.metric)).cloned().collect();
    bands.extend(band);
    let names = || metrics.iter().map(|metric| metric.name.as_str());
    let used = bands.iter().map(|band| &band.metric).chain(&without);
    if let Some(unknown) = used.into_iter().find(|metric| !names().any(|name| name == *metric)) {
        let hint = hint(unknown, names());
        return Err(SuiteError::NoMetric { case: name, metric: unknown.clone(), hint });
    }
    if let Some(band) = bands.iter().find(|band| band.min.is_none() && band.max.is_none()) {
        return Err(SuiteError::NoLimit { case: name, metric: band.metric.clone() });
    }
    for Band { metric, min, max, .. } in &bands {
        if let (Some(min), Some(max)) = (*min, *max)
            && min > max
        {
            return Err(SuiteError::NoRange { case: name, metric: metric.clone(), min, max });
        }
    }
    let Some(file) = file.or_else(|| parent.map(|case| case.file.clone())) else {
        return Err(SuiteError::NoFile(name));
    };
    let set = parent.iter().flat_map(|case| case.set.clone()).chain(set).collect();
    let set_for = parent.iter().flat_map(|case| case.set_for.clone()).chain(set_for).collect();
    Ok(Case { name, title, file, set, set_for, metrics, bands })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = "title = \"t\"\nsource = \"s\"\nseeds = 3\n\
        [[controller]]\nname = \"a\"\nset = [\"x=1\"]\n[[controller]]\nname = \"b\"\nset = []\nreference = true\n\
        [[metric]]\nname = \"rate\"\nof = \"flow[m].throughput_bps\"\n\
        [[band]]\nmetric = \"rate\"\nmin = 1\nwhy = \"w\"\n\
        [[case]]\nname = \"1\"\ntitle = \"one\"\nfile = \"1.toml\"\nset = [\"y=1\"]\n\
        [[case]]\nname = \"2\"\ntitle = \"two\"\nlike = \"1\"\nset = [\"z=2\"]\nwithout = [\"rate\"]\n\
        metric = [{ name = \"rate\", of = \"1\" }, { name = \"loss\", of = \"2\" }]\n\
        band = [{ metric = \"loss\", max = 2, why = \"v\" }]\n";

    /// A case that is like an earlier one has its file, keys, metrics and bands, and changes some of them.
    #[test]
    fn a_case_inherits_from_the_suite_and_from_the_case_that_it_is_like() {
        let suite = Suite::parse("suite.toml", SUITE).unwrap();
        let [one, two] = &suite.cases[..] else { panic!("two cases") };
        assert_eq!((two.file.as_str(), &two.set[..]), ("1.toml", &["y=1".to_owned(), "z=2".to_owned()][..]));
        assert_eq!((one.metrics.len(), one.bands.len()), (1, 1));
        let names: Vec<_> = two.metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!((names, two.bands.len()), (vec!["rate", "loss"], 1));
        assert_ne!(one.metrics[0], two.metrics[0]);
        assert!(two.bands[0].contains(2.0) && !two.bands[0].contains(2.1) && !one.bands[0].contains(0.9));
    }

    #[test]
    fn only_the_selected_cases_and_controllers_are_kept() {
        let mut suite = Suite::parse("suite.toml", SUITE).unwrap();
        suite.select(&["b".to_owned()], &[]).unwrap();
        assert_eq!((suite.controllers.len(), suite.cases.len()), (1, 2));
        let error = suite.select(&[], &["3".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "there is no case \"3\"; expected one of 1, 2");
    }

    #[test]
    fn errors_name_the_case_and_what_is_allowed() {
        for (from, to, message) in [
            ("seeds = 3", "seeds = 1", "from 2 to 100000"),
            ("like = \"1\"", "like = \"x\"", "case \"2\": there is no earlier case \"x\""),
            ("like = \"1\"\n", "", "case \"2\" has neither a file"),
            ("metric = \"loss\", max", "metric = \"los\", max", "case \"2\": it has no metric \"los\"; did you mean"),
            ("max = 2, ", "", "case \"2\": the band of \"loss\" has no limit"),
            ("max = 2, ", "min = 3, max = 2, ", "min = 3 above max = 2"),
            ("name = \"2\"", "name = \"2\"\nset_for = { c = [] }", "set_for names the controller \"c\""),
            ("name = \"2\"", "name = \"results.csv\"", "is not a name"),
            ("name = \"2\"", "name = \"1\"", "there are two cases \"1\""),
            ("name = \"2\"", "name = \"../2\"", "is not a name"),
            ("of = \"2\"", "of = \"(\"", "metric \"loss\""),
            ("title = \"two\"", "titel = \"two\"", "unknown"),
        ] {
            assert!(SUITE.contains(from), "{from}");
            let error = Suite::parse("suite.toml", &SUITE.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
