//! Invariants of any text that is loaded as a scenario. Shared by the fuzz targets and the test that replays
//! `fuzz/corpus`.
//!
//! Comments in the text have further inputs of a run:
//! ```toml
//! # --set link[0].rate=1bps
//! # packet|codec_type=video|dts_time=0|size=9000
//! # lost 0010
//! ```
//! The first is an override, the second a line of the media trace that every `file` names. The third is a line of the
//! loss trace; a `file` whose name begins with "loss" names that.

use headway_record::{SeriesTable, Summary};
use headway_scenario::{Files, Override, Scenario, Transport, load, plan};
use headway_sim::{Ns2Trace, Observer, Record, Simulation};

/// Approximate number of events, packets and samples of a run.
const STEPS: u64 = 20_000;
/// Steps of a slice; odd, so that slices end at any event.
const SLICE: u64 = 777;
/// Maximum number of links and flows; larger scenarios are only loaded.
const MAX_ENTITIES: usize = 20_000;

/// Panics if an invariant of `text` is violated.
pub(crate) fn check(text: &str) {
    let files = Comments(text);
    let mut overrides = Vec::new();
    for set in comments(text, "# --set ") {
        match set.parse::<Override>() {
            Ok(set) => overrides.push(set),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    let runs = match plan("fuzz.toml", text, &overrides, &[]) {
        Ok(plan) => plan.runs,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    // The first and the last run have the extreme values of most keys.
    let last = runs.last().filter(|_| runs.len() > 1);
    for run in runs.first().into_iter().chain(last) {
        match load("fuzz.toml", text, &run.overrides, &files) {
            Err(error) => assert!(!error.problems.is_empty() && !error.to_string().is_empty()),
            Ok(loaded) => {
                let again = load("fuzz.toml", &loaded.resolved_toml, &[], &files);
                let again = again.unwrap_or_else(|error| panic!("{error}\n{}", loaded.resolved_toml));
                assert_eq!(again.scenario, loaded.scenario, "the resolved text is another scenario");
                assert_eq!(again.resolved_toml, loaded.resolved_toml, "the resolved text is not resolved");
                if loaded.scenario.links.len() + loaded.scenario.flows.len() <= MAX_ENTITIES {
                    simulate(&loaded.scenario);
                }
            }
        }
    }
}

/// Returns the rest of all comment lines with this prefix.
fn comments<'a>(text: &'a str, start: &'static str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.strip_prefix(start))
}

/// Files whose contents are comments of the scenario.
struct Comments<'a>(&'a str);

impl Files for Comments<'_> {
    fn read(&self, path: &str, limit: u64) -> std::io::Result<Vec<u8>> {
        let text: String = if path.starts_with("loss") {
            comments(self.0, "# lost ").map(|line| format!("{line}\n")).collect()
        } else {
            comments(self.0, "# packet").map(|line| format!("packet{line}\n")).collect()
        };
        match text.len() as u64 {
            0 => Err(std::io::ErrorKind::NotFound.into()),
            length if length > limit => Err(std::io::ErrorKind::FileTooLarge.into()),
            _ => Ok(text.into_bytes()),
        }
    }
}

fn simulate(scenario: &Scenario) {
    let mut plain = run(scenario, (), STEPS, |()| {});
    balances(scenario, &plain);
    reads_back(&mut plain);
    if !plain.summary.complete {
        return;
    }
    let sliced = run(scenario, (), SLICE, |()| {});
    assert_eq!(sliced.fingerprint, plain.fingerprint, "slices change the run");
    assert_eq!(sliced.summary, plain.summary, "slices change the record");

    // With an observer, links have events at the ends of transmissions. Nothing else may differ.
    let watched = run(scenario, Ns2Trace::new(scenario), SLICE, |trace| drop(trace.take()));
    balances(scenario, &watched);
    if watched.summary.complete {
        assert_eq!(watched.fingerprint, plain.fingerprint, "a watched run is another run");
        assert_eq!(watched.summary, plain.summary, "a watched run has another record");
    }
}

