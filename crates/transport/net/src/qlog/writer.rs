//! Thread that writes the files.

use super::{Handle, MAX_QUEUED, Message, Qlog, QlogError, Queue, Shared, json};
use crate::watched::lock;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Maximum time between two writes. The thread is woken earlier if half of the queue is used.
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(100);
/// Maximum number of files with the same name and different suffixes.
const MAX_SUFFIX: u32 = 1000;

impl Qlog {
    /// Creates the folder and its parents if they are missing, and starts the thread that writes the files.
    ///
    /// ```no_run
    /// use headway_net::{Duration, Endpoint, Options, Qlog};
    ///
    /// let qlog = Qlog::new("logs")?;
    /// let client = Endpoint::client(&Options { qlog: Some(qlog.clone()), ..Options::insecure() })?;
    /// // ... at the end of the program:
    /// qlog.flush(Duration::from_secs(3));
    /// if let Some(error) = qlog.take_failure() {
    ///     eprintln!("{error}");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the folder cannot be created, or the thread cannot be started.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self, QlogError> {
        let folder = folder.into();
        let created = std::fs::create_dir_all(&folder);
        created.map_err(|source| QlogError::Folder { folder: folder.clone(), source })?;
        Self::with(move |name| create(&folder, name)).map_err(QlogError::Thread)
    }

    /// Creates a log whose files `create` opens; it gets the name of a file without a suffix and returns its path.
    pub(super) fn with<W: Write + 'static>(
        create: impl FnMut(&str) -> Result<(PathBuf, W), QlogError> + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared { queue: Mutex::default(), changed: Condvar::new() });
        let served = Arc::clone(&shared);
        std::thread::Builder::new().name("headway-qlog".into()).spawn(move || served.serve(create))?;
        Ok(Self(Arc::new(Handle(shared))))
    }
}

impl Queue {
    fn needs_work(&self) -> bool {
        self.is_over || self.awaited > self.handled || self.waiting.len() >= MAX_QUEUED / 2
    }
}

impl Shared {
    /// Writes the files until all handles are dropped.
    fn serve<W: Write>(&self, mut create: impl FnMut(&str) -> Result<(PathBuf, W), QlogError>) {
        let mut files: BTreeMap<u64, OpenFile<W>> = BTreeMap::new();
        loop {
            let waited = self.changed.wait_timeout_while(lock(&self.queue), INTERVAL, |queue| !queue.needs_work());
            let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let (messages, is_over) = (std::mem::take(&mut queue.waiting), queue.is_over);
            drop(queue);
            let (handled, mut failure) = (messages.len() as u64, None);
            for message in messages {
                let written = match message {
                    Message::Open(file, name, header) => create(&name).and_then(|(path, writer)| {
                        let opened = OpenFile { path, writer: Some(BufWriter::new(writer)) };
                        files.entry(file).insert_entry(opened).get_mut().write(&json::first_record(&header))
                    }),
                    Message::Event(file, time, event) => {
                        files.get_mut(&file).map_or(Ok(()), |opened| opened.write(&json::event_record(time, &event)))
                    }
                    Message::Close(file) => files.remove(&file).map_or(Ok(()), |mut closed| closed.flush()),
                };
                failure = failure.or(written.err());
            }
            for opened in files.values_mut() {
                failure = failure.or(opened.flush().err());
            }
            let mut queue = lock(&self.queue);
            queue.handled += handled;
            if let Some(failure) = failure
                && !std::mem::replace(&mut queue.has_failed, true)
            {
                queue.failure = Some(failure);
            }
            drop(queue);
            self.changed.notify_all();
            if is_over {
                return;
            }
        }
    }
}

/// File that is written; `None` after an error.
struct OpenFile<W: Write> {
    path: PathBuf,
    writer: Option<BufWriter<W>>,
}

impl<W: Write> OpenFile<W> {
    fn write(&mut self, record: &[u8]) -> Result<(), QlogError> {
        self.with(|writer| writer.write_all(record))
    }

    fn flush(&mut self) -> Result<(), QlogError> {
        self.with(Write::flush)
    }

    /// Returns the first error; later calls have no effect.
    fn with(&mut self, act: impl FnOnce(&mut BufWriter<W>) -> io::Result<()>) -> Result<(), QlogError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        act(writer).map_err(|source| {
            // What is buffered is discarded: dropping a buffer would write it again.
            drop(self.writer.take().map(BufWriter::into_parts));
            QlogError::File { file: self.path.clone(), source }
        })
    }
}

/// Creates a file that does not exist yet: a name that is in use gets a number.
fn create(folder: &Path, name: &str) -> Result<(PathBuf, File), QlogError> {
    let names = std::iter::once(format!("{name}.sqlog")).chain((2..MAX_SUFFIX).map(|n| format!("{name}-{n}.sqlog")));
    let mut last = (folder.to_owned(), io::Error::from(ErrorKind::AlreadyExists));
    for name in names {
        let path = folder.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = (path, error),
            Err(source) => return Err(QlogError::File { file: path, source }),
        }
    }
    let (file, source) = last;
    Err(QlogError::File { file, source })
}
