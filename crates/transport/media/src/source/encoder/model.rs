//! State of an encoder: the accepted rate, the burst after a change, and the next captured frame.

use super::ladder::Ladder;
use super::{EncoderOptions, first_and_others, limited};
use crate::source::draw;
use crate::write::{Write, WriteSize};
use crate::{Context, TransportState};
use headway_units::{Bytes, Duration, Instant, MediaKind, OptionError, Random, Rate};

/// State of the source `encoder`.
#[derive(Debug)]
pub struct Encoder {
    options: EncoderOptions,
    /// Accepted target rate (RFC 8593 `R_v`).
    rate: Rate,
    /// Time from which requests are accepted again.
    deaf_until: Instant,
    burst: Burst,
    /// Number of steady frames since the last key frame, that frame included.
    since_key: u32,
    /// Frame sizes of a trace, if there is one.
    ladder: Option<Ladder>,
    transport: TransportState,
    next: Instant,
    stop: Instant,
    /// Pauses that are not over, in reverse order.
    pauses: Vec<[Instant; 2]>,
    random: Random,
    counts: EncoderCounts,
    window: Window,
}

/// Counts of the source `encoder`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EncoderCounts {
    /// Captured frames: written or skipped.
    pub captured_frames: u64,
    /// Captured frames that were not written because too much data waited in the send queue (`skip_above`).
    pub skipped_frames: u64,
    /// Changes of the encoder's rate.
    pub rate_changes: u64,
    /// Bursts that followed a change of the rate.
    pub bursts: u64,
    /// Bytes of the written frames, without headers.
    pub written_bytes: u64,
    /// Bytes of the written frames in complete windows: consecutive intervals of at least 1 s.
    pub windowed_bytes: f64,
    /// Bytes of the written frames beyond those that the target rate of the transport allows, summed over complete
    /// windows: consecutive intervals of at least 1 s. Without a target rate, the encoder's rate is used.
    pub bytes_above_target: f64,
}

const WINDOW: Duration = Duration::from_secs(1);

/// Window of [`EncoderCounts::bytes_above_target`].
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    end: Instant,
    written: f64,
    allowed: f64,
}

/// Rest of a burst.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    frames_left: u32,
    /// Size of the next frame and of the frames after it, in bytes.
    next: f64,
    others: f64,
}

impl Burst {
    fn next(&mut self) -> Option<f64> {
        self.frames_left = self.frames_left.checked_sub(1)?;
        Some(std::mem::replace(&mut self.next, self.others))
    }
}

impl Encoder {
    pub(in crate::source) fn new(options: &EncoderOptions, context: Context) -> Result<Self, OptionError> {
        let ladder = match (&options.file, context.trace) {
            (None, _) => None,
            (Some(_), Some(trace)) => Some(Ladder::new(&trace, options)?),
            (Some(file), None) => {
                return Err(OptionError::new("file", format!("the trace \"{file}\" was not read")));
            }
        };
        let mut encoder = Self {
            options: options.clone(),
            rate: options.start_rate,
            deaf_until: context.start + options.reaction,
            burst: Burst::default(),
            since_key: 0,
            ladder,
            transport: TransportState::default(),
            next: context.start,
            stop: context.stop.unwrap_or(Instant::FAR_FUTURE),
            pauses: options.pauses.iter().rev().map(|pause| pause.map(|time| context.start + time)).collect(),
            random: context.random,
            counts: EncoderCounts::default(),
            window: Window::default(),
        };
        encoder.start_burst();
        encoder.pause();
        Ok(encoder)
    }

    /// Returns the current rate of the encoder, the target rate of its transport that it accepted last.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns the counts since the start or the last [`restart_counts`](Self::restart_counts).
    #[must_use]
    pub const fn counts(&self) -> EncoderCounts {
        self.counts
    }

    /// Resets the counts to zero.
    pub fn restart_counts(&mut self) {
        (self.counts, self.window) = (EncoderCounts::default(), Window::default());
    }

    /// Sets the state of the transport for the next frame.
    pub(in crate::source) const fn follow(&mut self, transport: TransportState) {
        self.transport = transport;
    }

    pub(in crate::source) fn poll_timeout(&self) -> Option<Instant> {
        Some(self.next).filter(|due| *due < self.stop)
    }

