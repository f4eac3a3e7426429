//! The report of a shell: both directions of the link, and whether the run is valid.

use super::path::PathReport;
use crate::recorder::RecordError;
use headway_units::{Duration, Instant};
use serde::Serialize;

/// Report of a shell (a command behind an emulated link) since its start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShellReport {
    /// Wall-clock time since the start of the shell, in s.
    pub elapsed_s: f64,
    /// Report of the direction from the command to the outside.
    pub uplink: PathReport,
    /// Report of the direction from the outside to the command.
    pub downlink: PathReport,
    /// Maximum 99th percentile of [`PathReport::release_error_s`] in a valid run, in s.
    pub bound_s: f64,
    /// Reasons why the run does not represent the link; empty if the run is valid.
    pub faults: Vec<String>,
    /// Whether the run is valid: whether there are no [`faults`](Self::faults).
    pub valid: bool,
}

impl ShellReport {
    pub(super) fn new(
        now: Instant,
        uplink: PathReport,
        downlink: PathReport,
        bound: Duration,
        unwritten: &[RecordError],
    ) -> Self {
        let mut faults: Vec<String> = unwritten.iter().map(ToString::to_string).collect();
        for (direction, report) in [("uplink", &uplink), ("downlink", &downlink)] {
            let lost = [
                (report.counts.no_room_packets, "packet", "dropped because the emulator's memory was full"),
                (report.unsent_packets, "packet", "refused by the kernel after the link"),
                (report.unread_packets, "packet", "dropped by the kernel before the link"),
                (
                    report.unrecorded_events,
                    "event",
                    "not recorded because the captures and logs were written too slowly",
                ),
            ];
            let release = report.release_error_s.as_ref();
            let of_path = crate::faults::faults(bound, release, "the emulator", report.longest_stall_s, &lost);
            faults.extend(of_path.into_iter().map(|fault| format!("{direction}: {fault}")));
        }
        let (valid, elapsed_s) = (faults.is_empty(), now.as_secs_f64());
        Self { elapsed_s, uplink, downlink, bound_s: bound.as_secs_f64(), faults, valid }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_record::DelaySummary;

    /// A run is invalid if the 99th percentile of the release error exceeds the bound, if the emulator did not run, or
    /// if packets are lost outside the link.
    #[test]
    fn faults_are_errors_above_the_bound_stalls_and_losses_outside_the_link() {
        let error = DelaySummary { mean: 1e-5, p50: 1e-5, p95: 2e-5, p99: 5e-4, max: 0.2 };
        let path = PathReport { release_error_s: Some(error), longest_stall_s: 0.0499, ..PathReport::default() };
        let report = |uplink: &PathReport, bound| {
            let bound = Duration::from_micros(bound);
            ShellReport::new(Instant::from_secs(1), uplink.clone(), PathReport::default(), bound, &[])
        };
        assert!(report(&path, 500).valid);
        let late = report(&path, 499);
        let message = "uplink: the 99th percentile of the release error is 500us, above the bound of 499us";
        assert!(!late.valid);
        assert_eq!(late.faults, [message]);
        let mut lossy =
            PathReport { longest_stall_s: 5.0, unsent_packets: 1, unread_packets: 2, unrecorded_events: 4, ..path };
        lossy.counts.no_room_packets = 3;
        let faults = report(&lossy, 500).faults;
        assert_eq!(faults.len(), 5, "{faults:?}");
        assert_eq!(faults[0], "uplink: the emulator did not run for 5s; at most 50ms is valid");
    }
}
