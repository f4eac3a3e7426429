//! Fields of a packet that a log contains.

use super::event::PacketInfo;
use headway_dccp::{AckState, Body, DccpOption, Packet, PacketType};
use headway_rate::{Arrival, Run};
use headway_units::Seq48;

/// Maximum number of ranges in an event: it bounds the memory of queued events. Older ranges were in earlier events.
const MAX_RANGES: usize = 64;

/// Packets that a packet reports to its receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Acknowledgement {
    /// Acknowledgement number.
    pub(super) newest: Seq48,
    /// States of the packets from `newest` down: those of the Ack Vectors, or that of `newest` alone. ECN marks are left
    /// out.
    pub(super) runs: Vec<Run>,
    /// Whether the states are those of Ack Vectors.
    pub(super) is_vector: bool,
}

impl Acknowledgement {
    /// Returns what a packet acknowledges. A Sync names a packet that need not have been processed (RFC 4340 section
    /// 5.7), and a SyncAck acknowledges the Sync only.
    pub(super) fn of(packet: &Packet<'_>) -> Option<Self> {
        let newest = packet.body.ack()?;
        let mut runs: Vec<Run> = Vec::new();
        if packet.kind() == PacketType::Sync {
            return None;
        }
        if packet.kind() != PacketType::SyncAck {
            let vectors = packet.options.iter().filter_map(|option| match option {
                Ok(DccpOption::AckVector(vector)) => Some(vector),
                _ => None,
            });
            for run in vectors.flat_map(|vector| vector.runs()) {
                let arrival = match run.state {
                    AckState::Received | AckState::ReceivedEcnMarked => Arrival::Received,
                    _ => Arrival::NotReceived,
                };
                match runs.last_mut() {
                    Some(last) if last.arrival == arrival => last.packets += u64::from(run.packets),
                    _ => runs.push(Run { arrival, packets: run.packets.into() }),
                }
            }
        }
        let is_vector = !runs.is_empty();
        if !is_vector {
            runs.push(Run { arrival: Arrival::Received, packets: 1 });
        }
        Some(Self { newest, runs, is_vector })
    }

    /// Returns the ranges of received packets, the newest first. A range that wraps is split.
    fn ranges(&self) -> Vec<(u64, u64)> {
        let (mut next, mut ranges) = (self.newest, Vec::new());
        for run in &self.runs {
            let (first, last) = (next - (run.packets - 1), next);
            next = first - 1;
            if run.arrival == Arrival::NotReceived {
                continue;
            }
            if first.value() <= last.value() {
                ranges.push((first.value(), last.value()));
            } else {
                ranges.extend([(0, last.value()), (first.value(), Seq48::MAX.value())]);
            }
        }
        ranges.truncate(MAX_RANGES);
        ranges
    }
}

impl PacketInfo {
    pub(super) fn new(packet: &Packet<'_>, acknowledgement: Option<&Acknowledgement>) -> Self {
        Self {
            kind: packet.kind(),
            number: packet.seq.value(),
            length: packet.encoded_len(),
            payload: packet.data.len(),
            acknowledged: acknowledgement.map_or_else(Vec::new, Acknowledgement::ranges),
            reset: match packet.body {
                Body::Reset { reset, .. } => Some(reset),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_dccp::{AckVector, CcVal, CsCov, OptionArea, OptionWriter};

    fn packet(body: Body, options: OptionArea<'_>) -> Packet<'_> {
        let (ccval, cscov) = (CcVal::ZERO, CsCov::default());
        Packet { source_port: 1, destination_port: 2, ccval, cscov, seq: Seq48::new(9), body, options, data: &[] }
    }

    const NONE: [(u64, u64); 0] = [];

    fn acknowledged(packet: &Packet<'_>) -> Vec<(u64, u64)> {
        PacketInfo::new(packet, Acknowledgement::of(packet).as_ref()).acknowledged
    }

    /// Example of RFC 4340 section 11.4: acknowledgement number 100 and the vector 0,192,3,64,5. Packet 99 has not been
    /// received; the marked packet 94 has.
    #[test]
    fn an_ack_vector_acknowledges_ranges() {
        let (mut buffer, ack) = ([0; 64], Seq48::new(100));
        let mut writer = OptionWriter::new(&mut buffer);
        // "The second Ack Vector begins where the first left off."
        writer.push(DccpOption::AckVector(AckVector::new(false, &[0, 192]))).unwrap();
        writer.push(DccpOption::AckVector(AckVector::new(false, &[3, 64, 5]))).unwrap();
        let options = writer.finish().unwrap();
        assert_eq!(acknowledged(&packet(Body::Ack { ack }, options)), [(100, 100), (88, 98)]);
        // RFC 4340 section 5.7.
        assert_eq!(acknowledged(&packet(Body::Sync { ack }, options)), NONE);
        assert_eq!(acknowledged(&packet(Body::SyncAck { ack }, options)), [(100, 100)]);
    }

    #[test]
    fn a_plain_acknowledgement_names_one_packet() {
        let ack = Seq48::new(100);
        assert_eq!(acknowledged(&packet(Body::DataAck { ack }, OptionArea::EMPTY)), [(100, 100)]);
        assert_eq!(acknowledged(&packet(Body::Data, OptionArea::EMPTY)), NONE);
    }

    /// RFC 4340 section 7.1: numbers wrap.
    #[test]
    fn a_range_that_wraps_is_split() {
        let runs = vec![Run { arrival: Arrival::Received, packets: 4 }];
        let report = Acknowledgement { newest: Seq48::new(1), runs, is_vector: true };
        assert_eq!(report.ranges(), [(0, 1), ((1 << 48) - 2, (1 << 48) - 1)]);
    }

    #[test]
    fn the_ranges_of_an_event_are_bounded() {
        let arrival = |n| if n % 2 == 0 { Arrival::Received } else { Arrival::NotReceived };
        let runs = (0..1000).map(|n| Run { arrival: arrival(n), packets: 1 }).collect();
        let ranges = Acknowledgement { newest: Seq48::new(5000), runs, is_vector: true }.ranges();
        assert_eq!((ranges.len(), ranges[0], ranges[63]), (64, (5000, 5000), (4874, 4874)));
    }
}
