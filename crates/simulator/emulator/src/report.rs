//! The report of a proxy: packet counters, timing errors, and whether the run is valid.

use super::emulator::{DirectionCounts, MAX_HELD_BYTES};
use headway_record::DelaySummary;
use headway_units::{Duration, counted};
use serde::Serialize;

/// Report of a proxy's run since its start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Wall-clock time since the start of the proxy, in s.
    pub elapsed_s: f64,
    /// Number of clients at the time of the report.
    pub clients: usize,
    /// Counters of the direction from the clients to the server.
    pub to_server: DirectionCounts,
    /// Counters of the direction from the server to the clients.
    pub to_client: DirectionCounts,
    /// Release error, in s: time from the departure of a datagram from the emulated link until the system has accepted
    /// it for sending. Never negative; `None` if no datagram was sent.
    pub release_error_s: Option<DelaySummary>,
    /// Intake error, in s: time from the reception of a datagram by the system until its arrival at the emulated link.
    /// `None` if the system does not report receive times.
    pub intake_error_s: Option<DelaySummary>,
    /// Datagrams that the proxy refused: those of a client above the maximum number of clients or for which no socket
    /// could be opened, and those that arrived at a client's socket from another address than the server's.
    pub refused_packets: u64,
    /// Datagrams that left the link and could not be sent: the system refused them, or their client was removed.
    pub unsent_packets: u64,
    /// Maximum 99th percentile of the release error and of the intake error, in s; if either is larger, the run is not
    /// valid.
    pub bound_s: f64,
    /// Reasons why the run does not represent the link; empty if the run is valid.
    pub faults: Vec<String>,
    /// Whether the run is valid: whether there are no [`faults`](Self::faults).
    pub valid: bool,
}

impl Report {
    /// Sets the faults that follow from the other fields.
    pub(super) fn with_faults(mut self, bound: Duration, clients: u32) -> Self {
        let mut faults = Vec::new();
        for (what, error) in [("release", &self.release_error_s), ("intake", &self.intake_error_s)] {
            if let Some(error) = error
                && error.p99 > bound.as_secs_f64()
            {
                let p99 = Duration::from_secs_f64(error.p99);
                faults.push(format!("the 99th percentile of the {what} error is {p99}, above the bound of {bound}"));
            }
        }
        let no_room = self.to_server.no_room_packets + self.to_client.no_room_packets;
        let mib = MAX_HELD_BYTES >> 20;
        for (count, why) in [
            (no_room, format!("dropped because the proxy holds at most {mib} MiB")),
            (self.unsent_packets, "not sent, and not dropped by the link".to_owned()),
            (
                self.refused_packets,
                format!("refused: at most {clients} clients are accepted, and answers from the server only"),
            ),
        ] {
            if count > 0 {
                faults.push(format!("{} {why}", counted(count, "datagram")));
            }
        }
        (self.valid, self.faults, self.bound_s) = (faults.is_empty(), faults, bound.as_secs_f64());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let error = DelaySummary { mean: 1e-5, p50: 1e-5, p95: 2e-5, p99: 5e-4, max: 0.2 };
        Report {
            elapsed_s: 1.0,
            clients: 1,
            to_server: DirectionCounts::default(),
            to_client: DirectionCounts::default(),
            release_error_s: Some(error),
            intake_error_s: Some(error),
            refused_packets: 0,
            unsent_packets: 0,
            bound_s: 0.0,
            faults: Vec::new(),
            valid: false,
        }
    }

    /// A run is invalid if the 99th percentile of an error exceeds the bound, or if datagrams are lost outside the
    /// link.
    #[test]
    fn faults_are_errors_above_the_bound_and_losses_outside_the_link() {
        let valid = report().with_faults(Duration::from_millis(1), 256);
        assert!(valid.valid && valid.faults.is_empty() && valid.bound_s == 1e-3);
        let late = report().with_faults(Duration::from_micros(499), 256);
        assert_eq!(late.faults.len(), 2);
        assert_eq!(late.faults[0], "the 99th percentile of the release error is 500us, above the bound of 499us");
        let mut lossy = report();
        (lossy.to_client.no_room_packets, lossy.unsent_packets, lossy.refused_packets) = (3, 2, 1);
        let lossy = lossy.with_faults(Duration::from_millis(1), 256);
        assert!(!lossy.valid && lossy.faults.len() == 3, "{:?}", lossy.faults);
        let nothing = Report { release_error_s: None, intake_error_s: None, ..report() };
        assert!(nothing.with_faults(Duration::ZERO, 256).valid);
    }
}
