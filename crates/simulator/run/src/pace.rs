//! How a run advances: as fast as possible, or by the clock of a lab.

use headway_sim::{Observer, RunError, Simulation};

/// Events between two returns of [`FullSpeed`]: about 10 ms of wall-clock time.
const SLICE: u64 = 100_000;

/// How a run advances: at full speed ([`FullSpeed`]), or in wall-clock time.
pub trait Pace {
    /// Whether endpoints of flows may be outside the simulation.
    const IS_EXTERNAL: bool;

    /// Advances the run for a fraction of a second of wall-clock time. Returns whether the run has ended.
    ///
    /// # Errors
    /// Those of the simulation.
    fn advance<O: Observer>(&mut self, simulation: &mut Simulation<'_, O>) -> Result<bool, RunError>;

    /// Ends the external programs and connections of the run, if any. Returns the name and the content of an additional
    /// file of the record, if any.
    fn finish(&mut self) -> Option<(&'static str, Vec<u8>)> {
        None
    }
}

/// Advances a run as fast as possible, without regard to wall-clock time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullSpeed;

impl Pace for FullSpeed {
    const IS_EXTERNAL: bool = false;

    fn advance<O: Observer>(&mut self, simulation: &mut Simulation<'_, O>) -> Result<bool, RunError> {
        simulation.run(SLICE)
    }
}
