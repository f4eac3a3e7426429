//! Video encoder that follows the rate of its transport, by RFC 8593.
//!
//! `R_v` is the target rate that the encoder has accepted, `t0` the frame interval and `B0 = R_v t0 / 8` the mean frame
//! size.
//!
//! **Rate requests** (section 5.1). The rate of the transport at the time of a frame, limited to `[R_min, R_max]`
//! (section 5.4), is a request. A request that differs from `R_v` is accepted, unless the previous one was accepted less
//! than `tau_v` ago. The start counts as an accepted request.
//!
//! **Transient period** (section 5.2). A request that differs from `R_v` by more than a fraction starts a burst of `K_d`
//! frames: the first has `K_B`, and each other frame has `(K_d B0 - K_B) / (K_d - 1)`, so that the mean is `B0`. The
//! RFC has no rule for a `K_B` that leaves nothing for the other frames. Here the first frame is limited, so that the
//! others have at least 0.2 `B0`, the minimum of the RFC's reference implementation. Sizes in a burst are exact. The
//! next burst replaces a burst that is not finished.
//!
//! **Steady state** (section 5.3). The interval is `t0 (1 + x)` and the size `B0 (1 + y)`. `x` and `y` are independent
//! Laplace values with mean zero. Intervals are limited to at least 1 ns, and sizes to 10 B to 1 MB, the range of
//! section 6.2.1. A Laplace value with scale s is below -1 with probability `exp(-1/s) / 2`, so that this limit raises a
//! mean by `s exp(-1/s) / 2`: by 0.01 % for s = 0.15.
//!
//! **Key frames.** Every N-th frame of the steady state is a key frame. Key frames and others have sizes whose mean over
//! N frames is `B0`, by the formula of a burst.
//!
//! **Traces** (sections 6 and 7). With a trace, the sizes of the steady state are those of the trace, and the
//! intervals and bursts are those above: the hybrid model of section 7. Without bursts, reaction time and deviations
//! it is the trace-driven model of section 6. The trace advances with each captured frame.
//!
//! Random draws from the flow's stream: two uniforms for each captured frame, for its size and for the interval to the
//! next, in this order. Options therefore do not shift the draws.

mod ladder;
mod model;

use super::draw;
use crate::Trace;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{WriteSize, check_lifetime};
use headway_units::{Bytes, Dialect, Duration, OptionError, Rate, unused_unless};
pub use model::{Encoder, EncoderCounts};

/// Options of the source `encoder`, video that follows the rate of its transport.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct EncoderOptions {
    /// Rate at the start, without headers, `min_rate` to `max_rate`.
    pub start_rate: Rate,
    /// Minimum rate of the encoder for its content, without headers (RFC 8593 `R_min`). The mean size of a frame at
    /// this rate is 10B to 1MB.
    pub min_rate: Rate,
    /// Maximum rate of the encoder for its content, without headers, at least `min_rate` (RFC 8593 `R_max`).
    pub max_rate: Rate,
    /// Mean time between captured frames, 1us to 10s (RFC 8593 `t0`). The mean size of a frame, `min_rate` or `max_rate`
    /// times this interval, is 10B to 1MB.
    pub frame_interval: Duration,
    /// Time after the start and after each change of the encoder's rate during which it ignores other target rates of
    /// its transport, at most 100s (RFC 8593 `tau_v`).
    pub reaction: Duration,
    /// Relative change of the encoder's rate above which a burst of frames with a large first frame follows, at least
    /// 0.
    pub burst_change: f64,
    /// Number of frames of a burst after a change of the rate, 2 to 1000, or 0 for no bursts (RFC 8593 `K_d`).
    pub burst_frames: u32,
    /// Size of the first frame of a burst, 10B to 1MB (RFC 8593 `K_B`). It is limited so that the other frames of the
    /// burst have at least 0.2 of the mean size.
    pub burst_size: Bytes,
    /// Scale of the Laplace distribution of the deviation of an interval from `frame_interval`, relative to it, 0 to 0.5
    /// (RFC 8593 `SCALE_t`).
    pub interval_scale: f64,
    /// Scale of the Laplace distribution of the deviation of a frame's size from the mean size, relative to it, 0 to 0.5
    /// (RFC 8593 `SCALE_B`).
    pub size_scale: f64,
    /// Number of frames from a key frame to the next, 2 to 100000; absent: no key frames.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub key_interval: Option<u32>,
    /// Size of a key frame, relative to the mean size, 1 to 100. It is limited so that the other frames have at least
    /// 0.2 of the mean size.
    pub key_factor: f64,
    /// Amount of data in the send queue above which a captured frame is skipped, stated as the time in which the
    /// encoder, at its current rate, produces that amount; at least 1ns. Absent: no frame is skipped.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub skip_above: Option<Duration>,
    /// Pauses without frames, each from its start to its end after the start of the flow, in order.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub pauses: Vec<[Duration; 2]>,
    /// Priority of key frames; 0 is the most urgent.
    pub key_priority: u8,
    /// Priority of other frames; 0 is the most urgent.
    pub priority: u8,
    /// Time after which a frame is useless to the receiver, counted from its capture, at least 1ns; absent: without
    /// limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub lifetime: Option<Duration>,
    /// Path of a trace file with the frames of the video, as for the source `trace`. Each of its video streams is an
    /// encoding of the same pictures at another rate. Absent: sizes are random.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub file: Option<String>,
    /// Number of the frame, from 0, from which the trace repeats after its end (RFC 8593 `SkipFrames`). With a number
    /// above 0 the first frame, which is large, is not repeated.
    pub loop_from: u32,
}

