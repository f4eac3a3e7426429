//! Controller-defined bytes: one option on data packets, and one in reports (RFC 4340 section 10.3).

use crate::{DccpOption, OptionFault, OptionWriter, RawOption};
use headway_rate::Own;

pub(super) fn read(number: u8, raw: RawOption<'_>) -> Result<Own, OptionFault> {
    if raw.number != number {
        return Err(OptionFault::NotUnderstood);
    }
    Own::new(raw.data).ok_or(OptionFault::length(raw.data, "2 to 17"))
}

/// Writes the option. If it does not fit, it is lost like a packet.
pub(super) fn write(number: u8, own: &Own, writer: &mut OptionWriter<'_>) {
    let _ = writer.push(DccpOption::Ccid(RawOption { number, data: own.as_bytes() }));
}
