//! Parsers of values that several commands have.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use headway_run::TraceFormat;
use headway_units::Probability;
use std::num::NonZeroUsize;

pub(crate) fn trace_format() -> impl TypedValueParser<Value = TraceFormat> {
    PossibleValuesParser::new(TraceFormat::ALL.map(TraceFormat::name)).map(|name| {
        // The parser accepts no other names.
        TraceFormat::ALL.into_iter().find(|format| format.name() == name).unwrap_or(TraceFormat::Ns2)
    })
}

/// Parses a whole number in a range.
fn whole<T: TryFrom<u64>>(text: &str, min: u64, max: u64) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| (min..=max).contains(number));
    number
        .and_then(|number: u64| T::try_from(number).ok())
        .ok_or_else(|| format!("out of range: expected a whole number from {min} to {max}"))
}

/// Parses a seed in the range of scenario files.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0, i64::MAX as u64)
}

pub(crate) fn seeds(text: &str) -> Result<u64, String> {
    whole(text, 1, headway_scenario::MAX_RUNS as u64)
}

pub(crate) fn max_seeds(text: &str) -> Result<u32, String> {
    whole(text, 1, u32::MAX.into())
}

pub(crate) fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let jobs = whole(text, 1, u16::MAX.into())?;
    NonZeroUsize::new(jobs).ok_or_else(|| "expected 1 or more".to_owned())
}

/// Parses the relative half-width of an interval.
pub(crate) fn precision(text: &str) -> Result<Probability, String> {
    let share: Option<Probability> = text.parse().ok();
    share
        .filter(|share| 0.0 < share.value() && share.value() < 1.0)
        .ok_or_else(|| format!("{text} is out of range: expected a share above 0% and below 100%, such as 5%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_options_include_the_allowed_range() {
        assert_eq!(seed("9223372036854775807"), Ok(9_223_372_036_854_775_807));
        for text in ["9223372036854775808", "99999999999999999999", "-1", "1.5", "x"] {
            assert_eq!(seed(text).unwrap_err(), "out of range: expected a whole number from 0 to 9223372036854775807");
        }
        for text in ["0", "100001", "-3"] {
            assert_eq!(seeds(text).unwrap_err(), "out of range: expected a whole number from 1 to 100000");
        }
        assert_eq!(jobs("0").unwrap_err(), "out of range: expected a whole number from 1 to 65535");
        assert_eq!(precision("5%").unwrap().value(), 0.05);
        for text in ["-5%", "NaN%", "NaN", "0", "100%", "1e400%", "x"] {
            let error = precision(text).unwrap_err();
            assert_eq!(error, format!("{text} is out of range: expected a share above 0% and below 100%, such as 5%"));
        }
    }
}
