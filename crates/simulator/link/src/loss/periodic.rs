//! Periodic loss: every k-th packet at the channel is lost, or a burst that begins with it (ns-2's
//! `ErrorModel/Periodic` in packets). There is no randomness.

use super::Place;
use headway_units::{Dialect, OptionError};
use serde::{Deserialize, Serialize};

/// Options of a loss model of `kind = "periodic"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Period of losses, in packets (ns-2 `period_`); 0 loses none. Required with `first`, and unless `changes` set a
    /// period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u64>,
    /// Position of the first lost packet, from 0, among the packets that reach the loss model. If absent: the value of
    /// `every`. (ns-2's `offset_` counts from 1.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// Number of consecutive packets that are lost in each period, from 1 to the smallest period (ns-2 `burstlen_`).
    pub burst: u64,
    /// Where on the link packets are lost: before the queue or after the transmission.
    pub place: Place,
    /// Changes of the period, in order of packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A change of the period of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Position, from 0, among the packets that reach the loss model, of the packet at which the new period starts. The
    /// next loss is `every` packets after it.
    pub packet: u64,
    /// Period of losses from the packet at position `packet` on, in packets; 0 loses none.
    pub every: u64,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { every: None, first: None, burst: 1, place: Place::BeforeQueue, changes: Vec::new() }
    }

    fn check(&self) -> Result<(), OptionError> {
        let changes = self.changes.iter().any(|change| change.every > 0);
        match self.every {
            None if self.first.is_some() || !changes => {
                let message = "a periodic loss needs its period in packets; expected a number";
                return Err(OptionError::new("every", message).with_example("100"));
            }
            Some(0) if self.first.is_some() => {
                return Err(OptionError::new(
                    "first",
                    "has no effect with every = 0; expected every from 1, or no first",
                ));
            }
            Some(0) if !changes => {
                let message = "0 loses no packet; expected 1 or more, or a change with every = 1 or more, or no loss";
                return Err(OptionError::new("every", message));
            }
            _ => {}
        }
        if self.burst == 0 {
            return Err(OptionError::new("burst", "a burst of 0 packets loses nothing; expected 1 or more"));
        }
        let periods = self.every.into_iter().chain(self.changes.iter().map(|change| change.every));
        if let Some(every) = periods.filter(|every| *every > 0).min().filter(|every| self.burst > *every) {
            let message = format!(
                "a burst of {} packets does not end before the next one, {every} packets later; expected at most {every}",
                self.burst
            );
            return Err(OptionError::new("burst", message));
        }
        if let Some(at) = self.changes.windows(2).position(|pair| pair[0].packet >= pair[1].packet) {
            let (before, packet) = (self.changes[at].packet, self.changes[at + 1].packet);
            let message = format!(
                "change {} begins at packet {packet}, but the previous one at {before}; expected a packet from {}",
                at + 1,
                before.saturating_add(1)
            );
            return Err(OptionError::new("changes", message));
        }
        Ok(())
    }
}

/// A running periodic loss model.
#[derive(Debug)]
pub struct Periodic {
    place: Place,
    every: u64,
    burst: u64,
    next: Option<u64>,
    left: u64,
    passed: u64,
    /// Future changes, the next one last.
    changes: Vec<Change>,
}

