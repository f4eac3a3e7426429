//! What is worth looking at in a record: a sentence each, with its place in time.
//!
//! A rule is a file and a line in [`RULES`]. Rules read what the record says and nothing else; where it has no series, no events or no
//! scenario, the rules that need them find nothing.

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
mod unsent;

pub use between::findings_between;

use crate::{Error, Folder};
use evidence::Evidence;
use headway_record::Summary;
use serde::Serialize;

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
const RULES: [fn(&Evidence<'_>) -> Vec<Finding>; 12] = [
    failed::find,
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
    let evidence = Evidence::gather(folder, summary)?;
    let mut found: Vec<Finding> = RULES.into_iter().flat_map(|rule| rule(&evidence)).collect();
    found.sort_by(|a, b| a.severity.cmp(&b.severity).then(a.time_from_s.total_cmp(&b.time_from_s)));
    Ok(found)
}

/// `1 packet`, `2 packets`.
fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
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
