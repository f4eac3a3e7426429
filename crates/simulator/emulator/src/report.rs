//! What a proxy tells of itself: what became of the datagrams, how late it was, and whether that leaves the run true.

use super::emulator::{MOST_HELD, WayCounts};
use headway_record::DelaySummary;
use headway_units::{Duration, counted};
use serde::Serialize;

/// The state of a run, since its beginning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// How long it has lasted, in s.
    pub elapsed_s: f64,
    /// Clients that are known now.
    pub clients: usize,
    /// From the clients to the server.
    pub to_server: WayCounts,
    /// From the server to the clients.
    pub to_client: WayCounts,
    /// How long after its instant on the link each datagram was sent, in s: till the system has taken it. Never negative; none if none was sent.
    pub release_error_s: Option<DelaySummary>,
    /// How long after the system had received each datagram it was taken to the link, in s: its time on the link begins then. None if the system does
    /// not tell when it received them.
    pub intake_error_s: Option<DelaySummary>,
    /// Datagrams that were not taken: of a client for which there was no room, or not from the server.
    pub refused_packets: u64,
    /// Datagrams that came out of the link and could not be sent: the system refused them, or their client was forgotten.
    pub unsent_packets: u64,
    /// What the 99th percentile of either error may be, in s.
    pub bound_s: f64,
    /// Why what was measured through the proxy is not what the link would do; empty if the run is valid.
    pub faults: Vec<String>,
    /// Whether it is.
    pub valid: bool,
}

impl Report {
    /// With the faults that the rest of it shows.
    pub(super) fn judged(mut self, bound: Duration, clients: u32) -> Self {
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
        let mib = MOST_HELD >> 20;
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
            to_server: WayCounts::default(),
            to_client: WayCounts::default(),
            release_error_s: Some(error),
            intake_error_s: Some(error),
            refused_packets: 0,
            unsent_packets: 0,
            bound_s: 0.0,
            faults: Vec::new(),
            valid: false,
        }
    }

    /// One late datagram of many does not count; one of a hundred does, and so does each that the link did not drop.
    #[test]
    fn a_run_is_valid_within_its_bound_and_says_why_it_is_not() {
        let valid = report().judged(Duration::from_millis(1), 256);
        assert!(valid.valid && valid.faults.is_empty() && valid.bound_s == 1e-3);
        let late = report().judged(Duration::from_micros(499), 256);
        assert_eq!(late.faults.len(), 2);
        assert_eq!(late.faults[0], "the 99th percentile of the release error is 500us, above the bound of 499us");
        let mut lossy = report();
        (lossy.to_client.no_room_packets, lossy.unsent_packets, lossy.refused_packets) = (3, 2, 1);
        let lossy = lossy.judged(Duration::from_millis(1), 256);
        assert!(!lossy.valid && lossy.faults.len() == 3, "{:?}", lossy.faults);
        let nothing = Report { release_error_s: None, intake_error_s: None, ..report() };
        assert!(nothing.judged(Duration::ZERO, 256).valid);
    }
}
