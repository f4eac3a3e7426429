//! What this end still has to say about packets that came (RFC 4340 sections 11 and 13).

use crate::ack_vector_buffer::AckVectorBuffer;
use crate::{DataDropped, DccpOption, DropCode, DropRun, Elapsed, OptionWriter, Timestamp};
use headway_units::{Duration, Ecn, Instant, Seq48};
use std::collections::VecDeque;

/// Runs of packets with dropped data that are remembered at most: as many as an option of 253 blocks can tell apart.
const MOST_DROPPED: usize = 127;
/// Our packets with Ack Vectors that are remembered at most.
const MOST_CARRIERS: usize = 64;
/// A vector is not cut shorter than this, in bytes: an option.
const LEAST_VECTOR: usize = 255;
/// Packets back to which Data Dropped reaches, as many as an option of it can span: what is older the peer has long forgotten (section 11.7.2).
const FURTHEST_DROPPED: u64 = 252 * 128 + 1;

/// Packets in a Normal Block, and in a Drop Block (section 11.7).
const MOST_NORMAL: u64 = 128;
const MOST_DROP: u64 = 16;

/// What the next packets with an acknowledgement number say.
#[derive(Clone, Debug)]
pub(crate) struct Acknowledge {
    vector: AckVectorBuffer,
    /// Our packets that carried it, the newest last.
    carriers: VecDeque<Seq48>,
    /// A Timestamp that waits for its Echo, and when it came.
    timestamp: Option<(Timestamp, Instant)>,
    /// Runs of packets whose data was dropped, the newest first, until the peer knows.
    dropped: Vec<DroppedRun>,
    /// Our packet that told of all of them.
    dropped_told: Option<Seq48>,
    /// The peer has reported dropped data, and goes on until that is acknowledged.
    drops_heard: bool,
    /// Packets have come since the last acknowledgement went.
    pub(crate) unacknowledged: bool,
    /// Since when data waits for an acknowledgement.
    data_since: Option<Instant>,
    /// When the last acknowledgement went.
    last: Instant,
    /// The application cannot keep up (section 11.6).
    pub(crate) slow_receiver: bool,
}

