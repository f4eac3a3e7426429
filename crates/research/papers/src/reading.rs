//! `[[reading]]`: interpretations of an ambiguous paper.

use crate::check::{Check, CheckError};
use crate::claim::{Claim, Explain, ReadingChecks};
use crate::claims::ClaimsError;
use crate::pattern::{Bindings, PatternError, expand, fill};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An interpretation of the paper. The checks of claims are written for the first reading. Each other reading replaces
/// cells and metrics in these checks; a claim is judged again under each reading that changes one of its checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Name of the reading.
    pub name: String,
    /// Meaning of the paper under this reading.
    pub text: String,
    /// Statement in the paper that supports the reading, with its place in the paper.
    pub support: String,
    /// Names of earlier readings that this one combines; empty if it combines none. If its checks of a claim equal
    /// those of the first reading in this list that changes the claim, it gives the claim no separate verdict: the
    /// verdict under that reading applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub combines: Vec<String>,
    /// Replacements in cell names. A key is one or more whole words between dots.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    cells: BTreeMap<String, String>,
    /// Replacements of metrics.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metrics: BTreeMap<String, String>,
}

/// Error in a `[[reading]]` of `claims.toml`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
#[non_exhaustive]
pub enum ReadingError {
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("the first reading cannot have cells, metrics or combines: the checks are written for it")]
    First,
    #[error("it replaces nothing: expected cells, metrics or combines")]
    Plain,
    #[error("combines has only \"{0}\": expected at least two readings")]
    Alone(String),
    #[error("combines: no earlier reading \"{0}\" has replacements")]
    NoPart(String),
    #[error("the combined readings replace \"{0}\" by different names")]
    Conflict(String),
    #[error("claim {id}: {why}")]
    Claim { id: String, why: Box<CheckError> },
}

impl Reading {
    /// Whether the reading has no replacements, as required of the first reading.
    fn is_plain(&self) -> bool {
        self.cells.is_empty() && self.metrics.is_empty()
    }

    /// Returns one reading for each name of the pattern, with the variables filled in.
    fn expanded(&self) -> Result<Vec<Self>, PatternError> {
        let one = |name: String, known: &Bindings| {
            let combines = self.combines.iter().map(|part| fill(part, known)).collect::<Result<_, _>>()?;
            let (text, support) = (fill(&self.text, known)?, fill(&self.support, known)?);
            Ok(Self { name, text, support, combines, ..self.clone() })
        };
        expand(&self.name, &Bindings::new())?.into_iter().map(|each| one(each.name, &each.bindings)).collect()
    }