/// Limits of the size of a frame, in bytes (RFC 8593 section 6.2.1, `fs_min` and `fs_max`).
const FRAME_BYTES: core::ops::RangeInclusive<u64> = 10..=1_000_000;
const MAX_SCALE: f64 = 0.5;
const MAX_PAUSES: usize = 1000;
/// Minimum size of the frames after the first of a burst, relative to the mean size.
const MIN_SHARE: f64 = 0.2;

impl EncoderOptions {
    /// Returns the mean size of a frame at `rate`, in bytes (RFC 8593 `B0`).
    fn mean_bytes(&self, rate: Rate) -> f64 {
        rate.bits_per_second() as f64 * self.frame_interval.as_secs_f64() / 8.0
    }

    /// Returns the maximum size of a frame; `None` for a file without its `trace`.
    pub(super) fn largest_write(&self, trace: Option<&Trace>) -> Option<WriteSize> {
        let steady = if self.file.is_some() {
            ladder::largest(trace?, self)
        } else {
            let key = if self.key_interval.is_some() { self.key_factor } else { 1.0 };
            self.mean_bytes(self.max_rate) * key * (1.0 + self.size_scale * draw::LARGEST_LAPLACE)
        };
        let mean = self.mean_bytes(self.max_rate);
        let burst = self.burst(mean).map_or(0.0, |(first, others)| first.max(others));
        Some(WriteSize::Payload(limited(steady.max(burst))))
    }

    /// Returns the sizes of the first frame of a burst and of the others, with the mean size of a frame; `None` without
    /// bursts.
    fn burst(&self, mean: f64) -> Option<(f64, f64)> {
        let (first, others) = first_and_others(self.burst_size.count() as f64 / mean, self.burst_frames)?;
        Some((first * mean, others * mean))
    }

    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        let mean = length.as_nanos() / self.frame_interval.as_nanos().max(1);
        // Intervals have at most half of their mean as scale: many of them rarely take less than two thirds of it.
        mean.saturating_add(mean / 2).saturating_add(10)
    }

    fn check_rates(&self) -> Result<(), OptionError> {
        let Self { start_rate, min_rate, max_rate, .. } = *self;
        let wrong = |key, message: String| Err(OptionError::new(key, message));
        if max_rate < min_rate {
            return wrong("max_rate", format!("{max_rate} is below min_rate = {min_rate}"));
        }
        if !(min_rate..=max_rate).contains(&start_rate) {
            return wrong(
                "start_rate",
                format!("{start_rate} is out of range: start_rate is from {min_rate} to {max_rate}"),
            );
        }
        let interval = self.frame_interval;
        if !(Duration::from_micros(1)..=Duration::from_secs(10)).contains(&interval) {
            return wrong("frame_interval", format!("{interval} is out of range: frame_interval is from 1us to 10s"));
        }
        for (key, rate) in [("min_rate", min_rate), ("max_rate", max_rate)] {
            let bytes = self.mean_bytes(rate);
            if !(*FRAME_BYTES.start() as f64..=*FRAME_BYTES.end() as f64).contains(&bytes) {
                return wrong(
                    key,
                    format!("at {rate} a frame each {interval} has {bytes} B; expected from 10B to 1MB"),
                );
            }
        }
        Ok(())
    }

    fn check_pauses(&self) -> Result<(), OptionError> {
        if self.pauses.len() > MAX_PAUSES {
            let message = format!("{} pauses are too many: at most {MAX_PAUSES}", self.pauses.len());
            return Err(OptionError::new("pauses", message));
        }
        let times = self.pauses.as_flattened();
        match times.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => {
                let message = format!("{} is not after {}: the starts and ends of pauses rise", pair[1], pair[0]);
                Err(OptionError::new("pauses", message))
            }
            None => Ok(()),
        }
    }

    fn check_sizes(&self) -> Result<(), OptionError> {
        let wrong = |key, message: String| Err(OptionError::new(key, message));
        for (key, scale) in [("interval_scale", self.interval_scale), ("size_scale", self.size_scale)] {
            if !(0.0..=MAX_SCALE).contains(&scale) {
                return wrong(key, format!("{scale} is out of range: {key} is from 0 to 0.5"));
            }
        }
        if !(self.burst_change >= 0.0 && self.burst_change.is_finite()) {
            return wrong("burst_change", format!("{} is out of range: burst_change is at least 0", self.burst_change));
        }
        if self.burst_frames == 1 || self.burst_frames > 1000 {
            let message = format!("{} is out of range: burst_frames is 0, or from 2 to 1000", self.burst_frames);
            return wrong("burst_frames", message);
        }
        if !FRAME_BYTES.contains(&self.burst_size.count()) {
            return wrong("burst_size", format!("{} is out of range: burst_size is from 10B to 1MB", self.burst_size));
        }
        if let Some(frames) = self.key_interval.filter(|frames| !(2..=100_000).contains(frames)) {
            return wrong("key_interval", format!("{frames} is out of range: key_interval is from 2 to 100000"));
        }
        if !(1.0..=100.0).contains(&self.key_factor) {
            return wrong("key_factor", format!("{} is out of range: key_factor is from 1 to 100", self.key_factor));
        }
        Ok(())
    }
}

