//! `[[reading]]`: one of the ways in which a paper can be read.

use crate::check::Check;
use crate::claim::{Claim, ReadAs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One of the ways in which a paper can be read. Claims are judged under the first one, and under each other one that changes what
/// they are judged by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Its name.
    pub name: String,
    /// Meaning of the paper under this reading.
    pub text: String,
    /// The statement in the paper that supports it, and where it is.
    pub support: String,
    /// Parts of cell names, and what replaces them. A part is one word between dots, or several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    cells: BTreeMap<String, String>,
    /// Metrics, and what replaces them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metrics: BTreeMap<String, String>,
}

impl Reading {
    /// Whether it changes nothing, as the first one must.
    pub(crate) fn is_plain(&self) -> bool {
        self.cells.is_empty() && self.metrics.is_empty()
    }

    /// A claim under this reading; none if the reading changes nothing of it. Tolerances are the same.
    pub(crate) fn of(&self, claim: &Claim) -> Option<ReadAs> {
        let [checks, trend] = [&claim.checks, &claim.trend].map(|checks| self.checks(checks));
        let is_other = checks != claim.checks || trend != claim.trend;
        is_other.then(|| ReadAs { reading: self.name.clone(), checks, trend })
    }

    fn checks(&self, checks: &[Check]) -> Vec<Check> {
        let check = |check: &Check| Check {
            metric: self.metrics.get(&check.metric).unwrap_or(&check.metric).clone(),
            cells: check.cells.iter().map(|cell| self.cell(cell)).collect(),
            ..check.clone()
        };
        checks.iter().map(check).collect()
    }

    /// The cell that replaces this one.
    fn cell(&self, name: &str) -> String {
        let dotted = |words: &str| format!(".{words}.");
        let mut cell = dotted(name);
        for (from, to) in &self.cells {
            // A cell that already is the reading's stays.
            if !cell.contains(&dotted(to)) {
                cell = cell.replacen(&dotted(from), &dotted(to), 1);
            }
        }
        cell.trim_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(cells: &[(&str, &str)]) -> Reading {
        let pairs = cells.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned()));
        Reading {
            name: "r".to_owned(),
            text: String::new(),
            support: String::new(),
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
}
