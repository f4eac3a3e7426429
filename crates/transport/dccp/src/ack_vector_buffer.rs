//! Ack Vector state of an HC-Receiver (RFC 4340 sections 11.4.1 and 11.4.2, Appendix A).
//!
//! The buffer holds the states of the packets in the Acknowledgement Window, in runs, newest first.
//! An acknowledgement carries all of them. When the peer acknowledges one of our packets with a
//! vector, the states that it reported are discarded.
//!
//! Departures from Appendix A: adjacent runs always have different states; nonces are not stored
//! (RFC 8311); the newest packet is kept, so that every acknowledgement can carry a vector.

use crate::{AckRun, AckState, AckVector, DccpOption, EncodeError, OptionWriter};
use headway_units::{Ecn, Seq48};
use std::collections::VecDeque;

/// Maximum size of an option's data, in bytes.
const OPTION_BYTES: usize = 253;
/// Maximum size of all vectors, in bytes: two options, which leave half of the largest header free.
const MAX_BYTES: usize = 2 * OPTION_BYTES;
/// Maximum number of packets in vectors of the maximum size.
const MAX_PACKETS: u64 = (MAX_BYTES * AckRun::MAX_PACKETS as usize) as u64;
/// Maximum number of remembered acknowledgements.
const MAX_RECORDS: usize = 512;

/// Buffer of the states of received packets, from which a receiver of data writes Ack Vectors (RFC 4340 section 11.4).
///
/// Its limit is two Ack Vector options: 506 bytes or 32384 packets. Beyond this limit the oldest states are discarded,
/// which many acknowledgements have already reported.
#[derive(Clone, Debug, Default)]
pub struct AckVectorBuffer {
    newest: Seq48,
    /// Newest first; adjacent runs differ in state.
    runs: VecDeque<Run>,
    packets: u64,
    /// Oldest first.
    records: VecDeque<Record>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    state: AckState,
    packets: u64,
}

