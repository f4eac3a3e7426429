//! The registry of sources, and their creation and polling.

pub(crate) mod capture;
pub(crate) mod cbr;
pub(crate) mod conference;
mod context;
mod draw;
pub(crate) mod encoder;
pub(crate) mod encodings;
pub(crate) mod exponential;
pub(crate) mod ftp;
pub(crate) mod gop;
pub(crate) mod on_off;
mod packets;
pub(crate) mod pages;
pub(crate) mod pareto;
pub(crate) mod playback;
pub(crate) mod sessions;
pub(crate) mod sizes;
mod talk;
pub(crate) mod telnet;
pub(crate) mod trace;

use crate::{
    CaptureOptions, Cbr, CbrOptions, Conference, ConferenceOptions, Encoder, EncoderOptions, Encodings,
    EncodingsOptions, ExponentialOptions, Ftp, FtpOptions, Gop, GopOptions, OnOff, Pages, PagesOptions, ParetoOptions,
    Playback, Sessions, SessionsOptions, Telnet, TelnetOptions, Trace, TraceOptions, Write, WriteSize,
};
pub use context::{Backlog, Context, TransportState};
use headway_units::{Duration, Instant, MediaKind, OptionError, Options as _, Rate, registry};

registry! {
    /// Options of a source, by kind.
    options SourceOptions;
    /// State of a source. Stored within its flow; variants larger than the constant bit rate are boxed.
    machine Source;
    what "source"; dispatch each;
    "capture" => Capture(CaptureOptions, Playback),
    "cbr" => Cbr(CbrOptions, Cbr),
    "conference" => Conference(ConferenceOptions, Box<Conference>),
    "encoder" => Encoder(EncoderOptions, Box<Encoder>),
    "encodings" => Encodings(EncodingsOptions, Box<Encodings>),
    "exponential" => Exponential(ExponentialOptions, Box<OnOff>),
    "ftp" => Ftp(FtpOptions, Ftp),
    "gop" => Gop(GopOptions, Box<Gop>),
    "pages" => Pages(PagesOptions, Box<Pages>),
    "pareto" => Pareto(ParetoOptions, Box<OnOff>),
    "sessions" => Sessions(SessionsOptions, Box<Sessions>),
    "telnet" => Telnet(TelnetOptions, Box<Telnet>),
    "trace" => Trace(TraceOptions, Playback),
}

impl Source {
    /// Creates a source that starts at `context.start`.
    ///
    /// # Errors
    /// Returns the errors of [`Registry::check`](headway_units::Registry::check), and of the trace: it is missing,
    /// lacks the selected streams, or is too short to repeat.
    pub fn new(options: &SourceOptions, context: Context) -> Result<Self, OptionError> {
        Ok(match options {
            SourceOptions::Capture(options) => {
                options.check()?;
                Self::Capture(Playback::new(&options.playback(), context)?)
            }
            SourceOptions::Cbr(options) => {
                options.check()?;
                Self::Cbr(Cbr::new(options, context)?)
            }
            SourceOptions::Conference(options) => {
                options.check()?;
                Self::Conference(Box::new(Conference::new(options, context)))
            }
            SourceOptions::Encoder(options) => {
                options.check()?;
                Self::Encoder(Box::new(Encoder::new(options, context)?))
            }
            SourceOptions::Encodings(options) => {
                options.check()?;
                Self::Encodings(Box::new(Encodings::new(options, &context)))
            }
            SourceOptions::Exponential(options) => Self::Exponential(Box::new(options.start(context)?)),
            SourceOptions::Ftp(options) => {
                options.check()?;
                Self::Ftp(Ftp::new(options))
            }
            SourceOptions::Gop(options) => {
                options.check()?;
                Self::Gop(Box::new(Gop::new(options, context)?))
            }
            SourceOptions::Pages(options) => Self::Pages(Box::new(Pages::new(options, context)?)),
            SourceOptions::Pareto(options) => {
                options.check()?;
                Self::Pareto(Box::new(options.start(context)?))
            }
            SourceOptions::Sessions(options) => Self::Sessions(Box::new(Sessions::new(options, context)?)),
            SourceOptions::Telnet(options) => {
                options.check()?;
                Self::Telnet(Box::new(Telnet::new(options, context)))
            }
            SourceOptions::Trace(options) => {
                options.check()?;
                Self::Trace(Playback::new(options, context)?)
            }
        })
    }

