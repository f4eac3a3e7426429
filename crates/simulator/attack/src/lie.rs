//! A misbehaving receiver: modifies its feedback on the path to the data sender, to obtain more than a fair rate (RFC
//! 4340 section 12.3, RFC 4342 section 9, RFC 5348 section 9).

use crate::{Context, Direction, Fate, packets};
use headway_dccp::{
    AckRun, AckState, AckVector, Body, Ccid, CcidOption, DccpOption, Elapsed, EncodeError, LossInterval, LossIntervals,
    OptionWriter, Packet,
};
use headway_units::{Dialect, Duration, Instant, OptionError, unused_unless};
use serde::{Deserialize, Serialize};

/// Types of the options of TFRC receivers (RFC 4342 section 8).
const LOSS_EVENT_RATE: u8 = 192;
const LOSS_INTERVALS: u8 = 193;
const RECEIVE_RATE: u8 = 194;
/// Maximum lengths in a loss interval (RFC 4342 section 8.6.1).
const MAX_LENGTH: u32 = (1 << 24) - 1;
const MAX_LOSS_LENGTH: u32 = (1 << 23) - 1;
/// Maximum bytes of options that Data Offset allows (RFC 4340 section 5.1).
const MAX_OPTION_BYTES: usize = 1000;

/// Options of an attack of `kind = "lie"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Endpoint to which the modified feedback is sent: that which sends the data.
    pub towards: Direction,
    /// False claim that the attacker writes into the feedback of the receiver.
    pub claim: Claim,
    /// With `claim = "elapsed"`: claimed time from the arrival of a packet to its acknowledgement (Elapsed Time
    /// option).
    pub elapsed: Duration,
    /// With `claim = "ahead"`: number of packets acknowledged before their arrival, 1 to 63.
    pub packets: u8,
}

/// False claim of a misbehaving receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// The receiver claims that all packets were received and none was marked.
    NoLosses,
    /// The receiver claims that no packet was marked. Affects Ack Vectors only: in Loss Intervals, marks are
    /// indistinguishable from losses.
    NoMarks,
    /// The receiver claims that the next `packets` packets after the newest received one, which are still in flight,
    /// were received.
    Ahead,
    /// The receiver claims that all losses belong to one loss event.
    OneEvent,
    /// The receiver claims that the interval before the first loss event has 2^24 - 1 packets, the maximum, so that the
    /// loss event rate appears low.
    FirstInterval,
    /// The receiver claims that it delayed each acknowledgement by the time `elapsed`, so that the round-trip time
    /// appears short.
    Elapsed,
    /// The receiver claims that data arrives at the maximum rate that the Receive Rate option can express.
    ReceiveRate,
}

