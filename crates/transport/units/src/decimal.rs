//! Exact decimal text with a unit: `"3.25ms"` is parsed to 3250000 ns without floating point.

use std::fmt;

/// Error of parsing a quantity, such as a rate or a duration. The message includes the expected form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text does not start with a decimal number.
    #[error("\"{text}\" is not {what}: write {example}")]
    NotANumber {
        /// Rejected text, shortened.
        text: String,
        /// Name of the quantity, with its article.
        what: &'static str,
        /// Example of the notation.
        example: &'static str,
    },
    /// The number has no unit.
    #[error("\"{text}\" has no unit: {what} is written {example}")]
    NoUnit {
        /// Rejected text, shortened.
        text: String,
        /// Name of the quantity, with its article.
        what: &'static str,
        /// Example of the notation.
        example: &'static str,
    },
    /// The quantity has no such unit.
    #[error("\"{text}\": unknown unit \"{unit}\" for {what}; known are {known}")]
    UnknownUnit {
        /// Rejected text, shortened.
        text: String,
        /// Unknown unit.
        unit: String,
        /// Name of the quantity, with its article.
        what: &'static str,
        /// Units of the quantity, separated by commas.
        known: String,
    },
    /// The value is out of range.
    #[error("\"{text}\" is out of range: {what} is {range}")]
    OutOfRange {
        /// Rejected text, shortened.
        text: String,
        /// Name of the quantity, with its article.
        what: &'static str,
        /// Allowed range.
        range: &'static str,
    },
}

/// Textual form of a quantity.
pub(crate) struct Notation {
    pub(crate) what: &'static str,
    pub(crate) example: &'static str,
    pub(crate) range: &'static str,
    /// Names and sizes in base units. Of several units of equal size, the first is printed.
    pub(crate) units: &'static [(&'static str, u64)],
}

/// Decimal number `digits * 10^exponent` with a separate sign.
struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
}

/// Number of digits kept; further digits do not matter below 2^64 with nine decimals.
const MAX_DIGITS: u32 = 30;

fn split(text: &str) -> Option<(Decimal, &str)> {
    let (negative, body) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut digits: u128 = 0;
    let mut count = 0u32;
    let mut seen = false;
    let mut exponent: i32 = 0;
    let mut after_point = false;
    let mut end = 0;
    for (index, c) in body.char_indices() {
        match c {
            '0'..='9' => {
                seen = true;
                if count < MAX_DIGITS {
                    digits = digits * 10 + u128::from(c as u8 - b'0');
                    count += u32::from(digits != 0);
                    exponent -= i32::from(after_point);
                } else {
                    exponent = exponent.saturating_add(i32::from(!after_point));
                }
            }
            '_' if seen => {}
            '.' if !after_point => after_point = true,
            _ => break,
        }
        end = index + c.len_utf8();
    }
    if !seen {
        return None;
    }
    let rest = &body[end..];
    // An exponent requires digits, so that "5e" is not accepted as a number without unit.
    if let Some(tail) = rest.strip_prefix(['e', 'E']) {
        let sign_length = usize::from(tail.starts_with(['+', '-']));
        let number_length = tail[sign_length..].bytes().take_while(u8::is_ascii_digit).count();
        if number_length > 0 {
            let end = sign_length + number_length;
            let parsed: i32 = tail[..end].parse().unwrap_or(if tail.starts_with('-') { -1000 } else { 1000 });
            return Some((Decimal { negative, digits, exponent: exponent.saturating_add(parsed) }, &tail[end..]));
        }
    }
    Some((Decimal { negative, digits, exponent }, rest))
}

impl Decimal {
    /// Returns `self * unit`, rounded half up; `None` if it is negative or does not fit in 64 bits.
    fn scaled(&self, unit: u64) -> Option<u64> {
        if self.digits == 0 {
            return Some(0);
        }
        if self.negative || self.exponent > 20 {
            return None;
        }
        if self.exponent >= 0 {
            let value = self.digits.checked_mul(10u128.checked_pow(self.exponent as u32)?)?;
            return u64::try_from(value.checked_mul(u128::from(unit))?).ok();
        }
        // digits < 10^30 and unit <= 10^12 (2^40): the product needs up to 140 bits, so drop digits.
        let divisor_exponent = self.exponent.unsigned_abs();
        if divisor_exponent > 60 {
            return Some(0);
        }
        let mut digits = self.digits;
        let mut left = divisor_exponent;
        while digits.checked_mul(u128::from(unit)).is_none() || left > 38 {
            // The dropped digit is far below the last base unit: of the 30 digits kept, at most 20 matter.
            digits /= 10;
            left -= 1;
            if left == 0 {
                return u64::try_from(digits.checked_mul(u128::from(unit))?).ok();
            }
        }
        let product = digits * u128::from(unit);
        let divisor = 10u128.pow(left);
        let rounded = product / divisor + u128::from(product % divisor >= divisor.div_ceil(2));
        u64::try_from(rounded).ok()
    }
}

