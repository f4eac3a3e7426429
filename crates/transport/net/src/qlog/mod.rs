//! qlog: a file for each connection with its packets, losses and metrics, which qvis shows.
//!
//! - `event` has the events, `packet` the fields of a packet, `in_flight` the packets in flight.
//! - `trace` turns what happens to a connection into events.
//! - This file has the queue between the traces and the thread that writes the files: tracing never waits for a disk.
//! - With the feature `qlog`, `writer` is that thread, and `json` the JSON of the events. Without it no log can be
//!   created, and this crate needs no JSON.

mod event;
mod in_flight;
#[cfg(feature = "qlog")]
mod json;
mod packet;
mod trace;
#[cfg(feature = "qlog")]
mod writer;

pub(crate) use event::Role;
pub(crate) use trace::Trace;

use crate::watched::lock;
use event::{Event, Header};
use headway_units::Duration;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Maximum number of queued events: some tenths of a second at a high rate, about 3 MB. The thread holds as many while
/// it writes them.
const MAX_QUEUED: usize = 1 << 14;

/// Folder in which an endpoint writes a log file in the format qlog for each connection, for the viewer
/// [qvis](https://qvis.quictools.info): see [`Options::qlog`](crate::Options::qlog).
///
/// The files are JSON text sequences (RFC 7464) of qlog 0.3. The name of a file contains the sequence number of the
/// client's first packet, which is random, and the end that wrote it, such as `86a1c2d3e4f5.client.sqlog`. A server
/// creates the file when the connection is established.
///
/// A thread writes the files. Its queue has 16,384 events; if the disk is too slow, further events are dropped, and the
/// file contains their number (`headway:events_dropped`). If a file cannot be written, its connection continues without
/// it. A clone is another handle to the same folder.
///
/// `Qlog::new` needs the feature `qlog` of this crate, which is disabled by default.
#[derive(Clone, Debug)]
pub struct Qlog(Arc<Handle>);

/// Reason why qlog files are not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QlogError {
    /// The folder cannot be created.
    #[error("cannot create the folder {}: {source}", folder.display())]
    Folder {
        /// Folder of the files.
        folder: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The thread that writes the files cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// A file cannot be written.
    #[error("cannot write the qlog file {}: {source}; its connection continues without it", file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Ends the thread when the last handle is dropped.
#[derive(Debug)]
struct Handle(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Message>,
    /// Number of messages queued since the start.
    queued: u64,
    /// Number of messages that the thread has handled.
    handled: u64,
    /// Number of messages that a caller waits for.
    awaited: u64,
    next_file: u64,
    is_over: bool,
    /// First error that the program has not read.
    failure: Option<QlogError>,
    /// Whether an error was kept; later ones are not.
    has_failed: bool,
}

/// Message to the thread, with the number of a file.
enum Message {
    Open(u64, String, Header),
    Event(u64, Duration, Event),
    Close(u64),
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Open(file, ..) | Self::Event(file, ..) | Self::Close(file)) = self;
        write!(f, "message of file {file}")
    }
}

impl Qlog {
    /// Waits until all events so far are written, for at most `timeout`. Returns whether they are.
    pub fn flush(&self, timeout: Duration) -> bool {
        let Shared { queue, changed } = &*self.0.0;
        let mut queue = lock(queue);
        let target = queue.queued;
        queue.awaited = queue.awaited.max(target);
        changed.notify_all();
        let timeout = std::time::Duration::from_nanos(timeout.as_nanos());
        let waited = changed.wait_timeout_while(queue, timeout, |queue| queue.handled < target);
        waited.unwrap_or_else(PoisonError::into_inner).0.handled >= target
    }

    /// Returns the first error of writing a file, once; then `None`. Later errors mostly have the same cause, such as a
    /// full disk.
    #[must_use]
    pub fn take_failure(&self) -> Option<QlogError> {
        lock(&self.0.0.queue).failure.take()
    }

    /// Opens a file. Its name gets a suffix if there is already such a file.
    fn open(&self, name: String, header: Header) -> u64 {
        let mut queue = lock(&self.0.0.queue);
        let file = queue.next_file;
        queue.next_file += 1;
        queue.push(Message::Open(file, name, header));
        file
    }

    /// Queues an event. Returns false if the queue is full.
    fn push(&self, file: u64, time: Duration, event: Event) -> bool {
        let Shared { queue, changed } = &*self.0.0;
        let mut queue = lock(queue);
        if queue.waiting.len() >= MAX_QUEUED {
            return false;
        }
        queue.push(Message::Event(file, time, event));
        let wakes = queue.waiting.len() == MAX_QUEUED / 2;
        drop(queue);
        if wakes {
            changed.notify_all();
        }
        true
    }

    /// Closes a file. `dropped`: events that were dropped since the last one.
    fn close(&self, file: u64, time: Duration, dropped: u64) {
        let mut queue = lock(&self.0.0.queue);
        if dropped > 0 {
            queue.push(Message::Event(file, time, Event::EventsDropped(dropped)));
        }
        queue.push(Message::Close(file));
    }
}

impl Queue {
    fn push(&mut self, message: Message) {
        self.queued += 1;
        self.waiting.push(message);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        lock(&self.0.queue).is_over = true;
        self.0.changed.notify_all();
    }
}

#[cfg(feature = "qlog")]
#[cfg(test)]
pub(crate) mod tests;
