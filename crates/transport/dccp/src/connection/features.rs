//! Effect of the current feature values on the two half-connections.

use super::Connection;
use super::feature_slot::Side;
use super::preferences::{self, Agreed};
use crate::feature::{Ccid, Feature};
use headway_rate::{ControllerOptions, LossForm, Receiver, ReceiverContext, Scale, Sender, SenderContext};
use headway_units::{Bytes, Instant, Random};

impl Connection {
    pub(super) fn apply_features(&mut self, now: Instant) {
        let value = |side, feature| self.negotiation.value(side, feature);
        self.windows.local_window = value(Side::Local, Feature::SEQUENCE_WINDOW).max(32);
        self.windows.remote_window = value(Side::Remote, Feature::SEQUENCE_WINDOW).max(32);
        let ratio = value(Side::Remote, Feature::ACK_RATIO) as u16;
        self.forward.reserve(self.windows.local_window, self.windows.unacknowledged());
        self.seen.widen(self.windows.remote_window / 4);
        preferences::set_for_ccids(&mut self.negotiation, &self.options);
        self.agree();
        if self.running.is_some() {
            self.run_controllers(now);
        }
        self.reverse.set_ack_ratio(ratio);
    }

    /// Returns the options of the two current controllers, with the negotiated parameters
    /// ([`Terms`](headway_rate::Terms)): first of the controller of this endpoint's data, then of that of the peer's
    /// data. `None` if the CCID has no controller.
    #[must_use]
    pub fn controllers(&self) -> [Option<ControllerOptions>; 2] {
        [Side::Local, Side::Remote].map(|side| self.controller(side))
    }

    /// Returns the discrete rate that the peer announced last, for the controller `udpm` of this endpoint's data.
    /// `None` for all other controllers, which have no discrete rates.
    #[must_use]
    pub fn scale(&self) -> Option<Scale> {
        self.forward.scale()
    }

    /// Returns the controller of the data sent by `side`, under the current terms.
    pub(super) fn controller(&self, side: Side) -> Option<ControllerOptions> {
        let ccid = if side == Side::Local { self.agreed.send_ccid } else { self.agreed.receive_ccid };
        let controller = &self.options.row(Ccid(ccid))?.controller;
        let terms = self.negotiation.terms(side).filter(|_| controller.has_terms());
        // Options with other terms were rejected on arrival.
        let agreed = terms.and_then(|terms| controller.with_terms(&terms).ok());
        Some(agreed.unwrap_or_else(|| controller.clone()))
    }

    pub(super) fn agree(&mut self) {
        self.agreed = Agreed::of(&self.negotiation, &self.options);
    }

    /// Starts the controllers of the current CCIDs, unless they already run.
    pub(super) fn run_controllers(&mut self, now: Instant) {
        let (sending, receiving) = (self.agreed.send_ccid, self.agreed.receive_ccid);
        let before = self.running.replace(now, (sending, receiving));
        let packet_size = Bytes::new(self.mtu.mps() as u64);
        let terms_changed = [Side::Local, Side::Remote].map(|side| self.negotiation.take_terms_changed(side));
        if before.is_none_or(|(ccid, _)| ccid != sending) || terms_changed[0] {
            let random = Random::new(self.random.bits(), "sender");
            let mut context = SenderContext::new(now, packet_size, random);
            (context.rtt, context.line_rate) = (self.forward.round_trip(), self.options.line_rate);
            let below = u64::try_from(self.mtu.headers()).unwrap_or(0);
            context.header = Bytes::new(below.saturating_add(self.agreed.sending.bytes_on_data()));
            context.tfrc.keeps_losses = self.forward.verifies();
            let controller = self.controller(Side::Local);
            self.forward.start(controller.map(|controller| Sender::new(&controller, context)));
        }
        let mut context = ReceiverContext::new(now, packet_size);
        context.upcoming = self.windows.number_received(self.windows.gsr()).saturating_add(1);
        context.tfrc.losses =
            if self.agreed.we_send_loss_event_rate { LossForm::EventRate } else { LossForm::Intervals };
        if before.is_none_or(|(_, ccid)| ccid != receiving) || terms_changed[1] {
            let controller = self.controller(Side::Remote);
            self.reverse.start(controller.map(|controller| Receiver::new(&controller, context)));
            self.reverse.set_ack_ratio(self.negotiation.value(Side::Remote, Feature::ACK_RATIO) as u16);
        }
        self.reverse.on_change(&context);
    }
}
