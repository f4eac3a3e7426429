//! Feature negotiation (RFC 4340 section 6): both endpoints agree on one value of each feature
//! despite loss and reordering.

use super::feature_slot::{List, Phase, SLOTS, Side, Slot};
use super::feature_value::Value;
use crate::feature::{Feature, FeatureAction, FeatureOption};
use crate::{DccpOption, OptionFault, OptionWriter};
use headway_rate::Terms;
use headway_units::Seq48;

/// Maximum number of queued empty Confirms. The peer retransmits Changes that did not fit.
const MAX_EMPTY: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Negotiation {
    slots: [Slot; SLOTS],
    of_terms: Vec<Slot>,
    /// Whether terms have changed since the controllers started: those of our data, then those of the peer's.
    terms_changed: [bool; 2],
    is_server: bool,
    /// FGSR; absent before the first negotiation option.
    fgsr: Option<Seq48>,
    fgss: Seq48,
    empty: Vec<(FeatureAction, Feature)>,
    changes_due: bool,
    confirms_due: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) seq: Seq48,
    pub(crate) ack: Option<Seq48>,
    /// The CCIDs changed less than a minute ago and must not change again (section 10.5).
    pub(crate) ccids_are_frozen: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) changes: bool,
    /// A Change was written that is not a retransmission.
    pub(crate) new_changes: bool,
    pub(crate) confirms: bool,
    pub(crate) complete: bool,
}

impl Negotiation {
    /// Creates a negotiation with initial values (section 6.4).
    pub(crate) fn new(is_server: bool, iss: Seq48) -> Self {
        Self {
            slots: Slot::initial(),
            of_terms: Vec::new(),
            terms_changed: [false; 2],
            is_server,
            fgsr: None,
            fgss: iss,
            empty: Vec::new(),
            changes_due: false,
            confirms_due: false,
        }
    }

