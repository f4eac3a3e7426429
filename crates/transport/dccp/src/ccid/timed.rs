//! Reports of arrivals with times: option 192, in the RFC 8888 format of headway-rate.

use super::{CcidFeedback, REPORT};
use crate::{DccpOption, OptionFault, OptionWriter, RawOption};
use headway_rate::{TimedArrival, TimedReport};

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
    let clock = clock.ok_or(OptionFault::length(raw.data, "6 to 246, and even"))?;
    feedback.clock = Some(feedback.clocks.instant(clock));
    Ok(())
}

pub(super) fn write(report: &TimedReport<'_>, writer: &mut OptionWriter<'_>) {
    let mut bytes = [0; 4 + 2 * TimedReport::MAX_ARRIVALS];
    if let Some(data) = report.encode(&mut bytes).and_then(|len| bytes.get(..len)) {
        let _ = writer.push(DccpOption::Ccid(RawOption { number: REPORT, data }));
    }
}
