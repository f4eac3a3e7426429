//! TFRC whose receiver counts only the losses of congestion: the same machine under other options, with a CCID of its own. That of CCID 3 tells the sender
//! of every loss (RFC 4342 section 8.6).

use crate::loss_filter::LossFilterKind;
use crate::tfrc::TfrcOptions;
use headway_units::{Dialect, OptionError, Options};
use std::ops::Deref;

/// Options of `tfrc-filtered`: those of `tfrc`, with a filter of losses.
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
