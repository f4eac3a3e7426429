//! The files of a record: their names, and how they are read and written.

use crate::Error;
use crate::checksums::{Checksum, Checksums};
use crate::folder::{Folder, is_plain, partial};
use crate::traces::TraceFormat;
use headway_record::{Distributions, EventTable, FIGURE_ENDINGS, SeriesError, SeriesTable, Summary, figure_names};
use std::path::Path;

impl Folder {
    /// Name of the file with the resolved scenario: all defaults and overrides applied. Running this file gives an
    /// equal record.
    pub const SCENARIO: &str = "scenario.toml";
    /// Name of the file with the metrics of the run.
    pub const SUMMARY: &str = "summary.json";
    /// Name of the file with the time series.
    pub const SERIES: &str = "series.arrow";
    /// Name of the file with drops, timeouts, late packets and other events.
    pub const EVENTS: &str = "events.arrow";
    /// Name of the file with the index of `packets.arrow`.
    pub const PACKET_INDEX: &str = "packets.index.json";
    /// Name of the file with the distributions of packet and frame delays; only if the scenario enables them.
    pub const DISTRIBUTIONS: &str = "distributions.json";
    /// Name of the file with the wall-clock time and the speed of the run.
    pub const TIMING: &str = "timing.json";
    /// Name of the file with the checksums of the other files.
    pub const CHECKSUMS: &str = "checksums.txt";
    /// Name of the file with the timing errors of a run between real sockets or with real programs (`headway lab`).
    pub const LIVE: &str = "live.json";
    /// Name of the folder with the output of the programs that `headway lab` runs.
    pub const PROGRAMS: &str = "programs";

