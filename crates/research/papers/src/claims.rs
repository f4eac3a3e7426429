//! `claims.toml`: the claims of a paper, the parameters that it does not state, and the cells that test the claims.

use crate::cell::{Cell, Grid, Profile, Seeds};
use crate::check::{Check, CheckError, Written as WrittenCheck};
use crate::claim::{Claim, ClaimError, Kind, Written as WrittenClaim};
use crate::layout::{Figure, Table, Timeline};
use crate::metric::{ExpressionMetric, Metric, Metrics, Outcome};
use crate::pattern::{Bindings, PatternError, expand};
use crate::reading::{self, Reading, ReadingError};
use crate::timeline::{Traces, key};
use headway_scenario::{ScenarioError, table};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A parameter that the paper does not state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inferred {
    /// Description of the parameter.
    pub parameter: String,
    /// Value that the experiments use.
    pub value: String,
    /// Reason for the chosen value.
    pub why: String,
}

/// `[[agreement]]`: the largest difference from ns-2 in a metric that counts as agreement.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agreement {
    pub(crate) metric: String,
    /// Fraction of ns-2's mean, 0 or more.
    pub(crate) margin: f64,
}

/// The contents of `claims.toml`, with patterns expanded and references checked.
#[derive(Clone, Debug)]
pub struct Claims {
    /// Title of the paper.
    pub title: String,
    /// Authors, place of publication and year of the paper.
    pub source: String,
    /// Subject of the paper, one sentence.
    pub about: String,
    /// Parameters that the paper does not state.
    pub inferred: Vec<Inferred>,
    /// Readings: interpretations of an ambiguous paper. The verdict on a claim is that under the first reading;
    /// verdicts under the others are listed separately.
    pub readings: Vec<Reading>,
    /// Cells (experiments) to run, in the order of the file.
    pub cells: Vec<Cell>,
    /// Claims, in the order of the file.
    pub claims: Vec<Claim>,
    /// Metrics that are computed for each run of a cell.
    pub metrics: Metrics,
    pub(crate) seeds: Seeds,
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) timelines: Vec<Timeline>,
    pub(crate) agreements: Vec<Agreement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    source: String,
    about: String,
    seeds: Seeds,
    #[serde(default)]
    inferred: Vec<Inferred>,
    #[serde(default)]
    reading: Vec<Reading>,
    #[serde(default)]
    metric: Vec<ExpressionMetric>,
    cell: Vec<Grid>,
    #[serde(default)]
    table: Vec<Table>,
    #[serde(default)]
    figure: Vec<Figure>,
    #[serde(default)]
    timeline: Vec<Timeline>,
    #[serde(default)]
    agreement: Vec<Agreement>,
    claim: Vec<WrittenClaim>,
}

