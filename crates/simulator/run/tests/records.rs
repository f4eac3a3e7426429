//! Records: files that are written while a run is in progress.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_run::{Folder, Found, Job, Reuse, ScenarioText, TraceFormat, Traces, Tracing, Watch, simulate};
use headway_sim::{Ns2Trace, Observer, PacketTrace, PcapngTrace, PerfettoTrace};
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

/// Drops, marks, timeouts, expired datagrams and late packets.
const EVENTFUL: &str = r#"
duration = "3s"
[[link]]
between = ["a", "b"]
rate = "300kbps"
delay = "20ms"
queue = { kind = "red", limit = "8packets", min_threshold = "2packets", max_threshold = "6packets", ecn = true }
loss = { kind = "bernoulli", probability = 0.05 }
[[flow]]
name = "ftp"
from = "a"
to = "b"
transport = { kind = "tcp-newreno", ecn = true }
source = { kind = "ftp" }
[[flow]]
name = "call"
from = "a"
to = "b"
transport = { kind = "dccp", ccid = 3 }
send_queue = { kind = "sfdps2" }
source = { kind = "gop", i_mean = "26kB", p_mean = "9kB", b_mean = "4kB", variation = 0.25, lifetime = "150ms" }
[[flow]]
name = "media"
from = "a"
to = "b"
transport = { kind = "udp" }
source = { kind = "cbr", rate = "100kbps", size = "500B", lifetime = "60ms" }
"#;

/// A trace among others has the bytes of its format alone.
#[test]
fn each_trace_receives_every_event() {
    let scenario = headway_scenario::load("x.toml", EVENTFUL, &[], &headway_scenario::NoFiles).unwrap().scenario;
    let scenario = &scenario;
    fn observed<O: Observer>(scenario: &headway_scenario::Scenario, observer: O) -> O {
        simulate(scenario, observer, &(), |_| Ok(())).unwrap().record.observer
    }
    let mut all = observed(scenario, Traces::new(scenario, &TraceFormat::ALL));
    assert_eq!(all.formats(), TraceFormat::ALL);
    for format in TraceFormat::ALL {
        let bytes = match format {
            TraceFormat::Ns2 => observed(scenario, Ns2Trace::new(scenario)).take(),
            TraceFormat::Nam => observed(scenario, Ns2Trace::nam(scenario)).take(),
            TraceFormat::Pcapng => observed(scenario, PcapngTrace::new(scenario)).take(),
            TraceFormat::Packets => {
                let mut packets = observed(scenario, PacketTrace::new(scenario));
                assert_eq!(Tracing::formats(&packets), [TraceFormat::Packets]);
                let bytes = Tracing::take(&mut packets, format).unwrap();
                let index = Tracing::packet_index(&packets).map(headway_record::PacketIndex::to_json);
                assert!(index.is_some());
                assert_eq!(all.packet_index().map(headway_record::PacketIndex::to_json), index);
                bytes
            }
            TraceFormat::Perfetto => {
                // An observer that watches links makes them report each end of a transmission when it happens.
                let bytes = observed(scenario, (PerfettoTrace::new(scenario), Ns2Trace::new(scenario))).0.take();
                let text = String::from_utf8_lossy(&bytes);
                for event in ["congestion window", "round trip", "timeout", "late", "expired", "channel"] {
                    assert!(text.contains(event), "{event}");
                }
                bytes
            }
        };
        let name = format.name();
        assert!(!bytes.is_empty(), "{name}");
        assert!(all.take(format).unwrap() == bytes, "{name}");
        let mut alone = observed(scenario, Traces::new(scenario, &[format]));
        assert_eq!(alone.formats(), [format]);
        assert!(alone.take(format).unwrap() == bytes, "{name}");
        let others = TraceFormat::ALL.into_iter().filter(|other| *other != format);
        assert!(others.into_iter().all(|other| alone.take(other).unwrap().is_empty()), "{name}");
    }
}

/// Complete records are reused, others are run. Up to five damaged records are named.
#[test]
fn reuse_counts_complete_and_damaged_records() {
    let place = tempfile::tempdir().unwrap();
    let jobs: Vec<Job> = (0..7).map(|number| short(&place.path().join(number.to_string()))).collect();
    let run = || {
        let reuse = Reuse::default();
        let summaries: Vec<_> = jobs.iter().map(|job| reuse.or_run(job, &()).unwrap()).collect();
        assert!(summaries.windows(2).all(|pair| pair[0] == pair[1]));
        reuse.messages(9)
    };
    assert_eq!(run(), [""; 0]);
    assert_eq!(run(), ["7 of 9 runs reused"]);
    for (count, named) in [(1, 1), (5, 5), (6, 5)] {
        jobs.iter().take(count).for_each(|job| std::fs::write(job.folder.path(Folder::SUMMARY), b"{}").unwrap());
        let messages = run();
        assert_eq!(messages[0], format!("{} of 9 runs reused", 7 - count));
        let folders: Vec<_> = jobs.iter().take(named).map(|job| job.folder.0.display().to_string()).collect();
        let more = if named < count { ", ..." } else { "" };
        let expected =
            format!("{count} run again because their files were damaged or changed: {}{more}", folders.join(", "));
        assert_eq!(messages[1], expected);
    }
}

