//! How long packets and frames took, each of them: `distributions.json`, for runs that are asked to keep it.

use crate::Histogram;
use headway_units::MediaKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The distributions of a run; the names are those of `distributions.json`, and stay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distributions {
    /// Every flow, in the order of the scenario.
    pub flows: Vec<FlowDistributions>,
}

/// Those of a flow: what the summary has mean and percentiles of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowDistributions {
    /// Its name in the scenario.
    pub name: String,
    /// One-way delays of the packets that arrived; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way_delay_s: Option<Distribution>,
    /// By kind: from the writing of a frame to its completion, of all that were written.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frame_delay_s: BTreeMap<MediaKind, Distribution>,
}

/// How many took how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// How many there are in all: more than those in the bins, where some never came.
    pub of: u64,
    /// Time in s and how many took it, rising: the middles of a histogram's buckets, at most 1/128 off.
    pub bins: Vec<(f64, u64)>,
}

/// The text is not a `distributions.json`.
#[derive(Debug, thiserror::Error)]
#[error("not a distributions.json of this version: {0}")]
pub struct DistributionsError(#[from] serde_json::Error);

impl Distribution {
    /// That of nanoseconds, of so many in all.
    pub(crate) fn of(delays: &Histogram, of: u64) -> Self {
        Self { of, bins: delays.bins().map(|(nanos, count)| (super::delay::seconds_of(nanos), count)).collect() }
    }

    /// All of several.
    #[must_use]
    pub fn sum(all: &[&Self]) -> Self {
        let mut bins: Vec<(f64, u64)> = all.iter().flat_map(|of| of.bins.iter().copied()).collect();
        bins.sort_by(|a, b| a.0.total_cmp(&b.0));
        bins.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        Self { of: all.iter().fold(0, |sum, of| sum.saturating_add(of.of)), bins }
    }
}

impl Distributions {
    /// `distributions.json`: a flow a line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain structs, string keys, no writer that could fail: serde_json has no error to return.
        #[expect(clippy::expect_used, reason = "see above")]
        let flow = |flow: &FlowDistributions| serde_json::to_string(flow).expect("distributions are JSON");
        let flows: Vec<String> = self.flows.iter().map(flow).collect();
        format!("{{\"flows\":[\n{}\n]}}\n", flows.join(",\n"))
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// The text is not JSON, or lacks a name, or holds a value of another type.
    pub fn from_json(text: &str) -> Result<Self, DistributionsError> {
        Ok(serde_json::from_str(text)?)
    }
}
