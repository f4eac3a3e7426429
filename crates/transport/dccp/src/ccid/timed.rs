//! Reports of arrivals with their times: option 192, in the form of RFC 8888 that headway-rate gives them.

use super::{REPORT, Said};
use crate::{DccpOption, OptionFault, OptionWriter, RawOption};
use headway_rate::{TimedArrival, TimedReport};
use headway_units::Instant;

impl Said {
    pub(super) fn timed(&self) -> Option<TimedReport<'_>> {
        self.clock.map(|clock| TimedReport { clock, arrivals: &self.arrivals })
    }
}

pub(super) fn read(raw: RawOption<'_>, said: &mut Said) -> Result<(), OptionFault> {
    if raw.number != REPORT {
        return Err(OptionFault::NotUnderstood);
    }
    said.arrivals.clear();
    let clock = TimedArrival::decode(raw.data, &mut said.arrivals);
    let ticks = said.clocks.extend(clock.ok_or(OptionFault::length(raw.data, "6 to 246, and even"))?);
    said.clock = Some(Instant::from_nanos((u128::from(ticks) * 1_000_000_000 / 65_536) as u64));
    Ok(())
}

pub(super) fn write(report: &TimedReport<'_>, writer: &mut OptionWriter<'_>) {
    let mut bytes = [0; 4 + 2 * TimedReport::MOST];
    if let Some(data) = report.encode(&mut bytes).and_then(|len| bytes.get(..len)) {
        let _ = writer.push(DccpOption::Ccid(RawOption { number: REPORT, data }));
    }
}
