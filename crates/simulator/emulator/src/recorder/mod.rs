//! Captures and logs of the packets of links in wall-clock time.
//!
//! A [`Tap`] on each direction of a link passes the events of its packets to a thread, which writes them. The thread of
//! the link never waits: an event for which there is no room is lost and counted.

mod capture;
mod mahimahi;

pub use capture::Capture;
pub use mahimahi::{LogHeader, MahimahiLog};

use headway_units::{DropCause, Duration, Instant};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Maximum number of events that wait for the thread, and of the bytes of their packets.
const MAX_EVENTS: usize = 1 << 16;
const MAX_BYTES: usize = 64 << 20;
/// Time for which the thread lets events accumulate, so that the link does not wake it for each of them.
const GATHER: std::time::Duration = std::time::Duration::from_millis(1);
/// Events are written in the order of their times if they are this much late at most, and at the latest when the link
/// was idle for this time.
const HOLD: Duration = Duration::from_millis(20);

/// Event of a packet in one direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketEvent {
    /// Number of the link direction, as passed to [`Recorder::tap`].
    pub path: usize,
    /// Time of the event.
    pub at: Instant,
    /// Time at which the packet arrived at the link.
    pub arrived_at: Instant,
    /// Size of the packet, in IP bytes.
    pub size: u32,
    /// The bytes of the packet; empty if no sink needs them.
    pub bytes: Vec<u8>,
    /// Kind of the event.
    pub kind: PacketEventKind,
}

/// Kind of a [`PacketEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEventKind {
    /// The packet arrived at the link.
    Arrived,
    /// The packet left the far end of the link.
    Departed,
    /// The link dropped the packet.
    Dropped(DropCause),
}

/// Output of a [`Recorder`]: writes a file or files with the events of packets.
pub trait PacketSink: Send {
    /// Returns the name of the file or folder for messages.
    fn path(&self) -> &Path;

    /// Returns whether the sink needs the bytes of each packet in its events.
    fn needs_bytes(&self) -> bool;

    /// Writes the header, before all events. `epoch` is the Unix time of [`Instant::ZERO`].
    ///
    /// # Errors
    /// Errors of the system. After an error, the sink is not called again.
    fn begin(&mut self, epoch: Duration) -> io::Result<()>;

    /// Writes an event. Events are passed in the order of their times, except departures that the emulator handled
    /// late.
    ///
    /// # Errors
    /// Errors of the system. After an error, the sink is not called again.
    fn record(&mut self, event: &PacketEvent) -> io::Result<()>;

    /// Passes buffered events to the operating system.
    ///
    /// # Errors
    /// Errors of the system. After an error, the sink is not called again.
    fn flush(&mut self) -> io::Result<()>;

    /// Completes the file after the last event, for a run that ended at `end`.
    ///
    /// # Errors
    /// Errors of the system.
    fn finish(&mut self, end: Instant) -> io::Result<()>;
}

/// Error of a sink.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {error}", file.display())]
pub struct RecordError {
    /// File or folder that could not be written.
    pub file: PathBuf,
    /// Error of the system.
    pub error: io::Error,
}

/// Thread that writes the events of packets at links to its [sinks](PacketSink).
#[derive(Debug)]
pub struct Recorder {
    sender: SyncSender<PacketEvent>,
    held_bytes: Arc<AtomicUsize>,
    keeps_bytes: bool,
    thread: JoinHandle<Sinks>,
}

impl Recorder {
    /// Starts the thread that writes to the sinks. `epoch` is the Unix time of [`Instant::ZERO`].
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(sinks: Vec<Box<dyn PacketSink>>, epoch: Duration) -> io::Result<Self> {
        let keeps_bytes = sinks.iter().any(|sink| sink.needs_bytes());
        let (sender, receiver) = sync_channel(MAX_EVENTS);
        let held_bytes = Arc::new(AtomicUsize::new(0));
        let held = Arc::clone(&held_bytes);
        let run = move || {
            let mut sinks = Sinks { open: sinks, errors: Vec::new() };
            sinks.each(|sink| sink.begin(epoch));
            sinks.write_all(&receiver, &held);
            sinks
        };
        let thread = Builder::new().name("recorder".to_owned()).spawn(run)?;
        Ok(Self { sender, held_bytes, keeps_bytes, thread })
    }

