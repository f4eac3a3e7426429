//! Interprets congestion control feedback (RFC 8888) about the sent streams.

use crate::error::RefusedFeedback;
use crate::flight::{Flight, Packet, State};
use crate::stream::{Found, Stream};
use headway_rate::{CcfbBlock, CcfbPacket, TimedArrival, Wrapped};
use headway_units::{Duration, Ecn, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// Longest sending time that a single lost feedback packet explains: RFC 8888 section 4 names intervals of 50 to 200 ms,
/// without a maximum, and the packets may be delayed. The packets that only the lost one covers are assumed to have
/// arrived: "an appropriate response is to assume that the level of congestion has remained roughly the same" (section
/// 5).
pub(crate) const LOST_INTERVAL: Duration = Duration::from_millis(250);

/// Newly received packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) number: u64,
    pub(crate) packet: Packet,
    pub(crate) ecn: Ecn,
    /// Arrival time by the receiver's clock; that of the feedback if unknown.
    pub(crate) at: Instant,
}

/// The peer's clock, and the news of the present datagram.
#[derive(Debug, Default)]
pub(crate) struct Feedback {
    clock: Wrapped,
    /// Time of the newest feedback by the peer's clock.
    newest: Option<Instant>,
    /// Greatest number up to which each stream was covered, plus 1.
    covered: BTreeMap<u32, u64>,
    /// Streams of the present datagram.
    present: BTreeSet<u32>,
    /// Lowest number whose state may have changed since it was passed to the controller.
    changed_from: u64,
    arrived: Vec<Arrived>,
}

impl Feedback {
    /// Starts a datagram.
    pub(crate) fn start(&mut self) {
        self.present.clear();
    }

    /// Returns whether the present datagram covers a stream.
    pub(crate) fn covers(&self, ssrc: u32) -> bool {
        self.present.contains(&ssrc)
    }

    pub(crate) const fn newest(&self) -> Option<Instant> {
        self.newest
    }

    /// Returns the lowest number whose state may have changed since the last call; `None` if none has up to
    /// `acknowledged`. Later changes remain for the next call.
    pub(crate) fn take_changed(&mut self, acknowledged: u64) -> Option<u64> {
        let changed = self.changed_from;
        (changed <= acknowledged).then(|| std::mem::replace(&mut self.changed_from, acknowledged + 1))
    }

    /// Returns the packets up to `acknowledged` that were reported as received since the last call, in the order of
    /// arrival.
    pub(crate) fn take_arrived(&mut self, acknowledged: u64) -> Vec<Arrived> {
        let mut arrived: Vec<_> = self.arrived.extract_if(.., |arrived| arrived.number <= acknowledged).collect();
        arrived.sort_by_key(|arrived| (arrived.at, arrived.number));
        arrived
    }

    /// Handles a feedback packet. Calls `refused` for each reason to ignore a block. Returns whether the packet was
    /// used.
    pub(crate) fn on_packet(
        &mut self,
        packet: &CcfbPacket,
        streams: &BTreeMap<u32, Stream>,
        flight: &mut Flight,
        refused: &mut impl FnMut(RefusedFeedback),
    ) -> bool {
        let mut known = Vec::new();
        for block in &packet.blocks {
            let ssrc = block.ssrc;
            let Some(stream) = streams.get(&ssrc) else {
                refused(RefusedFeedback::UnknownStream { ssrc });
                continue;
            };
            if let Some(sequence) = never_sent(block, stream) {
                refused(RefusedFeedback::NeverSent { ssrc, sequence });
                return false;
            }
            known.push((block, stream));
        }
        if known.is_empty() && !packet.blocks.is_empty() {
            return false;
        }
        let clock = self.clock.instant(packet.report_timestamp);
        self.newest = self.newest.max(Some(clock));
        for (block, stream) in known {
            self.present.insert(block.ssrc);
            self.on_block(clock, block, stream, flight);
        }
        true
    }

    fn on_block(&mut self, clock: Instant, block: &CcfbBlock, stream: &Stream, flight: &mut Flight) {
        let numbers = packets_of(block).filter_map(|(sequence, arrival)| match stream.find(sequence) {
            Found::Number(number) => Some((number, arrival)),
            Found::NeverSent | Found::Old => None,
        });
        let numbers: Vec<(u64, &TimedArrival)> = numbers.collect();
        let Some(first) = numbers.iter().map(|(number, _)| *number).min() else { return };
        self.assume_arrival(block.ssrc, first, clock, flight);
        for (number, arrival) in numbers {
            let state = match *arrival {
                TimedArrival::NotReceived => State::NotReceived,
                TimedArrival::Received { ecn, before } => {
                    State::Received { ecn, at: before.and_then(|before| clock.checked_sub(before)) }
                }
            };
            self.set(number, state, clock, flight);
            let covered = self.covered.entry(block.ssrc).or_default();
            *covered = (*covered).max(number.saturating_add(1));
        }
    }

    /// Assumes that the packets of a stream before `first` that no feedback covers have arrived, if one lost feedback
    /// packet is the reason.
    fn assume_arrival(&mut self, ssrc: u32, first: u64, clock: Instant, flight: &mut Flight) {
        // The first feedback of a stream covers all packets that arrived before.
        let Some(start) = self.covered.get(&ssrc).map(|covered| (*covered).max(flight.first())) else { return };
        let open = |number: &u64| {
            flight.get(*number).is_some_and(|packet| packet.ssrc == ssrc && packet.state == State::Unreported)
        };
        let numbers: Vec<u64> = (start..first).filter(open).collect();
        let sent = |number: Option<&u64>| number.and_then(|number| flight.get(*number)).map(|packet| packet.sent);
        if let (Some(oldest), Some(newest)) = (sent(numbers.first()), sent(numbers.last())) {
            let is_single = newest.since(oldest) <= LOST_INTERVAL;
            let state = if is_single { State::Assumed } else { State::NotReceived };
            numbers.into_iter().for_each(|number| self.set(number, state, clock, flight));
        }
    }

    fn set(&mut self, number: u64, state: State, clock: Instant, flight: &mut Flight) {
        let before = flight.get(number).map(|packet| packet.state);
        if let Some(packet) = flight.set(number, state) {
            let (ecn, at) = match state {
                State::Received { ecn, at } => (ecn, at),
                _ => (Ecn::NotEct, None),
            };
            self.arrived.push(Arrived { number, packet, ecn, at: at.unwrap_or(clock) });
        }
        if flight.get(number).map(|packet| packet.state) != before {
            self.changed_from = self.changed_from.min(number);
        }
    }
}

fn packets_of(block: &CcfbBlock) -> impl Iterator<Item = (u16, &TimedArrival)> {
    (0..).zip(&block.arrivals).map(|(offset, arrival)| (block.begin_seq.wrapping_add(offset), arrival))
}

/// Returns the first sequence number that a block reports as received although no such packet was sent.
fn never_sent(block: &CcfbBlock, stream: &Stream) -> Option<u16> {
    let mut received = packets_of(block).filter(|(_, arrival)| **arrival != TimedArrival::NotReceived);
    received.find(|(sequence, _)| stream.find(*sequence) == Found::NeverSent).map(|(sequence, _)| sequence)
}