/// Packets in a row whose data was dropped for one reason.
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
            dropped_told: None,
            drops_heard: false,
            unacknowledged: false,
            data_since: None,
            last: now,
            slow_receiver: false,
        }
    }

    /// An acknowledgeable packet has come.
    pub(crate) fn on_packet(&mut self, seq: Seq48, ecn: Ecn) {
        self.vector.received(seq, ecn);
        self.unacknowledged = true;
    }
    /// It carried data.
    pub(crate) fn on_data(&mut self, now: Instant) {
        self.data_since.get_or_insert(now);
    }
    /// Since when data has come of which no acknowledgement has told.
    pub(crate) const fn data_since(&self) -> Option<Instant> {
        self.data_since
    }
    /// It carried a Timestamp. Only the last one is echoed, as section 13.3 allows.
    pub(crate) const fn on_timestamp(&mut self, now: Instant, timestamp: Timestamp) {
        self.timestamp = Some((timestamp, now));
    }
    /// Whether a Timestamp Echo is due.
    pub(crate) const fn owes_echo(&self) -> bool {
        self.timestamp.is_some()
    }
    /// Its data was dropped, and that is to be told.
    pub(crate) fn on_dropped(&mut self, seq: Seq48, code: DropCode) {
        // "The interface SHOULD NOT let applications reduce the seriousness": the first code stays.
        if self.dropped.iter().any(|run| run.holds(seq)) {
            return;
        }
        let at = self.dropped.iter().position(|run| seq.is_after(run.newest)).unwrap_or(self.dropped.len());
        self.dropped.insert(at, DroppedRun { newest: seq, packets: 1, code });
        // With those next to it.
        self.join(at);
        if let Some(before) = at.checked_sub(1) {
            self.join(before);
        }
        self.dropped.truncate(MOST_DROPPED);
        self.dropped_told = None;
    }
    /// Makes one of this run and the next older one, if they are one.
    fn join(&mut self, at: usize) {
        if let [newer, older, ..] = &mut self.dropped[at..]
            && newer.code == older.code
            && newer.newest.distance_from(older.newest) == newer.packets
        {
            newer.packets += older.packets;
            self.dropped.remove(at + 1);
        }
    }
    /// Whether an acknowledgement should go for the sake of Data Dropped.
    pub(crate) fn has_news_of_drops(&self) -> bool {
        !self.dropped.is_empty() && self.dropped_told.is_none()
    }
    /// The peer has reported dropped data.
    pub(crate) const fn on_drops_heard(&mut self) {
        self.drops_heard = true;
    }
    /// Whether the peer repeats itself until it is acknowledged, and has done so for a round trip: with Ack Vectors, or Data Dropped.
    pub(crate) fn is_repeated(&self, now: Instant, vectors: bool, rtt: Duration) -> bool {
        (vectors || self.drops_heard) && self.unacknowledged && self.age(now) >= rtt
    }
    /// How long ago the last acknowledgement went.
    pub(crate) const fn age(&self, now: Instant) -> Duration {
        now.since(self.last)
    }

    /// Writes a Timestamp Echo, if a Timestamp waits for one. It may be on any packet.
    pub(crate) fn write_echo(&mut self, now: Instant, writer: &mut OptionWriter<'_>) {
        if let Some((timestamp, at)) = self.timestamp {
            let elapsed = Elapsed::from_duration(now.since(at));
            if writer.push(DccpOption::TimestampEcho { timestamp, elapsed }).is_ok() {
                self.timestamp = None;
            }
        }
    }

    /// Writes Data Dropped from the acknowledgement number down, if any data was dropped; the packet will have the number
    /// `seq`.
    pub(crate) fn write_dropped(&mut self, ack: Seq48, seq: Seq48, writer: &mut OptionWriter<'_>) {
        if self.dropped.is_empty() {
            return;
        }
        self.dropped.retain(|run| ack.distance_from(run.newest) < FURTHEST_DROPPED || run.newest.is_after(ack));
        let room = writer.remaining().saturating_sub(2).min(253);
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
            let blocks = |packets: u64, most: u64| usize::try_from(packets.div_ceil(most)).unwrap_or(room);
            // A part of a run says more than nothing.
            let left = room.saturating_sub(bytes.len() + blocks(normal, MOST_NORMAL)) as u64;
            let told = dropped.min(left * MOST_DROP);
            complete &= told == dropped;
            if told == 0 {
                break;
            }
            push_blocks(&mut bytes, None, normal);
            push_blocks(&mut bytes, Some(run.code), told);
            next = newest - told;
        }
        let written = !bytes.is_empty() && writer.push(DccpOption::DataDropped(DataDropped::new(&bytes))).is_ok();
        if written && complete && self.dropped_told.is_none() {
            self.dropped_told = Some(seq);
        }
    }

    /// A packet with an acknowledgement number goes. `reports`: it acknowledges data, as a Sync or a SyncAck does not (section 7.4).
    pub(crate) const fn on_sent(&mut self, now: Instant, reports: bool) {
        (self.unacknowledged, self.drops_heard) = (false, false);
        if reports {
            self.data_since = None;
        }
        self.last = now;
    }

    /// Bytes of the Ack Vector.
    pub(crate) fn vector_len(&self) -> usize {
        self.vector.encoded_len()
    }

    /// Writes an Ack Vector on our packet `seq`. Where it does not fit beside data, there is none; on a packet of its own (`alone`) its
    /// oldest part is given up, unless next to nothing would be left.
    pub(crate) fn write_vector(&mut self, seq: Seq48, writer: &mut OptionWriter<'_>, alone: bool) {
        if alone && (LEAST_VECTOR..self.vector_len()).contains(&writer.remaining()) {
            self.vector.shorten(writer.remaining());
        }
        if writer.remaining() >= self.vector_len() && self.vector.write(writer).is_ok() {
            self.vector.sent(seq);
            if self.carriers.len() == MOST_CARRIERS {
                self.carriers.pop_front();
            }
            self.carriers.push_back(seq);
        }
    }

    /// Our packets from `newest` down have come, so many. The newest vector among them told the most.
    pub(crate) fn on_ack_of_run(&mut self, newest: Seq48, packets: u64) {
        let known = self.carriers.iter().rposition(|seq| newest.distance_from(*seq) < packets);
        if let Some(seq) = known.and_then(|at| self.carriers.drain(..=at).next_back()) {
            self.on_ack_of(seq);
        }
    }

    /// Our packet `seq` has come.
    pub(crate) fn on_ack_of(&mut self, seq: Seq48) {
        self.vector.acknowledged(seq);
        if self.dropped_told == Some(seq) {
            self.dropped.clear();
            self.dropped_told = None;
        }
    }
}

