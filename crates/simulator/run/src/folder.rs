//! Folders of records and how files in them are written. Readers never see incomplete files under their final
//! names, and only files that a run has written are overwritten.
//!
//! A folder that Headway writes into holds a marker file. A folder without one is only used if it is new or
//! empty, so that a wrong `--out` overwrites no files. Symbolic links within a folder are never followed.

use crate::Error;
use crate::checksums::{Checksum, Hashing};
use crate::files::{open_regular, read_regular};
use std::fs::{self, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

/// Name of the marker, which is also the lock file.
const MARKER: &str = ".headway";

/// Maximum size of a marker, in bytes.
const MAX_MARKER_BYTES: u64 = 1 << 10;
/// Maximum size of a table, in bytes. Tables are read into memory.
const MAX_TABLE_BYTES: u64 = 8 << 30;
/// Maximum size of any other file of a record, in bytes. A summary has about 2 kB per flow.
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// A folder that Headway writes into.
#[derive(Clone, Debug)]
pub struct Folder(/** Its path. */ pub PathBuf);

/// Kind of content of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderKind {
    /// The record of one run.
    Record,
    /// The records of a scenario with `[vary]`, one folder each.
    Sweep,
    /// The records of a paper's experiments (cells).
    Paper,
    /// The records of a suite's runs.
    Suite,
    /// Pictures without a record.
    Pictures,
}

impl FolderKind {
    const ALL: [Self; 5] = [Self::Record, Self::Sweep, Self::Paper, Self::Suite, Self::Pictures];

    const fn words(self) -> &'static str {
        match self {
            Self::Record => "the record of a run",
            Self::Sweep => "the runs of a scenario with [vary]",
            Self::Paper => "the runs of a paper",
            Self::Suite => "the runs of a suite",
            Self::Pictures => "pictures",
        }
    }

    fn marker(self) -> String {
        format!("Headway keeps {} here, and may write them over.\n", self.words())
    }
}

impl Folder {
    /// Returns the folder at a path that the user gave. If the path is a symbolic link, it is resolved.
    #[must_use]
    pub fn named(path: &Path) -> Self {
        Self(if path.is_symlink() { path.canonicalize().unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() })
    }

    /// Returns the path of a file in this folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Creates the folder if it is missing and locks it until the returned lock is dropped.
    ///
    /// # Errors
    /// The folder holds other content, another process has locked it, or it cannot be created.
    pub fn claim(&self, kind: FolderKind) -> Result<Lock, Error> {
        self.claim_for(kind, |found| found == kind)
    }

    /// Creates the folder if it is missing and locks it for pictures, which may be written into any folder of Headway.
    ///
    /// # Errors
    /// Those of [`claim`](Self::claim).
    pub fn claim_for_pictures(&self) -> Result<Lock, Error> {
        self.claim_for(FolderKind::Pictures, |_| true)
    }

