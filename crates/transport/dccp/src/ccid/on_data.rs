//! Options of the sender of an experimental CCID on data packets (RFC 4340 section 10.3).

use super::{CcidProfile, own};
use crate::{DccpOption, Elapsed, OptionFault, OptionWriter, RawOption};
use headway_rate::Own;
use headway_units::Duration;

/// Controller-defined bytes: first option number of an HC-Sender.
const OWN: u8 = 128;
/// Round-trip time of the sender, in units of 10 us, 4 bytes.
const ROUND_TRIP: u8 = 129;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OnData {
    pub(crate) own: Own,
    pub(crate) rtt: Option<Duration>,
}

impl CcidProfile {
    pub(crate) fn read_on_data(self, raw: RawOption<'_>, values: &mut OnData) -> Result<(), OptionFault> {
        match raw.number {
            OWN if self.experiment => values.own = own::read(OWN, raw)?,
            ROUND_TRIP if self.round_trip => {
                let bytes = <[u8; 4]>::try_from(raw.data).map_err(|_| OptionFault::length(raw.data, "6"))?;
                values.rtt = Some(Elapsed(u32::from_be_bytes(bytes)).duration());
            }
            _ => return Err(OptionFault::NotUnderstood),
        }
        Ok(())
    }

    /// Returns the size of the options on each data packet, padded to words, without controller-defined bytes.
    pub(crate) const fn bytes_on_data(self) -> u64 {
        if self.round_trip { 8 } else { 0 }
    }

    /// Writes the options of a data packet. An option that does not fit is lost like a packet.
    pub(crate) fn write_on_data(self, values: &OnData, writer: &mut OptionWriter<'_>) {
        if let Some(rtt) = values.rtt.filter(|_| self.round_trip) {
            let data = &Elapsed::from_duration(rtt).0.to_be_bytes();
            let _ = writer.push(DccpOption::Ccid(RawOption { number: ROUND_TRIP, data }));
        }
        if self.experiment && !values.own.is_empty() {
            own::write(OWN, &values.own, writer);
        }
    }
}
