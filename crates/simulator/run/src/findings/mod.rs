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
mod finding;
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
pub use finding::{Finding, Severity};
use finding::{by_cause, count, likewise, one_per_cause, percent, rate, time};
use headway_record::Summary;
use headway_scenario::Scenario;

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
