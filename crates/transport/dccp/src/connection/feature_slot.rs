//! One feature at one location: its value, the local preferences and the state of its negotiation
//! (RFC 4340 section 6.6.2).

use super::feature_value::Value;
use crate::feature::{Feature, FeatureAction, FeatureOption, Reconciliation};
use crate::{DccpOption, EncodeError, OptionFault, OptionWriter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Local endpoint.
    Local,
    /// Remote endpoint.
    Remote,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// STABLE: both endpoints agree, as far as this one knows.
    Stable,
    /// CHANGING: a Change has been sent and its Confirm has not arrived.
    Changing,
    /// UNSTABLE: the preferences changed in CHANGING, and the new Change has not been sent.
    Unstable,
}

/// One-byte values in order of preference; at most 16, the number of values of Minimum Checksum Coverage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    len: u8,
    values: [u8; 16],
}

impl List {
    /// Creates a list of the first 16 values.
    pub(crate) fn new(from: impl IntoIterator<Item = u8>) -> Self {
        let mut list = Self::default();
        for (place, value) in list.values.iter_mut().zip(from) {
            *place = value;
            list.len += 1;
        }
        list
    }
    pub(crate) fn as_slice(&self) -> &[u8] {
        self.values.get(..usize::from(self.len)).unwrap_or_default()
    }
    pub(crate) fn first(&self) -> Option<u8> {
        self.as_slice().first().copied()
    }
}

const KNOWN: [Feature; 11] = [
    Feature::CCID,
    Feature::ALLOW_SHORT_SEQNOS,
    Feature::SEQUENCE_WINDOW,
    Feature::ECN_INCAPABLE,
    Feature::ACK_RATIO,
    Feature::SEND_ACK_VECTOR,
    Feature::SEND_NDP_COUNT,
    Feature::MINIMUM_CHECKSUM_COVERAGE,
    Feature::CHECK_DATA_CHECKSUM,
    Feature::SEND_LOSS_EVENT_RATE,
    Feature::SEND_REPAIRS,
];
pub(crate) const SLOTS: usize = KNOWN.len() * 2;

/// Features that carry the terms of a controller, in the order of negotiation.
const OF_TERMS: [Feature; 2] = [Feature::SCALES, Feature::SCALE_RULES];

#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) feature: Feature,
    pub(crate) side: Side,
    pub(crate) value: Value,
    /// Local preferences, the most preferred first; for server-priority features.
    pub(crate) list: List,
    /// Preferences for a CCID. While the CCID is frozen, `list` holds only the current value.
    preferences: List,
    /// The local endpoint has no preference among the values of the list.
    pub(crate) indifferent: bool,
    /// Value in our Change; for non-negotiable features.
    pub(crate) proposed: Value,
    pub(crate) phase: Phase,
    pub(crate) wanted: bool,
    /// The current list has been reconciled with the peer's: another Change would give the same result.
    pub(crate) decided: bool,
    /// A Change has been sent, and one with another list before it.
    asked: bool,
    asked_otherwise: bool,
    pub(crate) mandatory: bool,
    pub(crate) confirm_due: bool,
}

/// Returns the first value of the server's list that is in the client's (section 6.3.1).
fn reconcile(server: &[u8], client: &[u8]) -> Option<u8> {
    server.iter().copied().find(|value| client.contains(value))
}

fn is_list(feature: Feature) -> bool {
    feature.reconciliation() == Some(Reconciliation::ServerPriority)
}

impl Slot {
    pub(crate) fn initial() -> [Self; SLOTS] {
        std::array::from_fn(|place| Self::at(KNOWN[place / 2], if place % 2 == 0 { Side::Local } else { Side::Remote }))
    }

    pub(crate) fn of_terms() -> Vec<Self> {
        OF_TERMS
            .into_iter()
            .flat_map(|feature| [Side::Local, Side::Remote].map(|side| Self::at(feature, side)))
            .collect()
    }

    fn at(feature: Feature, side: Side) -> Self {
        let value = Value::initial(feature);
        let list = if is_list(feature) { List::new([value.byte()]) } else { List::default() };
        Self {
            feature,
            side,
            proposed: value.clone(),
            value,
            list,
            preferences: list,
            indifferent: false,
            phase: Phase::Stable,
            wanted: false,
            decided: false,
            asked: false,
            asked_otherwise: false,
            mandatory: false,
            confirm_due: false,
        }
    }