impl Run {
    fn bytes(self) -> usize {
        self.packets.div_ceil(AckRun::MAX_PACKETS.into()) as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct Record {
    ours: Seq48,
    /// The vector reported the current state of this packet and of all older ones.
    reported: Seq48,
}

impl AckVectorBuffer {
    /// Creates an empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a received packet that can be acknowledged, since its options have been processed (RFC 4340 section
    /// 7.4). Returns whether it is new. Otherwise it is a duplicate, or too old to be distinguished from one, and
    /// should be ignored (RFC 4340 Appendix A.1.2).
    ///
    /// A packet counts as marked if any copy was marked. RFC 4340 section 11.4.1 permits this; it never hides
    /// congestion.
    #[inline]
    pub fn received(&mut self, seq: Seq48, ecn: Ecn) -> bool {
        let state = if ecn == Ecn::Ce { AckState::ReceivedEcnMarked } else { AckState::Received };
        // Fast path: most packets arrive in order and unmarked.
        if let Some(run) = self.runs.front_mut().filter(|run| run.state == state && seq == self.newest + 1) {
            run.packets += 1;
            self.packets += 1;
            self.newest = seq;
            if self.may_be_long() {
                self.trim();
            }
            return true;
        }
        self.insert(seq, state)
    }

    fn insert(&mut self, seq: Seq48, state: AckState) -> bool {
        if self.runs.is_empty() || seq.is_after(self.newest) {
            if !self.runs.is_empty() {
                self.push_front(AckState::NotYetReceived, (seq.distance_from(self.newest) - 1).min(MAX_PACKETS));
            }
            self.push_front(state, 1);
            self.newest = seq;
            self.trim();
            return true;
        }
        let Some(at) = self.find(self.newest.distance_from(seq)) else { return false };
        match (self.runs[at.0].state, state) {
            (AckState::NotYetReceived, _) => self.change(seq, at, state),
            (AckState::Received, AckState::ReceivedEcnMarked) => {
                self.change(seq, at, state);
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Returns the acknowledgement number for the Ack Vector: the newest packet received. `None` before the first
    /// packet.
    #[must_use]
    pub fn newest(&self) -> Option<Seq48> {
        (!self.runs.is_empty()).then_some(self.newest)
    }

    /// Returns the states as runs of a rate controller's report, from [`newest`](Self::newest) down, for transports
    /// that do not encode options.
    pub fn runs(&self) -> impl Iterator<Item = headway_rate::Run> + '_ {
        self.runs
            .iter()
            .map(|run| headway_rate::Run { arrival: crate::arrivals::arrival_of(run.state), packets: run.packets })
    }

    /// Returns the size of the options that [`write`](Self::write) writes, in bytes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let bytes = self.bytes();
        bytes + 2 * bytes.div_ceil(OPTION_BYTES)
    }

    /// Writes the buffer as one or two Ack Vector options, for a packet that acknowledges [`newest`](Self::newest).
    ///
    /// # Errors
    ///
    /// If the options do not fit; the first one may have been written.
    pub fn write(&self, writer: &mut OptionWriter<'_>) -> Result<(), EncodeError> {
        let (mut vector, mut len) = ([0; MAX_BYTES], 0);
        for run in &self.runs {
            let mut left = run.packets;
            while left > 0
                && let Some(byte) = vector.get_mut(len)
            {
                let packets = left.min(AckRun::MAX_PACKETS.into());
                *byte = AckRun { state: run.state, packets: packets as u8 }.to_byte().unwrap_or_default();
                left -= packets;
                len += 1;
            }
        }
        vector[..len]
            .chunks(OPTION_BYTES)
            .try_for_each(|part| writer.push(DccpOption::AckVector(AckVector::new(false, part))))
    }

    /// Records that this endpoint sends its packet `ours` with the [written](Self::write) vector (RFC 4340 Appendix
    /// A.2).
    pub fn sent(&mut self, ours: Seq48) {
        if self.runs.is_empty() {
            return;
        }
        if self.records.len() >= MAX_RECORDS {
            // Any outstanding packet may be acknowledged next, so every other record is kept,
            // except those that reported only discarded states.
            let mut keep = false;
            self.records.retain(|record| {
                keep = !keep;
                keep && self.newest.distance_from(record.reported) < self.packets
            });
        }
        self.records.push_back(Record { ours, reported: self.newest });
    }

    /// Discards the states that this endpoint's packet `ours` reported, as the peer has acknowledged that packet (RFC
    /// 4340 Appendix A.3).
    pub fn acknowledged(&mut self, ours: Seq48) {
        let Some(place) = self.records.iter().position(|record| record.ours == ours) else { return };
        let Some(record) = self.records.drain(..=place).next_back() else { return };
        self.keep(self.newest.distance_from(record.reported).max(1));
    }

    /// Returns the run of the packet `depth` below the newest, and how many of its packets are newer.
    fn find(&self, depth: u64) -> Option<(usize, u64)> {
        let mut newer = 0;
        for (at, run) in self.runs.iter().enumerate() {
            if depth < newer + run.packets {
                return Some((at, depth - newer));
            }
            newer += run.packets;
        }
        None
    }

    fn push_front(&mut self, state: AckState, packets: u64) {
        match self.runs.front_mut() {
            _ if packets == 0 => return,
            Some(run) if run.state == state => run.packets += packets,
            _ => self.runs.push_front(Run { state, packets }),
        }
        self.packets += packets;
    }

    fn change(&mut self, seq: Seq48, (at, newer): (usize, u64), state: AckState) {
        let old = self.runs[at];
        let older = old.packets - newer - 1;
        self.runs[at] = Run { state, packets: 1 };
        if older > 0 {
            self.runs.insert(at + 1, Run { packets: older, ..old });
        }
        self.join(at);
        if newer > 0 {
            self.runs.insert(at, Run { packets: newer, ..old });
        } else if at > 0 {
            self.join(at - 1);
        }
        self.trim();
        // Earlier vectors reported another state of this packet (end of Appendix A.3, applied to single packets).
        for record in &mut self.records {
            if !record.reported.is_before(seq) {
                record.reported = seq - 1;
            }
        }
    }

    /// Merges the run at `at` with the next older one if they have the same state.
    fn join(&mut self, at: usize) {
        if let Some(next) = self.runs.get(at + 1).copied()
            && next.state == self.runs[at].state
        {
            self.runs[at].packets += next.packets;
            self.runs.remove(at + 1);
        }
    }

    /// Returns whether the encoded size may exceed the limit. This upper bound is cheap.
    fn may_be_long(&self) -> bool {
        self.runs.len() + (self.packets / u64::from(AckRun::MAX_PACKETS)) as usize > MAX_BYTES
    }

    fn trim(&mut self) {
        self.keep(MAX_PACKETS);
        if self.may_be_long() {
            self.keep_bytes(MAX_BYTES);
        }
    }

    /// Discards the oldest states that do not fit into options of `room` bytes.
    pub(crate) fn shorten(&mut self, room: usize) {
        let options = if room > 2 + OPTION_BYTES { 2 } else { 1 };
        self.keep_bytes(room.saturating_sub(2 * options).max(1));
    }

    /// Discards the oldest states beyond `most` bytes of vectors.
    fn keep_bytes(&mut self, most: usize) {
        let mut bytes = self.bytes();
        while bytes > most
            && let Some(run) = self.runs.back()
        {
            let last_byte = (run.packets - 1) % u64::from(AckRun::MAX_PACKETS) + 1;
            self.keep(self.packets - last_byte);
            bytes -= 1;
        }
    }

    fn bytes(&self) -> usize {
        self.runs.iter().map(|run| run.bytes()).sum()
    }

    /// Discards all but the newest packets.
    fn keep(&mut self, packets: u64) {
        while self.packets > packets
            && let Some(run) = self.runs.back_mut()
        {
            let less = run.packets.min(self.packets - packets);
            run.packets -= less;
            self.packets -= less;
            if run.packets == 0 {
                self.runs.pop_back();
            }
        }
    }
}

#[cfg(test)]
mod tests;
