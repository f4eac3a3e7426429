//! Frame sizes of one video at several rates, for the trace-driven model (RFC 8593 section 6).
//!
//! Each video stream of a trace is one encoding of the same pictures. Its rate is the mean rate of the frames that
//! repeat, not the rate that its encoder was asked for, so that the mean rate of the source is exactly `R_v`. The steps
//! between rates may differ (section 6.2.2).

use super::EncoderOptions;
use crate::Trace;
use headway_units::{MediaKind, OptionError};
use std::collections::BTreeMap;

/// Encodings of one video, in the order of their rates, and the position of the next frame.
#[derive(Debug)]
pub(super) struct Ladder {
    rungs: Vec<Rung>,
    /// Index of the next frame (RFC 8593 `t_current`).
    next: usize,
    /// Number of frames at the beginning that do not repeat (RFC 8593 `SkipFrames`).
    loop_from: usize,
}

#[derive(Debug)]
struct Rung {
    /// Mean rate of the frames that repeat, in bit/s.
    rate: f64,
    /// Size in bytes and kind of each frame.
    frames: Vec<(f64, MediaKind)>,
}

impl Ladder {
    /// Creates the ladder of the video streams of a trace.
    ///
    /// # Errors
    /// Returns an error if there is no video, if streams differ in length or have equal rates, and if the trace has no
    /// frame to repeat.
    pub(super) fn new(trace: &Trace, options: &EncoderOptions) -> Result<Self, OptionError> {
        let wrong = |key, message: String| Err(OptionError::new(key, message));
        let mut streams: BTreeMap<u32, Vec<(f64, MediaKind)>> = BTreeMap::new();
        for frame in trace.frames().iter().filter(|frame| frame.kind.is_video()) {
            streams.entry(frame.stream).or_default().push((frame.bytes.count() as f64, frame.kind));
        }
        let Some(frames) = streams.values().next().map(Vec::len) else {
            return wrong("file", "the trace has no video: an encoder needs one video stream or more".into());
        };
        if let Some((stream, other)) = streams.iter().find(|(_, other)| other.len() != frames) {
            let message = format!(
                "stream {stream} has {} frames, and another has {frames}: the streams are encodings of the same pictures",
                other.len()
            );
            return wrong("file", message);
        }
        let loop_from = options.loop_from as usize;
        if loop_from >= frames {
            let message = format!("the trace has {frames} frames: loop_from is at most {}", frames - 1);
            return wrong("loop_from", message);
        }
        let rung = |frames: Vec<(f64, MediaKind)>| {
            let repeated = &frames[loop_from..];
            let bytes: f64 = repeated.iter().map(|(bytes, _)| bytes).sum();
            Rung { rate: bytes * 8.0 / (repeated.len() as f64 * options.frame_interval.as_secs_f64()), frames }
        };
        let mut rungs: Vec<Rung> = streams.into_values().map(rung).collect();
        rungs.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        if rungs.windows(2).any(|pair| pair[0].rate >= pair[1].rate) {
            return wrong("file", "two streams of the trace have the same rate: expected different rates".into());
        }
        Ok(Self { rungs, next: 0, loop_from })
    }

    /// Returns the size of the next frame at `rate` in bytes, before the limits of a frame, and its kind.
    pub(super) fn next(&mut self, rate: f64) -> (f64, MediaKind) {
        let index = self.next;
        let length = self.rungs.first().map_or(0, |rung| rung.frames.len());
        self.next = if index + 1 < length { index + 1 } else { self.loop_from };
        let size = |rung: &Rung| rung.frames.get(index).map_or(0.0, |(bytes, _)| *bytes);
        let above = self.rungs.partition_point(|rung| rung.rate <= rate);
        let low = &self.rungs[above.saturating_sub(1)];
        let kind = low.frames.get(index).map_or(MediaKind::Video, |(_, kind)| *kind);
        let bytes = match self.rungs.get(above) {
            // Case a: between two rates.
            Some(high) if above > 0 => {
                let distance = (rate - low.rate) / (high.rate - low.rate);
                size(high) * distance + size(low) * (1.0 - distance)
            }
            // Cases b and c: below the lowest rate, and at or above the highest.
            _ => size(low) * rate / low.rate,
        };
        (bytes, kind)
    }
}

/// Returns the maximum size of a frame of the trace at the rates of `options` in bytes, before the limits of a frame.
pub(super) fn largest(trace: &Trace, options: &EncoderOptions) -> f64 {
    let Ok(ladder) = Ladder::new(trace, options) else { return f64::INFINITY };
    let size = |rung: &Rung| {
        let frame = rung.frames.iter().map(|(bytes, _)| *bytes).fold(0.0, f64::max);
        frame * (options.max_rate.bits_per_second() as f64 / rung.rate).max(1.0)
    };
    ladder.rungs.iter().map(size).fold(0.0, f64::max)
}
