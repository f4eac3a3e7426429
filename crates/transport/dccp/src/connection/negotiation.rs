//! Feature negotiation (RFC 4340 section 6): both ends come to one value of each feature, whatever is lost or reordered.

use super::feature_slot::{List, Phase, SLOTS, Side, Slot};
use super::feature_value::Value;
use crate::feature::{Feature, FeatureAction, FeatureOption};
use crate::{DccpOption, OptionFault, OptionWriter};
use headway_rate::Terms;
use headway_units::Seq48;

/// Empty Confirms that wait at most; the peer repeats the Changes of those that find no room.
const MAX_EMPTY: usize = 16;

/// The features of both ends, and what of them is still being negotiated.
#[derive(Clone, Debug)]
pub(crate) struct Negotiation {
    slots: [Slot; SLOTS],
    /// Those of terms, if a controller of this end has any.
    of_terms: Vec<Slot>,
    /// Whether terms have changed since the controllers started: those of our data, and those of the peer's.
    terms_changed: [bool; 2],
    is_server: bool,
    /// FGSR, absent before the first negotiation option.
    fgsr: Option<Seq48>,
    /// FGSS.
    fgss: Seq48,
    /// Changes of features that this end does not know.
    empty: Vec<(FeatureAction, Feature)>,
    /// Changes are to be sent (again) now.
    changes_due: bool,
    /// A Confirm is to be sent.
    confirms_due: bool,
}

/// The packet that a negotiation option came on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) seq: Seq48,
    pub(crate) ack: Option<Seq48>,
    /// The CCIDs changed less than a minute ago, and must not change again (section 10.5).
    pub(crate) ccids_are_frozen: bool,
}

/// What [`Negotiation::write`] put on a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// There is a Change.
    pub(crate) changes: bool,
    /// There is a Change that is no repetition.
    pub(crate) new_changes: bool,
    /// There is a Confirm.
    pub(crate) confirms: bool,
    /// Everything found room.
    pub(crate) complete: bool,
}

impl Negotiation {
    /// Every feature has its initial value (section 6.4).
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

