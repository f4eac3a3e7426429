//! The files that a scenario names. Who calls reads them: nothing here touches a disk.

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

/// Where the files that a scenario names come from.
pub trait Files {
    /// Returns the contents of the file at `path`, which is as the scenario writes it: relative to the scenario's own place.
    ///
    /// # Errors
    /// The file cannot be read, or is longer than `limit` bytes. A longer file must be refused without being read whole.
    fn read(&self, path: &str, limit: u64) -> io::Result<Vec<u8>>;
}

/// No files at all: a scenario that names one is wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str, _: u64) -> io::Result<Vec<u8>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "no files can be read here"))
    }
}

/// The most bytes of all files of one scenario together.
const MOST_BYTES: u64 = 256 << 20;

/// Reason why a file is not what a scenario reads there.
#[derive(Debug, thiserror::Error)]
enum TraceError<'a> {
    #[error("cannot read \"{}\": {error}", quoted(file))]
    Unreadable { file: &'a str, error: Box<dyn Error> },
    #[error("cannot read \"{}\": it is not text; {expected}", quoted(file))]
    NotText { file: &'a str, expected: String },
    #[error("\"{}\" is not a {what}: {error}", quoted(file))]
    Malformed { file: &'a str, what: &'static str, error: Box<dyn Error> },
}

/// What the files hold that a scenario names, each read once.
pub(crate) struct Traces<'a> {
    files: &'a dyn Files,
    /// How many bytes more may be read.
    left: u64,
    media: Known<Trace>,
    captures: Known<Capture>,
    losses: Known<LossTrace>,
    capacities: Known<CapacityTrace>,
    /// Where in the scenario, and what its user should know about the file.
    pub(crate) notes: Vec<(Path, String)>,
}

/// By the file's name; `None` for one that could not be read, which was told.
type Known<T> = BTreeMap<String, Option<Arc<T>>>;

impl<'a> Traces<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self {
            files,
            left: MOST_BYTES,
            media: Known::new(),
            captures: Known::new(),
            losses: Known::new(),
            capacities: Known::new(),
            notes: Vec::new(),
        }
    }

    /// Returns what the source at `path` plays from its file: `None` if it has no file, `Some(None)` if it could not be read.
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

    /// The media trace that the key at `path` names; `None` if it could not be read.
    fn media(&mut self, reader: &mut Reader<'_>, path: &Path, file: &str) -> Option<Arc<Trace>> {
        if let Some(known) = self.media.get(file) {
            return known.clone();
        }
        let trace = self.fresh(file, Trace::LARGEST_TEXT, "trace", || trace_of(file), Trace::parse);
        known(&mut self.media, reader, path, file, trace)
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
        known(&mut self.captures, reader, path, file, capture)
    }

    /// The loss trace that the key at `path` names; `None` if it could not be read.
    pub(crate) fn loss(&mut self, reader: &mut Reader<'_>, path: &Path, file: &str) -> Option<Arc<LossTrace>> {
        if let Some(known) = self.losses.get(file) {
            return known.clone();
        }
        let right = || "a loss trace has packets, such as 00100, or steps, such as 12.5,0.1".to_owned();
        let trace = self.fresh(file, LossTrace::LARGEST_TEXT, "loss trace", right, LossTrace::parse);
        known(&mut self.losses, reader, path, file, trace)
    }

    /// The capacity trace that the key at `path` names; `None` if it could not be read.
    pub(crate) fn capacity(&mut self, reader: &mut Reader<'_>, path: &Path, file: &str) -> Option<Arc<CapacityTrace>> {
        if let Some(known) = self.capacities.get(file) {
            return known.clone();
        }
        let right = || "a capacity trace has lines of milliseconds, such as 12".to_owned();
        let trace = self.fresh(file, CapacityTrace::LARGEST_TEXT, "capacity trace", right, CapacityTrace::parse);
        known(&mut self.capacities, reader, path, file, trace)
    }

    fn fresh<'f, T, E: Error + 'static>(
        &mut self,
        file: &'f str,
        largest: Bytes,
        what: &'static str,
        right: impl FnOnce() -> String,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, TraceError<'f>> {
        let bytes = self.read(file, largest)?;
        // Some recordings begin like text.
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(|| TraceError::NotText { file, expected: right() })?;
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

/// How a recording becomes a trace: the command of docs/src/sources.md.
fn trace_of(file: &str) -> String {
    let quoted = file.replace('\'', "'\\''");
    format!(
        "convert a recording to a trace with ffprobe -v error -show_entries \
         packet=codec_type,stream_index,pts_time,dts_time,size,flags -of compact '{quoted}' > trace.txt"
    )
}

/// Reports the error of a file once, and remembers the file.
fn known<T>(
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