    /// Returns the names of all files of a record, the summary first and the checksums last.
    fn own() -> impl Iterator<Item = &'static str> {
        let traces = TraceFormat::ALL.into_iter().flat_map(TraceFormat::files);
        let rest = [Self::TIMING, Self::LIVE, Self::SCENARIO, Self::CHECKSUMS];
        [Self::SUMMARY, Self::SERIES, Self::EVENTS, Self::DISTRIBUTIONS].into_iter().chain(traces).chain(rest)
    }

    /// Removes the files of an earlier run and their pictures. The summary is removed first, so that an
    /// interrupted removal leaves no valid record. The folder must be [claimed](Folder::claim).
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn clear(&self) -> Result<(), Error> {
        let pictures = figure_names().flat_map(|name| FIGURE_ENDINGS.map(|ending| format!("{name}.{ending}")));
        let inputs = self.checksums().unwrap_or_default();
        let names = inputs.names().map(str::to_owned).chain(pictures).chain(Self::own().map(str::to_owned));
        self.remove(names.flat_map(|name| [partial(&name), name]))?;
        let programs = Self(self.path(Self::PROGRAMS));
        let logs = std::fs::read_dir(&programs.0).into_iter().flatten().flatten();
        let logs = logs.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.ends_with(".log"));
        programs.remove(logs)
    }

    /// Writes a copy of a file that the scenario names, at the same relative path. Returns `None` without writing if
    /// the path leads out of the folder (absolute, or through `..`) or is the name of a record file.
    ///
    /// # Errors
    /// Another file has this path, or the file cannot be written.
    pub fn write_input(&self, name: &str, bytes: &[u8]) -> Result<Option<Checksum>, Error> {
        let path = Path::new(name);
        let (Some(file), true) = (path.file_name().and_then(|file| file.to_str()), is_plain(path)) else {
            return Ok(None);
        };
        if Self::own().any(|own| Path::new(own) == path) {
            return Ok(None);
        }
        let folder = self.below(path.parent().unwrap_or(Path::new("")))?;
        if folder.path(file).exists() && folder.read(file)? != bytes {
            let reason = "the scenario names another file of this name, which would be overwritten; use --out DIR";
            return Err(Error::Record { path: folder.path(file), reason: reason.into() });
        }
        folder.write(file, bytes).map(Some)
    }

    /// Returns the stored checksums, or `None` if the folder has none.
    #[must_use]
    pub fn checksums(&self) -> Option<Checksums> {
        Checksums::parse(std::str::from_utf8(&self.read(Self::CHECKSUMS).ok()?).ok()?)
    }

    /// Reads a file of the record. If the record has a checksum of the file, the content is compared with it.
    ///
    /// # Errors
    /// The file cannot be read, or its content does not match its checksum.
    pub fn read_checked(&self, name: &str) -> Result<Vec<u8>, Error> {
        let bytes = self.read(name)?;
        self.compare(name, |_| Ok(Checksum::of(&bytes)))?;
        Ok(bytes)
    }

    /// Compares the content of a file with its checksum, if the record has both.
    ///
    /// # Errors
    /// The file cannot be read, or its content does not match its checksum.
    pub fn check(&self, name: &str) -> Result<(), Error> {
        if self.path(name).exists() { self.compare(name, Checksum::of_file) } else { Ok(()) }
    }

    fn compare(&self, name: &str, found: impl Fn(&Path) -> std::io::Result<Checksum>) -> Result<(), Error> {
        let path = self.path(name);
        let Some(expected) = self.checksums().and_then(|checksums| checksums.of(name)) else { return Ok(()) };
        if found(&path).map_err(Error::file("read", &path))? == expected {
            return Ok(());
        }
        let reason = format!("the file was damaged or edited: its checksum differs from that in {}", Self::CHECKSUMS);
        Err(Error::Record { path, reason: reason.into() })
    }

    /// Writes `checksums.txt`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_checksums(&self, checksums: &Checksums) -> Result<(), Error> {
        self.write(Self::CHECKSUMS, checksums.to_string().as_bytes()).map(|_| ())
    }

    /// Writes `summary.json` and returns its checksum.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_summary(&self, summary: &Summary) -> Result<Checksum, Error> {
        self.write_with(Self::SUMMARY, |file| summary.write_json(file))
    }

    /// Writes the summary of a run in progress to `summary.json.partial`. The final `summary.json` replaces this file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_summary_so_far(&self, summary: &Summary) -> Result<(), Error> {
        self.write_with(&partial(Self::SUMMARY), |file| summary.write_json(file)).map(|_| ())
    }

    /// Reads the time series of the record.
    ///
    /// # Errors
    /// The file cannot be read, or was damaged.
    pub fn series(&self) -> Result<SeriesTable, Error> {
        self.table(SeriesTable::from_ipc)
    }

    pub(crate) fn series_of(&self, metrics: &[&str]) -> Result<SeriesTable, Error> {
        self.table(|bytes| SeriesTable::of_metrics(bytes, metrics))
    }

    fn table(&self, read: impl Fn(&[u8]) -> Result<SeriesTable, SeriesError>) -> Result<SeriesTable, Error> {
        read(&self.read_checked(Self::SERIES)?)
            .map_err(|error| Error::Record { path: self.path(Self::SERIES), reason: error.into() })
    }

    /// Reads the events of the record.
    ///
    /// # Errors
    /// The file cannot be read, was damaged, or does not exist.
    pub fn events(&self) -> Result<EventTable, Error> {
        EventTable::from_ipc(&self.read_checked(Self::EVENTS)?)
            .map_err(|error| Error::Record { path: self.path(Self::EVENTS), reason: error.into() })
    }

    /// Reads the distributions of packet and frame delays.
    ///
    /// # Errors
    /// The file cannot be read, was damaged, or does not exist.
    pub fn distributions(&self) -> Result<Distributions, Error> {
        let text = String::from_utf8_lossy(&self.read_checked(Self::DISTRIBUTIONS)?).into_owned();
        Distributions::from_json(&text)
            .map_err(|error| Error::Record { path: self.path(Self::DISTRIBUTIONS), reason: error.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that exists with other content is kept, and is an error. Paths out of the folder and names of the record
    /// are not written.
    #[test]
    fn inputs_are_copied_to_their_relative_path() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder(place.path().join("record"));
        for name in ["rates.txt", "in/two/rates.txt", "./other.txt"] {
            assert_eq!(folder.write_input(name, b"1").unwrap(), Some(Checksum::of(b"1")), "{name}");
            assert_eq!(folder.write_input(name, b"1").unwrap(), Some(Checksum::of(b"1")), "{name}, again");
            let error = folder.write_input(name, b"2").unwrap_err().to_string();
            assert!(error.contains("another file of this name"), "{error}");
            assert_eq!(folder.read(name).unwrap(), b"1", "{name}");
        }
        for name in ["../rates.txt", "/rates.txt", "in/../../rates.txt", "", "..", Folder::SUMMARY, Folder::SCENARIO] {
            assert_eq!(folder.write_input(name, b"1").unwrap(), None, "{name}");
        }
        assert!(Folder::own().all(|name| folder.write_input(name, b"1").unwrap().is_none()));
        assert!(!place.path().join("rates.txt").exists() && !folder.path(Folder::SUMMARY).exists());
        // The name of a record file is free in a subfolder.
        assert!(folder.write_input("in/summary.json", b"1").unwrap().is_some());
    }

    /// Files of the record, its inputs, pictures and partial files are removed; other files are kept.
    #[test]
    fn clearing_removes_only_what_a_run_writes() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder(place.path().to_owned());
        let mut sums = Checksums::default();
        sums.add("in/rates.txt", folder.write_input("in/rates.txt", b"1").unwrap().unwrap());
        // A damaged list of checksums does not lead out of the folder.
        let outside = tempfile::NamedTempFile::new().unwrap();
        sums.add(outside.path().to_str().unwrap(), Checksum::of(b""));
        let picture = format!("{}.svg", figure_names().next().unwrap());
        let names: Vec<String> = Folder::own().map(str::to_owned).chain([picture, "notes.txt".to_owned()]).collect();
        names.iter().for_each(|name| _ = folder.write(name, b"1").unwrap());
        folder.write_checksums(&sums).unwrap();
        std::fs::write(folder.partial_path(Folder::EVENTS), b"1").unwrap();
        assert_eq!(folder.checksums(), Some(sums));
        folder.clear().unwrap();
        let mut left: Vec<_> = std::fs::read_dir(place.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["in", "notes.txt"]);
        assert_eq!(std::fs::read_dir(folder.path("in")).unwrap().count(), 0);
        assert!(outside.path().exists());
        assert_eq!(folder.checksums(), None);
        folder.clear().unwrap();
    }

    /// A record without checksums is read as it is: records of earlier versions have none.
    #[test]
    fn a_file_is_compared_with_its_checksum() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder(place.path().to_owned());
        let mut sums = Checksums::default();
        sums.add(Folder::SERIES, folder.write(Folder::SERIES, b"samples").unwrap());
        std::fs::write(folder.path(Folder::SERIES), b"sampled").unwrap();
        assert_eq!(folder.read_checked(Folder::SERIES).unwrap(), b"sampled");
        folder.check(Folder::SERIES).unwrap();
        folder.write_checksums(&sums).unwrap();
        for error in [folder.read_checked(Folder::SERIES).unwrap_err(), folder.check(Folder::SERIES).unwrap_err()] {
            assert!(error.to_string().ends_with("its checksum differs from that in checksums.txt"), "{error}");
        }
        std::fs::write(folder.path(Folder::SERIES), b"samples").unwrap();
        assert_eq!(folder.read_checked(Folder::SERIES).unwrap(), b"samples");
        folder.check(Folder::SERIES).unwrap();
        folder.check(Folder::EVENTS).unwrap();
    }

    #[test]
    fn a_damaged_file_is_named_in_the_error() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder(place.path().to_owned());
        for (name, read) in [
            (Folder::SERIES, (|of| of.series().map(drop)) as fn(&Folder) -> Result<(), Error>),
            (Folder::EVENTS, |of| of.events().map(drop)),
            (Folder::DISTRIBUTIONS, |of| of.distributions().map(drop)),
        ] {
            let path = folder.path(name);
            assert!(
                matches!(read(&folder), Err(Error::File { path: found, .. }) if found == path),
                "{name} is missing"
            );
            folder.write(name, b"?").unwrap();
            assert!(matches!(read(&folder), Err(Error::Record { path: found, .. }) if found == path), "{name}");
        }
    }
}
