//! A controller whose receiver announces one of ten rates, by AIMD on the scale, and whose sender uses that rate.

use crate::contract::{
    Next, Permit, Received, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Sending, Stamp, Status,
};
use crate::report::{Feedback, Own, Report, ReportForm};
use crate::toolbox::Pacer;
use headway_units::{Dialect, Duration, Instant, OptionError, Options, Rate};

/// Options of `announced`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct AnnouncedOptions {
    /// Lowest of the ten rates; the others are its multiples.
    pub step: Rate,
    /// Time without a loss after which the receiver announces the next higher rate.
    pub patience: Duration,
}

impl Options for AnnouncedOptions {
    fn preset(_: Dialect) -> Self {
        Self { step: Rate::from_bits_per_second(128_000), patience: Duration::from_millis(500) }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.step.bits_per_second() == 0 {
            return Err(OptionError::new("step", "a rate is more than 0bps"));
        }
        Ok(())
    }
}

/// Sends at the last announced rate.
#[derive(Debug)]
pub struct AnnouncedSender {
    step: Rate,
    level: u8,
    pacer: Pacer,
}

impl AnnouncedSender {
    pub(crate) fn new(options: &AnnouncedOptions, _: SenderContext) -> Self {
        Self { step: options.step, level: 1, pacer: Pacer::new(Duration::ZERO) }
    }

    fn rate(&self) -> Rate {
        Rate::from_bits_per_second(self.step.bits_per_second().saturating_mul(self.level.into()))
    }
}

impl SenderHalf for AnnouncedSender {
    fn poll_send(&mut self, now: Instant, _: &Next) -> Permit {
        self.pacer.permit(now)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        if sending.data {
            self.pacer.on_send(now, Pacer::gap_s(sending.size, self.rate()));
        }
        Stamp::default()
    }

    fn on_feedback(&mut self, _: Instant, feedback: &Feedback<'_>) {
        if let Report::Own(own) = feedback.report
            && let [level @ 1..=10] = *own.as_bytes()
        {
            self.level = level;
        }
    }

    fn status(&self) -> Status {
        let mut status = Status::default();
        (status.target_rate, status.pacing_rate) = (Some(self.rate()), Some(self.rate()));
        status
    }
}

/// Announces a level in one byte.
#[derive(Debug)]
pub struct AnnouncedReceiver {
    patience: Duration,
    level: u8,
    since: Instant,
    /// Next sequence number, if no packet is lost.
    expected: Option<u64>,
    due: bool,
}

impl AnnouncedReceiver {
    pub(crate) fn new(options: &AnnouncedOptions, context: ReceiverContext) -> Self {
        Self { patience: options.patience, level: 1, since: context.now, expected: None, due: false }
    }
}

impl ReceiverHalf for AnnouncedReceiver {
    const REPORTS: ReportForm = ReportForm::Own;

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        let lost = self.expected.is_some_and(|expected| packet.number > expected);
        let level = match (lost, now.since(self.since) >= self.patience) {
            (true, _) => (self.level / 2).max(1),
            (false, true) => (self.level + 1).min(10),
            (false, false) => self.level,
        };
        if lost || level != self.level {
            (self.level, self.since, self.due) = (level, now, true);
        }
        self.expected = self.expected.max(packet.number.checked_add(1));
    }

    fn poll_report(&mut self, _: Instant) -> Option<Report<'_>> {
        let own = Own::new(&[self.level]).filter(|_| std::mem::take(&mut self.due))?;
        Some(Report::Own(own))
    }
}
