//! Features and the options that negotiate them (RFC 4340 section 6).

use headway_rate::Terms;
use std::fmt;

/// Feature number (RFC 4340 section 6.4, Table 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature(pub u8);

/// Congestion control identifier (RFC 4340 section 10), which names a congestion control mechanism: the value of
/// [`Feature::CCID`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ccid(pub u8);

impl Ccid {
    /// TCP-like (RFC 4341), the initial CCID of every connection.
    pub const TCP_LIKE: Self = Self(2);
    /// TFRC (RFC 4342).
    pub const TFRC: Self = Self(3);
    /// TFRC for small packets (RFC 5622).
    pub const TFRC_SP: Self = Self(4);
    /// TFRC with a loss filter, an experiment of Headway.
    pub const TFRC_FILTERED: Self = Self(250);

    /// Returns whether the number is experimental: 248 to 254 (RFC 4340 section 19.5).
    #[must_use]
    pub const fn is_experimental(self) -> bool {
        matches!(self.0, 248..=254)
    }
}

/// Rule by which both endpoints agree on the value of a feature (RFC 4340 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconciliation {
    /// Each option holds a list of one-byte values; the result is the server's first value that the client also lists.
    ServerPriority,
    /// Each option holds one value, which the endpoint at which the feature is located decides.
    NonNegotiable,
}

impl Feature {
    /// CCID of the half-connection whose data the feature location sends.
    pub const CCID: Self = Self(1);
    /// Whether short (24-bit) sequence numbers may be sent (RFC 4340 section 7.6.1). This implementation never allows
    /// them: the savings do not justify easier attacks (section 7.5.5), and fast connections should not use them
    /// (section 7.6.2).
    pub const ALLOW_SHORT_SEQNOS: Self = Self(2);
    /// Sequence Window W, six bytes, 32 to 2^46 - 1 (RFC 4340 section 7.5.2).
    pub const SEQUENCE_WINDOW: Self = Self(3);
    /// Whether the feature location cannot read ECN marks on received packets (RFC 4340 section 12.1).
    pub const ECN_INCAPABLE: Self = Self(4);
    /// Number of data packets per acknowledgement (Ack Ratio), two bytes (RFC 4340 section 11.3).
    pub const ACK_RATIO: Self = Self(5);
    /// Whether the feature location sends Ack Vectors (RFC 4340 section 11.5).
    pub const SEND_ACK_VECTOR: Self = Self(6);
    /// Whether the feature location sends NDP Counts (RFC 4340 section 7.7.2).
    pub const SEND_NDP_COUNT: Self = Self(7);
    /// Minimum checksum coverage that the feature location accepts (RFC 4340 section 9.2.1).
    pub const MINIMUM_CHECKSUM_COVERAGE: Self = Self(8);
    /// Whether the feature location verifies Data Checksums (RFC 4340 section 9.3.1).
    pub const CHECK_DATA_CHECKSUM: Self = Self(9);
    /// Whether the feature location sends repair packets ([`Repair`](crate::Repair)), an experiment of this crate (RFC 4340
    /// section 19.4 reserves the numbers 120 to 126).
    pub const SEND_REPAIRS: Self = Self(120);
    /// Discrete rates of the controller, encoded in up to 252 bytes, for an experimental CCID whose endpoints agree on
    /// them ([`Terms`]); located at the HC-Sender (RFC 4340 section 10.3).
    pub const SCALES: Self = Self(128);
    /// Rules by which the HC-Receiver chooses one of the controller's discrete rates, for an experimental CCID whose
    /// endpoints agree on them ([`Terms`]); located at the HC-Sender (RFC 4340 section 10.3).
    pub const SCALE_RULES: Self = Self(129);
    /// Whether the receiver of data under CCID 3 sends Loss Event Rates (RFC 4342 section 8.4).
    pub const SEND_LOSS_EVENT_RATE: Self = Self(192);

