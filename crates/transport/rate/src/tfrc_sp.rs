//! TFRC-SP: TFRC for small packets (RFC 4828), as in CCID 4 (RFC 5622). TFRC with other options:
//!
//! ```text
//! X_Bps = (equation with s = 1460 B) s / (s + H)       H = 36 B: IPv4 and DCCP-Data with long sequence numbers
//! gap  >= 10 ms
//! an interval of N packets with K losses that lasts at most two round trips has length N / K
//! ```

use crate::tfrc::{TfrcExpert, TfrcOptions};
use headway_units::{Bytes, Dialect, Duration, OptionError, Options};
use std::ops::Deref;

/// Options of the controller `tfrc-sp`, TFRC for small packets (RFC 4828): the options of `tfrc`, with other presets.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema), serde(transparent))]
pub struct TfrcSpOptions(pub TfrcOptions);

impl Deref for TfrcSpOptions {
    type Target = TfrcOptions;
    fn deref(&self) -> &TfrcOptions {
        &self.0
    }
}

impl Options for TfrcSpOptions {
    /// Returns the values of RFC 5622. ns-2's `voip_` counts 32 B of headers; Linux 6.1 has no CCID 4.
    fn preset(dialect: Dialect) -> Self {
        let tfrc = TfrcOptions::preset(dialect);
        let expert = TfrcExpert {
            nominal_segment: Some(Bytes::new(1460)),
            header: Bytes::new(if dialect == Dialect::Ns2 { 32 } else { 36 }),
            min_interval: Duration::from_millis(10),
            short_intervals: true,
            ..tfrc.expert
        };
        Self(TfrcOptions { expert, ..tfrc })
    }

    fn check(&self) -> Result<(), OptionError> {
        self.0.check()
    }

    fn unused(&self) -> Vec<OptionError> {
        self.0.unused()
    }
}
