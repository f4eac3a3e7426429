//! Option area of a packet, and its division into options (RFC 4340 section 5.8).

use super::number;
use super::{DccpOption, OptionError, OptionFault};

/// Encoded options of a packet, a multiple of four bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionArea<'a>(&'a [u8]);

/// Option whose data is not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// Type of the option.
    pub number: u8,
    /// Data without type and length; empty for the one-byte types 0 to 31.
    pub data: &'a [u8],
}

impl<'a> OptionArea<'a> {
    /// Empty option area.
    pub const EMPTY: Self = Self(&[]);

    /// Creates an area from encoded and padded options; `None` if no header can hold them: the size
    /// must be a multiple of four and at most 1008 bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Option<Self> {
        if bytes.len().is_multiple_of(4) && bytes.len() <= 1020 - 12 { Some(Self(bytes)) } else { None }
    }

    /// Creates an area from the part of a header between its fixed part and Data Offset, which is a multiple of four.
    pub(crate) const fn of_header(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the options, padding included.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Returns all options in order, with Padding and Mandatory, for display and re-encoding. Unlike
    /// [`OptionArea::process`], it neither ignores nor rejects options that are wrong in a packet of some type. An
    /// option with an invalid length is returned as an error, and is the last.
    pub fn iter(&self) -> impl Iterator<Item = Result<DccpOption<'a>, OptionError>> + use<'a> {
        self.raw().map(|(offset, raw)| {
            let raw = raw?;
            DccpOption::decode(raw).map_err(|fault| OptionError::new(offset, raw, false, fault))
        })
    }

    pub(super) fn raw(&self) -> RawOptions<'a> {
        RawOptions { area: self.0, at: 0 }
    }
}

#[derive(Clone)]
pub(super) struct RawOptions<'a> {
    area: &'a [u8],
    at: usize,
}

impl<'a> Iterator for RawOptions<'a> {
    type Item = (usize, Result<RawOption<'a>, OptionError>);

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.at;
        let (&option, rest) = self.area.get(offset..)?.split_first()?;
        if option < number::FIRST_LONG {
            self.at += 1;
            return Some((offset, Ok(RawOption { number: option, data: &[] })));
        }
        let length = rest.first().copied();
        let data = length.and_then(|length| rest.get(1..usize::from(length).checked_sub(1)?));
        if let Some(data) = data {
            self.at += 2 + data.len();
            return Some((offset, Ok(RawOption { number: option, data })));
        }
        // "Any option space following an option with nonsensical length MUST likewise be ignored."
        self.at = self.area.len();
        let fault = OptionFault::NonsensicalLength { length, left: rest.len() + 1 };
        let option = RawOption { number: option, data: &[] };
        Some((offset, Err(OptionError::new(offset, option, false, fault))))
    }
}
