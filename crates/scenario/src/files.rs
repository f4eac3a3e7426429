//! The files that a scenario names. Who calls reads them: nothing here touches a disk.

use crate::path::Path;
use crate::reader::Reader;
use crate::suggest::quoted;
use headway_media::Trace;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where the files that a scenario names come from.
pub trait Files {
    /// The text of the file at `path`, which is as the scenario writes it: relative to the scenario's own place.
    ///
    /// # Errors
    /// A sentence part that says why there is none, such as `"there is no such file"`. A text longer than `limit` bytes
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

/// Media traces, each read once.
pub(crate) struct Traces<'a> {
    files: &'a dyn Files,
    /// How many bytes more may be read.
    left: u64,
    /// `None` for one that could not be read, which was told.
    read: BTreeMap<String, Option<Arc<Trace>>>,
}

impl<'a> Traces<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, left: MOST_BYTES, read: BTreeMap::new() }
    }

    /// The trace of the flow at `path`; `None` if it could not be read.
    pub(crate) fn read(&mut self, reader: &mut Reader<'_>, path: &Path, file: &str) -> Option<Arc<Trace>> {
        if let Some(trace) = self.read.get(file) {
            return trace.clone();
        }
        let trace = self.fresh(file).map_err(|message| reader.wrong(&path.key("source").key("file"), message)).ok();
        let trace = trace.map(Arc::new);
        self.read.insert(file.to_owned(), trace.clone());
        trace
    }

    fn fresh(&mut self, file: &str) -> Result<Trace, String> {
        let limit = Trace::LARGEST_TEXT.count().min(self.left);
        let text = self.files.read(file, limit).map_err(|why| format!("cannot read \"{}\": {why}", quoted(file)))?;
        self.left = self.left.saturating_sub(text.len() as u64);
        Trace::parse(&text).map_err(|error| format!("\"{}\" is no trace: {error}", quoted(file)))
    }
}