    fn claim_for(&self, kind: FolderKind, fits: impl Fn(FolderKind) -> bool) -> Result<Lock, Error> {
        self.refuse_link(&self.0)?;
        fs::create_dir_all(&self.0).map_err(Error::file("create the folder", &self.0))?;
        let marker = self.path(MARKER);
        self.refuse_other(&marker)?;
        if !marker.exists() {
            // Another process may claim the folder at the same time: its marker precedes its other files.
            if self.holds_more_than_a_marker()? && !marker.exists() {
                return Err(self.wrong("it holds files that Headway did not write; give a new or an empty folder"));
            }
            match fs::File::create_new(&marker) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(Error::file("write", &marker)(error));
                }
                _ => {}
            }
        }
        // A read-only marker can still be locked.
        let file = fs::OpenOptions::new().read(true).append(true).open(&marker);
        let mut file = file.or_else(|_| fs::File::open(&marker)).map_err(Error::file("read", &marker))?;
        let mut locked = file.try_lock();
        if matches!(locked, Err(TryLockError::WouldBlock)) {
            // `is_claimed` holds the lock for a moment.
            std::thread::park_timeout(std::time::Duration::from_millis(20));
            locked = file.try_lock();
        }
        match locked {
            Err(TryLockError::WouldBlock) => {
                return Err(self.wrong("another headway is writing into this folder; give one of them --out DIR"));
            }
            // File systems without locks give no protection.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut text = String::new();
        (&mut file).take(MAX_MARKER_BYTES).read_to_string(&mut text).map_err(Error::file("read", &marker))?;
        // The process with the lock writes the marker, so no process reads a partial marker.
        if text.is_empty() && !self.holds_more_than_a_marker()? {
            text = kind.marker();
            file.write_all(text.as_bytes()).map_err(Error::file("write", &marker))?;
        }
        match FolderKind::ALL.into_iter().find(|known| known.marker() == text) {
            Some(found) if fits(found) => Ok(Lock { _file: file }),
            Some(found) => Err(self.wrong(&format!(
                "it holds {}, and not {}; give another folder, or remove this one",
                found.words(),
                kind.words()
            ))),
            None => Err(self.wrong(&format!("its file {MARKER} was not written by Headway; give another folder"))),
        }
    }

    fn holds_more_than_a_marker(&self) -> Result<bool, Error> {
        let mut files = fs::read_dir(&self.0).map_err(Error::file("read", &self.0))?;
        // Entries that cannot be read are not Headway's.
        Ok(files.any(|file| file.map_or(true, |file| file.file_name() != MARKER)))
    }

    /// Returns whether a process has [claimed](Self::claim) the folder, or whether that cannot be determined
    /// because the file system has no locks.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        open_regular(&self.path(MARKER), MAX_MARKER_BYTES).is_ok_and(|marker| marker.try_lock_shared().is_err())
    }

    /// Returns whether the marker file of the folder declares it the record of a run.
    #[must_use]
    pub fn is_record(&self) -> bool {
        let marker = read_regular(&self.path(MARKER), MAX_MARKER_BYTES);
        marker.is_ok_and(|text| text == FolderKind::Record.marker().as_bytes())
    }

    /// Returns the subfolder `name`, and creates it if it is missing.
    ///
    /// # Errors
    /// A component is a symbolic link, or the folder cannot be created.
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
            let reason = "it is a symbolic link, which Headway does not follow; remove it, or give its target";
            return Err(Error::Record { path: path.to_owned(), reason: reason.into() });
        }
        Ok(())
    }

    /// Returns an error if the path exists and is not a regular file.
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

    /// Removes the files with these names from the folder if they exist. Names that lead out of the folder are skipped.
    ///
    /// # Errors
    /// A file cannot be removed.
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

    /// Returns whether a path of this name is inside the folder and passes through no symbolic link.
    fn is_inside(&self, name: &str) -> bool {
        let name = Path::new(name);
        let parents = name.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
        is_plain(name) && !parents.into_iter().any(|parent| self.0.join(parent).is_symlink())
    }

    /// Writes a file under a temporary name, renames it when it is complete, and returns its checksum.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<Checksum, Error> {
        self.write_with(name, |file| file.write_all(bytes))
    }

    /// Writes a file incrementally, with the guarantees of [`write`](Self::write).
    pub(crate) fn write_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut Hashing<fs::File>) -> io::Result<()>,
    ) -> Result<Checksum, Error> {
        let mut file = self.begin(name)?;
        write(file.writer()).map_err(Error::file("write", &file.partial))?;
        file.end()
    }

    /// Creates a file that is written incrementally, under a temporary name until it is complete.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn begin(&self, name: &str) -> Result<PartialFile, Error> {
        let partial_name = partial(name);
        let (path, partial) = (self.path(name), self.path(&partial_name));
        self.remove([partial_name])?;
        let file = fs::File::create_new(&partial).map_err(Error::file("write", &partial))?;
        Ok(PartialFile { path, partial, file: Hashing::new(file), whole: false })
    }

    /// Returns the temporary path of a file that is still being written.
    #[must_use]
    pub fn partial_path(&self, name: &str) -> PathBuf {
        self.path(&partial(name))
    }

    /// Reads a regular file of the record.
    ///
    /// # Errors
    /// The file cannot be read, is not a regular file, or exceeds the size limit for files of records.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.path(name);
        let limit = if name.ends_with(".arrow") { MAX_TABLE_BYTES } else { MAX_TEXT_BYTES };
        read_regular(&path, limit).map_err(Error::file("read", &path))
    }
}

/// Returns the temporary name of a file that is not complete yet.
pub(crate) fn partial(name: &str) -> String {
    format!("{name}.partial")
}

