//! Standard output, which may go away at any time, and what is said beside it. Nothing that a scenario, a file or a path
//! brings with it reaches a terminal as it is.

use crate::error::Failure;
use headway_scenario::printable;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

pub(crate) fn text(text: &str) -> Result<(), Failure> {
    write(text).map_err(Failure::Output)
}

/// Writes a text and a line break, and waits for the reader.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(lines(text.trim_end_matches('\n')).as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Writes a page to a file, and prints this line about it; or prints the page, if the file is `-`.
pub(crate) fn page(path: &Path, page: &str, line: &str) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return text(page);
    }
    std::fs::write(path, page).map_err(Failure::file("write", path))?;
    text(line)
}

/// Control characters are written as JSON writes them, which means the same to who reads it.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value).map_err(|error| Failure::Output(error.into()))?;
    text(&json)
}

/// Something for people, apart from the results. Where nobody listens it is said all the same.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", lines(text));
}

/// Each line as it may be shown.
fn lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}
