//! Standard output and standard error. Control characters in names, paths and file contents are escaped.

use crate::error::Failure;
use headway_scenario::printable;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

pub(crate) fn text(text: &str) -> Result<(), Failure> {
    write(text).map_err(Failure::Output)
}

/// Writes a text and a line break. Blocks until the reader accepts them.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(lines(text.trim_end_matches('\n')).as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Text in the head of every HTML page of Headway, by which `-o` recognizes a page that it may replace.
pub(crate) const PAGE_MARK: &str = "<title>Headway";
/// Size of the start of a page that is searched for [`PAGE_MARK`], in bytes.
pub(crate) const PAGE_HEAD: u64 = 4 << 10;

/// Output file of a page; `-` is standard output.
pub(crate) struct Page<'a>(&'a Path);

impl<'a> Page<'a> {
    /// Checks that the file can be written and does not belong to another program.
    pub(crate) fn at(path: &'a Path) -> Result<Self, Failure> {
        if path.as_os_str() != "-" {
            check_page(path)?;
        }
        Ok(Self(path))
    }

    /// Writes the page to the file and prints `line`, or prints the page to standard output.
    pub(crate) fn write(&self, page: &str, line: &str) -> Result<(), Failure> {
        let Self(path) = self;
        if path.as_os_str() == "-" {
            return text(page);
        }
        replace(path, page).map_err(Failure::file("write", path))?;
        text(line)
    }
}

/// Writes a file. A file that exists is replaced when the new one is complete, so that an error leaves the old one.
fn replace(path: &Path, page: &str) -> io::Result<()> {
    let old = match std::fs::symlink_metadata(path) {
        Ok(old) if old.is_file() => old,
        // A new file, or a link, pipe or device.
        _ => return std::fs::write(path, page),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(page.as_bytes())?;
    file.as_file().set_permissions(old.permissions())?;
    file.persist(path)?;
    Ok(())
}

fn check_page(path: &Path) -> Result<(), Failure> {
    match File::create_new(path) {
        Ok(_) => return std::fs::remove_file(path).map_err(Failure::file("write", path)),
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(Failure::file("write", path)(error)),
        Err(_) => {}
    }
    let about = std::fs::metadata(path).map_err(Failure::file("write", path))?;
    if !about.is_file() {
        return Ok(());
    }
    OpenOptions::new().append(true).open(path).map_err(Failure::file("write", path))?;
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(PAGE_HEAD).read_to_end(&mut head));
    read.map_err(Failure::file("read", path))?;
    if head.is_empty() || String::from_utf8_lossy(&head).contains(PAGE_MARK) {
        return Ok(());
    }
    let why = "this file was not written by Headway; remove it, or set another file with -o";
    Err(Failure::record(path.to_owned(), why))
}

/// Prints a value as JSON. Escaped control characters are those of JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value).map_err(|error| Failure::Output(error.into()))?;
    text(&json)
}

/// Prints a message to standard error. Ignores write errors.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", lines(text));
}

/// Escapes control characters in each line.
fn lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        for page in ["a long page", "short"] {
            replace(&path, page).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), page);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
        assert!(replace(&folder.path().join("none/report.html"), "page").is_err());
    }
}
