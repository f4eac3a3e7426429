//! The folder that a run leaves: written so that a reader never sees half a file.

use crate::arguments::TraceFormat;
use crate::error::Failure;
use clap::ValueEnum as _;
use headway_record::SeriesTable;
use headway_record::plot::FIGURES;
use std::fs::{self, TryLockError};
use std::path::{Component, Path, PathBuf};

/// A record's folder.
#[derive(Clone, Debug)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) const SCENARIO: &str = "scenario.toml";
    pub(crate) const SUMMARY: &str = "summary.json";
    pub(crate) const SERIES: &str = "series.arrow";
    pub(crate) const TIMING: &str = "timing.json";

    /// The files of a record, the summary first.
    fn own() -> impl Iterator<Item = &'static str> {
        let traces = TraceFormat::value_variants().iter().map(|format| format.file());
        [Self::SUMMARY, Self::SERIES].into_iter().chain(traces).chain([Self::TIMING, Self::SCENARIO])
    }

    pub(crate) fn create(&self) -> Result<(), Failure> {
        fs::create_dir_all(&self.0).map_err(Failure::file("create the folder", &self.0))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Keeps other runs out of the folder until the answer is dropped.
    pub(crate) fn lock(&self) -> Result<Lock, Failure> {
        let path = self.path(".lock");
        let file = fs::File::create(&path).map_err(Failure::file("write", &path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(Failure::Record {
                path: self.0.clone(),
                reason: "another run is writing into this folder; give one of them --out DIR".to_owned(),
            }),
            // Where the system has no locks there is no protection, as without this.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Lock { path, _file: file }),
        }
    }

    /// Removes what an earlier run has left here, pictures of it too, the summary first: without it the rest is no
    /// record. A folder that holds no record is left alone.
    pub(crate) fn clear(&self) -> Result<(), Failure> {
        if !self.path(Self::SCENARIO).exists() {
            return Ok(());
        }
        let pictures = FIGURES.iter().flat_map(|name| ["svg", "png"].map(|ending| format!("{name}.{ending}")));
        let partial = Self::own().map(|name| format!("{name}.partial"));
        for name in Self::own().map(str::to_owned).chain(partial).chain(pictures) {
            let path = self.path(&name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Failure::file("replace", &path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes a file under another name and renames it when it is whole.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path(name);
        let partial = self.path(&format!("{name}.partial"));
        fs::write(&partial, bytes).map_err(Failure::file("write", &partial))?;
        fs::rename(&partial, &path).map_err(Failure::file("write", &path))
    }

    /// Begins a file that is written in pieces, under another name until it is whole.
    pub(crate) fn begin(&self, name: &str) -> Result<Growing, Failure> {
        let (path, partial) = (self.path(name), self.path(&format!("{name}.partial")));
        let file = fs::File::create(&partial).map_err(Failure::file("write", &partial))?;
        Ok(Growing { path, partial, file, whole: false })
    }

    /// Writes a file whose name a scenario gives. One that leads out of the folder (absolute, or through `..`), or that is
    /// one of the record's own, is left out: it is found where it was.
    pub(crate) fn write_below(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = Path::new(name);
        let inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !inside || Self::own().any(|own| Path::new(own) == path) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            let folder = self.0.join(parent);
            fs::create_dir_all(&folder).map_err(Failure::file("create the folder", &folder))?;
        }
        self.write(name, bytes)
    }

    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, Failure> {
        let path = self.path(name);
        fs::read(&path).map_err(Failure::file("read", &path))
    }

    /// The samples of the record.
    pub(crate) fn series(&self) -> Result<SeriesTable, Failure> {
        SeriesTable::from_ipc(&self.read(Self::SERIES)?)
            .map_err(|error| Failure::Record { path: self.path(Self::SERIES), reason: error.to_string() })
    }
}

/// A file that is being written.
pub(crate) struct Growing {
    path: PathBuf,
    partial: PathBuf,
    file: fs::File,
    whole: bool,
}

impl Growing {
    pub(crate) fn writer(&mut self) -> &mut fs::File {
        &mut self.file
    }

    /// It is whole.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        self.whole = true;
        fs::rename(&self.partial, &self.path).map_err(Failure::file("write", &self.path))
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
pub(crate) struct Lock {
    path: PathBuf,
    _file: fs::File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // What is left of it does no harm: the system's lock ends with the program.
        let _ = fs::remove_file(&self.path);
    }
}

/// A part of a file name made of any text: letters, digits and a few signs stay, the rest becomes `_`.
pub(crate) fn safe_name(text: &str) -> String {
    let name: String = text
        .chars()
        .take(100)
        .map(|c| if c.is_ascii_alphanumeric() || "-_.=+,".contains(c) { c } else { '_' })
        .collect();
    if name.trim_matches('.').is_empty() { "_".to_owned() } else { name }
}

/// Reads a text file of at most `limit` bytes.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, std::io::Error> {
    use std::io::{Error, ErrorKind, Read};
    let mut text = String::new();
    let read = fs::File::open(path)?.take(limit + 1).read_to_string(&mut text)?;
    if read as u64 > limit {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_their_folder() {
        for (text, name) in
            [("a/b", "a_b"), ("..", "_"), ("", "_"), ("link[0].rate=2Mbps seed=1", "link_0_.rate=2Mbps_seed=1")]
        {
            assert_eq!(safe_name(text), name);
        }
    }
}
