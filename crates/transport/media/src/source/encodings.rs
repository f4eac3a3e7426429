//! Media with several encodings of different rates, selected by the rate that the transport allows.
//!
//! From the paper on MApp over UDPm, sections 2.2 and 3.1: all encodings have packets of one size, and the encoding
//! determines the time between packets, payload * 8 / rate. The source starts with the first encoding. It uses the
//! encoding with the highest rate that the transport allows, from the next packet on; the current gap keeps its length.

use super::Context;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{Write, WriteSize, check_lifetime, check_size, too_many_writes};
use headway_units::{Accumulator, Bytes, Dialect, Duration, Instant, MediaKind, OptionError, Rate};

/// Options of the source `encodings`, media with several encodings of different rates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct EncodingsOptions {
    /// Rate of each encoding, without headers, at least 1bps, in increasing order; 1 to 256 rates.
    pub rates: Vec<Rate>,
    /// Size of a packet without headers, 1B to 16MiB.
    pub payload: Bytes,
    /// Kind of media.
    pub media: MediaKind,
    /// Priority; 0 is the most urgent.
    pub priority: u8,
    /// Time after which a packet is useless to the receiver, counted from its write, at least 1ns; absent: without
    /// limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub lifetime: Option<Duration>,
}

const MAX_ENCODINGS: usize = 256;

impl EncodingsOptions {
    pub(super) const fn write_size(&self) -> WriteSize {
        WriteSize::Payload(self.payload)
    }

    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        let shortest = self.rates.last().map_or(Duration::ZERO, |rate| rate.time_of(self.payload));
        (length.as_nanos() / shortest.as_nanos().max(1)).saturating_add(1)
    }
}

impl headway_units::Options for EncodingsOptions {
    /// The ten rates of `udpm`, 0.2 Mb/s apart, and packets of 1000 B as in the paper.
    fn preset(_: Dialect) -> Self {
        Self {
            rates: (1..=10).map(|scale| Rate::from_bits_per_second(200_000 * scale)).collect(),
            payload: Bytes::new(1000),
            media: MediaKind::Video,
            priority: 0,
            lifetime: None,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let wrong = |message: String| Err(OptionError::new("rates", message));
        let count = self.rates.len();
        if !(1..=MAX_ENCODINGS).contains(&count) {
            return wrong(format!("there are {count} encodings; expected 1 to {MAX_ENCODINGS}"));
        }
        if self.rates.first().is_some_and(|rate| rate.is_zero()) {
            return wrong("an encoding of 0bps sends nothing; expected at least 1bps".to_owned());
        }
        if let Some(pair) = self.rates.windows(2).find(|pair| pair[0] >= pair[1]) {
            return wrong(format!("{} is not above {}; expected rising rates", pair[1], pair[0]));
        }
        check_size("payload", self.payload)?;
        if self.rates.iter().any(|rate| rate.time_of(self.payload).is_zero()) {
            return wrong(too_many_writes(self.payload));
        }
        check_lifetime(self.lifetime)
    }
}

/// State of the source `encodings`.
#[derive(Debug)]
pub struct Encodings {
    options: EncodingsOptions,
    index: usize,
    /// Due time of the next packet, and the encoding of its fraction of a nanosecond.
    even: Accumulator,
    even_rate: Rate,
    stop: Instant,
}

impl Encodings {
    pub(super) fn new(options: &EncodingsOptions, context: &Context) -> Self {
        Self {
            options: options.clone(),
            index: 0,
            even: Accumulator::starting(context.start),
            even_rate: options.rates.first().copied().unwrap_or_default(),
            stop: context.stop.unwrap_or(Instant::FAR_FUTURE),
        }
    }

    pub(super) fn rate(&self) -> Option<Rate> {
        self.options.rates.get(self.index).copied()
    }

    /// Selects the encoding for the rate that the transport allows. `None`, if the transport has no rate, keeps the
    /// encoding.
    pub(super) fn follow(&mut self, allowed: Option<Rate>) {
        if let Some(allowed) = allowed {
            self.index = self.options.rates.partition_point(|rate| *rate <= allowed).saturating_sub(1);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let next = self.even.instant();
        (next < self.stop).then_some(next)
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Write> {
        let created = self.poll_timeout().filter(|due| *due <= now)?;
        let rate = self.rate()?;
        if rate != self.even_rate {
            let (at, fraction_ns) = self.even.nearest(self.even_rate);
            (self.even, self.even_rate) = (Accumulator::between(at, fraction_ns, rate), rate);
        }
        self.even.advance(self.options.payload, rate);
        Some(Write {
            size: self.options.write_size(),
            kind: self.options.media,
            priority: self.options.priority,
            created,
            expires: self.options.lifetime.map(|lifetime| created + lifetime),
            rest: WriteSize::NOTHING,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, SourceOptions, TransportState};
    use headway_units::{Options as _, Random};

    fn preset() -> EncodingsOptions {
        EncodingsOptions::preset(Dialect::Rfc)
    }
    fn source(options: EncodingsOptions) -> Source {
        let (start, random) = (Instant::from_secs(1), Random::new(1, "encodings"));
        Source::new(&SourceOptions::Encodings(options), Context { start, stop: None, random, trace: None }).unwrap()
    }
    const fn kbps(rate: u64) -> Rate {
        Rate::from_bits_per_second(rate * 1000)
    }

    /// Paper section 3.1, "the next data transmission time based on the transmission rate associated with the current
    /// scale value and the packet size": 1000 B take 40 ms at 0.2 Mb/s, 10 ms at 0.8 Mb/s, 4 ms at 2 Mb/s. The current
    /// gap keeps its length.
    #[test]
    fn udpm_3_1_an_encoding_for_each_scale() {
        let mut source = source(preset());
        let mut times = Vec::new();
        for allowed in [None, Some(200), Some(800), Some(2000), Some(900), Some(100), None] {
            let due = source.poll_timeout().unwrap();
            // The due time of the next packet does not change.
            source.follow(|| TransportState { target_rate: allowed.map(kbps), ..TransportState::default() });
            assert_eq!(source.poll_timeout(), Some(due));
            let write = source.poll(due).unwrap();
            assert_eq!((write.size, write.created), (WriteSize::Payload(Bytes::new(1000)), due));
            times.push(due.since(Instant::from_secs(1)).as_nanos() / 1_000_000);
        }
        assert_eq!(times, [0, 40, 80, 90, 94, 104, 144]);
    }

    /// 3 packets of 1000 B at 300 kb/s take exactly 80 ms.
    #[test]
    fn gaps_do_not_drift() {
        let mut source = source(EncodingsOptions { rates: vec![kbps(300)], ..preset() });
        let all = std::iter::from_fn(|| source.poll(Instant::from_secs(9))).count();
        assert_eq!(all, 301, "8 s plus the first packet");
    }

    #[test]
    fn invalid_rates_are_rejected() {
        for (rates, why) in [
            (vec![], "there are 0 encodings; expected 1 to 256"),
            (vec![0, 1], "expected at least 1bps"),
            (vec![5, 5], "5kbps is not above 5kbps; expected rising rates"),
            ((1..=257).collect(), "there are 257 encodings"),
            (vec![9_000_000_000_000], "write a rate of at most 8Tbps"),
        ] {
            let options = EncodingsOptions { rates: rates.into_iter().map(kbps).collect(), ..preset() };
            let error = options.check().unwrap_err();
            assert!(error.key == "rates" && error.message.contains(why), "{}", error.message);
        }
        assert_eq!(EncodingsOptions { payload: Bytes::new(0), ..preset() }.check().unwrap_err().key, "payload");
    }
}