    pub(crate) fn enable_terms(&mut self) {
        if self.of_terms.is_empty() {
            self.of_terms = Slot::of_terms();
        }
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().chain(&self.of_terms)
    }
    fn slots_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.slots.iter_mut().chain(&mut self.of_terms)
    }
    fn slot(&self, side: Side, feature: Feature) -> Option<&Slot> {
        self.slots().find(|slot| slot.side == side && slot.feature == feature)
    }
    fn slot_mut(&mut self, side: Side, feature: Feature) -> Option<&mut Slot> {
        self.slots_mut().find(|slot| slot.side == side && slot.feature == feature)
    }
    pub(crate) fn value(&self, side: Side, feature: Feature) -> u64 {
        self.slot(side, feature).map_or(0, |slot| slot.value.number())
    }

    pub(crate) fn terms(&self, side: Side) -> Option<Terms> {
        let scales = self.slot(side, Feature::SCALES)?.value.encode(Feature::SCALES).as_ref().to_vec();
        Some(Terms { scales, rules: self.value(side, Feature::SCALE_RULES) as u8 })
    }
    pub(crate) const fn take_terms_changed(&mut self, side: Side) -> bool {
        std::mem::replace(&mut self.terms_changed[side as usize], false)
    }

    /// Accepts the values of `list`, the first one preferred.
    pub(crate) fn accept(&mut self, side: Side, feature: Feature, list: List) {
        self.prefer(side, feature, list, false, false);
    }
    /// Accepts the values of `list` in the peer's order of preference.
    pub(crate) fn accept_in_peer_order(&mut self, side: Side, feature: Feature, list: List) {
        self.prefer(side, feature, list, false, false);
        if let Some(slot) = self.slot_mut(side, feature) {
            slot.indifferent = true;
        }
    }
    /// Requests the first value of `list`, and accepts the others. Starts a negotiation if the
    /// current value differs and has not been reconciled with the peer's list.
    pub(crate) fn request(&mut self, side: Side, feature: Feature, list: List, mandatory: bool) {
        self.prefer(side, feature, list, mandatory, true);
    }

    fn prefer(&mut self, side: Side, feature: Feature, list: List, mandatory: bool, ask: bool) {
        let Some(slot) = self.slot_mut(side, feature) else { return };
        slot.mandatory = mandatory;
        if slot.list != list {
            slot.prefer(list);
        }
        // CCID lists are always sent if there is a choice: the peer may prefer another CCID that is acceptable here.
        let choice = feature == Feature::CCID && list.as_slice().len() > 1;
        let differs = choice || list.first().is_some_and(|first| first != slot.value.byte());
        let ask = ask && slot.phase == Phase::Stable && differs && !slot.decided;
        slot.wanted = slot.phase == Phase::Unstable || ask;
        self.changes_due |= slot.wanted;
    }

    /// Proposes a value of a local non-negotiable feature.
    pub(crate) fn propose(&mut self, feature: Feature, value: u64) {
        self.propose_value(feature, Value::Number(value), false);
    }
    /// Proposes the scales of our data, which the peer requires.
    pub(crate) fn propose_scales(&mut self, scales: &[u8]) {
        self.propose_value(Feature::SCALES, Value::Bytes(scales.into()), true);
    }

    fn propose_value(&mut self, feature: Feature, value: Value, mandatory: bool) {
        let Some(slot) = self.slot_mut(Side::Local, feature) else { return };
        let current = if slot.phase == Phase::Stable { &slot.value } else { &slot.proposed };
        if value == *current {
            return;
        }
        slot.mandatory = mandatory;
        slot.propose(value);
        self.changes_due = true;
    }

    /// Returns whether a negotiation of the feature is in progress or due.
    pub(crate) fn is_changing(&self, side: Side, feature: Feature) -> bool {
        self.slot(side, feature).is_some_and(|slot| slot.wanted || slot.phase != Phase::Stable)
    }

    /// Returns whether a packet's negotiation options are in order (section 6.6.4, first condition).
    pub(crate) fn is_in_order(&self, seq: Seq48) -> bool {
        self.fgsr.is_none_or(|fgsr| seq.is_after(fgsr))
    }
    /// Returns whether an invalid Confirm belongs to a current negotiation: only then is it an error (section 6.6.8).
    pub(crate) fn expects(&self, action: FeatureAction, feature: Feature, arrived: Arrived) -> bool {
        let changing = self.slot(side_of(action), feature).is_some_and(|slot| slot.phase == Phase::Changing);
        changing && self.is_in_order(arrived.seq) && self.answers_latest(arrived)
    }
    fn answers_latest(&self, arrived: Arrived) -> bool {
        arrived.ack.is_some_and(|ack| !ack.is_before(self.fgss))
    }
    /// Updates FGSR after a valid packet with negotiation options.
    pub(crate) fn end_packet(&mut self, seq: Seq48) {
        if self.is_in_order(seq) {
            self.fgsr = Some(seq);
        }
    }

    /// Processes an option by the pseudocode of section 6.6.2. Returns whether a value may have
    /// changed. `is_meaningful`: false for a feature of another CCID.
    ///
    /// # Errors
    /// `NotUnderstood` for a Change that cannot be accepted, `FeatureValue` for a Confirm of a wrong value.
    pub(crate) fn receive(
        &mut self,
        option: &FeatureOption<'_>,
        mandatory: bool,
        arrived: Arrived,
        is_meaningful: bool,
    ) -> Result<bool, OptionFault> {
        let FeatureOption { action, feature, values } = *option;
        // First, check for unknown features.
        let known = is_meaningful && self.slot(side_of(action), feature).is_some();
        if !known {
            return if action.is_change() { Err(OptionFault::NotUnderstood) } else { Ok(false) };
        }
        // Second, check for reordering.
        let in_order = self.is_in_order(arrived.seq) && (action.is_change() || self.answers_latest(arrived));
        let is_server = self.is_server;
        let Some(slot) = self.slot_mut(side_of(action), feature) else { return Ok(false) };
        if slot.phase == Phase::Unstable || !in_order {
            return Ok(false);
        }
        let before = slot.value.clone();
        // Third, process Changes; fourth, Confirms, but only in CHANGING.
        if action.is_change() {
            let frozen = arrived.ccids_are_frozen && feature == Feature::CCID;
            slot.change(values, mandatory, is_server, frozen)?;
        } else if slot.phase == Phase::Changing {
            slot.confirm(values, is_server)?;
        }
        let changed = slot.value != before;
        self.confirms_due |= action.is_change();
        self.terms_changed[side_of(action) as usize] |= changed && feature.is_of_terms();
        Ok(changed)
    }

    /// Queues an empty Confirm for an invalid or unknown Change (sections 6.6.7 and 6.6.8).
    pub(crate) fn queue_empty_confirm(&mut self, action: FeatureAction, feature: Feature) {
        if self.empty.len() < MAX_EMPTY && !self.empty.contains(&(action, feature)) {
            self.empty.push((action, feature));
            self.confirms_due = true;
        }
    }

    pub(crate) const fn changes_due(&self) -> bool {
        self.changes_due
    }
    pub(crate) const fn confirms_due(&self) -> bool {
        self.confirms_due
    }
    pub(crate) fn retransmit(&mut self) {
        self.changes_due = self.is_open();
    }
    pub(crate) fn is_open(&self) -> bool {
        self.slots().any(|slot| slot.wanted || slot.phase != Phase::Stable)
    }

    /// Writes the options that are due; on Requests and Responses every open Change, since these
    /// packets repeat the negotiation. Options that do not fit remain due.
    pub(crate) fn write(
        &mut self,
        writer: &mut OptionWriter<'_>,
        seq: Seq48,
        every_change: bool,
        confirms: bool,
    ) -> Written {
        let changes = every_change || self.changes_due;
        let confirms = confirms && self.confirms_due;
        let mut written = Written { complete: true, ..Written::default() };
        if !changes && !confirms {
            return written;
        }
        for slot in self.slots.iter_mut().chain(&mut self.of_terms) {
            if changes && (slot.wanted || slot.phase != Phase::Stable) {
                if slot.write_change(writer).is_err() {
                    written.complete = false;
                    break;
                }
                written.changes = true;
                written.new_changes |= slot.phase != Phase::Changing;
                slot.on_change_sent();
            }
            if confirms && slot.confirm_due {
                written.confirms = true;
                written.complete &= slot.write_confirm(writer).is_ok();
            }
        }
        for (action, feature) in self.empty.iter().filter(|_| confirms) {
            let option = FeatureOption { action: *action, feature: *feature, values: &[] };
            written.confirms = true;
            written.complete &= writer.push(DccpOption::Feature(option)).is_ok();
        }
        if written.new_changes {
            self.fgss = seq;
        }
        self.changes_due &= !(changes && written.complete);
        written
    }

    /// Records that the Confirms were sent. They are repeated only with the Change.
    pub(crate) fn confirms_are_sent(&mut self) {
        self.confirms_due = false;
        self.empty.clear();
        self.slots_mut().for_each(|slot| slot.confirm_due = false);
    }

    /// Appends the state for an Init Cookie: for each feature that differs from its initial value,
    /// its index, whether it is being changed, and its value.
    pub(crate) fn save(&self, bytes: &mut Vec<u8>) {
        for (place, slot) in self.slots().enumerate() {
            let changing = slot.wanted || slot.phase != Phase::Stable;
            if changing || slot.value != Value::initial(slot.feature) {
                bytes.push(place as u8 | u8::from(changing) << 7);
                slot.value.save(slot.feature, bytes);
            }
        }
    }

    /// Postpones Changes that need not be on the Response.
    pub(crate) fn postpone(&mut self) {
        self.slots_mut().for_each(|slot| slot.wanted &= !slot.may_wait());
    }

    /// Returns the size of the options that a Response must have, in bytes.
    pub(crate) fn response_len(&self) -> usize {
        self.slots().map(Slot::response_len).sum::<usize>() + self.empty.len() * 3
    }

    /// Restores the values written by [`Self::save`], authenticated by the cookie's tag. Returns a bit set of the slots
    /// that were changing, for [`Self::resume`]; `None` if the bytes are malformed.
    pub(crate) fn restore(&mut self, mut bytes: &[u8]) -> Option<u32> {
        let mut changing = 0;
        while let Some((&head, rest)) = bytes.split_first() {
            let slot = self.slots_mut().nth(usize::from(head & 127))?;
            let (value, rest) = Value::restore(slot.feature, rest)?;
            slot.value = value;
            changing |= u32::from(head >> 7) << (head & 127);
            bytes = rest;
        }
        Some(changing)
    }

    /// Continues after the Response with the cookie, once the preferences are set again.
    pub(crate) fn resume(&mut self, changing: u32, isr: Seq48, iss: Seq48) {
        for (place, slot) in self.slots_mut().enumerate() {
            slot.phase = if changing >> place & 1 == 1 { Phase::Changing } else { Phase::Stable };
            // Changes that did not fit on the Response are sent now.
            slot.wanted &= slot.phase == Phase::Stable && slot.may_wait() && slot.feature != Feature::CCID;
            slot.decided = !slot.wanted;
        }
        (self.fgsr, self.fgss) = (Some(isr), iss);
        self.changes_due = self.slots.iter().chain(&self.of_terms).any(|slot| slot.wanted);
    }
}

/// Returns the location of the feature of a received option: L options come from the feature location.
const fn side_of(received: FeatureAction) -> Side {
    match received {
        FeatureAction::ChangeL | FeatureAction::ConfirmL => Side::Remote,
        FeatureAction::ChangeR | FeatureAction::ConfirmR => Side::Local,
    }
}

#[cfg(test)]
mod tests;
