//! The folders that runs leave, and how they are written: a reader never sees half a file, and nothing is lost that no
//! run has left.
//!
//! A folder that Headway writes into holds a marker. One without is only taken if it is new or empty, so that a slip in
//! `--out` costs nobody a file. Symbolic links within a folder are never followed.

use crate::Error;
use crate::checksums::{Checksum, Hashing};
use crate::files::{open_regular, read_regular};
use std::fs::{self, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

/// The marker; the lock too.
const MARKER: &str = ".headway";

/// Bytes of a marker, at most.
const LARGEST_MARKER: u64 = 1 << 10;
/// Bytes of a table, at most: it is read whole.
const LARGEST_TABLE: u64 = 8 << 30;
/// Bytes of any other file of a record, at most: a summary has some 2 kB a flow.
const LARGEST_TEXT: u64 = 1 << 30;

/// A folder that Headway writes into.
#[derive(Clone, Debug)]
pub struct Folder(/** Its path. */ pub PathBuf);

/// What a folder is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// One run.
    Record,
    /// The records of a scenario with `[vary]`, a folder each.
    Sweep,
    /// What a paper's cells gave.
    Paper,
    /// Pictures alone.
    Pictures,
}

impl Holds {
    const ALL: [Self; 4] = [Self::Record, Self::Sweep, Self::Paper, Self::Pictures];

    const fn words(self) -> &'static str {
        match self {
            Self::Record => "the record of a run",
            Self::Sweep => "the runs of a scenario with [vary]",
            Self::Paper => "the runs of a paper",
            Self::Pictures => "pictures",
        }
    }

    fn marker(self) -> String {
        format!("Headway keeps {} here, and may write them over.\n", self.words())
    }
}

impl Folder {
    /// The folder that a user has named. What a link leads to is meant by who names the link.
    #[must_use]
    pub fn named(path: &Path) -> Self {
        Self(if path.is_symlink() { path.canonicalize().unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() })
    }

    /// Where a file of this name lies in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes the folder if there is none, and keeps others out of it until the answer is dropped.
    ///
    /// # Errors
    /// It holds something else, or somebody else writes into it, or it cannot be made.
    pub fn claim(&self, holds: Holds) -> Result<Lock, Error> {
        self.claim_for(holds, |found| found == holds)
    }

    /// The same for pictures, which may lie beside whatever Headway has left.
    ///
    /// # Errors
    /// Those of [`claim`](Self::claim).
    pub fn claim_for_pictures(&self) -> Result<Lock, Error> {
        self.claim_for(Holds::Pictures, |_| true)
    }

