//! Event and trace files of a record that are written while the run is in progress.

use crate::Error;
use crate::checksums::Checksums;
use crate::folder::{Folder, PartialFile};
use crate::traces::{TraceFormat, Tracing};
use headway_record::EventsError;
use headway_sim::{EventTrace, Observer};
use std::io::Write;

/// Observer that records events, or `()`. Runs without series and traces record no events and have no cost for them.
pub trait EventRecorder: Observer {
    /// Whether the observer records events.
    const RECORDS: bool;

    /// Returns the bytes of the event file since the last call.
    ///
    /// # Errors
    /// The data cannot be encoded as Arrow.
    fn take(&mut self) -> Result<Vec<u8>, EventsError>;

    /// Returns the rest of the event file.
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

    pub(crate) fn write<E: EventRecorder, T: Tracing>(
        &mut self,
        folder: &Folder,
        (events, traces): &mut (E, T),
    ) -> Result<(), Error> {
        if let Some(file) = &mut self.events {
            append(folder, Folder::EVENTS, file, events.take().map_err(not_made(folder)))?;
        }
        for (format, file) in &mut self.traces {
            append(folder, format.file(), file, traces.take(*format))?;
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
            append(folder, Folder::EVENTS, &mut file, events.finish().map_err(not_made(folder)))?;
            sums.add(Folder::EVENTS, file.end()?);
        }
        for (format, mut file) in self.traces {
            append(folder, format.file(), &mut file, traces.take(format))?;
            sums.add(format.file(), file.end()?);
        }
        if let Some(index) = traces.packet_index() {
            sums.add(Folder::PACKET_INDEX, folder.write(Folder::PACKET_INDEX, index.to_json().as_bytes())?);
        }
        Ok(())
    }
}

fn append(folder: &Folder, name: &str, file: &mut PartialFile, bytes: Result<Vec<u8>, Error>) -> Result<(), Error> {
    file.writer().write_all(&bytes?).map_err(Error::file("write", &folder.path(name)))
}

fn not_made(folder: &Folder) -> impl FnOnce(EventsError) -> Error {
    let path = folder.path(Folder::EVENTS);
    move |error| Error::Record { path, reason: error.into() }
}
