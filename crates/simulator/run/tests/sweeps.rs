//! Sweeps: stored runs, reuse, datasets and results.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_run::{
    DatasetColumn, DatasetValues, FLOWS, Folder, FolderKind, LINKS, Metric, RUNS, ScenarioText, Session, Sweep, Task,
    Threads, TraceFormat, listed, read_table,
};
use proptest::prelude::*;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Random losses, and one flow of which no packet arrives.
const LOSSY: &str = r#"
duration = "0.3s"
[[link]]
between = ["a", "b"]
rate = "1Mbps"
delay = "5ms"
loss = { kind = "bernoulli", probability = "20%" }
[[flow]]
name = "voice"
from = "a"
to = "b"
transport = { kind = "udp" }
source = { kind = "cbr", interval = "5ms", payload = "160B" }
[[flow]]
name = "late"
from = "b"
to = "a"
start = "0.29s"
transport = { kind = "udp" }
source = { kind = "cbr", interval = "20ms", payload = "160B" }
[vary]
"link[0].rate" = ["1Mbps", "500kbps"]
seed = [1, 2, 3, 4]
"#;

fn sweep_of(text: &str) -> Arc<Sweep> {
    let text = ScenarioText::written("lossy.toml", text, &Vec::<String>::new()).unwrap();
    Arc::new(Sweep::read(text, &[], false, &()).unwrap())
}

fn dataset(folder: &Path) -> [Vec<u8>; 3] {
    [FLOWS, LINKS, RUNS].map(|name| std::fs::read(folder.join(name)).unwrap())
}

/// Returns the dataset of an uninterrupted sweep.
fn uninterrupted(sweep: &Arc<Sweep>) -> [Vec<u8>; 3] {
    let place = tempfile::tempdir().unwrap();
    let mut session = Session::open(sweep, Folder(place.path().join("out")), false).unwrap();
    Threads::default().run(&mut session, &()).unwrap();
    session.finish().unwrap();
    dataset(&place.path().join("out"))
}

fn column<'a>(table: &'a [DatasetColumn], name: &str) -> &'a DatasetColumn {
    table.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("no {name}: {table:?}"))
}

fn integers(table: &[DatasetColumn], name: &str) -> Vec<i64> {
    let DatasetValues::Integer(cells) = &column(table, name).values else { panic!("{name} holds no integers") };
    cells.iter().map(|cell| cell.unwrap()).collect()
}

fn floats(table: &[DatasetColumn], name: &str) -> Vec<Option<f64>> {
    let DatasetValues::Float(cells) = &column(table, name).values else { panic!("{name} holds no floats") };
    cells.clone()
}

fn texts(table: &[DatasetColumn], name: &str) -> Vec<String> {
    let DatasetValues::Text(cells) = &column(table, name).values else { panic!("{name} holds no text") };
    cells.iter().map(|cell| cell.clone().unwrap()).collect()
}

#[test]
fn a_sweep_describes_its_runs() {
    let sweep = sweep_of(LOSSY);
    assert_eq!((sweep.name(), sweep.seeds(), sweep.warnings().len()), ("lossy", 4, 0));
    let columns: Vec<_> = sweep.columns().iter().map(|column| (column.key.as_str(), column.name.as_str())).collect();
    assert_eq!(columns, [("link[0].rate", "rate")]);
    let tasks = [0, 1].map(|point| [1, 2, 3, 4].map(|seed| Task { point, seed })).concat();
    assert_eq!(sweep.tasks(), tasks);
    assert_eq!(
        (sweep.label(tasks[0]), sweep.label(tasks[7])),
        ("rate=1Mbps seed=1".into(), "rate=500kbps seed=4".into())
    );
    let folders = sweep.folders(&Folder("out".into()));
    assert_eq!((folders.len(), &folders[5].0), (8, &Path::new("out").join("rate=500kbps_seed=2")));
    let outline = sweep.outline();
    assert_eq!(
        outline.rows.iter().map(|row| (row.values.concat(), row.runs)).collect::<Vec<_>>(),
        [("1Mbps".to_owned(), 0), ("500kbps".to_owned(), 0)]
    );
    assert_eq!(sweep.load(tasks[6]).unwrap().scenario.seed, 3);
    let names = headway_run::names(&sweep.load(tasks[0]).unwrap().scenario);
    assert_eq!((names.flows.concat(), names.links.concat()), ("voicelate".to_owned(), "a->bb->a".to_owned()));
    assert_eq!((names.hosts.len(), names.attackers.len()), (0, 0));
    // Without a varied seed, the scenario's seed is used, and labels do not name it.
    let fixed = sweep_of(&LOSSY.replace("seed = [1, 2, 3, 4]", "").replace("duration", "seed = 7\nduration"));
    assert_eq!(fixed.tasks(), [0, 1].map(|point| Task { point, seed: 7 }));
    assert_eq!((fixed.label(fixed.tasks()[0]), fixed.seeds()), ("rate=1Mbps".to_owned(), 1));
}

