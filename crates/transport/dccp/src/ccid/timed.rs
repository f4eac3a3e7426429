//! Reports of arrivals with times: option 192, in the RFC 8888 format of headway-rate.

use super::{CcidFeedback, REPORT};
use crate::{DccpOption, OptionFault, OptionWriter, RawOption};
use headway_rate::{TimedArrival, TimedReport};
use headway_units::Instant;

impl CcidFeedback {
    pub(super) fn timed(&self) -> Option<TimedReport<'_>> {
        self.clock.map(|clock| TimedReport { clock, arrivals: &self.arrivals })
    }
}

pub(super) fn read(raw: RawOption<'_>, feedback: &mut CcidFeedback) -> Result<(), OptionFault> {
    if raw.number != REPORT {
        return Err(OptionFault::NotUnderstood);
    }
    feedback.arrivals.clear();
    let clock = TimedArrival::decode(raw.data, &mut feedback.arrivals);
    let ticks = feedback.clocks.extend(clock.ok_or(OptionFault::length(raw.data, "6 to 246, and even"))?);
    feedback.clock = Some(Instant::from_nanos((u128::from(ticks) * 1_000_000_000 / 65_536) as u64));
    Ok(())
}

pub(super) fn write(report: &TimedReport<'_>, writer: &mut OptionWriter<'_>) {
    let mut bytes = [0; 4 + 2 * TimedReport::MAX_ARRIVALS];
    if let Some(data) = report.encode(&mut bytes).and_then(|len| bytes.get(..len)) {
        let _ = writer.push(DccpOption::Ccid(RawOption { number: REPORT, data }));
    }
}
