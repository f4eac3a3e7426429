//! The summary of a run: `summary.json`.

pub(crate) mod estimate;
pub(crate) mod table;

use crate::format::pretty;
use crate::{AttackerSummary, FlowSummary, HostSummary, LinkSummary, jain_index};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The measured interval of a run, in s since its start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Start of the measured interval, in s: the scenario's `measure_from`.
    pub from: f64,
    /// End of the measured interval, in s: the end of the run.
    pub to: f64,
}

impl Interval {
    /// Returns the time to draw, in s: from `from`, which may be before the measured interval, to `to`, or to the end of
    /// the run if that is earlier. `None` if the start is not before the end.
    #[must_use]
    pub fn part(self, from: Option<f64>, to: Option<f64>) -> Option<Self> {
        let (from, to) = (from.unwrap_or(self.from), to.map_or(self.to, |to| to.min(self.to)));
        (from < to).then_some(Self { from, to })
    }
}

/// The results of a run. Field names are the keys of `summary.json` and do not change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of Headway that executed the run.
    pub version: String,
    /// Name of the scenario.
    pub name: String,
    /// Seed of the random streams of the run.
    pub seed: u64,
    /// Whether the run reached its planned end.
    pub complete: bool,
    /// Measured interval, to which the metrics of flows, links and hosts refer.
    pub interval: Interval,
    /// All flows, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// All directions of all links, in the order of the scenario.
    pub links: Vec<LinkSummary>,
    /// All hosts with a modeled receive CPU, in the order of the scenario's nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostSummary>,
    /// All attackers, in the order of the scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attackers: Vec<AttackerSummary>,
    /// Jain's fairness index of the flows' throughput, from 1/n of n flows to 1 for equal rates; `None` if no flow
    /// received a packet.
    pub jain_index: Option<f64>,
    /// Number of times that a packet arrived at the far end of a link, over the whole run.
    pub packet_hops: u64,
    /// Hash of the run's event order, 16 hexadecimal digits: equal for equal runs.
    pub fingerprint: String,
}

/// Error for a text that is not a `summary.json`.
#[derive(Debug, thiserror::Error)]
#[error("damaged, or not a summary.json that this version reads: {0}")]
pub struct SummaryError(#[from] serde_json::Error);

impl Summary {
    /// Returns [`jain_index`](Self::jain_index): Jain's index of the throughput of `flows`.
    #[must_use]
    pub fn fairness(flows: &[FlowSummary]) -> Option<f64> {
        jain_index(&flows.iter().map(|flow| flow.throughput_bps).collect::<Vec<_>>())
    }

    /// Returns the text of `summary.json`: indented, keys in field order, each number with the fewest digits that parse
    /// to the same double, and a final newline.
    #[must_use]
    pub fn to_json_pretty(&self) -> String {
        let mut bytes = Vec::new();
        // All fields serialize to JSON, strings are UTF-8, and writing to a `Vec` does not fail.
        #[expect(clippy::expect_used, reason = "see above")]
        self.write_json(&mut bytes).expect("a summary is JSON");
        #[expect(clippy::expect_used, reason = "see above")]
        String::from_utf8(bytes).expect("JSON is UTF-8")
    }

    /// Writes the text of [`to_json_pretty`](Self::to_json_pretty) without building it in memory.
    ///
    /// # Errors
    /// The error of `writer`.
    pub fn write_json(&self, mut writer: impl Write) -> io::Result<()> {
        pretty::write(&mut writer, self)?;
        writer.write_all(b"\n")
    }

    /// Parses the text of [`to_json_pretty`](Self::to_json_pretty).
    ///
    /// # Errors
    /// The text is not JSON, lacks a required key, or has a value of a wrong type.
    pub fn from_json(text: &str) -> Result<Self, SummaryError> {
        Ok(serde_json::from_str(text)?)
    }
}
