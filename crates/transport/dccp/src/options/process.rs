//! The rules by which received options are processed, and what is done about bad ones (RFC 4340 section 5.8).

use super::area::RawOptions;
use super::number as n;
use super::{DccpOption, OptionArea, RawOption};
use crate::feature::{Feature, FeatureAction};
use crate::{PacketType, Reset, ResetCode};
use thiserror::Error;

/// An option that is to be processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessedOption<'a> {
    /// The byte of the options at which it begins.
    pub offset: usize,
    /// Whether Mandatory stands before it: who does not process it answers as [`ProcessedOption::error`] says.
    pub mandatory: bool,
    /// The option; never Padding or Mandatory.
    pub option: DccpOption<'a>,
    raw: RawOption<'a>,
}

/// A bad option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("option {option} at byte {offset} of the options: {fault}")]
pub struct OptionError {
    /// The byte of the options at which it begins.
    pub offset: usize,
    /// Its type.
    pub option: u8,
    /// Its first two bytes of data, or zeros: what a Reset reports.
    pub data: [u8; 2],
    /// Whether Mandatory stands before it.
    pub mandatory: bool,
    /// What is wrong with it.
    pub fault: OptionFault,
}

/// What is wrong with an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OptionFault {
    /// The length cuts into the option's own head or goes beyond the options.
    #[error("{} (RFC 4340 section 5.8)", match length {
        Some(length) => format!("its length is {length}; it should be 2 to {left}, the bytes that are left"),
        None => "there is no byte left for its length".to_owned(),
    })]
    NonsensicalLength {
        /// The length byte, if there is one.
        length: Option<u8>,
        /// Bytes that are left from the option's type on.
        left: usize,
    },
    /// Options of this type have another length.
    #[error("its length is {length}; it should be {wanted} (RFC 4340 section 5.8, Table 3)")]
    Length {
        /// The length byte.
        length: usize,
        /// What would be right.
        wanted: &'static str,
    },
    /// The value is out of range.
    #[error("its value should be {wanted}")]
    Value {
        /// What would be right.
        wanted: &'static str,
    },
    /// The feature cannot have this value, or not from this side.
    #[error("the feature cannot have this value from this side (RFC 4340 section 6.6.8)")]
    FeatureValue,
    /// Options of this type are ignored on packets of this kind.
    #[error("it may not be on a {kind} packet (RFC 4340 section 5.8, Table 3)")]
    NotOnThisPacket {
        /// The packet's type.
        kind: PacketType,
    },
    /// The receiver knows no such option, or will not do what it asks for.
    #[error("it is not understood")]
    NotUnderstood,
    /// No CCID that this end could work with is among the peer's.
    #[error("no CCID is acceptable to both ends (RFC 4340 section 10)")]
    NothingInCommon,
    /// Mandatory is the last option.
    #[error("Mandatory should have an option behind it (RFC 4340 section 5.8.2)")]
    MandatoryLast,
    /// Mandatory stands before Mandatory.
    #[error("Mandatory should not stand before Mandatory (RFC 4340 section 5.8.2)")]
    MandatoryTwice,
}

/// What the RFC wants done about a bad option. The packet that carries it stays valid unless it is answered by a Reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on with the next option, as with everything that is not known (section 15).
    IgnoreOption,
    /// Ignore the rest of the options too (section 5.8).
    IgnoreRest,
    /// Answer a Change by a Confirm without a value, and go on (sections 6.6.7 and 6.6.8).
    EmptyConfirm {
        /// Confirm L or Confirm R.
        action: FeatureAction,
        /// The feature.
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

    /// What the RFC wants done.
    #[must_use]
    pub const fn answer(&self) -> Answer {
        // "Confirm options behave identically and have the same reset conditions whether or not they are Mandatory"
        // (section 6.6.9).
        let confirm = matches!(self.option, n::CONFIRM_L | n::CONFIRM_R);
        let feature = Feature(self.data[0]);
        match self.fault {
            OptionFault::MandatoryLast | OptionFault::MandatoryTwice => self.reset(ResetCode::OPTION_ERROR),
            OptionFault::FeatureValue if confirm => self.reset(ResetCode::OPTION_ERROR),
            _ if self.mandatory && !confirm => self.reset(ResetCode::MANDATORY_ERROR),
            OptionFault::NothingInCommon => self.reset(ResetCode::OPTION_ERROR),
            OptionFault::NonsensicalLength { .. } => Answer::IgnoreRest,
            OptionFault::FeatureValue | OptionFault::NotUnderstood => match self.option {
                n::CHANGE_L => Answer::EmptyConfirm { action: FeatureAction::ConfirmR, feature },
                n::CHANGE_R => Answer::EmptyConfirm { action: FeatureAction::ConfirmL, feature },
                _ => Answer::IgnoreOption,
            },
            OptionFault::Length { .. } | OptionFault::Value { .. } | OptionFault::NotOnThisPacket { .. } => {
                Answer::IgnoreOption
            }
        }
    }

    const fn reset(&self, code: ResetCode) -> Answer {
        let [first, second] = self.data;
        Answer::Reset(Reset { code, data: [self.option, first, second] })
    }
}

impl ProcessedOption<'_> {
    /// The error that this option is after all, for a receiver that finds more wrong with it: `NotUnderstood` for an
    /// [unknown](DccpOption::Unknown) option or feature, or for one that it will not follow.
    #[must_use]
    pub fn error(&self, fault: OptionFault) -> OptionError {
        OptionError::new(self.offset, self.raw, self.mandatory, fault)
    }
}

impl<'a> OptionArea<'a> {
    /// The options of a packet of this kind in their order, as a receiver processes them: without Padding, with Mandatory
    /// as a property of the next option, with every rule that can be checked without knowing the connection. Ends behind
    /// an error that is answered by a Reset or by ignoring the rest.
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
    /// Where the Mandatory stands whose option comes next.
    mandatory: Option<usize>,
    ended: bool,
}

impl<'a> Iterator for Process<'a> {
    type Item = Result<ProcessedOption<'a>, OptionError>;

    fn next(&mut self) -> Option<Self::Item> {
        let result = if self.ended { None } else { self.advance() };
        if let Some(Err(error)) = result {
            self.ended = matches!(error.answer(), Answer::Reset(_) | Answer::IgnoreRest);
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

/// Table 3 of section 5.8; section 8.1.4 for Init Cookie; sections 6.6.1, 11.4, 11.7 and 13.2 for options that need an
/// acknowledgement number beside them.
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
