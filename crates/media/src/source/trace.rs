//! The text of a media trace: which encoded frame was how large, and when an encoder would have handed it over.
//!
//! The text is what this prints for any file that ffmpeg reads:
//! ```text
//! ffprobe -v error -show_entries packet=codec_type,stream_index,pts_time,dts_time,size,flags -of compact FILE
//! ```
//! One line a packet (an encoded frame), `packet|key=value|key=value..`, keys in any order, unknown keys ignored; blank
//! lines and lines that start with `#` are comments. Needed are `codec_type`, `size` and one of `dts_time` and
//! `pts_time`; `N/A` is as good as absent.
//!
//! **When a frame is sent.** Files hold decode order and two times: presentation (pts, when the frame was captured) and
//! decoding (dts, evenly spaced, never after pts). A live encoder emits in decode order, and no frame before it was
//! captured. The earliest schedule with the file's spacing is therefore dts + max(pts - dts), the maximum over the
//! stream; without B-frames that is pts itself.
//!
//! **What a frame is.** A video packet flagged `K` is an I-frame. Another one is a B-frame if it is presented before a
//! frame that was decoded earlier, else a P-frame. Without `flags` it is video of no particular type. Intra pictures that
//! are no random access points pass as P, bidirectional ones that are not reordered too.

use crate::LARGEST_WRITE;
use headway_units::{Bytes, Duration, MediaKind};
use std::collections::BTreeMap;
use std::str::FromStr;

/// A media trace, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    frames: Vec<Frame>,
    period: Duration,
}

/// One encoded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When the encoder hands it over, after the trace's first frame.
    pub at: Duration,
    /// Its encoded bytes, without any header.
    pub bytes: Bytes,
    /// What it is.
    pub kind: MediaKind,
}

/// Why a text is no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct TraceError {
    /// Where, counted from 1; `None` if it is the text as a whole.
    pub line: Option<u64>,
    /// What.
    pub problem: TraceProblem,
}

/// What is wrong in a trace, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceProblem {
    /// Longer than [`Trace::LARGEST_TEXT`].
    #[error("a trace of {0} is too long: at most 64MiB are read")]
    TooLong(Bytes),
    /// No frame in it.
    #[error("no frame that holds a byte: expected lines such as \"packet|codec_type=video|dts_time=0.04|size=1200\"")]
    Empty,
    /// Something else than a packet.
    #[error("\"{0:.40}\" is not a packet: expected \"packet|key=value|..\", as ffprobe prints with -of compact")]
    NotAPacket(String),
    /// A packet without something that it needs.
    #[error("the packet has no {0}: name it in ffprobe's -show_entries packet=..")]
    Missing(&'static str),
    /// A value that is not what its key says.
    #[error("{key}={value:.40} is not {expected}")]
    Wrong {
        /// The key.
        key: &'static str,
        /// What was found.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
}

/// A packet as it stands in the text.
struct Packet {
    stream: (MediaKind, u32),
    kind: MediaKind,
    /// ns; either may lie before zero.
    dts: i64,
    size: Bytes,
}

/// What the packets of one stream have in common.
#[derive(Default)]
struct Stream {
    /// The latest presentation so far.
    latest_pts: Option<i64>,
    /// max(pts - dts), ns: how long the encoder holds frames back to reorder them.
    reordering: i64,
}

impl Trace {
    /// The longest text that is read, 64 MiB: some eight hours of a conference.
    pub const LARGEST_TEXT: Bytes = Bytes::new(64 << 20);

    /// Reads a trace.
    ///
    /// # Errors
    /// At the first line that is neither a comment nor a packet with what it needs; if there is no frame at all; if the
    /// text is too long.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let length = Bytes::new(text.len() as u64);
        if length > Self::LARGEST_TEXT {
            return Err(TraceError { line: None, problem: TraceProblem::TooLong(length) });
        }
        let mut packets = Vec::new();
        let mut streams = BTreeMap::new();
        for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let packet = packet(line, &mut streams).map_err(|problem| TraceError { line: Some(number), problem })?;
            // An encoder that skipped a frame had nothing to send.
            if packet.size.count() > 0 {
                packets.push(packet);
            }
        }
        Self::schedule(&packets, &streams).ok_or(TraceError { line: None, problem: TraceProblem::Empty })
    }

    fn schedule(packets: &[Packet], streams: &BTreeMap<(MediaKind, u32), Stream>) -> Option<Self> {
        let sent = |packet: &Packet| packet.dts + streams.get(&packet.stream).map_or(0, |stream| stream.reordering);
        let origin = packets.iter().map(sent).min()?;
        let mut frames = Vec::with_capacity(packets.len());
        let mut spans: BTreeMap<(MediaKind, u32), Span> = BTreeMap::new();
        for packet in packets {
            let at = Duration::from_nanos(sent(packet).abs_diff(origin));
            spans.entry(packet.stream).or_insert_with(|| Span::starting(at)).add(at);
            frames.push(Frame { at, bytes: packet.size, kind: packet.kind });
        }
        // Stable: frames of one instant keep the file's order.
        frames.sort_by_key(|frame| frame.at);
        let period = spans.values().map(Span::end).max().unwrap_or_default();
        Some(Self { frames, period })
    }

    /// Every frame, in sending order; never empty. The first is at zero.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// After what time the trace may begin again: when its longest stream would send its next frame, at that stream's
    /// mean spacing.
    #[must_use]
    pub const fn period(&self) -> Duration {
        self.period
    }
}

