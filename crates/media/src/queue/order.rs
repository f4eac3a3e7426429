//! In which order packets go.

use super::Media;
use super::waiting::Key;
use headway_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// In which order packets go. Equals go as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// First come, first served.
    Arrival,
    /// The most urgent first (0 before 1).
    Priority,
    /// What expires first, first; what never does, last.
    Expiry,
    /// The most urgent first, of those what expires first (SFDPS).
    PriorityExpiry,
    /// What has the least score first: its expiry, put off by `priority_weight` for each level of priority and by
    /// `size_weight` for each KiB.
    Score,
}

/// Later than any expiry: a second to the left of it there is room for all scores.
const NEVER: Key = 1 << 72;

impl Order {
    pub(super) fn key(self, media: &Media, priority_weight: Duration, size_weight: Duration) -> Key {
        let expiry = media.expires.map_or(NEVER, |expires| expires.since(Instant::ZERO).as_nanos().into());
        let priority = Key::from(media.priority);
        match self {
            Self::Arrival => 0,
            Self::Priority => priority,
            Self::Expiry => expiry,
            Self::PriorityExpiry => priority * 2 * NEVER + expiry,
            Self::Score => {
                let size = Key::from(media.payload.count()) * Key::from(size_weight.as_nanos()) / 1024;
                expiry + priority * Key::from(priority_weight.as_nanos()) + size
            }
        }
    }
}
