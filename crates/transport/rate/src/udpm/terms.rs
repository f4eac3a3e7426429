//! Parameters that the peers of a connection negotiate at set-up: scales and rules (paper section 2.2).
//!
//! The data sender knows its encodings and decides the scales. Each peer accepts one of the rules or all.
//!
//! ```text
//! scales   0, interval, levels (2 bytes), step    the rates are step, 2 * step, .. levels * step
//!          1, interval, rate, rate, ..            1 to 49 rates in ascending order
//! rules    bits 0 and 1: 0 interval, 1 round-trip, 2 packet; bit 2: each loss halves; bits 3 and 4, of round-trip
//! only:
//!          0 measured, 1 one-way, 2 least-one-way
//! ```
//!
//! Interval (in nanoseconds), step and rate (in bits per second) are big-endian numbers of 5 bytes.

use super::{Decide, Halve, RoundTrip, UdpmOptions};
use headway_units::{Dialect, Duration, OptionError, Options as _, Rate};
use std::fmt;

const MULTIPLES: u8 = 0;
const LIST: u8 = 1;
/// Bytes of an interval or a rate.
const NUMBER: usize = 5;
/// Maximum number of rates in a list: a feature value has at most 252 bytes (RFC 4340 sections 5.8 and 6.1).
const MAX_LISTED: usize = (252 - 1 - NUMBER) / NUMBER;

/// Parameters of a controller that both endpoints of a connection agree on before the first data packet: rates,
/// interval and rules of `udpm`, the only controller with such parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Discrete rates, and the interval of decisions, encoded in at most 252 bytes. The data sender decides them.
    pub scales: Vec<u8>,
    /// Number that encodes the options `decide`, `halve` and `round_trip`: one of [`RULES`](Self::RULES).
    pub rules: u8,
}

impl Terms {
    /// All valid values of [`rules`](Self::rules), that of [`initial`](Self::initial) first. Bits 0 and 1: decisions at
    /// an interval (0), per round trip (1) or per packet (2). Bit 2: each loss halves. Bits 3 and 4: round-trip time
    /// measured (0), by the one-way delay (1) or its minimum (2).
    pub const RULES: [u8; 10] = [0, 4, 2, 6, 1, 5, 9, 13, 17, 21];

    /// Returns the parameters of a connection of `udpm` that does not negotiate them: the ten rates 0.2, 0.4, .. 2.0
    /// Mb/s, an interval of 100 ms, and `rules` 0.
    #[must_use]
    pub fn initial() -> Self {
        UdpmOptions::preset(Dialect::default()).terms()
    }

    /// Checks that these bytes encode rates and interval, as [`scales`](Self::scales) does.
    ///
    /// # Errors
    /// Returns the first problem found.
    pub fn check_scales(bytes: &[u8]) -> Result<(), TermsError> {
        UdpmOptions::preset(Dialect::default()).with_scales(bytes).map(drop)
    }
}

/// Reason why [`Terms`], parameters of a controller that both endpoints agree on, are not acceptable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermsError {
    /// [`Terms::scales`] has this number of bytes, which is not valid.
    Length(usize),
    /// The first byte of [`Terms::scales`], which selects its form, has this unknown value.
    Form(u8),
    /// Value that the options of the controller exclude.
    Option(OptionError),
    /// Number that is none of [`Terms::RULES`].
    Rules(u8),
}

impl fmt::Display for TermsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(len) => write!(
                f,
                "scales: {len} bytes are not valid; expected 13 bytes for multiples of a step, or 6 and 5 for each of 1 to 49 rates"
            ),
            Self::Form(form) => {
                write!(f, "scales: form {form} is unknown; expected 0 (multiples of a step) or 1 (a list)")
            }
            Self::Option(error) => write!(f, "scales: {}: {}", error.key, error.message),
            Self::Rules(rules) => write!(f, "rules: {rules} is unknown; expected one of {:?}", Terms::RULES),
        }
    }
}

impl std::error::Error for TermsError {}

impl UdpmOptions {
    pub(crate) fn terms(&self) -> Terms {
        let mut scales = vec![if self.ladder.is_some() { LIST } else { MULTIPLES }];
        push(&mut scales, self.interval.as_nanos());
        match &self.ladder {
            Some(ladder) => ladder.iter().for_each(|rate| push(&mut scales, rate.bits_per_second())),
            None => {
                scales.extend_from_slice(&self.levels.to_be_bytes());
                push(&mut scales, self.step.bits_per_second());
            }
        }
        Terms { scales, rules: self.rules() }
    }

