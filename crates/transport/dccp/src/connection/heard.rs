//! What the options of a received packet say (RFC 4340 section 8.5 step 8), gathered for the steps behind.

use super::Connection;
use super::event::{Delivery, Ignored, Step};
use super::negotiation::Arrived;
use super::wishes;
use crate::ccid::OnData;
use crate::{
    Answer, DataDropped, DccpOption, DropCode, DropRun, Elapsed, Feature, FeatureAction, HalfConnection, OptionError,
    OptionFault, Packet, ProcessedOption, RawOption, Timestamp, arrivals,
};
use headway_rate::{Arrival, Run};
use headway_units::Instant;
use std::ops::ControlFlow;

/// What one packet said.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) elapsed: Option<Elapsed>,
    pub(crate) echo: Option<(Timestamp, Elapsed)>,
    pub(crate) ndp_count: Option<u64>,
    pub(crate) slow_receiver: bool,
    pub(crate) data_checksum: Option<u32>,
    /// What the peer's controller has written on data.
    pub(crate) on_data: OnData,
    /// The peer's clock.
    pub(crate) timestamp: Option<Timestamp>,
    /// There was an Ack Vector.
    pub(crate) vector: bool,
    pub(crate) negotiated: bool,
    pub(crate) changed: bool,
}

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

/// The lists of a packet's options, kept to be used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// Ack Vectors.
    pub(crate) runs: Vec<Run>,
    /// Data Dropped.
    pub(crate) drops: Vec<DropRun>,
}

impl Scratch {
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.drops.clear();
    }

    pub(crate) fn read_dropped(&mut self, dropped: &DataDropped<'_>) {
        self.drops.extend(dropped.runs());
    }

    /// Whether Data Dropped names a packet of which the Ack Vector says that it has not come.
    pub(crate) fn drops_what_has_not_come(&self) -> bool {
        let mut runs = self.runs.iter().map(|run| (run.arrival, run.packets));
        let (mut arrival, mut left) = (Arrival::Received, 0);
        for drop in &self.drops {
            let mut packets = u64::from(drop.packets);
            while packets > 0 {
                if left == 0 {
                    let Some(run) = runs.next() else { return false };
                    (arrival, left) = run;
                }
                let part = packets.min(left);
                if drop.code.is_some() && arrival == Arrival::NotReceived && part > 0 {
                    return true;
                }
                packets -= part;
                left -= part;
            }
        }
        false
    }

    /// Packets that are marked because their data was dropped: codes 3 to 7 count like ECN marks (section 11.7.2).
    pub(crate) fn mark_dropped(&mut self) {
        let serious = |run: &DropRun| run.code.is_some_and(DropCode::counts_as_mark);
        if !self.drops.iter().any(serious) {
            return;
        }
        let mut marked = Vec::with_capacity(self.runs.len() + 2 * self.drops.len());
        let mut drops = self.drops.iter().map(|run| (serious(run), u64::from(run.packets)));
        let mut drop = drops.next();
        for run in &self.runs {
            let mut left = run.packets;
            while left > 0 {
                let (serious, packets) = drop.unwrap_or((false, left));
                let part = packets.min(left);
                let received = run.arrival == Arrival::Received;
                push_run(&mut marked, if serious && received { Arrival::Marked } else { run.arrival }, part);
                left -= part;
                drop = if part < packets { Some((serious, packets - part)) } else { drops.next() };
            }
        }
        self.runs = marked;
    }
}

pub(super) fn push_run(runs: &mut Vec<Run>, arrival: Arrival, packets: u64) {
    match runs.last_mut() {
        Some(last) if last.arrival == arrival => last.packets += packets,
        _ => runs.push(Run { arrival, packets }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(runs: &[(Arrival, u64)], drops: &[u8]) -> Scratch {
        let mut scratch = Scratch::default();
        runs.iter().for_each(|(arrival, packets)| push_run(&mut scratch.runs, *arrival, *packets));
        scratch.read_dropped(&DataDropped::new(drops));
        scratch
    }
    fn runs(scratch: &Scratch) -> Vec<(Arrival, u64)> {
        scratch.runs.iter().map(|run| (run.arrival, run.packets)).collect()
    }

    /// RFC 4340 section 11.7.2: codes 3 to 7 count like marks; 0, 1 and 2 do not; what has not come stays so.
    #[test]
    fn corrupt_packets_count_as_marked() {
        use Arrival::{Marked, NotReceived, Received};
        // A Normal Block of 2, Corrupt of 2, Receive Buffer of 1, Delivered Corrupt of 3.
        let mut all = scratch(&[(Received, 3), (NotReceived, 1), (Received, 10)], &[1, 0xb1, 0xa0, 0xf2]);
        all.mark_dropped();
        assert_eq!(
            runs(&all),
            [(Received, 2), (Marked, 1), (NotReceived, 1), (Received, 1), (Marked, 3), (Received, 6)]
        );
        let mut mild = scratch(&[(Received, 5)], &[0x80, 0x90, 0xa0]);
        mild.mark_dropped();
        assert_eq!(runs(&mild), [(Received, 5)]);
    }
}
