//! Rules for processing received options, and reactions to invalid ones (RFC 4340 section 5.8).

use super::area::RawOptions;
use super::number as n;
use super::{DccpOption, OptionArea, RawOption};
use crate::feature::{Feature, FeatureAction};
use crate::{PacketType, Reset, ResetCode};
use thiserror::Error;

/// Option of a received packet, to be processed by a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessedOption<'a> {
    /// Offset in the option area, in bytes.
    pub offset: usize,
    /// Whether Mandatory precedes the option. A receiver that does not process such an option must react as
    /// [`ProcessedOption::error`] and [`OptionError::reaction`] state.
    pub mandatory: bool,
    /// Option; never Padding or Mandatory.
    pub option: DccpOption<'a>,
    raw: RawOption<'a>,
}

/// Invalid option of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("option {option} at byte {offset} of the options: {fault}")]
pub struct OptionError {
    /// Offset in the option area, in bytes.
    pub offset: usize,
    /// Type of the option.
    pub option: u8,
    /// First two bytes of the option's data, zero if absent, as reported in a Reset.
    pub data: [u8; 2],
    /// Whether Mandatory precedes it.
    pub mandatory: bool,
    /// Reason why it is invalid.
    pub fault: OptionFault,
}

/// Reason why an option is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OptionFault {
    /// The length is below 2 or exceeds the option area.
    #[error("{} (RFC 4340 section 5.8)", match length {
        Some(length) => format!("length {length} is invalid; expected 2 to {left}, the remaining bytes"),
        None => "the length byte is missing".to_owned(),
    })]
    NonsensicalLength {
        /// Length byte, if there is one.
        length: Option<u8>,
        /// Remaining bytes, from the type of the option on.
        left: usize,
    },
    /// The length of the option is wrong for its type.
    #[error("length {length} is invalid; expected {wanted} (RFC 4340 section 5.8, Table 3)")]
    Length {
        /// Length of the option, in bytes.
        length: usize,
        /// Valid lengths.
        wanted: &'static str,
    },
    /// The value of the option is out of range.
    #[error("invalid value; expected {wanted}")]
    Value {
        /// Valid values.
        wanted: &'static str,
    },
    /// The feature cannot have this value, or not from this side.
    #[error("the feature cannot have this value, or not from this side (RFC 4340 section 6.6.8)")]
    FeatureValue,
    /// The option is ignored on packets of this type.
    #[error("not allowed on {kind} packets (RFC 4340 section 5.8, Table 3)")]
    NotOnThisPacket {
        /// Type of the packet.
        kind: PacketType,
    },
    /// The option is unknown, or the request in it is not acceptable.
    #[error("not understood")]
    NotUnderstood,
    /// None of the peer's CCIDs is acceptable.
    #[error("no CCID is acceptable to both endpoints (RFC 4340 section 10)")]
    NothingInCommon,
    /// Mandatory is the last option.
    #[error("Mandatory is not followed by an option (RFC 4340 section 5.8.2)")]
    MandatoryLast,
    /// Mandatory follows Mandatory.
    #[error("Mandatory is followed by Mandatory (RFC 4340 section 5.8.2)")]
    MandatoryTwice,
}

/// Reaction that the RFC requires to an invalid option. The packet remains valid unless the reaction is a Reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Ignore the option and continue with the next one, as for anything unknown (RFC 4340 section 15).
    IgnoreOption,
    /// Ignore the option and all options after it in the packet (RFC 4340 section 5.8).
    IgnoreRest,
    /// Answer a Change with an empty Confirm, and continue (RFC 4340 sections 6.6.7 and 6.6.8).
    EmptyConfirm {
        /// Confirm L or Confirm R.
        action: FeatureAction,
        /// Feature of the Change.
        feature: Feature,
    },
    /// Reset the connection.
    Reset(Reset),
}

impl OptionFault {
    pub(crate) const fn length(data: &[u8], wanted: &'static str) -> Self {
        Self::Length { length: data.len() + 2, wanted }
    }
}

impl OptionError {
    pub(super) fn new(offset: usize, raw: RawOption<'_>, mandatory: bool, fault: OptionFault) -> Self {
        let byte = |at| raw.data.get(at).copied().unwrap_or(0);
        Self { offset, option: raw.number, data: [byte(0), byte(1)], mandatory, fault }
    }

    /// Returns the reaction that the RFC requires.
    #[must_use]
    pub const fn reaction(&self) -> Reaction {
        // "Confirm options behave identically and have the same reset conditions whether or not they are Mandatory"
        // (section 6.6.9).
        let confirm = matches!(self.option, n::CONFIRM_L | n::CONFIRM_R);
        let feature = Feature(self.data[0]);
        match self.fault {
            OptionFault::MandatoryLast | OptionFault::MandatoryTwice => self.reset(ResetCode::OPTION_ERROR),
            OptionFault::FeatureValue if confirm => self.reset(ResetCode::OPTION_ERROR),
            _ if self.mandatory && !confirm => self.reset(ResetCode::MANDATORY_ERROR),
            OptionFault::NothingInCommon => self.reset(ResetCode::OPTION_ERROR),
            OptionFault::NonsensicalLength { .. } => Reaction::IgnoreRest,
            OptionFault::FeatureValue | OptionFault::NotUnderstood => match self.option {
                n::CHANGE_L => Reaction::EmptyConfirm { action: FeatureAction::ConfirmR, feature },
                n::CHANGE_R => Reaction::EmptyConfirm { action: FeatureAction::ConfirmL, feature },
                _ => Reaction::IgnoreOption,
            },
            OptionFault::Length { .. } | OptionFault::Value { .. } | OptionFault::NotOnThisPacket { .. } => {
                Reaction::IgnoreOption
            }
        }
    }

