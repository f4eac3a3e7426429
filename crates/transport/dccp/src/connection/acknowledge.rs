//! Acknowledgement state that the next packets carry (RFC 4340 sections 11 and 13).

use crate::ack_vector_buffer::AckVectorBuffer;
use crate::{DataDropped, DccpOption, DropCode, DropRun, Elapsed, OptionWriter, Timestamp};
use headway_units::{Duration, Ecn, Instant, Seq48};
use std::collections::VecDeque;

/// Maximum number of remembered runs of dropped data: the most that an option of 253 blocks can list.
const MAX_DROPPED: usize = 127;
/// Maximum number of remembered sent packets with Ack Vectors.
const MAX_CARRIERS: usize = 64;
/// Minimum size to which an Ack Vector is shortened, in bytes: one option.
const MIN_VECTOR: usize = 255;
/// Span of a Data Dropped option, in packets. The peer has discarded the state of older ones (section 11.7.2).
const DROPPED_SPAN: u64 = 252 * 128 + 1;

/// Maximum number of packets in a Normal Block, and in a Drop Block (section 11.7).
const MAX_NORMAL: u64 = 128;
const MAX_DROP: u64 = 16;

#[derive(Clone, Debug)]
pub(crate) struct Acknowledge {
    vector: AckVectorBuffer,
    /// Sent packets that carried the vector, the newest last.
    carriers: VecDeque<Seq48>,
    /// Timestamp that is still to be echoed, and its arrival time.
    timestamp: Option<(Timestamp, Instant)>,
    /// Runs of packets whose data was dropped, the newest first, until the peer acknowledges the report.
    dropped: Vec<DroppedRun>,
    /// Sent packet that reported all of `dropped`.
    dropped_reported_in: Option<Seq48>,
    /// The peer has reported dropped data, and repeats the report until it is acknowledged.
    peer_reported_drops: bool,
    /// Packets have arrived since the last acknowledgement was sent.
    pub(crate) unacknowledged: bool,
    /// Arrival time of the oldest unacknowledged data.
    data_since: Option<Instant>,
    last: Instant,
    /// The application cannot keep up (section 11.6).
    pub(crate) slow_receiver: bool,
}

/// Consecutive packets whose data was dropped for the same reason.
#[derive(Clone, Copy, Debug)]
struct DroppedRun {
    newest: Seq48,
    packets: u64,
    code: DropCode,
}

impl DroppedRun {
    fn holds(&self, seq: Seq48) -> bool {
        !seq.is_after(self.newest) && self.newest.distance_from(seq) < self.packets
    }
}

