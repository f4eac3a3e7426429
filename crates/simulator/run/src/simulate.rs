//! One run of one scenario in memory.

use crate::{Error, FullSpeed, Pace, Watch};
use headway_scenario::Scenario;
use headway_sim::{Observer, Record, RunError, Simulation};
use serde::{Deserialize, Serialize};

/// Duration and speed of a run's computation. It differs between executions and is not part of the reproducible record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timing {
    /// Wall-clock time that the simulation took, in s.
    pub wall_s: f64,
    /// Simulated time that the run reached, in s.
    pub simulated_s: f64,
    /// Simulated time divided by wall-clock time.
    pub speed: f64,
    /// Number of times that a packet crossed a link, per second of wall-clock time.
    pub packet_hops_per_s: f64,
    /// Number of simulator events that were processed.
    pub events: u64,
    /// Identity of the code ([`CODE`](crate::CODE)); only for runs that can be reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Hash (XXH3) of the scenario and of the files that it names; only for runs that can be reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
}

/// A run that has ended, was stopped or failed.
#[derive(Debug)]
pub struct Simulated<O> {
    /// The record. It is incomplete if the run was stopped or failed.
    pub record: Record<O>,
    /// Duration and speed of the run.
    pub timing: Timing,
    /// `Err` with the error that ended the run early; `Ok` if the run reached its end or was stopped.
    pub outcome: Result<(), RunError>,
}

/// Runs a scenario to its end, or until `watch` stops it. `each_slice` is called every few milliseconds of
/// wall-clock time, to write the data that the run has collected so far.
///
/// # Errors
/// The scenario cannot be run, or `each_slice` fails. A run that fails later has the error in `outcome`.
pub fn simulate<O: Observer>(
    scenario: &Scenario,
    observer: O,
    watch: &dyn Watch,
    each_slice: impl FnMut(&mut Simulation<'_, O>) -> Result<(), Error>,
) -> Result<Simulated<O>, Error> {
    simulate_paced(scenario, observer, watch, &mut FullSpeed, each_slice)
}

/// Does the same as [`simulate`] at the given pace.
pub(crate) fn simulate_paced<O: Observer, P: Pace>(
    scenario: &Scenario,
    observer: O,
    watch: &dyn Watch,
    pace: &mut P,
    mut each_slice: impl FnMut(&mut Simulation<'_, O>) -> Result<(), Error>,
) -> Result<Simulated<O>, Error> {
    let started = now();
    let mut simulation = if P::IS_EXTERNAL {
        Simulation::with_external(scenario, observer)
    } else {
        Simulation::new(scenario, observer)
    }?;
    let outcome = loop {
        let outcome = pace.advance(&mut simulation);
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

/// Timer of one second of wall-clock time.
pub(crate) struct SecondTimer(std::time::Instant);

impl SecondTimer {
    const EACH: std::time::Duration = std::time::Duration::from_secs(1);

    pub(crate) fn new() -> Self {
        Self(now())
    }

    pub(crate) fn has_elapsed(&mut self, now: std::time::Instant) -> bool {
        let has_elapsed = now.duration_since(self.0) >= Self::EACH;
        if has_elapsed {
            self.0 = now;
        }
        has_elapsed
    }
}

#[expect(clippy::disallowed_methods, reason = "measures the duration of a run; no result depends on it")]
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_timer_elapses_once_a_second() {
        let mut timer = SecondTimer::new();
        let started = timer.0;
        let expected =
            [(0, false), (999, false), (1000, true), (1001, false), (1999, false), (2500, true), (3499, false)];
        for (ms, elapsed) in expected {
            assert_eq!(timer.has_elapsed(started + Duration::from_millis(ms)), elapsed, "{ms} ms");
        }
    }
}