    fn claim_for(&self, holds: Holds, fits: impl Fn(Holds) -> bool) -> Result<Lock, Error> {
        self.refuse_link(&self.0)?;
        fs::create_dir_all(&self.0).map_err(Error::file("create the folder", &self.0))?;
        let marker = self.path(MARKER);
        self.refuse_other(&marker)?;
        if !marker.exists() {
            // Another program may come first: its marker is there before any other file of its own.
            if self.holds_more_than_a_marker()? && !marker.exists() {
                return Err(
                    self.wrong("it holds files that Headway has not left there; name a new folder, or an empty one")
                );
            }
            match fs::File::create_new(&marker) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(Error::file("write", &marker)(error));
                }
                _ => {}
            }
        }
        // A marker that may only be read can still be locked.
        let file = fs::OpenOptions::new().read(true).append(true).open(&marker);
        let mut file = file.or_else(|_| fs::File::open(&marker)).map_err(Error::file("read", &marker))?;
        let mut locked = file.try_lock();
        if matches!(locked, Err(TryLockError::WouldBlock)) {
            // Who only asks whether it is claimed has the lock for an instant.
            std::thread::park_timeout(std::time::Duration::from_millis(20));
            locked = file.try_lock();
        }
        match locked {
            Err(TryLockError::WouldBlock) => {
                return Err(self.wrong("another headway is writing into this folder; give one of them --out DIR"));
            }
            // Where the system has no locks there is no protection, as without this.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut text = String::new();
        (&mut file).take(LARGEST_MARKER).read_to_string(&mut text).map_err(Error::file("read", &marker))?;
        // It is written by who has the lock, which need not be who has made it: so nobody reads half of it.
        if text.is_empty() && !self.holds_more_than_a_marker()? {
            text = holds.marker();
            file.write_all(text.as_bytes()).map_err(Error::file("write", &marker))?;
        }
        match Holds::ALL.into_iter().find(|known| known.marker() == text) {
            Some(found) if fits(found) => Ok(Lock { _file: file }),
            Some(found) => Err(self.wrong(&format!(
                "it holds {}, and not {}; name another folder, or remove this one",
                found.words(),
                holds.words()
            ))),
            None => Err(self.wrong(&format!("its file {MARKER} is none that Headway writes; name another folder"))),
        }
    }

    fn holds_more_than_a_marker(&self) -> Result<bool, Error> {
        let mut files = fs::read_dir(&self.0).map_err(Error::file("read", &self.0))?;
        // What cannot be named is not ours.
        Ok(files.any(|file| file.map_or(true, |file| file.file_name() != MARKER)))
    }

    /// Whether somebody has [claimed](Self::claim) it. Where the system has no locks nobody knows, and the answer is yes.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        open_regular(&self.path(MARKER), LARGEST_MARKER).is_ok_and(|marker| marker.try_lock_shared().is_err())
    }

    /// Whether a run has left it.
    #[must_use]
    pub fn is_record(&self) -> bool {
        let marker = read_regular(&self.path(MARKER), LARGEST_MARKER);
        marker.is_ok_and(|text| text == Holds::Record.marker().as_bytes())
    }

    /// A folder below, made where there is none.
    ///
    /// # Errors
    /// It is a symbolic link, or it cannot be made.
    pub fn below(&self, name: impl AsRef<Path>) -> Result<Self, Error> {
        let mut path = self.0.clone();
        for part in name.as_ref().components() {
            path.push(part);
            self.refuse_link(&path)?;
        }
        fs::create_dir_all(&path).map_err(Error::file("create the folder", &path))?;
        Ok(Self(path))
    }

    pub(crate) fn refuse_link(&self, path: &Path) -> Result<(), Error> {
        if path.is_symlink() {
            let reason = "it is a symbolic link, which Headway does not follow; remove it, or name what it leads to";
            return Err(Error::Record { path: path.to_owned(), reason: reason.into() });
        }
        Ok(())
    }

    /// Refuses what is there and is not a regular file.
    pub(crate) fn refuse_other(&self, path: &Path) -> Result<(), Error> {
        self.refuse_link(path)?;
        if fs::symlink_metadata(path).is_ok_and(|about| !about.is_file()) {
            return Err(Error::Record { path: path.to_owned(), reason: "it is not a regular file; remove it".into() });
        }
        Ok(())
    }

    fn wrong(&self, reason: &str) -> Error {
        Error::Record { path: self.0.clone(), reason: reason.into() }
    }

    /// Removes these files, as far as they are there. A name that leads elsewhere is passed over.
    ///
    /// # Errors
    /// One of them cannot be removed.
    pub fn remove(&self, names: impl IntoIterator<Item = String>) -> Result<(), Error> {
        for name in names.into_iter().filter(|name| self.is_inside(name)) {
            let path = self.path(&name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::file("replace", &path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a file of this name would lie in the folder, and not behind a link.
    fn is_inside(&self, name: &str) -> bool {
        let name = Path::new(name);
        let parents = name.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
        is_plain(name) && !parents.into_iter().any(|parent| self.0.join(parent).is_symlink())
    }

    /// Writes a file under another name and renames it when it is whole.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<Checksum, Error> {
        self.write_with(name, |file| file.write_all(bytes))
    }

    /// Writes a file in pieces, as [`write`](Self::write) does.
    pub(crate) fn write_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut Hashing<fs::File>) -> io::Result<()>,
    ) -> Result<Checksum, Error> {
        let mut file = self.begin(name)?;
        write(file.writer()).map_err(Error::file("write", &file.partial))?;
        file.end()
    }

    /// Begins a file that is written in pieces, under another name until it is whole.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn begin(&self, name: &str) -> Result<Growing, Error> {
        let partial_name = partial(name);
        let (path, partial) = (self.path(name), self.path(&partial_name));
        self.remove([partial_name])?;
        let file = fs::File::create_new(&partial).map_err(Error::file("write", &partial))?;
        Ok(Growing { path, partial, file: Hashing::new(file), whole: false })
    }

    /// Where a file of this name lies that is still being written.
    #[must_use]
    pub fn growing(&self, name: &str) -> PathBuf {
        self.path(&partial(name))
    }

    /// Reads a regular file of the record.
    ///
    /// # Errors
    /// It cannot be read, is not a regular file, or is larger than files of records are.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.path(name);
        let limit = if name.ends_with(".arrow") { LARGEST_TABLE } else { LARGEST_TEXT };
        read_regular(&path, limit).map_err(Error::file("read", &path))
    }
}

/// What a file is called until it is whole.
pub(crate) fn partial(name: &str) -> String {
    format!("{name}.partial")
}

/// Whether a name leads below a folder: neither absolute, nor through `..`.
pub(crate) fn is_plain(name: &Path) -> bool {
    name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// A file that is being written.
#[derive(Debug)]
pub struct Growing {
    path: PathBuf,
    partial: PathBuf,
    file: Hashing<fs::File>,
    whole: bool,
}

impl Growing {
    /// Where its bytes go.
    pub fn writer(&mut self) -> &mut Hashing<fs::File> {
        &mut self.file
    }

    /// It is whole. Gives the checksum of what was written.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn end(mut self) -> Result<Checksum, Error> {
        self.whole = true;
        fs::rename(&self.partial, &self.path).map_err(Error::file("write", &self.path))?;
        Ok(self.file.checksum())
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        if !self.whole {
            // What failed leaves nothing behind; if that fails too, the next run into the folder removes it.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// A folder that is being written.
#[derive(Debug)]
pub struct Lock {
    _file: fs::File,
}
