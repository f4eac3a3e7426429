//! Processing of a received packet's options (RFC 4340 section 8.5 step 8).

use super::event::{Delivery, Ignored, Step};
use super::negotiation::Arrived;
use super::parsed_options::ParsedOptions;
use super::{Connection, preferences};
use crate::{
    DccpOption, Feature, FeatureAction, HalfConnection, OptionError, OptionFault, Packet, ProcessedOption, RawOption,
    Reaction, Repair, arrivals,
};
use headway_units::{Instant, Seq48};
use std::ops::ControlFlow;

impl Connection {
    /// Step 8, first half: processes the options in order.
    #[inline]
    pub(super) fn process_options(
        &mut self,
        now: Instant,
        packet: &Packet<'_>,
        parsed: &mut ParsedOptions,
    ) -> Step<()> {
        self.forward.clear_options();
        if packet.options.as_bytes().is_empty() {
            return ControlFlow::Continue(());
        }
        self.process_each_option(now, packet, parsed)
    }

    #[inline(never)]
    fn process_each_option(&mut self, now: Instant, packet: &Packet<'_>, parsed: &mut ParsedOptions) -> Step<()> {
        let arrived =
            Arrived { seq: packet.seq, ack: packet.body.ack(), ccids_are_frozen: self.running.are_frozen(now) };
        for item in packet.options.process(packet.kind()) {
            let bad = match item {
                Ok(option) => self.process_option(now, packet, &option, arrived, parsed).err(),
                Err(error) => Some(error),
            };
            if let Some(error) = bad {
                self.answer_bad_option(now, error, arrived)?;
            }
        }
        if parsed.vector {
            let vectors = packet.options.iter().filter_map(|option| match option {
                Ok(DccpOption::AckVector(vector)) => Some(vector),
                _ => None,
            });
            arrivals(vectors, &mut self.forward.lists.runs);
        }
        if parsed.negotiated {
            self.negotiation.end_packet(packet.seq);
            if parsed.changed {
                self.apply_features(now);
            }
            self.agree();
        }
        ControlFlow::Continue(())
    }

    fn process_option(
        &mut self,
        now: Instant,
        packet: &Packet<'_>,
        processed: &ProcessedOption<'_>,
        arrived: Arrived,
        parsed: &mut ParsedOptions,
    ) -> Result<(), OptionError> {
        match processed.option {
            DccpOption::Feature(option) => {
                parsed.negotiated = true;
                // L options of features 192 and above are from the HC-Receiver of our data, R
                // options from the HC-Sender of the peer's data (section 10.3).
                let forward =
                    HalfConnection::of_feature(option.action, option.feature) == Some(HalfConnection::Forward);
                let (ccid, list) = if forward {
                    (self.agreed.receive_ccid, &self.options.receive_ccids)
                } else {
                    (self.agreed.send_ccid, &self.options.send_ccids)
                };
                let known = !option.feature.is_ccid_specific()
                    || preferences::has_ccid_feature(&self.options, option.feature, ccid, list);
                let changed = self.negotiation.receive(&option, processed.mandatory, arrived, known);
                if changed.map_err(|fault| processed.error(fault))? {
                    parsed.changed = true;
                    // Later options may belong to a CCID that this option selected.
                    self.agree();
                }
            }
            DccpOption::InitCookie(cookie) => self.keep_cookie(packet, cookie),
            DccpOption::NdpCount(count) => parsed.ndp_count = Some(count),
            DccpOption::SlowReceiver => parsed.slow_receiver = true,
            DccpOption::Timestamp(timestamp) => {
                self.acknowledge.on_timestamp(now, timestamp);
                parsed.timestamp = Some(timestamp);
            }
            DccpOption::TimestampEcho { timestamp, elapsed } => parsed.echo = Some((timestamp, elapsed)),
            DccpOption::ElapsedTime(elapsed) => parsed.elapsed = Some(elapsed),
            DccpOption::DataChecksum(crc) => parsed.data_checksum = Some(crc),
            DccpOption::DeliveryOrder(order) => parsed.order = Some(order),
            DccpOption::Repair(data) => self.keep_repair(packet.seq, data).map_err(|fault| processed.error(fault))?,
            DccpOption::AckVector(_) => parsed.vector = true,
            DccpOption::DataDropped(dropped) => {
                self.acknowledge.on_peer_drops();
                self.forward.lists.read_dropped(&dropped);
            }
            DccpOption::Ccid(raw) => {
                self.process_ccid_option(packet, raw, parsed).map_err(|fault| processed.error(fault))?;
            }
            DccpOption::Unknown(_) => return Err(processed.error(OptionFault::NotUnderstood)),
            DccpOption::Padding | DccpOption::Mandatory => {}
        }
        Ok(())
    }

    /// Keeps the option of a repair packet.
    #[cold]
    fn keep_repair(&mut self, number: Seq48, data: &[u8]) -> Result<(), OptionFault> {
        let repair = Repair::decode(data).ok_or(OptionFault::Value { wanted: "protected packets before this one" })?;
        if self.agreed.peer_repairs {
            self.peer_repair = Some(Box::new((number, repair)));
        }
        Ok(())
    }

    fn process_ccid_option(
        &mut self,
        packet: &Packet<'_>,
        raw: RawOption<'_>,
        parsed: &mut ParsedOptions,
    ) -> Result<(), OptionFault> {
        if HalfConnection::of_option(raw.number) == Some(HalfConnection::Reverse) {
            return self.agreed.sending.read(raw, packet.kind(), &mut self.forward.ccid_feedback);
        }
        self.agreed.receiving.read_on_data(raw, &mut parsed.on_data)
    }

    fn answer_bad_option(&mut self, now: Instant, error: OptionError, arrived: Arrived) -> Step<()> {
        let feature = Feature(error.data[0]);
        let confirm =
            [FeatureAction::ConfirmL, FeatureAction::ConfirmR].into_iter().find(|a| a.number() == error.option);
        let reset = match error.reaction() {
            // Confirms without a negotiation are not invalid, and reordered options are ignored.
            Reaction::Reset(_) if confirm.is_some_and(|a| !self.negotiation.expects(a, feature, arrived)) => {
                return ControlFlow::Continue(());
            }
            Reaction::Reset(reset) => reset,
            Reaction::EmptyConfirm { action, feature } => {
                if self.negotiation.is_in_order(arrived.seq) {
                    self.negotiation.queue_empty_confirm(action, feature);
                }
                return ControlFlow::Continue(());
            }
            Reaction::IgnoreOption | Reaction::IgnoreRest => return ControlFlow::Continue(()),
        };
        self.reset(now, reset);
        ControlFlow::Break(Delivery::Dropped(Ignored::OptionError))
    }
}