    /// Checks that the scales can be encoded.
    pub(crate) fn check_terms(&self) -> Result<(), OptionError> {
        let listed = self.ladder.as_ref().map_or(0, Vec::len);
        if listed <= MAX_LISTED {
            return Ok(());
        }
        let message =
            format!("{listed} rates are too many for a connection; expected 1 to {MAX_LISTED}, or levels and step");
        Err(OptionError::new("ladder", message))
    }

    pub(crate) fn with_terms(&self, terms: &Terms) -> Result<Self, TermsError> {
        self.with_scales(&terms.scales)?.with_rules(terms.rules)
    }

    fn with_scales(&self, bytes: &[u8]) -> Result<Self, TermsError> {
        let wrong = || TermsError::Length(bytes.len());
        let (form, rest) = bytes.split_first().ok_or_else(wrong)?;
        let (interval, rest) = rest.split_first_chunk().ok_or_else(wrong)?;
        let mut options = Self { interval: Duration::from_nanos(number(interval)), ladder: None, ..self.clone() };
        match *form {
            MULTIPLES => {
                let (levels, rest) = rest.split_first_chunk().ok_or_else(wrong)?;
                let step = rest.try_into().map_err(|_| wrong())?;
                options.levels = u16::from_be_bytes(*levels);
                options.step = Rate::from_bits_per_second(number(step));
            }
            LIST => {
                let rates = rest.chunks(NUMBER).map(|rate| rate.try_into().map(number).map(Rate::from_bits_per_second));
                options.ladder = Some(rates.collect::<Result<_, _>>().map_err(|_| wrong())?);
                options.check_terms().map_err(TermsError::Option)?;
            }
            form => return Err(TermsError::Form(form)),
        }
        options.check().map_err(TermsError::Option)?;
        Ok(options)
    }

    fn rules(&self) -> u8 {
        let decide = match (self.decide, self.round_trip) {
            (Decide::Interval, _) => 0,
            (Decide::Packet, _) => 2,
            (Decide::RoundTrip, RoundTrip::Measured) => 1,
            (Decide::RoundTrip, RoundTrip::OneWay) => 9,
            (Decide::RoundTrip, RoundTrip::LeastOneWay) => 17,
        };
        decide + if self.halve == Halve::EachLoss { 4 } else { 0 }
    }

    fn with_rules(self, rules: u8) -> Result<Self, TermsError> {
        if !Terms::RULES.contains(&rules) {
            return Err(TermsError::Rules(rules));
        }
        let halve = if rules & 4 == 0 { Halve::Once } else { Halve::EachLoss };
        let (decide, round_trip) = match rules & !4 {
            0 => (Decide::Interval, self.round_trip),
            2 => (Decide::Packet, self.round_trip),
            9 => (Decide::RoundTrip, RoundTrip::OneWay),
            17 => (Decide::RoundTrip, RoundTrip::LeastOneWay),
            _ => (Decide::RoundTrip, RoundTrip::Measured),
        };
        Ok(Self { halve, decide, round_trip, ..self })
    }
}

fn push(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(number.to_be_bytes().get(8 - NUMBER..).unwrap_or_default());
}

