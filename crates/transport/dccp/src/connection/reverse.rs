//! The half-connection of the peer's data: its controller, the peer's clock, and the report that waits for its packet.

use crate::ccid::Room;
use crate::{OptionArea, OptionWriter, Timestamp};
use headway_rate::{Due, Inbound, Judgement, Received, Receiver, ReceiverContext, Report, Timing, Wrapped};
use headway_units::{Duration, Instant};

/// The longest report.
const LONGEST_REPORT: usize = 512;

/// The peer's packets, with the controller of its data once its CCID is agreed.
#[derive(Debug)]
pub(super) struct Reverse {
    controller: Inbound,
    clock: Wrapped,
    /// The options of a report that waits for its packet.
    /// Without room until there is one: who never receives data has none.
    report: Vec<u8>,
    report_len: usize,
    /// The least time between two reports of rates, if they are thinned.
    gap: Option<Duration>,
    /// When the controller was last asked and had a report.
    last: Option<Instant>,
    /// Packets have come since, and the controller is asked then.
    waits: Option<Instant>,
    came: bool,
    /// Something has happened since the controller said that it has no report.
    may_report: bool,
    /// Whether the deadline of the controller may have moved.
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
            waits: None,
            came: false,
            may_report: false,
            moved: false,
        }
    }

    /// A controller takes over, or none does.
    pub(super) fn start(&mut self, controller: Option<Receiver>) {
        self.change();
        match controller {
            Some(controller) => self.controller.start(controller),
            None => self.controller.stop(),
        }
    }
    /// Nothing is reported any more.
    pub(super) fn stop(&mut self) {
        self.controller.stop();
        (self.report_len, self.waits, self.moved) = (0, None, true);
    }
    /// Notes that the controller may have something to report, or another deadline.
    const fn change(&mut self) {
        (self.may_report, self.moved) = (true, true);
    }
    /// Returns whether the deadline of the controller may have moved since the last call.
    pub(super) const fn take_moved(&mut self) -> bool {
        std::mem::replace(&mut self.moved, false)
    }
    /// Whether a controller runs.
    pub(super) const fn runs(&self) -> bool {
        self.controller.runs()
    }
    /// Something of what the controller started with has changed.
    pub(super) fn on_change(&mut self, context: &ReceiverContext) {
        self.change();
        self.controller.on_change(context);
    }
    pub(super) fn set_ack_ratio(&mut self, packets: u16) {
        self.change();
        self.controller.set_ack_ratio(packets);
    }

    /// When a packet went, by the peer's clock.
    pub(super) fn sent(&mut self, timestamp: Timestamp) -> Timing {
        Timing::new(timestamp.instant(&mut self.clock))
    }
    /// An acknowledgeable packet has come.
    pub(super) fn on_packet(&mut self, now: Instant, packet: &Received) {
        self.came = true;
        self.change();
        self.controller.on_packet(now, packet);
    }
    /// The data of a packet that has come turned out to be corrupt.
    pub(super) fn on_corrupt(&mut self, now: Instant, number: u64) {
        self.change();
        self.controller.on_corrupt(now, number);
    }
    /// What the controller has made of losses.
    pub(super) fn poll_judgement(&mut self) -> Option<Judgement> {
        self.controller.poll_judgement()
    }
    /// How long ago the newest packet came.
    pub(super) fn held(&self, now: Instant) -> Duration {
        self.controller.held(now)
    }

    /// Returns whether a report waits. Asks the controller only if something has happened since its last answer, or if its timer is due. Writes the
    /// options of its report at once, since the controller gives each report once.
    #[inline]
    pub(super) fn has_report(&mut self, now: Instant, room: Room, timer_is_due: bool) -> bool {
        if self.may_report || timer_is_due { self.ask_for_report(now, room) } else { self.report_len > 0 }
    }

    fn ask_for_report(&mut self, now: Instant, room: Room) -> bool {
        self.moved = true;
        self.waits = self.thinned(room).filter(|until| self.came && *until > now);
        if self.waits.is_some() {
            return self.report_len > 0;
        }
        if let Some(Due { report, .. }) = self.controller.poll_report(now) {
            (self.last, self.came) = (Some(now), false);
            self.report_len = write(&report, room, &mut self.report);
            return true;
        }
        self.may_report = false;
        self.report_len > 0
    }
    /// Until when no report of rates goes, a new loss event's neither: where the round trip is below the packets' gap each packet has one (RFC
    /// 5348 section 6), which tells nothing new. Reports by which a window moves are not thinned.
    fn thinned(&self, room: Room) -> Option<Instant> {
        self.gap.zip(self.last).filter(|_| room.reports_rates()).map(|(gap, last)| last + gap)
    }
    /// Bytes of the report that waits.
    pub(super) const fn report_len(&self) -> usize {
        self.report_len
    }
    /// Writes the report, all of it or nothing: half a report would be none (RFC 4342 section 6). What finds no room is lost, as a packet
    /// may be; the next report says more.
    pub(super) fn write_report(&mut self, writer: &mut OptionWriter<'_>) {
        let report = self.report.get(..std::mem::take(&mut self.report_len)).unwrap_or_default();
        if writer.remaining() >= report.len() {
            for option in OptionArea::of_header(report).iter().flatten() {
                let _ = writer.push(option);
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match (self.controller.poll_timeout(), self.waits) {
            (Some(at), Some(waits)) => Some(at.min(waits)),
            (at, waits) => at.or(waits),
        }
    }
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.change();
        self.waits = self.waits.filter(|until| *until > now);
        self.controller.handle_timeout(now);
    }
}

/// Writes a report as options, and returns how long they are.
#[inline(never)]
fn write(report: &Report<'_>, room: Room, buffer: &mut Vec<u8>) -> usize {
    buffer.resize(LONGEST_REPORT, 0);
    let mut writer = OptionWriter::new(buffer.as_mut_slice());
    room.write(report, &mut writer);
    writer.len()
}
