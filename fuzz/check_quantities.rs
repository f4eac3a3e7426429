//! Invariants of texts of quantities and overrides in scenarios and on the command line: a parsed value is printed to
//! text that parses to an equal value. Shared by the fuzz target and the test that replays `fuzz/corpus`.

use headway_units::{Bytes, Dialect, Duration, Probability, QueueSize, Rate, Threshold};
use std::fmt::{Debug, Display};
use std::str::FromStr;

pub(crate) fn check(bytes: &[u8]) {
    let text = &String::from_utf8_lossy(bytes);
    comes_back::<Rate>(text);
    comes_back::<Bytes>(text);
    comes_back::<Duration>(text);
    comes_back::<QueueSize>(text);
    comes_back::<Dialect>(text);
    if let Some(value) = comes_back::<Probability>(text) {
        assert!((0.0..=1.0).contains(&value.value()));
    }
    comes_back::<Threshold>(text);
}

fn comes_back<T: FromStr + Display + PartialEq + Debug>(text: &str) -> Option<T>
where
    T::Err: Display,
{
    match text.parse::<T>() {
        Err(error) => {
            let error = error.to_string();
            // Error messages do not repeat long texts.
            assert!(!error.is_empty() && error.len() < 400, "{error}");
            None
        }
        Ok(value) => {
            let printed = value.to_string();
            let again = printed.parse::<T>();
            assert!(again.is_ok_and(|again| again == value), "{text} is {value:?}, printed {printed}");
            Some(value)
        }
    }
}
