//! Playback of a media trace: recorded frames at their recorded times, independent of the network.

use super::Context;
use super::trace::{Frame, Trace};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{Write, WriteSize, check_lifetime};
use headway_units::{Dialect, Duration, Instant, MediaKind, OptionError};
use std::sync::Arc;

/// Options of the source `trace`, which plays back recorded frames.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct TraceOptions {
    /// Path of the trace file: the packets of a recording as `ffprobe` prints them.
    pub file: String,
    /// Whether the trace repeats without end. A repetition starts one mean frame interval after the last frame of the
    /// longest stream.
    #[cfg_attr(feature = "schema", serde(rename = "loop"))]
    pub looped: bool,
    /// Streams of the file that are sent. The times of frames do not depend on this choice, so that two flows with the
    /// same file stay synchronized.
    pub streams: Streams,
    /// Time between frames of a trace without times (raw H.264), from 1ns to 1000s. Absent for other traces.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub frame_interval: Option<Duration>,
    /// Time after which a frame is useless to the receiver, counted from its encoding, at least 1ns; absent: without
    /// limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub lifetime: Option<Duration>,
    /// Priority of audio; 0 is the most urgent.
    pub audio_priority: u8,
    /// Priority of video without a frame type; 0 is the most urgent.
    pub video_priority: u8,
    /// Priority of I frames; 0 is the most urgent.
    pub i_priority: u8,
    /// Priority of P frames; 0 is the most urgent.
    pub p_priority: u8,
    /// Priority of B frames; 0 is the most urgent.
    pub b_priority: u8,
    /// Priority of other data; 0 is the most urgent.
    pub data_priority: u8,
}

/// Selection of the streams of a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Streams {
    /// All streams of the file.
    All,
    /// Audio only.
    Audio,
    /// Video only.
    Video,
}

impl Streams {
    const fn includes(self, kind: MediaKind) -> bool {
        match self {
            Self::All => true,
            Self::Audio => matches!(kind, MediaKind::Audio),
            Self::Video => kind.is_video(),
        }
    }
}

