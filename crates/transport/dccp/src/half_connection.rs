//! Half-connection, and thus CCID, of a CCID-specific number (RFC 4340 section 10.3).

use crate::{Feature, FeatureAction, ResetCode};

/// Half-connection, a direction of data, relative to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HalfConnection {
    /// The packet's sender is the data sender (HC-Sender).
    Forward,
    /// The packet's sender is the data receiver (HC-Receiver).
    Reverse,
}

impl HalfConnection {
    /// Returns the half-connection of an option: types 128 to 191 are sent by an HC-Sender, 192 to 255 by an
    /// HC-Receiver. `None` for types below 128, which do not depend on the CCID.
    #[must_use]
    pub const fn of_option(number: u8) -> Option<Self> {
        match number {
            128..=191 => Some(Self::Forward),
            192.. => Some(Self::Reverse),
            _ => None,
        }
    }
    /// Returns the half-connection of a Reset: codes 128 to 191 are sent by an HC-Sender, 192 to 255 by an HC-Receiver.
    /// `None` for codes below 128, which do not depend on the CCID.
    #[must_use]
    pub const fn of_reset(code: ResetCode) -> Option<Self> {
        Self::of_option(code.0)
    }
    /// Returns the half-connection of a negotiation: features 128 to 191 are located at an HC-Sender, 192 to 255 at an
    /// HC-Receiver, and L options are sent by the location. `None` for features below 128, which do not depend on the
    /// CCID.
    #[must_use]
    pub const fn of_feature(action: FeatureAction, feature: Feature) -> Option<Self> {
        let by_location = matches!(action, FeatureAction::ChangeL | FeatureAction::ConfirmL);
        match (feature.0, by_location) {
            (128..=191, true) | (192.., false) => Some(Self::Forward),
            (128..=191, false) | (192.., true) => Some(Self::Reverse),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FeatureAction::{ChangeL, ChangeR, ConfirmL, ConfirmR};
    use HalfConnection::{Forward, Reverse};

    /// Table of RFC 4340 section 10.3: for packets A > B, the half-connection A-to-B is the forward one.
    #[test]
    fn the_rfcs_table() {
        assert_eq!([128, 192, 127].map(HalfConnection::of_option), [Some(Forward), Some(Reverse), None]);
        for (action, at_sender, at_receiver) in [
            (ChangeL, Forward, Reverse),
            (ChangeR, Reverse, Forward),
            (ConfirmL, Forward, Reverse),
            (ConfirmR, Reverse, Forward),
        ] {
            assert_eq!(HalfConnection::of_feature(action, Feature(128)), Some(at_sender), "{action:?}");
            assert_eq!(HalfConnection::of_feature(action, Feature(192)), Some(at_receiver), "{action:?}");
            assert_eq!(HalfConnection::of_feature(action, Feature::CCID), None);
        }
        let resets = [ResetCode(191), ResetCode(192), ResetCode::CLOSED];
        assert_eq!(resets.map(HalfConnection::of_reset), [Some(Forward), Some(Reverse), None]);
    }
}
