//! The text of a scenario, the caller's overrides, and the files that the scenario names.

use crate::Error;
use crate::files::{read, read_regular};
use headway_scenario::{Files, Override, Place, ScenarioError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum size of a scenario file, in bytes.
const MAX_SCENARIO_BYTES: u64 = 16 << 20;

/// Reads the files that a scenario names, relative to the scenario's folder, and keeps their contents. The record gets
/// a copy of them, so that the scenario can be run again elsewhere.
#[derive(Debug)]
pub struct ScenarioFiles {
    folder: PathBuf,
    read: Mutex<BTreeMap<String, Arc<[u8]>>>,
}

impl ScenarioFiles {
    /// Creates a reader of files in this folder.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, read: Mutex::default() }
    }

    /// Creates a reader with the contents of some files, by the names that the scenario uses. Distributed
    /// runs use it: the files need not exist on each machine.
    #[must_use]
    pub fn with(folder: PathBuf, known: BTreeMap<String, Arc<[u8]>>) -> Self {
        Self { folder, read: Mutex::new(known) }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Arc<[u8]>>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all files that were read or given, by the names that the scenario uses.
    pub fn loaded(&self) -> BTreeMap<String, Arc<[u8]>> {
        self.known().clone()
    }
}

impl Files for ScenarioFiles {
    fn read(&self, path: &str, limit: u64) -> std::io::Result<Vec<u8>> {
        if let Some(bytes) = self.known().get(path) {
            return Ok(bytes.to_vec());
        }
        let bytes = read_regular(&self.folder.join(path), limit)?;
        self.known().insert(path.to_owned(), bytes.as_slice().into());
        Ok(bytes)
    }
}

/// Converts the bytes of `file` to text. The error has the line and column of the first invalid byte.
fn text(file: &str, bytes: Vec<u8>) -> Result<String, ScenarioError> {
    let valid = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let end = bytes[..valid].iter().position(|byte| *byte == 0).unwrap_or(valid);
    let what = match bytes[end..] {
        [] => return Ok(String::from_utf8(bytes).unwrap_or_default()),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] if end == 0 => "this is UTF-16".to_owned(),
        [0, ..] => "a byte is zero, as in UTF-16 or in a binary file".to_owned(),
        [byte, ..] => format!("the byte {byte:#04x} is not UTF-8"),
    };
    let before = String::from_utf8_lossy(&bytes[..end]);
    let start = before.rsplit('\n').next().unwrap_or_default();
    let (line, column) = (before.matches('\n').count() + 1, start.chars().count() + 1);
    Err(ScenarioError::new(file, Place::Line { line, column }, format!("{what}: save the file as UTF-8 text")))
}

/// Text of a scenario, with overrides and the files that it names.
#[derive(Debug)]
pub struct ScenarioText {
    /// Name of the scenario file, for messages.
    pub file: String,
    /// Text of the scenario, in TOML.
    pub text: String,
    /// Overrides of the caller, such as those of `--set`.
    pub overrides: Vec<Override>,
    /// Reader of the files that the scenario names.
    pub files: ScenarioFiles,
}

impl ScenarioText {
    /// Reads the scenario at `path`. `sets` are overrides in the syntax of `--set`.
    ///
    /// # Errors
    /// The file cannot be read or is not text, or an override is malformed.
    pub fn read<'a>(path: &Path, sets: impl IntoIterator<Item = &'a String>) -> Result<Self, Error> {
        let bytes = read(path, MAX_SCENARIO_BYTES).map_err(Error::file("read", path))?;
        let file = path.display().to_string();
        let text = text(&file, bytes)?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Self::with(file, text, ScenarioFiles::new(folder), sets)
    }

    /// Creates a scenario from text, with a reader of the files that it names.
    ///
    /// # Errors
    /// An override is malformed.
    pub fn with<'a>(
        file: String,
        text: String,
        files: ScenarioFiles,
        sets: impl IntoIterator<Item = &'a String>,
    ) -> Result<Self, Error> {
        let overrides = sets.into_iter().map(|set| set.parse()).collect::<Result<_, ScenarioError>>()?;
        Ok(Self { file, text, overrides, files })
    }

    /// Creates a scenario from text without a file. Files that the scenario names are relative to the working
    /// directory.
    ///
    /// # Errors
    /// An override is malformed.
    pub fn written<'a>(name: &str, text: &str, sets: impl IntoIterator<Item = &'a String>) -> Result<Self, Error> {
        Self::with(name.to_owned(), text.to_owned(), ScenarioFiles::new(PathBuf::new()), sets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place of an invalid byte is its line and column, in characters.
    #[test]
    fn a_file_that_is_no_text_is_an_error_with_its_place() {
        assert_eq!(text("x", "a = \"é\"\n".into()).unwrap(), "a = \"é\"\n");
        for (bytes, place, what) in [
            (&b"\xff\xfea\0"[..], (1, 1), "this is UTF-16"),
            (b"\xfe\xff\0a", (1, 1), "this is UTF-16"),
            (b"ab\n\xff\xfe", (2, 1), "the byte 0xff is not UTF-8"),
            (b"a\nb\n\xc3\xa9x\xc3", (3, 3), "the byte 0xc3 is not UTF-8"),
            (b"ab\0", (1, 3), "a byte is zero"),
            (b"a\n\0\xff", (2, 1), "a byte is zero"),
            (b"\xff\0", (1, 1), "the byte 0xff is not UTF-8"),
        ] {
            let error = text("x", bytes.to_vec()).unwrap_err();
            let problem = &error.problems[0];
            assert_eq!(problem.place, Place::Line { line: place.0, column: place.1 }, "{bytes:?}");
            assert!(problem.message.starts_with(what), "{bytes:?}: {}", problem.message);
        }
    }

    /// Files are relative to the scenario. The contents are kept, so that the record has those of the run.
    #[test]
    fn files_are_read_once_and_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::write(path("x.toml"), "duration = \"1s\"").unwrap();
        std::fs::write(path("rates.txt"), b"12").unwrap();
        let sets = ["seed=2".to_owned()];
        let scenario = ScenarioText::read(&path("x.toml"), &sets).unwrap();
        assert_eq!((scenario.text.as_str(), scenario.overrides.len()), ("duration = \"1s\"", 1));
        assert_eq!(scenario.file, path("x.toml").display().to_string());
        assert!(scenario.files.read("rates.txt", 1).is_err(), "the limit");
        assert_eq!(scenario.files.read("rates.txt", 2).unwrap(), b"12");
        std::fs::write(path("rates.txt"), b"34").unwrap();
        assert_eq!(scenario.files.read("rates.txt", 2).unwrap(), b"12");
        let loaded = scenario.files.loaded();
        assert_eq!(loaded.keys().collect::<Vec<_>>(), ["rates.txt"]);
        let elsewhere = ScenarioFiles::with(PathBuf::from("none"), loaded);
        assert_eq!(elsewhere.read("rates.txt", 2).unwrap(), b"12");
        assert!(elsewhere.read("other.txt", 2).is_err());
        assert!(ScenarioText::read(&path("none.toml"), &sets).is_err());
        assert!(ScenarioText::written("x", "", &["seed".to_owned()]).is_err());
    }
}