/// A metric is valid if a point has what it names.
#[test]
fn metrics_are_checked_before_the_first_run() {
    let sweep =
        sweep_of(&LOSSY.replace("\"link[0].rate\" = [\"1Mbps\", \"500kbps\"]", "\"flow[1].name\" = [\"x\", \"y\"]"));
    let check = |text: &str| sweep.check(&[text.parse().unwrap()]).map_err(|error| error.to_string());
    assert_eq!(check("flow[voice].loss_ratio"), Ok(()));
    assert_eq!((check("flow[x].loss_ratio"), check("flow[y].loss_ratio")), (Ok(()), Ok(())));
    assert!(check("flow[z].loss_ratio").unwrap_err().contains("there is no flow \"z\""));
}

#[test]
fn flow_tables_have_one_row_per_run_and_flow_with_varied_values() {
    let sweep = sweep_of(LOSSY);
    let place = tempfile::tempdir().unwrap();
    let out = Folder(place.path().join("out"));
    let mut session = Session::open(&sweep, out.clone(), false).unwrap();
    Threads::default().run(&mut session, &()).unwrap();
    session.finish().unwrap();
    assert!(!out.path("journal.txt").exists(), "it is in the dataset");
    let flows = read_table(&out, FLOWS).unwrap();
    assert!(flows.iter().all(|column| column.values.rows() == 2 * 4 * 2));
    let (rate, seed) = (integers(&flows, "rate"), integers(&flows, "seed"));
    assert_eq!((rate[0], rate[15]), (1_000_000, 500_000), "in bit/s");
    assert_eq!((seed[1], seed[2]), (1, 2));
    assert_eq!((column(&flows, "rate").unit.as_deref(), column(&flows, "seed").unit.as_deref()), (Some("bps"), None));
    assert_eq!(texts(&flows, "flow")[..2], ["voice", "late"]);
    let delay = floats(&flows, "one_way_delay_s.p95");
    assert!(delay[0].unwrap() > 0.005);
    let summaries = texts(&read_table(&out, RUNS).unwrap(), "summary");
    assert_eq!(summaries.len(), 8);
    let first: serde_json::Value = serde_json::from_str(&summaries[0]).unwrap();
    assert_eq!(first["flows"][0]["throughput_bps"].as_f64(), floats(&flows, "throughput_bps")[0]);
    assert_eq!(read_table(&out, LINKS).unwrap()[0].values.rows(), 8 * 2);
}

#[test]
fn an_answer_has_one_row_per_point_with_intervals() {
    let sweep = sweep_of(LOSSY);
    let place = tempfile::tempdir().unwrap();
    let mut session = Session::open(&sweep, Folder(place.path().join("out")), false).unwrap();
    Threads::default().run(&mut session, &()).unwrap();
    let loss: Metric = "loss=flow[voice].loss_ratio".parse().unwrap();
    let results = session.results(std::slice::from_ref(&loss)).unwrap();
    assert_eq!(
        results.rows.iter().map(|row| (&row.values[..], row.runs, row.identical)).collect::<Vec<_>>(),
        [(&["1Mbps".to_owned()][..], 4, false), (&["500kbps".to_owned()][..], 4, false),]
    );
    let number = results.rows[0].metrics[0].unwrap();
    let samples: Vec<f64> = results.rows[0].samples(0).iter().map(|(_, value)| *value).collect();
    let estimate = headway_record::Estimate::of(&samples).unwrap();
    assert_eq!((number.mean, number.ci95, number.runs), (estimate.mean, estimate.ci95, 4));
    let wrong: Metric = "flow[vioce].loss_ratio".parse().unwrap();
    let error = session.results(&[wrong]).unwrap_err().to_string();
    assert!(error.contains("there is no flow \"vioce\"") && error.contains("voice, late"), "{error}");
    // While intervals are too wide, seeds are added up to the maximum; repeated calls add the same seeds.
    assert!(session.refine(std::slice::from_ref(&loss), 1e-6, 7).unwrap());
    assert_eq!(session.missing().len(), 2 * 3);
    Threads::default().run(&mut session, &()).unwrap();
    assert!(!session.refine(&[loss], 1e-6, 7).unwrap());
}

