//! The files that a scenario names. Who calls reads them: nothing here touches a disk.

use crate::path::Path;
use crate::reader::Reader;
use crate::suggest::quoted;
use headway_link::{CapacityTrace, LossTrace};
use headway_media::Trace;
use headway_units::Bytes;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

/// Why a file that is there and is no text was not read: what the scenario says it is decides what would be right.
pub const NO_TEXT: &str = "it is no text";

/// Where the files that a scenario names come from.
pub trait Files {
    /// The text of the file at `path`, which is as the scenario writes it: relative to the scenario's own place.
    ///
    /// # Errors
    /// A sentence part that says why there is none, such as `"there is no such file"` or [`NO_TEXT`]. A text longer than `limit` bytes
    /// must be refused without being read whole.
    fn read(&self, path: &str, limit: u64) -> Result<String, String>;
}

/// No files at all: a scenario that names one is wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str, _: u64) -> Result<String, String> {
        Err("no files can be read here".to_owned())
    }
}

/// The most text of all traces of one scenario together.
const MOST_BYTES: u64 = 256 << 20;

/// What the files hold that a scenario names, each read once.
pub(crate) struct Traces<'a> {
    files: &'a dyn Files,
    /// How many bytes more may be read.
    left: u64,
    media: Known<Trace>,
    losses: Known<LossTrace>,
    capacities: Known<CapacityTrace>,
}

/// By the file's name; `None` for one that could not be read, which was told.
type Known<T> = BTreeMap<String, Option<Arc<T>>>;

impl<'a> Traces<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, left: MOST_BYTES, media: Known::new(), losses: Known::new(), capacities: Known::new() }
    }

    /// The media trace that the key at `path` names; `None` if it could not be read.
    pub(crate) fn media(&mut self, reader: &mut Reader<'_>, path: &Path, file: &str) -> Option<Arc<Trace>> {
        if let Some(known) = self.media.get(file) {
            return known.clone();
        }
        let trace = self.fresh(file, Trace::LARGEST_TEXT, "trace", || trace_of(file), Trace::parse);
        known(&mut self.media, reader, path, file, trace)
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

    fn fresh<T, E: Display>(
        &mut self,
        file: &str,
        largest: Bytes,
        what: &str,
        right: impl FnOnce() -> String,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        let limit = largest.count().min(self.left);
        let text = self.files.read(file, limit).map_err(|why| {
            let right = if why == NO_TEXT { format!("; {}", right()) } else { String::new() };
            format!("cannot read \"{}\": {why}{right}", quoted(file))
        })?;
        self.left = self.left.saturating_sub(text.len() as u64);
        parse(&text).map_err(|error| format!("\"{}\" is no {what}: {error}", quoted(file)))
    }
}

/// How a recording becomes a trace: the command of docs/src/sources.md.
fn trace_of(file: &str) -> String {
    let quoted = file.replace('\'', "'\\''");
    format!(
        "of a recording a trace is made: ffprobe -v error -show_entries \
         packet=codec_type,stream_index,pts_time,dts_time,size,flags -of compact '{quoted}' > trace.txt"
    )
}

/// Tells what is wrong, and remembers that it was told.
fn known<T>(
    all: &mut Known<T>,
    reader: &mut Reader<'_>,
    path: &Path,
    file: &str,
    trace: Result<T, String>,
) -> Option<Arc<T>> {
    let trace = trace.map_err(|message| reader.wrong(path, message)).ok().map(Arc::new);
    all.insert(file.to_owned(), trace.clone());
    trace
}
