//! Video call: audio at a constant rate, and video frames of normally distributed size, whose mean depends on motion.
//!
//! The model follows the captured Ekiga call of the SFDPS paper (section 4.1): 214 B of audio every 20 ms, and 10
//! frames/s of 4450 B +- 1000 B with motion and 1075 B +- 475 B without. Each frame is written at once in packets of at
//! most 1026 B. Phases of 10 s of motion, 5 s without and 5 s of motion repeat. The order of simultaneous audio and
//! video is random. Sizes include headers, which gives the 86, 289 and 374 kb/s "with all headers" of the paper (214 B
//! = 160 B of G.711, 12 B of RTP, 8 B of UDP, 20 B of IP, 14 B of Ethernet).
//!
//! Random streams: the flow's stream seeds those of audio, video and ties, in this order. Audio draws its phase, then
//! talkspurts and pauses. Video draws its phase, its position in the pattern, then one normal value per frame. Phases
//! are always drawn. Audio options therefore do not affect the video, and random starts do not affect frame sizes.

use super::packets::Packets;
use super::talk::Talk;
use super::{Context, draw, packets};
use crate::LARGEST_WRITE;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{Sizes, Write, WriteSize, check_lifetime, check_size};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, OptionError, Random, unused_unless};

/// Options of the source `conference`, a video call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct ConferenceOptions {
    /// Whether all sizes of these options are those of packets on the wire or of application data.
    pub sizes: Sizes,
    /// Size of an audio packet, 1B to 16MiB.
    pub audio_size: Bytes,
    /// Time between audio packets, at least 1ns.
    pub audio_interval: Duration,
    /// Priority of audio; 0 is the most urgent.
    pub audio_priority: u8,
    /// Whether no audio is sent during pauses of the speaker, whose speech alternates between talkspurts and pauses.
    pub silence_suppression: bool,
    /// Mean of the exponential length of talkspurts, at least `audio_interval`. Used with `silence_suppression`.
    pub mean_talkspurt: Duration,
    /// Mean of the exponential length of pauses. Used with `silence_suppression`.
    pub mean_pause: Duration,
    /// Time between video frames, at least 1ns.
    pub frame_interval: Duration,
    /// Mean size of a frame with motion.
    pub motion_mean: Bytes,
    /// Standard deviation of the size of a frame with motion.
    pub motion_deviation: Bytes,
    /// Mean size of a frame without motion.
    pub still_mean: Bytes,
    /// Standard deviation of the size of a frame without motion.
    pub still_deviation: Bytes,
    /// Lengths of the repeating phases of the video, alternately with and without motion; at most 1000 phases. The
    /// first has motion.
    pub pattern: Vec<Duration>,
    /// Minimum size of a video frame, 1B to 16MiB.
    pub smallest_frame: Bytes,
    /// Handling of random frame sizes below `smallest_frame`.
    pub smaller_frames: SmallerFrames,
    /// Maximum size of a video packet, 1B to 16MiB.
    pub video_packet: Bytes,
    /// Priority of video; 0 is the most urgent.
    pub video_priority: u8,
    /// Time after which a packet is useless to the receiver, counted from its write, at least 1ns; absent: without
    /// limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub lifetime: Option<Duration>,
    /// Whether audio and video each start after a random part of their interval.
    pub random_start: bool,
    /// Whether `pattern`, the phases with and without motion, starts at a random position.
    pub random_pattern: bool,
}

/// Handling of random frame sizes that are too small. They are normally distributed, so that some would be below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum SmallerFrames {
    /// A size below `smallest_frame` is drawn again.
    Redraw,
    /// A size below `smallest_frame` is raised to `smallest_frame`.
    Truncate,
}

#[derive(Clone, Copy)]
struct SizeDistribution {
    mean: Bytes,
    deviation: Bytes,
}

impl SizeDistribution {
    /// Returns the size for the standard normal value `z`, rounded to bytes, at least zero.
    fn size(self, z: f64) -> u64 {
        libm::round(self.mean.count() as f64 + self.deviation.count() as f64 * z) as u64
    }

    fn largest(self) -> u64 {
        self.size(draw::LARGEST_NORMAL)
    }
}

const MAX_PHASES: usize = 1000;

