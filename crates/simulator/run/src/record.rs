//! The files of a record.

use crate::Error;
use crate::checksums::{Checksum, Checksums};
use crate::folder::{Folder, is_plain, partial};
use crate::traces::TraceFormat;
use headway_record::{Distributions, EventTable, SeriesError, SeriesTable, Summary, figure_names};
use std::path::Path;

impl Folder {
    /// The scenario, resolved: running it again gives the same record.
    pub const SCENARIO: &str = "scenario.toml";
    /// The metrics.
    pub const SUMMARY: &str = "summary.json";
    /// Samples over time.
    pub const SERIES: &str = "series.arrow";
    /// Drops, timeouts, what came late.
    pub const EVENTS: &str = "events.arrow";
    /// Where what is in `packets.arrow`.
    pub const PACKET_INDEX: &str = "packets.index.json";
    /// How long each packet and frame took, of a run that was to keep it.
    pub const DISTRIBUTIONS: &str = "distributions.json";
    /// What the run took.
    pub const TIMING: &str = "timing.json";
    /// Checksums of the others.
    pub const CHECKSUMS: &str = "checksums.txt";
    /// Of a run between real sockets: how late it was.
    pub const LIVE: &str = "live.json";

    /// The files of every record, the summary first, the checksums last.
    fn own() -> impl Iterator<Item = &'static str> {
        let traces = TraceFormat::ALL.into_iter().flat_map(TraceFormat::files);
        let rest = [Self::TIMING, Self::LIVE, Self::SCENARIO, Self::CHECKSUMS];
        [Self::SUMMARY, Self::SERIES, Self::EVENTS, Self::DISTRIBUTIONS].into_iter().chain(traces).chain(rest)
    }

    /// Removes what an earlier run has left here, pictures of it too, the summary first: without it the rest is no
    /// record. The folder must be [claimed](Folder::claim).
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn clear(&self) -> Result<(), Error> {
        let pictures = figure_names().flat_map(|name| ["svg", "png"].map(|ending| format!("{name}.{ending}")));
        let inputs = self.checksums().unwrap_or_default();
        let names = inputs.names().map(str::to_owned).chain(pictures).chain(Self::own().map(str::to_owned));
        self.remove(names.flat_map(|name| [partial(&name), name]))
    }

    /// Writes a file that the scenario names, beside it. One that leads out of the folder (absolute, or through `..`), or
    /// that is one of the record's own, is left out: it is found where it was.
    ///
    /// # Errors
    /// Another file is in its place, or it cannot be written.
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
            let reason = "the scenario names another file of this name, which would be written over; write --out DIR";
            return Err(Error::Record { path: folder.path(file), reason: reason.into() });
        }
        folder.write(file, bytes).map(Some)
    }

    /// The checksums that a run has left; `None` without.
    #[must_use]
    pub fn checksums(&self) -> Option<Checksums> {
        Checksums::parse(std::str::from_utf8(&self.read(Self::CHECKSUMS).ok()?).ok()?)
    }

    /// Writes the checksums.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write_checksums(&self, checksums: &Checksums) -> Result<(), Error> {
        self.write(Self::CHECKSUMS, checksums.to_string().as_bytes()).map(|_| ())
    }

    /// Writes the summary.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_summary(&self, summary: &Summary) -> Result<Checksum, Error> {
        self.write_with(Self::SUMMARY, |file| summary.write_json(file))
    }

    /// Writes the summary of a run that goes on, as far as that is known: under the name that it has until it is whole, so that writing it
    /// replaces this.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_summary_so_far(&self, summary: &Summary) -> Result<(), Error> {
        self.write_with(&partial(Self::SUMMARY), |file| summary.write_json(file)).map(|_| ())
    }

    /// The samples of the record.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn series(&self) -> Result<SeriesTable, Error> {
        self.table(SeriesTable::from_ipc)
    }

    pub(crate) fn series_of(&self, metrics: &[&str]) -> Result<SeriesTable, Error> {
        self.table(|bytes| SeriesTable::of_metrics(bytes, metrics))
    }

    fn table(&self, read: impl Fn(&[u8]) -> Result<SeriesTable, SeriesError>) -> Result<SeriesTable, Error> {
        read(&self.read(Self::SERIES)?)
            .map_err(|error| Error::Record { path: self.path(Self::SERIES), reason: error.into() })
    }

    /// The events of the record.
    ///
    /// # Errors
    /// They cannot be read, or were not kept.
    pub fn events(&self) -> Result<EventTable, Error> {
        EventTable::from_ipc(&self.read(Self::EVENTS)?)
            .map_err(|error| Error::Record { path: self.path(Self::EVENTS), reason: error.into() })
    }

    /// How long each packet and frame of the record took.
    ///
    /// # Errors
    /// It cannot be read, or was not kept.
    pub fn distributions(&self) -> Result<Distributions, Error> {
        let text = String::from_utf8_lossy(&self.read(Self::DISTRIBUTIONS)?).into_owned();
        Distributions::from_json(&text)
            .map_err(|error| Error::Record { path: self.path(Self::DISTRIBUTIONS), reason: error.into() })
    }
}