    /// Returns whether its Change may follow the Response. Terms may, although they are Mandatory,
    /// because data waits for them.
    pub(super) fn may_wait(&self) -> bool {
        !self.mandatory || self.feature.is_of_terms()
    }

    pub(super) fn prefer(&mut self, list: List) {
        (self.list, self.preferences) = (list, list);
        self.decided = false;
        self.asked_otherwise |= self.asked;
        // A Confirm of the old list does not apply to the new one (section 6.6.5).
        if self.phase == Phase::Changing {
            self.phase = Phase::Unstable;
        }
    }

    pub(super) fn propose(&mut self, value: Value) {
        self.proposed = value;
        self.wanted = true;
        self.asked_otherwise |= self.asked;
        if matches!(self.phase, Phase::Changing) {
            self.phase = Phase::Unstable;
        }
    }

    pub(super) const fn on_change_sent(&mut self) {
        self.phase = Phase::Changing;
        self.wanted = false;
        self.asked = true;
    }

    /// Handles a Change that arrived in order. It also ends an outstanding Change of ours, since
    /// both endpoints now know both lists (section 6.6.6).
    pub(super) fn change(
        &mut self,
        values: &[u8],
        mandatory: bool,
        is_server: bool,
        frozen: bool,
    ) -> Result<(), OptionFault> {
        if is_list(self.feature) {
            if self.feature == Feature::CCID {
                self.list = if frozen { List::new([self.value.byte()]) } else { self.preferences };
            }
            if is_server && self.indifferent {
                // The server's order decides (section 6.3.1), and this server follows the client's.
                let ours = self.list;
                let ours = ours.as_slice().iter();
                let shared = values.iter().filter(|value| self.list.as_slice().contains(value));
                self.list = List::new(shared.chain(ours.filter(|value| !values.contains(value))).copied());
            }
            let ours = self.list.as_slice();
            match if is_server { reconcile(ours, values) } else { reconcile(values, ours) } {
                Some(value) => self.value = Value::Number(value.into()),
                // "If there is no shared entry, the feature's value MUST NOT change" (section 6.3.1).
                None if mandatory => return Err(OptionFault::NotUnderstood),
                // The current CCID is not acceptable here, and a Mandatory Change would find the
                // same lists (section 10).
                None if self.feature == Feature::CCID && !ours.contains(&self.value.byte()) => {
                    return Err(OptionFault::NothingInCommon);
                }
                None => {}
            }
        } else {
            // "The feature remote MUST accept any valid value" (section 6.3.2).
            self.value = Value::read(self.feature, values);
        }
        self.phase = Phase::Stable;
        self.wanted = false;
        self.decided = true;
        self.confirm_due = true;
        Ok(())
    }

    /// Handles a Confirm that may answer the latest Change. If that Change was lost, the acknowledgement number may
    /// name a later packet. The Confirm then answers an older Change, "does not appear to be part of a current
    /// negotiation" (section 6.6.8), and the latest Change is retransmitted.
    pub(super) fn confirm(&mut self, values: &[u8], is_server: bool) -> Result<(), OptionFault> {
        match values.split_first() {
            // No data can be sent without terms that both endpoints know.
            None if self.feature.is_required() || OF_TERMS.contains(&self.feature) => {
                return Err(OptionFault::FeatureValue);
            }
            None => {}
            Some((value, theirs)) if is_list(self.feature) => {
                let ours = self.list.as_slice();
                let expected = match (theirs, is_server) {
                    ([], _) => ours.contains(value).then_some(*value),
                    (_, true) => reconcile(ours, theirs),
                    (_, false) => reconcile(theirs, ours),
                };
                if expected.unwrap_or(self.value.byte()) != *value {
                    return self.wrong_confirm();
                }
                self.value = Value::Number(u64::from(*value));
            }
            Some(_) if Value::read(self.feature, values) != self.proposed => return self.wrong_confirm(),
            Some(_) => self.value = self.proposed.clone(),
        }
        self.phase = Phase::Stable;
        self.decided = true;
        Ok(())
    }

    /// Handles a Confirm of a value that the latest Change does not lead to: invalid (section
    /// 6.6.8), unless it may answer another Change.
    const fn wrong_confirm(&self) -> Result<(), OptionFault> {
        if self.asked_otherwise { Ok(()) } else { Err(OptionFault::FeatureValue) }
    }