    /// Returns the connection of the link direction with this number to the recorder.
    #[must_use]
    pub fn tap(&self, path: usize) -> Tap {
        let (sender, held_bytes) = (self.sender.clone(), Arc::clone(&self.held_bytes));
        Tap { path, sender, held_bytes, keeps_bytes: self.keeps_bytes, lost: 0 }
    }

    /// Waits until all events are written, and returns the errors of the sinks. All [taps](Tap) must have been dropped.
    /// `end` is the end of the run.
    #[must_use]
    pub fn finish(self, end: Instant) -> Vec<RecordError> {
        drop(self.sender);
        let Ok(mut sinks) = self.thread.join() else {
            let error = io::Error::other("the thread that writes it panicked");
            return vec![RecordError { file: "the captures and logs".into(), error }];
        };
        sinks.each(|sink| sink.finish(end));
        sinks.errors
    }
}

/// Connection of one direction of a link to a [`Recorder`]. Its methods do not wait.
#[derive(Debug)]
pub struct Tap {
    path: usize,
    sender: SyncSender<PacketEvent>,
    held_bytes: Arc<AtomicUsize>,
    keeps_bytes: bool,
    lost: u64,
}

impl Tap {
    /// Records that a packet arrived at the link.
    pub fn arrived(&mut self, at: Instant, bytes: &[u8]) {
        let kept = if self.keeps_bytes { bytes.to_vec() } else { Vec::new() };
        self.send(PacketEventKind::Arrived, [at, at], bytes.len(), kept);
    }

    /// Records that a packet left the link.
    pub fn departed(&mut self, at: Instant, arrived_at: Instant, bytes: Vec<u8>) {
        self.send(PacketEventKind::Departed, [at, arrived_at], bytes.len(), bytes);
    }

    /// Records that the link dropped a packet.
    pub fn dropped(&mut self, at: Instant, arrived_at: Instant, cause: DropCause, bytes: Vec<u8>) {
        self.send(PacketEventKind::Dropped(cause), [at, arrived_at], bytes.len(), bytes);
    }

    /// Returns the number of events of this direction that were lost because the recorder's thread did not write fast
    /// enough.
    #[must_use]
    pub fn lost_events(&self) -> u64 {
        self.lost
    }

    fn send(&mut self, kind: PacketEventKind, [at, arrived_at]: [Instant; 2], size: usize, bytes: Vec<u8>) {
        let bytes = if self.keeps_bytes { bytes } else { Vec::new() };
        let held = bytes.len();
        let event = PacketEvent { path: self.path, at, arrived_at, size: size as u32, bytes, kind };
        let fits = self.held_bytes.fetch_add(held, Ordering::Relaxed) + held <= MAX_BYTES;
        if !fits || self.sender.try_send(event).is_err() {
            self.held_bytes.fetch_sub(held, Ordering::Relaxed);
            self.lost += 1;
        }
    }
}

/// Sinks without an error, and the errors of the others.
struct Sinks {
    open: Vec<Box<dyn PacketSink>>,
    errors: Vec<RecordError>,
}

impl Sinks {
    /// Calls a function for each sink, and removes sinks with an error.
    fn each(&mut self, mut call: impl FnMut(&mut dyn PacketSink) -> io::Result<()>) {
        let errors = &mut self.errors;
        self.open.retain_mut(|sink| match call(&mut **sink) {
            Ok(()) => true,
            Err(error) => {
                errors.push(RecordError { file: sink.path().to_owned(), error });
                false
            }
        });
    }