/// Runs about [`STEPS`] steps, `slice` at a time.
fn run<O: Observer>(scenario: &Scenario, observer: O, slice: u64, mut after: impl FnMut(&mut O)) -> Record<O> {
    let simulation = Simulation::new(scenario, observer);
    let mut simulation = simulation.unwrap_or_else(|error| panic!("a loaded scenario cannot be set up: {error}"));
    for _ in 0..STEPS.div_ceil(slice) {
        let before = simulation.now();
        // These steps are too few for a run that fails with too many packets.
        let complete = simulation.run(slice).unwrap_or_else(|error| panic!("{error}"));
        assert!(simulation.now() >= before, "time decreases");
        after(simulation.observer_mut());
        if complete {
            break;
        }
    }
    simulation.finish()
}

/// Checks the conservation of packets, and that no part exceeds its whole.
fn balances<O>(scenario: &Scenario, record: &Record<O>) {
    let all = record.conservation;
    let summary = &record.summary;
    assert_eq!(all.sent, all.delivered + all.dropped + all.in_flight, "{all:?}");
    for flow in &summary.flows {
        let ended = flow.received_packets + flow.lost_packets.total();
        assert_eq!(flow.sent_packets, ended + flow.in_flight_packets, "{flow:?}");
        assert!(flow.goodput_bps <= flow.throughput_bps, "{flow:?}");
        let ratios = flow.on_time_ratio.values().chain([&flow.loss_ratio]);
        assert!(ratios.into_iter().all(is_ratio), "{flow:?}");
        if let Some(delay) = flow.one_way_delay_s {
            assert!(delay.p50 <= delay.p95 && delay.p95 <= delay.p99 && delay.p99 <= delay.max, "{delay:?}");
            assert!(delay.mean <= delay.max * (1.0 + ROUNDING), "{delay:?}");
        }
    }
    for link in &summary.links {
        assert!(is_ratio(&link.utilisation), "{link:?}");
        assert!(link.dropped_packets.total() <= link.arrived_packets || !scenario.measure_from.is_zero(), "{link:?}");
    }
    assert!(summary.jain_index.is_none_or(|index| is_ratio(&index)), "{:?}", summary.jain_index);

    if scenario.measure_from.is_zero() {
        let links = || summary.links.iter();
        let dropped: u64 = links().map(|link| link.dropped_packets.total()).sum();
        let arrived: u64 = links().map(|link| link.arrived_packets).sum();
        assert_eq!(all.dropped, dropped, "drops of links and flows differ");
        assert_eq!(arrived, dropped + summary.packet_hops + all.in_flight, "links lose packets");
        for link in links() {
            assert!(link.mean_queue_packets <= link.peak_queue_packets as f64 * (1.0 + ROUNDING), "{link:?}");
        }
        let sent: u64 = summary.flows.iter().map(|flow| flow.sent_packets).sum();
        let udp_alone = scenario.flows.iter().all(|flow| matches!(*flow.transport, Transport::Udp(_)));
        assert!(if udp_alone { sent == all.sent } else { sent <= all.sent }, "{sent} {all:?}");
    }
}

/// Relative rounding error of doubles.
const ROUNDING: f64 = 1e-9;

fn is_ratio(value: &f64) -> bool {
    (0.0..=1.0 + ROUNDING).contains(value)
}

/// Checks that written records can be read.
fn reads_back<O>(record: &mut Record<O>) {
    let text = record.summary.to_json_pretty();
    match Summary::from_json(&text) {
        Ok(summary) => assert_eq!(summary, record.summary),
        Err(error) => panic!("{error}\n{text}"),
    }
    if let Some(series) = record.series.take() {
        let mut bytes = Vec::new();
        series.finish(&mut bytes).unwrap_or_else(|error| panic!("{error}"));
        SeriesTable::from_ipc(&bytes).unwrap_or_else(|error| panic!("{error}"));
    }
}
