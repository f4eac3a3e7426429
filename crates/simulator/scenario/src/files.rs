//! Traces and captures in files that a scenario names. The caller reads the files; this module does no I/O.

use crate::path::Path;
use crate::reader::Reader;
use crate::suggest::quoted;
use headway_link::{CapacityTrace, LossTrace};
use headway_media::{Capture, SourceOptions, Trace};
use headway_units::Bytes;
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::sync::Arc;

/// Access to the files that a scenario names.
pub trait Files {
    /// Returns the contents of the file at `path`, which the scenario gives relative to its own folder.
    ///
    /// # Errors
    /// The file cannot be read, or has more than `limit` bytes. Implementations must not read more than `limit` bytes.
    fn read(&self, path: &str, limit: u64) -> io::Result<Vec<u8>>;
}

/// [`Files`] without any file: a scenario that names a file fails to load.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str, _: u64) -> io::Result<Vec<u8>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "no files can be read here"))
    }
}

/// Maximum total size of the files of a scenario, in bytes.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Error of a file that a scenario names.
#[derive(Debug, thiserror::Error)]
enum TraceError<'a> {
    #[error("cannot read \"{}\": {error}", quoted(file))]
    Unreadable { file: &'a str, error: Box<dyn Error> },
    #[error("cannot read \"{}\": it is not text; {expected}", quoted(file))]
    NotText { file: &'a str, expected: String },
    #[error("\"{}\" is not a {what}: {error}", quoted(file))]
    Malformed { file: &'a str, what: &'static str, error: Box<dyn Error> },
}

/// Contents of the files that a scenario names. Each file is read once.
pub(crate) struct Traces<'a> {
    files: &'a dyn Files,
    /// Remaining bytes of [`MAX_FILE_BYTES`].
    left: u64,
    media: Known<Trace>,
    captures: Known<Capture>,
    losses: Known<LossTrace>,
    capacities: Known<CapacityTrace>,
    /// Warnings about files, with their path in the scenario.
    pub(crate) notes: Vec<(Path, String)>,
}

/// Contents by file name; `None` if the file could not be read, which has been reported.
type Known<T> = BTreeMap<String, Option<Arc<T>>>;

impl<'a> Traces<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self {
            files,
            left: MAX_FILE_BYTES,
            media: Known::new(),
            captures: Known::new(),
            losses: Known::new(),
            capacities: Known::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the trace that the source at `path` plays: `None` if it has no file, `Some(None)` if it could not be
    /// read.
    pub(crate) fn source(
        &mut self,
        reader: &mut Reader<'_>,
        path: &Path,
        options: &SourceOptions,
    ) -> Option<Option<Arc<Trace>>> {
        let file = options.file()?;
        let at_file = path.key("file");
        let SourceOptions::Capture(options) = options else { return Some(self.media(reader, &at_file, file)) };
        let schedule = self.capture(reader, &at_file, file).and_then(|capture| {
            let schedule = options.schedule(&capture);
            schedule.map_err(|error| reader.wrong(&path.key(error.key), error.message)).ok()
        });
        Some(schedule.map(|schedule| {
            self.notes.extend(schedule.notes.into_iter().map(|note| (path.clone(), note)));
            Arc::new(schedule.trace)
        }))
    }

    /// Returns the media trace that the key at `path` names; `None` if it could not be read.
    fn media(&mut self, reader: &mut Reader<'_>, path: &Path, file: &str) -> Option<Arc<Trace>> {
        if let Some(known) = self.media.get(file) {
            return known.clone();
        }
        let trace = self.fresh(file, Trace::LARGEST_TEXT, "trace", || trace_command(file), Trace::parse);
        store(&mut self.media, reader, path, file, trace)
    }

    /// Returns the packet capture that the key at `path` names; `None` if it could not be read.
    fn capture(&mut self, reader: &mut Reader<'_>, path: &Path, file: &str) -> Option<Arc<Capture>> {
        if let Some(known) = self.captures.get(file) {
            return known.clone();
        }
        let bytes = self.read(file, Capture::LARGEST_FILE);
        let capture = bytes.and_then(|bytes| {
            Capture::parse(&bytes).map_err(|error| TraceError::Unreadable { file, error: error.into() })
        });
        store(&mut self.captures, reader, path, file, capture)
    }

    /// Returns the loss trace that the key at `path` names; `None` if it could not be read.
    pub(crate) fn loss(&mut self, reader: &mut Reader<'_>, path: &Path, file: &str) -> Option<Arc<LossTrace>> {
        if let Some(known) = self.losses.get(file) {
            return known.clone();
        }
        let expected = || "a loss trace has packets, such as 00100, or steps, such as 12.5,0.1".to_owned();
        let trace = self.fresh(file, LossTrace::LARGEST_TEXT, "loss trace", expected, LossTrace::parse);
        store(&mut self.losses, reader, path, file, trace)
    }

    /// Returns the capacity trace that the key at `path` names; `None` if it could not be read.
    pub(crate) fn capacity(&mut self, reader: &mut Reader<'_>, path: &Path, file: &str) -> Option<Arc<CapacityTrace>> {
        if let Some(known) = self.capacities.get(file) {
            return known.clone();
        }
        let expected = || "a capacity trace has lines of milliseconds, such as 12".to_owned();
        let trace = self.fresh(file, CapacityTrace::LARGEST_TEXT, "capacity trace", expected, CapacityTrace::parse);
        store(&mut self.capacities, reader, path, file, trace)
    }

    fn fresh<'f, T, E: Error + 'static>(
        &mut self,
        file: &'f str,
        largest: Bytes,
        what: &'static str,
        expected: impl FnOnce() -> String,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, TraceError<'f>> {
        let bytes = self.read(file, largest)?;
        // Some binary recordings are valid UTF-8.
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(|| TraceError::NotText { file, expected: expected() })?;
        parse(&text).map_err(|error| TraceError::Malformed { file, what, error: error.into() })
    }

    fn read<'f>(&mut self, file: &'f str, largest: Bytes) -> Result<Vec<u8>, TraceError<'f>> {
        let limit = largest.count().min(self.left);
        let bytes = self.files.read(file, limit);
        let bytes = bytes.map_err(|error| TraceError::Unreadable { file, error: error.into() })?;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(bytes)
    }
}

/// Returns the command that converts a recording to a trace (docs/src/sources.md).
fn trace_command(file: &str) -> String {
    let quoted = file.replace('\'', "'\\''");
    format!(
        "convert a recording to a trace with ffprobe -v error -show_entries \
         packet=codec_type,stream_index,pts_time,dts_time,size,flags -of compact '{quoted}' > trace.txt"
    )
}

/// Reports the error of a file and stores its contents, so that an error is reported once.
fn store<T>(
    all: &mut Known<T>,
    reader: &mut Reader<'_>,
    path: &Path,
    file: &str,
    trace: Result<T, TraceError<'_>>,
) -> Option<Arc<T>> {
    let trace = trace.map_err(|error| reader.wrong(path, error)).ok().map(Arc::new);
    all.insert(file.to_owned(), trace.clone());
    trace
}
