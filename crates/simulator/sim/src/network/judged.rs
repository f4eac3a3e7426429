//! What receivers make of losses, beside what became of the packets.

use super::fates::Fates;
use crate::observe::Observer;
use crate::packet::Packet;
use headway_rate::{ControllerOptions, Judgement};
use headway_record::JudgedSummary;
use headway_scenario::{Flow, Scenario};
use headway_units::{DropCause, FlowId, Instant};
use std::collections::VecDeque;

/// Lost packets that may still be judged.
const MOST: usize = 1 << 16;

/// The losses of a flow whose receiver tells them apart.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// By their numbers: whether the channel took them, and whether they are measured.
    lost: VecDeque<(u64, bool, bool)>,
    /// Those of the channel that the receiver has not been told of.
    untold: VecDeque<u64>,
    summary: JudgedSummary,
}

/// Those of a scenario's flows; none if no receiver tells losses apart.
pub(super) fn of(scenario: &Scenario) -> Vec<Option<Box<Judged>>> {
    let judges = |flow: &Flow| flow.transport.controller().is_some_and(ControllerOptions::judges_losses);
    if !scenario.flows.iter().any(judges) {
        return Vec::new();
    }
    scenario.flows.iter().map(|flow| judges(flow).then(Box::default)).collect()
}

impl Judged {
    fn judge(&mut self, judgement: Judgement, measured: bool) {
        let Judgement::Lost { first, last, counts } = judgement else {
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
    /// A packet of such a flow is lost.
    #[cold]
    pub(super) fn note_loss(&mut self, packet: &Packet, cause: DropCause) {
        let Some(Some(judged)) = self.judged.get_mut(packet.flow.0 as usize) else { return };
        let Some(number) = packet.body.number() else { return };
        let measured = self.measured.holds(packet.sent);
        let channel = cause == DropCause::Channel;
        if judged.lost.len() == MOST {
            judged.lost.pop_front();
        }
        judged.lost.push_back((number, channel, measured));
        if channel {
            if judged.untold.len() == MOST {
                judged.untold.pop_front();
            }
            judged.untold.push_back(number);
        }
    }

    /// Whether a flow's receiver tells losses apart.
    #[inline(always)]
    pub(crate) fn judges(&self) -> bool {
        !self.judged.is_empty()
    }

    /// The next loss of the channel's that a flow's receiver has not been told of.
    pub(crate) fn untold(&mut self, flow: FlowId) -> Option<u64> {
        self.judged[flow.0 as usize].as_mut()?.untold.pop_front()
    }

    /// A flow's receiver has judged.
    pub(crate) fn judged(&mut self, now: Instant, flow: FlowId, judgement: Judgement) {
        let measured = self.measured.holds(now);
        if let Some(judged) = &mut self.judged[flow.0 as usize] {
            judged.judge(judgement, measured);
        }
    }

    /// What it made of all.
    pub(crate) fn judged_summary(&self, flow: FlowId) -> Option<JudgedSummary> {
        self.judged.get(flow.0 as usize)?.as_ref().map(|judged| judged.summary)
    }
}