impl Notation {
    pub(crate) fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let (number, factor) = match self.split(text) {
            // A unit would not make a negative number valid.
            Err(ParseError::NoUnit { .. }) if text.trim().starts_with('-') => return Err(self.out_of_range(text)),
            split => split?,
        };
        number.scaled(factor).ok_or_else(|| self.out_of_range(text))
    }

    /// Parses a signed quantity from `-max` to `max`.
    pub(crate) fn parse_signed(&self, text: &str, max: u64) -> Result<i64, ParseError> {
        let (mut number, factor) = self.split(text)?;
        let negative = std::mem::take(&mut number.negative);
        let size = number.scaled(factor).filter(|size| *size <= max).and_then(|size| i64::try_from(size).ok());
        let size = size.ok_or_else(|| self.out_of_range(text))?;
        Ok(if negative { -size } else { size })
    }

    fn out_of_range(&self, text: &str) -> ParseError {
        ParseError::OutOfRange { text: shorten(text.trim()), what: self.what, range: self.range }
    }

    /// Returns the names of all units, for messages.
    pub(crate) fn known(&self) -> String {
        self.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    /// Returns the number and the size of its unit in base units.
    fn split(&self, text: &str) -> Result<(Decimal, u64), ParseError> {
        let trimmed = text.trim();
        let shown = || shorten(trimmed);
        let Some((number, unit)) = split(trimmed) else {
            return Err(ParseError::NotANumber { text: shown(), what: self.what, example: self.example });
        };
        let unit = unit.trim_start();
        let Some((_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            if unit.is_empty() {
                if number.digits == 0 && !number.negative {
                    return Ok((number, 1));
                }
                return Err(ParseError::NoUnit { text: shown(), what: self.what, example: self.example });
            }
            return Err(ParseError::UnknownUnit {
                text: shown(),
                unit: shorten(unit),
                what: self.what,
                known: self.known(),
            });
        };
        Ok((number, *factor))
    }

    /// Writes the sign and [`Self::format`] of the absolute value.
    pub(crate) fn format_signed(&self, value: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if value < 0 {
            f.write_str("-")?;
        }
        self.format(value.unsigned_abs(), f)
    }

    /// Writes the shortest exact decimal: the largest unit in which the value is at least 1.
    pub(crate) fn format(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = self.units.iter().find(|(_, factor)| *factor == 1).unwrap_or(&self.units[0]);
        let mut best = *base;
        for &(name, factor) in self.units {
            let decimal = is_power_of_ten(factor);
            if decimal && factor > best.1 && value >= factor {
                best = (name, factor);
            }
        }
        let (name, factor) = best;
        let whole = value / factor;
        let fraction = value % factor;
        if fraction == 0 {
            return write!(f, "{whole}{name}");
        }
        let width = factor.ilog10() as usize;
        let digits = format!("{fraction:0width$}");
        write!(f, "{whole}.{}{name}", digits.trim_end_matches('0'))
    }
}

/// Returns the leading number of a text and the rest as its unit: 1.5 and `"ms"` of `"1.5ms"`. `None` without number.
#[must_use]
pub fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let trimmed = text.trim();
    let (_, rest) = split(trimmed)?;
    let number = trimmed[..trimmed.len() - rest.len()].replace('_', "");
    Some((number.parse().ok()?, rest.trim_start()))
}

fn is_power_of_ten(value: u64) -> bool {
    10u64.checked_pow(value.ilog10()) == Some(value)
}

/// Returns at most 40 characters of an input, for error messages.
pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.to_owned();
    }
    text.chars().take(37).chain("...".chars()).collect()
}
