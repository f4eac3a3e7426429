//! Records: files that are written while a run is in progress.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_run::{Folder, Found, Job, ScenarioText, TraceFormat, Watch};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const TEXT: &str = r#"
duration = "20s"
[[link]]
between = ["a", "b"]
rate = "1Mbps"
delay = "5ms"
queue = { kind = "droptail", limit = "5packets" }
[[flow]]
name = "ftp"
from = "a"
to = "b"
transport = { kind = "tcp-newreno" }
source = { kind = "ftp" }
"#;

fn job(folder: &Path, traces: &[TraceFormat]) -> Job {
    let text = ScenarioText::written("ftp.toml", TEXT, &Vec::<String>::new()).unwrap();
    let loaded = headway_scenario::load("ftp.toml", &text.text, &[], &headway_scenario::NoFiles).unwrap();
    Job {
        label: String::new(),
        scenario: loaded.scenario,
        resolved: loaded.resolved_toml,
        folder: Folder(folder.to_owned()),
        files: BTreeMap::new(),
        traces: traces.to_vec(),
        resumes: true,
    }
}

/// `events.arrow` has a checksum, and a record without it is incomplete.
#[test]
fn every_record_has_events() {
    let place = tempfile::tempdir().unwrap();
    let job = job(&place.path().join("out"), &[]);
    job.run(&()).unwrap();
    let events = job.folder.read(Folder::EVENTS).unwrap();
    assert!(events.starts_with(b"ARROW1") && events.ends_with(b"ARROW1"));
    assert!(job.folder.checksums().unwrap().of(Folder::EVENTS).is_some());
    assert!(matches!(job.found(), Found::Whole(_)));
    std::fs::write(job.folder.path(Folder::EVENTS), &events[1..]).unwrap();
    assert!(matches!(job.found(), Found::Damaged));
    job.run(&()).unwrap();
    assert_eq!(job.folder.read(Folder::EVENTS).unwrap(), events);
}

/// The packet table does not depend on other traces. It is reused, and removed when a run without it overwrites the
/// record.
#[test]
fn packet_tables_are_written_and_removed() {
    let place = tempfile::tempdir().unwrap();
    let files = ["packets.arrow", Folder::PACKET_INDEX];
    let alone = job(&place.path().join("alone"), &[TraceFormat::Packets]);
    let every = job(&place.path().join("every"), &TraceFormat::ALL);
    for job in [&alone, &every] {
        job.run(&()).unwrap();
        assert!(matches!(job.found(), Found::Whole(_)));
        assert!(files.iter().all(|name| job.folder.checksums().unwrap().of(name).is_some()));
    }
    for name in files.into_iter().chain([Folder::SUMMARY, Folder::SERIES, Folder::EVENTS]) {
        assert_eq!(alone.folder.read(name).unwrap(), every.folder.read(name).unwrap(), "{name}");
    }
    // A run in memory leaves the same files.
    let packets = alone.folder.read(files[0]).unwrap();
    let (summary, timing) = (alone.run(&()).unwrap(), timing(&alone));
    let saved = job(&place.path().join("saved"), &[]);
    saved.save(&summary, &timing, &[(TraceFormat::Packets.file(), &packets)]).unwrap();
    assert!(files.iter().all(|name| saved.folder.read(name).unwrap() == alone.folder.read(name).unwrap()));
    let without = job(&place.path().join("alone"), &[]);
    without.run(&()).unwrap();
    assert!(files.iter().all(|name| !without.folder.path(name).exists()));
    assert!(matches!(alone.found(), Found::Nothing), "a record without its trace is not that record");
}

fn timing(job: &Job) -> headway_run::Timing {
    serde_json::from_slice(&job.folder.read(Folder::TIMING).unwrap()).unwrap()
}

#[test]
fn a_stopped_run_leaves_complete_files() {
    #[derive(Default)]
    struct Stopped(AtomicBool);
    impl Watch for Stopped {
        fn stopped(&self) -> bool {
            self.0.swap(true, Ordering::Relaxed)
        }
    }
    let place = tempfile::tempdir().unwrap();
    let mut job = job(&place.path().join("out"), &[TraceFormat::Packets]);
    job.scenario.duration = job.scenario.duration * 10_000;
    let summary = job.run(&Stopped::default()).unwrap();
    assert!(!summary.complete && summary.packet_hops > 0);
    for name in ["packets.arrow", Folder::EVENTS] {
        let bytes = job.folder.read(name).unwrap();
        assert!(bytes.starts_with(b"ARROW1") && bytes.ends_with(b"ARROW1"), "{name}");
    }
    let index = String::from_utf8(job.folder.read(Folder::PACKET_INDEX).unwrap()).unwrap();
    assert!(index.contains("\"rows\":"));
}

/// After the record is complete, a stopped run makes no findings, and `Watch::recorded` was called. SIGTERM was
/// ignored for 260 s during findings before.
#[test]
fn a_run_stopped_after_its_end_makes_no_findings() {
    #[derive(Default)]
    struct Watching {
        stops: bool,
        ended: AtomicBool,
        recorded: AtomicBool,
    }
    impl Watch for Watching {
        fn stopped(&self) -> bool {
            self.stops && self.ended.load(Ordering::Relaxed)
        }
        fn at(&self, now: headway_units::Instant, _: u64) {
            self.ended.fetch_or(now >= headway_units::Instant::from_secs(20), Ordering::Relaxed);
        }
        fn recorded(&self) {
            self.recorded.store(true, Ordering::Relaxed);
        }
    }
    let place = tempfile::tempdir().unwrap();
    let look = |stops: bool| {
        let watching = Watching { stops, ..Watching::default() };
        let (summary, findings) = job(&place.path().join("out"), &[]).run_with_findings(&watching).unwrap();
        (summary.complete, findings.is_empty(), watching.recorded.load(Ordering::Relaxed))
    };
    // A queue of 5 packets with a NewReno flow has findings.
    assert_eq!(look(false), (true, false, true));
    assert_eq!(look(true), (true, true, false));
}