impl Acknowledge {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            vector: AckVectorBuffer::new(),
            carriers: VecDeque::new(),
            timestamp: None,
            dropped: Vec::new(),
            dropped_reported_in: None,
            peer_reported_drops: false,
            unacknowledged: false,
            data_since: None,
            last: now,
            slow_receiver: false,
        }
    }

    pub(crate) fn on_packet(&mut self, seq: Seq48, ecn: Ecn) {
        self.vector.received(seq, ecn);
        self.unacknowledged = true;
    }
    pub(crate) fn on_data(&mut self, now: Instant) {
        self.data_since.get_or_insert(now);
    }
    /// Returns the arrival time of the oldest data that no acknowledgement has covered.
    pub(crate) const fn data_since(&self) -> Option<Instant> {
        self.data_since
    }
    /// Stores a received Timestamp. Only the latest one is echoed, as section 13.3 allows.
    pub(crate) const fn on_timestamp(&mut self, now: Instant, timestamp: Timestamp) {
        self.timestamp = Some((timestamp, now));
    }
    pub(crate) const fn has_pending_echo(&self) -> bool {
        self.timestamp.is_some()
    }
    /// Records that the data of packet `seq` was dropped, so that Data Dropped reports it.
    pub(crate) fn on_dropped(&mut self, seq: Seq48, code: DropCode) {
        // "The interface SHOULD NOT let applications reduce the seriousness": the first code is kept.
        if self.dropped.iter().any(|run| run.holds(seq)) {
            return;
        }
        let at = self.dropped.iter().position(|run| seq.is_after(run.newest)).unwrap_or(self.dropped.len());
        self.dropped.insert(at, DroppedRun { newest: seq, packets: 1, code });
        self.join(at);
        if let Some(before) = at.checked_sub(1) {
            self.join(before);
        }
        self.dropped.truncate(MAX_DROPPED);
        self.dropped_reported_in = None;
    }
    /// Merges the run at `at` with the next older one if they are adjacent and have the same code.
    fn join(&mut self, at: usize) {
        if let [newer, older, ..] = &mut self.dropped[at..]
            && newer.code == older.code
            && newer.newest.distance_from(older.newest) == newer.packets
        {
            newer.packets += older.packets;
            self.dropped.remove(at + 1);
        }
    }
    /// Returns whether an acknowledgement should be sent to report dropped data.
    pub(crate) fn has_unreported_drops(&self) -> bool {
        !self.dropped.is_empty() && self.dropped_reported_in.is_none()
    }
    pub(crate) const fn on_peer_drops(&mut self) {
        self.peer_reported_drops = true;
    }
    /// Returns whether an acknowledgement of the peer's acknowledgements is due: the peer repeats Ack Vectors or Data
    /// Dropped until they are acknowledged, and the last acknowledgement is at least a round trip old.
    pub(crate) fn is_repeated(&self, now: Instant, vectors: bool, rtt: Duration) -> bool {
        (vectors || self.peer_reported_drops) && self.unacknowledged && self.age(now) >= rtt
    }
    pub(crate) const fn age(&self, now: Instant) -> Duration {
        now.since(self.last)
    }

    /// Writes a Timestamp Echo if a Timestamp is to be echoed. Any packet may carry it.
    pub(crate) fn write_echo(&mut self, now: Instant, writer: &mut OptionWriter<'_>) {
        if let Some((timestamp, at)) = self.timestamp {
            let elapsed = Elapsed::from_duration(now.since(at));
            if writer.push(DccpOption::TimestampEcho { timestamp, elapsed }).is_ok() {
                self.timestamp = None;
            }
        }
    }

    /// Writes Data Dropped, from the acknowledgement number down, on our packet `seq` if any data was dropped.
    pub(crate) fn write_dropped(&mut self, ack: Seq48, seq: Seq48, writer: &mut OptionWriter<'_>) {
        if self.dropped.is_empty() {
            return;
        }
        self.dropped.retain(|run| ack.distance_from(run.newest) < DROPPED_SPAN || run.newest.is_after(ack));
        let space = writer.remaining().saturating_sub(2).min(253);
        let (mut bytes, mut next, mut complete) = (Vec::with_capacity(8), ack, true);
        for run in &self.dropped {
            let mut dropped = run.packets;
            let mut newest = run.newest;
            if newest.is_after(next) {
                dropped = dropped.saturating_sub(newest.distance_from(next));
                newest = next;
            }
            if dropped == 0 {
                continue;
            }
            let normal = next.distance_from(newest);
            let blocks = |packets: u64, most: u64| usize::try_from(packets.div_ceil(most)).unwrap_or(space);
            // Report part of a run rather than nothing.
            let left = space.saturating_sub(bytes.len() + blocks(normal, MAX_NORMAL)) as u64;
            let reported = dropped.min(left * MAX_DROP);
            complete &= reported == dropped;
            if reported == 0 {
                break;
            }
            push_blocks(&mut bytes, None, normal);
            push_blocks(&mut bytes, Some(run.code), reported);
            next = newest - reported;
        }
        let written = !bytes.is_empty() && writer.push(DccpOption::DataDropped(DataDropped::new(&bytes))).is_ok();
        if written && complete && self.dropped_reported_in.is_none() {
            self.dropped_reported_in = Some(seq);
        }
    }

    /// Records that a packet with an acknowledgement number is sent. `reports`: it acknowledges
    /// data, which a Sync or SyncAck does not (section 7.4).
    pub(crate) const fn on_sent(&mut self, now: Instant, reports: bool) {
        (self.unacknowledged, self.peer_reported_drops) = (false, false);
        if reports {
            self.data_since = None;
        }
        self.last = now;
    }

    pub(crate) fn vector_len(&self) -> usize {
        self.vector.encoded_len()
    }

    /// Writes an Ack Vector on our packet `seq`. If the vector does not fit next to data, it is omitted. On a packet
    /// without data (`alone`) its oldest part is discarded, unless less than one option would remain.
    pub(crate) fn write_vector(&mut self, seq: Seq48, writer: &mut OptionWriter<'_>, alone: bool) {
        if alone && (MIN_VECTOR..self.vector_len()).contains(&writer.remaining()) {
            self.vector.shorten(writer.remaining());
        }
        if writer.remaining() >= self.vector_len() && self.vector.write(writer).is_ok() {
            self.vector.sent(seq);
            if self.carriers.len() == MAX_CARRIERS {
                self.carriers.pop_front();
            }
            self.carriers.push_back(seq);
        }
    }

    /// Records that the peer received `packets` of our packets, from `newest` down. The newest
    /// vector among them is cleared.
    pub(crate) fn on_ack_of_run(&mut self, newest: Seq48, packets: u64) {
        let known = self.carriers.iter().rposition(|seq| newest.distance_from(*seq) < packets);
        if let Some(seq) = known.and_then(|at| self.carriers.drain(..=at).next_back()) {
            self.on_ack_of(seq);
        }
    }

    pub(crate) fn on_ack_of(&mut self, seq: Seq48) {
        self.vector.acknowledged(seq);
        if self.dropped_reported_in == Some(seq) {
            self.dropped.clear();
            self.dropped_reported_in = None;
        }
    }
}

