//! The summary of a run: `summary.json`.

pub(crate) mod estimate;
pub(crate) mod table;

use crate::format::pretty;
use crate::{AttackerSummary, FlowSummary, HostSummary, LinkSummary, jain_index};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// From when to when a run was measured, in s since its start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The scenario's `measure_from`.
    pub from: f64,
    /// The end of the run.
    pub to: f64,
}

/// All that is kept of a run's measurements; the names are those of `summary.json`, and stay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The version of Headway that ran it.
    pub version: String,
    /// The scenario's name.
    pub name: String,
    /// The seed of its random streams.
    pub seed: u64,
    /// Whether it ran to its planned end.
    pub complete: bool,
    /// What was measured.
    pub interval: Interval,
    /// Every flow, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// Every direction of every link, in the order of the scenario.
    pub links: Vec<LinkSummary>,
    /// Every host whose CPU takes time, in the order of the scenario's nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostSummary>,
    /// Every attacker, in the order of the scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attackers: Vec<AttackerSummary>,
    /// Jain's index over the flows' throughput; none without a flow that received something.
    pub jain_index: Option<f64>,
    /// Packets that crossed a link, a count for each link crossed, over the whole run.
    pub packet_hops: u64,
    /// The order of the run's events as 16 hexadecimal digits: equal for equal runs.
    pub fingerprint: String,
}

/// The text is not a summary.
#[derive(Debug, thiserror::Error)]
#[error("not a summary.json of this version: {0}")]
pub struct SummaryError(#[from] serde_json::Error);

impl Summary {
    /// Jain's index over the throughput of `flows`, as [`jain_index`](Self::jain_index) holds it.
    #[must_use]
    pub fn fairness(flows: &[FlowSummary]) -> Option<f64> {
        jain_index(&flows.iter().map(|flow| flow.throughput_bps).collect::<Vec<_>>())
    }

    /// `summary.json`: indented, the keys in the order of their fields, each number with the fewest digits that read
    /// back as the same double, a newline at the end.
    #[must_use]
    pub fn to_json_pretty(&self) -> String {
        let mut bytes = Vec::new();
        // A summary is JSON, its names are UTF-8, and a `Vec` does not fail.
        #[expect(clippy::expect_used, reason = "see above")]
        self.write_json(&mut bytes).expect("a summary is JSON");
        #[expect(clippy::expect_used, reason = "see above")]
        String::from_utf8(bytes).expect("JSON is UTF-8")
    }

    /// Writes [`to_json_pretty`](Self::to_json_pretty) in pieces: that of many flows is as long as all else in memory.
    ///
    /// # Errors
    /// The error of `writer`.
    pub fn write_json(&self, mut writer: impl Write) -> io::Result<()> {
        pretty::write(&mut writer, self)?;
        writer.write_all(b"\n")
    }

    /// Reads what [`to_json_pretty`](Self::to_json_pretty) wrote.
    ///
    /// # Errors
    /// The text is not JSON, or lacks a name that every summary has, or holds a value of another type.
    pub fn from_json(text: &str) -> Result<Self, SummaryError> {
        Ok(serde_json::from_str(text)?)
    }
}
