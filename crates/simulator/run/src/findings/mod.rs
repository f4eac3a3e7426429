//! What is worth looking at in a record: a sentence each, with its place in time.
//!
//! A rule is a file and a line in [`RULES`]. Rules read what the record says and nothing else; where it has no series, no events or no
//! scenario, the rules that need them find nothing.
//!
//! A rule looks at each flow, link, sample and event a bounded number of times. Findings of one cause about more than three
//! flows or links are one finding with a count.

mod between;
mod drops;
mod evidence;
mod failed;
mod frames;
mod late;
mod outage;
mod phase;
mod smoother;
mod standing;
mod start_up;
mod starved;
mod stuck;
mod undelivered;
mod unsent;

pub use between::findings_between;

use crate::{Error, Folder, Watch};
use evidence::Evidence;
use headway_record::Summary;
use headway_scenario::Scenario;
use headway_units::counted as count;
use serde::Serialize;
use std::collections::BTreeMap;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Somebody who listens, looks or waits is worse off.
    Problem,
    /// To be known.
    Note,
}

/// What a rule has found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// From when on, in s since the start of the run.
    pub time_from_s: f64,
    /// Until when.
    pub time_to_s: f64,
    /// How bad it is.
    pub severity: Severity,
    /// The flow or the link's direction that it is about.
    pub subject: String,
    /// A sentence without its full stop.
    pub text: String,
}

/// In the order in which what they find is told.
const RULES: [fn(&Evidence<'_>) -> Vec<Finding>; 13] = [
    failed::find,
    undelivered::find,
    stuck::find,
    start_up::find,
    outage::find,
    starved::find,
    phase::find,
    unsent::find,
    late::find,
    frames::find,
    standing::find,
    drops::find,
    smoother::find,
];

/// What is worth looking at in this record: problems before notes, each in the order of time.
///
/// # Errors
/// A file of the record cannot be read. One that is not there is no error.
pub fn findings(folder: &Folder, summary: &Summary) -> Result<Vec<Finding>, Error> {
    let scenario = evidence::scenario(folder);
    findings_of(folder, summary, scenario.as_ref(), &())
}

/// Applies the rules to a record whose scenario is loaded. When the caller stops the command, the rest of the rules is left out.
pub(crate) fn findings_of(
    folder: &Folder,
    summary: &Summary,
    scenario: Option<&Scenario>,
    watch: &dyn Watch,
) -> Result<Vec<Finding>, Error> {
    if watch.stopped() {
        return Ok(Vec::new());
    }
    let evidence = Evidence::gather(folder, summary, scenario)?;
    let rules = RULES.into_iter().take_while(|_| !watch.stopped());
    let mut found: Vec<Finding> = rules.flat_map(|rule| rule(&evidence)).collect();
    found.sort_by(|a, b| a.severity.cmp(&b.severity).then(a.time_from_s.total_cmp(&b.time_from_s)));
    Ok(found)
}

/// Maximum number of flows or links with one cause that have a finding each.
const APART: usize = 3;

/// Groups effects of a cause: (cause, size, effect). Returns the effects to describe, in their order. With more than [`APART`] of one
/// cause it is the largest of them, with the number of the others.
fn by_cause<K: Ord, T>(effects: Vec<(K, f64, T)>) -> Vec<(T, u64)> {
    let mut causes: BTreeMap<&K, (usize, usize)> = BTreeMap::new();
    for (at, (cause, size, _)) in effects.iter().enumerate() {
        let (count, largest) = causes.entry(cause).or_insert((0, at));
        *count += 1;
        if *size > effects[*largest].1 {
            *largest = at;
        }
    }
    let others = |(at, (cause, ..)): (usize, &(K, f64, T))| match causes[cause] {
        (count, _) if count <= APART => Some(0),
        (count, largest) => (at == largest).then_some(count as u64 - 1),
    };
    let others: Vec<Option<u64>> = effects.iter().enumerate().map(others).collect();
    let described = effects.into_iter().zip(others);
    described.filter_map(|((.., effect), others)| Some((effect, others?))).collect()
}

/// Groups findings of a cause: (cause, size, finding). A finding that stands for others ends with their number; `what` names them.
fn one_per_cause<K: Ord>(findings: Vec<(K, f64, Finding)>, what: &str) -> Vec<Finding> {
    let finding = |(mut finding, others): (Finding, u64)| {
        finding.text.push_str(&likewise(others, what));
        finding
    };
    by_cause(findings).into_iter().map(finding).collect()
}

fn likewise(others: u64, what: &str) -> String {
    if others == 0 { String::new() } else { format!("; likewise {}", count(others, what)) }
}

/// A part of a whole in percent, without digits that say nothing.
fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    match percent {
        most if most >= 9.95 => format!("{most:.0} %"),
        least if least > 0.0 && least < 0.05 => "less than 0.1 %".to_owned(),
        some => format!("{some:.1} %"),
    }
}

/// A time as people say it.
fn time(seconds: f64) -> String {
    match seconds {
        long if long >= 10.0 => format!("{long:.1} s"),
        long if long >= 1.0 => format!("{long:.2} s"),
        short => format!("{:.0} ms", short * 1e3),
    }
}

/// A rate likewise.
fn rate(bits_per_second: f64) -> String {
    if bits_per_second >= 1e6 {
        format!("{:.2} Mb/s", bits_per_second / 1e6)
    } else {
        format!("{:.0} kb/s", bits_per_second / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::{by_cause, percent, rate, time};

    /// Up to three effects of a cause are described one by one; of more, the largest stands for the others.
    #[test]
    fn effects_of_one_cause_are_one_with_a_count() {
        let effects = |count: i32| (0..count).map(|at| ("full", f64::from(at % 4), at)).collect::<Vec<_>>();
        assert_eq!(by_cause(effects(3)), [(0, 0), (1, 0), (2, 0)]);
        assert_eq!(by_cause(effects(4)), [(3, 3)]);
        let mut mixed = effects(6);
        mixed.insert(2, ("lost", 0.0, 9));
        assert_eq!(by_cause(mixed), [(9, 0), (3, 5)]);
    }

    /// Each quantity changes its unit or its digits at its bound.
    #[test]
    fn quantities_have_few_digits() {
        assert_eq!(
            [0.0, 0.000_499, 0.0005, 0.0994, 0.0995, 1.0].map(percent).join(", "),
            "0.0 %, less than 0.1 %, 0.1 %, 9.9 %, 10 %, 100 %"
        );
        assert_eq!([0.25, 0.9994, 1.0, 9.994, 10.0].map(time).join(", "), "250 ms, 999 ms, 1.00 s, 9.99 s, 10.0 s");
        assert_eq!([25e3, 999_400.0, 1e6].map(rate).join(", "), "25 kb/s, 999 kb/s, 1.00 Mb/s");
    }
}
