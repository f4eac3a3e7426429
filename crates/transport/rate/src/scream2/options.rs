//! Options of the controller `scream2`.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Dialect, Duration, OptionError, Options, Rate, check_range};

/// Options of the controller `scream2` (SCReAM v2).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct Scream2Options {
    /// Draft or implementation whose rules and constants apply.
    pub version: Scream2Version,
    /// Whether packets are sent as ECT(1), and marks reduce the window in each round trip by up to half of the average
    /// share of marked packets (RFC 9331). Otherwise packets are sent as ECT(0), and a mark reduces the window by a
    /// fifth.
    pub l4s: bool,
    /// Average queue delay at and above which the window shrinks by half per round trip, the maximum. The reduction
    /// grows linearly from zero at half of this delay. From 5ms to 1s.
    pub queue_delay_target: Duration,
    /// Rate that determines the first window: this rate times the first round-trip time, and at least the minimum
    /// window (3000 B in the draft). At least 1kbps.
    pub start_rate: Rate,
    /// Maximum target rate of the media, at least 1kbps; absent: no maximum. With the draft's rules, packets are sent
    /// at 1.5 times the media rate, and at up to 6 times while the media rate is above 80 % of the maximum.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub max_rate: Option<Rate>,
}

/// Draft or implementation of SCReAM v2 whose rules and constants apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema))]
pub enum Scream2Version {
    /// draft-ietf-ccwg-rfc8298bis-screamv2-01 of July 2026, without its optional parts except relaxed pacing.
    #[cfg_attr(feature = "schema", serde(rename = "draft-01"))]
    Draft01,
    /// Sender of Ericsson of July 2026 (EricssonResearch/scream).
    #[cfg_attr(feature = "schema", serde(rename = "ericsson-2026-07"))]
    Ericsson202607,
    /// Module of libwebrtc of July 2026, which Chromium has.
    #[cfg_attr(feature = "schema", serde(rename = "libwebrtc-2026-07"))]
    Libwebrtc202607,
}

impl Options for Scream2Options {
    fn preset(_: Dialect) -> Self {
        Self {
            version: Scream2Version::Draft01,
            l4s: true,
            queue_delay_target: Duration::from_millis(60),
            start_rate: Rate::from_bits_per_second(300_000),
            max_rate: None,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_range("queue_delay_target", self.queue_delay_target, Duration::from_millis(5)..=Duration::from_secs(1))?;
        let least = Rate::from_bits_per_second(1000);
        if self.start_rate < least {
            return Err(OptionError::new("start_rate", "it is at least 1kbps"));
        }
        if self.max_rate.is_some_and(|rate| rate < least) {
            return Err(OptionError::new("max_rate", "it is at least 1kbps"));
        }
        Ok(())
    }
}
