//! One run of one scenario, from start to end.

use crate::{Error, Watch};
use headway_scenario::Scenario;
use headway_sim::{Observer, Record, RunError, Simulation};
use serde::{Deserialize, Serialize};

/// Steps between two looks at the clock and at who watches: about ten milliseconds.
const SLICE: u64 = 100_000;

/// What a run took: outside the record, since no two machines agree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timing {
    /// Seconds that it took.
    pub wall_s: f64,
    /// Seconds of the run's own time.
    pub simulated_s: f64,
    /// Simulated seconds a wall second.
    pub speed: f64,
    /// Packets that crossed a link a wall second.
    pub packet_hops_per_s: f64,
    /// Events that the run took.
    pub events: u64,
    /// Which code ran it, for runs that are resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// XXH3 of the scenario and of the files that it names, for runs that are resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
}

/// A run that is over.
#[derive(Debug)]
pub struct Simulated<O> {
    /// What it leaves; not complete if it was stopped or could not go on.
    pub record: Record<O>,
    /// What it took.
    pub timing: Timing,
    /// Why it could not go on.
    pub outcome: Result<(), RunError>,
}

/// Runs a scenario to its end, or until who watches has it stopped. `each_slice` is called every few milliseconds of the machine's
/// time, to take what the run has gathered so far.
///
/// # Errors
/// The scenario cannot be run, or `each_slice` fails. A run that cannot go on tells so in its outcome.
pub fn simulate<O: Observer>(
    scenario: &Scenario,
    observer: O,
    watch: &dyn Watch,
    mut each_slice: impl FnMut(&mut Simulation<'_, O>) -> Result<(), Error>,
) -> Result<Simulated<O>, Error> {
    let started = now();
    let mut simulation = Simulation::new(scenario, observer)?;
    let outcome = loop {
        let outcome = simulation.run(SLICE);
        each_slice(&mut simulation)?;
        watch.at(simulation.now(), simulation.packet_hops());
        if outcome != Ok(false) || watch.stopped() {
            break outcome;
        }
    };
    let simulated_s = simulation.now().as_secs_f64();
    let record = simulation.finish();
    let wall_s = started.elapsed().as_secs_f64();
    let timing = Timing {
        wall_s,
        simulated_s,
        speed: simulated_s / wall_s,
        packet_hops_per_s: record.summary.packet_hops as f64 / wall_s,
        events: record.events,
        code: None,
        inputs: None,
    };
    Ok(Simulated { record, timing, outcome: outcome.map(|_| ()) })
}

/// Each second of the machine's time, for who follows a run.
pub(crate) struct EachSecond(std::time::Instant);

impl EachSecond {
    const EACH: std::time::Duration = std::time::Duration::from_secs(1);

    /// A second from now for the first time.
    pub(crate) fn new() -> Self {
        Self(now())
    }

    pub(crate) fn has_come(&mut self) -> bool {
        let has_come = self.0.elapsed() >= Self::EACH;
        if has_come {
            self.0 = now();
        }
        has_come
    }
}

#[expect(clippy::disallowed_methods, reason = "it is told how long a run took; no result depends on it")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
