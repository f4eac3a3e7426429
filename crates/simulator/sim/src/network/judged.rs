//! Compares how receivers classify losses with the actual causes.

use super::fates::Fates;
use crate::observe::Observer;
use crate::packet::Packet;
use headway_rate::{ControllerOptions, LossClassification};
use headway_record::LossClassificationSummary;
use headway_scenario::{Flow, Scenario};
use headway_units::{DropCause, FlowId, Instant};
use std::collections::VecDeque;

/// Maximum number of lost packets that wait for a judgement, per flow.
const MAX_LOST_PACKETS: usize = 1 << 16;

/// Losses of a flow whose receiver distinguishes losses.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// Lost packets: number, whether the channel lost it, and whether it is in the measured interval.
    lost: VecDeque<(u64, bool, bool)>,
    /// Channel losses that the receiver was not notified of yet.
    unreported: VecDeque<u64>,
    summary: LossClassificationSummary,
}

/// Creates the state of each flow; empty if no receiver distinguishes losses.
pub(super) fn of(scenario: &Scenario) -> Vec<Option<Box<Judged>>> {
    let judges = |flow: &Flow| flow.transport.controller().is_some_and(ControllerOptions::classifies_losses);
    if !scenario.flows.iter().any(judges) {
        return Vec::new();
    }
    scenario.flows.iter().map(|flow| judges(flow).then(Box::default)).collect()
}

impl Judged {
    fn judge(&mut self, judgement: LossClassification, measured: bool) {
        let LossClassification::Lost { first, last, counts } = judgement else {
            self.summary.early += u64::from(measured);
            return;
        };
        for (number, channel, measured) in &self.lost {
            if *measured && (first..=last).contains(number) {
                self.summary.add(*channel, counts);
            }
        }
        self.lost.retain(|(number, ..)| *number > last);
    }
}

impl<O: Observer> Fates<O> {
    #[cold]
    pub(super) fn note_loss(&mut self, packet: &Packet, cause: DropCause) {
        let Some(Some(judged)) = self.judged.get_mut(packet.flow.0 as usize) else { return };
        let Some(number) = packet.body.number() else { return };
        let measured = self.measured.contains(packet.sent);
        let channel = cause == DropCause::Channel;
        if judged.lost.len() == MAX_LOST_PACKETS {
            judged.lost.pop_front();
        }
        judged.lost.push_back((number, channel, measured));
        if channel {
            if judged.unreported.len() == MAX_LOST_PACKETS {
                judged.unreported.pop_front();
            }
            judged.unreported.push_back(number);
        }
    }

    /// Returns whether any receiver distinguishes losses.
    #[inline(always)]
    pub(crate) fn judges(&self) -> bool {
        !self.judged.is_empty()
    }

    /// Returns the next channel loss that the receiver of a flow was not notified of.
    pub(crate) fn unreported(&mut self, flow: FlowId) -> Option<u64> {
        self.judged[flow.0 as usize].as_mut()?.unreported.pop_front()
    }

    pub(crate) fn judged(&mut self, now: Instant, flow: FlowId, judgement: LossClassification) {
        let measured = self.measured.contains(now);
        if let Some(judged) = &mut self.judged[flow.0 as usize] {
            judged.judge(judgement, measured);
        }
    }

    pub(crate) fn judged_summary(&self, flow: FlowId) -> Option<LossClassificationSummary> {
        self.judged.get(flow.0 as usize)?.as_ref().map(|judged| judged.summary)
    }
}
