//! The options of a received packet (RFC 4340 section 8.5 step 8): each part of the connection gets its own.

use super::event::{Delivery, Ignored, Step};
use super::heard::Heard;
use super::negotiation::Arrived;
use super::{Connection, wishes};
use crate::{
    Answer, DccpOption, Feature, FeatureAction, HalfConnection, OptionError, OptionFault, Packet, ProcessedOption,
    RawOption, arrivals,
};
use headway_units::Instant;
use std::ops::ControlFlow;

impl Connection {
    /// Step 8, first half: processes the options in their order.
    #[inline]
    pub(super) fn process_options(&mut self, now: Instant, packet: &Packet<'_>, heard: &mut Heard) -> Step<()> {
        self.forward.forget_said();
        if packet.options.as_bytes().is_empty() {
            return ControlFlow::Continue(());
        }
        self.process_each_option(now, packet, heard)
    }

    #[inline(never)]
    fn process_each_option(&mut self, now: Instant, packet: &Packet<'_>, heard: &mut Heard) -> Step<()> {
        let arrived =
            Arrived { seq: packet.seq, ack: packet.body.ack(), ccids_are_frozen: self.running.are_frozen(now) };
        for item in packet.options.process(packet.kind()) {
            let bad = match item {
                Ok(option) => self.process_option(now, packet, &option, arrived, heard).err(),
                Err(error) => Some(error),
            };
            if let Some(error) = bad {
                self.answer_bad_option(now, error, arrived)?;
            }
        }
        if heard.vector {
            let vectors = packet.options.iter().filter_map(|option| match option {
                Ok(DccpOption::AckVector(vector)) => Some(vector),
                _ => None,
            });
            arrivals(vectors, &mut self.forward.lists.runs);
        }
        if heard.negotiated {
            self.negotiation.end_packet(packet.seq);
            if heard.changed {
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
        heard: &mut Heard,
    ) -> Result<(), OptionError> {
        match processed.option {
            DccpOption::Feature(option) => {
                heard.negotiated = true;
                // L options of features 192 up come from the HC-Receiver of our data, R options from the HC-Sender of its
                // own (section 10.3).
                let forward =
                    HalfConnection::of_feature(option.action, option.feature) == Some(HalfConnection::Forward);
                let (ccid, list) = if forward {
                    (self.agreed.receive_ccid, &self.options.receive_ccids)
                } else {
                    (self.agreed.send_ccid, &self.options.send_ccids)
                };
                let known = !option.feature.is_ccid_specific()
                    || wishes::knows_ccid_feature(&self.options, option.feature, ccid, list);
                let changed = self.negotiation.receive(&option, processed.mandatory, arrived, known);
                if changed.map_err(|fault| processed.error(fault))? {
                    heard.changed = true;
                    // Options behind it may belong to a CCID that it brought.
                    self.agree();
                }
            }
            DccpOption::InitCookie(cookie) => self.keep_cookie(packet, cookie),
            DccpOption::NdpCount(count) => heard.ndp_count = Some(count),
            DccpOption::SlowReceiver => heard.slow_receiver = true,
            DccpOption::Timestamp(timestamp) => {
                self.acknowledge.on_timestamp(now, timestamp);
                heard.timestamp = Some(timestamp);
            }
            DccpOption::TimestampEcho { timestamp, elapsed } => heard.echo = Some((timestamp, elapsed)),
            DccpOption::ElapsedTime(elapsed) => heard.elapsed = Some(elapsed),
            DccpOption::DataChecksum(crc) => heard.data_checksum = Some(crc),
            DccpOption::AckVector(_) => heard.vector = true,
            DccpOption::DataDropped(dropped) => {
                self.acknowledge.on_drops_heard();
                self.forward.lists.read_dropped(&dropped);
            }
            DccpOption::Ccid(raw) => {
                self.process_ccid_option(packet, raw, heard).map_err(|fault| processed.error(fault))?;
            }
            DccpOption::Unknown(_) => return Err(processed.error(OptionFault::NotUnderstood)),
            DccpOption::Padding | DccpOption::Mandatory => {}
        }
        Ok(())
    }

    fn process_ccid_option(
        &mut self,
        packet: &Packet<'_>,
        raw: RawOption<'_>,
        heard: &mut Heard,
    ) -> Result<(), OptionFault> {
        if HalfConnection::of_option(raw.number) == Some(HalfConnection::Reverse) {
            return self.agreed.sending.read(raw, packet.kind(), &mut self.forward.said);
        }
        self.agreed.receiving.read_on_data(raw, &mut heard.on_data)
    }

    fn answer_bad_option(&mut self, now: Instant, error: OptionError, arrived: Arrived) -> Step<()> {
        let feature = Feature(error.data[0]);
        let confirm =
            [FeatureAction::ConfirmL, FeatureAction::ConfirmR].into_iter().find(|a| a.number() == error.option);
        let reset = match error.answer() {
            // Confirms that belong to no negotiation are not invalid, and reordered options are ignored.
            Answer::Reset(_) if confirm.is_some_and(|a| !self.negotiation.expects(a, feature, arrived)) => {
                return ControlFlow::Continue(());
            }
            Answer::Reset(reset) => reset,
            Answer::EmptyConfirm { action, feature } => {
                if self.negotiation.is_in_order(arrived.seq) {
                    self.negotiation.owe_empty(action, feature);
                }
                return ControlFlow::Continue(());
            }
            Answer::IgnoreOption | Answer::IgnoreRest => return ControlFlow::Continue(()),
        };
        self.reset(now, reset);
        ControlFlow::Break(Delivery::Dropped(Ignored::OptionError))
    }
}
