//! Parser of media traces: the sizes of encoded frames, and the times at which an encoder would have written them.
//!
//! The format is the output of this command, for any file that ffmpeg reads:
//! ```text
//! ffprobe -v error -show_entries packet=codec_type,stream_index,pts_time,dts_time,size,flags -of compact FILE
//! ```
//! Each line is a packet (an encoded frame), `packet|key=value|key=value..`, with keys in any order. Unknown keys,
//! blank lines and lines that start with `#` are ignored. `codec_type`, `size` and one of `dts_time` and `pts_time` are
//! required; `N/A` counts as absent. If no packet has a time (raw H.264), the trace has no times.
//!
//! **Send times.** Files are in decoding order with two times: presentation (pts, the time of capture) and decoding
//! (dts, evenly spaced, at most pts). A live encoder writes in decoding order, and no frame before its capture. The
//! earliest schedule with the spacing of the file is therefore dts + max(pts - dts), with the maximum over the stream.
//! Without B frames, this is pts.
//!
//! **Missing dts.** Matroska stores no dts, and ffprobe cannot derive the first ones of a stream with B frames.
//! Decoding times are the sorted presentation times minus a constant. The n-th packet of a stream thus gets the n-th
//! smallest pts, shifted as the next packet with a dts.
//!
//! **Frame types.** A video packet with flag `K` is an I frame. Otherwise it is a B frame if it is presented before a
//! frame that was decoded earlier, else a P frame. Without `flags`, video has no frame type. Intra frames without
//! random access and bidirectional frames without reordering count as P frames.

use crate::LARGEST_WRITE;
use headway_units::{Bytes, Duration, MediaKind};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Parsed media trace: the encoded frames of a recording, with their sizes and times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    frames: Vec<Frame>,
    period: Duration,
    is_timed: bool,
}

/// Encoded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Time at which the encoder writes the frame, relative to the first frame of the trace.
    pub at: Duration,
    /// Encoded size, without headers.
    pub bytes: Bytes,
    /// Kind of media.
    pub kind: MediaKind,
    /// Number of its stream (ffprobe's `stream_index`), 0 if the trace has none.
    pub stream: u32,
}

/// Error of parsing a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct TraceError {
    /// Line number, from 1; `None` for the whole text.
    pub line: Option<u64>,
    /// Problem in this line.
    pub problem: TraceProblem,
}

/// Problem in a trace, with the expected input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceProblem {
    /// The text is longer than [`Trace::LARGEST_TEXT`].
    #[error("a trace of {0} is too long: at most 64MiB are read")]
    TooLong(Bytes),
    /// The text has no frame.
    #[error("no frame that holds a byte: expected lines such as \"packet|codec_type=video|dts_time=0.04|size=1200\"")]
    Empty,
    /// The line is not a packet.
    #[error("\"{0:.40}\" is not a packet: expected \"packet|key=value|..\", as ffprobe prints with -of compact")]
    NotAPacket(String),
    /// The packet lacks a required key.
    #[error("the packet has no {0}: name it in ffprobe's -show_entries packet=..")]
    Missing(&'static str),
    /// The packet has no time, but others have.
    #[error(
        "the packet has neither dts_time nor pts_time, and others have: copy the recording to a file that gives each frame \
         its time (ffmpeg -i FILE -c copy FILE.mp4), and print that"
    )]
    Untimed,
    /// The value is invalid for its key.
    #[error("{key}={value:.40} is not {expected}")]
    Wrong {
        /// Key.
        key: &'static str,
        /// Value found.
        value: String,
        /// Expected value.
        expected: &'static str,
    },
}

struct Packet {
    stream: (MediaKind, u32),
    kind: MediaKind,
    times: Times,
    size: Bytes,
    /// Line number, from 1.
    line: u64,
}

/// Presentation and decoding time of a packet in ns, if given; may be negative.
#[derive(Clone, Copy)]
struct Times {
    pts: Option<i64>,
    dts: Option<i64>,
}

impl Times {
    /// Returns the presentation time, or the decoding time if it is the only one.
    fn presentation(self) -> Option<i64> {
        self.pts.or(self.dts)
    }
}

#[derive(Default)]
struct Stream {
    /// Latest presentation time so far.
    latest_pts: Option<i64>,
    /// Times of its packets, in order.
    times: Vec<Times>,
}

impl Stream {
    /// Returns the send time of each packet in ns: dts + max(pts - dts).
    fn sending(&self) -> impl Iterator<Item = i64> + use<> {
        let decoding = self.decoding();
        let presented = self.times.iter().map(|times| times.presentation().unwrap_or_default());
        let reordering = decoding.iter().zip(presented).map(|(dts, pts)| pts - dts).max().unwrap_or_default().max(0);
        decoding.into_iter().map(move |dts| dts + reordering)
    }

    /// Returns the dts of each packet, derived if absent.
    fn decoding(&self) -> Vec<i64> {
        if let Some(all) = self.times.iter().map(|times| times.dts).collect() {
            return all;
        }
        let mut presented: Vec<i64> = self.times.iter().filter_map(|times| times.presentation()).collect();
        presented.sort_unstable();
        let shift_of = |(times, sorted): (&Times, &i64)| times.dts.map(|dts| sorted - dts);
        // After the last packet with a dts, its shift applies. Without any, the first packet is decoded when it is
        // presented.
        let mut shift = self.times.iter().zip(&presented).rev().find_map(shift_of).unwrap_or_default();
        let mut all = Vec::with_capacity(presented.len());
        for (times, sorted) in self.times.iter().zip(&presented).rev() {
            shift = shift_of((times, sorted)).unwrap_or(shift);
            let latest = LATEST.as_nanos() as i64;
            all.push((sorted - shift).clamp(-latest, latest));
        }
        all.reverse();
        all
    }
}

