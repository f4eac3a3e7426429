//! Rates, byte counts, probabilities and queue sizes.

use crate::decimal::{Notation, ParseError, number_and_unit, shorten};
use crate::time::Duration;
use std::fmt;
use std::str::FromStr;

/// Implements serde and JSON Schema for a type that is text in a file, through `Display` and `FromStr`.
macro_rules! text_serde {
    ($type:ty, $name:literal, $expecting:literal) => {
        #[cfg(feature = "schema")]
        const _: () = {
            impl serde::Serialize for $type {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }
            impl<'de> serde::Deserialize<'de> for $type {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    struct Text;
                    impl serde::de::Visitor<'_> for Text {
                        type Value = $type;
                        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                            f.write_str($expecting)
                        }
                        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                            let found = serde::de::Unexpected::Str(text);
                            text.parse().map_err(|error| $crate::quantity::deserialize_error(error, found))
                        }
                        // A bare 0 needs no unit; any other number is rejected for lacking one.
                        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$type, E> {
                            let found = serde::de::Unexpected::Signed(number);
                            let parsed = number.to_string().parse();
                            parsed.map_err(|error| $crate::quantity::deserialize_error(error, found))
                        }
                        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$type, E> {
                            let found = serde::de::Unexpected::Unsigned(number);
                            let parsed = number.to_string().parse();
                            parsed.map_err(|error| $crate::quantity::deserialize_error(error, found))
                        }
                        fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<$type, E> {
                            let found = serde::de::Unexpected::Float(number);
                            let parsed = number.to_string().parse();
                            parsed.map_err(|error| $crate::quantity::deserialize_error(error, found))
                        }
                    }
                    deserializer.deserialize_any(Text)
                }
            }
            impl schemars::JsonSchema for $type {
                fn inline_schema() -> bool {
                    false
                }
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    $name.into()
                }
                fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    schemars::json_schema!({ "type": "string", "description": $expecting })
                }
            }
        };
    };
}
pub(crate) use text_serde;

/// Returns the error about a text, or about a number that is written without quotes.
#[cfg(feature = "schema")]
pub(crate) fn deserialize_error<E: serde::de::Error>(error: ParseError, found: serde::de::Unexpected<'_>) -> E {
    use serde::de::Unexpected;
    match (error, found) {
        (ParseError::OutOfRange { text, what, range }, Unexpected::Str(_)) => {
            E::invalid_value(Unexpected::Str(&text), &format!("{what} {range}").as_str())
        }
        (ParseError::OutOfRange { what, range, .. }, found) => {
            E::invalid_value(found, &format!("{what} {range}").as_str())
        }
        (error, Unexpected::Str(_)) => E::custom(error),
        (ParseError::NoUnit { text, what, example }, _) => {
            E::custom(format_args!("{text} has no unit: {what} is written {example}"))
        }
        (error, _) => E::custom(error),
    }
}

const RATE: Notation = Notation {
    what: "a rate",
    example: "\"2Mbps\" or \"64kbps\"",
    range: "from 0bps to 18446744Tbps, in steps of 1bps",
    units: &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
        ("b/s", 1),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
        ("B/s", 8),
        ("kB/s", 8_000),
        ("MB/s", 8_000_000),
    ],
};

const BYTES: Notation = Notation {
    what: "a number of bytes",
    example: "\"1000B\" or \"64kB\"",
    range: "from 0B to 18446744073GB, in whole bytes",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
};

const PACKETS: Notation = Notation {
    what: "a number of packets",
    example: "\"20packets\"",
    range: "from 0 to 18446744073709551615 packets",
    units: &[("packets", 1), ("packet", 1)],
};

/// A rate in whole bits per second. Text: `"2Mbps"`, `"64kbps"`, `"1.5Gb/s"`, `"100kB/s"`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Creates a rate of `bits` bit/s.
    #[must_use]
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }
    /// Returns the rate in bit/s.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }
    /// Returns whether the rate is 0 bit/s.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Returns the transmission time of `bytes`, rounded to the nearest nanosecond; [`Duration::MAX`] at rate zero.
    #[must_use]
    pub fn time_of(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let bits = u128::from(bytes.count()) * 8 * 1_000_000_000;
        let nanos = (bits + u128::from(self.0 / 2)) / u128::from(self.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// A number of bytes. Text: `"1000B"`, `"64kB"` (1000), `"64KiB"` (1024).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// Creates a number of bytes.
    #[must_use]
    #[inline]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }
    /// Returns the number of bytes.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.0
    }
}