fn short(folder: &Path) -> Job {
    let mut job = job(folder, &[]);
    job.scenario.duration = headway_units::Duration::from_millis(200);
    job
}

#[derive(Debug, PartialEq)]
enum Kind {
    Nothing,
    Whole,
    Damaged,
}

fn kind(job: &Job) -> Kind {
    match job.found() {
        Found::Nothing => Kind::Nothing,
        Found::Whole(_) => Kind::Whole,
        Found::Damaged => Kind::Damaged,
    }
}

/// A record belongs to a job if scenario, files, code and kinds of data are equal. Without intact checksums and timing it
/// is damaged.
#[test]
fn a_record_is_found_by_the_same_job_only() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("out");
    let job = short(&path);
    assert_eq!(kind(&job), Kind::Nothing);
    job.run(&()).unwrap();
    assert_eq!(kind(&job), Kind::Whole);
    for (what, change) in [
        ("scenario", (|of| of.resolved.push('#')) as fn(&mut Job)),
        ("files", |of| drop(of.files.insert("a".to_owned(), b"1".as_slice().into()))),
        ("distributions", |of| of.scenario.distributions = true),
        ("traces", |of| of.traces.push(TraceFormat::Nam)),
    ] {
        let mut other = short(&path);
        change(&mut other);
        assert_eq!(kind(&other), Kind::Nothing, "{what}");
    }
    for name in [Folder::TIMING, Folder::SUMMARY, Folder::SERIES, Folder::EVENTS, Folder::SCENARIO, Folder::CHECKSUMS] {
        let whole = job.folder.read(name).unwrap();
        std::fs::write(job.folder.path(name), b"?").unwrap();
        assert_eq!(kind(&job), Kind::Damaged, "{name}");
        std::fs::write(job.folder.path(name), whole).unwrap();
        assert_eq!(kind(&job), Kind::Whole, "{name}");
    }
    // The code and the inputs are in the timing.
    let timing = job.folder.read(Folder::TIMING).unwrap();
    let text = String::from_utf8(timing.clone()).unwrap();
    let code = headway_run::CODE;
    assert!(text.contains(code));
    std::fs::write(job.folder.path(Folder::TIMING), text.replace(code, "other")).unwrap();
    assert_eq!(kind(&job), Kind::Nothing);
    std::fs::write(job.folder.path(Folder::TIMING), timing).unwrap();
    // An interrupted run has no summary and no checksum of it.
    let mut sums = headway_run::Checksums::default();
    job.folder.checksums().unwrap().names().filter(|name| *name != Folder::SUMMARY).for_each(|name| {
        sums.add(name, job.folder.checksums().unwrap().of(name).unwrap());
    });
    job.folder.write_checksums(&sums).unwrap();
    assert_eq!(kind(&job), Kind::Nothing);
    std::fs::remove_file(job.folder.path(Folder::CHECKSUMS)).unwrap();
    assert_eq!(kind(&job), Kind::Damaged, "there is a summary");
    std::fs::remove_file(job.folder.path(Folder::SUMMARY)).unwrap();
    assert_eq!(kind(&job), Kind::Nothing);
    // A run that does not resume leaves nothing to reuse.
    let once = Job { resumes: false, ..short(&path) };
    once.run(&()).unwrap();
    assert_eq!(kind(&once), Kind::Nothing);
}

/// Series and distributions are written only if the scenario has them; without series and traces there are no events.
#[test]
fn a_record_has_the_files_of_its_scenario() {
    let place = tempfile::tempdir().unwrap();
    for (series, distributions) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut job = short(&place.path().join("out"));
        if !series {
            job.scenario.series = None;
        }
        job.scenario.distributions = distributions;
        job.run(&()).unwrap();
        let has = |name: &str| (job.folder.path(name).exists(), job.folder.checksums().unwrap().of(name).is_some());
        assert_eq!(has(Folder::SERIES), (series, series));
        assert_eq!(has(Folder::EVENTS), (series, series));
        assert_eq!(has(Folder::DISTRIBUTIONS), (distributions, distributions));
        assert_eq!((job.folder.series().is_ok(), job.folder.events().is_ok()), (series, series));
        assert_eq!(job.folder.distributions().is_ok(), distributions);
        assert_eq!(kind(&job), Kind::Whole);
    }
}

/// The files that a scenario names are copied into the record, and their checksums are stored.
#[test]
fn inputs_are_part_of_the_record() {
    let place = tempfile::tempdir().unwrap();
    let mut job = short(&place.path().join("out"));
    job.files = ["in/rates.txt", "../outside.txt"].map(|name| (name.to_owned(), b"1".as_slice().into())).into();
    job.run(&()).unwrap();
    let sums = job.folder.checksums().unwrap();
    assert!(sums.of("in/rates.txt").is_some() && sums.of("../outside.txt").is_none());
    assert_eq!(job.folder.read("in/rates.txt").unwrap(), b"1");
    assert!(!place.path().join("outside.txt").exists());
    let stopped = short(&place.path().join("out"));
    stopped.run(&()).unwrap();
    assert!(!job.folder.path("in/rates.txt").exists(), "the next run has no such file");
}
