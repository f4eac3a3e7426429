//! Journal of a sweep: the summary of each run is appended when the run is complete, so that an interrupted
//! sweep loses no completed run.
//!
//! The first line has the identity of the code. Each other line has a checksum (XXH3, 16 hexadecimal digits),
//! the run's [`Key`] (32 digits) and its summary as JSON, separated by spaces. A damaged line is ignored, and
//! its run is repeated.

use super::RunKey as Key;
use crate::code::CODE;
use crate::{Error, Folder};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use xxhash_rust::xxh3::xxh3_64;

/// Maximum length of a line, in bytes.
const MAX_LINE: u64 = 64 << 20;

/// Length of the checksum, the key and their spaces, in bytes.
const HEAD: usize = 16 + 1 + 32 + 1;

/// The file, and the location of each run's summary.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    /// File with an unspecified position: each access seeks first.
    file: Mutex<File>,
    places: BTreeMap<Key, Place>,
    end: u64,
    /// Whether a line is damaged.
    pub(super) is_damaged: bool,
}

/// Location of a summary, in bytes.
#[derive(Clone, Copy, Debug)]
struct Place {
    from: u64,
    length: usize,
}

impl Journal {
    pub(super) const FILE: &str = "journal.txt";

    /// Opens or creates the journal of a claimed folder. An incomplete last line is truncated.
    pub(super) fn open(folder: &Folder) -> Result<Self, Error> {
        let path = folder.path(Self::FILE);
        let failed = |error| Error::file("read", &path)(error);
        folder.refuse_other(&path)?;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        let (mut places, mut is_damaged, mut end) = (BTreeMap::new(), false, 0);
        let mut first = true;
        let mut reader = BufReader::with_capacity(1 << 20, &file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line).map_err(failed)?;
            if line.last() != Some(&b'\n') {
                if read as u64 == MAX_LINE {
                    let reason = "a line is too long to be written by a sweep; remove the file, or use another folder with --out";
                    return Err(Error::Record { path, reason: reason.into() });
                }
                break;
            }
            if std::mem::take(&mut first) {
                if line != head().as_bytes() {
                    break;
                }
                end = read as u64;
                continue;
            }
            match parsed(&line[..read - 1]) {
                Some(key) => {
                    places.insert(key, Place { from: end + HEAD as u64, length: read - 1 - HEAD });
                }
                None => is_damaged = true,
            }
            end += read as u64;
        }
        drop(reader);
        file.set_len(end).map_err(Error::file("write", &path))?;
        let mut journal = Self { path, file: Mutex::new(file), places, end, is_damaged };
        if end == 0 {
            // The journal is new, or of other code, whose runs are not mixed with those of this code.
            journal.append(&head())?;
        }
        Ok(journal)
    }

    pub(super) fn has(&self, key: Key) -> bool {
        self.places.contains_key(&key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.places.keys().copied()
    }

    pub(super) fn add(&mut self, key: Key, summary: &str) -> Result<(), Error> {
        let place = Place { from: self.end + HEAD as u64, length: summary.len() };
        self.append(&line(key, summary))?;
        self.places.insert(key, place);
        Ok(())
    }

    /// Appends a line. If it cannot be written completely, it is removed.
    fn append(&mut self, line: &str) -> Result<(), Error> {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        let written = file.seek(SeekFrom::Start(self.end)).and_then(|_| file.write_all(line.as_bytes()));
        if let Err(error) = written {
            let _ = file.set_len(self.end);
            return Err(Error::file("write", &self.path)(error));
        }
        self.end += line.len() as u64;
        Ok(())
    }

    /// Removes runs from the index, so that they are repeated.
    pub(super) fn forget(&mut self, keys: impl Iterator<Item = Key>) {
        keys.for_each(|key| _ = self.places.remove(&key));
    }

    /// Reads the summary of a run.
    pub(super) fn summary(&self, key: Key) -> Result<String, Error> {
        let failed = |error| Error::file("read", &self.path)(error);
        let missing = || std::io::Error::other("a stored run is missing");
        let place = self.places.get(&key).ok_or_else(missing).map_err(failed)?;
        let mut bytes = vec![0; place.length];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(place.from)).map_err(failed)?;
            file.read_exact(&mut bytes).map_err(failed)?;
        }
        String::from_utf8(bytes).map_err(|error| failed(std::io::Error::other(error)))
    }

    /// Keeps only these runs; without any, the file is removed.
    pub(super) fn keep(self, folder: &Folder, wanted: &[Key]) -> Result<(), Error> {
        if wanted.is_empty() {
            drop(self.file);
            return folder.remove([Self::FILE.to_owned()]);
        }
        let mut kept = folder.begin(Self::FILE)?;
        kept.writer().write_all(head().as_bytes()).map_err(Error::file("write", &self.path))?;
        for key in wanted {
            let line = line(*key, &self.summary(*key)?);
            kept.writer().write_all(line.as_bytes()).map_err(Error::file("write", &self.path))?;
        }
        kept.end().map(|_| ())
    }
}

