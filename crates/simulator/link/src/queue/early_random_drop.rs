//! Early Random Drop (Hashem 1989, as described in Floyd and Jacobson 1993, section 2), the predecessor of RED. It
//! uses the instantaneous queue, where RED uses an average.
//!
//! ```text
//! q >= limit    the arriving packet is dropped
//! q >  level    the arriving packet is dropped with probability p
//! ```
//! q is the waiting packets or bytes, without the arriving packet. `level` and p are constants.

use super::{Arrival, Backlog, Verdict, check_limit};
use headway_units::{Bytes, Dialect, DropCause, Instant, OptionError, Probability, QueueSize, Random};
use serde::{Deserialize, Serialize};

/// Options of a queue of `kind = "early-random-drop"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Capacity of the queue.
    pub limit: QueueSize,
    /// Drop level: arriving packets are dropped at random while the waiting packets or bytes exceed this level. Below
    /// `limit` and in the same unit (packets or bytes). If absent: half of `limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop_level: Option<QueueSize>,
    /// Probability with which an arriving packet is dropped while the queue exceeds `drop_level` and has space for the
    /// packet; above 0, at most 1.
    pub drop_probability: Probability,
}

impl headway_units::Options for Options {
    /// Returns half of the limit as level, and the `max_probability` that Floyd and Jacobson 1993 use for RED. Sources
    /// give none.
    fn preset(_: Dialect) -> Self {
        Self {
            limit: QueueSize::Packets(50),
            drop_level: None,
            drop_probability: Probability::new(0.02).unwrap_or(Probability::ONE),
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_limit(self.limit)?;
        let level = self.level();
        let below = match (level, self.limit) {
            (QueueSize::Packets(level), QueueSize::Packets(limit)) => level < limit,
            (QueueSize::Bytes(level), QueueSize::Bytes(limit)) => level < limit,
            _ => {
                let message = format!("{level} and the limit of {} must both count packets, or both bytes", self.limit);
                return Err(OptionError::new("drop_level", message));
            }
        };
        if !below {
            let message = format!("{level} is out of range: it must be below the limit of {}", self.limit);
            return Err(OptionError::new("drop_level", message));
        }
        if self.drop_probability.value() <= 0.0 {
            let message = "0 never drops early: it must be above 0 and at most 1, or use kind = \"droptail\"";
            return Err(OptionError::new("drop_probability", message));
        }
        Ok(())
    }
}

impl Options {
    fn level(&self) -> QueueSize {
        self.drop_level.unwrap_or(match self.limit {
            QueueSize::Packets(limit) => QueueSize::Packets(limit / 2),
            QueueSize::Bytes(limit) => QueueSize::Bytes(Bytes::new(limit.count() / 2)),
        })
    }
}

/// A running Early Random Drop queue.
#[derive(Debug)]
pub struct EarlyRandomDrop {
    limit: QueueSize,
    level: QueueSize,
    probability: f64,
}

impl EarlyRandomDrop {
    pub(super) fn new(options: &Options) -> Self {
        Self { limit: options.limit, level: options.level(), probability: options.drop_probability.value() }
    }

    pub(super) fn admit(&mut self, _: Instant, backlog: &Backlog, arrival: Arrival, random: &mut Random) -> Verdict {
        let full = backlog.within(self.limit, arrival.size);
        let above = match self.level {
            QueueSize::Packets(level) => backlog.packets > level,
            QueueSize::Bytes(level) => backlog.bytes > level.count(),
        };
        if full == Verdict::Admit && above && random.uniform() < self.probability {
            return Verdict::Drop(DropCause::Early);
        }
        full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::check_bounds;
    use headway_units::{Dscp, Ecn, Options as _};

    /// Returns the early drops of 100,000 arrivals of 1000 B at this many waiting packets, and whether all were
    /// dropped.
    fn early_drops(options: &Options, waiting: u64) -> (u32, bool) {
        options.check().unwrap();
        let mut queue = EarlyRandomDrop::new(options);
        let mut random = Random::new(1, "early random drop");
        let backlog = Backlog { packets: waiting, bytes: 1000 * waiting, idle: false, idle_s: 0.0 };
        let arrival = Arrival { size: Bytes::new(1000), ecn: Ecn::Ect0, dscp: Dscp::CS0 };
        let (mut early, mut admitted) = (0, 0);
        for _ in 0..100_000 {
            match queue.admit(Instant::ZERO, &backlog, arrival, &mut random) {
                Verdict::Drop(DropCause::Early) => early += 1,
                Verdict::Admit => admitted += 1,
                Verdict::Drop(DropCause::QueueFull) => {}
                verdict => panic!("{verdict:?}"),
            }
        }
        (early, admitted == 0)
    }

    /// "The Early Random Drop gateway drops arriving packets with a fixed drop probability if the queue length exceeds
    /// a certain drop level" (the paper of `papers/lan-queues`, section I.B). 100,000 packets at 0.02: 2000, with a
    /// standard deviation of 44.
    #[test]
    fn the_instantaneous_queue_decides() {
        let packets = Options::preset(Dialect::Rfc);
        let bytes = Options { limit: "50kB".parse().unwrap(), ..packets };
        for options in [packets, bytes] {
            assert_eq!([0, 24, 25].map(|waiting| early_drops(&options, waiting)), [(0, false); 3]);
            for waiting in [26, 40, 49] {
                let (early, refused) = early_drops(&options, waiting);
                assert!(early.abs_diff(2000) < 5 * 44 && !refused, "{waiting}: {early}");
            }
            assert_eq!(early_drops(&options, 50), (0, true), "a full queue refuses what arrives, as DropTail does");
        }
    }

    /// With a probability of 1 the level is the limit of a DropTail queue.
    #[test]
    fn a_certain_drop() {
        let options = Options { drop_probability: Probability::ONE, ..Options::preset(Dialect::Rfc) };
        assert_eq!([25, 26].map(|waiting| early_drops(&options, waiting)), [(0, false), (100_000, true)]);
    }

    #[test]
    fn each_bound_of_the_options_holds_on_both_sides() {
        check_bounds::<Options>(
            &[
                |options| options.drop_level = Some(QueueSize::Packets(0)),
                |options| options.drop_level = Some(QueueSize::Packets(49)),
                // The level follows the limit.
                |options| options.limit = QueueSize::Packets(1),
                |options| options.drop_probability = Probability::new(1e-9).unwrap(),
                |options| options.drop_probability = Probability::ONE,
            ],
            &[
                ("limit", |options| options.limit = QueueSize::Packets(0)),
                ("drop_level", |options| options.drop_level = Some(QueueSize::Packets(50))),
                ("drop_level", |options| options.drop_level = Some(QueueSize::Bytes(Bytes::new(1000)))),
                ("drop_probability", |options| options.drop_probability = Probability::ZERO),
            ],
        );
    }
}