/// Maximum time, 63 years: allows for clocks that count from 1970, and sums of four times do not overflow.
const LATEST: Duration = Duration::from_secs(2_000_000_000);

impl Trace {
    /// Maximum length of a text, 64 MiB: about eight hours of a conference.
    pub const LARGEST_TEXT: Bytes = Bytes::new(64 << 20);

    /// Parses a trace.
    ///
    /// # Errors
    /// Returns an error for the first line that is neither a comment nor a valid packet, for the first packet without a
    /// time if others have one, without any frame, and for a text that is too long.
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
            packets.push(
                packet(line, number, &mut streams).map_err(|problem| TraceError { line: Some(number), problem })?,
            );
        }
        let untimed = |packet: &&Packet| packet.times.presentation().is_none();
        let is_timed = !packets.iter().all(|packet| untimed(&packet));
        if let Some(packet) = packets.iter().find(untimed).filter(|_| is_timed) {
            return Err(TraceError { line: Some(packet.line), problem: TraceProblem::Untimed });
        }
        Self::schedule(&packets, &streams, is_timed).ok_or(TraceError { line: None, problem: TraceProblem::Empty })
    }

    fn schedule(packets: &[Packet], streams: &BTreeMap<(MediaKind, u32), Stream>, is_timed: bool) -> Option<Self> {
        let mut sending: BTreeMap<_, _> = streams.iter().map(|(name, stream)| (*name, stream.sending())).collect();
        let mut sent = Vec::with_capacity(packets.len());
        for (packet, number) in packets.iter().zip(0..) {
            let at = if is_timed { sending.get_mut(&packet.stream)?.next()? } else { number };
            // An encoder that skipped a frame sent nothing.
            if packet.size.count() > 0 {
                sent.push((packet.stream, packet.stream.1, at, packet.size, packet.kind));
            }
        }
        Some(Self { is_timed, ..Self::of(sent)? })
    }

    /// Creates a trace with times from the stream, its number, time in ns, size and kind of each frame. Returns `None`
    /// without a frame.
    pub(super) fn of<S: Ord>(sent: Vec<(S, u32, i64, Bytes, MediaKind)>) -> Option<Self> {
        let origin = sent.iter().map(|(_, _, at, ..)| *at).min()?;
        let mut frames = Vec::with_capacity(sent.len());
        let mut spans: BTreeMap<S, Span> = BTreeMap::new();
        for (key, stream, at, bytes, kind) in sent {
            let at = Duration::from_nanos(at.abs_diff(origin));
            spans.entry(key).or_insert_with(|| Span::starting(at)).add(at);
            frames.push(Frame { at, bytes, kind, stream });
        }
        // A stable sort: simultaneous frames keep the order of the file.
        frames.sort_by_key(|frame| frame.at);
        let period = spans.values().map(Span::end).max().unwrap_or_default();
        Some(Self { frames, period, is_timed: true })
    }

    /// Returns whether packets have times. If not, [`Frame::at`] and [`period`](Self::period) count a frame as one
    /// nanosecond.
    #[must_use]
    pub const fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Returns all frames in sending order. There is at least one, and the first is at zero.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Returns the time after which the trace may repeat: the time of the next frame of the longest stream, at its mean
    /// spacing.
    #[must_use]
    pub const fn period(&self) -> Duration {
        self.period
    }
}

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
        // To the nearest nanosecond, which restores spacings printed in whole microseconds.
        let length = (self.last - self.first).as_nanos();
        self.last + Duration::from_nanos((length + steps / 2) / steps)
    }
}

fn packet(
    line: &str,
    number_of_line: u64,
    streams: &mut BTreeMap<(MediaKind, u32), Stream>,
) -> Result<Packet, TraceProblem> {
    let Some(fields) = line.strip_prefix("packet|") else {
        return Err(TraceProblem::NotAPacket(line.chars().take(40).collect()));
    };
    let (mut media, mut index, mut pts, mut dts, mut size, mut flags) = (None, 0, None, None, None, None);
    // A name without value starts a nested section (side data), whose keys do not belong to the packet.
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
    let times = Times { pts, dts };
    if size > LARGEST_WRITE {
        return Err(wrong("size", &size.count().to_string(), "at most 16777216 bytes"));
    }
    let stream = streams.entry((media, index)).or_default();
    stream.times.push(times);
    let presentation = times.presentation();
    let reordered = presentation.is_some() && presentation < stream.latest_pts;
    stream.latest_pts = stream.latest_pts.max(presentation);
    let kind = match (media, flags) {
        (MediaKind::Video, Some(flags)) if flags.contains('K') => MediaKind::VideoI,
        (MediaKind::Video, Some(_)) if reordered => MediaKind::VideoB,
        (MediaKind::Video, Some(_)) => MediaKind::VideoP,
        (media, _) => media,
    };
    Ok(Packet { stream: (media, index), kind, times, size, line: number_of_line })
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

/// Parses seconds into ns; `None` if ffprobe has no time.
fn time(key: &'static str, value: &str) -> Result<Option<i64>, TraceProblem> {
    if value == "N/A" {
        return Ok(None);
    }
    let (sign, magnitude) = value.strip_prefix('-').map_or((1, value), |rest| (-1, rest));
    let expected = "a time in seconds, such as 0.040000, of at most 2000000000";
    // Only the format of ffprobe: after "1m", the appended "s" would form a unit.
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