    /// Returns the reconciliation rule; `None` for an unknown feature.
    #[must_use]
    pub const fn reconciliation(self) -> Option<Reconciliation> {
        match self {
            Self::SEQUENCE_WINDOW | Self::ACK_RATIO | Self::SCALES => Some(Reconciliation::NonNegotiable),
            Self(1..=9) | Self::SEND_REPAIRS | Self::SCALE_RULES | Self::SEND_LOSS_EVENT_RATE => {
                Some(Reconciliation::ServerPriority)
            }
            _ => None,
        }
    }
    /// Returns the value before any negotiation; `None` for an unknown feature, and for
    /// [`SCALES`](Self::SCALES), whose value is not a number.
    #[must_use]
    pub const fn initial(self) -> Option<u64> {
        match self {
            Self::CCID | Self::ACK_RATIO => Some(2),
            Self::SEQUENCE_WINDOW => Some(100),
            Self(1..=9) | Self::SEND_REPAIRS | Self::SCALE_RULES | Self::SEND_LOSS_EVENT_RATE => Some(0),
            _ => None,
        }
    }
    /// Returns whether every implementation must support the feature: an empty Confirm for such a feature is an Option
    /// Error (RFC 4340 section 6.6.7).
    #[must_use]
    pub const fn is_required(self) -> bool {
        matches!(self, Self::CCID | Self::ALLOW_SHORT_SEQNOS | Self::SEQUENCE_WINDOW)
    }
    /// Returns whether the meaning of the feature depends on a CCID (128 to 255, RFC 4340 section 10.3).
    #[must_use]
    pub const fn is_ccid_specific(self) -> bool {
        self.0 >= 128
    }

    /// Returns whether it is one of the [terms](headway_rate::Terms) of a controller.
    pub(crate) const fn is_of_terms(self) -> bool {
        matches!(self, Self::SCALES | Self::SCALE_RULES)
    }

    /// Returns whether a non-negotiable feature may have this value. Ack Ratio 0 is accepted: RFC 4340 section 6.6.8
    /// calls it invalid, but section 11.3 defines it as "unused", and Linux sends it.
    fn allows(self, value: &[u8]) -> bool {
        match (self, value) {
            (Self::SEQUENCE_WINDOW, [a, b, c, d, e, f]) => {
                let window = u64::from_be_bytes([0, 0, *a, *b, *c, *d, *e, *f]);
                (32..1 << 46).contains(&window)
            }
            (Self::ACK_RATIO, [_, _]) => true,
            (Self::SCALES, scales) => Terms::check_scales(scales).is_ok(),
            _ => false,
        }
    }
}

/// Formats the name of the RFC's table, in one word.
impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::CCID => "CCID",
            Self::ALLOW_SHORT_SEQNOS => "AllowShortSeqnos",
            Self::SEQUENCE_WINDOW => "SequenceWindow",
            Self::ECN_INCAPABLE => "ECNIncapable",
            Self::ACK_RATIO => "AckRatio",
            Self::SEND_ACK_VECTOR => "SendAckVector",
            Self::SEND_NDP_COUNT => "SendNDPCount",
            Self::MINIMUM_CHECKSUM_COVERAGE => "MinChecksumCoverage",
            Self::CHECK_DATA_CHECKSUM => "CheckDataChecksum",
            Self::SEND_REPAIRS => "SendRepairs",
            Self::SCALES => "Scales",
            Self::SCALE_RULES => "ScaleRules",
            Self::SEND_LOSS_EVENT_RATE => "SendLossEventRate",
            Self(number) => return write!(f, "{number}"),
        })
    }
}

/// Type of a negotiation option. L options are from the feature location, R options from the feature remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FeatureAction {
    /// The feature location requests a value.
    ChangeL = 32,
    /// The feature location confirms a value.
    ConfirmL = 33,
    /// The feature remote requests a value.
    ChangeR = 34,
    /// The feature remote confirms a value.
    ConfirmR = 35,
}

impl FeatureAction {
    /// Returns the Confirm that answers this Change; `None` for a Confirm.
    #[must_use]
    pub const fn confirm(self) -> Option<Self> {
        match self {
            Self::ChangeL => Some(Self::ConfirmR),
            Self::ChangeR => Some(Self::ConfirmL),
            Self::ConfirmL | Self::ConfirmR => None,
        }
    }
    /// Returns whether this is Change L or Change R.
    #[must_use]
    pub const fn is_change(self) -> bool {
        matches!(self, Self::ChangeL | Self::ChangeR)
    }
    /// Returns the option type on the wire, 32 to 35.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// Change or Confirm option (RFC 4340 sections 6.1 and 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureOption<'a> {
    /// Type of the option.
    pub action: FeatureAction,
    /// Feature that is negotiated.
    pub feature: Feature,
    /// Bytes after the feature number. For a server-priority feature: preferences (Change), or value and preferences
    /// (Confirm). For a non-negotiable feature: its value. An empty Confirm means that the feature or value was not
    /// understood.
    pub values: &'a [u8],
}