/// From the first to the last frame of a stream.
struct Span {
    first: Duration,
    last: Duration,
    frames: u64,
}

impl Span {
    const fn starting(at: Duration) -> Self {
        Self { first: at, last: at, frames: 0 }
    }

    fn add(&mut self, at: Duration) {
        self.first = self.first.min(at);
        self.last = self.last.max(at);
        self.frames += 1;
    }

    fn end(&self) -> Duration {
        let steps = self.frames.saturating_sub(1).max(1);
        // To the nearest nanosecond, so that spacing printed in whole microseconds is met again.
        let length = (self.last - self.first).as_nanos();
        self.last + Duration::from_nanos((length + steps / 2) / steps)
    }
}

fn packet(line: &str, streams: &mut BTreeMap<(MediaKind, u32), Stream>) -> Result<Packet, TraceProblem> {
    let Some(fields) = line.strip_prefix("packet|") else {
        return Err(TraceProblem::NotAPacket(line.chars().take(40).collect()));
    };
    let (mut media, mut index, mut pts, mut dts, mut size, mut flags) = (None, 0, None, None, None, None);
    // A name without value opens a nested section (side data), whose keys are not the packet's.
    for (key, value) in fields.split('|').map_while(|field| field.split_once('=')) {
        match key {
            "codec_type" => media = Some(codec_type(value)?),
            "stream_index" => index = number("stream_index", value, "a whole number")?,
            "pts_time" => pts = time("pts_time", value)?,
            "dts_time" => dts = time("dts_time", value)?,
            "size" => size = Some(number("size", value, "a whole number of bytes")?),
            "flags" => flags = Some(value),
            _ => {}
        }
    }
    let media = media.ok_or(TraceProblem::Missing("codec_type"))?;
    let size = Bytes::new(size.ok_or(TraceProblem::Missing("size"))?);
    let dts = dts.or(pts).ok_or(TraceProblem::Missing("dts_time or pts_time"))?;
    let pts = pts.unwrap_or(dts);
    if size > LARGEST_WRITE {
        return Err(wrong("size", &size.count().to_string(), "at most 16777216 bytes"));
    }
    let stream = streams.entry((media, index)).or_default();
    stream.reordering = stream.reordering.max(pts - dts);
    let reordered = stream.latest_pts.is_some_and(|latest| pts < latest);
    stream.latest_pts = stream.latest_pts.max(Some(pts));
    let kind = match (media, flags) {
        (MediaKind::Video, Some(flags)) if flags.contains('K') => MediaKind::VideoI,
        (MediaKind::Video, Some(_)) if reordered => MediaKind::VideoB,
        (MediaKind::Video, Some(_)) => MediaKind::VideoP,
        (media, _) => media,
    };
    Ok(Packet { stream: (media, index), kind, dts, size })
}

fn codec_type(value: &str) -> Result<MediaKind, TraceProblem> {
    match value {
        "video" => Ok(MediaKind::Video),
        "audio" => Ok(MediaKind::Audio),
        "subtitle" | "data" | "attachment" => Ok(MediaKind::Data),
        _ => Err(wrong("codec_type", value, "one of video, audio, subtitle, data, attachment")),
    }
}

fn number<N: FromStr>(key: &'static str, value: &str, expected: &'static str) -> Result<N, TraceProblem> {
    value.parse().map_err(|_| wrong(key, value, expected))
}

/// Seconds as ns; `None` if ffprobe knew none.
fn time(key: &'static str, value: &str) -> Result<Option<i64>, TraceProblem> {
    /// 63 years, so that clocks which count from 1970 fit, and no sum of four times overflows.
    const LATEST: Duration = Duration::from_secs(2_000_000_000);
    if value == "N/A" {
        return Ok(None);
    }
    let (sign, magnitude) = value.strip_prefix('-').map_or((1, value), |rest| (-1, rest));
    let expected = "a time in seconds, such as 0.040000, of at most 2000000000";
    // Only what ffprobe prints: behind "1m" the "s" below would make a unit.
    if !magnitude.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err(wrong(key, value, expected));
    }
    let magnitude: Duration = format!("{magnitude}s").parse().map_err(|_| wrong(key, value, expected))?;
    if magnitude > LATEST {
        return Err(wrong(key, value, expected));
    }
    let nanos = i64::try_from(magnitude.as_nanos()).map_err(|_| wrong(key, value, expected))?;
    Ok(Some(sign * nanos))
}

fn wrong(key: &'static str, value: &str, expected: &'static str) -> TraceProblem {
    TraceProblem::Wrong { key, value: value.chars().take(40).collect(), expected }
}

#[cfg(test)]
mod tests;
