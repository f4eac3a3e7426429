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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILM: &str = include_str!("../../../../scenarios/media/film.txt");

    fn problem(text: &str) -> String {
        Trace::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_line_is_a_frame() {
        let trace = Trace::parse(
            "# made by hand\r\n\
             packet|codec_type=video|stream_index=0|pts_time=10.000000|dts_time=10.000000|size=9000|flags=K_\r\n\
             packet|codec_type=audio|stream_index=1|pts_time=9.993500|dts_time=9.993500|size=80|flags=K_|side_data|\r\n\
             \r\n\
             packet|pts_time=10.04|size=1200|codec_type=video|flags=__|side_data|size=7\n\
             packet|codec_type=data|pts_time=N/A|dts_time=10.02|size=5\n",
        )
        .unwrap();
        let frame = |micros, bytes, kind| Frame { at: Duration::from_micros(micros), bytes: Bytes::new(bytes), kind };
        assert_eq!(
            trace.frames(),
            [
                frame(0, 80, MediaKind::Audio),
                frame(6_500, 9000, MediaKind::VideoI),
                frame(26_500, 5, MediaKind::Data),
                frame(46_500, 1200, MediaKind::VideoP),
            ]
        );
        // The video would send its third frame 40 ms after its second.
        assert_eq!(trace.period(), Duration::from_micros(86_500));
    }

    /// Captured at 0, 40, 80, 120 ms and sent as I P B B: P cannot leave before 120 ms, and the spacing stays.
    #[test]
    fn frames_leave_in_decoding_order_and_not_before_their_capture() {
        let trace = Trace::parse(
            "packet|codec_type=audio|pts_time=0.000000|dts_time=0.000000|size=80|flags=K_\n\
             packet|codec_type=video|pts_time=0.000000|dts_time=-0.040000|size=9000|flags=K_\n\
             packet|codec_type=video|pts_time=0.120000|dts_time=0.000000|size=3000|flags=__\n\
             packet|codec_type=video|pts_time=0.040000|dts_time=0.040000|size=900|flags=__\n\
             packet|codec_type=video|pts_time=0.080000|dts_time=0.080000|size=800|flags=__\n",
        )
        .unwrap();
        let sent: Vec<_> = trace.frames().iter().map(|f| (f.at.as_nanos() / 1_000_000, f.kind.name())).collect();
        assert_eq!(sent, [(0, "audio"), (80, "video-i"), (120, "video-p"), (160, "video-b"), (200, "video-b")]);
    }

    #[test]
    fn frames_of_one_instant_keep_the_order_of_the_file() {
        let text: String = (1..=50).map(|size| format!("packet|codec_type=data|dts_time=1.5|size={size}\n")).collect();
        let trace = Trace::parse(&text).unwrap();
        let sizes: Vec<u64> = trace.frames().iter().map(|frame| frame.bytes.count()).collect();
        assert_eq!(sizes, (1..=50).collect::<Vec<_>>());
        assert_eq!(trace.period(), Duration::ZERO);
    }

    #[test]
    fn without_flags_video_has_no_type_and_frames_of_no_bytes_are_none() {
        let trace = Trace::parse(
            "packet|codec_type=video|dts_time=0|size=10\npacket|codec_type=video|dts_time=1|size=0|flags=K_\n",
        )
        .unwrap();
        assert_eq!(trace.frames().len(), 1);
        assert_eq!(trace.frames()[0].kind, MediaKind::Video);
    }

    #[test]
    fn streams_are_told_apart_and_fields_of_one_picture_are_not_reordered() {
        let trace = Trace::parse(
            "\u{feff}packet|codec_type=video|stream_index=0|pts_time=9.0|size=1|flags=__\n\
             packet|codec_type=video|stream_index=0|pts_time=9.0|size=2|flags=__\n\
             packet|codec_type=video|stream_index=1|pts_time=1.0|size=3|flags=__\n\
             packet|codec_type=video|stream_index=0|pts_time=8.0|size=4|flags=__\n",
        )
        .unwrap();
        let kinds: Vec<_> = trace.frames().iter().map(|frame| (frame.bytes.count(), frame.kind)).collect();
        let (p, b) = (MediaKind::VideoP, MediaKind::VideoB);
        assert_eq!(kinds, [(3, p), (4, b), (1, p), (2, p)]);
    }

    /// 15 pictures a second, whose times ffprobe rounds to 1 us, in no order: the next is due a fifteenth later.
    #[test]
    fn the_period_ends_at_the_mean_spacing() {
        let line = |time| format!("packet|codec_type=video|dts_time={time}|size=1\n");
        let trace = Trace::parse(&["0.133333", "0.200000", "0.000000", "0.066667"].map(line).concat()).unwrap();
        assert_eq!(trace.period(), Duration::from_nanos(266_666_667));
    }

    #[test]
    fn the_largest_values_are_read() {
        let text = "packet|codec_type=video|size=16777216|dts_time=-2000000000\n\
                    packet|codec_type=video|size=1|dts_time=2000000000|pts_time=-2000000000\n\
                    packet|codec_type=video|size=2|dts_time=-2000000000|pts_time=2000000000\n";
        let trace = Trace::parse(text).unwrap();
        assert_eq!(trace.frames()[0].bytes, LARGEST_WRITE);
        assert_eq!(trace.frames()[2].at, Duration::from_secs(4_000_000_000));
        assert_eq!(trace.period(), Duration::from_secs(6_000_000_000));
    }

    #[test]
    fn errors_name_the_line_and_what_would_be_right() {
        for (text, part) in [
            ("", "no frame that holds a byte"),
            ("# only words\n\n", "no frame that holds a byte"),
            ("packet|codec_type=video|dts_time=0|size=0", "no frame that holds a byte"),
            ("\n#\nframe|media_type=video", "line 3: \"frame|media_type=video\" is not a packet"),
            ("packet,video,0,0.0,0.0,1234,K_", "line 1: \"packet,video"),
            ("packet|video|0|0.0|0.0|1234|K_", "line 1: the packet has no codec_type"),
            ("packet|codec_type=video|dts_time=0", "the packet has no size"),
            ("packet|codec_type=video|size=1", "the packet has no dts_time or pts_time"),
            ("packet|codec_type=video|size=1|dts_time=N/A|pts_time=N/A", "the packet has no dts_time or pts_time"),
            ("packet|codec_type=film|size=1|dts_time=0", "codec_type=film is not one of video, audio"),
            ("packet|codec_type=video|size=-1|dts_time=0", "size=-1 is not a whole number of bytes"),
            ("packet|codec_type=video|size=16777217|dts_time=0", "is not at most 16777216 bytes"),
            ("packet|codec_type=video|size=18446744073709551616|dts_time=0", "is not a whole number of bytes"),
            ("packet|codec_type=video|stream_index=x|size=1|dts_time=0", "stream_index=x is not a whole number"),
            ("packet|codec_type=video|size=1|dts_time=1m", "dts_time=1m is not a time in seconds"),
            ("packet|codec_type=video|size=1|dts_time=--1", "dts_time=--1 is not a time in seconds"),
            ("packet|codec_type=video|size=1|dts_time=1e3", "dts_time=1e3 is not a time in seconds"),
            ("packet|codec_type=video|size=1|dts_time=NaN", "dts_time=NaN is not a time in seconds"),
            ("packet|codec_type=video|size=1|dts_time=", "dts_time= is not a time in seconds"),
            ("packet|codec_type=video|size=1|dts_time=2000000000.1", "is not a time in seconds"),
        ] {
            let message = problem(text);
            assert!(message.contains(part), "{text}: {message}");
        }
        let long = format!("packet|codec_type={}|size=1|dts_time=0", "x".repeat(100_000));
        assert!(problem(&long).len() < 200);
    }

    #[test]
    fn a_text_beyond_the_limit_is_not_read() {
        let text = "#".repeat(Trace::LARGEST_TEXT.count() as usize + 1);
        assert_eq!(Trace::parse(&text).unwrap_err().problem, TraceProblem::TooLong(Bytes::new(67_108_865)));
    }

    fn any_line() -> impl Strategy<Value = String> {
        let time = prop_oneof![
            (-2_000_000_000i64..2_000_000_000, 0u32..1_000_000).prop_map(|(s, us)| format!("{s}.{us:06}")),
            (0i64..10, 0u32..1_000_000).prop_map(|(s, us)| format!("{s}.{us:06}")),
        ];
        let media = prop_oneof![Just("video"), Just("audio"), Just("data")];
        (media, 0u32..3, time.clone(), time, 0u64..20_000, any::<bool>()).prop_map(
            |(media, index, pts, dts, size, key)| {
                let flags = if key { "K_" } else { "__" };
                format!(
                    "packet|codec_type={media}|stream_index={index}|pts_time={pts}|dts_time={dts}|size={size}|flags={flags}\n"
                )
            },
        )
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(packet\\|)?(\\PC|[\\|=\n]){0,80}") {
            let _ = Trace::parse(&text);
        }

        #[test]
        fn no_damage_panics(place in 0usize..8_000, byte: u8, cut in 0usize..9_000) {
            let mut bytes = FILM.as_bytes()[..cut.max(place + 1)].to_vec();
            bytes[place] = byte;
            let _ = Trace::parse(&String::from_utf8_lossy(&bytes));
        }

        /// Whatever the order and the times, sending is in order, begins at zero, and may be repeated after the period.
        #[test]
        fn frames_are_in_order(lines in prop::collection::vec(any_line(), 1..60)) {
            let nonempty = lines.iter().filter(|line| !line.contains("size=0|")).count();
            match Trace::parse(&lines.concat()) {
                Err(error) => {
                    prop_assert_eq!(nonempty, 0);
                    prop_assert_eq!(error.problem, TraceProblem::Empty);
                }
                Ok(trace) => {
                    let frames = trace.frames();
                    prop_assert_eq!(frames.len(), nonempty);
                    prop_assert_eq!(frames[0].at, Duration::ZERO);
                    prop_assert!(frames.is_sorted_by_key(|frame| frame.at));
                    prop_assert!(trace.period() >= frames[nonempty - 1].at);
                }
            }
        }
    }
}
