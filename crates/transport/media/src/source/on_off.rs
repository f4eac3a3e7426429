//! Bursts of packets at a constant rate, separated by silences, with random lengths (ns-2.35 `tools/trafgen.cc`,
//! `tools/expoo.cc`, `tools/pareto.cc`).
//!
//! A burst has N packets, drawn and rounded, at least one, with an interval of I = size * 8 / rate. The first packet of
//! a burst follows the last one of the previous burst, or the start, after I and a drawn silence.

use super::Context;
use super::draw::Distribution;
use crate::write::{Write, WriteSize, check_lifetime, chosen_size, too_many_writes};
use headway_units::{Accumulator, Bytes, Duration, Instant, MediaKind, OptionError, Random, Rate};

/// Options common to all on-off sources.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommonOptions {
    pub(super) rate: Option<Rate>,
    pub(super) size: Option<Bytes>,
    pub(super) payload: Option<Bytes>,
    pub(super) burst_time: Duration,
    pub(super) idle_time: Duration,
    pub(super) media: MediaKind,
    pub(super) priority: u8,
    pub(super) lifetime: Option<Duration>,
}

impl CommonOptions {
    pub(super) fn check(&self, what: &str) -> Result<(), OptionError> {
        chosen_size(what, self.size, self.payload)?;
        match self.rate {
            None => {
                let message = format!("{what} source needs rate, that of its bursts (such as \"64kbps\")");
                return Err(OptionError::new("rate", message));
            }
            Some(rate) if rate.is_zero() => {
                return Err(OptionError::new("rate", "a rate of 0bps sends nothing: rate is at least 1bps"));
            }
            Some(_) if self.interval().is_zero() => {
                return Err(OptionError::new("rate", too_many_writes(self.bytes())));
            }
            Some(_) => {}
        }
        if self.burst_time.is_zero() {
            return Err(OptionError::new("burst_time", "0s is out of range: burst_time is at least 1ns"));
        }
        check_lifetime(self.lifetime)
    }

    fn bytes(&self) -> Bytes {
        self.size.or(self.payload).unwrap_or(Bytes::new(0))
    }

    /// Returns the time between the packets of a burst.
    fn interval(&self) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| rate.time_of(self.bytes()))
    }

    pub(super) fn write_size(&self) -> Option<WriteSize> {
        chosen_size("", self.size, self.payload).ok()
    }

    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        (length.as_nanos() / self.interval().as_nanos().max(1)).saturating_add(1)
    }

    /// Returns the mean number of packets of a burst, before rounding.
    pub(super) fn mean_packets(&self) -> f64 {
        self.burst_time.as_secs_f64() * self.rate.map_or(0.0, |rate| rate.bits_per_second() as f64)
            / (8 * self.bytes().count()).max(1) as f64
    }
}

