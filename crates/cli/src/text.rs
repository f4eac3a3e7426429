//! A scenario's text, what the command line changes in it, and the files beside it.

use crate::error::Failure;
use crate::files::read_text;
use headway_scenario::{Files, Override};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Larger scenario files are mistakes.
const LARGEST_SCENARIO: u64 = 16 << 20;

/// Reads the files that a scenario names, relative to the scenario's own folder, and remembers them: the record holds a
/// copy, so that it can be run again wherever it goes.
pub(crate) struct Beside {
    folder: PathBuf,
    read: RefCell<BTreeMap<String, Arc<str>>>,
}

impl Beside {
    pub(crate) fn taken(&self) -> BTreeMap<String, Arc<str>> {
        self.read.borrow().clone()
    }
}

impl Files for Beside {
    fn read(&self, path: &str, limit: u64) -> Result<String, String> {
        if let Some(text) = self.read.borrow().get(path) {
            return Ok(text.to_string());
        }
        let text = read_text(&self.folder.join(path), limit).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => format!("it is no text; {}", trace_of(path)),
            _ => error.to_string(),
        })?;
        // Some recordings begin like text.
        if text.contains('\0') {
            return Err(format!("it is no text; {}", trace_of(path)));
        }
        self.read.borrow_mut().insert(path.to_owned(), text.as_str().into());
        Ok(text)
    }
}

/// How a recording becomes a text: the command of docs/src/sources.md.
fn trace_of(path: &str) -> String {
    let quoted = path.replace('\'', "'\\''");
    format!(
        "of a recording a trace is made: ffprobe -v error -show_entries \
         packet=codec_type,stream_index,pts_time,dts_time,size,flags -of compact '{quoted}' > trace.txt"
    )
}

/// What scenarios are made from.
pub(crate) struct ScenarioText {
    /// Its name, for messages.
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) overrides: Vec<Override>,
    pub(crate) files: Beside,
}

impl ScenarioText {
    pub(crate) fn read<'a>(path: &Path, sets: impl IntoIterator<Item = &'a String>) -> Result<Self, Failure> {
        let text = read_text(path, LARGEST_SCENARIO).map_err(Failure::file("read", path))?;
        let overrides = sets.into_iter().map(|set| set.parse::<Override>());
        let overrides: Result<_, _> = overrides.collect();
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self {
            file: path.display().to_string(),
            text,
            overrides: overrides.map_err(|error| Failure::Scenario(error.to_string()))?,
            files: Beside { folder, read: RefCell::default() },
        })
    }
}
