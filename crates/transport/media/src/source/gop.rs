//! Video of I, P and B frames: a repeating group of pictures (GOP) with lognormal frame sizes.
//!
//! **Order.** The pattern is in presentation order, starting with the I frame. A B frame depends on the I or P frames
//! before and after it. An encoder therefore writes each I or P frame before the B frames presented before it: `IBBPBB`
//! is written I PBB IBB PBB IBB .. The first GOP has no B frames before its I frame.
//!
//! **Schedule.** Frames are evenly spaced: the n-th in this order, from 0, is written at start + n * interval. An
//! encoder that runs at the camera's rate has this schedule. With n consecutive B frames its delay is n intervals.
//!
//! **Sizes.** A frame of a type with mean m has m * exp(s Z - s^2 / 2), where s^2 = ln(1 + v^2), v is the coefficient
//! of variation (standard deviation / mean) and Z is standard normal. Mean m and variation v are exact. Sizes are
//! rounded to bytes and limited to 1 B to 16 MiB.
//!
//! Random draws from the flow's stream: the phase, always drawn, then one normal value per frame.

use super::packets::Packets;
use super::{Context, draw, packets};
use crate::LARGEST_WRITE;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{Sizes, Write, WriteSize, check_lifetime, check_size};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, OptionError, Random, unused_unless};

/// Options of the source `gop`, video of I, P and B frames. Sizes are without headers.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct GopOptions {
    /// Frame types of a group of pictures (GOP) in presentation order, one letter each: `I`, then any of `I`, `P` and
    /// `B`; at most 1000 frames.
    pub pattern: String,
    /// Time between frames, at least 1ns.
    pub frame_interval: Duration,
    /// Mean size of an I frame, 1B to 16MiB. Required.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub i_mean: Option<Bytes>,
    /// Mean size of a P frame, 1B to 16MiB. Required if the pattern has P frames.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub p_mean: Option<Bytes>,
    /// Mean size of a B frame, 1B to 16MiB. Required if the pattern has B frames.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub b_mean: Option<Bytes>,
    /// Coefficient of variation of the sizes of a frame type, 0 to 2.
    pub variation: f64,
    /// Maximum size of a packet without headers, 1B to 16MiB.
    pub video_packet: Bytes,
    /// Priority of I frames; 0 is the most urgent.
    pub i_priority: u8,
    /// Priority of P frames; 0 is the most urgent.
    pub p_priority: u8,
    /// Priority of B frames; 0 is the most urgent.
    pub b_priority: u8,
    /// Time after which a packet is useless to the receiver, counted from its write, at least 1ns; absent: without
    /// limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub lifetime: Option<Duration>,
    /// Whether the first frame is delayed by a random part of the duration of a GOP (group of pictures), so that the I
    /// frames of many flows do not coincide.
    pub random_start: bool,
}

const MAX_FRAMES: usize = 1000;
const MAX_VARIATION: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Frame {
    kind: MediaKind,
    mean: f64,
    priority: u8,
}

impl GopOptions {
    /// Returns the frames of a GOP in presentation order; `None` if the options are invalid.
    fn frames(&self) -> Option<Vec<Frame>> {
        let of_type = |letter| {
            let (kind, mean, priority) = match letter {
                'I' => (MediaKind::VideoI, self.i_mean?, self.i_priority),
                'P' => (MediaKind::VideoP, self.p_mean?, self.p_priority),
                'B' => (MediaKind::VideoB, self.b_mean?, self.b_priority),
                _ => return None,
            };
            Some(Frame { kind, mean: mean.count() as f64, priority })
        };
        self.pattern.chars().map(of_type).collect()
    }

    /// Returns the parameter s of the lognormal distribution.
    fn spread(&self) -> f64 {
        libm::log1p(self.variation * self.variation).sqrt()
    }

    fn largest_frame(&self) -> u64 {
        let mean = self.frames().into_iter().flatten().map(|frame| frame.mean).fold(0.0, f64::max);
        size(mean, self.spread(), draw::LARGEST_NORMAL).count()
    }

    pub(super) fn largest_write(&self) -> WriteSize {
        WriteSize::Payload(self.video_packet.min(Bytes::new(self.largest_frame())))
    }

    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        let due = (length.as_nanos() / self.frame_interval.as_nanos().max(1)).saturating_add(1);
        due.saturating_mul(packets::count(self.largest_frame(), self.video_packet))
    }

    fn check_pattern(&self) -> Result<(), OptionError> {
        let wrong = |message: String| Err(OptionError::new("pattern", message));
        if !self.pattern.starts_with('I') {
            return wrong(
                "a pattern begins with its I-frame: write the frame types of a GOP, such as \"IBBPBB\"".into(),
            );
        }
        if let Some(other) = self.pattern.chars().find(|letter| !matches!(letter, 'I' | 'P' | 'B')) {
            return wrong(format!("{other:?} is no frame type: expected I, P and B, such as \"IBBPBB\""));
        }
        if self.pattern.len() > MAX_FRAMES {
            return wrong(format!("a GOP of {} frames is too long: write at most 1000", self.pattern.len()));
        }
        for (letter, key, mean) in
            [('I', "i_mean", self.i_mean), ('P', "p_mean", self.p_mean), ('B', "b_mean", self.b_mean)]
        {
            match mean {
                Some(mean) => check_size(key, mean)?,
                None if self.pattern.contains(letter) => {
                    let message =
                        format!("the pattern has {letter}-frames: set {key}, their mean size, such as \"4kB\"");
                    return Err(OptionError::new(key, message));
                }
                None => {}
            }
        }
        Ok(())
    }
}

