//! What an HC-Receiver keeps to write Ack Vectors (RFC 4340 sections 11.4.1 and 11.4.2, Appendix A).
//!
//! The states of the packets in the Acknowledgement Window, in runs, newest first. An acknowledgement carries all of
//! them. When the other end acknowledges a packet of ours that did, what that packet told is forgotten.
//!
//! Departures from Appendix A: neighbouring runs of one state are always one run; no nonces are kept (RFC 8311); the
//! newest packet is never forgotten, so that every acknowledgement can carry a vector.

use crate::{AckRun, AckState, AckVector, DccpOption, EncodeError, OptionWriter};
use headway_units::{Ecn, Seq48};
use std::collections::VecDeque;

/// What an option has room for.
const OPTION_BYTES: usize = 253;
/// Two options: they leave half of the largest header to others.
const MAX_BYTES: usize = 2 * OPTION_BYTES;
/// What so many bytes tell of at most.
const MAX_PACKETS: u64 = (MAX_BYTES * AckRun::MAX_PACKETS as usize) as u64;
/// Acknowledgements remembered.
const MAX_RECORDS: usize = 512;

/// The Ack Vector's store at a receiver of data.
///
/// It holds what two Ack Vector options can tell: 506 bytes, 32384 packets at most. Beyond that the oldest states are
/// forgotten; their packets were told of in as many acknowledgements as did not get through.
#[derive(Clone, Debug, Default)]
pub struct AckVectorBuffer {
    newest: Seq48,
    /// Newest first, no two neighbours of one state.
    runs: VecDeque<Run>,
    /// How many packets they are.
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

/// A packet of ours that carried a vector.
#[derive(Clone, Copy, Debug)]
struct Record {
    ours: Seq48,
    /// It told the present state of this packet and of all older ones.
    told: Seq48,
}

impl AckVectorBuffer {
    /// Of a connection that has received nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An acknowledgeable packet has come: one whose options have been processed. Returns whether it is new; if not, it
    /// is a duplicate, or so old that it cannot be told from one, and should be ignored (Appendix A.1.2).
    ///
    /// A packet of which any copy was marked counts as marked: of the states that section 11.4.1 leaves open, that is
    /// the one which hides no congestion.
    #[inline]
    pub fn received(&mut self, seq: Seq48, ecn: Ecn) -> bool {
        let state = if ecn == Ecn::Ce { AckState::ReceivedEcnMarked } else { AckState::Received };
        // Most packets arrive in order, and none is marked.
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

    /// The number that an acknowledgement with this vector acknowledges: the newest packet. `None` before the first.
    #[must_use]
    pub fn newest(&self) -> Option<Seq48> {
        (!self.runs.is_empty()).then_some(self.newest)
    }

    /// What it holds as a controller reads it, from [`newest`](Self::newest) down: for carriers without options.
    pub fn runs(&self) -> impl Iterator<Item = headway_rate::Run> + '_ {
        self.runs
            .iter()
            .map(|run| headway_rate::Run { arrival: crate::arrivals::fate(run.state), packets: run.packets })
    }

    /// Bytes of the options that [`write`](Self::write) writes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let bytes = self.bytes();
        bytes + 2 * bytes.div_ceil(OPTION_BYTES)
    }

    /// Writes all of it as one Ack Vector option or two, for a packet that acknowledges [`newest`](Self::newest).
    ///
    /// # Errors
    ///
    /// If there is no room; the writer may then hold the first option.
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

    /// Our packet `ours` goes, with what was [written](Self::write) (Appendix A.2).
    pub fn sent(&mut self, ours: Seq48) {
        if self.runs.is_empty() {
            return;
        }
        if self.records.len() >= MAX_RECORDS {
            // Any of those on their way may be the next that the other end acknowledges: every other one will do, and
            // none that told only what is forgotten anyway.
            let mut keep = false;
            self.records.retain(|record| {
                keep = !keep;
                keep && self.newest.distance_from(record.told) < self.packets
            });
        }
        self.records.push_back(Record { ours, told: self.newest });
    }

    /// The other end acknowledges our packet `ours`: what it told need not be told again (Appendix A.3).
    pub fn acknowledged(&mut self, ours: Seq48) {
        let Some(place) = self.records.iter().position(|record| record.ours == ours) else { return };
        let Some(record) = self.records.drain(..=place).next_back() else { return };
        self.keep(self.newest.distance_from(record.told).max(1));
    }

    /// The run that holds the packet so far below the newest, and how many of its packets are newer.
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

    /// Gives the packet `seq` another state.
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
        // What was told of this packet before is not true any more (the end of Appendix A.3, to the packet).
        for record in &mut self.records {
            if !record.told.is_before(seq) {
                record.told = seq - 1;
            }
        }
    }

    /// Makes one run of this one and the next, if they are of one state.
    fn join(&mut self, at: usize) {
        if let Some(next) = self.runs.get(at + 1).copied()
            && next.state == self.runs[at].state
        {
            self.runs[at].packets += next.packets;
            self.runs.remove(at + 1);
        }
    }

    /// Whether there may be too many: fewer bytes than this sum are needed. Most of the time it spares the exact one.
    fn may_be_long(&self) -> bool {
        self.runs.len() + (self.packets / u64::from(AckRun::MAX_PACKETS)) as usize > MAX_BYTES
    }

    /// Forgets the oldest that are too many.
    fn trim(&mut self) {
        self.keep(MAX_PACKETS);
        if self.may_be_long() {
            self.keep_bytes(MAX_BYTES);
        }
    }

    /// Forgets the oldest that do not fit into `room` bytes of options.
    pub(crate) fn shorten(&mut self, room: usize) {
        let options = if room > 2 + OPTION_BYTES { 2 } else { 1 };
        self.keep_bytes(room.saturating_sub(2 * options).max(1));
    }

    /// Forgets the oldest of what takes more than so many bytes of vectors.
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

    /// Forgets all but the newest so many packets.
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
