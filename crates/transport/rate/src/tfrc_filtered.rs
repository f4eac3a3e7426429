//! TFRC whose receiver counts only congestion losses: TFRC with other options and a separate CCID, because CCID 3
//! reports every loss to the sender (RFC 4342 section 8.6).

use crate::loss_filter::LossFilterKind;
use crate::tfrc::TfrcOptions;
use headway_units::{Dialect, OptionError, Options};
use std::ops::Deref;

/// Options of the controller `tfrc-filtered`, TFRC whose receiver counts only congestion losses: the options of `tfrc`,
/// with a loss filter as preset.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema), serde(transparent))]
pub struct TfrcFilteredOptions(pub TfrcOptions);

impl Deref for TfrcFilteredOptions {
    type Target = TfrcOptions;
    fn deref(&self) -> &TfrcOptions {
        &self.0
    }
}

impl Options for TfrcFilteredOptions {
    fn preset(dialect: Dialect) -> Self {
        Self(TfrcOptions { loss_filter: Some(LossFilterKind::Guarded), ..TfrcOptions::preset(dialect) })
    }

    fn check(&self) -> Result<(), OptionError> {
        self.0.check()
    }

    fn unused(&self) -> Vec<OptionError> {
        self.0.unused()
    }
}
