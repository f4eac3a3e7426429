//! Listed losses: packets are lost by their position in the sequence of packets at the channel (ns-2's
//! `ErrorModel/List` with `droplist`, in packets). There is no randomness.

use super::Place;
use headway_units::{Dialect, OptionError};
use serde::{Deserialize, Serialize};

/// Options of a loss model of `kind = "list"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Positions of the lost packets, from 0, among the packets that reach the loss model; in any order, without
    /// duplicates.
    pub packets: Vec<u64>,
    /// Where on the link packets are lost: before the queue or after the transmission.
    pub place: Place,
}

impl Options {
    fn sorted(&self) -> Vec<u64> {
        let mut packets = self.packets.clone();
        packets.sort_unstable();
        packets
    }
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { packets: Vec::new(), place: Place::BeforeQueue }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.packets.is_empty() {
            return Err(OptionError::new("packets", "a list loss needs packets,").with_example("[30, 31, 50]"));
        }
        if let Some(pair) = self.sorted().windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(OptionError::new(
                "packets",
                format!("packet {} is listed twice; expected each packet once", pair[0]),
            ));
        }
        Ok(())
    }
}

/// A running loss model with a list.
#[derive(Debug)]
pub struct List {
    place: Place,
    /// Remaining positions, the next one last.
    packets: Vec<u64>,
    passed: u64,
}

impl List {
    pub(super) fn new(options: &Options) -> Self {
        let mut packets = options.sorted();
        packets.reverse();
        Self { place: options.place, packets, passed: 0 }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    pub(super) fn loses(&mut self) -> bool {
        let passed = self.passed;
        self.passed += 1;
        self.packets.pop_if(|packet| *packet == passed).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Options as _;

    #[test]
    fn only_listed_packets_are_lost() {
        let options = Options { packets: vec![7, 0, 3, 4], ..Options::preset(Dialect::Ns2) };
        options.check().unwrap();
        let mut loss = List::new(&options);
        assert_eq!((0..100).filter(|_| loss.loses()).collect::<Vec<_>>(), [0, 3, 4, 7]);
    }

    #[test]
    fn a_list_has_packets_without_duplicates() {
        for (packets, part) in [(vec![], "needs packets"), (vec![5, 1, 5], "packet 5 is listed twice")] {
            let error = Options { packets, ..Options::preset(Dialect::Rfc) }.check().unwrap_err();
            assert_eq!(error.key, "packets");
            assert!(error.message.contains(part), "{error}");
        }
    }
}
