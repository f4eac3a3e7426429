//! Reasons why a run in wall-clock time does not represent its links.

use headway_record::DelaySummary;
use headway_units::{Duration, counted};

/// Longest stall in a valid run, in bounds of the release error.
const MAX_STALL: u64 = 100;

/// Returns why a run is not valid: the 99th percentile of the release error, or the longest stall of `what`, is above
/// `bound`, or packets were lost outside the links. `lost` has numbers of
/// things, their noun, and how they were lost.
pub(crate) fn faults(
    bound: Duration,
    release_error_s: Option<&DelaySummary>,
    what: &str,
    longest_stall_s: f64,
    lost: &[(u64, &str, &str)],
) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(error) = release_error_s.filter(|error| error.p99 > bound.as_secs_f64()) {
        let p99 = Duration::from_secs_f64(error.p99);
        faults.push(format!("the 99th percentile of the release error is {p99}, above the bound of {bound}"));
    }
    let max_stall = bound.saturating_mul(MAX_STALL);
    if longest_stall_s > max_stall.as_secs_f64() {
        let stall = Duration::from_secs_f64(longest_stall_s);
        faults.push(format!("{what} did not run for {stall}; at most {max_stall} is valid"));
    }
    let lost = lost.iter().filter(|(count, ..)| *count > 0);
    faults.extend(lost.map(|(count, noun, how)| format!("{} {how}", counted(*count, noun))));
    faults
}