#[test]
fn runs_without_random_numbers_have_no_interval() {
    let sweep = sweep_of(&LOSSY.replace("20%", "0%"));
    let place = tempfile::tempdir().unwrap();
    let mut session = Session::open(&sweep, Folder(place.path().join("out")), false).unwrap();
    Threads::default().run(&mut session, &()).unwrap();
    let results = session.results(&[]).unwrap();
    assert!(
        results
            .rows
            .iter()
            .all(|row| row.identical && row.metrics.iter().flatten().all(|number| number.ci95.is_none()))
    );
    let shown = results.plain();
    assert!(shown.contains("all seeds gave the same numbers") && !shown.contains('±'), "{shown}");
}

/// Ties are broken at random, so that runs differ in the order of events.
#[test]
fn a_constant_metric_has_no_interval_in_any_event_order() {
    let flow = |name: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ kind = \"udp\" }}\n\
             source = {{ kind = \"cbr\", interval = \"10ms\", payload = \"160B\" }}\n"
        )
    };
    let text = format!(
        "duration = \"1s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"5ms\"\n{}{}[vary]\nseeds = 2\n",
        flow("one"),
        flow("two")
    );
    let sweep = sweep_of(&text);
    let fingerprint = |seed| {
        let summary = sweep.simulate(Task { point: 0, seed }, &()).unwrap().unwrap();
        headway_record::Summary::from_json(&summary).unwrap().fingerprint
    };
    assert_ne!(fingerprint(1), fingerprint(2));
    let place = tempfile::tempdir().unwrap();
    let mut session = Session::open(&sweep, Folder(place.path().join("out")), false).unwrap();
    Threads::default().run(&mut session, &()).unwrap();
    let both: Metric = "sum(flow[*].throughput_bps)".parse().unwrap();
    let results = session.results(std::slice::from_ref(&both)).unwrap();
    // The order of two packets is random: the flows' delays vary, the sum of their rates does not.
    assert!(!results.rows[0].identical && results.rows[0].metrics[0].unwrap().ci95.is_none());
    // Two equal runs are not precise; ten are.
    for _ in 0..2 {
        assert!(session.refine(std::slice::from_ref(&both), 0.01, 1000).unwrap());
        Threads::default().run(&mut session, &()).unwrap();
    }
    assert!(!session.refine(std::slice::from_ref(&both), 0.01, 1000).unwrap());
    assert_eq!(session.results(&[both]).unwrap().rows[0].runs, 12);
}

