//! In which order packets go.

use super::Media;
use super::waiting::Key;
use headway_units::{Duration, Instant};

/// In which order packets go. Equals go as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
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

impl Order {
    #[inline]
    pub(super) fn key<T>(self, media: &Media<T>, priority_weight: Duration, size_weight: Duration) -> Key {
        let expiry = || media.expires.unwrap_or(Instant::FAR_FUTURE);
        match self {
            Self::Arrival => (0, Instant::ZERO),
            Self::Priority => (media.priority, Instant::ZERO),
            Self::Expiry => (0, expiry()),
            Self::PriorityExpiry => (media.priority, expiry()),
            Self::Score => {
                let size = size_weight.as_nanos().saturating_mul(media.size.count()) / 1024;
                let priority = priority_weight.saturating_mul(media.priority.into());
                (0, expiry() + priority + Duration::from_nanos(size))
            }
        }
    }
}
