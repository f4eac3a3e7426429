//! The files of a record that grow while its run lasts and who watches it has something to tell: events, traces.

use crate::Error;
use crate::checksums::Checksums;
use crate::folder::{Folder, Growing};
use crate::traces::{TraceFormat, Tracing};
use headway_record::EventsError;
use headway_sim::EventTrace;
use std::io::Write;

/// Those of one run.
pub(crate) struct Files {
    events: Growing,
    traces: Vec<(TraceFormat, Growing)>,
}

impl Files {
    pub(crate) fn begin(folder: &Folder, traces: &impl Tracing) -> Result<Self, Error> {
        let begin = |format: TraceFormat| Ok((format, folder.begin(format.file())?));
        let traces = traces.formats().into_iter().map(begin).collect::<Result<_, Error>>()?;
        Ok(Self { events: folder.begin(Folder::EVENTS)?, traces })
    }

    /// Writes what there is.
    pub(crate) fn write<T: Tracing>(
        &mut self,
        folder: &Folder,
        (events, traces): &mut (EventTrace, T),
    ) -> Result<(), Error> {
        append(folder, Folder::EVENTS, &mut self.events, events.take().map_err(not_made(folder)))?;
        for (format, file) in &mut self.traces {
            append(folder, format.file(), file, traces.take(*format))?;
        }
        Ok(())
    }

    /// Writes the rest, once the run is over.
    pub(crate) fn end<T: Tracing>(
        mut self,
        folder: &Folder,
        (events, mut traces): (EventTrace, T),
        sums: &mut Checksums,
    ) -> Result<(), Error> {
        append(folder, Folder::EVENTS, &mut self.events, events.finish().map_err(not_made(folder)))?;
        sums.add(Folder::EVENTS, self.events.end()?);
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
    move |error| Error::Record { path, reason: error.to_string() }
}
