//! Bursts of packets at a constant rate, and silences between them, of lengths drawn from a law (ns-2.35 `tools/trafgen.cc`,
//! `tools/expoo.cc`, `tools/pareto.cc`).
//!
//! A burst has N packets, drawn and rounded, one at least; each is I = size * 8 / rate after the one before. The first of a
//! burst comes I and a drawn silence after the last of the burst before, or after the start: there is a silence first.

use super::Context;
use super::draw::Law;
use crate::write::{Write, WriteSize, check_lifetime, chosen_size, too_many_writes};
use headway_units::{Accumulator, Bytes, Duration, Instant, MediaKind, OptionError, Random, Rate};

/// What an on-off source is told, whatever its laws.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) rate: Option<Rate>,
    pub(super) size: Option<Bytes>,
    pub(super) payload: Option<Bytes>,
    pub(super) burst_time: Duration,
    pub(super) idle_time: Duration,
    pub(super) media: MediaKind,
    pub(super) priority: u8,
    pub(super) lifetime: Option<Duration>,
}

impl Told {
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
            return Err(OptionError::new("burst_time", "bursts of 0s send nothing: burst_time is at least 1ns"));
        }
        check_lifetime(self.lifetime)
    }

    fn bytes(&self) -> Bytes {
        self.size.or(self.payload).unwrap_or(Bytes::new(0))
    }

    /// From one packet of a burst to the next.
    fn interval(&self) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| rate.time_of(self.bytes()))
    }

    pub(super) fn write_size(&self) -> Option<WriteSize> {
        chosen_size("", self.size, self.payload).ok()
    }

    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        (length.as_nanos() / self.interval().as_nanos().max(1)).saturating_add(1)
    }

    /// How many packets a burst has in the mean, before they are rounded.
    pub(super) fn mean_packets(&self) -> f64 {
        self.burst_time.as_secs_f64() * self.rate.map_or(0.0, |rate| rate.bits_per_second() as f64)
            / (8 * self.bytes().count()).max(1) as f64
    }
}

/// Makes the options of an on-off source: what each is told, and the keys of its own laws with their presets.
macro_rules! on_off_options {
    ($(#[$about:meta])* $Name:ident { $($(#[$key_about:meta])* $key:ident: $Type:ty = $preset:expr),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema), serde(deny_unknown_fields))]
        pub struct $Name {
            /// Bits a second within a burst, of what `size` or `payload` counts (ns-2 `rate_`).
            #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
            pub rate: Option<headway_units::Rate>,
            /// Bytes of one write on the wire, headers and all, if one datagram carries it; 1 B to 16 MiB (ns-2 `packetSize_`).
            #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
            pub size: Option<headway_units::Bytes>,
            /// Bytes of one write without headers; 1 B to 16 MiB.
            #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
            pub payload: Option<headway_units::Bytes>,
            /// Mean length of a burst (ns-2 `burst_time_`).
            pub burst_time: headway_units::Duration,
            /// Mean length of a silence (ns-2 `idle_time_`).
            pub idle_time: headway_units::Duration,
            $($(#[$key_about])* pub $key: $Type,)*
            /// What it is.
            pub media: headway_units::MediaKind,
            /// Which goes first where a queue may choose: 0 before 1.
            pub priority: u8,
            /// How long a write is of use; absent, for ever.
            #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
            pub lifetime: Option<headway_units::Duration>,
        }

        impl $Name {
            fn usual() -> Self {
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

            pub(super) fn told(&self) -> crate::source::on_off::Told {
                let &Self { rate, size, payload, burst_time, idle_time, media, priority, lifetime, .. } = self;
                crate::source::on_off::Told { rate, size, payload, burst_time, idle_time, media, priority, lifetime }
            }
        }
    };
}
pub(super) use on_off_options;

/// An on-off source, running.
#[derive(Debug)]
pub struct OnOff {
    size: WriteSize,
    bytes: Bytes,
    rate: Rate,
    /// Of a burst, in packets.
    burst: Law,
    /// Of a silence, in seconds.
    idle: Law,
    /// When the next packet is due.
    due: Accumulator,
    /// How many packets this burst has beyond that one.
    left: u64,
    stop: Instant,
    random: Random,
    media: MediaKind,
    priority: u8,
    lifetime: Option<Duration>,
}

impl OnOff {
    pub(super) fn new(told: &Told, what: &str, burst: Law, idle: Law, context: Context) -> Result<Self, OptionError> {
        told.check(what)?;
        let mut source = Self {
            size: chosen_size(what, told.size, told.payload)?,
            bytes: told.bytes(),
            rate: told.rate.unwrap_or_default(),
            burst,
            idle,
            due: Accumulator::starting(context.start),
            left: 0,
            stop: context.stop.unwrap_or(Instant::FAR_FUTURE),
            random: context.random,
            media: told.media,
            priority: told.priority,
            lifetime: told.lifetime,
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

    /// A burst of exponential mean 5 packets, rounded and 1 at least: more than k packets with probability exp(-(k + 1/2)/5).
    #[test]
    fn bursts_are_rounded_to_packets() {
        let times = times(&SourceOptions::Exponential(exponential()), None, 200_000);
        assert!(times[0] > 1_008_000_000, "a silence and an interval come first");
        let bursts: Vec<usize> = times.chunk_by(|a, b| b - a == 8_000_000).map(<[u64]>::len).collect();
        for (more, share) in [(1, 0.740_818), (2, 0.606_531), (10, 0.122_456)] {
            let seen = bursts.iter().filter(|burst| **burst > more).count() as f64 / bursts.len() as f64;
            let error = (share * (1.0 - share) / bursts.len() as f64).sqrt();
            assert!((seen - share).abs() < 4.0 * error, "{seen} of more than {more}");
        }
    }

    #[test]
    fn nothing_comes_at_the_stop_or_later() {
        let all = times(&SourceOptions::Exponential(exponential()), None, 50);
        let stop = Some(Instant::from_nanos(all[30]));
        assert_eq!(times(&SourceOptions::Exponential(exponential()), stop, 50), all[..30]);
        let keys = SourceOptions::Telnet(TelnetOptions::preset(Dialect::Ns2));
        let all = times(&keys, None, 50);
        assert_eq!(times(&keys, Some(Instant::from_nanos(all[30])), 50), all[..30]);
    }

    /// 1/e of all pauses between keys are longer than their mean, 1/e^2 than twice that; the first counts from the start.
    #[test]
    fn keys_are_typed_at_random() {
        let options = TelnetOptions { interval: Duration::from_millis(20), ..TelnetOptions::preset(Dialect::Rfc) };
        let mut times = times(&SourceOptions::Telnet(options), None, 50_000);
        assert!(times[0] > 1_000_000_000, "a pause comes first");
        times.insert(0, 1_000_000_000);
        let pauses: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (means, share) in [(1, 0.367_879), (2, 0.135_335)] {
            let longer = pauses.iter().filter(|pause| **pause > means * 20_000_000).count() as f64 / 5e4;
            let error = (share * (1.0 - share) / 5e4_f64).sqrt();
            assert!((longer - share).abs() < 4.0 * error, "{longer} longer than {means}");
        }
    }

    #[test]
    fn options_that_send_nothing_are_told_so() {
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