/// With records each run has a folder. Complete records are reused, damaged ones are run again, and the list of runs
/// names the folders. The dataset is that of a sweep without records, except for the series.
#[test]
fn a_sweep_with_records_has_a_folder_for_each_run() {
    let text = ScenarioText::written("lossy.toml", &LOSSY.replace("[1, 2, 3, 4]", "[1, 2]"), &Vec::new()).unwrap();
    let sweep = Arc::new(Sweep::read(text, &[], true, &()).unwrap());
    let place = tempfile::tempdir().unwrap();
    let out = Folder(place.path().join("out"));
    let run = |again: bool, traces: &[TraceFormat]| {
        let mut session = Session::open(&sweep, out.clone(), again).unwrap();
        let messages = Threads { traces: traces.to_vec(), again, jobs: None }.run(&mut session, &()).unwrap();
        assert_eq!(session.missing(), []);
        session.finish().unwrap();
        messages
    };
    assert!(listed(&Folder(place.path().to_owned())).unwrap().is_none());
    assert_eq!(run(false, &[]), [""; 0]);
    let folders = sweep.folders(&out);
    let paths = |folders: &[Folder]| folders.iter().map(|folder| folder.0.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&listed(&out).unwrap().unwrap()), paths(&folders));
    assert_eq!(texts(&read_table(&out, RUNS).unwrap(), "summary").len(), 4);
    for (folder, task) in folders.iter().zip(sweep.tasks()) {
        let summary =
            headway_record::Summary::from_json(&String::from_utf8(folder.read(Folder::SUMMARY).unwrap()).unwrap());
        assert_eq!(summary.unwrap().seed, task.seed);
    }
    assert_eq!(run(false, &[]), ["4 of 4 runs reused"]);
    std::fs::write(folders[2].path(Folder::SERIES), b"damaged").unwrap();
    let damaged = format!("1 run again because their files were damaged or changed: {}", folders[2].0.display());
    assert_eq!(run(false, &[]), ["3 of 4 runs reused".to_owned(), damaged]);
    assert_eq!(run(false, &[TraceFormat::Ns2]), [""; 0]);
    assert!(folders.iter().all(|folder| folder.path(TraceFormat::Ns2.file()).exists()));
    assert_eq!(run(true, &[]), [""; 0], "all are run again");
    // Records of other runs are named, other folders are not.
    for name in ["b", "a"] {
        drop(Folder(out.path(name)).claim(FolderKind::Record).unwrap());
        drop(Folder(out.path(&format!("{name}2"))).claim(FolderKind::Pictures).unwrap());
    }
    let messages = run(false, &[]);
    assert!(messages[0].contains("not of this sweep (2)") && messages[0].ends_with(": a, b"), "{messages:?}");
    for name in ["c", "d", "e", "f"] {
        drop(Folder(out.path(name)).claim(FolderKind::Record).unwrap());
    }
    let messages = run(false, &[]);
    assert!(messages[0].contains("(6)") && messages[0].ends_with(": a, b, c, d, e, ..."), "{messages:?}");
    // A record may contain a file with the name of the list.
    std::fs::write(out.path("runs.json"), b"[1]").unwrap();
    assert!(listed(&out).unwrap_err().to_string().contains("this is not a list of runs"));
    std::fs::write(out.path(Folder::SUMMARY), b"{}").unwrap();
    assert!(listed(&out).unwrap().is_none());
}

/// A metric that no point has is an error once each point has a run; one that a point has is not.
#[test]
fn expected_metrics_are_checked_during_the_sweep() {
    let sweep =
        sweep_of(&LOSSY.replace("\"link[0].rate\" = [\"1Mbps\", \"500kbps\"]", "\"flow[1].name\" = [\"x\", \"y\"]"));
    for (text, fails) in
        [("flow[x].loss_ratio", false), ("flow[z].loss_ratio", true), ("flow[voice].loss_ratio", false)]
    {
        let place = tempfile::tempdir().unwrap();
        let mut session = Session::open(&sweep, Folder(place.path().join("out")), false).unwrap();
        session.expect(&[text.parse().unwrap()]);
        let results = [(0, 1), (0, 2), (1, 1), (1, 2)].map(|(point, seed)| {
            let task = Task { point, seed };
            session.add(task, &sweep.simulate(task, &()).unwrap().unwrap()).is_err()
        });
        assert_eq!(results, [false, false, fails, false], "{text}");
        assert_eq!(session.missing().len(), 4);
    }
}

/// A session that repeats the runs of a finished sweep reuses none of them.
#[test]
fn runs_are_repeated_on_request() {
    let (sweep, place) = (sweep_of(LOSSY), tempfile::tempdir().unwrap());
    let open = |again| Session::open(&sweep, Folder(place.path().join("out")), again).unwrap();
    let mut session = open(false);
    Threads::default().run(&mut session, &()).unwrap();
    session.finish().unwrap();
    let before = dataset(&place.path().join("out"));
    let mut session = open(true);
    assert_eq!((session.missing().len(), session.messages()), (8, vec![]));
    assert!(!session.folder().path(FLOWS).exists());
    Threads::default().run(&mut session, &()).unwrap();
    session.finish().unwrap();
    assert_eq!(dataset(&place.path().join("out")), before);
    // A damaged table of runs is reported, and all runs are repeated.
    std::fs::write(place.path().join("out").join(RUNS), b"damaged").unwrap();
    let session = open(false);
    assert_eq!(
        (session.missing().len(), session.messages()),
        (8, vec!["damaged stored runs are run again".to_owned()])
    );
}