    /// Returns the size of its Change and Confirm on a Response, in bytes.
    pub(super) fn response_len(&self) -> usize {
        let (list, value) = (self.list.as_slice().len(), self.value.encode(self.feature).len());
        let proposed = self.proposed.encode(self.feature).len();
        let change = usize::from(self.mandatory) + 3 + if is_list(self.feature) { list } else { proposed };
        let changing = self.wanted || self.phase != Phase::Stable;
        usize::from(changing) * change + usize::from(self.confirm_due) * (3 + value + list)
    }

    /// Writes Change L or Change R, with Mandatory if needed. Writes nothing if both do not fit.
    pub(super) fn write_change(&self, writer: &mut OptionWriter<'_>) -> Result<(), EncodeError> {
        let action = if self.side == Side::Local { FeatureAction::ChangeL } else { FeatureAction::ChangeR };
        let proposed = self.proposed.encode(self.feature);
        let values = if is_list(self.feature) { self.list.as_slice() } else { proposed.as_ref() };
        let needed = usize::from(self.mandatory) + 3 + values.len();
        if writer.remaining() < needed {
            return Err(EncodeError::NoRoom { needed, available: writer.remaining() });
        }
        if self.mandatory {
            writer.push(DccpOption::Mandatory)?;
        }
        writer.push(DccpOption::Feature(FeatureOption { action, feature: self.feature, values }))
    }

    pub(super) fn write_confirm(&self, writer: &mut OptionWriter<'_>) -> Result<(), EncodeError> {
        let action = if self.side == Side::Local { FeatureAction::ConfirmL } else { FeatureAction::ConfirmR };
        let (mut bytes, value) = ([0; 17], self.value.encode(self.feature));
        let list = self.list.as_slice();
        if list.is_empty() {
            let values = value.as_ref();
            return writer.push(DccpOption::Feature(FeatureOption { action, feature: self.feature, values }));
        }
        let len = value.len() + list.len();
        for (place, byte) in bytes.iter_mut().zip(value.as_ref().iter().chain(list)) {
            *place = *byte;
        }
        let values = bytes.get(..len).unwrap_or_default();
        writer.push(DccpOption::Feature(FeatureOption { action, feature: self.feature, values }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(feature: Feature) -> Slot {
        Slot::initial().into_iter().find(|slot| slot.feature == feature).unwrap()
    }

    /// Section 6.6.8: Confirms "that don't appear to be part of a current negotiation ... are
    /// ignored". The Change to Ack Ratio 3 was sent twice and confirmed twice. The Change to 2 was
    /// lost, and the second Confirm names a later packet.
    #[test]
    fn a_confirm_of_an_older_value_is_ignored() {
        let mut slot = slot(Feature::ACK_RATIO);
        slot.propose(Value::Number(3));
        slot.on_change_sent();
        assert_eq!(slot.confirm(&[0, 4], false), Err(OptionFault::FeatureValue), "4 was never proposed");
        assert_eq!((slot.confirm(&[0, 3], false), slot.phase, slot.value.number()), (Ok(()), Phase::Stable, 3));
        slot.propose(Value::Number(2));
        slot.on_change_sent();
        assert_eq!((slot.confirm(&[0, 3], false), slot.phase, slot.value.number()), (Ok(()), Phase::Changing, 3));
        assert_eq!((slot.confirm(&[0, 2], false), slot.phase, slot.value.number()), (Ok(()), Phase::Stable, 2));
    }

    /// Section 6.6.8: a Confirm "that selects the wrong value, based on the two preference lists"
    /// is invalid, unless it may answer another list.
    #[test]
    fn a_confirm_that_selects_the_wrong_value_is_an_error() {
        let mut slot = slot(Feature::CCID);
        slot.prefer(List::new([3, 2]));
        slot.on_change_sent();
        assert_eq!(slot.confirm(&[2, 3, 2], false), Err(OptionFault::FeatureValue), "the server prefers 3");
        assert_eq!(slot.confirm(&[4], false), Err(OptionFault::FeatureValue), "4 was never proposed");
        slot.prefer(List::new([3]));
        slot.on_change_sent();
        assert_eq!((slot.confirm(&[2, 3, 2], false), slot.phase, slot.value.number()), (Ok(()), Phase::Changing, 2));
        assert_eq!((slot.confirm(&[3, 3], false), slot.phase, slot.value.number()), (Ok(()), Phase::Stable, 3));
    }
}
