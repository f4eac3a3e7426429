//! A scenario's text, what the command line changes in it, and the files beside it.

use crate::Error;
use crate::files::{read, read_regular};
use headway_scenario::{Files, Override, Place, ScenarioError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Larger scenario files are mistakes.
const LARGEST_SCENARIO: u64 = 16 << 20;

/// Reads the files that a scenario names, relative to the scenario's own folder, and remembers them: the record holds a
/// copy, so that it can be run again wherever it goes.
#[derive(Debug)]
pub struct Beside {
    folder: PathBuf,
    read: Mutex<BTreeMap<String, Arc<[u8]>>>,
}

impl Beside {
    /// Those in this folder.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, read: Mutex::default() }
    }

    /// The same, but for files that were read before, by the names that the scenario uses: so a scenario is the same wherever it is sent.
    #[must_use]
    pub fn with(folder: PathBuf, known: BTreeMap<String, Arc<[u8]>>) -> Self {
        Self { folder, read: Mutex::new(known) }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Arc<[u8]>>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was read, by the names that the scenario uses.
    pub fn taken(&self) -> BTreeMap<String, Arc<[u8]>> {
        self.known().clone()
    }
}

impl Files for Beside {
    fn read(&self, path: &str, limit: u64) -> std::io::Result<Vec<u8>> {
        if let Some(bytes) = self.known().get(path) {
            return Ok(bytes.to_vec());
        }
        let bytes = read_regular(&self.folder.join(path), limit)?;
        self.known().insert(path.to_owned(), bytes.as_slice().into());
        Ok(bytes)
    }
}

/// Returns the bytes of `file` as a text. The error has the line and the column of the first byte that is none.
fn text(file: &str, bytes: Vec<u8>) -> Result<String, ScenarioError> {
    let valid = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let end = bytes[..valid].iter().position(|byte| *byte == 0).unwrap_or(valid);
    let what = match bytes[end..] {
        [] => return Ok(String::from_utf8(bytes).unwrap_or_default()),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] if end == 0 => "this is UTF-16".to_owned(),
        [0, ..] => "a byte is zero, as in UTF-16 or in what is no text".to_owned(),
        [byte, ..] => format!("the byte {byte:#04x} is not UTF-8"),
    };
    let before = String::from_utf8_lossy(&bytes[..end]);
    let start = before.rsplit('\n').next().unwrap_or_default();
    let (line, column) = (before.matches('\n').count() + 1, start.chars().count() + 1);
    Err(ScenarioError::new(file, Place::Line { line, column }, format!("{what}: save the file as UTF-8 text")))
}

/// What scenarios are made from.
#[derive(Debug)]
pub struct ScenarioText {
    /// Its name, for messages.
    pub file: String,
    /// The text.
    pub text: String,
    /// What the caller changes in it.
    pub overrides: Vec<Override>,
    /// The files that it names.
    pub files: Beside,
}

impl ScenarioText {
    /// Reads the scenario at `path`; `sets` are written as `--set` has them.
    ///
    /// # Errors
    /// The file cannot be read or is no text, or a change is written wrong.
    pub fn read<'a>(path: &Path, sets: impl IntoIterator<Item = &'a String>) -> Result<Self, Error> {
        let bytes = read(path, LARGEST_SCENARIO).map_err(Error::file("read", path))?;
        let file = path.display().to_string();
        let text = text(&file, bytes)?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Self::with(file, text, Beside::new(folder), sets)
    }

    /// A text with the files that it names, or where they are.
    ///
    /// # Errors
    /// A change is written wrong.
    pub fn with<'a>(
        file: String,
        text: String,
        files: Beside,
        sets: impl IntoIterator<Item = &'a String>,
    ) -> Result<Self, Error> {
        let overrides = sets.into_iter().map(|set| set.parse()).collect::<Result<_, ScenarioError>>()?;
        Ok(Self { file, text, overrides, files })
    }

    /// A text that is in no file; the files that it names are where the program runs.
    ///
    /// # Errors
    /// A change is written wrong.
    pub fn written<'a>(name: &str, text: &str, sets: impl IntoIterator<Item = &'a String>) -> Result<Self, Error> {
        Self::with(name.to_owned(), text.to_owned(), Beside::new(PathBuf::new()), sets)
    }
}
