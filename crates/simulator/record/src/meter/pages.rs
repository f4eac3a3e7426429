//! What became of a flow's web pages. A page belongs to the interval in which its main object was asked for.

use super::histogram::Histogram;
use crate::DelaySummary;
use headway_units::Duration;
use serde::{Deserialize, Serialize};

/// The pages of a flow whose main object was asked for at or after `measure_from`: `arrived = completed + open + refused`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PagesSummary {
    /// Pages that were asked for.
    pub arrived: u64,
    /// Those of them all of whose objects are complete.
    pub completed: u64,
    /// Those of them that were not complete at the end.
    pub open: u64,
    /// Those of them that found no room, or of which an object did not; absent if there are none.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub refused: u64,
    /// Page completion times, in s: from the request of the main object to the last acknowledgement of the last object. None if none is
    /// complete.
    pub completion_s: Option<DelaySummary>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PageMeter {
    pub(crate) arrived: u64,
    pub(crate) refused: u64,
    times: Histogram,
}

impl PageMeter {
    pub(crate) fn completed(&mut self, took: Duration) {
        self.times.record(took.as_nanos());
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