    pub(in crate::source) fn poll(&mut self, now: Instant) -> Option<Write> {
        loop {
            let created = self.poll_timeout().filter(|due| *due <= now)?;
            self.request(created);
            let size_deviation = self.options.size_scale * draw::laplace(&mut self.random);
            let interval_deviation = self.options.interval_scale * draw::laplace(&mut self.random);
            let interval = interval(self.options.frame_interval, interval_deviation);
            self.next += interval;
            self.pause();
            self.counts.captured_frames += 1;
            self.count_allowed(created, interval);
            let rate = self.rate.bits_per_second() as f64;
            let traced = self.ladder.as_mut().map(|ladder| ladder.next(rate));
            if self.skips() {
                self.counts.skipped_frames += 1;
                continue;
            }
            let burst = self.burst.next();
            let (bytes, kind) = match (traced, burst) {
                (Some((_, kind)), Some(bytes)) => (bytes, kind),
                (Some(frame), None) => frame,
                (None, Some(bytes)) => (bytes, self.kind(false)),
                (None, None) => self.steady(size_deviation),
            };
            let bytes = limited(bytes);
            self.counts.written_bytes += bytes.count();
            self.window.written += bytes.count() as f64;
            return Some(self.write(created, bytes, kind));
        }
    }

    /// Moves the next frame to the end of the pause that contains it.
    fn pause(&mut self) {
        while let Some([from, until]) = self.pauses.last().copied()
            && from <= self.next
        {
            self.next = self.next.max(until);
            self.pauses.pop();
        }
    }

    /// Adds what the rate of the transport allows in the interval that begins with a frame.
    fn count_allowed(&mut self, now: Instant, interval: Duration) {
        if now >= self.window.end {
            self.counts.windowed_bytes += self.window.written;
            self.counts.bytes_above_target += (self.window.written - self.window.allowed).max(0.0);
            self.window = Window { end: now + WINDOW, ..Window::default() };
        }
        let rate = self.transport.target_rate.unwrap_or(self.rate);
        self.window.allowed += rate.bits_per_second() as f64 * interval.as_secs_f64() / 8.0;
    }

    /// Accepts the rate of the transport, unless the encoder still reacts to a previous one.
    fn request(&mut self, now: Instant) {
        let Some(request) = self.transport.target_rate else { return };
        let request = request.clamp(self.options.min_rate, self.options.max_rate);
        if request == self.rate || now < self.deaf_until {
            return;
        }
        let before = self.rate.bits_per_second() as f64;
        let change = (request.bits_per_second() as f64 - before).abs() / before;
        self.rate = request;
        self.deaf_until = now + self.options.reaction;
        self.counts.rate_changes += 1;
        if change > self.options.burst_change && self.options.burst_frames > 0 {
            self.counts.bursts += 1;
            self.start_burst();
        }
    }

    fn start_burst(&mut self) {
        if let Some((next, others)) = self.options.burst(self.options.mean_bytes(self.rate)) {
            self.burst = Burst { frames_left: self.options.burst_frames, next, others };
        }
    }

    /// Returns whether the frame is skipped. Only one frame is skipped for each state of the transport.
    fn skips(&mut self) -> bool {
        let waiting = std::mem::replace(&mut self.transport.waiting, Bytes::new(0));
        self.options.skip_above.is_some_and(|limit| self.rate.time_of(waiting) > limit)
    }

    /// Returns the size of the next steady frame in bytes, and its kind.
    fn steady(&mut self, deviation: f64) -> (f64, MediaKind) {
        let (share, is_key) = match self.options.key_interval {
            None => (1.0, false),
            Some(frames) => {
                let is_key = self.since_key == 0;
                self.since_key = (self.since_key + 1) % frames;
                let (key, other) = first_and_others(self.options.key_factor, frames).unwrap_or((1.0, 1.0));
                (if is_key { key } else { other }, is_key)
            }
        };
        (self.options.mean_bytes(self.rate) * share * (1.0 + deviation), self.kind(is_key))
    }

    const fn kind(&self, is_key: bool) -> MediaKind {
        match (self.options.key_interval, is_key) {
            (None, _) => MediaKind::Video,
            (Some(_), true) => MediaKind::VideoI,
            (Some(_), false) => MediaKind::VideoP,
        }
    }

    fn write(&self, created: Instant, bytes: Bytes, kind: MediaKind) -> Write {
        Write {
            size: WriteSize::Payload(bytes),
            kind,
            priority: if kind == MediaKind::VideoI { self.options.key_priority } else { self.options.priority },
            created,
            expires: self.options.lifetime.map(|lifetime| created + lifetime),
            rest: WriteSize::NOTHING,
        }
    }
}

/// Returns `mean (1 + deviation)`, at least 1 ns.
fn interval(mean: Duration, deviation: f64) -> Duration {
    let nanos = mean.as_nanos() as f64 * (1.0 + deviation);
    Duration::from_nanos(libm::round(nanos).max(1.0) as u64)
}