/// Returns whether a path stays below a folder: it is neither absolute nor contains `..`.
pub(crate) fn is_plain(name: &Path) -> bool {
    name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// A file that is being written under a temporary name. Dropping it before [`end`](Self::end) removes the file.
#[derive(Debug)]
pub struct PartialFile {
    path: PathBuf,
    partial: PathBuf,
    file: Hashing<fs::File>,
    whole: bool,
}

impl PartialFile {
    /// Returns the writer of the file.
    pub fn writer(&mut self) -> &mut Hashing<fs::File> {
        &mut self.file
    }

    /// Renames the complete file to its final name, and returns its checksum.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub fn end(mut self) -> Result<Checksum, Error> {
        self.whole = true;
        fs::rename(&self.partial, &self.path).map_err(Error::file("write", &self.path))?;
        Ok(self.file.checksum())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.whole {
            // If the removal fails, the next run into this folder removes the file.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// Lock on a folder that is being written. Dropping it releases the folder.
#[derive(Debug)]
pub struct Lock {
    _file: fs::File,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder(place.path().join("out"));
        (place, folder)
    }

    fn reason(result: Result<impl Sized, Error>) -> String {
        result.err().map_or_else(String::new, |error| error.to_string())
    }

    /// Each kind of content has its own folders; pictures are allowed in all.
    #[test]
    fn a_folder_holds_one_kind_of_content() {
        for kind in FolderKind::ALL {
            let (_place, folder) = place();
            assert!(!folder.is_record() && !folder.is_claimed());
            drop(folder.claim(kind).unwrap());
            for other in FolderKind::ALL {
                let error = reason(folder.claim(other));
                assert_eq!(error.is_empty(), other == kind, "{kind:?} {other:?}: {error}");
                assert!(error.is_empty() || error.contains(kind.words()) && error.contains(other.words()), "{error}");
            }
            assert_eq!(folder.is_record(), kind == FolderKind::Record);
            folder.claim_for_pictures().unwrap();
        }
    }

    /// The folder is locked until the lock is dropped.
    #[test]
    fn a_claimed_folder_is_refused() {
        let (_place, folder) = place();
        let lock = folder.claim(FolderKind::Record).unwrap();
        assert!(folder.is_claimed());
        assert!(reason(folder.claim(FolderKind::Record)).contains("another headway is writing"));
        assert!(reason(folder.claim_for_pictures()).contains("another headway is writing"));
        drop(lock);
        assert!(!folder.is_claimed());
        folder.claim(FolderKind::Record).unwrap();
    }

    #[test]
    fn folders_with_other_files_are_refused() {
        let (_place, folder) = place();
        fs::create_dir(&folder.0).unwrap();
        fs::write(folder.path("notes.txt"), b"mine").unwrap();
        assert!(reason(folder.claim(FolderKind::Record)).contains("files that Headway did not write"));
        assert!(!folder.path(MARKER).exists());
        for marker in [&b""[..], b"other", &[b'x'; 2000]] {
            fs::write(folder.path(MARKER), marker).unwrap();
            assert!(
                reason(folder.claim(FolderKind::Record)).contains("was not written by Headway"),
                "{}",
                marker.len()
            );
            assert!(!folder.is_record());
        }
        // A process that was killed between creating and writing the marker has left it empty.
        fs::remove_file(folder.path("notes.txt")).unwrap();
        fs::write(folder.path(MARKER), b"").unwrap();
        folder.claim(FolderKind::Sweep).unwrap();
    }

    /// A link in a record could lead to any file of the user.
    #[cfg(unix)]
    #[test]
    fn symbolic_links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let (place, folder) = place();
        drop(folder.claim(FolderKind::Record).unwrap());
        let linked = place.path().join("linked");
        symlink(&folder.0, &linked).unwrap();
        assert!(reason(Folder(linked.clone()).claim(FolderKind::Record)).contains("it is a symbolic link"));
        // A link that the user names is resolved.
        assert_eq!(Folder::named(&linked).0, folder.0.canonicalize().unwrap());
        assert_eq!(Folder::named(&folder.0).0, folder.0);
        Folder::named(&linked).claim(FolderKind::Record).unwrap();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), b"mine").unwrap();
        symlink(&outside, folder.path("in")).unwrap();
        assert!(reason(folder.below("in")).contains("it is a symbolic link"));
        assert!(reason(folder.below("in/deeper")).contains("it is a symbolic link"));
        assert_eq!(folder.below("a/b").unwrap().0, folder.path("a/b"));
        assert!(folder.path("a/b").is_dir());
        fs::write(folder.path("a/file"), b"old").unwrap();
        fs::write(place.path().join("next"), b"mine").unwrap();
        folder.remove(["in/file", "../next", "a/file", "a/none"].map(str::to_owned)).unwrap();
        assert!(outside.join("file").exists() && place.path().join("next").exists());
        assert!(!folder.path("a/file").exists());
        fs::remove_file(folder.path(MARKER)).unwrap();
        symlink(outside.join("file"), folder.path(MARKER)).unwrap();
        assert!(reason(folder.claim(FolderKind::Record)).contains("it is a symbolic link"));
        fs::remove_file(folder.path(MARKER)).unwrap();
        fs::create_dir(folder.path(MARKER)).unwrap();
        assert!(reason(folder.claim(FolderKind::Record)).contains("not a regular file"));
    }

    /// The final name appears when the file is complete. A file that is not completed is removed.
    #[test]
    fn incomplete_files_have_another_name() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder(place.path().to_owned());
        let begin = || {
            let mut file = folder.begin("file").unwrap();
            file.writer().write_all(b"new").unwrap();
            assert!(folder.partial_path("file").exists());
            file
        };
        drop(begin());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        let file = begin();
        assert!(!folder.path("file").exists());
        assert_eq!(file.end().unwrap(), Checksum::of(b"new"));
        assert_eq!((folder.read("file").unwrap(), folder.partial_path("file").exists()), (b"new".to_vec(), false));
        // What a killed process left is replaced.
        fs::write(folder.partial_path("file"), b"left").unwrap();
        assert_eq!(folder.write("file", b"again").unwrap(), Checksum::of(b"again"));
        assert_eq!(folder.read("file").unwrap(), b"again");
        assert!(matches!(folder.remove([".".to_owned()]), Err(Error::File { action: "replace", .. })));
    }
}