impl Claim {
    /// Returns whether receivers with this CCID send the feedback that the claim changes.
    #[must_use]
    pub const fn concerns(self, ccid: Ccid) -> bool {
        match self {
            Self::NoLosses | Self::Ahead | Self::Elapsed => true,
            Self::NoMarks => ccid.0 == Ccid::TCP_LIKE.0,
            Self::OneEvent | Self::FirstInterval | Self::ReceiveRate => ccid.0 != Ccid::TCP_LIKE.0,
        }
    }
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        let elapsed = Duration::from_millis(50);
        Self { towards: Direction::ToClient, claim: Claim::NoLosses, elapsed, packets: 1 }
    }
    fn check(&self) -> Result<(), OptionError> {
        if !(1..=63).contains(&self.packets) {
            return Err(OptionError::new("packets", format!("{} is out of range: from 1 to 63", self.packets)));
        }
        Ok(())
    }

    fn unused(&self) -> Vec<OptionError> {
        [
            unused_unless(self.claim == Claim::Elapsed, "elapsed", "claim = \"elapsed\""),
            unused_unless(self.claim == Claim::Ahead, "packets", "claim = \"ahead\""),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// State of a running attack that modifies feedback.
#[derive(Debug)]
pub struct Lie {
    options: Options,
    context: Context,
}

impl Lie {
    pub(crate) fn new(options: &Options, context: Context) -> Self {
        Self { options: options.clone(), context }
    }

    pub(crate) fn handle(&mut self, now: Instant, direction: Direction, bytes: &[u8]) -> Fate {
        if direction != self.options.towards || !self.context.is_on(now) {
            return Fate::Forwarded;
        }
        let Some(packet) = packets::decode(&self.context.target, direction, bytes) else { return Fate::Forwarded };
        let ahead = u64::from(if self.options.claim == Claim::Ahead { self.options.packets } else { 0 });
        let body = match packet.body {
            Body::Ack { ack } => Body::Ack { ack: ack + ahead },
            Body::DataAck { ack } => Body::DataAck { ack: ack + ahead },
            _ => return Fate::Forwarded,
        };
        let mut area = [0; MAX_OPTION_BYTES];
        let mut writer = OptionWriter::new(&mut area);
        for option in packet.options.iter().flatten() {
            if self.rewrite(option, &mut writer).is_err() {
                return Fate::Forwarded; // The changed options do not fit.
            }
        }
        let Ok(options) = writer.finish() else { return Fate::Forwarded };
        let (source, destination) = self.context.target.ends(direction);
        Fate::Changed(packets::encode(&Packet { body, options, ..packet }, packets::network(source, destination)))
    }

    /// Writes the replacement of an option.
    fn rewrite(&self, option: DccpOption<'_>, writer: &mut OptionWriter<'_>) -> Result<(), EncodeError> {
        match (self.options.claim, option) {
            (Claim::NoLosses, DccpOption::AckVector(vector)) => {
                let received = |run: AckRun| AckRun { state: AckState::Received, ..run }.to_byte();
                vector_of(vector.runs().filter_map(received), writer)
            }
            (Claim::NoMarks, DccpOption::AckVector(vector)) => {
                let unmarked = |run: AckRun| match run.state {
                    AckState::ReceivedEcnMarked => AckRun { state: AckState::Received, ..run },
                    _ => run,
                };
                vector_of(vector.runs().filter_map(|run| unmarked(run).to_byte()), writer)
            }
            (Claim::NoLosses, DccpOption::Ccid(raw)) if raw.number == LOSS_INTERVALS => {
                intervals_of([LossInterval { lossless_length: MAX_LENGTH, ..LossInterval::default() }], writer)
            }
            (Claim::NoLosses, DccpOption::Ccid(raw)) if raw.number == LOSS_EVENT_RATE => {
                writer.push_ccid(CcidOption::LossEventRate(None))
            }
            (Claim::Ahead, DccpOption::AckVector(vector)) => {
                let more = AckRun { state: AckState::Received, packets: self.options.packets };
                vector_of(more.to_byte().into_iter().chain(vector.runs().filter_map(AckRun::to_byte)), writer)
            }
            (Claim::OneEvent, DccpOption::Ccid(raw)) if raw.number == LOSS_INTERVALS => {
                let one = LossInterval {
                    loss_length: MAX_LOSS_LENGTH,
                    data_length: MAX_LOSS_LENGTH,
                    ..LossInterval::default()
                };
                intervals_of([one], writer)
            }
            (Claim::FirstInterval, DccpOption::Ccid(raw)) if raw.number == LOSS_INTERVALS => {
                let newest = raw.data.get(1..10).and_then(|bytes| <[u8; 9]>::try_from(bytes).ok());
                let newest = newest.map(LossInterval::from_bytes).filter(|newest| newest.loss_length > 0);
                let first = LossInterval { data_length: MAX_LENGTH, ..LossInterval::default() };
                match newest {
                    Some(newest) => intervals_of([newest, first], writer),
                    None => writer.push(option),
                }
            }
            (Claim::Elapsed, DccpOption::ElapsedTime(_)) => {
                writer.push(DccpOption::ElapsedTime(Elapsed::from_duration(self.options.elapsed)))
            }
            (Claim::ReceiveRate, DccpOption::Ccid(raw)) if raw.number == RECEIVE_RATE => {
                writer.push_ccid(CcidOption::ReceiveRate(u32::MAX))
            }
            (_, DccpOption::Padding) => Ok(()),
            (_, option) => writer.push(option),
        }
    }
}

fn vector_of(bytes: impl Iterator<Item = u8>, writer: &mut OptionWriter<'_>) -> Result<(), EncodeError> {
    let bytes: Vec<u8> = bytes.collect();
    writer.push(DccpOption::AckVector(AckVector::new(false, &bytes)))
}

fn intervals_of<const N: usize>(
    intervals: [LossInterval; N],
    writer: &mut OptionWriter<'_>,
) -> Result<(), EncodeError> {
    let bytes = intervals.map(|interval| interval.to_bytes().unwrap_or_default());
    match LossIntervals::new(0, &bytes) {
        Some(intervals) => writer.push_ccid(CcidOption::LossIntervals(intervals)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, target};
    use headway_dccp::{CcVal, CsCov, OptionArea};
    use headway_units::{Options as _, Seq48};

    /// Returns the modified options of an Ack with these options, as displayed.
    fn rewritten(claim: Claim, write: impl Fn(&mut OptionWriter<'_>)) -> String {
        let options = Options { claim, packets: 3, ..Options::preset(Dialect::Rfc) };
        assert_eq!(options.check(), Ok(()));
        let mut area = [0; MAX_OPTION_BYTES];
        let mut writer = OptionWriter::new(&mut area);
        write(&mut writer);
        let (source, destination) = target().ends(Direction::ToClient);
        let packet = Packet {
            source_port: source.port,
            destination_port: destination.port,
            ccval: CcVal::ZERO,
            cscov: CsCov::ALL,
            seq: Seq48::new(7),
            body: Body::Ack { ack: Seq48::new(100) },
            options: OptionArea::new(writer.finish().unwrap().as_bytes()).unwrap(),
            data: &[],
        };
        let bytes = packets::encode(&packet, packets::network(source, destination));
        let mut lie = Lie::new(&options, context(1));
        assert_eq!(lie.handle(Instant::ZERO, Direction::ToServer, &bytes), Fate::Forwarded);
        let Fate::Changed(changed) = lie.handle(Instant::ZERO, Direction::ToClient, &bytes) else {
            panic!("it passes")
        };
        let packet = packets::decode(&target(), Direction::ToClient, &changed).unwrap();
        packet.to_string().split_once("(Ack=").unwrap().1.to_owned()
    }

    fn losses(writer: &mut OptionWriter<'_>) {
        let runs = [(AckState::Received, 2), (AckState::NotYetReceived, 1), (AckState::ReceivedEcnMarked, 1)];
        let bytes = runs.map(|(state, packets)| AckRun { state, packets }.to_byte().unwrap());
        vector_of(bytes.into_iter(), writer).unwrap();
    }
    fn intervals(writer: &mut OptionWriter<'_>) {
        let interval = |lossless, lossy, data| LossInterval {
            lossless_length: lossless,
            loss_length: lossy,
            nonce: false,
            data_length: data,
        };
        intervals_of([interval(10, 1, 11), interval(20, 2, 22), interval(30, 0, 99)], writer).unwrap();
    }

    fn elapsed(writer: &mut OptionWriter<'_>) {
        writer.push(DccpOption::ElapsedTime(Elapsed::from_duration(Duration::from_millis(1)))).unwrap();
    }
    fn receive_rate(writer: &mut OptionWriter<'_>) {
        writer.push_ccid(CcidOption::ReceiveRate(7)).unwrap();
    }

    /// Formats of RFC 4340 sections 11.4 and 13.2 and RFC 4342 section 8. Loss intervals are shown as
    /// lossless/lossy:data length.
    #[test]
    fn lies_are_well_formed() {
        assert_eq!(rewritten(Claim::NoLosses, losses), "100) | AckVector0[R2 R1 R1]");
        assert_eq!(rewritten(Claim::NoLosses, intervals), "100) | LossIntervals(skip 0; 16777215/0:0/0)");
        assert_eq!(rewritten(Claim::NoMarks, losses), "100) | AckVector0[R2 N1 R1]");
        assert_eq!(rewritten(Claim::Ahead, losses), "103) | AckVector0[R3 R2 N1 CE1]");
        assert_eq!(rewritten(Claim::OneEvent, intervals), "100) | LossIntervals(skip 0; 0/0:8388607/8388607)");
        assert_eq!(
            rewritten(Claim::FirstInterval, intervals),
            "100) | LossIntervals(skip 0; 10/0:1/11 0/0:0/16777215)"
        );
        assert_eq!(rewritten(Claim::Elapsed, elapsed), "100) | ElapsedTime(5000)");
        assert_eq!(rewritten(Claim::ReceiveRate, receive_rate), "100) | ReceiveRate(4294967295)");
        // Options that a claim does not affect are unchanged.
        let unchanged = "100) | LossIntervals(skip 0; 10/0:1/11 20/0:2/22 30/0:0/99)";
        for claim in [Claim::NoMarks, Claim::Elapsed, Claim::ReceiveRate] {
            assert_eq!(rewritten(claim, intervals), unchanged, "{claim:?}");
        }
    }
}
