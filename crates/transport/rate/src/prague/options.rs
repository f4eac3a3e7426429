//! Options of the controller `prague`.

use super::control::Limits;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Dialect, Duration, OptionError, Options, Rate, unused_unless};

/// Maximum rate without `max_rate`, in bit/s (`PRAGUE_MAXRATE` of udp_prague).
const MAX_BPS: u64 = 100_000_000_000;

/// Options of the controller `prague`, Prague congestion control for L4S (RFC 9331).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct PragueOptions {
    /// Whether the sender paces packets at the rate, or sends frames as a whole.
    pub mode: PragueMode,
    /// Frames per second with `mode = "frames"`, from 1 to 255.
    pub frame_rate: u8,
    /// Time in which a frame is sent with `mode = "frames"`, from 1us to the interval of frames, 1s / `frame_rate`.
    pub frame_budget: Duration,
    /// Sending rate before the first report, at least 1kbps; a rate outside of `min_rate` and `max_rate` is limited to
    /// them.
    pub start_rate: Rate,
    /// Minimum sending rate, from 1kbps to 100Gbps.
    pub min_rate: Rate,
    /// Maximum sending rate, from `min_rate` to 100Gbps. Without it, the maximum is 100 Gb/s.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub max_rate: Option<Rate>,
    /// Whether a mark halves the rate, as a loss does, while the queue delays of marked packets show that the queue
    /// marks as classic ECN (RFC 3168), without distinguishing ECT(1).
    pub classic_ecn_fallback: bool,
}

/// Pacing of the sender of `prague`: packets or frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum PragueMode {
    /// The sender paces packets at the allowed rate, which is also the target rate of the encoder.
    Rate,
    /// The sender sends each frame within `frame_budget`. The window counts frames, and the virtual round-trip time,
    /// the unit of time of the algorithm, is at least the interval of frames.
    Frames,
}

impl Options for PragueOptions {
    /// Returns the defaults of udp_prague, except that it has 60 frames per second.
    fn preset(_: Dialect) -> Self {
        Self {
            mode: PragueMode::Rate,
            frame_rate: 30,
            frame_budget: Duration::from_millis(10),
            start_rate: Rate::from_bits_per_second(100_000),
            min_rate: Rate::from_bits_per_second(100_000),
            max_rate: None,
            classic_ecn_fallback: false,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let least = Rate::from_bits_per_second(1000);
        for (key, rate) in [("start_rate", self.start_rate), ("min_rate", self.min_rate)] {
            if rate < least {
                return Err(OptionError::new(key, "it is at least 1kbps"));
            }
        }
        let most = Rate::from_bits_per_second(MAX_BPS);
        if self.min_rate > most {
            return Err(OptionError::new("min_rate", "it is at most 100Gbps"));
        }
        if self.max_rate.is_some_and(|rate| rate < self.min_rate || rate > most) {
            return Err(OptionError::new("max_rate", "it is from min_rate to 100Gbps"));
        }
        if self.frame_rate == 0 {
            return Err(OptionError::new("frame_rate", "it is at least 1"));
        }
        if self.frame_budget < Duration::from_micros(1) || self.frame_budget > self.frame_interval() {
            return Err(OptionError::new("frame_budget", "it is from 1us to the interval of frames, 1s/frame_rate"));
        }
        Ok(())
    }

    fn unused(&self) -> Vec<OptionError> {
        let frames = self.mode == PragueMode::Frames;
        let unless_frames = |key| unused_unless(frames, key, "mode = \"frames\"");
        [unless_frames("frame_rate"), unless_frames("frame_budget")].into_iter().flatten().collect()
    }
}

impl PragueOptions {
    pub(super) fn frame_interval(&self) -> Duration {
        Duration::from_micros(1_000_000 / u64::from(self.frame_rate.max(1)))
    }

    pub(super) fn limits(&self) -> Limits {
        let bytes_per_s = |rate: Rate| (rate.bits_per_second() / 8).max(1);
        let min = bytes_per_s(self.min_rate);
        let max = self.max_rate.map_or(MAX_BPS / 8, bytes_per_s).max(min);
        Limits { start: bytes_per_s(self.start_rate).clamp(min, max), min, max }
    }
}
