//! Event and trace files of a record that are written while the run is in progress.

use crate::Error;
use crate::checksums::Checksums;
use crate::folder::{Folder, PartialFile};
use crate::traces::{TraceFormat, Tracing};
use headway_record::EventsError;
use headway_sim::{EventTrace, Observer};
use std::io::Write;

/// Observer of a run that records the events of `events.arrow`; or `()`, which records none at no cost.
pub trait EventRecorder: Observer {
    /// Whether the observer records events.
    const RECORDS: bool;

    /// Returns the bytes of `events.arrow` that have become complete since the last call.
    ///
    /// # Errors
    /// The data cannot be encoded as Arrow.
    fn take(&mut self) -> Result<Vec<u8>, EventsError>;

    /// Ends the recording and returns the rest of `events.arrow`.
    ///
    /// # Errors
    /// The data cannot be encoded as Arrow.
    fn finish(self) -> Result<Vec<u8>, EventsError>;
}

impl EventRecorder for EventTrace {
    const RECORDS: bool = true;

    fn take(&mut self) -> Result<Vec<u8>, EventsError> {
        Self::take(self)
    }

    fn finish(self) -> Result<Vec<u8>, EventsError> {
        Self::finish(self)
    }
}

impl EventRecorder for () {
    const RECORDS: bool = false;

    fn take(&mut self) -> Result<Vec<u8>, EventsError> {
        Ok(Vec::new())
    }

    fn finish(self) -> Result<Vec<u8>, EventsError> {
        Ok(Vec::new())
    }
}

/// What the observers of a run have collected: the bytes of each file.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    events: Vec<u8>,
    /// In the order of [`Tracing::formats`].
    traces: Vec<Vec<u8>>,
}

impl Collected {
    pub(crate) fn take<E: EventRecorder, T: Tracing>(
        folder: &Folder,
        (events, traces): &mut (E, T),
    ) -> Result<Self, Error> {
        Ok(Self {
            events: events.take().map_err(not_made(folder))?,
            traces: traces.formats().into_iter().map(|format| traces.take(format)).collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.events.len() + self.traces.iter().map(Vec::len).sum::<usize>()
    }
}

/// Files of one run.
pub(crate) struct Files {
    events: Option<PartialFile>,
    traces: Vec<(TraceFormat, PartialFile)>,
}

impl Files {
    pub(crate) fn begin<E: EventRecorder, T: Tracing>(folder: &Folder, (_, traces): &(E, T)) -> Result<Self, Error> {
        let begin = |format: TraceFormat| Ok((format, folder.begin(format.file())?));
        let traces = traces.formats().into_iter().map(begin).collect::<Result<_, Error>>()?;
        let events = E::RECORDS.then(|| folder.begin(Folder::EVENTS)).transpose()?;
        Ok(Self { events, traces })
    }

    /// Writes what the observers have collected since the last call.
    pub(crate) fn write(&mut self, folder: &Folder, collected: &Collected) -> Result<(), Error> {
        if let Some(file) = &mut self.events {
            append(folder, Folder::EVENTS, file, &collected.events)?;
        }
        for ((format, file), bytes) in self.traces.iter_mut().zip(&collected.traces) {
            append(folder, format.file(), file, bytes)?;
        }
        Ok(())
    }

    /// Writes the rest of each file after the run.
    pub(crate) fn end<E: EventRecorder, T: Tracing>(
        self,
        folder: &Folder,
        (events, mut traces): (E, T),
        sums: &mut Checksums,
    ) -> Result<(), Error> {
        if let Some(mut file) = self.events {
            append(folder, Folder::EVENTS, &mut file, &events.finish().map_err(not_made(folder))?)?;
            sums.add(Folder::EVENTS, file.end()?);
        }
        for (format, mut file) in self.traces {
            append(folder, format.file(), &mut file, &traces.take(format)?)?;
            sums.add(format.file(), file.end()?);
        }
        if let Some(index) = traces.packet_index() {
            sums.add(Folder::PACKET_INDEX, folder.write(Folder::PACKET_INDEX, index.to_json().as_bytes())?);
        }
        Ok(())
    }
}

fn append(folder: &Folder, name: &str, file: &mut PartialFile, bytes: &[u8]) -> Result<(), Error> {
    file.writer().write_all(bytes).map_err(Error::file("write", &folder.path(name)))
}

fn not_made(folder: &Folder) -> impl FnOnce(EventsError) -> Error {
    let path = folder.path(Folder::EVENTS);
    move |error| Error::Record { path, reason: error.into() }
}