impl FeatureOption<'_> {
    /// Returns the value of a non-negotiable feature as a number. `None` for other features, for
    /// [`SCALES`](Feature::SCALES), and unless the value has 1 to 8 bytes.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        let known = self.feature.reconciliation() == Some(Reconciliation::NonNegotiable);
        (known && self.feature != Feature::SCALES && !self.values.is_empty() && self.values.len() <= 8)
            .then(|| self.values.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Returns whether the option is valid for its feature (RFC 4340 section 6.6.8). An unknown feature may have any
    /// value; a Change must have one.
    pub(crate) fn is_well_formed(&self) -> bool {
        let from_location = matches!(self.action, FeatureAction::ChangeL | FeatureAction::ConfirmR);
        match (self.values, self.feature.reconciliation()) {
            ([], _) => !self.action.is_change(),
            (_, Some(Reconciliation::NonNegotiable)) => from_location && self.feature.allows(self.values),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn well_formed(action: FeatureAction, feature: Feature, values: &[u8]) -> bool {
        FeatureOption { action, feature, values }.is_well_formed()
    }

    /// RFC 4340 section 6.6.8, and the ranges of sections 7.5.2 and 11.3.
    #[test]
    fn invalid_options() {
        use FeatureAction::{ChangeL, ChangeR, ConfirmL, ConfirmR};
        assert!(well_formed(ChangeL, Feature::SEQUENCE_WINDOW, &[0, 0, 0, 0, 0, 32]));
        assert!(!well_formed(ChangeL, Feature::SEQUENCE_WINDOW, &[0, 0, 0, 0, 0, 31]));
        assert!(well_formed(ChangeL, Feature::SEQUENCE_WINDOW, &[0x3f, 255, 255, 255, 255, 255]));
        assert!(!well_formed(ChangeL, Feature::SEQUENCE_WINDOW, &[0x40, 0, 0, 0, 0, 0]));
        assert!(!well_formed(ChangeL, Feature::SEQUENCE_WINDOW, &[1, 0]));
        assert!(!well_formed(ChangeR, Feature::SEQUENCE_WINDOW, &[0, 0, 0, 0, 0, 32]));
        assert!(well_formed(ConfirmR, Feature::ACK_RATIO, &[0, 2]));
        assert!(!well_formed(ConfirmR, Feature::ACK_RATIO, &[2]));
        assert!(!well_formed(ConfirmL, Feature::ACK_RATIO, &[0, 2]));
        assert!(well_formed(ChangeL, Feature::ACK_RATIO, &[0, 0]));
        assert!(well_formed(ChangeR, Feature::CCID, &[9, 8, 7]));
        assert!(!well_formed(ChangeR, Feature::CCID, &[]));
        assert!(!well_formed(ChangeL, Feature(99), &[]));
        assert!(well_formed(ConfirmL, Feature::CCID, &[]));
    }

    /// RFC 4340 section 6.4, Table 4, row by row.
    #[test]
    fn the_table() {
        let rows = (1..=9).map(Feature).map(|feature| {
            let server = feature.reconciliation() == Some(Reconciliation::ServerPriority);
            (if server { "SP" } else { "NN" }, feature.initial().unwrap(), feature.is_required())
        });
        let table = [
            ("SP", 2, true),
            ("SP", 0, true),
            ("NN", 100, true),
            ("SP", 0, false),
            ("NN", 2, false),
            ("SP", 0, false),
            ("SP", 0, false),
            ("SP", 0, false),
            ("SP", 0, false),
        ];
        assert!(rows.eq(table));
        assert_eq!(Feature(0).reconciliation(), None);
        assert_eq!(Feature(10).initial(), None);
    }

    #[test]
    fn a_change_is_confirmed_from_the_other_side() {
        assert_eq!(FeatureAction::ChangeL.confirm(), Some(FeatureAction::ConfirmR));
        assert_eq!(FeatureAction::ChangeR.confirm(), Some(FeatureAction::ConfirmL));
        assert_eq!(FeatureAction::ConfirmL.confirm(), None);
    }
}