fn push_blocks(bytes: &mut Vec<u8>, code: Option<DropCode>, mut packets: u64) {
    let most = if code.is_some() { MAX_DROP } else { MAX_NORMAL };
    while packets > 0 {
        let block = packets.min(most);
        bytes.extend(DropRun { code, packets: block as u8 }.to_byte());
        packets -= block;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORRUPT: DropCode = DropCode::CORRUPT;

    fn seq(number: u64) -> Seq48 {
        Seq48::new(number)
    }

    /// Returns the Data Dropped option that packet `ours` carries when it acknowledges `ack`, with
    /// `room` bytes available.
    fn dropped(acknowledge: &mut Acknowledge, ack: u64, ours: u64, space: usize) -> String {
        let mut buffer = vec![0; space];
        let mut writer = OptionWriter::new(&mut buffer);
        acknowledge.write_dropped(seq(ack), seq(ours), &mut writer);
        let options = writer.finish().unwrap().iter().map(|option| option.unwrap().to_string());
        options.filter(|option| option != "Padding").collect()
    }

    /// Section 11.7: "the first block of the option covers the packet that is the packet's
    /// Acknowledgement Number"; Normal Blocks of at most 128 packets cover the packets between.
    #[test]
    fn blocks_reach_down_from_the_acknowledgement_number() {
        for (packet, wanted) in [
            (100, "DataDropped[Corrupt 1]"),
            (99, "DataDropped[Normal 1 Corrupt 1]"),
            (0, "DataDropped[Normal 100 Corrupt 1]"),
        ] {
            let mut acknowledge = Acknowledge::new(Instant::ZERO);
            acknowledge.on_dropped(seq(packet), CORRUPT);
            assert_eq!(dropped(&mut acknowledge, 100, 1, 100), wanted);
        }
        for (packet, wanted) in [
            (872, "DataDropped[Normal 128 Corrupt 1]"),
            (871, "DataDropped[Normal 128 Normal 1 Corrupt 1]"),
            (700, "DataDropped[Normal 128 Normal 128 Normal 44 Corrupt 1]"),
        ] {
            let mut acknowledge = Acknowledge::new(Instant::ZERO);
            acknowledge.on_dropped(seq(packet), CORRUPT);
            assert_eq!(dropped(&mut acknowledge, 1000, 1, 100), wanted);
        }
    }

    /// Each packet is reported once, in order, with its first code ("SHOULD NOT let applications reduce the
    /// seriousness", section 11.7.2). Packets beyond the acknowledgement number or the option's span are not reported.
    #[test]
    fn dropped_packets_are_reported_once_in_order() {
        let mut acknowledge = Acknowledge::new(Instant::ZERO);
        for packet in [2000, 1995, 1998, 1995] {
            acknowledge.on_dropped(seq(packet), CORRUPT);
        }
        acknowledge.on_dropped(seq(1998), DropCode::APPLICATION_NOT_LISTENING);
        let all = "DataDropped[Normal 1 Corrupt 1 Normal 1 Corrupt 1 Normal 2 Corrupt 1]";
        assert_eq!(dropped(&mut acknowledge, 2001, 1, 100), all);
        // Packets further back than an option can span are forgotten.
        assert_eq!(dropped(&mut acknowledge, 1995 + 10_000, 2, 300).matches("Corrupt").count(), 3);
        assert_eq!(dropped(&mut acknowledge, 1995 + 252 * 128 + 1, 3, 1000).matches("Corrupt").count(), 1);
        assert_eq!(acknowledge.dropped.len(), 2);
    }

    /// Data Dropped is repeated until a packet that reported all of it is acknowledged.
    #[test]
    fn data_dropped_is_repeated_until_acknowledged() {
        let mut acknowledge = Acknowledge::new(Instant::ZERO);
        assert!(!acknowledge.has_unreported_drops());
        acknowledge.on_dropped(seq(10), CORRUPT);
        acknowledge.on_dropped(seq(8), CORRUPT);
        assert!(acknowledge.has_unreported_drops());
        // The older run does not fit, so an acknowledgement of this packet settles nothing. Two
        // bytes are the option's header.
        assert_eq!(dropped(&mut acknowledge, 10, 1, 4), "DataDropped[Corrupt 1]");
        assert!(acknowledge.has_unreported_drops());
        acknowledge.on_ack_of(seq(1));
        assert_eq!(dropped(&mut acknowledge, 10, 2, 8), "DataDropped[Corrupt 1 Normal 1 Corrupt 1]");
        assert!(!acknowledge.has_unreported_drops());
        assert_eq!(dropped(&mut acknowledge, 10, 3, 8), "DataDropped[Corrupt 1 Normal 1 Corrupt 1]");
        acknowledge.on_ack_of(seq(1));
        acknowledge.on_dropped(seq(11), CORRUPT);
        assert!(acknowledge.has_unreported_drops(), "one run is not reported yet");
        acknowledge.on_ack_of(seq(2));
        assert_eq!(dropped(&mut acknowledge, 11, 4, 8), "DataDropped[Corrupt 2 Normal 1 Corrupt 1]");
        acknowledge.on_ack_of(seq(4));
        assert_eq!(dropped(&mut acknowledge, 11, 5, 8), "");
        assert!(!acknowledge.has_unreported_drops());
    }

    /// Only the newest runs are remembered.
    #[test]
    fn remembered_drops_are_bounded() {
        let mut acknowledge = Acknowledge::new(Instant::ZERO);
        (0..200).for_each(|packet| acknowledge.on_dropped(seq(2 * packet), CORRUPT));
        assert_eq!(dropped(&mut acknowledge, 398, 1, 300).matches("Corrupt").count(), MAX_DROPPED);
        assert!(dropped(&mut acknowledge, 398, 1, 300).starts_with("DataDropped[Corrupt 1"));
    }

    /// Consecutive packets form one run in whatever order they were dropped. A Drop Block holds at
    /// most 16 packets (section 11.7). If not all fit, the newest are reported.
    #[test]
    fn consecutive_drops_form_one_run() {
        let mut acknowledge = Acknowledge::new(Instant::ZERO);
        let burst = (1000..1040).rev().step_by(2).chain((1000..1040).step_by(2)).chain([1050, 1049, 1051]);
        burst.for_each(|packet| acknowledge.on_dropped(seq(packet), CORRUPT));
        let all = "DataDropped[Corrupt 3 Normal 9 Corrupt 16 Corrupt 16 Corrupt 8]";
        assert_eq!(dropped(&mut acknowledge, 1051, 1, 100), all);
        assert!(!acknowledge.has_unreported_drops());
        acknowledge.on_dropped(seq(1052), DropCode::RECEIVE_BUFFER);
        assert_eq!(dropped(&mut acknowledge, 1052, 2, 4), "DataDropped[Receive Buffer 1 Corrupt 3]");
        assert_eq!(dropped(&mut acknowledge, 1039, 2, 4), "DataDropped[Corrupt 16 Corrupt 16]", "a part of a run");
        assert!(acknowledge.has_unreported_drops(), "one run is only partly reported");
        assert_eq!(
            dropped(&mut acknowledge, 1020, 2, 100),
            "DataDropped[Corrupt 16 Corrupt 5]",
            "from the middle of a run"
        );
        // The furthest packet that an option can span is reported.
        assert!(dropped(&mut acknowledge, 1052 + 252 * 128, 3, 300).contains("Normal 128"));
        assert_eq!(dropped(&mut acknowledge, 1052 + 252 * 128 + 1, 4, 300), "");
    }

    /// The newest acknowledged packet with a vector clears what it reported, and older carriers are forgotten.
    #[test]
    fn acknowledged_vectors_are_cleared() {
        let written = |acknowledge: &mut Acknowledge, ours: u64| {
            let mut buffer = [0; 40];
            let mut writer = OptionWriter::new(&mut buffer);
            acknowledge.write_vector(seq(ours), &mut writer, false);
            writer.len()
        };
        let mut acknowledge = Acknowledge::new(Instant::ZERO);
        assert_eq!(written(&mut acknowledge, 49), 0, "no packet was received");
        // Every other packet is received: one byte each.
        (0..10).for_each(|n| acknowledge.on_packet(seq(100 + 2 * n), Ecn::NotEct));
        assert_eq!((acknowledge.vector_len(), written(&mut acknowledge, 50)), (21, 21));
        acknowledge.on_ack_of_run(seq(60), 10);
        assert_eq!(acknowledge.vector_len(), 21, "51 to 60 carried no vector");
        acknowledge.on_ack_of_run(seq(60), 11);
        assert!(acknowledge.vector_len() < 10, "{}", acknowledge.vector_len());
        let mut small = [0; 2];
        let mut writer = OptionWriter::new(&mut small);
        acknowledge.write_vector(seq(61), &mut writer, false);
        assert_eq!(writer.len(), 0, "the buffer is too small");
        assert!(acknowledge.carriers.is_empty());
        (0..1000).for_each(|n| assert!(written(&mut acknowledge, 70 + n) > 0));
        assert_eq!((acknowledge.carriers.len(), acknowledge.carriers.front()), (MAX_CARRIERS, Some(&seq(1070 - 64))));
    }
}
