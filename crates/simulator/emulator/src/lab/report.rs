//! The report of a lab: its timing, and whether the run represents the links.

use crate::faults::faults;
use headway_record::DelaySummary;
use headway_units::Duration;
use serde::Serialize;

/// Timing errors of a run in a lab (a scenario in wall-clock time, with real programs), and packets that were lost
/// outside its simulated links.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LabReport {
    /// Wall-clock time since the start of the run, in s.
    pub elapsed_s: f64,
    /// Release error, in s: time from the departure of a packet from its last simulated link until the kernel has
    /// accepted it. Never negative; `None` if no packet was sent.
    pub release_error_s: Option<DelaySummary>,
    /// Longest wall-clock time, in s, from the time at which the lab's process was due until it ran. The process is due
    /// at each event of the simulation, and at the latest after 200 ms. Above 100 times `bound_s`, the run is not
    /// valid.
    pub longest_stall_s: f64,
    /// Share of one processor's time that the simulation of the links used, from 0 to 1.
    pub cpu_share: f64,
    /// Packets of programs and of the kernel's TCP that entered the simulated links.
    pub packets: u64,
    /// Packets that left the simulated links and that the kernel refused.
    pub unsent_packets: u64,
    /// Packets that the kernel dropped before the simulated links, because the lab did not read them in time.
    pub unread_packets: u64,
    /// Packets of programs and of the kernel's TCP that were dropped because too many packets were on the links.
    pub no_room_packets: u64,
    /// Packets that the lab dropped because they belong to no flow. They do not make the run invalid.
    pub other_packets: u64,
    /// Programs that failed, each with the flow and the reason. Such failures do not make the run invalid.
    pub failures: Vec<String>,
    /// Maximum 99th percentile of [`release_error_s`](Self::release_error_s) in a valid run, in s.
    pub bound_s: f64,
    /// Reasons why the run does not represent the links; empty if the run is valid.
    pub faults: Vec<String>,
    /// Whether the run is valid: whether there are no [`faults`](Self::faults).
    pub valid: bool,
}

impl LabReport {
    /// Sets the faults that follow from the other fields.
    pub(super) fn with_faults(mut self, bound: Duration) -> Self {
        let lost = [
            (self.no_room_packets, "packet", "dropped because the memory of the lab was full"),
            (self.unsent_packets, "packet", "refused by the kernel after the links"),
            (self.unread_packets, "packet", "dropped by the kernel before the links"),
        ];
        let faults = faults(bound, self.release_error_s.as_ref(), "the lab", self.longest_stall_s, &lost);
        (self.valid, self.faults, self.bound_s) = (faults.is_empty(), faults, bound.as_secs_f64());
        self
    }
}