    /// Writes events until all taps are dropped.
    fn write_all(&mut self, events: &Receiver<PacketEvent>, held_bytes: &AtomicUsize) {
        let idle = std::time::Duration::from_nanos(HOLD.as_nanos());
        let (mut waiting, mut newest) = (Vec::new(), Instant::ZERO);
        loop {
            let next = if waiting.is_empty() {
                events.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                events.recv_timeout(idle)
            };
            let (due, is_idle) = match next {
                Ok(event) => {
                    waiting.push(event);
                    std::thread::park_timeout(GATHER);
                    waiting.extend(events.try_iter().take(MAX_EVENTS));
                    waiting.sort_by_key(|event: &PacketEvent| event.at);
                    newest = newest.max(waiting.last().map_or(newest, |event| event.at));
                    let horizon = newest.checked_sub(HOLD).unwrap_or(Instant::ZERO);
                    (waiting.partition_point(|event| event.at <= horizon), false)
                }
                Err(RecvTimeoutError::Timeout) => (waiting.len(), true),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            self.write(waiting.drain(..due), held_bytes);
            if is_idle {
                self.each(|sink| sink.flush());
            }
        }
        self.write(waiting.drain(..), held_bytes);
    }

    fn write(&mut self, events: impl Iterator<Item = PacketEvent>, held_bytes: &AtomicUsize) {
        for event in events {
            self.each(|sink| sink.record(&event));
            held_bytes.fetch_sub(event.bytes.len(), Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for Sinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.open.iter().map(|sink| sink.path())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    type Seen = Arc<Mutex<Vec<(usize, u64)>>>;

    /// Sink that remembers path and time, and fails at its first event if it has no room.
    struct Memory {
        seen: Seen,
        is_full: bool,
        /// Waits in `begin` until the test releases it.
        gate: Option<Receiver<()>>,
    }

    impl PacketSink for Memory {
        fn path(&self) -> &Path {
            Path::new("memory")
        }
        fn needs_bytes(&self) -> bool {
            true
        }
        fn begin(&mut self, _: Duration) -> io::Result<()> {
            self.gate.take().map_or(Ok(()), |gate| gate.recv().map_err(io::Error::other))
        }
        fn record(&mut self, event: &PacketEvent) -> io::Result<()> {
            if self.is_full {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.seen.lock().unwrap().push((event.path, event.at.as_nanos()));
            Ok(())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
        fn finish(&mut self, end: Instant) -> io::Result<()> {
            self.seen.lock().unwrap().push((usize::MAX, end.as_nanos()));
            Ok(())
        }
    }

    /// A packet that left late is before those that arrived meanwhile. A sink without room does not disturb the others.
    #[test]
    fn events_are_written_in_order_and_a_full_disk_is_reported_at_the_end() {
        let [seen, none] = [(); 2].map(|()| Seen::default());
        let sinks: Vec<Box<dyn PacketSink>> = vec![
            Box::new(Memory { seen: Arc::clone(&none), is_full: true, gate: None }),
            Box::new(Memory { seen: Arc::clone(&seen), is_full: false, gate: None }),
        ];
        let recorder = Recorder::start(sinks, Duration::ZERO).unwrap();
        let (mut uplink, mut downlink) = (recorder.tap(0), recorder.tap(1));
        uplink.arrived(Instant::from_nanos(1000), b"a");
        downlink.arrived(Instant::from_nanos(3000), b"b");
        uplink.departed(Instant::from_nanos(2000), Instant::from_nanos(1000), b"a".to_vec());
        drop((uplink, downlink));
        let errors = recorder.finish(Instant::from_nanos(5000));
        assert_eq!(*seen.lock().unwrap(), [(0, 1000), (0, 2000), (1, 3000), (usize::MAX, 5000)]);
        assert_eq!(*none.lock().unwrap(), []);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(texts[0].starts_with("cannot write memory: "), "{texts:?}");
    }

    /// While the disk does not accept anything, the tap does not wait, and counts the events above the limits.
    #[test]
    fn events_without_room_are_counted() {
        for (size, room) in [(1, MAX_EVENTS), (1 << 16, MAX_BYTES >> 16)] {
            let seen = Seen::default();
            let (open, gate) = std::sync::mpsc::channel();
            let sink = Memory { seen: Arc::clone(&seen), is_full: false, gate: Some(gate) };
            let recorder = Recorder::start(vec![Box::new(sink)], Duration::ZERO).unwrap();
            let mut tap = recorder.tap(0);
            let packet = vec![0; size];
            for _ in 0..room + 7 {
                tap.arrived(Instant::ZERO, &packet);
            }
            assert_eq!(tap.lost_events(), 7);
            open.send(()).unwrap();
            drop(tap);
            assert!(recorder.finish(Instant::ZERO).is_empty());
            assert_eq!(seen.lock().unwrap().len(), room + 1);
        }
    }
}