fn number(bytes: &[u8; NUMBER]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn udpm() -> UdpmOptions {
        UdpmOptions::preset(Dialect::Rfc)
    }

    /// Paper section 2.2, "sets of encoding strategies ... different values of scales": ten multiples of 200 kb/s
    /// (0x30d40) every 100 ms (0x5f5e100 ns), and three listed rates.
    #[test]
    fn udpm_2_2_scales_on_the_wire() {
        assert_eq!(Terms::initial().scales, [0, 0, 5, 0xf5, 0xe1, 0, 0, 10, 0, 0, 3, 0x0d, 0x40]);
        assert_eq!(Terms::initial().rules, 0);
        let rates = [64_000, 128_000, 400_000].map(Rate::from_bits_per_second);
        let three = UdpmOptions { ladder: Some(rates.to_vec()), ..udpm() }.terms().scales;
        let head = [1, 0, 5, 0xf5, 0xe1, 0];
        let listed = [0, 0, 0, 0xfa, 0, 0, 0, 1, 0xf4, 0, 0, 0, 6, 0x1a, 0x80];
        assert_eq!(three, [&head[..], &listed].concat());
        assert_eq!(udpm().with_scales(&three).unwrap().ladder.as_deref(), Some(&rates[..]));
    }

    /// All dialects start with the initial terms: a connection with default options negotiates none.
    #[test]
    fn presets_are_the_initial_terms() {
        for dialect in [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Ns3, Dialect::Linux] {
            assert_eq!(UdpmOptions::preset(dialect).terms(), Terms::initial(), "{dialect}");
        }
    }

    #[test]
    fn udpm_2_2_rules_on_the_wire() {
        for rules in Terms::RULES {
            assert_eq!(udpm().with_rules(rules).unwrap().rules(), rules);
        }
        let unknown = (0..=255).filter(|rules| !Terms::RULES.contains(rules));
        assert!(unknown.into_iter().all(|rules| udpm().with_rules(rules) == Err(TermsError::Rules(rules))));
    }

    #[test]
    fn malformed_scales_are_rejected_with_a_reason() {
        let multiples =
            |levels: u16, step: u64| UdpmOptions { levels, step: Rate::from_bits_per_second(step), ..udpm() };
        let list = |rates: &[u64]| UdpmOptions {
            ladder: Some(rates.iter().map(|rate| Rate::from_bits_per_second(*rate)).collect()),
            ..udpm()
        };
        let fifty: Vec<u64> = (1..=50).collect();
        for (bytes, reason) in [
            (vec![], "0 bytes are not valid"),
            (vec![0; 12], "12 bytes are not valid"),
            (vec![0; 14], "14 bytes are not valid"),
            (vec![1, 0, 5, 0xf5, 0xe1, 0, 0, 0, 0, 1], "10 bytes are not valid"),
            (vec![2, 0, 5, 0xf5, 0xe1, 0], "form 2 is unknown"),
            (vec![0; 13], "levels: there are 1 to 256 rates"),
            (multiples(0, 1000).terms().scales, "levels: there are 1 to 256 rates"),
            (multiples(257, 1000).terms().scales, "levels: there are 1 to 256 rates"),
            (multiples(5, 0).terms().scales, "step: a rate is more than 0bps"),
            (multiples(256, 1_000_000_000).terms().scales, "step: the greatest rate is at most 100Gbps"),
            (UdpmOptions { interval: Duration::ZERO, ..udpm() }.terms().scales, "interval: "),
            (list(&[]).terms().scales, "ladder: there are 1 to 256 rates"),
            (list(&[0, 1]).terms().scales, "ladder: 0bps is out of range; expected a first rate above 0bps"),
            (list(&[3, 3]).terms().scales, "ladder: 3bps follows 3bps; expected rates in ascending order"),
            (list(&[3, 1]).terms().scales, "ladder: 1bps follows 3bps; expected rates in ascending order"),
            (list(&fifty).terms().scales, "ladder: 50 rates are too many for a connection; expected 1 to 49"),
        ] {
            let error = Terms::check_scales(&bytes).unwrap_err().to_string();
            assert!(error.starts_with("scales: ") && error.contains(reason), "{bytes:?}: {error}");
        }
        assert_eq!(Terms::check_scales(&list(&fifty[..49]).terms().scales), Ok(()));
        assert_eq!(list(&fifty).check_terms().unwrap_err().key, "ladder");
    }

    proptest! {
        /// Accepted bytes are encoded as the same bytes, and their options are valid.
        #[test]
        fn any_bytes_are_valid_scales_or_rejected(form in 0u8..3, bytes in prop::collection::vec(any::<u8>(), 0..260)) {
            let bytes = [&[form][..], &bytes].concat();
            if let Ok(options) = udpm().with_scales(&bytes) {
                prop_assert_eq!(options.terms().scales, bytes);
                prop_assert!(options.check().is_ok() && options.check_terms().is_ok());
            }
        }

        #[test]
        fn decoding_inverts_encoding(
            rates in prop::collection::btree_set(1u64..=100_000_000_000, 1..=49), levels in 1u16..=256,
            step in 1u64..=390_625_000, interval_ns in 1_000_000u64..=64_000_000_000, listed: bool,
        ) {
            let ladder = listed.then(|| rates.into_iter().map(Rate::from_bits_per_second).collect());
            let step = Rate::from_bits_per_second(step);
            let options = UdpmOptions { levels, step, ladder, interval: Duration::from_nanos(interval_ns), ..udpm() };
            let read = UdpmOptions { levels, step, ..udpm() }.with_terms(&options.terms());
            prop_assert_eq!(read, Ok(options));
        }
    }
}