/// Returns a size rounded to bytes and limited to the range of a frame.
fn limited(bytes: f64) -> Bytes {
    Bytes::new((libm::round(bytes) as u64).clamp(*FRAME_BYTES.start(), *FRAME_BYTES.end()))
}

/// Returns the sizes of the first of `frames` frames and of each other, relative to the mean size, for a wanted size of
/// the first. The mean of all is 1. `None` for less than two frames.
fn first_and_others(wanted: f64, frames: u32) -> Option<(f64, f64)> {
    let others = f64::from(frames.checked_sub(1).filter(|others| *others > 0)?);
    let frames = f64::from(frames);
    let first = wanted.min(frames - MIN_SHARE * others);
    Some((first, (frames - first) / others))
}

impl headway_units::Options for EncoderOptions {
    /// The example values of RFC 8593 figure 2, and the starting rate of RFC 8867 section 4.3. A change of 10 % starts a
    /// burst, as section 7 of RFC 8593 proposes. A key frame has the size of `K_B` at 1 Mb/s.
    fn preset(_: Dialect) -> Self {
        Self {
            start_rate: Rate::from_bits_per_second(150_000),
            min_rate: Rate::from_bits_per_second(150_000),
            max_rate: Rate::from_bits_per_second(1_500_000),
            frame_interval: Duration::from_nanos(33_333_333),
            reaction: Duration::from_millis(200),
            burst_change: 0.1,
            burst_frames: 8,
            burst_size: Bytes::new(13_500),
            interval_scale: 0.15,
            size_scale: 0.15,
            key_interval: None,
            key_factor: 3.24,
            skip_above: None,
            pauses: Vec::new(),
            key_priority: 0,
            priority: 0,
            lifetime: None,
            file: None,
            loop_from: 20,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        self.check_rates()?;
        self.check_sizes()?;
        if self.reaction > Duration::from_secs(100) {
            let message = format!("{} is out of range: reaction is at most 100s", self.reaction);
            return Err(OptionError::new("reaction", message));
        }
        if self.skip_above == Some(Duration::ZERO) {
            return Err(OptionError::new("skip_above", "0s is out of range: skip_above is at least 1ns"));
        }
        self.check_pauses()?;
        check_lifetime(self.lifetime)
    }

    fn unused(&self) -> Vec<OptionError> {
        let (keys, bursts, traced) = (self.key_interval.is_some(), self.burst_frames > 0, self.file.is_some());
        let of_trace = |key| {
            let message = format!("the trace has the frame sizes: leave {key} out, or file");
            traced.then(|| OptionError::new(key, message))
        };
        [
            of_trace("size_scale"),
            of_trace("key_interval"),
            of_trace("key_factor"),
            unused_unless(traced, "loop_from", "file"),
            unused_unless(keys || traced, "key_factor", "key_interval"),
            unused_unless(keys || traced, "key_priority", "key_interval"),
            unused_unless(bursts, "burst_change", "burst_frames above 0"),
            unused_unless(bursts, "burst_size", "burst_frames above 0"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

#[cfg(test)]
mod tests;