    /// Returns when the next write is due; `None` if there are no more.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        each!(self, source => source.poll_timeout())
    }

    /// Returns the time between writes in seconds, not rounded to nanoseconds; `None` unless it is constant.
    #[must_use]
    pub fn interval_s(&self) -> Option<f64> {
        match self {
            Self::Cbr(cbr) => cbr.interval_s(),
            Self::Sessions(sessions) => sessions.interval_s(),
            Self::Capture(_)
            | Self::Conference(_)
            | Self::Encoder(_)
            | Self::Encodings(_)
            | Self::Exponential(_)
            | Self::Ftp(_)
            | Self::Gop(_)
            | Self::Pages(_)
            | Self::Pareto(_)
            | Self::Telnet(_)
            | Self::Trace(_) => None,
        }
    }

    /// Returns whether the scenario lists the times of all writes.
    #[must_use]
    pub fn has_listed_times(&self) -> bool {
        matches!(self, Self::Sessions(sessions) if sessions.has_listed_times())
    }

    /// Returns the next write due at `now`. Several may be due: poll until `None`.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Write> {
        each!(self, source => source.poll(now))
    }

    /// Passes the state of the transport to a source that follows it. For other sources `state` is not called.
    #[inline]
    pub fn follow(&mut self, state: impl FnOnce() -> TransportState) {
        match self {
            Self::Encoder(encoder) => encoder.follow(state()),
            Self::Encodings(encodings) => encodings.follow(state().target_rate),
            _ => {}
        }
    }

    /// Returns the current rate of a source that follows the rate of its transport, without headers.
    #[must_use]
    pub fn encoder_rate(&self) -> Option<Rate> {
        match self {
            Self::Encoder(encoder) => Some(encoder.rate()),
            Self::Encodings(encodings) => encodings.rate(),
            _ => None,
        }
    }

    /// Returns the amount of data that is ready from the start of the flow, for a transport that paces itself (TCP).
    #[must_use]
    pub const fn backlog(&self) -> Backlog {
        match self {
            Self::Ftp(ftp) => ftp.backlog(),
            Self::Capture(_)
            | Self::Cbr(_)
            | Self::Conference(_)
            | Self::Encoder(_)
            | Self::Encodings(_)
            | Self::Exponential(_)
            | Self::Gop(_)
            | Self::Pages(_)
            | Self::Pareto(_)
            | Self::Sessions(_)
            | Self::Telnet(_)
            | Self::Trace(_) => Backlog::None,
        }
    }
}

impl SourceOptions {
    /// Returns the path of the file, if the source has one, from which the caller creates [`Context::trace`], with
    /// [`Trace::parse`] or, for a capture, with [`CaptureOptions::schedule`].
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Capture(options) => Some(&options.file),
            Self::Encoder(options) => options.file.as_deref(),
            Self::Trace(options) => Some(&options.file),
            _ => None,
        }
    }

    /// Returns the time after which a write is useless to the receiver, counted from the write; `None` without limit.
    #[must_use]
    pub fn lifetime(&self) -> Option<Duration> {
        match self {
            Self::Capture(options) => options.lifetime,
            Self::Cbr(options) => options.lifetime,
            Self::Conference(options) => options.lifetime,
            Self::Encoder(options) => options.lifetime,
            Self::Encodings(options) => options.lifetime,
            Self::Exponential(options) => options.lifetime,
            Self::Gop(options) => options.lifetime,
            Self::Pareto(options) => options.lifetime,
            Self::Trace(options) => options.lifetime,
            Self::Ftp(_) | Self::Pages(_) | Self::Sessions(_) | Self::Telnet(_) => None,
        }
    }

    /// Returns the media kinds that a flow from this source contains; empty if there is one kind only, or if a file
    /// determines them.
    #[must_use]
    pub const fn media_kinds(&self) -> &'static [MediaKind] {
        match self {
            Self::Conference(_) => &[MediaKind::Audio, MediaKind::Video],
            Self::Gop(_) => &[MediaKind::VideoI, MediaKind::VideoP, MediaKind::VideoB],
            _ => &[],
        }
    }

    /// Returns whether each write is a separate transfer, for which the transport opens a connection.
    #[must_use]
    pub const fn makes_sessions(&self) -> bool {
        matches!(self, Self::Sessions(_) | Self::Pages(_))
    }

    /// Returns whether the source selects its rate by the target rate of its transport, which must have one.
    #[must_use]
    pub const fn follows_rate(&self) -> bool {
        matches!(self, Self::Encoder(_) | Self::Encodings(_))
    }

    /// Returns the maximum size of a write, to compare with the sizes that datagrams and links allow. `None` for `ftp`,
    /// `sessions` and `pages`, whose data the transport splits into segments, and for a file without its `trace`.
    #[must_use]
    pub fn largest_write(&self, trace: Option<&Trace>) -> Option<WriteSize> {
        match self {
            Self::Capture(options) => options.playback().largest_write(trace?),
            Self::Cbr(options) => options.write_size(),
            Self::Conference(options) => Some(options.largest_write()),
            Self::Encoder(options) => options.largest_write(trace),
            Self::Encodings(options) => Some(options.write_size()),
            Self::Exponential(options) => options.common().write_size(),
            Self::Ftp(_) | Self::Pages(_) | Self::Sessions(_) => None,
            Self::Gop(options) => Some(options.largest_write()),
            Self::Pareto(options) => options.common().write_size(),
            Self::Telnet(options) => Some(options.write_size()),
            Self::Trace(options) => options.largest_write(trace?),
        }
    }

    /// Returns a number of writes that is rarely exceeded in a run of `length`, so that a caller can reject an
    /// excessive run. Zero for sources without writes (`ftp`), and for a file without its `trace`.
    #[must_use]
    pub fn writes_within(&self, trace: Option<&Trace>, length: Duration) -> u64 {
        match self {
            Self::Capture(options) => trace.map_or(0, |trace| options.playback().writes_within(trace, length)),
            Self::Cbr(options) => options.writes_within(length),
            Self::Conference(options) => options.writes_within(length),
            Self::Encoder(options) => options.writes_within(length),
            Self::Encodings(options) => options.writes_within(length),
            Self::Exponential(options) => options.common().writes_within(length),
            Self::Ftp(_) => 0,
            Self::Gop(options) => options.writes_within(length),
            Self::Pages(options) => options.writes_within(length),
            Self::Pareto(options) => options.common().writes_within(length),
            Self::Sessions(options) => options.writes_within(length),
            Self::Telnet(options) => options.writes_within(length),
            Self::Trace(options) => trace.map_or(0, |trace| options.writes_within(trace, length)),
        }
    }
}
