//! What the sender half of an experiment puts on packets of data (RFC 4340 section 10.3).

use super::{Room, own};
use crate::{DccpOption, Elapsed, OptionFault, OptionWriter, RawOption};
use headway_rate::Own;
use headway_units::Duration;

/// Bytes of its own: the first option that an HC-Sender may send.
const OWN: u8 = 128;
/// Its round trip, in units of 10 us, 4 bytes.
const ROUND_TRIP: u8 = 129;

/// What stands on one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OnData {
    pub(crate) own: Own,
    pub(crate) rtt: Option<Duration>,
}

impl Room {
    /// Reads an option that the sender has put on a packet of data.
    pub(crate) fn read_on_data(self, raw: RawOption<'_>, said: &mut OnData) -> Result<(), OptionFault> {
        match raw.number {
            OWN if self.experiment => said.own = own::read(OWN, raw)?,
            ROUND_TRIP if self.round_trip => {
                let bytes = <[u8; 4]>::try_from(raw.data).map_err(|_| OptionFault::length(raw.data, "6"))?;
                said.rtt = Some(Elapsed(u32::from_be_bytes(bytes)).duration());
            }
            _ => return Err(OptionFault::NotUnderstood),
        }
        Ok(())
    }

    /// Bytes that it takes of each packet of data, padded to words; without what the sender may say of its own.
    pub(crate) const fn bytes_on_data(self) -> u64 {
        if self.round_trip { 8 } else { 0 }
    }

    /// Writes what the sender puts on a packet of data. Where it finds no room it is lost, as a packet may be.
    pub(crate) fn write_on_data(self, says: &OnData, writer: &mut OptionWriter<'_>) {
        if let Some(rtt) = says.rtt.filter(|_| self.round_trip) {
            let data = &Elapsed::from_duration(rtt).0.to_be_bytes();
            let _ = writer.push(DccpOption::Ccid(RawOption { number: ROUND_TRIP, data }));
        }
        if self.experiment && !says.own.is_empty() {
            own::write(OWN, &says.own, writer);
        }
    }
}
