//! Distributions of the delays of packets and frames: `distributions.json`, an optional file of a run.

use crate::Histogram;
use headway_units::MediaKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The distributions of a run. Field names are the keys of `distributions.json` and do not change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distributions {
    /// All flows, in the order of the scenario.
    pub flows: Vec<FlowDistributions>,
}

/// The delay distributions of a flow. Their means and percentiles are in `summary.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowDistributions {
    /// Name of the flow in the scenario.
    pub name: String,
    /// One-way delays of the flow's received packets; absent without received packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way_delay_s: Option<Distribution>,
    /// By media kind: times from writing the first packet of a frame to the arrival of its last missing packet, as a
    /// distribution over all written frames.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frame_delay_s: BTreeMap<MediaKind, Distribution>,
}

/// Histogram of durations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of received packets, or of written frames. Frames that were never complete count here, but are in none of
    /// the `bins`.
    pub of: u64,
    /// Durations in s and their counts, ascending. Durations are middles of histogram buckets, with a relative error of
    /// at most 1/128.
    pub bins: Vec<(f64, u64)>,
}

/// Error for a text that is not a `distributions.json`.
#[derive(Debug, thiserror::Error)]
#[error("not a distributions.json of this version: {0}")]
pub struct DistributionsError(#[from] serde_json::Error);

impl Distribution {
    /// Returns the distribution of `delays` in ns over `of` items.
    pub(crate) fn of(delays: &Histogram, of: u64) -> Self {
        Self { of, bins: delays.bins().map(|(nanos, count)| (super::delay::seconds_of(nanos), count)).collect() }
    }

    /// Returns one distribution of all items of several distributions.
    #[must_use]
    pub fn sum(all: &[&Self]) -> Self {
        let mut bins: Vec<(f64, u64)> = all.iter().flat_map(|distribution| distribution.bins.iter().copied()).collect();
        bins.sort_by(|a, b| a.0.total_cmp(&b.0));
        bins.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        Self { of: all.iter().fold(0, |sum, distribution| sum.saturating_add(distribution.of)), bins }
    }
}

impl Distributions {
    /// Returns the text of `distributions.json`, one line per flow.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain structs with string keys and no writer: serde_json cannot fail.
        #[expect(clippy::expect_used, reason = "see above")]
        let flow = |flow: &FlowDistributions| serde_json::to_string(flow).expect("distributions are JSON");
        let flows: Vec<String> = self.flows.iter().map(flow).collect();
        format!("{{\"flows\":[\n{}\n]}}\n", flows.join(",\n"))
    }

    /// Parses the text of [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// The text is not JSON, lacks a key, or has a value of a wrong type.
    pub fn from_json(text: &str) -> Result<Self, DistributionsError> {
        Ok(serde_json::from_str(text)?)
    }
}
