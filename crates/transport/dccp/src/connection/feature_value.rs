//! Value of a feature, and its encoding (RFC 4340 section 6.4).

use crate::feature::Feature;
use headway_rate::Terms;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u64),
    /// Value of [`Feature::SCALES`]: at most 252 bytes.
    Bytes(Box<[u8]>),
}

pub(crate) enum Encoded<'a> {
    Number([u8; 8], usize),
    Bytes(&'a [u8]),
}

impl Value {
    pub(crate) fn initial(feature: Feature) -> Self {
        match feature {
            Feature::SCALES => Self::Bytes(Terms::initial().scales.into()),
            _ => Self::Number(feature.initial().unwrap_or(0)),
        }
    }

    pub(crate) fn read(feature: Feature, bytes: &[u8]) -> Self {
        match feature {
            Feature::SCALES => Self::Bytes(bytes.into()),
            _ => Self::Number(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))),
        }
    }

    /// Returns the number, or 0 for a byte string.
    pub(crate) const fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Bytes(_) => 0,
        }
    }

    pub(crate) const fn byte(&self) -> u8 {
        self.number() as u8
    }

    pub(crate) fn encode(&self, feature: Feature) -> Encoded<'_> {
        match self {
            Self::Number(number) => Encoded::Number(number.to_be_bytes(), len_of_number(feature)),
            Self::Bytes(bytes) => Encoded::Bytes(bytes),
        }
    }

    pub(crate) fn save(&self, feature: Feature, bytes: &mut Vec<u8>) {
        if let Self::Bytes(value) = self {
            bytes.push(value.len() as u8);
        }
        bytes.extend_from_slice(self.encode(feature).as_ref());
    }

    /// Reads a value written by [`save`](Self::save). Returns it and the rest; `None` if the bytes are too short.
    pub(crate) fn restore(feature: Feature, bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (len, bytes) = match feature {
            Feature::SCALES => bytes.split_first().map(|(len, rest)| (usize::from(*len), rest))?,
            _ => (len_of_number(feature), bytes),
        };
        let (value, rest) = bytes.split_at_checked(len)?;
        Some((Self::read(feature, value), rest))
    }
}

impl Encoded<'_> {
    pub(crate) fn len(&self) -> usize {
        self.as_ref().len()
    }
}
impl AsRef<[u8]> for Encoded<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Number(bytes, len) => bytes.get(8 - len..).unwrap_or_default(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

const fn len_of_number(feature: Feature) -> usize {
    match feature {
        Feature::SEQUENCE_WINDOW => 6,
        Feature::ACK_RATIO => 2,
        _ => 1,
    }
}