/// Error in a `claims.toml`.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum ClaimsError {
    /// Invalid TOML or an invalid key. The message has the file name, `claims.toml`, and the line.
    #[error(transparent)]
    Text(#[from] ScenarioError),
    #[error("seeds: {0} is 0: expected 1 or more")]
    Seeds(&'static str),
    #[error("[[cell]] {0}")]
    Pattern(#[from] PatternError),
    #[error("duplicate {what} \"{name}\"")]
    Twice { what: &'static str, name: String },
    #[error("claim \"{id}\": {why}")]
    Claim { id: String, why: ClaimError },
    #[error("reading \"{name}\": {why}")]
    Reading { name: String, why: ReadingError },
    #[error("{what} \"{name}\": {why}")]
    Other { what: &'static str, name: String, why: CheckError },
}

impl Claims {
    /// Parses a `claims.toml`. `built_in` are the paper's metrics in addition to those that the file defines.
    ///
    /// # Errors
    /// The first problem found: a value of a wrong type, an unknown key, an unknown or duplicate name, or a claim that
    /// cannot be judged.
    pub fn parse(text: &str, built_in: &'static [Metric]) -> Result<Self, ClaimsError> {
        let written: Written = table("claims.toml", text)?;
        if let Some(profile) = written.seeds.empty_profile() {
            return Err(ClaimsError::Seeds(profile));
        }
        let mut cells = Vec::new();
        for grid in &written.cell {
            cells.extend(grid.cells()?);
        }
        let metrics = Metrics::new(built_in, written.metric);
        let mut names = Names { cells: BTreeSet::new(), metrics: BTreeSet::new() };
        for metric in metrics.iter() {
            if !names.metrics.insert(metric.name.to_owned()) {
                return Err(ClaimsError::Twice { what: "metric", name: metric.name.to_owned() });
            }
        }
        for cell in &cells {
            if !names.cells.insert(cell.name.clone()) {
                return Err(ClaimsError::Twice { what: "cell", name: cell.name.clone() });
            }
        }
        let mut ids = BTreeSet::new();
        let mut claims = Vec::new();
        for claim in written.claim {
            let id = claim.id.clone();
            if !ids.insert(id.clone()) {
                return Err(ClaimsError::Twice { what: "claim", name: id });
            }
            let claim = claim.claim(|checks, paper| names.checks(checks, paper)).and_then(|claim| {
                claim.cell.iter().try_for_each(|cell| names.cells(cell, &Bindings::new()).map(drop))?;
                Ok(claim)
            });
            claims.push(claim.map_err(|why| ClaimsError::Claim { id, why })?);
        }
        let readings = reading::all(&written.reading)?;
        apply_readings(&mut claims, &readings, &names)?;
        for (what, name, found) in (written.table.iter())
            .map(|table| ("table", &table.title, names.table(table)))
            .chain(written.figure.iter().map(|figure| ("figure", &figure.name, names.figure(figure))))
            .chain(written.timeline.iter().map(|timeline| ("timeline", &timeline.name, names.timeline(timeline))))
            .chain(written.agreement.iter().map(|agree| ("agreement", &agree.metric, names.agreement(agree))))
        {
            found.map_err(|why| ClaimsError::Other { what, name: name.clone(), why })?;
        }
        Ok(Self {
            title: written.title,
            source: written.source,
            about: written.about,
            inferred: written.inferred,
            readings,
            cells,
            claims,
            metrics,
            seeds: written.seeds,
            tables: written.table,
            figures: written.figure,
            timelines: written.timeline,
            agreements: written.agreement,
        })
    }

    /// Returns the seeds with which `profile` runs `cell`: 1 only, if the cell is deterministic.
    #[must_use]
    pub fn seeds(&self, cell: &Cell, profile: Profile) -> std::ops::RangeInclusive<u64> {
        1..=if cell.deterministic { 1 } else { self.seeds.of(profile) }
    }

    /// Returns the readings (interpretations of the paper) that combine several others: each name, with the names of
    /// the combined readings.
    #[must_use]
    pub fn combined(&self) -> BTreeMap<String, Vec<String>> {
        let several = self.readings.iter().filter(|reading| !reading.combines.is_empty());
        several.map(|reading| (reading.name.clone(), reading.combines.clone())).collect()
    }

    pub(crate) fn paper_values(&self) -> BTreeMap<(&str, &str), f64> {
        self.paper_values_of(|_| true)
    }

    /// Returns the paper's numbers of the claims that `is_wanted` selects, by cell and metric.
    pub(crate) fn paper_values_of(&self, is_wanted: impl Fn(&Claim) -> bool) -> BTreeMap<(&str, &str), f64> {
        let mut values = BTreeMap::new();
        for claim in self.claims.iter().filter(|claim| is_wanted(claim)) {
            let explained = claim.explain.iter().flat_map(|explain| &explain.checks);
            if let (Some(value), Some(check)) = (claim.paper, claim.checks.iter().chain(explained).next())
                && let [cell] = &check.cells[..]
            {
                values.insert((claim.cell.as_deref().unwrap_or(cell), check.metric.as_str()), value);
            }
        }
        values
    }
}

/// Sets the readings of each measured claim, with the checks under each.
fn apply_readings(claims: &mut [Claim], readings: &[Reading], names: &Names) -> Result<(), ClaimsError> {
    let Some((first, others)) = readings.split_first() else { return Ok(()) };
    for claim in claims {
        // An input is not a result under any reading.
        if claim.kind == Kind::Input || claim.checks.is_empty() && claim.explain.is_none() {
            continue;
        }
        claim.reading = Some(first.name.clone());
        for reading in others {
            claim.readings.extend(reading.of(claim));
        }
        for under in &mut claim.readings {
            // Results under other assumptions are optional: those without cells for this reading are omitted.
            if let Some(additional) = &mut under.additional {
                additional.checks.retain(|check| names.check(check).is_ok());
            }
            under.additional.take_if(|additional| additional.checks.is_empty());
        }
        for under in &claim.readings {
            for check in under.deciding_checks() {
                names.check(check).map_err(|why| {
                    let (name, why) =
                        (under.reading.clone(), ReadingError::Claim { id: claim.id.clone(), why: why.into() });
                    ClaimsError::Reading { name, why }
                })?;
            }
        }
    }
    Ok(())
}

struct Names {
    cells: BTreeSet<String>,
    metrics: BTreeSet<String>,
}

impl Names {
    fn checks(&self, written: &[WrittenCheck], paper: Option<f64>) -> Result<Vec<Check>, CheckError> {
        let mut checks = Vec::new();
        for one in written {
            for each in expand(&one.each, &Bindings::new())? {
                let mut cells = Vec::new();
                for pattern in &one.cells {
                    cells.extend(self.cells(pattern, &each.bindings)?);
                }
                let check = one.check(cells, paper)?;
                self.metric(&check.metric)?;
                checks.push(check);
            }
        }
        Ok(checks)
    }

    fn check(&self, check: &Check) -> Result<(), CheckError> {
        self.metric(&check.metric)?;
        check.cells.iter().try_for_each(|cell| self.cell(cell))
    }

    /// Returns the cells of a pattern, all of which exist.
    fn cells(&self, pattern: &str, known: &Bindings) -> Result<Vec<String>, CheckError> {
        let names = expand(pattern, known)?.into_iter().map(|one| one.name);
        names.map(|name| self.cell(&name).map(|()| name)).collect()
    }

    fn cell(&self, name: &str) -> Result<(), CheckError> {
        if self.cells.contains(name) { Ok(()) } else { Err(CheckError::UnknownCell(name.to_owned())) }
    }

    fn metric(&self, name: &str) -> Result<(), CheckError> {
        if self.metrics.contains(name) {
            return Ok(());
        }
        Err(CheckError::UnknownMetric { name: name.to_owned(), known: self.metrics.iter().cloned().collect() })
    }

    fn agreement(&self, agreement: &Agreement) -> Result<(), CheckError> {
        self.metric(&agreement.metric)?;
        let (key, value, expected) = ("margin", agreement.margin, "a finite number, 0 or more");
        if value >= 0.0 && value.is_finite() { Ok(()) } else { Err(CheckError::OutOfRange { key, value, expected }) }
    }

    fn table(&self, table: &Table) -> Result<(), CheckError> {
        self.metric(&table.metric)?;
        for row in table.rows()? {
            for column in &table.columns {
                self.cells(&column.cell, &row)?;
            }
        }
        Ok(())
    }

    fn timeline(&self, timeline: &Timeline) -> Result<(), CheckError> {
        timeline.lines.iter().try_for_each(|line| self.cell(&line.cell))
    }

    fn figure(&self, figure: &Figure) -> Result<(), CheckError> {
        self.metric(&figure.metric)?;
        for line in &figure.lines {
            line.metric.iter().try_for_each(|metric| self.metric(metric))?;
            self.cells(&line.cells, &Bindings::new())?;
        }
        Ok(())
    }
}

/// Returns the samples over time that the paper's timelines (charts over time) show of a run of `cell`.
#[must_use]
pub fn trace(claims: &Claims, cell: &str, outcome: &Outcome<'_>) -> Traces {
    let lines = claims.timelines.iter().flat_map(|timeline| &timeline.lines).filter(|line| line.cell == cell);
    let samples = |entity: &str, metric: &str| {
        let samples = outcome.series.map_or(&[][..], |series| series.samples(entity, metric));
        samples.iter().map(|(at, value)| (at.as_secs_f64(), *value)).collect()
    };
    lines.map(|line| (key(&line.entity, &line.metric), samples(&line.entity, &line.metric))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &[Metric] = &[Metric { name: "m", unit: "", decimals: 1, of: |_| None }];
    const HEAD: &str = r#"
        title = "T"
        source = "S"
        about = "A"
        seeds = { default = 10, full = 30 }
        [[cell]]
        name = "{q=a|b}.{n=1|2}"
        scenario = "x.toml"
        set = ["count={n}"]
        [[cell]]
        name = "fixed"
        scenario = "x.toml"
        deterministic = true
    "#;

    fn parse(rest: &str) -> Result<Claims, String> {
        Claims::parse(&format!("{HEAD}{rest}"), METRICS).map_err(|error| error.to_string())
    }

    fn claim(class: &str, kind: &str, rest: &str) -> String {
        format!(
            "[[claim]]\nid = \"c\"\nclass = \"{class}\"\nkind = \"{kind}\"\nwhere = \"1\"\nstatement = \"s\"\n{rest}\n"
        )
    }

    fn readings(second: &str) -> String {
        format!(
            "[[reading]]\nname = \"one\"\ntext = \"t\"\nsupport = \"s\"\n[[reading]]\nname = \"two\"\ntext = \"t\"\nsupport = \"s\"\n{second}\n"
        )
    }

    /// The checks under another reading have the cells of that reading and the tolerances of the first.
    #[test]
    fn a_reading_replaces_cells_and_keeps_tolerances() {
        let number = claim("derivable", "number", GOOD);
        let untouched = parse(&(number.clone() + &readings("cells = { x = \"b\" }"))).unwrap();
        assert!(untouched.claims[0].readings.is_empty());
        let parsed = parse(&(number + &readings("cells = { a = \"b\" }"))).unwrap();
        let [read] = &parsed.claims[..] else { panic!() };
        assert_eq!(read.reading.as_deref(), Some("one"));
        let [under] = &read.readings[..] else { panic!() };
        assert_eq!((under.reading.as_str(), under.checks[0].cells.as_slice()), ("two", ["b.1".to_owned()].as_slice()));
        assert_eq!(under.checks[0].bound, read.checks[0].bound);
    }

    const GOOD: &str = "check = [{ metric = \"m\", cells = [\"a.1\"], op = \"above\", value = 1 }]";

    #[test]
    fn patterns_become_cells_and_checks() {
        let text = claim(
            "derivable",
            "ordering",
            "check = [{ metric = \"m\", cells = [\"{a|b}.{n}\"], reduce = \"difference\", op = \"above\", value = 0, each = \"{n=1|2}\" }]",
        );
        let claims = parse(&text).unwrap();
        let names: Vec<&str> = claims.cells.iter().map(|cell| cell.name.as_str()).collect();
        assert_eq!(names, ["a.1", "a.2", "b.1", "b.2", "fixed"]);
        let cells: Vec<&[String]> = claims.claims[0].checks.iter().map(|check| check.cells.as_slice()).collect();
        assert_eq!(cells, [["a.1", "b.1"], ["a.2", "b.2"]]);
        assert_eq!(claims.seeds(&claims.cells[0], Profile::Full), 1..=30);
        assert_eq!(claims.seeds(&claims.cells[4], Profile::Full), 1..=1);
    }

    #[test]
    fn the_papers_numbers_are_in_the_judged_cell_or_in_cell() {
        let number = "paper = 3\ncheck = [{ metric = \"m\", cells = [\"a.1\"], op = \"within\", tolerance = 1 }]";
        let shown = |rest: &str| {
            let claims = parse(&claim("derivable", "number", &format!("{number}{rest}"))).unwrap();
            claims.paper_values().into_iter().map(|((cell, _), value)| (cell.to_owned(), value)).collect::<Vec<_>>()
        };
        assert_eq!(shown(""), [("a.1".to_owned(), 3.0)]);
        assert_eq!(shown("\ncell = \"b.2\""), [("b.2".to_owned(), 3.0)]);
    }

    /// Such a paper once ran nothing, and its claims were "not run".
    #[test]
    fn a_profile_without_a_seed_is_an_error() {
        for (from, to) in [("default = 10", "default = 0"), ("full = 30", "full = 0")] {
            let text = HEAD.replace(from, to) + &claim("derivable", "number", GOOD);
            let error = Claims::parse(&text, METRICS).unwrap_err().to_string();
            assert_eq!(error, format!("seeds: {to}: expected 1 or more").replace(" = ", " is "));
        }
    }

    #[test]
    fn errors_name_the_place() {
        let explained = format!("explain = {{ text = \"t\", {GOOD} }}");
        let twice = claim("derivable", "number", GOOD).repeat(2);
        let table = |rest: &str| {
            format!(
                "[[table]]\ntitle = \"T\"\nmetric = \"m\"\nrows = \"{{n=1|3}}\"\n\
                 columns = [{{ title = \"x\", cell = \"a.{{n}}\", from = \"headway\" }}]\n{rest}"
            )
        };
        for (rest, part) in [
            (twice, "duplicate claim \"c\""),
            (
                claim("derivable", "number", GOOD) + "[[cell]]\nname = \"a.1\"\nscenario = \"x\"\n",
                "duplicate cell \"a.1\"",
            ),
            (claim("derivable", "number", &GOOD.replace("a.1", "c.1")), "claim \"c\": there is no cell \"c.1\""),
            (claim("derivable", "number", &GOOD.replace("a.1", "a.{n}")), "{n} is unknown"),
            (claim("derivable", "number", &GOOD.replace("\"m\"", "\"k\"")), "there is no metric \"k\""),
            (claim("derivable", "number", &format!("{GOOD}\ncell = \"z\"")), "there is no cell \"z\""),
            (claim("derivable", "number", ""), "the claim has no check"),
            (claim("derivable", "number", "measurable = false"), "needs a note"),
            (claim("derivable", "number", "test = [\"x::y\"]"), "test is allowed only with"),
            (claim("derivable", "definition", ""), "a definition needs test"),
            (
                claim("derivable", "definition", &format!("test = [\"x::y\"]\n{GOOD}")),
                "test cannot be combined with check",
            ),
            (claim("derivable", "input", &format!("test = [\"x::y\"]\n{GOOD}")), "test cannot be combined with check"),
            (claim("derivable", "input", ""), "the claim has no check"),
            (claim("derivable", "number", &explained), "explain needs class"),
            (claim("derivable", "input", &explained), "explain needs class"),
            (claim("needs-assumption", "number", &explained), "explain needs class"),
            (
                claim("contradictory", "number", &format!("{GOOD}\n{explained}")),
                "explain cannot be combined with check",
            ),
            (
                claim("contradictory", "number", "explain = { text = \"t\", check = [] }"),
                "explain needs at least one check",
            ),
            (claim("easy", "number", GOOD), "unknown value \"easy\""),
            (claim("derivable", "number", &format!("{GOOD}\nlevel = 1")), "unknown key \"level\""),
            (claim("derivable", "number", GOOD) + &table(""), "table \"T\": there is no cell \"a.3\""),
            (
                format!(
                    "{}[[reading]]\nname = \"r\"\ntext = \"t\"\nsupport = \"s\"\ncells = {{ a = \"b\" }}",
                    claim("derivable", "number", GOOD)
                ),
                "reading \"r\": the first reading cannot have",
            ),
            (
                claim("derivable", "number", GOOD) + &readings("cells = { a = \"c\" }"),
                "reading \"two\": claim c: there is no cell \"c.1\"",
            ),
            (claim("derivable", "number", GOOD) + &readings("metrics = { m = \"k\" }"), "there is no metric \"k\""),
            (
                claim("derivable", "number", GOOD) + &readings(""),
                "it replaces nothing: expected cells, metrics or combines",
            ),
            (
                claim("derivable", "number", GOOD) + "[[agreement]]\nmetric = \"k\"\nmargin = 1\n",
                "agreement \"k\": there is no metric",
            ),
            (
                claim("derivable", "number", GOOD) + "[[agreement]]\nmetric = \"m\"\nmargin = -1\n",
                "agreement \"m\": margin is -1: expected a finite number, 0 or more",
            ),
            (
                claim("derivable", "number", &GOOD.replace("value = 1", "value = \"1\"")),
                "claim[0].check[0].value: \"1\" is not a number",
            ),
            (claim("derivable", "number", &GOOD.replace("value = 1", "value = \"1\"")), "claims.toml:"),
        ] {
            let error = parse(&rest).unwrap_err();
            assert!(error.contains(part), "{error}\n{rest}");
        }
    }
}
