//! Sweeps: stored runs, reuse, datasets and results.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_run::{
    DatasetColumn, DatasetValues, FLOWS, Folder, LINKS, Metric, RUNS, ScenarioText, Session, Sweep, Task, Threads,
    read_table,
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
