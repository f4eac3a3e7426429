//! Shared helpers: scenarios and stored data by name.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails where it panics")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod columns;
pub mod hops;
pub mod means;
pub mod product;

use headway_scenario::Scenario;
use headway_sim::{LinkEvent, Observer, Packet, Record, RoundTrip, Simulation};
use headway_units::Instant;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Loads a shipped scenario, by its path below `scenarios/`.
pub fn shipped(path: &str) -> Scenario {
    let file = root().join("scenarios").join(path);
    parse(&std::fs::read_to_string(&file).unwrap(), &file)
}

pub fn calibration(case: &str) -> Scenario {
    shipped(&format!("calibration/{case}.toml"))
}

pub fn scenario(text: &str) -> Scenario {
    parse(text, Path::new("test.toml"))
}

/// Loads a scenario from text that may refer to files in `scenarios/`.
pub fn scenario_with_shipped_files(text: &str) -> Scenario {
    parse(text, &root().join("scenarios/test.toml"))
}

pub fn run<O: Observer>(scenario: &Scenario, observer: O) -> Record<O> {
    let mut simulation = Simulation::new(scenario, observer).unwrap();
    while !simulation.run(u64::MAX).unwrap() {}
    simulation.finish()
}

/// Handles the events of a run. Unlike an [`Observer`], it is called dynamically: the simulator, which is compiled for
/// each type of observer, is compiled once for all watchers.
pub trait Watcher {
    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet);
    fn average(&mut self, _now: Instant, _link: usize, _average: f64) {}
    fn host_event(&mut self, _now: Instant, _delivered: bool, _packet: &Packet) {}
    fn round_trip(&mut self, _now: Instant, _flow: usize, _trip: RoundTrip) {}
    fn window(&mut self, _now: Instant, _flow: usize, _sender: &headway_tcp::Sender) {}
}

struct Watched<'a>(&'a mut dyn Watcher);

impl Observer for Watched<'_> {
    const WATCHES: bool = true;
    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        self.0.link_event(now, event, link, packet);
    }
    fn average(&mut self, now: Instant, link: usize, average: f64) {
        self.0.average(now, link, average);
    }
    fn host_event(&mut self, now: Instant, delivered: bool, packet: &Packet) {
        self.0.host_event(now, delivered, packet);
    }
    fn round_trip(&mut self, now: Instant, flow: usize, trip: RoundTrip) {
        self.0.round_trip(now, flow, trip);
    }
    fn window(&mut self, now: Instant, flow: usize, sender: &headway_tcp::Sender) {
        self.0.window(now, flow, sender);
    }
}

/// Runs a scenario with a watcher, which is returned as the observer of the record.
pub fn watch<W: Watcher>(scenario: &Scenario, mut watcher: W) -> Record<W> {
    let record = run(scenario, Watched(&mut watcher));
    let Record { summary, series, distributions, fingerprint, conservation, events, observer: _ } = record;
    Record { summary, series, distributions, fingerprint, conservation, events, observer: watcher }
}

pub fn link(scenario: &Scenario, name: &str) -> usize {
    scenario.links.iter().position(|link| link.name == name).unwrap()
}

pub fn bottleneck(scenario: &Scenario) -> usize {
    link(scenario, "n1->n2")
}

pub fn data(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// Returns the rows of a CSV text without its comments.
pub fn fields(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect())
}

pub struct Row {
    names: Vec<String>,
    values: Vec<String>,
}

impl Row {
    fn text(&self, name: &str) -> &str {
        &self.values[self.names.iter().position(|n| n == name).unwrap()]
    }
    pub fn count(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap()
    }
    pub fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap()
    }
}

pub fn summary_of(case: &str) -> Row {
    let text = data("ns2-calibration/summary.csv");
    let owned = |row: Vec<&str>| row.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let mut rows = fields(&text);
    let names = owned(rows.next().unwrap());
    let values = owned(rows.find(|row| row[0] == case).unwrap());
    Row { names, values }
}

/// Files in the folder of the scenario, as read by the command line.
struct Folder<'a>(&'a Path);

impl headway_scenario::Files for Folder<'_> {
    fn read(&self, path: &str, _: u64) -> std::io::Result<Vec<u8>> {
        std::fs::read(self.0.join(path))
    }
}

fn parse(text: &str, file: &Path) -> Scenario {
    let files = Folder(file.parent().unwrap());
    match headway_scenario::load(&file.display().to_string(), text, &[], &files) {
        Ok(loaded) => loaded.scenario,
        Err(error) => panic!("{error}"),
    }
}
