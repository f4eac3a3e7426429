//! An on-path attacker that modifies packets: it flips one bit or inserts one option.

use crate::{Context, Direction, Fate, packets};
use headway_dccp::{OptionArea, Packet};
use headway_units::{Dialect, Instant, Probability};
use serde::{Deserialize, Serialize};

/// Options of an attack of `kind = "tamper"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Probability that the attacker changes a packet in the direction `towards`.
    pub share: Probability,
    /// Endpoint to which the changed packets are sent.
    pub towards: Direction,
    /// Kind of change that is made to a packet.
    pub change: Change,
}

/// Kind of change to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Flips a random bit and keeps the checksum.
    Bit,
    /// Inserts a Mandatory option, followed by an unknown option, and updates the checksum.
    Mandatory,
    /// Inserts a Change L option that sets the feature Sequence Window to its minimum, 32, and updates the checksum.
    SequenceWindow,
    /// Inserts a Data Dropped option with Drop Code 1, Application Not Listening, and updates the checksum.
    NotListening,
}

/// Mandatory, and an option of a reserved type without data (RFC 4340 section 5.8).
const MANDATORY: &[u8] = &[1, 100, 2];
/// Change L, 9 bytes, feature 3, 32 in six bytes (sections 6.1 and 7.5.2).
const SEQUENCE_WINDOW: &[u8] = &[32, 9, 3, 0, 0, 0, 0, 0, 32];
/// Data Dropped, 3 bytes, one drop block: Drop Code 1, a run of 1 (section 11.7).
const NOT_LISTENING: &[u8] = &[40, 3, 0x90];

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        let share = Probability::new(0.1).unwrap_or(Probability::ZERO);
        Self { share, towards: Direction::ToServer, change: Change::Bit }
    }
}

/// State of a running attack that changes packets.
#[derive(Debug)]
pub struct Tamper {
    options: Options,
    context: Context,
}

impl Tamper {
    pub(crate) fn new(options: &Options, context: Context) -> Self {
        Self { options: options.clone(), context }
    }

    pub(crate) fn handle(&mut self, now: Instant, direction: Direction, bytes: &[u8]) -> Fate {
        if direction != self.options.towards || !self.context.hits(now, self.options.share) {
            return Fate::Forwarded;
        }
        let option = match self.options.change {
            Change::Bit => {
                let mut bytes = bytes.to_vec();
                let bit = self.context.random.below(8 * bytes.len() as u64) as usize;
                if let Some(byte) = bytes.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
                return Fate::Changed(bytes);
            }
            Change::Mandatory => MANDATORY,
            Change::SequenceWindow => SEQUENCE_WINDOW,
            Change::NotListening => NOT_LISTENING,
        };
        let Some(packet) = packets::decode(&self.context.target, direction, bytes) else { return Fate::Forwarded };
        let mut options = [option, packet.options.as_bytes()].concat();
        options.resize(options.len().next_multiple_of(4), 0);
        let Some(options) = OptionArea::new(&options) else { return Fate::Forwarded };
        let (source, destination) = self.context.target.ends(direction);
        Fate::Changed(packets::encode(&Packet { options, ..packet }, packets::network(source, destination)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, data, target};
    use headway_dccp::{DccpOption, Feature, FeatureAction};

    fn changed(change: Change) -> Vec<u8> {
        let options = Options { share: Probability::new(1.0).unwrap(), towards: Direction::ToServer, change };
        let mut attack = Tamper::new(&options, context(1));
        let bytes = data(&target(), Direction::ToServer, 7, b"hello");
        assert_eq!(attack.handle(Instant::ZERO, Direction::ToClient, &bytes), Fate::Forwarded);
        match attack.handle(Instant::ZERO, Direction::ToServer, &bytes) {
            Fate::Changed(bytes) => bytes,
            fate => panic!("{fate:?}"),
        }
    }

    #[test]
    fn a_flipped_bit_breaks_the_checksum() {
        assert!(packets::decode(&target(), Direction::ToServer, &changed(Change::Bit)).is_none());
    }

    /// The inserted option is as named and the rest of the packet is unchanged.
    #[test]
    fn inserted_options_have_a_valid_checksum() {
        for (change, wanted) in [
            (Change::Mandatory, vec!["Mandatory"]),
            (Change::SequenceWindow, vec!["Feature"]),
            (Change::NotListening, vec!["DataDropped"]),
        ] {
            let bytes = changed(change);
            let packet = packets::decode(&target(), Direction::ToServer, &bytes).unwrap();
            assert_eq!(packet.data, b"hello");
            let options: Vec<String> = packet.options.iter().flatten().map(|option| format!("{option:?}")).collect();
            assert!(wanted.iter().zip(&options).all(|(wanted, option)| option.starts_with(wanted)), "{options:?}");
        }
        let bytes = changed(Change::SequenceWindow);
        let packet = packets::decode(&target(), Direction::ToServer, &bytes).unwrap();
        let Some(Ok(DccpOption::Feature(option))) = packet.options.iter().next() else { panic!("{packet}") };
        assert_eq!((option.action, option.feature), (FeatureAction::ChangeL, Feature::SEQUENCE_WINDOW));
    }
}