/// A probability from 0 to 1. Text: `0.01` or `"1%"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Probability 0.
    pub const ZERO: Self = Self(0.0);
    /// Probability 1.
    pub const ONE: Self = Self(1.0);
    /// Returns the probability `value` if it is from 0 to 1.
    #[must_use]
    #[inline]
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }
    /// Returns the probability, 0 to 1.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0
    }
}

/// Capacity of a queue. Text: `"20packets"` or `"30kB"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueSize {
    /// Number of packets.
    Packets(u64),
    /// Number of bytes.
    Bytes(Bytes),
}

/// Threshold for the average length of a queue, in packets or bytes, possibly fractional. Text: `"7.5packets"` or
/// `"2500B"`.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub enum Threshold {
    /// Number of packets.
    Packets(f64),
    /// Number of bytes.
    Bytes(f64),
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RATE.format(self.0, f)
    }
}
impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        RATE.parse(text).map(Self)
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BYTES.format(self.0, f)
    }
}
impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        BYTES.parse(text).map(Self)
    }
}
impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
impl FromStr for Probability {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const WHAT: &str = "a probability";
        const EXAMPLE: &str = "0.01 or \"1%\"";
        let not = || ParseError::NotANumber { text: shorten(text), what: WHAT, example: EXAMPLE };
        let (number, unit) = number_and_unit(text).ok_or_else(not)?;
        let value = match unit {
            "" => number,
            "%" => number / 100.0,
            _ => return Err(not()),
        };
        Self::new(value).ok_or_else(|| ParseError::OutOfRange {
            text: shorten(text),
            what: WHAT,
            range: "from 0 to 1, or from 0% to 100%",
        })
    }
}
impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(count) => PACKETS.format(*count, f),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}
impl FromStr for QueueSize {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const WHAT: &str = "the size of a queue";
        const EXAMPLE: &str = "\"20packets\" or \"30kB\"";
        let size = if text.contains("packet") {
            PACKETS.parse(text).map(Self::Packets)
        } else {
            text.parse().map(Self::Bytes)
        };
        // The text was parsed as one of two forms; the message must name both.
        size.map_err(|error| match error {
            ParseError::NotANumber { text, .. } => ParseError::NotANumber { text, what: WHAT, example: EXAMPLE },
            ParseError::NoUnit { text, .. } => ParseError::NoUnit { text, what: WHAT, example: EXAMPLE },
            ParseError::UnknownUnit { text, unit, .. } => {
                ParseError::UnknownUnit { text, unit, what: WHAT, known: format!("packets, {}", BYTES.known()) }
            }
            ParseError::OutOfRange { .. } => error,
        })
    }
}
impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(count) => write!(f, "{count}packets"),
            Self::Bytes(count) => write!(f, "{count}B"),
        }
    }
}
impl FromStr for Threshold {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const WHAT: &str = "a threshold";
        const EXAMPLE: &str = "\"5packets\" or \"2500B\"";
        let (number, unit) = number_and_unit(text).ok_or_else(|| ParseError::NotANumber {
            text: shorten(text),
            what: WHAT,
            example: EXAMPLE,
        })?;
        let threshold = match unit {
            "packets" | "packet" => Self::Packets(number),
            "B" => Self::Bytes(number),
            "kB" => Self::Bytes(number * 1e3),
            "MB" => Self::Bytes(number * 1e6),
            "" => return Err(ParseError::NoUnit { text: shorten(text), what: WHAT, example: EXAMPLE }),
            _ => {
                return Err(ParseError::UnknownUnit {
                    text: shorten(text),
                    unit: shorten(unit),
                    what: WHAT,
                    known: "packets, B, kB, MB".into(),
                });
            }
        };
        let (Self::Packets(count) | Self::Bytes(count)) = threshold;
        if !(0.0..=1e18).contains(&count) {
            return Err(ParseError::OutOfRange { text: shorten(text), what: WHAT, range: "from 0 to 1e18" });
        }
        Ok(threshold)
    }
}

macro_rules! debug_as_display {
    ($($type:ty),+) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )+};
}
debug_as_display!(Rate, Bytes, QueueSize, Threshold);

