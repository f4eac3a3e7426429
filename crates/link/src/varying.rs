//! A link whose transmissions do not all take size / rate.

use crate::capacity::Capacity;
use crate::changes::Changing;
use crate::common::Config;
use headway_units::{Bytes, Duration, Instant};

/// How its transmissions end instead, and when packets arrive.
#[derive(Debug)]
pub(crate) enum Varying {
    /// At opportunities that were measured.
    Measured(Capacity, Duration),
    /// At a rate that changes, as the delay may.
    Changing(Changing),
}

impl Varying {
    /// What a link of this configuration has; most have none.
    pub(crate) fn new(config: &Config) -> Option<Self> {
        if let Some(trace) = &config.capacity {
            return Some(Self::Measured(Capacity::new(trace), config.delay));
        }
        let changes = config.changes.as_ref()?;
        Some(Self::Changing(Changing::new(config.rate, config.delay, changes)))
    }

    /// When a packet has left and arrives that is first from `start` on: at the instant of the last transmission's end if it `waited` for that.
    pub(crate) fn transmit(&mut self, start: Instant, waited: bool, on_wire: u64) -> (Instant, Instant) {
        match self {
            Self::Measured(capacity, delay) => {
                let end = capacity.transmit(start, waited, on_wire);
                (end, end + *delay)
            }
            Self::Changing(changing) => {
                let end = changing.transmit(start, waited, Bytes::new(on_wire));
                (end, changing.arrival(end))
            }
        }
    }

    /// The first packet of those that have left has arrived.
    pub(crate) fn arrived(&mut self) {
        if let Self::Changing(changing) = self {
            changing.arrived();
        }
    }
}