fn head() -> String {
    format!("headway {CODE}\n")
}

fn line(key: Key, summary: &str) -> String {
    let rest = format!("{key:032x} {summary}");
    format!("{:016x} {rest}\n", xxh3_64(rest.as_bytes()))
}

/// Returns the key of an intact line, which is given without its line feed.
fn parsed(line: &[u8]) -> Option<Key> {
    let (sum, rest) = line.split_at_checked(17)?;
    let (key, rest_of_it) = rest.split_at_checked(33)?;
    let number = |digits: &[u8], length: usize| {
        let digits = std::str::from_utf8(digits).ok()?.strip_suffix(' ')?;
        (digits.len() == length).then(|| u128::from_str_radix(digits, 16).ok())?
    };
    std::str::from_utf8(rest_of_it).ok()?;
    (number(sum, 16)? == u128::from(xxh3_64(rest))).then(|| number(key, 32))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FolderKind;
    use proptest::prelude::*;

    fn place() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder(place.path().join("sweep"));
        drop(folder.claim(FolderKind::Sweep).unwrap());
        (place, folder)
    }

    #[test]
    fn stored_runs_are_read_again() {
        let (_place, folder) = place();
        let mut journal = Journal::open(&folder).unwrap();
        journal.add(7, "{\"a\":1}").unwrap();
        journal.add(u128::MAX, "{}").unwrap();
        assert_eq!(journal.summary(7).unwrap(), "{\"a\":1}");
        drop(journal);
        let journal = Journal::open(&folder).unwrap();
        assert_eq!(
            (journal.summary(7).unwrap().as_str(), journal.summary(u128::MAX).unwrap().as_str()),
            ("{\"a\":1}", "{}")
        );
        assert_eq!((journal.is_damaged, journal.has(8)), (false, false));
        journal.keep(&folder, &[u128::MAX]).unwrap();
        let journal = Journal::open(&folder).unwrap();
        assert_eq!(journal.keys().collect::<Vec<_>>(), [u128::MAX]);
        journal.keep(&folder, &[]).unwrap();
        assert!(!folder.path(Journal::FILE).exists());
    }

    proptest! {
        /// A truncated file loses at most its last run. A changed byte loses the run of its line, or two runs
        /// if it was a line feed.
        #[test]
        fn damage_loses_only_the_runs_of_damaged_lines(cut in 0usize..400, at in 0usize..400, bit in 0u8..8, cuts: bool) {
            let (_place, folder) = place();
            let mut journal = Journal::open(&folder).unwrap();
            for key in 0..4 {
                journal.add(key, &format!("{{\"run\":{key}}}")).unwrap();
            }
            drop(journal);
            let path = folder.path(Journal::FILE);
            let mut bytes = std::fs::read(&path).unwrap();
            let head = head().len();
            let each = (bytes.len() - head) / 4;
            let whole = if cuts {
                bytes.truncate(head + cut.min(bytes.len() - head));
                (bytes.len() - head) / each
            } else {
                let place = head + at % (bytes.len() - head);
                bytes[place] ^= 1 << bit;
                4
            };
            std::fs::write(&path, &bytes).unwrap();
            let mut journal = Journal::open(&folder).unwrap();
            let found: Vec<Key> = journal.keys().collect();
            if cuts {
                prop_assert_eq!(found.len(), whole);
            } else {
                prop_assert!(found.len() >= 2, "{:?}", found);
            }
            for key in found {
                prop_assert_eq!(journal.summary(key).unwrap(), format!("{{\"run\":{key}}}"));
            }
            journal.add(9, "{}").unwrap();
            drop(journal);
            prop_assert_eq!(Journal::open(&folder).unwrap().summary(9).unwrap(), "{}");
        }
    }
}
