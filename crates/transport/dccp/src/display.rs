//! One-line display of packets and their options, as in the info column of Wireshark and tshark.

use crate::number::SequenceNumber;
use crate::{
    AckState, Body, CcidOption, DccpOption, DeliveryOrder, FeatureAction, FeatureOption, Packet, Repair, Reset,
};
use std::fmt::{self, Display, Formatter};

/// Formats `50000 → 5004 [DataAck] Seq=12 (Ack=5) CCVal=3 Len=200 | Timestamp(488250) NDP(1)`; zero fields are omitted.
impl<N: SequenceNumber> Display for Packet<'_, N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (source, destination) = (self.source_port, self.destination_port);
        write!(f, "{source} → {destination} [{}] Seq={}", self.kind(), self.seq)?;
        if let Some(ack) = self.body.ack() {
            write!(f, " (Ack={ack})")?;
        }
        match self.body {
            Body::Request { service } | Body::Response { service, .. } | Body::Listen { service } => {
                write!(f, " (service={service})")?;
            }
            Body::Reset { reset, .. } => write!(f, " ({reset})")?,
            _ => {}
        }
        for (name, value) in [("CCVal", self.ccval.value()), ("CsCov", self.cscov.number())] {
            if value != 0 {
                write!(f, " {name}={value}")?;
            }
        }
        if !self.data.is_empty() {
            write!(f, " Len={}", self.data.len())?;
        }
        if !N::EXTENDED {
            write!(f, " X=0")?;
        }
        let options = self.options.iter().filter(|option| !matches!(option, Ok(DccpOption::Padding)));
        for (n, option) in options.enumerate() {
            f.write_str(if n == 0 { " | " } else { " " })?;
            match option {
                Ok(option) => write!(f, "{option}")?,
                Err(error) => write!(f, "bad({})", error.option)?,
            }
        }
        Ok(())
    }
}

/// Formats `code=Option Error`, and the data unless it is zero.
impl Display for Reset {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "code={}", self.code)?;
        if self.data != [0; 3] {
            write!(f, ", data=")?;
            hex(f, &self.data)?;
        }
        Ok(())
    }
}

/// Formats the option's name and value. Types 192 to 195 are shown as those of CCID 3 and 4, as in
/// tshark, because a packet does not identify its CCIDs.
impl Display for DccpOption<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Padding => f.write_str("Padding"),
            Self::Mandatory => f.write_str("Mandatory"),
            Self::SlowReceiver => f.write_str("SlowReceiver"),
            Self::Feature(option) => option.fmt(f),
            Self::InitCookie(cookie) => write!(f, "InitCookie({} bytes)", cookie.len()),
            Self::NdpCount(count) => write!(f, "NDP({count})"),
            Self::AckVector(vector) => {
                write!(f, "AckVector{}[", u8::from(vector.nonce()))?;
                list(f, " ", vector.runs(), |run, f| {
                    let state = match run.state {
                        AckState::Received => "R",
                        AckState::ReceivedEcnMarked => "CE",
                        AckState::Reserved => "?",
                        AckState::NotYetReceived => "N",
                    };
                    write!(f, "{state}{}", run.packets)
                })?;
                f.write_str("]")
            }
            Self::DataDropped(dropped) => {
                f.write_str("DataDropped[")?;
                list(f, " ", dropped.runs(), |run, f| match run.code {
                    Some(code) => write!(f, "{code} {}", run.packets),
                    None => write!(f, "Normal {}", run.packets),
                })?;
                f.write_str("]")
            }
            Self::Timestamp(timestamp) => write!(f, "Timestamp({})", timestamp.0),
            Self::TimestampEcho { timestamp, elapsed } => match elapsed.0 {
                0 => write!(f, "TimestampEcho({})", timestamp.0),
                elapsed => write!(f, "TimestampEcho({}, elapsed {elapsed})", timestamp.0),
            },
            Self::ElapsedTime(elapsed) => write!(f, "ElapsedTime({})", elapsed.0),
            Self::DataChecksum(crc) => write!(f, "DataChecksum({crc:08x})"),
            Self::DeliveryOrder(DeliveryOrder { stream, index, awaited }) => {
                write!(f, "Order({stream}:{index}, awaited {awaited})")
            }
            Self::Repair(data) => match Repair::decode(data) {
                Some(repair) => {
                    let Repair { back, index, repairs, .. } = repair;
                    let packets = repair.datagrams();
                    write!(f, "Repair({} of {repairs}, {packets} packets from {back} before)", u16::from(index) + 1)
                }
                None => f.write_str("Repair(invalid)"),
            },
            Self::Ccid(raw) | Self::Unknown(raw) => match CcidOption::read(*raw) {
                Ok(option) => option.fmt(f),
                Err(_) => {
                    write!(f, "opt{}(", raw.number)?;
                    hex(f, raw.data)?;
                    f.write_str(")")
                }
            },
        }
    }
}

impl Display for CcidOption<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::LossEventRate(None) => f.write_str("LossEventRate(none)"),
            Self::LossEventRate(Some(inverse)) => write!(f, "LossEventRate({inverse})"),
            Self::LossIntervals(intervals) => {
                write!(f, "LossIntervals(skip {};", intervals.skip_length())?;
                list(f, "", intervals.iter(), |i, f| {
                    write!(f, " {}/{}:{}/{}", i.lossless_length, u8::from(i.nonce), i.loss_length, i.data_length)
                })?;
                f.write_str(")")
            }
            Self::ReceiveRate(rate) => write!(f, "ReceiveRate({rate})"),
            Self::DroppedPackets(dropped) => {
                f.write_str("DroppedPackets(")?;
                list(f, " ", dropped.iter(), |count, f| write!(f, "{count}"))?;
                f.write_str(")")
            }
        }
    }
}

/// Formats the option as the RFC does: `ChangeR(CCID 3,2)`.
impl Display for FeatureOption<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let action = match self.action {
            FeatureAction::ChangeL => "ChangeL",
            FeatureAction::ConfirmL => "ConfirmL",
            FeatureAction::ChangeR => "ChangeR",
            FeatureAction::ConfirmR => "ConfirmR",
        };
        write!(f, "{action}({} ", self.feature)?;
        match (self.values, self.number()) {
            ([], _) => f.write_str("empty")?,
            (_, Some(number)) => write!(f, "{number}")?,
            (values, None) => list(f, ",", values.iter(), |value, f| write!(f, "{value}"))?,
        }
        f.write_str(")")
    }
}

fn list<T>(
    f: &mut Formatter<'_>,
    between: &str,
    items: impl Iterator<Item = T>,
    show: impl Fn(T, &mut Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    for (n, item) in items.enumerate() {
        if n > 0 {
            f.write_str(between)?;
        }
        show(item, f)?;
    }
    Ok(())
}

fn hex(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}