/// Runs are not started after a stop. A sweep that is stopped while it is read is an error.
#[test]
fn a_stopped_sweep_starts_no_run() {
    struct Stopped;
    impl headway_run::Watch for Stopped {
        fn stopped(&self) -> bool {
            true
        }
    }
    let (sweep, place) = (sweep_of(LOSSY), tempfile::tempdir().unwrap());
    assert!(sweep.simulate(Task { point: 0, seed: 1 }, &Stopped).unwrap().is_none());
    let mut session = Session::open(&sweep, Folder(place.path().join("out")), false).unwrap();
    Threads::default().run(&mut session, &Stopped).unwrap();
    assert_eq!(session.missing().len(), 8);
    assert!(session.finish().is_err(), "runs are missing");
    let text = ScenarioText::written("lossy.toml", LOSSY, &Vec::<String>::new()).unwrap();
    assert!(matches!(Sweep::read(text, &[], false, &Stopped), Err(headway_run::Error::Stopped)));
}

#[test]
fn runs_of_another_sweep_are_kept_apart_and_reused() {
    let place = tempfile::tempdir().unwrap();
    let out = || Folder(place.path().join("out"));
    let (first, second) = (sweep_of(LOSSY), sweep_of(&LOSSY.replace("500kbps", "2Mbps")));
    for sweep in [&first, &second] {
        let mut session = Session::open(sweep, out(), false).unwrap();
        Threads::default().run(&mut session, &()).unwrap();
        session.finish().unwrap();
        assert_eq!(dataset(&out().0), uninterrupted(sweep));
    }
    let session = Session::open(&first, out(), false).unwrap();
    assert_eq!((session.missing(), session.messages()), (vec![], vec!["8 of 8 runs reused".to_owned()]));
    session.finish().unwrap();
    assert_eq!(dataset(&out().0), uninterrupted(&first));
}

#[test]
fn a_summary_of_another_run_is_refused() {
    let sweep = sweep_of(LOSSY);
    let place = tempfile::tempdir().unwrap();
    let mut session = Session::open(&sweep, Folder(place.path().join("out")), false).unwrap();
    let summary = sweep.simulate(Task { point: 0, seed: 1 }, &()).unwrap().unwrap();
    assert!(session.add(Task { point: 0, seed: 2 }, &summary).is_err());
    assert!(session.add(Task { point: 0, seed: 1 }, "{}").is_err());
    session.add(Task { point: 0, seed: 1 }, &summary).unwrap();
    assert_eq!(session.missing().len(), 7);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The dataset is that of an uninterrupted sweep after runs in any order, in several sessions that are killed,
    /// with a truncated journal and a damaged dataset.
    #[test]
    fn a_dataset_does_not_depend_on_interruptions(
        order in Just((0..8usize).collect::<Vec<_>>()).prop_shuffle(),
        stops in proptest::collection::vec((0..4usize, 0..3000u64, any::<bool>(), any::<u16>()), 1..4),
    ) {
        let sweep = sweep_of(LOSSY);
        let place = tempfile::tempdir().unwrap();
        let out = Folder(place.path().join("out"));
        let tasks = sweep.tasks();
        let mut order = order.into_iter();
        for (runs, cut, finish, at) in stops {
            let mut session = Session::open(&sweep, out.clone(), false).unwrap();
            for number in order.by_ref().take(runs) {
                session.add(tasks[number], &sweep.simulate(tasks[number], &()).unwrap().unwrap()).unwrap();
            }
            if finish && session.missing().is_empty() {
                session.finish().unwrap();
                let path = out.path(RUNS);
                let mut bytes = std::fs::read(&path).unwrap();
                let place = at as usize % bytes.len();
                bytes[place] ^= 1;
                std::fs::write(&path, bytes).unwrap();
            } else {
                drop(session);
                let journal = File::options().write(true).open(out.path("journal.txt")).unwrap();
                let length = journal.metadata().unwrap().len();
                journal.set_len(length.saturating_sub(cut)).unwrap();
            }
        }
        let mut session = Session::open(&sweep, out.clone(), false).unwrap();
        Threads::default().run(&mut session, &()).unwrap();
        session.finish().unwrap();
        prop_assert_eq!(dataset(&out.0), uninterrupted(&sweep));
    }
}
