//! Options of the controller `gcc`.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Dialect, OptionError, Options, Rate};

/// Options of the controller `gcc`, Google Congestion Control.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct GccOptions {
    /// Specification or implementation of Google Congestion Control whose algorithms apply.
    pub version: GccVersion,
    /// Sending rate before the first report, at least 1kbps; a rate outside of `min_rate` and `max_rate` is limited to
    /// them.
    pub start_rate: Rate,
    /// Minimum sending rate, at least 1kbps.
    pub min_rate: Rate,
    /// Maximum sending rate, at least `min_rate`. Without it, the maximum is 1 Gb/s, and probes of version `gcc-2026`
    /// have a rate of at most 5 Mb/s.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub max_rate: Option<Rate>,
}

/// Version of Google Congestion Control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum GccVersion {
    /// libwebrtc of 2026: trendline, link capacity, model of losses, probes.
    #[cfg_attr(feature = "schema", serde(rename = "gcc-2026"))]
    Gcc2026,
    /// draft-ietf-rmcat-gcc-02 of 2016: Kalman filter, loss thresholds of 2 and 10 %.
    #[cfg_attr(feature = "schema", serde(rename = "draft-02"))]
    Draft02,
}

impl Options for GccOptions {
    /// Returns the defaults of libwebrtc: `kDefaultStartBitrateBps` and `kCongestionControllerMinBitrate`.
    fn preset(_: Dialect) -> Self {
        Self {
            version: GccVersion::Gcc2026,
            start_rate: Rate::from_bits_per_second(300_000),
            min_rate: Rate::from_bits_per_second(5000),
            max_rate: None,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let least = Rate::from_bits_per_second(1000);
        for (key, rate) in [("start_rate", self.start_rate), ("min_rate", self.min_rate)] {
            if rate < least {
                return Err(OptionError::new(key, "it is at least 1kbps"));
            }
        }
        if self.max_rate.is_some_and(|rate| rate < self.min_rate) {
            return Err(OptionError::new("max_rate", "it is at least min_rate"));
        }
        Ok(())
    }
}

/// Limits of the rate, in bit/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) min_bps: f64,
    pub(super) max_bps: f64,
}

impl Limits {
    /// Maximum without `max_rate` (`kDefaultMaxBitrate` of libwebrtc).
    const DEFAULT_MAX_BPS: f64 = 1e9;

    pub(super) fn new(options: &GccOptions) -> Self {
        let min_bps = options.min_rate.bits_per_second() as f64;
        let max_bps = options.max_rate.map_or(Self::DEFAULT_MAX_BPS, |rate| rate.bits_per_second() as f64);
        Self { min_bps, max_bps: max_bps.max(min_bps) }
    }

    pub(super) fn clamp(&self, bps: f64) -> f64 {
        bps.max(self.min_bps).min(self.max_bps)
    }
}
