//! The text of a media trace: which encoded frame was how large, and when an encoder would have handed it over.
//!
//! The text is what this prints for any file that ffmpeg reads:
//! ```text
//! ffprobe -v error -show_entries packet=codec_type,stream_index,pts_time,dts_time,size,flags -of compact FILE
//! ```
//! One line a packet (an encoded frame), `packet|key=value|key=value..`, keys in any order, unknown keys ignored; blank
//! lines and lines that start with `#` are comments. Needed are `codec_type`, `size` and one of `dts_time` and
//! `pts_time`; `N/A` is as good as absent. A text in which no packet has a time (raw H.264) is a trace without times.
//!
//! **When a frame is sent.** Files hold decode order and two times: presentation (pts, when the frame was captured) and
//! decoding (dts, evenly spaced, never after pts). A live encoder emits in decode order, and no frame before it was
//! captured. The earliest schedule with the file's spacing is therefore dts + max(pts - dts), the maximum over the
//! stream; without B-frames that is pts itself.
//!
//! **A missing dts.** Matroska stores no dts, and ffprobe cannot derive the first ones of a stream with B-frames. Decoding
//! times are the presentation times in rising order, earlier by a constant. So the n-th packet of a stream gets the n-th
//! smallest pts, moved by what the next packet with a dts says.
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
    is_timed: bool,
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
    /// A packet without a time in a file whose others have one.
    #[error(
        "the packet has neither dts_time nor pts_time, and others have: copy the recording to a file that gives each frame \
         its time (ffmpeg -i FILE -c copy FILE.mp4), and print that"
    )]
    Untimed,
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
    times: Times,
    size: Bytes,
    /// Counted from 1.
    line: u64,
}

/// When a packet is presented and decoded, as far as that is written, in ns; either may lie before zero.
#[derive(Clone, Copy)]
struct Times {
    pts: Option<i64>,
    dts: Option<i64>,
}

impl Times {
    /// Returns the one that is written if only one is.
    fn presentation(self) -> Option<i64> {
        self.pts.or(self.dts)
    }
}

/// What the packets of one stream have in common.
#[derive(Default)]
struct Stream {
    /// The latest presentation so far.
    latest_pts: Option<i64>,
    /// Its packets, in order.
    times: Vec<Times>,
}

impl Stream {
    /// Returns when each packet is sent, in ns: dts + max(pts - dts).
    fn sending(&self) -> impl Iterator<Item = i64> + use<> {
        let decoding = self.decoding();
        let presented = self.times.iter().map(|times| times.presentation().unwrap_or_default());
        let reordering = decoding.iter().zip(presented).map(|(dts, pts)| pts - dts).max().unwrap_or_default().max(0);
        decoding.into_iter().map(move |dts| dts + reordering)
    }

    /// Returns each packet's dts, derived where none is written.
    fn decoding(&self) -> Vec<i64> {
        if let Some(all) = self.times.iter().map(|times| times.dts).collect() {
            return all;
        }
        let mut presented: Vec<i64> = self.times.iter().filter_map(|times| times.presentation()).collect();
        presented.sort_unstable();
        let shift_of = |(times, sorted): (&Times, &i64)| times.dts.map(|dts| sorted - dts);
        // Behind the last packet with a dts its own shift holds; without any, the first packet is decoded when it is presented.
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

/// 63 years, so that clocks which count from 1970 fit, and no sum of four times overflows.
const LATEST: Duration = Duration::from_secs(2_000_000_000);

impl Trace {
    /// The longest text that is read, 64 MiB: some eight hours of a conference.
    pub const LARGEST_TEXT: Bytes = Bytes::new(64 << 20);

    /// Reads a trace.
    ///
    /// # Errors
    /// At the first line that is neither a comment nor a packet with what it needs; at the first packet without a time, if
    /// others have one; if there is no frame at all; if the text is too long.
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
            // An encoder that skipped a frame had nothing to send.
            if packet.size.count() > 0 {
                sent.push((packet.stream, at, packet.size, packet.kind));
            }
        }
        Some(Self { is_timed, ..Self::of(sent)? })
    }

    /// Makes a timed trace of frames: stream, time in ns, size and kind of each. Returns `None` without a frame.
    pub(super) fn of<S: Ord>(sent: Vec<(S, i64, Bytes, MediaKind)>) -> Option<Self> {
        let origin = sent.iter().map(|(_, at, ..)| *at).min()?;
        let mut frames = Vec::with_capacity(sent.len());
        let mut spans: BTreeMap<S, Span> = BTreeMap::new();
        for (stream, at, bytes, kind) in sent {
            let at = Duration::from_nanos(at.abs_diff(origin));
            spans.entry(stream).or_insert_with(|| Span::starting(at)).add(at);
            frames.push(Frame { at, bytes, kind });
        }
        // A stable sort: frames of the same time keep the file's order.
        frames.sort_by_key(|frame| frame.at);
        let period = spans.values().map(Span::end).max().unwrap_or_default();
        Some(Self { frames, period, is_timed: true })
    }

    /// Returns whether its packets have times. If not, [`Frame::at`] and [`period`](Self::period) count one frame as a nanosecond.
    #[must_use]
    pub const fn is_timed(&self) -> bool {
        self.is_timed
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

fn packet(
    line: &str,
    number_of_line: u64,
    streams: &mut BTreeMap<(MediaKind, u32), Stream>,
) -> Result<Packet, TraceProblem> {
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

/// Seconds as ns; `None` if ffprobe knew none.
fn time(key: &'static str, value: &str) -> Result<Option<i64>, TraceProblem> {
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
