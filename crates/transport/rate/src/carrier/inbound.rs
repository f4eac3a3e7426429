//! Receiving half of a carrier.

use super::arrival_log::ArrivalLog;
use crate::contract::{LossClassification, Received, ReceiverContext, ReceiverHalf};
use crate::kinds::Receiver;
use crate::report::{Report, ReportForm};
use headway_units::{Duration, Instant};

/// Driver of the receiver half of a controller: tracks the newest packet and returns reports that are due.
#[derive(Debug)]
pub struct Inbound<R = Receiver> {
    controller: Option<R>,
    newest: Option<Newest>,
    /// Arrival times, for [`ReportForm::Timed`] only.
    log: Option<Box<ArrivalLog>>,
    ack_ratio: Option<u16>,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    number: u64,
    arrived: Instant,
    /// Sending time by the sender's clock, if the packet carries it.
    sent: Option<Instant>,
}

/// Report to be sent to the data sender now.
#[derive(Clone, Copy, Debug)]
pub struct Due<'a> {
    /// Greatest packet number received.
    pub acknowledged: u64,
    /// Sender's timestamp on the packet `acknowledged`, for transports that echo it; `None` if it carried none.
    pub echo: Option<Instant>,
    /// Time since the packet `acknowledged` arrived.
    pub held: Duration,
    /// Report of the receiver half.
    pub report: Report<'a>,
}

impl<R> Default for Inbound<R> {
    fn default() -> Self {
        Self { controller: None, newest: None, log: None, ack_ratio: None }
    }
}

impl<R: ReceiverHalf> Inbound<R> {
    /// Starts the receiver half of a controller, which replaces a running one.
    pub fn start(&mut self, controller: R) {
        self.log = (controller.report_form() == ReportForm::Timed).then(Box::default);
        self.controller = Some(controller);
        if let Some(packets) = self.ack_ratio.take() {
            self.set_ack_ratio(packets);
        }
    }
    /// Stops the controller; no more reports are produced.
    pub fn stop(&mut self) {
        self.controller = None;
    }
    /// Returns whether a controller runs.
    #[must_use]
    pub const fn runs(&self) -> bool {
        self.controller.is_some()
    }

    /// Handles a packet that has arrived.
    pub fn on_packet(&mut self, now: Instant, packet: &Received) {
        if self.newest.is_none_or(|newest| packet.number > newest.number) {
            let sent = packet.timing.map(|timing| timing.sent);
            self.newest = Some(Newest { number: packet.number, arrived: now, sent });
        }
        if let Some(log) = &mut self.log {
            log.insert(now, packet.number, packet.ecn);
        }
        if let Some(controller) = &mut self.controller {
            controller.on_packet(now, packet);
        }
    }
    /// Handles a received packet whose data turned out to be corrupt.
    pub fn on_corrupt(&mut self, now: Instant, number: u64) {
        if let Some(controller) = &mut self.controller {
            controller.on_corrupt(now, number);
        }
    }
    /// Handles the loss of a packet on the channel: see [`ReceiverHalf::on_channel_loss`].
    pub fn on_channel_loss(&mut self, number: u64) {
        if let Some(controller) = &mut self.controller {
            controller.on_channel_loss(number);
        }
    }
    /// Returns the next classification of a loss: see [`ReceiverHalf::poll_loss_classification`].
    pub fn poll_loss_classification(&mut self) -> Option<LossClassification> {
        self.controller.as_mut()?.poll_loss_classification()
    }
    /// Sets the number of data packets per acknowledgement that the data sender requests (Ack Ratio); 0: it requests
    /// none.
    pub fn set_ack_ratio(&mut self, packets: u16) {
        if self.ack_ratio.replace(packets) != Some(packets)
            && let Some(controller) = &mut self.controller
        {
            controller.set_ack_ratio(packets);
        }
    }
    /// Passes a changed context to the running controller: see [`ReceiverHalf::on_change`].
    pub fn on_change(&mut self, context: &ReceiverContext) {
        if let Some(controller) = &mut self.controller {
            controller.on_change(context);
        }
    }

    /// Returns the time since the packet with the greatest number arrived; zero before the first packet.
    #[must_use]
    pub fn held(&self, now: Instant) -> Duration {
        self.newest.map_or(Duration::ZERO, |newest| now.since(newest.arrived))
    }

    /// Returns the report that is due, if any.
    pub fn poll_report(&mut self, now: Instant) -> Option<Due<'_>> {
        let held = self.held(now);
        let Newest { number, sent, .. } = self.newest?;
        let report = match (self.controller.as_mut()?.poll_report(now)?, &mut self.log) {
            (Report::Timed(_), Some(log)) => Report::Timed(log.report(now)),
            (report, _) => report,
        };
        Some(Due { acknowledged: number, echo: sent, held, report })
    }

    /// Handles the timeout of [`poll_timeout`](Self::poll_timeout).
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some(controller) = &mut self.controller
            && controller.poll_timeout().is_some_and(|at| at <= now)
        {
            controller.handle_timeout(now);
        }
    }
    /// Returns when to call [`handle_timeout`](Self::handle_timeout); `None` if no timer runs.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.controller.as_ref().and_then(ReceiverHalf::poll_timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Bytes;

    /// Receiver half that reports each packet and records its calls.
    #[derive(Debug, Default)]
    struct Each {
        arrived: Vec<u64>,
        ratios: Vec<u16>,
        due: bool,
    }

    impl ReceiverHalf for Each {
        fn on_packet(&mut self, _: Instant, packet: &Received) {
            self.arrived.push(packet.number);
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

    /// A report contains the greatest number and its age, even if an older packet arrived later.
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
        assert_eq!(inbound.controller.as_ref().unwrap().arrived, [5, 3]);
    }

    /// A ratio is passed once to each controller.
    #[test]
    fn a_new_controller_gets_the_ack_ratio() {
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
