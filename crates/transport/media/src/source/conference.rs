//! A video call: even audio, and video frames of normally distributed size, whose mean follows motion in the picture.
//!
//! It is the model of a captured Ekiga call in the paper on SFDPS (section 4.1): audio of 214 B each 20 ms; 10 frames a
//! second of 4450 B +- 1000 B under motion and 1075 B +- 475 B without, each handed over at once in packets of at most
//! 1026 B; 10 s of motion, 5 s without, 5 s of motion, again and again. Where both are due at one instant, which goes first
//! is an even chance. The sizes are those of packets on the wire: only so do they sum up to the paper's 86, 289 and
//! 374 kb/s "with all headers" (214 B = 160 B of G.711, 12 B of RTP, 8 B of UDP, 20 B of IP, 14 B of Ethernet).
//!
//! Random streams: the flow's own gives a seed each to audio, video and ties, in this order. Audio draws its phase, then
//! talkspurts and pauses; video its phase, its place in the pattern, then a normal draw a frame. Phases are drawn whether
//! used or not: options of the audio change nothing in the video, and random starts nothing in its sizes' draws.

use super::packets::Packets;
use super::talk::Talk;
use super::{Context, draw, packets};
use crate::LARGEST_WRITE;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{Sizes, Write, WriteSize, check_lifetime, check_size};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, OptionError, Random, unused_unless};

/// Options of `kind = "conference"`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct ConferenceOptions {
    /// What the sizes count: packets on the wire or the application's bytes.
    pub sizes: Sizes,
    /// Bytes of an audio packet; 1 B to 16 MiB.
    pub audio_size: Bytes,
    /// Time from one audio packet to the next, at least 1 ns.
    pub audio_interval: Duration,
    /// Which goes first where a queue may choose: 0 before 1.
    pub audio_priority: u8,
    /// Whether nothing is sent while the speaker pauses.
    pub silence_suppression: bool,
    /// How long the speaker talks on average, at least one audio interval; exponential. Of silence suppression.
    pub mean_talkspurt: Duration,
    /// How long the speaker pauses on average; exponential. Of silence suppression.
    pub mean_pause: Duration,
    /// Time from one video frame to the next, at least 1 ns.
    pub frame_interval: Duration,
    /// Mean size of a frame under motion.
    pub motion_mean: Bytes,
    /// Standard deviation of a frame's size under motion.
    pub motion_deviation: Bytes,
    /// Mean size of a frame without motion.
    pub still_mean: Bytes,
    /// Standard deviation of a frame's size without motion.
    pub still_deviation: Bytes,
    /// How long the picture moves, stands still, moves and so on; then from the beginning. At most 1000 times.
    pub pattern: Vec<Duration>,
    /// The least bytes of a frame; 1 B to 16 MiB.
    pub smallest_frame: Bytes,
    /// What becomes of a draw below `smallest_frame`.
    pub smaller_frames: SmallerFrames,
    /// The largest video packet; 1 B to 16 MiB.
    pub video_packet: Bytes,
    /// Which goes first where a queue may choose: 0 before 1.
    pub video_priority: u8,
    /// How long a packet is of use; absent, for ever.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub lifetime: Option<Duration>,
    /// Whether audio and video each wait for a random part of their interval at first.
    pub random_start: bool,
    /// Whether the pattern starts anywhere within itself.
    pub random_pattern: bool,
}

/// What becomes of a frame size drawn too small: the normal law has a tail below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum SmallerFrames {
    /// It is drawn again.
    Redraw,
    /// It is raised to the smallest frame.
    Truncate,
}

/// The normal law of frame sizes.
#[derive(Clone, Copy)]
struct Law {
    mean: Bytes,
    deviation: Bytes,
}

impl Law {
    /// To the nearest byte; what is below zero becomes zero.
    fn size(self, z: f64) -> u64 {
        libm::round(self.mean.count() as f64 + self.deviation.count() as f64 * z) as u64
    }

    /// No draw is larger.
    fn largest(self) -> u64 {
        self.size(draw::LARGEST_NORMAL)
    }
}

/// How often a pattern may change between motion and none.
const MOST_PHASES: usize = 1000;

impl ConferenceOptions {
    pub(super) fn largest_write(&self) -> WriteSize {
        self.sizes.write_size(self.audio_size.max(self.video_packet.min(Bytes::new(self.largest_frame()))))
    }

    /// No draw is larger.
    fn largest_frame(&self) -> u64 {
        self.smallest_frame.count().max(self.motion().largest()).max(self.still().largest())
    }

    const fn motion(&self) -> Law {
        Law { mean: self.motion_mean, deviation: self.motion_deviation }
    }

    const fn still(&self) -> Law {
        Law { mean: self.still_mean, deviation: self.still_deviation }
    }

    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        let due = |interval: Duration| (length.as_nanos() / interval.as_nanos().max(1)).saturating_add(1);
        let frame = packets::count(self.largest_frame(), self.video_packet);
        due(self.frame_interval).saturating_mul(frame).saturating_add(due(self.audio_interval))
    }

    fn check_frames(&self) -> Result<(), OptionError> {
        for (key, law) in [("motion_mean", self.motion()), ("still_mean", self.still())] {
            let (mean, smallest) = (law.mean, self.smallest_frame);
            if self.smaller_frames == SmallerFrames::Redraw && mean < smallest {
                let message = format!(
                    "a mean of {mean} is below smallest_frame = {smallest}: raise it, or write smaller_frames = \"truncate\""
                );
                return Err(OptionError::new(key, message));
            }
            if law.largest() > LARGEST_WRITE.count() {
                let message = format!(
                    "a frame may have {}, the mean and 8.6 deviations: that is at most 16MiB",
                    Bytes::new(law.largest())
                );
                return Err(OptionError::new(key, message));
            }
        }
        Ok(())
    }

    fn check_pattern(&self) -> Result<(), OptionError> {
        if self.pattern.len() > MOST_PHASES {
            let message = format!("a pattern of {} times is too long: write at most 1000", self.pattern.len());
            return Err(OptionError::new("pattern", message));
        }
        if self.pattern.iter().all(|phase| phase.is_zero()) {
            let message = "the pattern lasts no time: write how long there is motion and how long there is none, such as [\"10s\", \"5s\"]";
            return Err(OptionError::new("pattern", message));
        }
        Ok(())
    }

    fn check_talk(&self) -> Result<(), OptionError> {
        if self.mean_talkspurt < self.audio_interval {
            let message = format!(
                "a talkspurt of {} is no packet long: mean_talkspurt is at least audio_interval, {}",
                self.mean_talkspurt, self.audio_interval
            );
            return Err(OptionError::new("mean_talkspurt", message));
        }
        Ok(())
    }
}

impl headway_units::Options for ConferenceOptions {
    /// The paper's call. The means of talkspurts and pauses are those of conversational speech (ITU-T P.59).
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

/// A video call, running.
#[derive(Debug)]
pub struct Conference {
    options: ConferenceOptions,
    stop: Instant,
    next_audio: Instant,
    /// Present if silence is suppressed.
    talk: Option<Talk>,
    next_frame: Instant,
    /// The frame that is being handed over.
    packets: Packets,
    /// When the pattern started, and at what place within itself.
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

    /// Whether there is motion in the picture.
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
        let law = if self.moves(at) { self.options.motion() } else { self.options.still() };
        let smallest = self.options.smallest_frame;
        loop {
            let size = Bytes::new(law.size(draw::normal(&mut self.video)));
            // Where it is drawn again the mean is not below the smallest: half of all draws pass.
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