impl ConferenceOptions {
    pub(super) fn largest_write(&self) -> WriteSize {
        self.sizes.write_size(self.audio_size.max(self.video_packet.min(Bytes::new(self.largest_frame()))))
    }

    fn largest_frame(&self) -> u64 {
        self.smallest_frame.count().max(self.motion().largest()).max(self.still().largest())
    }

    const fn motion(&self) -> SizeDistribution {
        SizeDistribution { mean: self.motion_mean, deviation: self.motion_deviation }
    }

    const fn still(&self) -> SizeDistribution {
        SizeDistribution { mean: self.still_mean, deviation: self.still_deviation }
    }

    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        let due = |interval: Duration| (length.as_nanos() / interval.as_nanos().max(1)).saturating_add(1);
        let frame = packets::count(self.largest_frame(), self.video_packet);
        due(self.frame_interval).saturating_mul(frame).saturating_add(due(self.audio_interval))
    }

    fn check_frames(&self) -> Result<(), OptionError> {
        for (key, distribution) in [("motion_mean", self.motion()), ("still_mean", self.still())] {
            let (mean, smallest) = (distribution.mean, self.smallest_frame);
            if self.smaller_frames == SmallerFrames::Redraw && mean < smallest {
                let message = format!(
                    "a mean of {mean} is below smallest_frame = {smallest}: raise it, or write smaller_frames = \"truncate\""
                );
                return Err(OptionError::new(key, message));
            }
            if distribution.largest() > LARGEST_WRITE.count() {
                let message = format!(
                    "a frame may have {}, the mean and 8.6 deviations: that is at most 16MiB",
                    Bytes::new(distribution.largest())
                );
                return Err(OptionError::new(key, message));
            }
        }
        Ok(())
    }

    fn check_pattern(&self) -> Result<(), OptionError> {
        if self.pattern.len() > MAX_PHASES {
            let message = format!("a pattern of {} times is too long: write at most 1000", self.pattern.len());
            return Err(OptionError::new("pattern", message));
        }
        if self.pattern.iter().all(|phase| phase.is_zero()) {
            let message = "the pattern lasts no time: write the lengths of phases with and without motion, such as [\"10s\", \"5s\"]";
            return Err(OptionError::new("pattern", message));
        }
        Ok(())
    }

    fn check_talk(&self) -> Result<(), OptionError> {
        if self.mean_talkspurt < self.audio_interval {
            let message = format!(
                "{} is out of range: mean_talkspurt is at least audio_interval, {}",
                self.mean_talkspurt, self.audio_interval
            );
            return Err(OptionError::new("mean_talkspurt", message));
        }
        Ok(())
    }
}

