//! Counts of a flow's sessions. A session belongs to the interval in which it arrived, regardless of its completion.

use super::histogram::Histogram;
use crate::DelaySummary;
use headway_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

/// Upper limits of the size classes, in bytes; the last class is above all limits. Completion times of small to large
/// sessions depend on a few round trips, the growth of the window, and the share of the rate. pFabric's classes end at
/// 100 kB and 10 MB (Alizadeh et al., SIGCOMM 2013, section 5).
const LIMITS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// Sessions of a flow that arrived at or after `measure_from`: `arrived = completed + open + refused`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionsSummary {
    /// Sessions that the application started.
    pub arrived: u64,
    /// Started sessions whose last byte was acknowledged.
    pub completed: u64,
    /// Started sessions that were incomplete at the end of the run.
    pub open: u64,
    /// Started sessions for which no connection was opened, because too many sessions were open; absent if 0.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub refused: u64,
    /// Application data of all started sessions divided by the length of the measured interval, in bit/s.
    pub offered_bps: f64,
    /// Flow completion times, in s: from a session's arrival to the last acknowledgement at its sender. `None` without
    /// completed sessions.
    pub completion_s: Option<DelaySummary>,
    /// Flow completion times by session size.
    pub completion_s_by_size: Box<CompletionBySize>,
}

/// Completion times of sessions in classes by session size. `None` for a class without completed sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompletionBySize {
    /// Sessions of at most 10 000 B.
    #[serde(rename = "up_to_10kB")]
    pub up_to_10_kb: Option<CompletionOfSize>,
    /// Sessions above 10 000 B, up to 100 000 B.
    #[serde(rename = "up_to_100kB")]
    pub up_to_100_kb: Option<CompletionOfSize>,
    /// Sessions above 100 000 B, up to 1 000 000 B.
    #[serde(rename = "up_to_1MB")]
    pub up_to_1_mb: Option<CompletionOfSize>,
    /// Sessions above 1 000 000 B, up to 10 000 000 B.
    #[serde(rename = "up_to_10MB")]
    pub up_to_10_mb: Option<CompletionOfSize>,
    /// Sessions above 10 000 000 B.
    #[serde(rename = "above_10MB")]
    pub above_10_mb: Option<CompletionOfSize>,
}

impl CompletionBySize {
    /// Returns the size classes with their labels in tables, smallest first.
    #[must_use]
    pub fn classes(&self) -> [(&'static str, Option<CompletionOfSize>); LIMITS.len() + 1] {
        [
            ("up to 10 kB", self.up_to_10_kb),
            ("up to 100 kB", self.up_to_100_kb),
            ("up to 1 MB", self.up_to_1_mb),
            ("up to 10 MB", self.up_to_10_mb),
            ("above 10 MB", self.above_10_mb),
        ]
    }
}

/// Flow completion times of the sessions of a size class, in s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompletionOfSize {
    /// Number of completed sessions.
    pub completed: u64,
    /// Statistics of the completion times of the class, in s.
    #[serde(flatten)]
    pub times: DelaySummary,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SessionMeter {
    arrived: u64,
    refused: u64,
    /// Bytes of all started sessions. Heavy-tailed sizes are unbounded.
    offered_bytes: u128,
    all: Histogram,
    by_size: [Histogram; LIMITS.len() + 1],
}

impl SessionMeter {
    pub(crate) fn arrived(&mut self, size: Bytes, refused: bool) {
        self.arrived += 1;
        self.refused += u64::from(refused);
        self.offered_bytes += u128::from(size.count());
    }

    pub(crate) fn completed(&mut self, size: Bytes, time: Duration) {
        let class = LIMITS.partition_point(|limit| *limit < size.count());
        for histogram in std::iter::once(&mut self.all).chain(self.by_size.get_mut(class)) {
            histogram.record(time.as_nanos());
        }
    }

    pub(crate) fn summary(&self, seconds: f64) -> SessionsSummary {
        let completed = self.all.total();
        let of_size = |histogram: &Histogram| {
            Some(CompletionOfSize { completed: histogram.total(), times: histogram.summary()? })
        };
        let [up_to_10_kb, up_to_100_kb, up_to_1_mb, up_to_10_mb, above_10_mb] = self.by_size.each_ref().map(of_size);
        let by_size = CompletionBySize { up_to_10_kb, up_to_100_kb, up_to_1_mb, up_to_10_mb, above_10_mb };
        SessionsSummary {
            arrived: self.arrived,
            completed,
            open: self.arrived - self.refused - completed,
            refused: self.refused,
            offered_bps: if seconds > 0.0 { self.offered_bytes as f64 * 8.0 / seconds } else { 0.0 },
            completion_s: self.all.summary(),
            completion_s_by_size: Box::new(by_size),
        }
    }
}
