//! Forward error correction: repair packets from which the receiver restores lost datagrams without a round trip.
//!
//! The datagrams of a short time form a block. After them the sender sends repair packets, with a Reed-Solomon code: the
//! receiver restores the whole block from as many of its packets, of either kind, as it has datagrams. Data packets are not
//! changed, so a receiver that loses nothing has no delay. A repair packet names its block in the option
//! [`Repair`](crate::Repair). Endpoints agree on it with the feature [`SEND_REPAIRS`](crate::Feature::SEND_REPAIRS).

mod blocks;
mod code;
mod loss;
mod media_rate;
mod overhead;
mod protector;
mod restorer;
mod symbol;

pub(crate) use protector::{Protector, Sent};
pub use restorer::Restorer;

use headway_units::OptionError;
use std::str::FromStr;

/// Number of repair packets that a sender adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fec {
    /// None.
    #[default]
    Off,
    /// As many as the measured loss requires, for datagrams that expire before they could be sent again. None while
    /// packets are not lost, and while the allowed rate has no room for them.
    Auto,
    /// A constant share of the datagrams, above 0 and up to 1, rounded up in each block.
    Share(f64),
}

impl Fec {
    /// Checks the share.
    ///
    /// # Errors
    ///
    /// If it is not above 0 and up to 1.
    pub fn check(self) -> Result<(), OptionError> {
        match self {
            Self::Share(share) if !(share > 0.0 && share <= 1.0) => {
                Err(OptionError::new("fec", format!("a share of {share} is invalid; expected above 0 and up to 1")))
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for Fec {
    type Err = OptionError;

    /// Parses `auto`, `off` or a percentage such as `20%`.
    fn from_str(text: &str) -> Result<Self, OptionError> {
        let share = || Some(Self::Share(text.strip_suffix('%')?.trim_end().parse::<f64>().ok()? / 100.0));
        match text {
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            _ => share().filter(|share| share.check().is_ok()).ok_or_else(|| {
                OptionError::new(
                    "fec",
                    format!("\"{text}\" is invalid; expected auto, off or a percentage above 0% and up to 100%"),
                )
            }),
        }
    }
}

/// Counters of the repair packets of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairCounters {
    /// Repair packets sent.
    pub repair_packets: u64,
    /// Lost datagrams that the receiver can restore from the packets that it reported.
    pub restored_datagrams: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!("auto".parse(), Ok(Fec::Auto));
        assert_eq!("off".parse(), Ok(Fec::Off));
        assert_eq!("12.5%".parse(), Ok(Fec::Share(0.125)));
        for wrong in ["", "20", "0%", "101%", "-1%", "nan%", "on"] {
            assert_eq!(wrong.parse::<Fec>().unwrap_err().key, "fec", "{wrong}");
        }
    }
}