/// Declares the options of an on-off source: the common ones, and those of its distributions with their presets.
macro_rules! on_off_options {
    ($(#[$about:meta])* $Name:ident { $($(#[$key_about:meta])* $key:ident: $Type:ty = $preset:expr),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema), serde(deny_unknown_fields))]
        pub struct $Name {
            /// Bit rate within a burst, at least 1bps: with `size` of packets on the wire, with `payload` of
            /// application data (ns-2 `rate_`).
            #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
            pub rate: Option<headway_units::Rate>,
            /// Size of a write on the wire in one datagram, including headers, 1B to 16MiB (ns-2 `packetSize_`).
            #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
            pub size: Option<headway_units::Bytes>,
            /// Size of a write without headers, 1B to 16MiB.
            #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
            pub payload: Option<headway_units::Bytes>,
            /// Mean duration of a burst, at least 1ns (ns-2 `burst_time_`).
            pub burst_time: headway_units::Duration,
            /// Mean duration of a silence between two bursts (ns-2 `idle_time_`).
            pub idle_time: headway_units::Duration,
            $($(#[$key_about])* pub $key: $Type,)*
            /// Kind of media.
            pub media: headway_units::MediaKind,
            /// Priority; 0 is the most urgent.
            pub priority: u8,
            /// Time after which a write is useless to the receiver, counted from the write, at least 1ns; absent:
            /// without limit.
            #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
            pub lifetime: Option<headway_units::Duration>,
        }

        impl $Name {
            fn defaults() -> Self {
                Self {
                    rate: None,
                    size: None,
                    payload: None,
                    burst_time: headway_units::Duration::from_millis(500),
                    idle_time: headway_units::Duration::from_millis(500),
                    $($key: $preset,)*
                    media: headway_units::MediaKind::Data,
                    priority: 0,
                    lifetime: None,
                }
            }

            pub(super) fn common(&self) -> crate::source::on_off::CommonOptions {
                let &Self { rate, size, payload, burst_time, idle_time, media, priority, lifetime, .. } = self;
                crate::source::on_off::CommonOptions { rate, size, payload, burst_time, idle_time, media, priority, lifetime }
            }
        }
    };
}
pub(super) use on_off_options;

/// State of the sources `exponential` and `pareto`, which alternate between bursts and silences.
#[derive(Debug)]
pub struct OnOff {
    size: WriteSize,
    bytes: Bytes,
    rate: Rate,
    /// Distribution of bursts, in packets.
    burst: Distribution,
    /// Distribution of silences, in seconds.
    idle: Distribution,
    due: Accumulator,
    /// Packets of this burst after the next one.
    left: u64,
    stop: Instant,
    random: Random,
    media: MediaKind,
    priority: u8,
    lifetime: Option<Duration>,
}

impl OnOff {
    pub(super) fn new(
        common: &CommonOptions,
        what: &str,
        burst: Distribution,
        idle: Distribution,
        context: Context,
    ) -> Result<Self, OptionError> {
        common.check(what)?;
        let mut source = Self {
            size: chosen_size(what, common.size, common.payload)?,
            bytes: common.bytes(),
            rate: common.rate.unwrap_or_default(),
            burst,
            idle,
            due: Accumulator::starting(context.start),
            left: 0,
            stop: context.stop.unwrap_or(Instant::FAR_FUTURE),
            random: context.random,
            media: common.media,
            priority: common.priority,
            lifetime: common.lifetime,
        };
        source.step();
        Ok(source)
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let due = self.due.instant();
        (due < self.stop).then_some(due)
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Write> {
        let created = self.poll_timeout().filter(|due| *due <= now)?;
        self.step();
        Some(Write {
            size: self.size,
            kind: self.media,
            priority: self.priority,
            created,
            expires: self.lifetime.map(|lifetime| created + lifetime),
            rest: WriteSize::NOTHING,
        })
    }

    fn step(&mut self) {
        if self.left == 0 {
            // `as` saturates.
            self.left = ((self.burst.draw(&mut self.random) + 0.5) as u64).max(1);
            let silence = Duration::from_nanos((self.idle.draw(&mut self.random) * 1e9) as u64);
            self.due = Accumulator::starting(self.due.instant() + silence);
        }
        self.left -= 1;
        self.due.advance(self.bytes, self.rate);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Context, ExponentialOptions, ParetoOptions, Source, SourceOptions, TelnetOptions};
    use headway_units::{Bytes, Dialect, Duration, Instant, Options as _, Random, Rate};

    fn exponential() -> ExponentialOptions {
        ExponentialOptions {
            rate: Some(Rate::from_bits_per_second(1_000_000)),
            size: Some(Bytes::new(1000)),
            burst_time: Duration::from_millis(40),
            idle_time: Duration::from_millis(60),
            ..ExponentialOptions::preset(Dialect::Ns2)
        }
    }

    fn times(options: &SourceOptions, stop: Option<Instant>, count: usize) -> Vec<u64> {
        let context = Context { start: Instant::from_secs(1), stop, random: Random::new(1, "on-off"), trace: None };
        let mut source = Source::new(options, context).unwrap();
        let next = || Some(source.poll(source.poll_timeout()?)?.created.as_nanos());
        std::iter::from_fn(next).take(count).collect()
    }

    /// Bursts of exponential mean 5 packets, rounded, at least 1: more than k packets with probability exp(-(k +
    /// 1/2)/5).
    #[test]
    fn bursts_are_rounded_to_packets() {
        let times = times(&SourceOptions::Exponential(exponential()), None, 200_000);
        assert!(times[0] > 1_008_000_000, "starts with a silence and an interval");
        let bursts: Vec<usize> = times.chunk_by(|a, b| b - a == 8_000_000).map(<[u64]>::len).collect();
        for (more, share) in [(1, 0.740_818), (2, 0.606_531), (10, 0.122_456)] {
            let seen = bursts.iter().filter(|burst| **burst > more).count() as f64 / bursts.len() as f64;
            let error = (share * (1.0 - share) / bursts.len() as f64).sqrt();
            assert!((seen - share).abs() < 4.0 * error, "{seen} of more than {more}");
        }
    }

    #[test]
    fn no_write_is_sent_at_the_stop_or_later() {
        let all = times(&SourceOptions::Exponential(exponential()), None, 50);
        let stop = Some(Instant::from_nanos(all[30]));
        assert_eq!(times(&SourceOptions::Exponential(exponential()), stop, 50), all[..30]);
        let keys = SourceOptions::Telnet(TelnetOptions::preset(Dialect::Ns2));
        let all = times(&keys, None, 50);
        assert_eq!(times(&keys, Some(Instant::from_nanos(all[30])), 50), all[..30]);
    }

    /// 1/e of the pauses between keys exceed their mean, 1/e^2 twice the mean, including the one from the start.
    #[test]
    fn pauses_between_keys_are_exponential() {
        let options = TelnetOptions { interval: Duration::from_millis(20), ..TelnetOptions::preset(Dialect::Rfc) };
        let mut times = times(&SourceOptions::Telnet(options), None, 50_000);
        assert!(times[0] > 1_000_000_000, "starts with a pause");
        times.insert(0, 1_000_000_000);
        let pauses: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (means, share) in [(1, 0.367_879), (2, 0.135_335)] {
            let longer = pauses.iter().filter(|pause| **pause > means * 20_000_000).count() as f64 / 5e4;
            let error = (share * (1.0 - share) / 5e4_f64).sqrt();
            assert!((longer - share).abs() < 4.0 * error, "{longer} longer than {means}");
        }
    }

    #[test]
    fn invalid_options_are_rejected() {
        let wrong = |change: fn(&mut ExponentialOptions)| {
            let mut options = exponential();
            change(&mut options);
            options.check().unwrap_err()
        };
        for (error, key, part) in [
            (wrong(|o| o.rate = None), "rate", "an exponential source needs rate"),
            (wrong(|o| o.rate = Some(Rate::from_bits_per_second(0))), "rate", "at least 1bps"),
            (wrong(|o| o.size = None), "size", "an exponential source needs size"),
            (wrong(|o| o.payload = Some(Bytes::new(1))), "payload", "exclude each other"),
            (wrong(|o| o.burst_time = Duration::ZERO), "burst_time", "at least 1ns"),
            (wrong(|o| o.lifetime = Some(Duration::ZERO)), "lifetime", "at least 1ns"),
        ] {
            assert_eq!(error.key, key, "{error}");
            assert!(error.message.contains(part), "{error}");
        }
        for shape in [1.0, 0.5, f64::NAN, 101.0] {
            let ExponentialOptions { rate, size, .. } = exponential();
            let pareto = ParetoOptions { rate, size, shape, ..ParetoOptions::preset(Dialect::Ns2) };
            assert_eq!(pareto.check().unwrap_err().key, "shape");
        }
        let keys = TelnetOptions { interval: Duration::ZERO, ..TelnetOptions::preset(Dialect::Ns2) };
        assert_eq!(keys.check().unwrap_err().key, "interval");
    }
}
