//! Bursts and silences of Pareto lengths, some of them very long (ns-2 `Application/Traffic/Pareto`).
//!
//! Many of these together are self-similar traffic. What a burst and a silence are is in `on_off`.

use super::Context;
use super::draw::Law;
use super::on_off::{OnOff, Told};
use crate::write::WriteSize;
use headway_units::{Bytes, Dialect, Duration, MediaKind, OptionError, Rate};
use serde::{Deserialize, Serialize};

/// Options of `kind = "pareto"`: `rate`, and one of `size` and `payload`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParetoOptions {
    /// Bits a second within a burst, of what `size` or `payload` counts (ns-2 `rate_`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Bytes of one write on the wire, headers and all, if one datagram carries it; 1 B to 16 MiB (ns-2 `packetSize_`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Bytes of one write without headers; 1 B to 16 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Bytes>,
    /// Mean length of a burst (ns-2 `burst_time_`).
    pub burst_time: Duration,
    /// Mean length of a silence (ns-2 `idle_time_`).
    pub idle_time: Duration,
    /// The exponent of both laws: above 1, so that there is a mean; up to 2 the variance is infinite (ns-2 `shape_`).
    pub shape: f64,
    /// What it is.
    pub media: MediaKind,
    /// Which goes first where a queue may choose: 0 before 1.
    pub priority: u8,
    /// How long a write is of use; absent, for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Duration>,
}

impl ParetoOptions {
    fn told(&self) -> Told {
        let &Self { rate, size, payload, burst_time, idle_time, media, priority, lifetime, .. } = self;
        Told { rate, size, payload, burst_time, idle_time, media, priority, lifetime }
    }

    pub(super) fn write_size(&self) -> Option<WriteSize> {
        self.told().write_size()
    }

    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        self.told().writes_within(length)
    }

    pub(super) fn start(&self, context: Context) -> Result<OnOff, OptionError> {
        let (told, shape) = (self.told(), self.shape);
        let burst = Law::Pareto { mean: told.mean_packets(), shape };
        let idle = Law::Pareto { mean: told.idle_time.as_secs_f64(), shape };
        OnOff::new(&told, WHAT, burst, idle, context)
    }
}

const WHAT: &str = "a pareto";

impl headway_units::Options for ParetoOptions {
    fn preset(_: Dialect) -> Self {
        Self {
            rate: None,
            size: None,
            payload: None,
            burst_time: Duration::from_millis(500),
            idle_time: Duration::from_millis(500),
            shape: 1.5,
            media: MediaKind::Data,
            priority: 0,
            lifetime: None,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        if !(self.shape > 1.0 && self.shape <= 100.0) {
            let message = format!("{} is out of range: above 1, so that there is a mean, and at most 100", self.shape);
            return Err(OptionError::new("shape", message));
        }
        self.told().check(WHAT)
    }
}