impl headway_units::Options for ConferenceOptions {
    /// The call of the paper, with mean talkspurts and pauses of conversational speech (ITU-T P.59).
    fn preset(_: Dialect) -> Self {
        Self {
            sizes: Sizes::Wire,
            audio_size: Bytes::new(214),
            audio_interval: Duration::from_millis(20),
            audio_priority: 0,
            silence_suppression: false,
            mean_talkspurt: Duration::from_millis(1_004),
            mean_pause: Duration::from_millis(1_587),
            frame_interval: Duration::from_millis(100),
            motion_mean: Bytes::new(4450),
            motion_deviation: Bytes::new(1000),
            still_mean: Bytes::new(1075),
            still_deviation: Bytes::new(475),
            pattern: [10, 5, 5].map(Duration::from_secs).to_vec(),
            smallest_frame: Bytes::new(1),
            smaller_frames: SmallerFrames::Redraw,
            video_packet: Bytes::new(1026),
            video_priority: 1,
            lifetime: Some(Duration::from_millis(200)),
            random_start: false,
            random_pattern: false,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_size("audio_size", self.audio_size)?;
        check_size("smallest_frame", self.smallest_frame)?;
        check_size("video_packet", self.video_packet)?;
        for (key, interval) in [("audio_interval", self.audio_interval), ("frame_interval", self.frame_interval)] {
            if interval.is_zero() {
                return Err(OptionError::new(key, format!("an interval of 0s never ends: {key} is at least 1ns")));
            }
        }
        if self.silence_suppression {
            self.check_talk()?;
        }
        self.check_frames()?;
        self.check_pattern()?;
        check_lifetime(self.lifetime)
    }

    fn unused(&self) -> Vec<OptionError> {
        let talk = |key| unused_unless(self.silence_suppression, key, "silence_suppression = true");
        ["mean_talkspurt", "mean_pause"].into_iter().filter_map(talk).collect()
    }
}

/// State of the source `conference`, a video call.
#[derive(Debug)]
pub struct Conference {
    options: ConferenceOptions,
    stop: Instant,
    next_audio: Instant,
    talk: Option<Talk>,
    next_frame: Instant,
    packets: Packets,
    /// Start of the pattern, and the initial position in it.
    start: Instant,
    place: Duration,
    video: Random,
    ties: Random,
}

impl Conference {
    pub(super) fn new(options: &ConferenceOptions, context: Context) -> Self {
        let Context { start, stop, mut random, .. } = context;
        let [mut audio, mut video, ties] = ["audio", "video", "ties"].map(|name| Random::new(random.bits(), name));
        let phase = |random: &mut Random, of: Duration, wanted: bool| {
            let drawn = Duration::from_nanos(random.below(of.as_nanos()));
            if wanted { drawn } else { Duration::ZERO }
        };
        let next_audio = start + phase(&mut audio, options.audio_interval, options.random_start);
        let next_frame = start + phase(&mut video, options.frame_interval, options.random_start);
        let place = phase(&mut video, options.pattern.iter().copied().sum(), options.random_pattern);
        let talk =
            options.silence_suppression.then(|| Talk::new(start, options.mean_talkspurt, options.mean_pause, audio));
        let mut conference = Self {
            options: options.clone(),
            stop: stop.unwrap_or(Instant::FAR_FUTURE),
            next_audio,
            talk,
            next_frame,
            packets: Packets::new(options.sizes, options.video_packet),
            start,
            place,
            video,
            ties,
        };
        conference.skip_silence();
        conference
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        if let Some(packet) = self.packets.peek() {
            return Some(packet.created);
        }
        Some(self.next_audio.min(self.next_frame)).filter(|due| *due < self.stop)
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Write> {
        let due = self.poll_timeout().filter(|due| *due <= now)?;
        if let Some(packet) = self.packets.next() {
            return Some(packet);
        }
        let audio = match self.next_audio.cmp(&self.next_frame) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.ties.below(2) == 0,
            std::cmp::Ordering::Greater => false,
        };
        let ConferenceOptions { sizes, audio_size, audio_priority, video_priority, lifetime, .. } = self.options;
        let write = |kind, priority| Write {
            size: sizes.write_size(audio_size),
            kind,
            priority,
            created: due,
            expires: lifetime.map(|lifetime| due + lifetime),
            rest: WriteSize::NOTHING,
        };
        if audio {
            self.next_audio += self.options.audio_interval;
            self.skip_silence();
            return Some(write(MediaKind::Audio, audio_priority));
        }
        self.next_frame += self.options.frame_interval;
        let size = self.frame_size(due);
        self.packets.begin(size, write(MediaKind::Video, video_priority));
        self.packets.next()
    }

    fn skip_silence(&mut self) {
        if let Some(talk) = &mut self.talk {
            self.next_audio = talk.next(self.next_audio, self.options.audio_interval);
        }
    }

    fn moves(&self, at: Instant) -> bool {
        let phases = &self.options.pattern;
        let cycle: u128 = phases.iter().map(|phase| u128::from(phase.as_nanos())).sum();
        let since = u128::from(self.place.as_nanos()) + u128::from(at.since(self.start).as_nanos());
        let mut place = since % cycle.max(1);
        for (index, phase) in phases.iter().enumerate() {
            match place.checked_sub(phase.as_nanos().into()) {
                Some(rest) => place = rest,
                None => return index % 2 == 0,
            }
        }
        true
    }

    /// Draws a frame's size.
    fn frame_size(&mut self, at: Instant) -> Bytes {
        let distribution = if self.moves(at) { self.options.motion() } else { self.options.still() };
        let smallest = self.options.smallest_frame;
        loop {
            let size = Bytes::new(distribution.size(draw::normal(&mut self.video)));
            // With redraws the mean is at least the minimum, so at least half of the draws pass.
            match self.options.smaller_frames {
                _ if size >= smallest => return size,
                SmallerFrames::Truncate => return smallest,
                SmallerFrames::Redraw => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
