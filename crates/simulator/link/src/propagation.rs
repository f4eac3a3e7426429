//! Arrivals of packets whose delay varies: it changes, has jitter, or is different for some of them.

use crate::changes::LinkChanges;
use crate::common::random;
use crate::config::Config;
use crate::jitter::Jitter;
use crate::reorder::Reorder;
use headway_units::{Duration, Instant};
use std::collections::VecDeque;
use std::sync::Arc;

/// The state of the propagation from the end of a transmission to the far end.
#[derive(Debug)]
pub(crate) struct Propagation {
    /// Delays, and the times from which they apply.
    delays: Vec<(Instant, Duration)>,
    jitter: Option<Jitter>,
    keeps_order: bool,
    last_arrival: Instant,
    reorder: Option<Reorder>,
    /// Ends of transmission of the packets that are propagating; `None` if packets may overtake one another.
    ends: Option<VecDeque<Instant>>,
}

impl Propagation {
    pub(crate) fn new(config: &Config, seed: u64, name: &str) -> Self {
        let Config { delay, changes, jitter, reorder, .. } = config;
        let constant = || vec![(Instant::ZERO, *delay)];
        Self {
            delays: changes.as_ref().map_or_else(constant, |changes: &Arc<LinkChanges>| changes.delays(*delay)),
            jitter: jitter.as_ref().map(|jitter| Jitter::new(jitter, random(seed, name, "jitter"))),
            keeps_order: jitter.as_ref().is_none_or(|jitter| jitter.keeps_order()),
            last_arrival: Instant::ZERO,
            reorder: reorder.as_ref().map(|reorder| Reorder::new(reorder, random(seed, name, "reorder"))),
            ends: (!config.overtakes()).then(VecDeque::new),
        }
    }

    /// Returns the arrival of the packet whose transmission ends next, at `end`. If order is kept, it is not before
    /// that of the previous packet. Additional delay by `reorder` is added after that.
    pub(crate) fn arrival(&mut self, end: Instant) -> Instant {
        let known = self.delays.partition_point(|(since, _)| *since <= end);
        let delay = self.delays.get(known.saturating_sub(1)).map_or(Duration::ZERO, |(_, delay)| *delay);
        let mut arrival = end + delay + self.jitter.as_mut().map_or(Duration::ZERO, Jitter::draw);
        if self.keeps_order {
            arrival = arrival.max(self.last_arrival);
            self.last_arrival = arrival;
        }
        if let Some(ends) = &mut self.ends {
            ends.push_back(end);
        }
        arrival + self.reorder.as_mut().map_or(Duration::ZERO, Reorder::draw)
    }

    pub(crate) fn arrived(&mut self) {
        if let Some(ends) = &mut self.ends {
            ends.pop_front();
        }
    }

    pub(crate) fn ends(&self) -> impl Iterator<Item = Instant> + '_ {
        self.ends.iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::LinkChange;
    use crate::jitter::{JitterOptions, uniform};
    use crate::reorder::{ReorderOptions, held_back};
    use headway_units::{Dialect, Options as _, Probability, Random};

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn propagation(changes: &[(u64, u64)]) -> Propagation {
        let change = |&(at, delay): &(u64, u64)| LinkChange { at: ms(at), rate: None, delay: Some(ms(delay)) };
        let changes = LinkChanges::new(changes.iter().map(change).collect()).unwrap();
        Propagation {
            delays: changes.delays(ms(10)),
            jitter: None,
            keeps_order: true,
            last_arrival: Instant::ZERO,
            reorder: None,
            ends: None,
        }
    }

    #[test]
    fn a_shorter_delay_does_not_reorder() {
        let mut link = propagation(&[(5, 30), (8, 1)]);
        for (end, arrives) in [(4, 14), (5, 35), (7, 37), (8, 37), (9, 37), (36, 37), (37, 38)] {
            assert_eq!(link.arrival(at(end)), at(arrives), "{end}");
        }
    }

    /// A packet every 2 ms with up to 20 ms more than 10: equal to separate draws; if order is kept, to their maximum.
    #[test]
    fn a_packet_that_would_overtake_arrives_with_its_predecessor() {
        let uniform = uniform::Options { most: ms(20), ..uniform::Options::preset(Dialect::Rfc) };
        let jitter = || Jitter::new(&JitterOptions::Uniform(uniform.clone()), Random::new(1, "jitter"));
        let mut draws = jitter();
        let (mut kept, mut free) = (propagation(&[]), propagation(&[]));
        (kept.jitter, free.jitter, free.keeps_order) = (Some(jitter()), Some(jitter()), false);
        let (mut latest, mut overtakes) = (Instant::ZERO, 0);
        for end in (0..2000).step_by(2).map(at) {
            let alone = end + ms(10) + draws.draw();
            overtakes += u32::from(alone < latest);
            latest = latest.max(alone);
            assert_eq!((kept.arrival(end), free.arrival(end)), (latest, alone));
        }
        assert!(overtakes > 500, "{overtakes}");
    }

    #[test]
    fn a_delayed_packet_does_not_delay_others() {
        let third = held_back::Options {
            probability: Some(Probability::ONE),
            by: ms(5),
            gap: 3,
            ..held_back::Options::preset(Dialect::Rfc)
        };
        let mut link = propagation(&[]);
        link.reorder = Some(Reorder::new(&ReorderOptions::Delayed(third), Random::new(1, "reorder")));
        let arrivals = [0, 1, 2, 3, 4, 5].map(|end| link.arrival(at(end)));
        assert_eq!(arrivals, [10, 11, 17, 13, 14, 20].map(at));
    }
}
