//! The files of a record that grow while its run lasts and who watches it has something to tell: events, traces.

use crate::Error;
use crate::checksums::Checksums;
use crate::folder::{Folder, Growing};
use crate::traces::{TraceFormat, Tracing};
use headway_record::EventsError;
use headway_sim::{EventTrace, Observer};
use std::io::Write;

/// Who gathers events, or nobody: where nothing is kept over time, they are not either, and cost nothing.
pub trait Gathering: Observer {
    /// Whether there is a file of them.
    const GATHERS: bool;

    /// What is gathered since the last call, as the file goes on.
    ///
    /// # Errors
    /// It cannot be written in Arrow's format.
    fn take(&mut self) -> Result<Vec<u8>, EventsError>;

    /// The rest of the file.
    ///
    /// # Errors
    /// It cannot be written in Arrow's format.
    fn finish(self) -> Result<Vec<u8>, EventsError>;
}

impl Gathering for EventTrace {
    const GATHERS: bool = true;

    fn take(&mut self) -> Result<Vec<u8>, EventsError> {
        Self::take(self)
    }

    fn finish(self) -> Result<Vec<u8>, EventsError> {
        Self::finish(self)
    }
}

impl Gathering for () {
    const GATHERS: bool = false;

    fn take(&mut self) -> Result<Vec<u8>, EventsError> {
        Ok(Vec::new())
    }

    fn finish(self) -> Result<Vec<u8>, EventsError> {
        Ok(Vec::new())
    }
}

/// Those of one run.
pub(crate) struct Files {
    events: Option<Growing>,
    traces: Vec<(TraceFormat, Growing)>,
}

impl Files {
    pub(crate) fn begin<E: Gathering, T: Tracing>(folder: &Folder, (_, traces): &(E, T)) -> Result<Self, Error> {
        let begin = |format: TraceFormat| Ok((format, folder.begin(format.file())?));
        let traces = traces.formats().into_iter().map(begin).collect::<Result<_, Error>>()?;
        let events = E::GATHERS.then(|| folder.begin(Folder::EVENTS)).transpose()?;
        Ok(Self { events, traces })
    }

    pub(crate) fn write<E: Gathering, T: Tracing>(
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

    /// Writes the rest, once the run is over.
    pub(crate) fn end<E: Gathering, T: Tracing>(
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

fn append(folder: &Folder, name: &str, file: &mut Growing, bytes: Result<Vec<u8>, Error>) -> Result<(), Error> {
    file.writer().write_all(&bytes?).map_err(Error::file("write", &folder.path(name)))
}

fn not_made(folder: &Folder) -> impl FnOnce(EventsError) -> Error {
    let path = folder.path(Folder::EVENTS);
    move |error| Error::Record { path, reason: error.into() }
}