/// So many packets, in blocks of a Data Dropped option.
fn push_blocks(bytes: &mut Vec<u8>, code: Option<DropCode>, mut packets: u64) {
    let most = if code.is_some() { MOST_DROP } else { MOST_NORMAL };
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

    /// Data Dropped as it is written on our packet `ours`, which acknowledges `ack`, with room for so many bytes.
    fn dropped(acknowledge: &mut Acknowledge, ack: u64, ours: u64, room: usize) -> String {
        let mut buffer = vec![0; room];
        let mut writer = OptionWriter::new(&mut buffer);
        acknowledge.write_dropped(seq(ack), seq(ours), &mut writer);
        let options = writer.finish().unwrap().iter().map(|option| option.unwrap().to_string());
        options.filter(|option| option != "Padding").collect()
    }

    /// Section 11.7: "the first block of the option covers the packet that is the packet's Acknowledgement Number"; blocks of
    /// 128 packets at most cover those between.
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

    /// In order, each packet once and with its first code ("SHOULD NOT let applications reduce the seriousness", section
    /// 11.7.2), none beyond the acknowledgement number, none that is long gone.
    #[test]
    fn which_packets_are_told() {
        let mut acknowledge = Acknowledge::new(Instant::ZERO);
        for packet in [2000, 1995, 1998, 1995] {
            acknowledge.on_dropped(seq(packet), CORRUPT);
        }
        acknowledge.on_dropped(seq(1998), DropCode::APPLICATION_NOT_LISTENING);
        let all = "DataDropped[Normal 1 Corrupt 1 Normal 1 Corrupt 1 Normal 2 Corrupt 1]";
        assert_eq!(dropped(&mut acknowledge, 2001, 1, 100), all);
        // What is further back than an option can span is forgotten.
        assert_eq!(dropped(&mut acknowledge, 1995 + 10_000, 2, 300).matches("Corrupt").count(), 3);
        assert_eq!(dropped(&mut acknowledge, 1995 + 252 * 128 + 1, 3, 1000).matches("Corrupt").count(), 1);
        assert_eq!(acknowledge.dropped.len(), 2);
    }

    /// It is repeated until one of our packets that told all of it has come.
    #[test]
    fn drops_are_told_until_they_are_known() {
        let mut acknowledge = Acknowledge::new(Instant::ZERO);
        assert!(!acknowledge.has_news_of_drops());
        acknowledge.on_dropped(seq(10), CORRUPT);
        acknowledge.on_dropped(seq(8), CORRUPT);
        assert!(acknowledge.has_news_of_drops());
        // No room for the older one: nothing is settled when this packet comes. Two bytes are the option's own.
        assert_eq!(dropped(&mut acknowledge, 10, 1, 4), "DataDropped[Corrupt 1]");
        assert!(acknowledge.has_news_of_drops());
        acknowledge.on_ack_of(seq(1));
        assert_eq!(dropped(&mut acknowledge, 10, 2, 8), "DataDropped[Corrupt 1 Normal 1 Corrupt 1]");
        assert!(!acknowledge.has_news_of_drops());
        assert_eq!(dropped(&mut acknowledge, 10, 3, 8), "DataDropped[Corrupt 1 Normal 1 Corrupt 1]");
        acknowledge.on_ack_of(seq(1));
        acknowledge.on_dropped(seq(11), CORRUPT);
        assert!(acknowledge.has_news_of_drops(), "more is to be told");
        acknowledge.on_ack_of(seq(2));
        assert_eq!(dropped(&mut acknowledge, 11, 4, 8), "DataDropped[Corrupt 2 Normal 1 Corrupt 1]");
        acknowledge.on_ack_of(seq(4));
        assert_eq!(dropped(&mut acknowledge, 11, 5, 8), "");
        assert!(!acknowledge.has_news_of_drops());
    }

    /// So many runs are remembered, the newest.
    #[test]
    fn drops_are_bounded() {
        let mut acknowledge = Acknowledge::new(Instant::ZERO);
        (0..200).for_each(|packet| acknowledge.on_dropped(seq(2 * packet), CORRUPT));
        assert_eq!(dropped(&mut acknowledge, 398, 1, 300).matches("Corrupt").count(), MOST_DROPPED);
        assert!(dropped(&mut acknowledge, 398, 1, 300).starts_with("DataDropped[Corrupt 1"));
    }

    /// Packets in a row are one run, in whatever order they were dropped; a Drop Block has 16 of them at most (section 11.7). Where there is no
    /// room for all of them the newest are told.
    #[test]
    fn bursts_are_told_whole() {
        let mut acknowledge = Acknowledge::new(Instant::ZERO);
        let burst = (1000..1040).rev().step_by(2).chain((1000..1040).step_by(2)).chain([1050, 1049, 1051]);
        burst.for_each(|packet| acknowledge.on_dropped(seq(packet), CORRUPT));
        let all = "DataDropped[Corrupt 3 Normal 9 Corrupt 16 Corrupt 16 Corrupt 8]";
        assert_eq!(dropped(&mut acknowledge, 1051, 1, 100), all);
        assert!(!acknowledge.has_news_of_drops());
        acknowledge.on_dropped(seq(1052), DropCode::RECEIVE_BUFFER);
        assert_eq!(dropped(&mut acknowledge, 1052, 2, 4), "DataDropped[Receive Buffer 1 Corrupt 3]");
        assert_eq!(dropped(&mut acknowledge, 1039, 2, 4), "DataDropped[Corrupt 16 Corrupt 16]", "a part of a run");
        assert!(acknowledge.has_news_of_drops(), "more is to be told");
        assert_eq!(
            dropped(&mut acknowledge, 1020, 2, 100),
            "DataDropped[Corrupt 16 Corrupt 5]",
            "from the middle of a run"
        );
        // As far back as an option can span.
        assert!(dropped(&mut acknowledge, 1052 + 252 * 128, 3, 300).contains("Normal 128"));
        assert_eq!(dropped(&mut acknowledge, 1052 + 252 * 128 + 1, 4, 300), "");
    }

    /// A run of our packets has come: the newest of those that carried vectors clears what it told, and forgets the older
    /// ones.
    #[test]
    fn acknowledged_vectors() {
        let written = |acknowledge: &mut Acknowledge, ours: u64| {
            let mut buffer = [0; 40];
            let mut writer = OptionWriter::new(&mut buffer);
            acknowledge.write_vector(seq(ours), &mut writer, false);
            writer.len()
        };
        let mut acknowledge = Acknowledge::new(Instant::ZERO);
        assert_eq!(written(&mut acknowledge, 49), 0, "nothing has come");
        // Every other packet: a byte each.
        (0..10).for_each(|n| acknowledge.on_packet(seq(100 + 2 * n), Ecn::NotEct));
        assert_eq!((acknowledge.vector_len(), written(&mut acknowledge, 50)), (21, 21));
        acknowledge.on_ack_of_run(seq(60), 10);
        assert_eq!(acknowledge.vector_len(), 21, "51 to 60 told nothing");
        acknowledge.on_ack_of_run(seq(60), 11);
        assert!(acknowledge.vector_len() < 10, "{}", acknowledge.vector_len());
        let mut small = [0; 2];
        let mut writer = OptionWriter::new(&mut small);
        acknowledge.write_vector(seq(61), &mut writer, false);
        assert_eq!(writer.len(), 0, "there is no room");
        assert!(acknowledge.carriers.is_empty());
        (0..1000).for_each(|n| assert!(written(&mut acknowledge, 70 + n) > 0));
        assert_eq!((acknowledge.carriers.len(), acknowledge.carriers.front()), (MOST_CARRIERS, Some(&seq(1070 - 64))));
    }
}
