//! A link whose transmissions do not all take size / rate, or whose packets do not all take its delay.

use crate::capacity::Capacity;
use crate::changes::Changing;
use crate::config::{Config, Framing};
use crate::overtaking::Overtaking;
use crate::propagation::Propagation;
use crate::shaper::Shaper;
use headway_units::{Bytes, Instant};

/// How its transmissions end instead, and when packets arrive.
#[derive(Debug)]
pub(crate) struct Varying {
    shaper: Option<Shaper>,
    speed: Speed,
    pub(crate) propagation: Propagation,
    /// The packets on their way, where they may overtake one another; else they are in the link's list.
    pub(crate) overtaking: Option<Overtaking>,
}

#[derive(Debug)]
enum Speed {
    /// Opportunities that were measured.
    Measured(Capacity),
    Changing(Changing),
}

impl Varying {
    /// What a link of this configuration has; most have none.
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

    /// When a packet has left and arrives that is first from `start` on: at the instant of the last transmission's end if it `waited` for that, since
    /// when it arrived.
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
            // What is left of an opportunity is gone for a packet that arrives at its time.
            Speed::Measured(capacity) => capacity.transmit(begin, waited.is_some_and(|since| since < begin), on_wire),
            Speed::Changing(changing) => changing.transmit(begin, waited.is_some(), Bytes::new(on_wire)),
        };
        (end, self.propagation.arrival(end))
    }
}
