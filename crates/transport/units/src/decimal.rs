//! Exact decimal text with a unit: `"3.25ms"` is 3250000 ns, to the digit, without floating point.

use std::fmt;

/// Why a text is not the quantity it should be. Its sentence names what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text does not start with a decimal number.
    #[error("\"{text}\" is not {what}: write {example}")]
    NotANumber {
        /// What was found.
        text: String,
        /// What was expected.
        what: &'static str,
        /// A right text.
        example: &'static str,
    },
    /// The number has no unit.
    #[error("\"{text}\" has no unit: {what} is written {example}")]
    NoUnit {
        /// What was found.
        text: String,
        /// What was expected.
        what: &'static str,
        /// A right text.
        example: &'static str,
    },
    /// The unit is not one of this quantity.
    #[error("\"{text}\": unknown unit \"{unit}\" for {what}; known are {known}")]
    UnknownUnit {
        /// What was found.
        text: String,
        /// The unit in it.
        unit: String,
        /// What was expected.
        what: &'static str,
        /// The units there are.
        known: String,
    },
    /// The value does not fit.
    #[error("\"{text}\" is out of range: {what} is {range}")]
    OutOfRange {
        /// What was found.
        text: String,
        /// What was expected.
        what: &'static str,
        /// The range.
        range: &'static str,
    },
}

/// What a kind of quantity looks like in text.
pub(crate) struct Notation {
    pub(crate) what: &'static str,
    pub(crate) example: &'static str,
    pub(crate) range: &'static str,
    /// Name and how many base units one of it is; the first of equal size is the one printed.
    pub(crate) units: &'static [(&'static str, u64)],
}

/// A decimal number as `digits * 10^exponent`, sign apart.
struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
}

/// Digits kept of a number; more cannot matter below 2^64 with nine decimals.
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
    // An exponent only where digits follow: "5e" would otherwise hide a unit.
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
    /// `self * unit`, rounded half up; `None` if it is negative or does not fit in 64 bits.
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
        // digits < 10^30 and unit <= 10^12 (2^40): the product needs at most 140 bits, so split the unit's factor.
        let divisor_exponent = self.exponent.unsigned_abs();
        if divisor_exponent > 60 {
            return Some(0);
        }
        let mut digits = self.digits;
        let mut left = divisor_exponent;
        while digits.checked_mul(u128::from(unit)).is_none() || left > 38 {
            // Below the last base unit by far: at most 30 digits are kept, of which 20 can matter.
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
            // A unit would not make it right.
            Err(ParseError::NoUnit { .. }) if text.trim().starts_with('-') => return Err(self.out_of_range(text)),
            split => split?,
        };
        number.scaled(factor).ok_or_else(|| self.out_of_range(text))
    }

    /// The same where it may be negative: from `-most` to `most`.
    pub(crate) fn parse_signed(&self, text: &str, most: u64) -> Result<i64, ParseError> {
        let (mut number, factor) = self.split(text)?;
        let negative = std::mem::take(&mut number.negative);
        let size = number.scaled(factor).filter(|size| *size <= most).and_then(|size| i64::try_from(size).ok());
        let size = size.ok_or_else(|| self.out_of_range(text))?;
        Ok(if negative { -size } else { size })
    }

    fn out_of_range(&self, text: &str) -> ParseError {
        ParseError::OutOfRange { text: shorten(text.trim()), what: self.what, range: self.range }
    }

    /// Its units, for messages.
    pub(crate) fn known(&self) -> String {
        self.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    /// The number, and how many base units one of its unit is.
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

    /// As [`Self::format`], behind its sign.
    pub(crate) fn format_signed(&self, value: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if value < 0 {
            f.write_str("-")?;
        }
        self.format(value.unsigned_abs(), f)
    }

    /// Prints the shortest exact decimal: the largest unit that leaves at least one before the point.
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

/// The number that a text begins with and the unit behind it, whatever that is: 1.5 and `"ms"` of `"1.5ms"`; `None` without a number.
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

/// Error messages quote input; nobody wants a megabyte of it.
pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.to_owned();
    }
    text.chars().take(37).chain("...".chars()).collect()
}