    /// From now on this end knows the features of terms.
    pub(crate) fn know_terms(&mut self) {
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
    /// The value that holds now; 0 for an unknown feature.
    pub(crate) fn value(&self, side: Side, feature: Feature) -> u64 {
        self.slot(side, feature).map_or(0, |slot| slot.value.number())
    }

    /// The terms that hold now, if this end knows any.
    pub(crate) fn terms(&self, side: Side) -> Option<Terms> {
        let scales = self.slot(side, Feature::SCALES)?.value.encode(Feature::SCALES).as_ref().to_vec();
        Some(Terms { scales, rules: self.value(side, Feature::SCALE_RULES) as u8 })
    }
    /// Returns whether the terms have changed since the last call.
    pub(crate) const fn take_terms_changed(&mut self, side: Side) -> bool {
        std::mem::replace(&mut self.terms_changed[side as usize], false)
    }

    /// Accepts the values of `list`, the first one best.
    pub(crate) fn accept(&mut self, side: Side, feature: Feature, list: List) {
        self.prefer(side, feature, list, false, false);
    }
    /// Accepts the values of `list`, and leaves it to the peer which.
    pub(crate) fn leave(&mut self, side: Side, feature: Feature, list: List) {
        self.prefer(side, feature, list, false, false);
        if let Some(slot) = self.slot_mut(side, feature) {
            slot.indifferent = true;
        }
    }
    /// Wishes for the first value of `list`, and accepts the others. Opens a negotiation if the value is another and the
    /// peer's wishes have not decided yet.
    pub(crate) fn wish(&mut self, side: Side, feature: Feature, list: List, mandatory: bool) {
        self.prefer(side, feature, list, mandatory, true);
    }

    fn prefer(&mut self, side: Side, feature: Feature, list: List, mandatory: bool, ask: bool) {
        let Some(slot) = self.slot_mut(side, feature) else { return };
        slot.mandatory = mandatory;
        if slot.list != list {
            slot.prefer(list);
        }
        // CCIDs are always laid open where there is a choice: the other end may prefer another that is acceptable here.
        let choice = feature == Feature::CCID && list.as_slice().len() > 1;
        let differs = choice || list.first().is_some_and(|first| first != slot.value.byte());
        let ask = ask && slot.phase == Phase::Stable && differs && !slot.decided;
        slot.wanted = slot.phase == Phase::Unstable || ask;
        self.changes_due |= slot.wanted;
    }

    /// Proposes a value of a non-negotiable feature of this end.
    pub(crate) fn propose(&mut self, feature: Feature, value: u64) {
        self.propose_value(feature, Value::Number(value), false);
    }
    /// Proposes the scales of this end's data, which the peer cannot do without.
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

    /// Whether a value is on its way, or is to be.
    pub(crate) fn is_changing(&self, side: Side, feature: Feature) -> bool {
        self.slot(side, feature).is_some_and(|slot| slot.wanted || slot.phase != Phase::Stable)
    }

    /// Whether a packet's negotiation options come in order (section 6.6.4, first condition).
    pub(crate) fn is_in_order(&self, seq: Seq48) -> bool {
        self.fgsr.is_none_or(|fgsr| seq.is_after(fgsr))
    }
    /// Whether a bad Confirm belongs to a negotiation that is under way: only then is it an error (section 6.6.8).
    pub(crate) fn expects(&self, action: FeatureAction, feature: Feature, arrived: Arrived) -> bool {
        let changing = self.slot(side_of(action), feature).is_some_and(|slot| slot.phase == Phase::Changing);
        changing && self.is_in_order(arrived.seq) && self.answers_latest(arrived)
    }
    fn answers_latest(&self, arrived: Arrived) -> bool {
        arrived.ack.is_some_and(|ack| !ack.is_before(self.fgss))
    }
    /// A valid packet with negotiation options has been processed: FGSR is the greatest of their numbers.
    pub(crate) fn end_packet(&mut self, seq: Seq48) {
        if self.is_in_order(seq) {
            self.fgsr = Some(seq);
        }
    }

    /// The pseudocode of section 6.6.2. Says whether a value may have changed. `is_meaningful`: false for a feature of another CCID.
    ///
    /// # Errors
    /// `NotUnderstood` for a Change that cannot be followed, `FeatureValue` for a Confirm of a wrong value.
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

    /// An invalid or unknown Change is answered by a Confirm without a value (sections 6.6.7 and 6.6.8).
    pub(crate) fn owe_empty(&mut self, action: FeatureAction, feature: Feature) {
        if self.empty.len() < MAX_EMPTY && !self.empty.contains(&(action, feature)) {
            self.empty.push((action, feature));
            self.confirms_due = true;
        }
    }

    /// Whether Changes are to go.
    pub(crate) const fn changes_due(&self) -> bool {
        self.changes_due
    }
    /// Whether Confirms are to go.
    pub(crate) const fn confirms_due(&self) -> bool {
        self.confirms_due
    }
    /// The timer says that Changes without an answer go again.
    pub(crate) fn retransmit(&mut self) {
        self.changes_due = self.is_open();
    }
    /// Whether some Change has no answer.
    pub(crate) fn is_open(&self) -> bool {
        self.slots().any(|slot| slot.wanted || slot.phase != Phase::Stable)
    }

    /// Writes what is due: on Requests and Responses every open Change, since those repeat the negotiation. What finds no
    /// room stays due.
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
            if confirms && slot.owes_confirm {
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

    /// The Confirms have gone. They are not repeated unless the Change is.
    pub(crate) fn confirms_are_sent(&mut self) {
        self.confirms_due = false;
        self.empty.clear();
        self.slots_mut().for_each(|slot| slot.owes_confirm = false);
    }

    /// What an Init Cookie has to keep: of each feature that is not as at the beginning, its place, whether it is being
    /// changed, and its value.
    pub(crate) fn save(&self, bytes: &mut Vec<u8>) {
        for (place, slot) in self.slots().enumerate() {
            let changing = slot.wanted || slot.phase != Phase::Stable;
            if changing || slot.value != Value::initial(slot.feature) {
                bytes.push(place as u8 | u8::from(changing) << 7);
                slot.value.save(slot.feature, bytes);
            }
        }
    }

    /// Leaves what need not be on the Response for later.
    pub(crate) fn put_off(&mut self) {
        self.slots_mut().for_each(|slot| slot.wanted &= !slot.may_wait());
    }

    /// Bytes of the options that a Response has to have.
    pub(crate) fn response_len(&self) -> usize {
        self.slots().map(Slot::response_len).sum::<usize>() + self.empty.len() * 3
    }

    /// Takes the values from [`Self::save`]'s bytes, which the cookie's tag has proved to be ours. Answers which slots were
    /// being changed, for [`Self::resume`]; `None` if the bytes say nothing.
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

    /// Goes on where the Response with the cookie left off, once the wishes are known again.
    pub(crate) fn resume(&mut self, changing: u32, isr: Seq48, iss: Seq48) {
        for (place, slot) in self.slots_mut().enumerate() {
            slot.phase = if changing >> place & 1 == 1 { Phase::Changing } else { Phase::Stable };
            // What the Response had no room for is asked for now.
            slot.wanted &= slot.phase == Phase::Stable && slot.may_wait() && slot.feature != Feature::CCID;
            slot.decided = !slot.wanted;
        }
        (self.fgsr, self.fgss) = (Some(isr), iss);
        self.changes_due = self.slots.iter().chain(&self.of_terms).any(|slot| slot.wanted);
    }
}

/// Where the feature of an option that was received is located: L options come from the location.
const fn side_of(received: FeatureAction) -> Side {
    match received {
        FeatureAction::ChangeL | FeatureAction::ConfirmL => Side::Remote,
        FeatureAction::ChangeR | FeatureAction::ConfirmR => Side::Local,
    }
}

#[cfg(test)]
mod tests;
