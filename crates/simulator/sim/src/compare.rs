//! Send queues beside one another on one flow, twice: as each runs, and over the same opportunities.
//!
//! As it runs, a queue decides over the rate, too: a controller that is given less to send allows less later, and the rest of the
//! network fills what is left. Over the same opportunities ([`Yardstick`]) only the choice of packets differs, and there is a bound.

use crate::simulation::Simulation;
use crate::yardstick::{Yardstick, YardstickError, run_out};
use headway_bound::{Replayed, UnitBound};
use headway_media::SendQueueOptions;
use headway_scenario::Scenario;
use headway_units::MediaKind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is on time over the opportunities.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// By priority: packets on time, by those of this priority.
    pub on_time: BTreeMap<u8, f64>,
    /// By priority: packets on time of it and all more urgent ones together, by those of these priorities.
    pub up_to: BTreeMap<u8, f64>,
    /// By priority: packets on time of it and all more urgent ones together, by the most that is possible. Never more than 1;
    /// 1 where nothing is possible.
    pub part_of_bound: BTreeMap<u8, f64>,
}

/// What comes of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Of the run: equal for equal runs.
    pub fingerprint: String,
    /// As it runs, by kind: packets that arrived by their deadline, by all that were written.
    pub on_time: BTreeMap<MediaKind, f64>,
    /// As it runs, by kind: packets that arrived after their deadline, by all that were written.
    pub late: BTreeMap<MediaKind, f64>,
    /// Over the same opportunities.
    pub replayed: Shares,
    /// The same, if it knew how long each packet will be on its way.
    pub knowing: Option<Shares>,
}

/// What comes of several queues with one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What the packets of each priority are.
    pub kinds: BTreeMap<u8, BTreeSet<MediaKind>>,
    /// How many packets the controller of the saturated flow lets go.
    pub opportunities: usize,
    /// The most that any queue could have on time over the opportunities.
    pub bound: Shares,
    /// In the order in which they were given.
    pub queues: Vec<Compared>,
}

/// Compares `queues` on flow number `flow`, whose own queue is of no account; with `knowing` also as they would do if they knew each
/// way. A run for the opportunities, then one for each queue, as long as `go_on` says yes.
///
/// # Errors
/// See [`YardstickError`].
pub fn compare(
    scenario: &Scenario,
    flow: usize,
    queues: &[SendQueueOptions],
    knowing: bool,
    go_on: impl Fn() -> bool,
) -> Result<Comparison, YardstickError> {
    let mut scenario = Scenario { series: None, ..scenario.clone() };
    let yardstick = Yardstick::new_while(&scenario, flow, &go_on)?;
    let bound = yardstick.bound();
    let mut compared = Vec::with_capacity(queues.len());
    for queue in queues {
        scenario.flows.get_mut(flow).ok_or(YardstickError::NoFlow)?.send_queue = Arc::new(queue.clone());
        let mut simulation = Simulation::new(&scenario, ())?;
        run_out(&mut simulation, &go_on)?;
        let mut run = simulation.finish().summary;
        let summary = run.flows.swap_remove(flow);
        compared.push(Compared {
            fingerprint: run.fingerprint,
            on_time: summary.on_time_ratio,
            late: summary.late_ratio,
            replayed: of_replay(&yardstick.replay(queue), &bound),
            knowing: knowing.then(|| of_replay(&yardstick.replay_knowing(queue), &bound)),
        });
    }
    Ok(Comparison {
        kinds: yardstick.kinds(),
        opportunities: yardstick.opportunities(),
        bound: of_bound(&bound),
        queues: compared,
    })
}

fn of_bound(bound: &UnitBound) -> Shares {
    let on_time = bound.by_priority.iter().map(|(&priority, share)| (priority, share.on_time));
    shares(on_time, bound)
}

fn of_replay(replayed: &Replayed, bound: &UnitBound) -> Shares {
    let on_time = replayed.by_priority.iter().map(|(&priority, outcome)| (priority, outcome.on_time));
    shares(on_time, bound)
}

/// Of packets on time by priority, the most urgent first.
fn shares(on_time: impl Iterator<Item = (u8, u64)>, bound: &UnitBound) -> Shares {
    let mut shares = Shares::default();
    let (mut on_time_so_far, mut offered_so_far) = (0, 0);
    for (priority, on_time) in on_time {
        let offered = bound.by_priority.get(&priority).map_or(0, |share| share.offered);
        on_time_so_far += on_time;
        offered_so_far += offered;
        shares.on_time.insert(priority, part(on_time, offered));
        shares.up_to.insert(priority, part(on_time_so_far, offered_so_far));
        shares.part_of_bound.insert(priority, part(on_time_so_far, bound.up_to(priority)));
    }
    shares
}

/// All of nothing is everything.
fn part(count: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { count as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_bound::{Outcome, Share};

    /// 8 of 10 and 1 of 5 where 9 and 3 are possible: 8/9 of the first, 9/12 of both.
    #[test]
    fn parts_by_hand() {
        let share = |offered, on_time| Share { offered, on_time };
        let outcome = |offered, on_time| Outcome { offered, on_time, late: 0, never_sent: offered - on_time };
        let bound = UnitBound { by_priority: [(0, share(10, 9)), (1, share(5, 3))].into(), used: 12, unused: 0 };
        let replayed = Replayed { by_priority: [(0, outcome(10, 8)), (1, outcome(5, 1))].into(), used: 9, unused: 3 };
        let shares = of_replay(&replayed, &bound);
        assert_eq!(shares.on_time, [(0, 0.8), (1, 0.2)].into());
        assert_eq!(shares.part_of_bound, [(0, 8.0 / 9.0), (1, 0.75)].into());
        assert_eq!(shares.up_to, [(0, 0.8), (1, 0.6)].into());
        let bound = of_bound(&bound);
        assert_eq!((bound.on_time, bound.up_to), ([(0, 0.9), (1, 0.6)].into(), [(0, 0.9), (1, 0.8)].into()));
        assert_eq!(bound.part_of_bound, [(0, 1.0), (1, 1.0)].into());
    }

    /// Where nothing can be on time, a queue that has nothing on time misses nothing.
    #[test]
    fn nothing_of_nothing() {
        let bound = UnitBound { by_priority: [(0, Share { offered: 3, on_time: 0 })].into(), used: 0, unused: 0 };
        let outcome = Outcome { offered: 3, never_sent: 3, ..Outcome::default() };
        let replayed = Replayed { by_priority: [(0, outcome)].into(), used: 0, unused: 0 };
        let shares = of_replay(&replayed, &bound);
        assert_eq!((shares.on_time[&0], shares.part_of_bound[&0]), (0.0, 1.0));
    }
}