impl TraceOptions {
    fn chosen<'a>(&self, trace: &'a Trace) -> impl Iterator<Item = &'a Frame> + use<'a> {
        let streams = self.streams;
        trace.frames().iter().filter(move |frame| streams.includes(frame.kind))
    }

    const fn priority(&self, kind: MediaKind) -> u8 {
        match kind {
            MediaKind::Audio => self.audio_priority,
            MediaKind::Video => self.video_priority,
            MediaKind::VideoI => self.i_priority,
            MediaKind::VideoP => self.p_priority,
            MediaKind::VideoB => self.b_priority,
            MediaKind::Data => self.data_priority,
        }
    }

    /// Returns the length of a nanosecond of the trace, in ns.
    fn tick(&self, trace: &Trace) -> u64 {
        self.frame_interval.filter(|_| !trace.is_timed()).map_or(1, Duration::as_nanos)
    }

    fn check_times(&self, trace: &Trace) -> Result<(), OptionError> {
        let wrong = |message| Err(OptionError::new("frame_interval", message));
        match (trace.is_timed(), self.frame_interval) {
            (false, None) => wrong(format!(
                "the packets of \"{}\" have no times, as in raw H.264: write frame_interval = \"40ms\" for 25 frames a \
                 second, or name pts_time and dts_time in ffprobe's -show_entries packet=..",
                self.file
            )),
            (true, Some(_)) => {
                wrong(format!("the packets of \"{}\" already have times: omit frame_interval", self.file))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn largest_write(&self, trace: &Trace) -> Option<WriteSize> {
        self.chosen(trace).map(|frame| frame.bytes).max().map(WriteSize::Payload)
    }

    pub(super) fn writes_within(&self, trace: &Trace, length: Duration) -> u64 {
        let frames = self.chosen(trace).count() as u64;
        let period = (trace.period() * self.tick(trace)).as_nanos().max(1);
        let rounds = if self.looped { (length.as_nanos() / period).saturating_add(1) } else { 1 };
        frames.saturating_mul(rounds)
    }
}

impl headway_units::Options for TraceOptions {
    /// Audio has priority over video, since a lost syllable costs more than a lost frame and is cheaper to send.
    /// Reference frames have priority over the frames that depend on them.
    fn preset(_: Dialect) -> Self {
        Self {
            file: String::new(),
            looped: false,
            streams: Streams::All,
            frame_interval: None,
            lifetime: None,
            audio_priority: 0,
            video_priority: 1,
            i_priority: 1,
            p_priority: 2,
            b_priority: 3,
            data_priority: 1,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.file.is_empty() {
            return Err(OptionError::new("file", "a trace source needs file, the output of ffprobe"));
        }
        let range = Duration::from_nanos(1)..=Duration::from_secs(1000);
        if self.frame_interval.is_some_and(|interval| !range.contains(&interval)) {
            return Err(OptionError::new("frame_interval", "must be from 1ns to 1000s"));
        }
        check_lifetime(self.lifetime)
    }
}

/// State of the source `trace`, which plays back a trace file. The first frame of the trace is due when the source
/// starts.
#[derive(Debug)]
pub struct Playback {
    trace: Arc<Trace>,
    options: TraceOptions,
    /// Length of a nanosecond of the trace, in ns.
    tick: u64,
    start: Instant,
    stop: Instant,
    round: u64,
    /// Index of the next frame to send; the number of frames at the end of the trace.
    next: usize,
}

impl Playback {
    pub(super) fn new(options: &TraceOptions, context: Context) -> Result<Self, OptionError> {
        let trace = context
            .trace
            .ok_or_else(|| OptionError::new("file", format!("the trace \"{}\" was not read", options.file)))?;
        options.check_times(&trace)?;
        if options.chosen(&trace).next().is_none() {
            let message = format!("\"{}\" has no such stream: write streams = \"all\"", options.file);
            return Err(OptionError::new("streams", message));
        }
        if options.looped && trace.period().is_zero() {
            let message = format!("\"{}\" lasts no time and cannot be repeated: omit loop", options.file);
            return Err(OptionError::new("loop", message));
        }
        let mut playback = Self {
            tick: options.tick(&trace),
            trace,
            options: options.clone(),
            start: context.start,
            stop: context.stop.unwrap_or(Instant::FAR_FUTURE),
            round: 0,
            next: 0,
        };
        playback.seek(0);
        Ok(playback)
    }

    /// Moves to the first selected frame from `index` on, in the next round if necessary.
    fn seek(&mut self, index: usize) {
        let frames = self.trace.frames();
        let find = |from: usize| (from..frames.len()).find(|index| self.options.streams.includes(frames[*index].kind));
        self.next = match find(index) {
            Some(found) => found,
            None if self.options.looped => {
                self.round += 1;
                find(0).unwrap_or(frames.len())
            }
            None => frames.len(),
        };
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let frame = self.trace.frames().get(self.next)?;
        let due = self.start + (self.trace.period() * self.round + frame.at) * self.tick;
        (due < self.stop).then_some(due)
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Write> {
        let created = self.poll_timeout().filter(|due| *due <= now)?;
        let frame = *self.trace.frames().get(self.next)?;
        self.seek(self.next + 1);
        Some(Write {
            size: WriteSize::Payload(frame.bytes),
            kind: frame.kind,
            priority: self.options.priority(frame.kind),
            created,
            expires: self.options.lifetime.map(|lifetime| created + lifetime),
            rest: WriteSize::NOTHING,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Bytes, Options as _, Random};

    /// Video every 40 ms and audio every 20 ms, both from 0; the trace repeats after 80 ms.
    const SMALL: &str = "packet|codec_type=video|dts_time=0.00|size=9000|flags=K_\n\
                         packet|codec_type=audio|dts_time=0.00|size=80|flags=K_\n\
                         packet|codec_type=audio|dts_time=0.02|size=81|flags=K_\n\
                         packet|codec_type=video|dts_time=0.04|size=1200|flags=__\n\
                         packet|codec_type=audio|dts_time=0.04|size=82|flags=K_\n";

    fn options(change: impl FnOnce(&mut TraceOptions)) -> TraceOptions {
        let mut options = TraceOptions::preset(Dialect::Rfc);
        options.file = "small.txt".into();
        change(&mut options);
        options
    }

    fn play(options: &TraceOptions, text: &str, stop: Option<Instant>) -> Result<Playback, OptionError> {
        let trace = Some(Arc::new(Trace::parse(text).unwrap()));
        let context = Context { start: Instant::from_secs(1), stop, random: Random::new(1, ""), trace };
        Playback::new(options, context)
    }

    /// Returns milliseconds after the start, and bytes.
    fn sent(playback: &mut Playback) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| {
            let due = playback.poll_timeout()?;
            let write = playback.poll(due).unwrap();
            assert_eq!(write.created, due);
            let millis = due.since(Instant::from_secs(1)).as_nanos() / 1_000_000;
            Some((millis, write.size.payload(Bytes::new(28)).count()))
        })
        .collect()
    }

    #[test]
    fn frames_are_played_once_at_their_times() {
        let mut playback = play(&options(|_| {}), SMALL, None).unwrap();
        assert_eq!(sent(&mut playback), [(0, 9000), (0, 80), (20, 81), (40, 1200), (40, 82)]);
        assert_eq!(playback.poll(Instant::FAR_FUTURE), None);
    }

    #[test]
    fn a_late_poll_returns_all_due_writes_with_their_times() {
        let mut playback = play(&options(|o| o.lifetime = Some(Duration::from_millis(100))), SMALL, None).unwrap();
        assert_eq!(playback.poll(Instant::from_nanos(999_999_999)), None);
        let now = Instant::from_millis(1_030);
        let due: Vec<Write> = std::iter::from_fn(|| playback.poll(now)).collect();
        assert_eq!(due.len(), 3);
        assert_eq!((due[0].kind, due[0].priority), (MediaKind::VideoI, 1));
        assert_eq!((due[2].kind, due[2].priority), (MediaKind::Audio, 0));
        assert_eq!(due[2].created, Instant::from_millis(1_020));
        assert_eq!(due[2].expires, Some(Instant::from_millis(1_120)));
        assert_eq!(playback.poll_timeout(), Some(Instant::from_millis(1_040)));
    }

    /// Priorities of audio, I, P and B frames are those of the options.
    #[test]
    fn priorities_follow_the_kinds() {
        let text = "packet|codec_type=video|dts_time=0.00|pts_time=0.04|size=5|flags=K_\n\
                    packet|codec_type=video|dts_time=0.04|pts_time=0.12|size=4|flags=__\n\
                    packet|codec_type=video|dts_time=0.08|pts_time=0.08|size=3|flags=__\n\
                    packet|codec_type=video|stream_index=1|dts_time=0.09|size=2\n\
                    packet|codec_type=audio|dts_time=0.10|size=1|flags=K_\n\
                    packet|codec_type=subtitle|dts_time=0.11|size=6|flags=K_\n";
        let priorities = |options: &TraceOptions| -> Vec<(MediaKind, u8)> {
            let mut playback = play(options, text, None).unwrap();
            std::iter::from_fn(|| playback.poll(Instant::FAR_FUTURE))
                .map(|write| (write.kind, write.priority))
                .collect()
        };
        use MediaKind::{Audio, Data, Video, VideoB, VideoI, VideoP};
        let mut usual = priorities(&options(|_| {}));
        usual.sort_unstable();
        assert_eq!(usual, [(Data, 1), (Audio, 0), (Video, 1), (VideoI, 1), (VideoP, 2), (VideoB, 3)]);
        let mut other = priorities(&options(|o| {
            [o.data_priority, o.audio_priority, o.video_priority] = [10, 11, 12];
            [o.i_priority, o.p_priority, o.b_priority] = [13, 14, 15];
        }));
        other.sort_unstable();
        assert_eq!(other, [(Data, 10), (Audio, 11), (Video, 12), (VideoI, 13), (VideoP, 14), (VideoB, 15)]);
    }

    #[test]
    fn a_loop_has_the_exact_period_and_ends_before_the_stop() {
        let mut playback = play(&options(|o| o.looped = true), SMALL, Some(Instant::from_millis(1_160))).unwrap();
        let once = [(0, 9000), (0, 80), (20, 81), (40, 1200), (40, 82)];
        let again = once.map(|(millis, bytes)| (millis + 80, bytes));
        assert_eq!(sent(&mut playback), [once, again].concat());
    }

    #[test]
    fn selected_streams_stay_synchronized() {
        let stop = Some(Instant::from_millis(1_160));
        let only = |streams| options(|o| (o.looped, o.streams) = (true, streams));
        let mut video = play(&only(Streams::Video), SMALL, stop).unwrap();
        assert_eq!(sent(&mut video), [(0, 9000), (40, 1200), (80, 9000), (120, 1200)]);
        let mut audio = play(&only(Streams::Audio), SMALL, stop).unwrap();
        assert_eq!(sent(&mut audio), [(0, 80), (20, 81), (40, 82), (80, 80), (100, 81), (120, 82)]);
    }

    /// ffprobe 5.1.9 of raw H.264: packets have no times. At 25 frames/s one is sent every 40 ms, and the next round
    /// follows the last frame.
    #[test]
    fn raw_h264_needs_an_interval() {
        let line =
            |size| format!("packet|codec_type=video|stream_index=0|pts_time=N/A|dts_time=N/A|size={size}|flags=__\n");
        let raw = [5027, 2089, 1074].map(line).concat();
        let error = play(&options(|_| {}), &raw, None).unwrap_err();
        assert_eq!(error.key, "frame_interval");
        assert!(error.message.contains("write frame_interval = \"40ms\" for 25 frames a second"), "{}", error.message);
        let paced = |o: &mut TraceOptions| o.frame_interval = Some(Duration::from_millis(40));
        assert_eq!(sent(&mut play(&options(paced), &raw, None).unwrap()), [(0, 5027), (40, 2089), (80, 1074)]);
        let looped = options(|o| {
            paced(o);
            o.looped = true;
        });
        let stop = Some(Instant::from_millis(1_200));
        let times: Vec<u64> = sent(&mut play(&looped, &raw, stop).unwrap()).iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [0, 40, 80, 120, 160]);
        assert_eq!(looped.writes_within(&Trace::parse(&raw).unwrap(), Duration::from_millis(240)), 9);
        let error = play(&options(paced), SMALL, None).unwrap_err();
        assert!(error.key == "frame_interval" && error.message.contains("already have times"), "{}", error.message);
        assert_eq!(options(|o| o.frame_interval = Some(Duration::ZERO)).check().unwrap_err().key, "frame_interval");
    }

    #[test]
    fn bounds_hold_for_the_chosen_streams() {
        let trace = Trace::parse(SMALL).unwrap();
        let audio = options(|o| (o.looped, o.streams) = (true, Streams::Audio));
        assert_eq!(audio.largest_write(&trace), Some(WriteSize::Payload(Bytes::new(82))));
        assert_eq!(audio.writes_within(&trace, Duration::from_millis(160)), 9);
        assert_eq!(options(|_| {}).largest_write(&trace), Some(WriteSize::Payload(Bytes::new(9000))));
        assert_eq!(options(|_| {}).writes_within(&trace, Duration::from_secs(9)), 5);
    }

    #[test]
    fn invalid_traces_and_options_are_rejected() {
        let one_frame = "packet|codec_type=video|dts_time=7|size=1";
        let refused = |o: &TraceOptions, text| play(o, text, None).unwrap_err().key;
        assert_eq!(refused(&options(|o| o.streams = Streams::Audio), one_frame), "streams");
        assert_eq!(refused(&options(|o| o.looped = true), one_frame), "loop");
        let context = Context { start: Instant::ZERO, stop: None, random: Random::new(1, ""), trace: None };
        assert_eq!(Playback::new(&options(|_| {}), context).unwrap_err().key, "file");
        assert_eq!(TraceOptions::preset(Dialect::Rfc).check().unwrap_err().key, "file");
        assert_eq!(options(|o| o.lifetime = Some(Duration::ZERO)).check().unwrap_err().key, "lifetime");
    }
}
