use super::*;
use headway_dccp::PacketType;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::sync::mpsc::sync_channel;

const TIMEOUT: Duration = Duration::from_secs(60);

/// File in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Memory {
    /// Returns a log with this file only, for one connection.
    pub(super) fn log(&self) -> Qlog {
        let file = self.clone();
        Qlog::with(move |name| Ok((name.into(), file.clone()))).unwrap()
    }

    /// Returns all records once they are written.
    pub(super) fn records(&self, qlog: &Qlog) -> Vec<Value> {
        assert!(qlog.flush(TIMEOUT));
        let bytes = lock(&self.0);
        let records = bytes.split(|byte| *byte == 0x1e).skip(1);
        records.map(|record| serde_json::from_slice(record).unwrap()).collect()
    }
}

/// Files in memory, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folder(Arc<Mutex<BTreeMap<String, Memory>>>);

impl Folder {
    pub(crate) fn log(&self) -> Qlog {
        let folder = self.clone();
        Qlog::with(move |name| Ok((name.into(), lock(&folder.0).entry(name.into()).or_default().clone()))).unwrap()
    }

    /// Returns the records of all files once they are written.
    pub(crate) fn files(&self, qlog: &Qlog) -> BTreeMap<String, Vec<Value>> {
        assert!(qlog.flush(TIMEOUT));
        lock(&self.0).iter().map(|(name, file)| (name.clone(), file.records(qlog))).collect()
    }

    /// Returns the name and the records of the only file.
    pub(crate) fn only(&self, qlog: &Qlog) -> (String, Vec<Value>) {
        let files = self.files(qlog);
        assert_eq!(files.len(), 1, "{:?}", files.keys());
        files.into_iter().next().unwrap()
    }
}

/// Returns the number of events with this name.
pub(crate) fn number_of(records: &[Value], name: &str) -> u64 {
    records.iter().filter(|record| record["name"] == name).count() as u64
}

fn header() -> Header {
    Header { role: Role::Client, group: "1".into(), reference_time: 0.0 }
}

fn lost(number: u64) -> Event {
    Event::Lost { kind: PacketType::Data, number }
}

/// A connection may have the name of an earlier one, for example after a lost Request of another server.
#[test]
fn files_are_not_overwritten() {
    let folder = tempfile();
    let qlog = Qlog::new(folder.join("a/b")).unwrap();
    for number in 0..3 {
        let file = qlog.open("x.client".into(), header());
        assert!(qlog.push(file, Duration::ZERO, lost(number)));
        qlog.close(file, Duration::ZERO, 0);
    }
    assert!(qlog.flush(TIMEOUT));
    for (name, number) in [("x.client.sqlog", "0"), ("x.client-2.sqlog", "1"), ("x.client-3.sqlog", "2")] {
        let text = std::fs::read_to_string(folder.join("a/b").join(name)).unwrap();
        assert!(text.starts_with("\u{1e}{") && text.contains(&format!("\"packet_number\":{number}")), "{text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

fn tempfile() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("headway-qlog-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn a_folder_that_cannot_be_created_is_an_error() {
    // A file is no folder.
    let file = std::env::current_exe().unwrap();
    let error = Qlog::new(file.join("qlog")).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("cannot create the folder ") && text.contains("qlog: "), "{text}");
}

/// The first write blocks until the test permits it. Then 16,384 events fit, and 3 are dropped.
#[test]
fn a_slow_disk_drops_events_and_blocks_no_connection() {
    struct Slow(std::sync::mpsc::SyncSender<()>, std::sync::mpsc::Receiver<()>, Memory);
    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Later writes find closed channels.
            let _ = self.0.send(());
            let _ = self.1.recv();
            self.2.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let ((begun, begins), (permit, permits), memory) = (sync_channel(0), sync_channel::<()>(0), Memory::default());
    let mut slow = Some(Slow(begun, permits, memory.clone()));
    let qlog = Qlog::with(move |name| Ok((name.into(), slow.take().unwrap()))).unwrap();
    let file = qlog.open("x".into(), header());
    begins.recv().unwrap();
    let queued = (0..MAX_QUEUED as u64 + 3).filter(|number| qlog.push(file, Duration::ZERO, lost(*number))).count();
    assert_eq!(queued, 16_384);
    assert!(!qlog.flush(Duration::ZERO), "the disk does not answer");
    qlog.close(file, Duration::ZERO, 3);
    drop((begins, permit));
    let records = memory.records(&qlog);
    assert_eq!(records.len(), 1 + 16_384 + 1);
    let last = records.last().unwrap();
    assert_eq!((&last["name"], &last["data"]["count"]), (&"headway:events_dropped".into(), &3.into()));
}

/// After an error nothing more is written to a file, and the error is reported once.
#[test]
fn a_full_disk_is_reported_once() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let qlog = Qlog::with(|name| Ok((name.into(), Full))).unwrap();
    for name in ["x", "y"] {
        let file = qlog.open(name.into(), header());
        assert!(qlog.push(file, Duration::ZERO, lost(1)) && qlog.flush(TIMEOUT));
        assert!(qlog.push(file, Duration::ZERO, lost(2)) && qlog.flush(TIMEOUT));
    }
    let text = qlog.take_failure().unwrap().to_string();
    assert!(text.starts_with("cannot write the qlog file x: ") && text.ends_with("continues without it"), "{text}");
    assert!(qlog.take_failure().is_none());
}

/// The thread ends with the last handle, after it has written all events.
#[test]
fn the_thread_ends_with_the_last_handle() {
    let memory = Memory::default();
    let (ended, ends) = sync_channel::<()>(0);
    let file = memory.clone();
    let qlog = Qlog::with(move |name| {
        let _ = &ended;
        Ok((name.into(), file.clone()))
    });
    let qlog = qlog.unwrap();
    let file = qlog.open("x".into(), header());
    assert!(qlog.push(file, Duration::ZERO, lost(1)));
    drop(qlog);
    assert!(ends.recv().is_err(), "the thread has dropped its end");
    assert_eq!(lock(&memory.0).iter().filter(|byte| **byte == 0x1e).count(), 2);
}
