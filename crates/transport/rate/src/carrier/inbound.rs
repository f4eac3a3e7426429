//! The receiving half of a carrier.

use super::arrival_log::ArrivalLog;
use crate::contract::{Judgement, Received, ReceiverContext, ReceiverHalf};
use crate::kinds::Receiver;
use crate::report::{Report, ReportForm};
use headway_units::{Duration, Instant};

/// Drives the receiver half of a controller.
#[derive(Debug)]
pub struct Inbound<R = Receiver> {
    controller: Option<R>,
    newest: Option<Newest>,
    /// What came when, if reports are to say so.
    log: Option<Box<ArrivalLog>>,
    /// What the sender asked for last.
    ack_ratio: Option<u16>,
}

/// The packet with the greatest number.
#[derive(Clone, Copy, Debug)]
struct Newest {
    number: u64,
    came: Instant,
    /// When it was sent, by the sender's clock, if it says so.
    sent: Option<Instant>,
}

/// A report that is to go now.
#[derive(Clone, Copy, Debug)]
pub struct Due<'a> {
    /// The greatest number that has come.
    pub acknowledged: u64,
    /// The sender's clock on that packet, for carriers that send it back.
    pub echo: Option<Instant>,
    /// How long ago it came.
    pub held: Duration,
    /// What the receiver half says.
    pub report: Report<'a>,
}

impl<R> Default for Inbound<R> {
    fn default() -> Self {
        Self { controller: None, newest: None, log: None, ack_ratio: None }
    }
}

impl<R: ReceiverHalf> Inbound<R> {
    /// A controller takes over.
    pub fn start(&mut self, controller: R) {
        self.log = (controller.report_form() == ReportForm::Timed).then(Box::default);
        self.controller = Some(controller);
        if let Some(packets) = self.ack_ratio.take() {
            self.set_ack_ratio(packets);
        }
    }
    /// Nothing is reported any more.
    pub fn stop(&mut self) {
        self.controller = None;
    }
    /// Whether a controller runs.
    #[must_use]
    pub const fn runs(&self) -> bool {
        self.controller.is_some()
    }

    /// A packet has come.
    pub fn on_packet(&mut self, now: Instant, packet: &Received) {
        if self.newest.is_none_or(|newest| packet.number > newest.number) {
            let sent = packet.timing.map(|timing| timing.sent);
            self.newest = Some(Newest { number: packet.number, came: now, sent });
        }
        if let Some(log) = &mut self.log {
            log.insert(now, packet.number, packet.ecn);
        }
        if let Some(controller) = &mut self.controller {
            controller.on_packet(now, packet);
        }
    }
    /// The data of a packet that has come turned out to be corrupt.
    pub fn on_corrupt(&mut self, now: Instant, number: u64) {
        if let Some(controller) = &mut self.controller {
            controller.on_corrupt(now, number);
        }
    }
    /// The channel has lost this packet: see [`ReceiverHalf::on_channel_loss`].
    pub fn on_channel_loss(&mut self, number: u64) {
        if let Some(controller) = &mut self.controller {
            controller.on_channel_loss(number);
        }
    }
    /// What the controller has made of losses: see [`ReceiverHalf::poll_judgement`].
    pub fn poll_judgement(&mut self) -> Option<Judgement> {
        self.controller.as_mut()?.poll_judgement()
    }
    /// The sender asks for one acknowledgement for so many data packets.
    pub fn set_ack_ratio(&mut self, packets: u16) {
        if self.ack_ratio.replace(packets) != Some(packets)
            && let Some(controller) = &mut self.controller
        {
            controller.set_ack_ratio(packets);
        }
    }
    /// Something of what the controller started with has changed.
    pub fn on_change(&mut self, context: &ReceiverContext) {
        if let Some(controller) = &mut self.controller {
            controller.on_change(context);
        }
    }

    /// How long ago the newest packet came.
    #[must_use]
    pub fn held(&self, now: Instant) -> Duration {
        self.newest.map_or(Duration::ZERO, |newest| now.since(newest.came))
    }

    /// What is to be told the sender now, if anything is due.
    pub fn poll_report(&mut self, now: Instant) -> Option<Due<'_>> {
        let held = self.held(now);
        let Newest { number, sent, .. } = self.newest?;
        let report = match (self.controller.as_mut()?.poll_report(now)?, &mut self.log) {
            (Report::Timed(_), Some(log)) => Report::Timed(log.report(now)),
            (report, _) => report,
        };
        Some(Due { acknowledged: number, echo: sent, held, report })
    }

    /// The instant of [`poll_timeout`](Self::poll_timeout) has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some(controller) = &mut self.controller
            && controller.poll_timeout().is_some_and(|at| at <= now)
        {
            controller.handle_timeout(now);
        }
    }
    /// When to come back.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.controller.as_ref().and_then(ReceiverHalf::poll_timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Bytes;

    /// Reports each packet, and notes what it is told.
    #[derive(Debug, Default)]
    struct Each {
        came: Vec<u64>,
        ratios: Vec<u16>,
        due: bool,
    }

    impl ReceiverHalf for Each {
        fn on_packet(&mut self, _: Instant, packet: &Received) {
            self.came.push(packet.number);
            self.due = true;
        }
        fn poll_report(&mut self, _: Instant) -> Option<Report<'_>> {
            std::mem::take(&mut self.due).then_some(Report::Arrivals(&[]))
        }
        fn set_ack_ratio(&mut self, packets: u16) {
            self.ratios.push(packets);
        }
    }

    fn packet(number: u64) -> Received {
        Received::new(number, Some(Bytes::new(1000)))
    }

    /// A report names the greatest number, and says how long ago that came, whatever came last.
    #[test]
    fn reports_name_the_newest_packet() {
        let mut inbound = Inbound::default();
        inbound.on_packet(Instant::from_millis(1), &packet(0));
        inbound.start(Each::default());
        assert!(inbound.poll_report(Instant::from_millis(1)).is_none());
        inbound.on_packet(Instant::from_millis(10), &packet(5));
        inbound.on_packet(Instant::from_millis(12), &packet(3));
        let due = inbound.poll_report(Instant::from_millis(15)).unwrap();
        assert_eq!((due.acknowledged, due.held, due.echo), (5, Duration::from_millis(5), None));
        assert!(inbound.poll_report(Instant::from_millis(15)).is_none());
        assert_eq!(inbound.controller.as_ref().unwrap().came, [5, 3]);
    }

    /// A ratio is told once, and to each controller that takes over.
    #[test]
    fn the_ratio_outlives_a_controller() {
        let mut inbound = Inbound::default();
        inbound.set_ack_ratio(4);
        inbound.start(Each::default());
        inbound.set_ack_ratio(4);
        inbound.set_ack_ratio(2);
        assert_eq!(inbound.controller.as_ref().unwrap().ratios, [4, 2]);
        inbound.stop();
        assert!(!inbound.runs());
        inbound.start(Each::default());
        assert_eq!(inbound.controller.as_ref().unwrap().ratios, [2]);
    }
}