impl Periodic {
    pub(super) fn new(options: &Options) -> Self {
        let changes = options.changes.iter().rev().copied().collect();
        let every = options.every.unwrap_or(0);
        let next = options.first.or((every > 0).then_some(every));
        Self { place: options.place, every, burst: options.burst, next, left: 0, passed: 0, changes }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Returns whether the next packet is lost. After a change at packet 0, losses begin with packets k, 2k, 3k, ...,
    /// where k is `every`; packet 0 is not lost.
    pub(super) fn loses(&mut self) -> bool {
        let passed = self.passed;
        let after = |every: u64| (every > 0).then(|| passed.saturating_add(every));
        if let Some(change) = self.changes.pop_if(|change| change.packet == passed) {
            self.every = change.every;
            self.next = after(change.every);
            self.left = 0;
        }
        if self.next == Some(passed) {
            self.next = after(self.every);
            self.left = self.burst;
        }
        self.passed += 1;
        let lost = self.left > 0;
        self.left -= u64::from(lost);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Options as _;

    fn lost(options: &Options, packets: u64) -> Vec<u64> {
        let mut loss = Periodic::new(options);
        (0..packets).filter(|_| loss.loses()).collect()
    }

    #[test]
    fn every_kth_is_lost_counted_from_the_change() {
        let changes = vec![Change { packet: 25, every: 5 }, Change { packet: 42, every: 0 }];
        let options = Options { every: Some(10), changes, ..Options::preset(Dialect::Rfc) };
        assert_eq!(lost(&options, 100), [10, 20, 30, 35, 40]);
        assert!(options.check().is_ok());
        assert!(lost(&Options::preset(Dialect::Rfc), 100).is_empty());
        assert_eq!(lost(&Options { every: Some(1), changes: Vec::new(), ..options }, 4), [1, 2, 3]);
    }

    /// ns-2.35, 40 packets through `ErrorModel/Periodic` in packets: `period_`, `offset_`, `burstlen_`, and losses.
    #[test]
    fn bursts_from_the_first_on_are_those_of_ns2() {
        for (period, offset, burstlen, expected) in [
            (10, 0, 0, vec![0, 10, 20, 30]),
            (10, 1, 1, vec![0, 10, 20, 30]),
            (10, 11, 0, vec![10, 20, 30]),
            (10, 4, 3, vec![3, 4, 5, 13, 14, 15, 23, 24, 25, 33, 34, 35]),
            (7, 20, 2, vec![19, 20, 26, 27, 33, 34]),
            (
                1,
                5,
                0,
                vec![
                    4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                    30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
                ],
            ),
            (
                3,
                2,
                3,
                vec![
                    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
                    28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
                ],
            ),
            (
                2,
                6,
                5,
                vec![
                    5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
                    31, 32, 33, 34, 35, 36, 37, 38, 39,
                ],
            ),
            (12, 30, 5, vec![29, 30, 31, 32, 33]),
        ] {
            let options = Options {
                every: Some(period),
                // In ns-2, 0 and 1 both denote the first packet, and bursts of 0 and 1 are both one packet.
                first: Some(u64::max(offset, 1) - 1),
                burst: u64::max(burstlen, 1),
                ..Options::preset(Dialect::Ns2)
            };
            // ns-2 accepts a burst that never ends.
            assert_eq!(options.check().is_ok(), burstlen <= period, "{period} {offset} {burstlen}");
            assert_eq!(lost(&options, 40), expected, "{period} {offset} {burstlen}");
        }
    }

    #[test]
    fn burst_and_first_require_losses() {
        let none = Options { burst: 0, every: Some(5), ..Options::preset(Dialect::Rfc) };
        assert_eq!(none.check().unwrap_err().key, "burst");
        let never = Options { first: Some(3), ..Options::preset(Dialect::Rfc) };
        assert_eq!(never.check().unwrap_err().key, "every");
        assert_eq!(Options { every: Some(0), ..never }.check().unwrap_err().key, "first");
        let nothing = Options::preset(Dialect::Rfc);
        assert_eq!(nothing.check().unwrap_err().example.as_deref(), Some("100"));
        assert_eq!(Options { every: Some(0), ..nothing }.check().unwrap_err().key, "every");
        let later = |every| Options { changes: vec![Change { packet: 25, every }], ..Options::preset(Dialect::Rfc) };
        assert_eq!(later(0).check().unwrap_err().key, "every");
        later(5).check().unwrap();
    }

    #[test]
    fn changes_must_be_in_order() {
        let changes = vec![Change { packet: 25, every: 5 }, Change { packet: 25, every: 0 }];
        let error = Options { changes, ..Options::preset(Dialect::Rfc) }.check().unwrap_err();
        assert_eq!((error.key, error.message.contains("change 1 begins at packet 25")), ("changes", true), "{error}");
    }

    /// `every = 10, burst = 20` used to be accepted, and all further packets were lost.
    #[test]
    fn a_burst_ends_before_the_next_one() {
        let of =
            |every, burst, changes| Options { every: Some(every), burst, changes, ..Options::preset(Dialect::Rfc) };
        of(10, 10, Vec::new()).check().unwrap();
        let error = of(10, 11, Vec::new()).check().unwrap_err();
        assert_eq!((error.key, error.message.ends_with("expected at most 10")), ("burst", true), "{error}");
        let change = |every| vec![Change { packet: 25, every }];
        assert_eq!(of(10, 6, change(5)).check().unwrap_err().key, "burst");
        of(10, 6, change(0)).check().unwrap();
    }
}