    const fn reset(&self, code: ResetCode) -> Reaction {
        let [first, second] = self.data;
        Reaction::Reset(Reset { code, data: [self.option, first, second] })
    }
}

impl ProcessedOption<'_> {
    /// Returns an error for this option if the receiver rejects it: `NotUnderstood` for an
    /// [unknown](DccpOption::Unknown) option or feature, or for an unacceptable request.
    #[must_use]
    pub fn error(&self, fault: OptionFault) -> OptionError {
        OptionError::new(self.offset, self.raw, self.mandatory, fault)
    }
}

impl<'a> OptionArea<'a> {
    /// Returns the options of a packet of this kind in order, as a receiver processes them: without Padding, with
    /// Mandatory as a property of the next option, and with all checks that do not depend on the connection. Ends after
    /// an error whose [reaction](OptionError::reaction) is a Reset or [`Reaction::IgnoreRest`].
    pub fn process(
        &self,
        kind: PacketType,
    ) -> impl Iterator<Item = Result<ProcessedOption<'a>, OptionError>> + use<'a> {
        // A client ignores all options of a Listen (RFC 5596 section 2.2.1).
        let area = if kind == PacketType::Listen { Self::EMPTY } else { *self };
        Process { raw: area.raw(), kind, mandatory: None, ended: false }
    }
}

struct Process<'a> {
    raw: RawOptions<'a>,
    kind: PacketType,
    /// Offset of a Mandatory that applies to the next option.
    mandatory: Option<usize>,
    ended: bool,
}

impl<'a> Iterator for Process<'a> {
    type Item = Result<ProcessedOption<'a>, OptionError>;

    fn next(&mut self) -> Option<Self::Item> {
        let result = if self.ended { None } else { self.advance() };
        if let Some(Err(error)) = result {
            self.ended = matches!(error.reaction(), Reaction::Reset(_) | Reaction::IgnoreRest);
        }
        result
    }
}

impl<'a> Process<'a> {
    fn advance(&mut self) -> Option<<Self as Iterator>::Item> {
        const MANDATORY: RawOption<'_> = RawOption { number: n::MANDATORY, data: &[] };
        loop {
            let Some((offset, raw)) = self.raw.next() else {
                let offset = self.mandatory.take()?;
                return Some(Err(OptionError::new(offset, MANDATORY, false, OptionFault::MandatoryLast)));
            };
            let mandatory = self.mandatory.take().is_some();
            let raw = match raw {
                Ok(raw) => raw,
                Err(error) => return Some(Err(OptionError { mandatory, ..error })),
            };
            match raw.number {
                n::PADDING => {} // "Mandatory Padding" behaves like two bytes of Padding (section 5.8.2)
                n::MANDATORY if self.kind == PacketType::Data => {}
                n::MANDATORY if mandatory => {
                    return Some(Err(OptionError::new(offset, raw, false, OptionFault::MandatoryTwice)));
                }
                n::MANDATORY => self.mandatory = Some(offset),
                _ => {
                    let option = self.check(raw);
                    let error = |fault| OptionError::new(offset, raw, mandatory, fault);
                    return Some(option.map_err(error).map(|option| ProcessedOption {
                        offset,
                        mandatory,
                        option,
                        raw,
                    }));
                }
            }
        }
    }

    fn check(&self, raw: RawOption<'a>) -> Result<DccpOption<'a>, OptionFault> {
        if !may_be_on(raw.number, self.kind) {
            return Err(OptionFault::NotOnThisPacket { kind: self.kind });
        }
        let option = DccpOption::decode(raw)?;
        match option {
            DccpOption::Feature(feature) if !feature.is_well_formed() => Err(OptionFault::FeatureValue),
            _ => Ok(option),
        }
    }
}

/// Returns whether an option may be on a packet: Table 3 of RFC 4340 section 5.8; section 8.1.4 for Init Cookie;
/// sections 6.6.1, 11.4, 11.7 and 13.2 for options that need an acknowledgement number.
const fn may_be_on(number: u8, kind: PacketType) -> bool {
    match number {
        n::CHANGE_L | n::CHANGE_R => !matches!(kind, PacketType::Data),
        n::INIT_COOKIE => !matches!(kind, PacketType::Data | PacketType::Request),
        n::CONFIRM_L | n::CONFIRM_R | n::ACK_VECTOR_0 | n::ACK_VECTOR_1 | n::DATA_DROPPED | n::ELAPSED_TIME => {
            kind.has_ack()
        }
        _ => true,
    }
}
