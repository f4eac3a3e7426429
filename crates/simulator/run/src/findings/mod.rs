//! Problems and notes found in a record: one sentence each, with its time interval.
//!
//! Each rule is a module and an entry in [`RULES`]. A rule uses only the record. Rules that need series,
//! events or the scenario find nothing in a record without them. A rule visits each flow, link, sample and
//! event a bounded number of times. If more than three flows or links have findings of one cause, they are
//! merged into one with a count.
//!
//! - `between`: comparison of runs; the only rule that is not in [`RULES`].
//! - `evidence`: the contents of a record that rules use; `finding`: the result type and its text.
//! - `failed`, `undelivered`, `stuck`: flows that deliver nothing or stop forever.
//! - `start_up`: flows in start-up at the beginning of the measurement.
//! - `outage`, `starved`, `phase`: outages of links, starved flows, phase effects.
//! - `unsent`, `late`, `frames`: media discarded before sending, late packets, incomplete frames.
//! - `standing`, `drops`: queues with long delays, links that drop packets.
//! - `smoother`: the controller with the smoother rate.

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

/// All rules for one record. Findings of equal severity and time keep this order.
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

/// Returns the findings about a run (such as outages, starved flows and long queues) from its record. Problems are
/// before notes, and each are in order of time.
///
/// # Errors
/// A file of the record cannot be read. Missing files are not an error.
pub fn findings(folder: &Folder, summary: &Summary) -> Result<Vec<Finding>, Error> {
    let scenario = evidence::scenario(folder);
    findings_of(folder, summary, scenario.as_ref(), &())
}

/// Applies the rules to a record whose scenario is loaded. If `watch` stops the command, the remaining rules
/// are skipped.
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