text_serde!(Rate, "Rate", "a rate with its unit, such as \"2Mbps\"");
text_serde!(Bytes, "Bytes", "a number of bytes with its unit, such as \"1000B\"");
text_serde!(QueueSize, "QueueSize", "the size of a queue with its unit, such as \"20packets\" or \"30kB\"");
text_serde!(Threshold, "Threshold", "a queue level with its unit, such as \"5packets\" or \"2500B\"");

// A probability has no unit, so a bare number is valid.
#[cfg(feature = "schema")]
const _: () = {
    impl serde::Serialize for Probability {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_f64(self.0)
        }
    }
    impl<'de> serde::Deserialize<'de> for Probability {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Either;
            impl serde::de::Visitor<'_> for Either {
                type Value = Probability;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a probability from 0 to 1, such as 0.01 or \"1%\"")
                }
                fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Probability, E> {
                    text.parse().map_err(|error| deserialize_error(error, serde::de::Unexpected::Str(text)))
                }
                fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Probability, E> {
                    Probability::new(value).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Float(value), &self))
                }
                fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Probability, E> {
                    self.visit_f64(value as f64)
                }
                fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Probability, E> {
                    self.visit_f64(value as f64)
                }
            }
            deserializer.deserialize_any(Either)
        }
    }
    impl schemars::JsonSchema for Probability {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Probability".into()
        }
        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "description": "a probability, such as 0.01 or \"1%\"",
                "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "type": "string" }]
            })
        }
    }
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_accept_the_usual_units() {
        for (text, bits) in
            [("2Mbps", 2_000_000), ("2Mb/s", 2_000_000), ("0.9973Mbps", 997_300), ("64kbps", 64_000), ("1kB/s", 8_000)]
        {
            assert_eq!(text.parse::<Rate>().unwrap().bits_per_second(), bits, "{text}");
        }
        assert!("2mbps".parse::<Rate>().unwrap_err().to_string().contains("Mbps"));
    }

    #[test]
    fn a_thousand_bytes_at_two_megabits_take_four_milliseconds() {
        assert_eq!(Rate::from_bits_per_second(2_000_000).time_of(Bytes::new(1000)), Duration::from_millis(4));
        assert_eq!(Rate::default().time_of(Bytes::new(1)), Duration::MAX);
    }

    #[test]
    fn probabilities_stay_between_zero_and_one() {
        assert_eq!("1%".parse::<Probability>().unwrap().value(), 0.01);
        for text in ["-0.1", "1.1", "101%", "NaN", "inf", "x"] {
            assert!(text.parse::<Probability>().is_err(), "{text}");
        }
        assert!(Probability::new(f64::NAN).is_none());
    }

    /// The error for a wrong unit of a queue size lists packets and bytes.
    #[test]
    fn queue_size_errors_list_packets_and_bytes() {
        for text in ["20Packets", "5pkts", "20p", "5packetz"] {
            let error = text.parse::<QueueSize>().unwrap_err().to_string();
            assert!(
                error.contains("for the size of a queue; known are packets, B, kB, MB, GB, KiB, MiB, GiB"),
                "{error}"
            );
        }
        for text in ["20", "packets", "", "many"] {
            let error = text.parse::<QueueSize>().unwrap_err().to_string();
            assert!(error.contains("\"20packets\" or \"30kB\""), "{error}");
        }
        assert_eq!("3 packet".parse(), Ok(QueueSize::Packets(3)));
    }

    /// The range limits the value, not the number before the unit, so that printed values can be parsed.
    #[test]
    fn thresholds_are_at_most_ten_to_the_eighteen() {
        assert_eq!("1000000000000MB".parse(), Ok(Threshold::Bytes(1e18)));
        for text in ["1000000000001MB", "1e16kB", "1.1e18B", "1.1e18packets", "-1B"] {
            assert!(text.parse::<Threshold>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn quantities_survive_printing(value: u64, level in 0.0..1e9f64) {
            let rate = Rate::from_bits_per_second(value);
            prop_assert_eq!(rate.to_string().parse::<Rate>().unwrap(), rate);
            let bytes = Bytes::new(value);
            prop_assert_eq!(bytes.to_string().parse::<Bytes>().unwrap(), bytes);
            for size in [QueueSize::Packets(value), QueueSize::Bytes(bytes)] {
                prop_assert_eq!(size.to_string().parse::<QueueSize>().unwrap(), size);
            }
            for threshold in [Threshold::Packets(level), Threshold::Bytes(level)] {
                prop_assert_eq!(threshold.to_string().parse::<Threshold>().unwrap(), threshold);
            }
        }
    }
}
