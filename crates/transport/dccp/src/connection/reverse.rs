//! Half-connection of the peer's data: its controller, the peer's clock, and the pending report.

use crate::ccid::CcidProfile;
use crate::{OptionArea, OptionWriter, Timestamp};
use headway_rate::{Due, Inbound, LossClassification, Received, Receiver, ReceiverContext, Report, Timing, Wrapped};
use headway_units::{Duration, Instant};

const MAX_REPORT: usize = 512;

/// Received packets, and the controller of the peer's data once its CCID is agreed.
#[derive(Debug)]
pub(super) struct Reverse {
    controller: Inbound,
    clock: Wrapped,
    /// Options of the pending report. Allocated with the first report.
    report: Vec<u8>,
    report_len: usize,
    /// Minimum time between two rate reports, if they are thinned.
    gap: Option<Duration>,
    last: Option<Instant>,
    /// Time until which reports are delayed, if packets have arrived since the last one.
    delayed_until: Option<Instant>,
    received_since: bool,
    /// The controller may have a report: something has happened since it had none.
    may_report: bool,
    moved: bool,
}

impl Reverse {
    pub(super) fn new(gap: Option<Duration>) -> Self {
        Self {
            controller: Inbound::default(),
            clock: Wrapped::default(),
            report: Vec::new(),
            report_len: 0,
            gap,
            last: None,
            delayed_until: None,
            received_since: false,
            may_report: false,
            moved: false,
        }
    }

    pub(super) fn start(&mut self, controller: Option<Receiver>) {
        self.change();
        match controller {
            Some(controller) => self.controller.start(controller),
            None => self.controller.stop(),
        }
    }
    pub(super) fn stop(&mut self) {
        self.controller.stop();
        (self.report_len, self.delayed_until, self.moved) = (0, None, true);
    }
    /// Notes that the controller may have something to report, or another deadline.
    const fn change(&mut self) {
        (self.may_report, self.moved) = (true, true);
    }
    pub(super) const fn take_moved(&mut self) -> bool {
        std::mem::replace(&mut self.moved, false)
    }
    pub(super) const fn runs(&self) -> bool {
        self.controller.runs()
    }
    pub(super) fn on_change(&mut self, context: &ReceiverContext) {
        self.change();
        self.controller.on_change(context);
    }
    pub(super) fn set_ack_ratio(&mut self, packets: u16) {
        self.change();
        self.controller.set_ack_ratio(packets);
    }

    pub(super) fn sent(&mut self, timestamp: Timestamp) -> Timing {
        Timing::new(timestamp.instant(&mut self.clock))
    }
    pub(super) fn on_packet(&mut self, now: Instant, packet: &Received) {
        self.received_since = true;
        self.change();
        self.controller.on_packet(now, packet);
    }
    pub(super) fn on_corrupt(&mut self, now: Instant, number: u64) {
        self.change();
        self.controller.on_corrupt(now, number);
    }
    pub(super) fn poll_loss_classification(&mut self) -> Option<LossClassification> {
        self.controller.poll_loss_classification()
    }
    pub(super) fn held(&self, now: Instant) -> Duration {
        self.controller.held(now)
    }

    /// Returns whether a report is pending. Polls the controller only if something has happened
    /// since its last answer, or its timer is due. Writes the options of a report at once, because
    /// the controller returns each report only once.
    #[inline]
    pub(super) fn has_report(&mut self, now: Instant, profile: CcidProfile, timer_is_due: bool) -> bool {
        if self.may_report || timer_is_due { self.ask_for_report(now, profile) } else { self.report_len > 0 }
    }

    fn ask_for_report(&mut self, now: Instant, profile: CcidProfile) -> bool {
        self.moved = true;
        self.delayed_until = self.thinned(profile).filter(|until| self.received_since && *until > now);
        if self.delayed_until.is_some() {
            return self.report_len > 0;
        }
        if let Some(Due { report, .. }) = self.controller.poll_report(now) {
            (self.last, self.received_since) = (Some(now), false);
            self.report_len = write(&report, profile, &mut self.report);
            return true;
        }
        self.may_report = false;
        self.report_len > 0
    }
    /// Returns until when rate reports are delayed, including those of new loss events. If the
    /// round trip is shorter than the gap between packets, each packet would cause a report without
    /// new information (RFC 5348 section 6). Reports to window-based senders are not thinned.
    fn thinned(&self, profile: CcidProfile) -> Option<Instant> {
        self.gap.zip(self.last).filter(|_| profile.reports_rates()).map(|(gap, last)| last + gap)
    }
    pub(super) const fn report_len(&self) -> usize {
        self.report_len
    }
    /// Writes the report, completely or not at all: a partial report is not feedback (RFC 4342
    /// section 6). A report that does not fit is lost like a packet; the next one is more recent.
    pub(super) fn write_report(&mut self, writer: &mut OptionWriter<'_>) {
        let report = self.report.get(..std::mem::take(&mut self.report_len)).unwrap_or_default();
        if writer.remaining() >= report.len() {
            for option in OptionArea::of_header(report).iter().flatten() {
                let _ = writer.push(option);
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match (self.controller.poll_timeout(), self.delayed_until) {
            (Some(at), Some(delayed_until)) => Some(at.min(delayed_until)),
            (at, delayed_until) => at.or(delayed_until),
        }
    }
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.change();
        self.delayed_until = self.delayed_until.filter(|until| *until > now);
        self.controller.handle_timeout(now);
    }
}

#[inline(never)]
fn write(report: &Report<'_>, profile: CcidProfile, buffer: &mut Vec<u8>) -> usize {
    buffer.resize(MAX_REPORT, 0);
    let mut writer = OptionWriter::new(buffer.as_mut_slice());
    profile.write(report, &mut writer);
    writer.len()
}
