//! Counts of a flow's web pages. A page belongs to the interval in which its main object was requested.

use super::histogram::Histogram;
use crate::DelaySummary;
use headway_units::Duration;
use serde::{Deserialize, Serialize};

/// Pages of a flow whose main object was requested at or after `measure_from`: `arrived = completed + open + refused`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PagesSummary {
    /// Number of requested pages.
    pub arrived: u64,
    /// Requested pages of which all objects are complete.
    pub completed: u64,
    /// Requested pages that were incomplete at the end of the run.
    pub open: u64,
    /// Requested pages of which an object was refused because too many sessions were open; absent if 0.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub refused: u64,
    /// Page completion times, in s: from the request of the main object to the last acknowledgement of the last object.
    /// `None` without completed pages.
    pub completion_s: Option<DelaySummary>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PageMeter {
    pub(crate) arrived: u64,
    pub(crate) refused: u64,
    times: Histogram,
}

impl PageMeter {
    pub(crate) fn completed(&mut self, time: Duration) {
        self.times.record(time.as_nanos());
    }

    pub(crate) fn summary(&self) -> PagesSummary {
        let completed = self.times.total();
        PagesSummary {
            arrived: self.arrived,
            completed,
            open: self.arrived - self.refused - completed,
            refused: self.refused,
            completion_s: self.times.summary(),
        }
    }
}
