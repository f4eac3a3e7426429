//! What became of a flow's sessions. A session belongs to the interval in which it arrived, whenever it is complete.

use crate::DelaySummary;
use crate::histogram::Histogram;
use headway_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

/// The sizes at which one class of sessions ends and the next begins, in bytes; there is one more class, of all above.
const CLASSES: [u64; 3] = [10_000, 100_000, 1_000_000];

/// The sessions of a flow that arrived at or after `measure_from`: `arrived = completed + open + refused`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionsSummary {
    /// Sessions that the application began.
    pub arrived: u64,
    /// Those of them whose last byte was acknowledged.
    pub completed: u64,
    /// Those of them that were not complete at the end.
    pub open: u64,
    /// Those of them that were not opened, because too many were open; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// Application bits of all that arrived, by the length of the interval, in bit/s.
    pub offered_bps: f64,
    /// Flow completion times, in s: from a session's arrival to the last acknowledgement at its sender. None if none is complete.
    pub completion_s: Option<DelaySummary>,
    /// The same by the sizes of sessions, the smallest first. Classes of which none is complete are absent.
    pub completion_s_by_size: Vec<CompletionOfSize>,
}

/// Flow completion times of sessions of about one size, in s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompletionOfSize {
    /// The largest size of the class in bytes; none of the last, which has no end.
    pub most_bytes: Option<u64>,
    /// How many are complete.
    pub completed: u64,
    /// The mean, exact.
    pub mean: f64,
    /// The median (nearest rank), at most 1/128 off.
    pub p50: f64,
    /// Not exceeded by 99 % (nearest rank), at most 1/128 off.
    pub p99: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Counts one flow's sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionMeter {
    arrived: u64,
    refused: u64,
    /// Of all that arrived. Sizes of a heavy tail may be as large as one likes.
    offered_bytes: u128,
    all: Histogram,
    by_size: [Histogram; CLASSES.len() + 1],
}

impl SessionMeter {
    pub(crate) fn arrived(&mut self, size: Bytes, refused: bool) {
        self.arrived += 1;
        self.refused += u64::from(refused);
        self.offered_bytes += u128::from(size.count());
    }

    pub(crate) fn completed(&mut self, size: Bytes, took: Duration) {
        let class = CLASSES.partition_point(|most| *most < size.count());
        for histogram in std::iter::once(&mut self.all).chain(self.by_size.get_mut(class)) {
            histogram.record(took.as_nanos());
        }
    }

    /// What was counted in so many seconds.
    pub(crate) fn summary(&self, seconds: f64) -> SessionsSummary {
        let completed = self.all.total();
        let classes = CLASSES.into_iter().map(Some).chain([None]);
        let of_size = |(most_bytes, histogram): (Option<u64>, &Histogram)| {
            let DelaySummary { mean, p50, p99, .. } = histogram.summary()?;
            Some(CompletionOfSize { most_bytes, completed: histogram.total(), mean, p50, p99 })
        };
        SessionsSummary {
            arrived: self.arrived,
            completed,
            open: self.arrived - self.refused - completed,
            refused: self.refused,
            offered_bps: if seconds > 0.0 { self.offered_bytes as f64 * 8.0 / seconds } else { 0.0 },
            completion_s: self.all.summary(),
            completion_s_by_size: classes.zip(&self.by_size).filter_map(of_size).collect(),
        }
    }
}