/// Returns the size of a frame for the normal value `z`.
fn size(mean: f64, spread: f64, z: f64) -> Bytes {
    let size = mean * libm::exp(spread * (z - spread / 2.0));
    Bytes::new((libm::round(size) as u64).clamp(1, LARGEST_WRITE.count()))
}

impl headway_units::Options for GopOptions {
    /// Two B frames between references, 12 frames per GOP, 25 frames/s, and packets that fit into Ethernet's with any
    /// headers. Frame sizes have no preset.
    fn preset(_: Dialect) -> Self {
        Self {
            pattern: "IBBPBBPBBPBB".into(),
            frame_interval: Duration::from_millis(40),
            i_mean: None,
            p_mean: None,
            b_mean: None,
            variation: 0.0,
            video_packet: Bytes::new(1400),
            i_priority: 0,
            p_priority: 1,
            b_priority: 2,
            lifetime: None,
            random_start: false,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        self.check_pattern()?;
        if self.frame_interval.is_zero() {
            let message = "an interval of 0s never ends: frame_interval is at least 1ns";
            return Err(OptionError::new("frame_interval", message));
        }
        if !(0.0..=MAX_VARIATION).contains(&self.variation) {
            let message = format!("{} is out of range: variation is from 0 to 2", self.variation);
            return Err(OptionError::new("variation", message));
        }
        check_size("video_packet", self.video_packet)?;
        check_lifetime(self.lifetime)
    }

    fn unused(&self) -> Vec<OptionError> {
        let of_frames = |letter, key| {
            unused_unless(self.pattern.contains(letter), key, &format!("a pattern that has {letter}-frames"))
        };
        [("p_mean", 'P'), ("p_priority", 'P'), ("b_mean", 'B'), ("b_priority", 'B')]
            .into_iter()
            .filter_map(|(key, letter)| of_frames(letter, key))
            .collect()
    }
}

/// State of the source `gop`, video of I, P and B frames.
#[derive(Debug)]
pub struct Gop {
    /// GOP in coding order: its I frame, the B frames presented before it, and so on.
    order: Vec<Frame>,
    index: usize,
    /// Number of B frames missing after the I frame of the first GOP.
    lacking: usize,
    spread: f64,
    lifetime: Option<Duration>,
    interval: Duration,
    next: Instant,
    stop: Instant,
    packets: Packets,
    random: Random,
}

impl Gop {
    pub(super) fn new(options: &GopOptions, context: Context) -> Result<Self, OptionError> {
        let frames = options.frames().filter(|frames| !frames.is_empty());
        let frames = frames.ok_or_else(|| OptionError::new("pattern", "a gop source needs a pattern and its sizes"))?;
        let mut random = context.random;
        let length = options.frame_interval * frames.len() as u64;
        let phase = Duration::from_nanos(random.below(length.as_nanos()));
        let (order, lacking) = coding_order(&frames);
        Ok(Self {
            order,
            index: 0,
            lacking,
            spread: options.spread(),
            lifetime: options.lifetime,
            interval: options.frame_interval,
            next: if options.random_start { context.start + phase } else { context.start },
            stop: context.stop.unwrap_or(Instant::FAR_FUTURE),
            packets: Packets::new(Sizes::Payload, options.video_packet),
            random,
        })
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        if let Some(packet) = self.packets.peek() {
            return Some(packet.created);
        }
        Some(self.next).filter(|due| *due < self.stop)
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Write> {
        let due = self.poll_timeout().filter(|due| *due <= now)?;
        if let Some(packet) = self.packets.next() {
            return Some(packet);
        }
        let frame = *self.order.get(self.index)?;
        self.index = (self.index + 1 + std::mem::take(&mut self.lacking)) % self.order.len();
        self.next += self.interval;
        let bytes = size(frame.mean, self.spread, draw::normal(&mut self.random));
        let expires = self.lifetime.map(|lifetime| due + lifetime);
        let size = WriteSize::Payload(bytes);
        let Frame { kind, priority, .. } = frame;
        self.packets.begin(bytes, Write { size, kind, priority, created: due, expires, rest: WriteSize::NOTHING });
        self.packets.next()
    }
}

/// Returns the coding order of a GOP that follows another, and how many B frames of the previous GOP follow its first
/// frame.
fn coding_order(frames: &[Frame]) -> (Vec<Frame>, usize) {
    let is_b = |frame: &&Frame| frame.kind == MediaKind::VideoB;
    let trailing = frames.iter().rev().take_while(is_b).count();
    let (head, carried) = frames.split_at(frames.len() - trailing);
    let mut order = Vec::with_capacity(frames.len());
    let mut waiting = carried;
    for (index, frame) in head.iter().enumerate().filter(|(_, frame)| !is_b(frame)) {
        order.push(*frame);
        order.extend_from_slice(waiting);
        let next = &head[index + 1..];
        waiting = &next[..next.iter().take_while(is_b).count()];
    }
    (order, trailing)
}

#[cfg(test)]
mod tests;
