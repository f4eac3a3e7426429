//! Even spacing at the rate of the TCP throughput equation: the equation-based protocol of "packet spacing: an enabling
//! mechanism for delivering multimedia content in computational grids" (section 2.3). Everything else is TFRC, which
//! the paper refers to:
//!
//! ```text
//! ps = s / T - tx     T the rate of TFRC; from the end of a packet to the start of the next, at least 0
//! ```

use crate::tfrc::{Pacing, SlowStart, TfrcExpert, TfrcOptions};
use headway_units::{Dialect, Duration, OptionError, Options};
use std::ops::Deref;

/// Options of the controller `spacing-equation`, which spaces packets evenly at the rate of TFRC: the options of
/// `tfrc`, with other presets.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema), serde(transparent))]
pub struct SpacingEquationOptions(pub TfrcOptions);

impl Deref for SpacingEquationOptions {
    type Target = TfrcOptions;
    fn deref(&self) -> &TfrcOptions {
        &self.0
    }
}

impl Options for SpacingEquationOptions {
    /// Returns TFRC's preset with even gaps, without a spread slow start, which would keep the next gap too long.
    fn preset(dialect: Dialect) -> Self {
        let tfrc = TfrcOptions::preset(dialect);
        let before = tfrc.expert.slow_start;
        let slow_start = if before == SlowStart::Spread { SlowStart::Stepwise } else { before };
        let expert = TfrcExpert { pacing: Pacing::Even, t_gran: Duration::ZERO, slow_start, ..tfrc.expert };
        Self(TfrcOptions { expert, ..tfrc })
    }

    fn check(&self) -> Result<(), OptionError> {
        self.0.check()
    }

    fn unused(&self) -> Vec<OptionError> {
        self.0.unused()
    }
}
