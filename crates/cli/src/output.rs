//! Standard output, which may go away at any time.

use crate::error::Failure;
use serde::Serialize;
use std::io::Write;

pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.trim_end_matches('\n').as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush())
        .map_err(Failure::Output)
}

pub(crate) fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value).map_err(|error| Failure::Output(error.into()))?;
    text(&json)
}
