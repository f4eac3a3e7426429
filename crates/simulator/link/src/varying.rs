//! A link whose rate or delay varies.

use crate::capacity::Capacity;
use crate::changes::Changing;
use crate::config::{Config, Framing};
use crate::overtaking::Overtaking;
use crate::propagation::Propagation;
use crate::shaper::Shaper;
use headway_units::{Bytes, Instant};

/// The ends of transmissions and the arrivals of such a link.
#[derive(Debug)]
pub(crate) struct Varying {
    shaper: Option<Shaper>,
    speed: Speed,
    pub(crate) propagation: Propagation,
    /// Packets in transmission and propagation, if they may overtake one another; otherwise the port lists them.
    pub(crate) overtaking: Option<Overtaking>,
}

#[derive(Debug)]
enum Speed {
    /// Measured transmission opportunities.
    Measured(Capacity),
    Changing(Changing),
}

impl Varying {
    /// Returns the state for a link of this configuration; `None` if its rate and delay are constant.
    pub(crate) fn new(config: &Config, seed: u64, name: &str) -> Option<Self> {
        let Config { capacity, changes, shaper, jitter, reorder, .. } = config;
        if capacity.is_none() && changes.is_none() && shaper.is_none() && jitter.is_none() && reorder.is_none() {
            return None;
        }
        let speed = match capacity {
            Some(trace) => Speed::Measured(Capacity::new(trace)),
            None => Speed::Changing(Changing::new(config.rate, changes.as_ref())),
        };
        Some(Self {
            shaper: shaper.as_ref().map(Shaper::new),
            speed,
            propagation: Propagation::new(config, seed, name),
            overtaking: config.overtakes().then(Overtaking::default),
        })
    }

    /// Returns when the transmission of a packet ends and when the packet arrives. The packet is next from `start` on.
    /// If it waited for the end of the last transmission, `waited` is the time of its arrival.
    pub(crate) fn transmit(
        &mut self,
        start: Instant,
        waited: Option<Instant>,
        bytes: u32,
        framing: Framing,
    ) -> (Instant, Instant) {
        let begin = self.shaper.as_mut().map_or(start, |shaper| shaper.begins(start, bytes));
        let waited = waited.filter(|_| begin == start);
        let on_wire = framing.on_wire(bytes);
        let end = match &mut self.speed {
            // A packet that arrives at the time of an opportunity cannot use the rest of it.
            Speed::Measured(capacity) => capacity.transmit(begin, waited.is_some_and(|since| since < begin), on_wire),
            Speed::Changing(changing) => changing.transmit(begin, waited.is_some(), Bytes::new(on_wire)),
        };
        (end, self.propagation.arrival(end))
    }
}