    fn combine(&mut self, earlier: &[Self]) -> Result<(), ReadingError> {
        if let [only] = &self.combines[..] {
            return Err(ReadingError::Alone(only.clone()));
        }
        for name in &self.combines {
            let part = earlier.iter().find(|part| part.name == *name && !part.is_plain());
            let part = part.ok_or_else(|| ReadingError::NoPart(name.clone()))?;
            for (ours, theirs) in [(&mut self.cells, &part.cells), (&mut self.metrics, &part.metrics)] {
                for (from, to) in theirs {
                    if ours.insert(from.clone(), to.clone()).is_some_and(|before| before != *to) {
                        return Err(ReadingError::Conflict(from.clone()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the checks of a claim under this reading, with unchanged tolerances; none if they equal those under the
    /// first of the combined readings that judges the claim, or else under the first reading of the paper. `additional`
    /// has only the checks that the reading changes.
    pub(crate) fn of(&self, claim: &Claim) -> Option<ReadingChecks> {
        let [checks, trend] = [&claim.checks, &claim.trend].map(|checks| self.checks(checks));
        let replaced = |explain: &Explain| Explain { text: explain.text.clone(), checks: self.checks(&explain.checks) };
        let explain = claim.explain.as_ref().map(replaced);
        let part = self.combines.iter().find_map(|name| claim.readings.iter().find(|under| under.reading == *name));
        let other = part
            .map_or((&claim.checks, &claim.trend, &claim.explain), |part| (&part.checks, &part.trend, &part.explain));
        if other == (&checks, &trend, &explain) {
            return None;
        }
        let additional = claim.additional.as_ref().map(|additional| {
            let mut under = replaced(additional);
            under.checks.retain(|check| !additional.checks.contains(check));
            under
        });
        Some(ReadingChecks { reading: self.name.clone(), checks, trend, explain, additional })
    }

    fn checks(&self, checks: &[Check]) -> Vec<Check> {
        let check = |check: &Check| Check {
            metric: self.metrics.get(&check.metric).unwrap_or(&check.metric).clone(),
            cells: check.cells.iter().map(|cell| self.cell(cell)).collect(),
            ..check.clone()
        };
        checks.iter().map(check).collect()
    }

    fn cell(&self, name: &str) -> String {
        let dotted = |words: &str| format!(".{words}.");
        let mut cell = dotted(name);
        for (from, to) in &self.cells {
            // A cell that already belongs to the reading is not changed.
            if !cell.contains(&dotted(to)) {
                cell = cell.replacen(&dotted(from), &dotted(to), 1);
            }
        }
        cell.trim_matches('.').to_owned()
    }
}

/// Returns the readings with patterns expanded and the replacements of combined readings added.
pub(crate) fn all(written: &[Reading]) -> Result<Vec<Reading>, ClaimsError> {
    let wrong = |name: &str, why: ReadingError| ClaimsError::Reading { name: name.to_owned(), why };
    let mut readings: Vec<Reading> = Vec::new();
    for one in written {
        for mut reading in one.expanded().map_err(|error| wrong(&one.name, error.into()))? {
            if readings.iter().any(|earlier| earlier.name == reading.name) {
                return Err(ClaimsError::Twice { what: "reading", name: reading.name });
            }
            reading.combine(&readings).map_err(|why| wrong(&reading.name, why))?;
            let why = match (readings.is_empty(), reading.is_plain()) {
                (true, false) => ReadingError::First,
                (false, true) => ReadingError::Plain,
                _ => {
                    readings.push(reading);
                    continue;
                }
            };
            return Err(wrong(&reading.name, why));
        }
    }
    Ok(readings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::metric::Metric;

    fn reading(cells: &[(&str, &str)]) -> Reading {
        let pairs = cells.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned()));
        Reading {
            name: "r".to_owned(),
            text: String::new(),
            support: String::new(),
            combines: Vec::new(),
            cells: pairs.collect(),
            metrics: BTreeMap::new(),
        }
    }

    #[test]
    fn whole_words_between_dots_are_replaced() {
        let filter = reading(&[("uddj", "uddj-filter")]);
        for (cell, expected) in [
            ("f4.uddj.0.08", "f4.uddj-filter.0.08"),
            ("uddj", "uddj-filter"),
            ("f4.uddj-round.0", "f4.uddj-round.0"),
            ("f4.uddj-filter.0", "f4.uddj-filter.0"),
        ] {
            assert_eq!(filter.cell(cell), expected);
        }
        let plain = reading(&[("red.tcp", "plain.tahoe.red"), ("red.udp", "plain.red.udp")]);
        for (cell, expected) in [
            ("red.tcp.3", "plain.tahoe.red.3"),
            ("plain.red.udp.3", "plain.red.udp.3"),
            ("red.udp.3", "plain.red.udp.3"),
            ("split.udp.3", "split.udp.3"),
        ] {
            assert_eq!(plain.cell(cell), expected);
        }
    }

    const METRICS: &[Metric] = &[Metric { name: "m", unit: "", decimals: 1, of: |_| None }];

    /// One claim about `cell` with the readings `plain`, `hop`, `filter`, and a fourth whose keys are `combined`.
    fn parsed(cell: &str, combined: &str) -> Result<Claims, String> {
        let head = "title = \"T\"\nsource = \"S\"\nabout = \"A\"\nseeds = { default = 10, full = 30 }\n\
                    [[cell]]\nname = \"{path|hop}.{uddj|filter}\"\nscenario = \"x.toml\"\n";
        let claim = format!(
            "[[claim]]\nid = \"c\"\nclass = \"derivable\"\nkind = \"number\"\nwhere = \"1\"\nstatement = \"s\"\n\
             check = [{{ metric = \"m\", cells = [\"{cell}\"], op = \"above\", value = 1 }}]\n"
        );
        let readings = [
            ("plain", "t", ""),
            ("hop", "t", "cells = { path = \"hop\" }"),
            ("filter", "t", "cells = { uddj = \"filter\" }"),
            ("hop-{flag=filter}", "as {flag}", combined),
        ];
        let written = |(name, text, rest): (&str, &str, &str)| {
            format!("[[reading]]\nname = \"{name}\"\ntext = \"{text}\"\nsupport = \"s\"\n{rest}\n")
        };
        let readings = readings.map(written).concat();
        Claims::parse(&format!("{head}{claim}{readings}"), METRICS).map_err(|error| error.to_string())
    }

    const BOTH: &str = "combines = [\"hop\", \"{flag}\"]";

    #[test]
    fn a_combined_reading_judges_claims_that_all_its_parts_change() {
        let judged = |cell: &str| {
            let claims = parsed(cell, BOTH).unwrap();
            let under = claims.claims[0].readings.iter();
            under.map(|under| format!("{}: {}", under.reading, under.checks[0].cells.concat())).collect::<Vec<_>>()
        };
        assert_eq!(judged("path.uddj"), ["hop: hop.uddj", "filter: path.filter", "hop-filter: hop.filter"]);
        assert_eq!(judged("path.filter"), ["hop: hop.filter"]);
        assert_eq!(judged("hop.uddj"), ["filter: hop.filter"]);
        assert_eq!(judged("hop.filter"), [""; 0]);
        let claims = parsed("path.uddj", BOTH).unwrap();
        assert_eq!(claims.readings[3].text, "as filter");
        assert_eq!(claims.combined()["hop-filter"], ["hop", "filter"]);
    }

    /// `path` and `path.uddj` replace the same words, so that the combined checks are those under `hop`. They are
    /// judged unless `hop` is the first of the combined readings, which gives the verdict on claims that are not
    /// judged.
    #[test]
    fn a_combined_reading_judges_claims_unless_its_first_part_has_the_same_checks() {
        let judged = |combines: &str| {
            let text = format!(
                "title = \"T\"\nsource = \"S\"\nabout = \"A\"\nseeds = {{ default = 10, full = 30 }}\n\
                 [[cell]]\nname = \"{{path|hop}}.{{uddj|filter}}\"\nscenario = \"x.toml\"\n\
                 [[reading]]\nname = \"plain\"\ntext = \"t\"\nsupport = \"s\"\n\
                 [[reading]]\nname = \"hop\"\ntext = \"t\"\nsupport = \"s\"\ncells = {{ path = \"hop\" }}\n\
                 [[reading]]\nname = \"both\"\ntext = \"t\"\nsupport = \"s\"\ncells = {{ \"path.uddj\" = \"hop.filter\" }}\n\
                 [[reading]]\nname = \"combined\"\ntext = \"t\"\nsupport = \"s\"\ncombines = [{combines}]\n\
                 [[claim]]\nid = \"c\"\nclass = \"derivable\"\nkind = \"number\"\nwhere = \"1\"\nstatement = \"s\"\n\
                 check = [{}]\n",
                above("path.uddj")
            );
            let under = Claims::parse(&text, METRICS).unwrap().claims.remove(0).readings.into_iter();
            under.map(|under| (under.reading, under.checks[0].cells.concat())).collect::<Vec<_>>()
        };
        let own = |name: &str, cell: &str| (name.to_owned(), cell.to_owned());
        let parts = [own("hop", "hop.uddj"), own("both", "hop.filter")];
        assert_eq!(judged("\"hop\", \"both\""), parts);
        assert_eq!(judged("\"both\", \"hop\""), [&parts[..], &[own("combined", "hop.uddj")]].concat());
    }

    /// Returns the readings of a contradictory claim with the check or explanation `check` and the `additional` checks.
    fn read_as(check: &str, additional: &str) -> Vec<ReadingChecks> {
        let text = format!(
            "title = \"T\"\nsource = \"S\"\nabout = \"A\"\nseeds = {{ default = 10, full = 30 }}\n\
             [[cell]]\nname = \"{{path|hop}}.{{uddj|filter}}\"\nscenario = \"x.toml\"\n\
             [[cell]]\nname = \"{{path|hop}}.few.uddj\"\nscenario = \"x.toml\"\n\
             [[reading]]\nname = \"plain\"\ntext = \"t\"\nsupport = \"s\"\n\
             [[reading]]\nname = \"filter\"\ntext = \"t\"\nsupport = \"s\"\ncells = {{ uddj = \"filter\" }}\n\
             [[claim]]\nid = \"c\"\nclass = \"contradictory\"\nkind = \"number\"\nwhere = \"1\"\nstatement = \"s\"\n\
             {check}\nadditional = {{ text = \"b\", check = [{additional}] }}\n"
        );
        Claims::parse(&text, METRICS).unwrap().claims.remove(0).readings
    }

    fn above(cell: &str) -> String {
        format!("{{ metric = \"m\", cells = [\"{cell}\"], op = \"above\", value = 1 }}")
    }

    #[test]
    fn an_explanation_is_judged_under_a_reading_that_changes_it() {
        let judged = |cell: &str| {
            let check = format!("explain = {{ text = \"e\", check = [{}] }}", above(cell));
            let under = read_as(&check, &above("hop.uddj"));
            under.into_iter().map(|under| under.explain.unwrap().checks[0].cells.concat()).collect::<Vec<_>>()
        };
        assert_eq!(judged("path.uddj"), ["path.filter"]);
        assert_eq!(judged("path.filter"), [""; 0]);
    }

    /// A reading has the results under other assumptions that it changes and whose cells exist. They alone do not add a
    /// reading.
    #[test]
    fn other_assumptions_are_judged_under_a_reading_that_changes_them() {
        let judged = |cell: &str, additional: &[&str]| {
            let additional = additional.iter().map(|cell| above(cell)).collect::<Vec<_>>().join(", ");
            let under = read_as(&format!("check = [{}]", above(cell)), &additional);
            let cells =
                |additional: &Explain| additional.checks.iter().map(|check| check.cells.concat()).collect::<Vec<_>>();
            under.into_iter().map(|under| under.additional.as_ref().map(cells)).collect::<Vec<_>>()
        };
        let hop = Some(vec!["hop.filter".to_owned()]);
        assert_eq!(judged("path.uddj", &["path.filter", "hop.uddj", "path.few.uddj"]), [hop]);
        assert_eq!(judged("path.uddj", &["path.filter", "path.few.uddj"]), [None]);
        assert_eq!(judged("path.filter", &["hop.uddj"]), []);
    }

    #[test]
    fn errors_of_a_combined_reading_are_specific() {
        for (combined, part) in [
            ("combines = [\"plain\", \"hop\"]", "no earlier reading \"plain\" has replacements"),
            ("combines = [\"hop\", \"{flag}s\"]", "no earlier reading \"filters\" has replacements"),
            ("combines = [\"hop\"]", "combines has only \"hop\""),
            ("combines = [\"hop\", \"{flags}\"]", "{flags} is unknown"),
            (
                &format!("{BOTH}\ncells = {{ path = \"path\" }}"),
                "the combined readings replace \"path\" by different names",
            ),
            ("", "it replaces nothing"),
        ] {
            let error = parsed("path.uddj", combined).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
