//! Compares send queues on one flow: in a run each, and over the same send opportunities.
//!
//! In a run, a send queue also affects the rate: a controller with less data to send allows less later, and other
//! flows use the free capacity. Over the same opportunities ([`SendQueueEvaluation`]), only the choice of packets differs, and
//! an upper bound is known.

use crate::simulation::Simulation;
use crate::yardstick::{SendQueueEvaluation, YardstickError, run_out};
use headway_bound::{Replayed, UnitBound};
use headway_media::SendQueueOptions;
use headway_scenario::Scenario;
use headway_units::MediaKind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Fractions of packets that arrive on time, 0 to 1, if a send queue decides which packet is sent at each of the given
/// send opportunities.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// By priority: packets of this priority that arrive on time, divided by those that the application writes.
    pub on_time: BTreeMap<u8, f64>,
    /// By priority: packets of this and all more urgent priorities together that arrive on time, divided by those that
    /// the application writes.
    pub up_to: BTreeMap<u8, f64>,
    /// By priority: packets of this and all more urgent priorities together that arrive on time, divided by the upper
    /// bound of their number for any send queue; 1 if the bound is zero.
    pub part_of_bound: BTreeMap<u8, f64>,
}

/// Results of one of the compared send queues.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Fingerprint (hash of the event order) of the run with this queue; equal runs have equal fingerprints.
    pub fingerprint: String,
    /// In the run with this queue, by kind of media: packets that arrived by their deadline, divided by the packets
    /// that the application wrote. Both are packets whose deadline is in the measured interval.
    pub on_time: BTreeMap<MediaKind, f64>,
    /// In the run with this queue, by kind of media: packets that arrived after their deadline, divided by the packets
    /// that the application wrote. Both are packets whose deadline is in the measured interval.
    pub late: BTreeMap<MediaKind, f64>,
    /// Results of the queue over the recorded send opportunities of the [`Comparison`], which are equal for all queues.
    pub replayed: Shares,
    /// Results of the queue over these send opportunities if it knows the delay of each packet in advance; `None`
    /// unless requested.
    pub oracle: Option<Shares>,
}

/// Results of several send queues on one flow, with one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Kinds of media of each priority.
    pub kinds: BTreeMap<u8, BTreeSet<MediaKind>>,
    /// Number of send opportunities: packets that the flow's controller sends in the measured interval when it always
    /// has data.
    pub opportunities: usize,
    /// Upper bound of the fractions of packets on time over the send opportunities, for any send queue.
    pub bound: Shares,
    /// Results of each send queue, in the order in which [`compare`] was given them.
    pub queues: Vec<Compared>,
}

/// Compares the send queues `queues` on flow number `flow`; the flow's own send queue is ignored. With `oracle`, also
/// replays each queue with the delay of each packet known in advance. Runs the scenario once to record the send
/// opportunities, and once for each queue. Stops when `keep_running` returns `false`.
///
/// # Errors
/// See [`YardstickError`].
pub fn compare(
    scenario: &Scenario,
    flow: usize,
    queues: &[SendQueueOptions],
    oracle: bool,
    keep_running: impl Fn() -> bool,
) -> Result<Comparison, YardstickError> {
    let mut scenario = Scenario { series: None, ..scenario.clone() };
    let yardstick = SendQueueEvaluation::new_while(&scenario, flow, &keep_running)?;
    let bound = yardstick.bound();
    let mut compared = Vec::with_capacity(queues.len());
    for queue in queues {
        scenario.flows.get_mut(flow).ok_or(YardstickError::NoFlow)?.send_queue = Arc::new(queue.clone());
        let mut simulation = Simulation::new(&scenario, ())?;
        run_out(&mut simulation, &keep_running)?;
        let mut run = simulation.finish().summary;
        let summary = run.flows.swap_remove(flow);
        compared.push(Compared {
            fingerprint: run.fingerprint,
            on_time: summary.on_time_ratio,
            late: summary.late_ratio,
            replayed: of_replay(&yardstick.replay(queue), &bound),
            oracle: oracle.then(|| of_replay(&yardstick.replay_oracle(queue), &bound)),
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

/// Computes shares from packets on time by priority, most urgent first.
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

/// Returns `count / all`, or 1 if `all` is 0.
fn part(count: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { count as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_bound::{Outcome, Share};

    /// 8 of 10 and 1 of 5 on time with bounds of 9 and 3: 8/9 of the first bound, 9/12 of both.
    #[test]
    fn shares_match_computation_by_hand() {
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

    /// If the bound is 0, a queue with no packet on time reaches it.
    #[test]
    fn an_empty_bound_is_reached() {
        let bound = UnitBound { by_priority: [(0, Share { offered: 3, on_time: 0 })].into(), used: 0, unused: 0 };
        let outcome = Outcome { offered: 3, never_sent: 3, ..Outcome::default() };
        let replayed = Replayed { by_priority: [(0, outcome)].into(), used: 0, unused: 0 };
        let shares = of_replay(&replayed, &bound);
        assert_eq!((shares.on_time[&0], shares.part_of_bound[&0]), (0.0, 1.0));
    }
}
