//! Sender of repair packets: collects blocks of datagrams and decides when repair packets follow.

use super::blocks::Blocks;
use super::loss::LossShare;
use super::media_rate::MediaRate;
use super::{Fec, RepairCounters, code, overhead, symbol};
use crate::{DeliveryOrder, Repair};
use headway_media::ReportedFate;
use headway_units::{Duration, Instant, Rate, Seq48};
use std::collections::VecDeque;

/// Maximum number of datagrams of a block.
const MAX_DATAGRAMS: usize = 32;
/// Maximum distance between the numbers of the first and the last packet of a block: the bits of the option.
const MAX_SPAN: u64 = 128;
/// Room of a repair packet for its option, beyond what the maximum packet size leaves for options, in bytes.
const OPTION_ROOM: usize = Repair::MAX_LEN.next_multiple_of(4);
/// Maximum distance between the numbers of the first packet of a block and of a repair packet. A receiver keeps datagrams
/// for longer, also if packets are reordered.
const MAX_BACK: u64 = 256;
/// Longest time from a block's first datagram until its repair packets, and from then on until these are discarded.
const MAX_HOLD: Duration = Duration::from_millis(100);
/// Time without repair packets of [`Fec::Auto`] after the send queue has dropped a datagram: the path does not carry the
/// media alone.
const AFTER_DROP: Duration = Duration::from_secs(2);
/// Gain of the share of media among the packets.
const GAIN: f64 = 1.0 / 128.0;

/// Transmission of a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) now: Instant,
    /// Number of its packet.
    pub(crate) number: Seq48,
    /// Position in its stream, if the packet has it.
    pub(crate) order: Option<DeliveryOrder>,
    pub(crate) expires: Option<Instant>,
    /// One-way delay to the receiver.
    pub(crate) travel: Duration,
}

/// Blocks and repair packets of a connection. `D` is what the sender keeps of a datagram in flight.
#[derive(Debug)]
pub(crate) struct Protector<D> {
    fec: Fec,
    /// Size of the largest datagram that a repair packet can restore, in bytes; `None` unless the peer accepts repair
    /// packets.
    largest: Option<usize>,
    /// Whether the peer was asked to accept them.
    has_asked: bool,
    /// Whether a datagram needed protection.
    is_wanted: bool,
    loss: LossShare,
    rate: MediaRate,
    /// Rate that the controller allows; `None` without a limit.
    allowed: Option<Rate>,
    /// End of the time without repair packets.
    resumes: Instant,
    filling: Option<Filling>,
    waiting: VecDeque<RepairPacket>,
    taken: Option<RepairPacket>,
    blocks: Blocks<D>,
    next_block: u64,
    /// Share of media among the packets.
    media: f64,
    counters: RepairCounters,
}

/// Block to which datagrams are added.
#[derive(Debug)]
struct Filling {
    block: u64,
    first: Seq48,
    protected: u128,
    /// Time at which the repair packets follow, and the last time for them.
    closes: Instant,
    until: Instant,
    symbols: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct RepairPacket {
    block: u64,
    /// Number of the first packet of the block, and the option.
    option: (Seq48, Repair),
    until: Instant,
    symbol: Vec<u8>,
}

impl<D> Protector<D> {
    /// Returns `None` for [`Fec::Off`].
    pub(crate) fn new(fec: Fec) -> Option<Self> {
        (fec != Fec::Off).then(|| Self {
            fec,
            largest: None,
            has_asked: false,
            is_wanted: false,
            loss: LossShare::default(),
            rate: MediaRate::default(),
            allowed: None,
            resumes: Instant::ZERO,
            filling: None,
            waiting: VecDeque::new(),
            taken: None,
            blocks: Blocks::default(),
            next_block: 0,
            media: 1.0,
            counters: RepairCounters::default(),
        })
    }

    /// Returns, once for each connection, that the peer should be asked to accept repair packets: with [`Fec::Auto`] once
    /// there are datagrams that need them.
    pub(crate) fn asks(&mut self) -> bool {
        let asks = !self.has_asked && (self.fec != Fec::Auto || self.is_wanted);
        self.has_asked |= asks;
        asks
    }

    /// Sets the maximum packet size of the connection, in bytes; `None` unless the peer accepts repair packets. `allowed`
    /// is the rate of its controller.
    pub(crate) fn set_path(&mut self, maximum_packet_size: Option<usize>, allowed: Option<Rate>) {
        self.allowed = allowed;
        self.largest = maximum_packet_size.and_then(|size| size.checked_sub(symbol::HEADER + OPTION_ROOM));
    }

    /// Records that the send queue has dropped a datagram.
    pub(crate) fn on_drop(&mut self, now: Instant) {
        self.resumes = now + AFTER_DROP;
    }

    pub(crate) const fn counters(&self) -> RepairCounters {
        self.counters
    }
    /// Returns the share of media among the packets, above 0 and up to 1.
    pub(crate) const fn media_share(&self) -> f64 {
        self.media
    }
    /// Returns whether repair packets wait or may follow.
    pub(crate) fn is_pending(&self) -> bool {
        self.filling.is_some() || !self.waiting.is_empty()
    }
    /// Returns when the block ends that is being filled.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.filling.as_ref().map(|filling| filling.closes)
    }

    /// Adds a sent datagram to a block, unless it needs no protection. Returns the block.
    pub(crate) fn protect(&mut self, sent: &Sent, datagram: &[u8]) -> Option<u64> {
        self.media += GAIN * (1.0 - self.media);
        self.rate.sent(sent.now, datagram.len());
        self.close_if_distant(sent.number);
        let hold = match sent.expires {
            Some(expires) => (expires.since(sent.now + sent.travel) / 2).min(MAX_HOLD),
            None => MAX_HOLD,
        };
        // Nothing is restored in time otherwise.
        let is_useful = hold > Duration::ZERO && (self.fec != Fec::Auto || self.is_needed(sent));
        self.is_wanted |= is_useful;
        if !is_useful || self.largest.is_none_or(|largest| datagram.len() > largest) {
            return None;
        }
        let (closes, until) = (sent.now + hold, sent.now + hold * 2);
        if self.filling.is_none() {
            let block = self.next_block;
            self.next_block += 1;
            self.filling =
                Some(Filling { block, first: sent.number, protected: 0, closes, until, symbols: Vec::new() });
        }
        let filling = self.filling.as_mut()?;
        let place = sent.number.distance_from(filling.first);
        if place >= MAX_SPAN {
            return None;
        }
        filling.protected |= 1 << place;
        filling.symbols.push(symbol::of(sent.order, datagram));
        let is_full = filling.symbols.len() == MAX_DATAGRAMS;
        filling.closes = if is_full { sent.now } else { filling.closes.min(closes) };
        filling.until = filling.until.min(until);
        self.blocks.add(filling.block);
        Some(filling.block)
    }

    /// Ends the block at once if this packet is too distant from its first one for another datagram.
    fn close_if_distant(&mut self, number: Seq48) {
        if let Some(filling) = &mut self.filling
            && number.distance_from(filling.first) >= MAX_SPAN - 1
        {
            filling.closes = Instant::ZERO;
        }
    }

    /// Returns whether the datagram expires before it could be sent again, and packets are lost. A loss is reported one
    /// and a half round trips after the transmission, or later: only three later packets show it, and reports can be a
    /// round trip apart. The retransmission then needs half a round trip. The limit is three round trips.
    fn is_needed(&self, sent: &Sent) -> bool {
        let returns_late = sent.expires.is_some_and(|expires| expires < sent.now + sent.travel * 6);
        returns_late && self.loss.share() > overhead::RESIDUAL
    }

    /// Records a report about a packet: of a datagram or, without a block, of another one.
    pub(crate) fn settle(&mut self, block: Option<u64>, fate: ReportedFate, lost: Option<D>) -> Option<D> {
        let arrived = fate == ReportedFate::Received;
        if fate != ReportedFate::Unknown {
            self.loss.sample(!arrived);
        }
        match block {
            Some(block) => {
                self.blocks.settle(block, arrived, lost);
                None
            }
            None => lost,
        }
    }

    /// Records that a packet of a block is not sent, or that its outcome stays unknown.
    pub(crate) fn forget(&mut self, block: u64) {
        self.blocks.settle(block, false, None);
    }

    /// Returns a lost datagram whose outcome is decided, and whether the receiver can restore it.
    pub(crate) fn poll_decided(&mut self) -> Option<(D, bool)> {
        let decided = self.blocks.poll();
        self.counters.restored_datagrams += u64::from(decided.as_ref().is_some_and(|(_, is_restored)| *is_restored));
        decided
    }

    /// Ends a block whose time has come, and returns the size of the next repair packet's data.
    pub(crate) fn next_len(&mut self, now: Instant) -> Option<usize> {
        if self.filling.as_ref().is_some_and(|filling| filling.closes <= now) {
            self.complete(now);
        }
        while self.waiting.front().is_some_and(|packet| packet.until < now) {
            if let Some(packet) = self.waiting.pop_front() {
                self.forget(packet.block);
            }
        }
        self.waiting.front().map(|packet| packet.symbol.len())
    }

    fn complete(&mut self, now: Instant) {
        let Some(Filling { block, first, protected, until, mut symbols, .. }) = self.filling.take() else { return };
        let datagrams = symbols.len();
        let repairs = match self.fec {
            Fec::Off => 0,
            Fec::Auto => {
                let repairs = overhead::repairs(datagrams, self.loss.share());
                // Otherwise they would take the place of media.
                let has_room = now >= self.resumes && self.rate.fits(self.allowed, repairs as f64 / datagrams as f64);
                if has_room { repairs } else { 0 }
            }
            Fec::Share(share) => (datagrams as f64 * share).ceil() as usize,
        };
        let repairs = if repairs == 0 { Vec::new() } else { code::encode(&mut symbols, repairs) };
        self.blocks.complete(block, repairs.len());
        let count = u8::try_from(repairs.len()).unwrap_or(u8::MAX);
        self.waiting.extend((0..count).zip(repairs).map(|(index, symbol)| {
            let repair = Repair { back: 0, protected, index, repairs: count };
            RepairPacket { block, option: (first, repair), until, symbol }
        }));
    }

    /// Returns the number of the first packet of the next repair packet's block, and its option without the distance.
    pub(crate) fn next_option(&self) -> Option<(Seq48, Repair)> {
        self.waiting.front().map(|packet| packet.option)
    }

    /// Removes the next repair packet and returns its data.
    pub(crate) fn take(&mut self) -> Option<&[u8]> {
        self.taken = self.waiting.pop_front();
        self.taken.as_ref().map(|packet| packet.symbol.as_slice())
    }

    /// Records that the repair packet taken last, if one was, is not sent.
    pub(crate) fn discard_taken(&mut self) {
        if let Some(packet) = self.taken.take() {
            self.forget(packet.block);
        }
    }

    /// Records the number of the repair packet taken last; `None` if there was none. Returns its block, unless the receiver
    /// no longer has the datagrams of that.
    pub(crate) fn sent(&mut self, number: Seq48) -> Option<Option<u64>> {
        let RepairPacket { block, option: (first, _), .. } = self.taken.take()?;
        self.counters.repair_packets += 1;
        self.media -= GAIN * self.media;
        self.close_if_distant(number);
        let is_kept = number.distance_from(first) <= MAX_BACK;
        if !is_kept {
            self.forget(block);
        }
        Some(is_kept.then_some(block))
    }

    /// Ends all blocks, at the end of a connection. Returns the lost datagrams that are not decided.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = D> + '_ {
        (self.filling, self.taken, self.largest) = (None, None, None);
        (self.has_asked, self.is_wanted) = (false, false);
        self.waiting.clear();
        self.blocks.drain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRAVEL: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// A sender whose peer accepts repair packets, after 200 reports with this share of losses.
    fn protector(fec: Fec, one_lost_of: u32) -> Protector<u64> {
        let mut protector = Protector::new(fec).unwrap();
        protector.set_path(Some(1000), None);
        for packet in 1..=200 {
            let fate = if packet % one_lost_of == 0 { ReportedFate::Lost } else { ReportedFate::Received };
            protector.settle(None, fate, None);
        }
        protector
    }

    fn sent(millis: u64, number: u64, lifetime: Option<u64>) -> Sent {
        let expires = lifetime.map(|lifetime| at(millis + lifetime));
        Sent { now: at(millis), number: Seq48::new(number), order: None, expires, travel: TRAVEL }
    }

    fn repairs(protector: &mut Protector<u64>, millis: u64) -> Vec<(u64, Repair)> {
        let mut all = Vec::new();
        while protector.next_len(at(millis)).is_some() {
            let (first, repair) = protector.next_option().unwrap();
            all.push((first.value(), repair));
            protector.take();
            protector.sent(first + 200);
        }
        all
    }

    /// Ten datagrams of 300 ms with 1 % loss: one repair packet, after half of the 200 ms in which the first can still
    /// be restored.
    #[test]
    fn a_block_ends_after_half_of_its_slack() {
        let mut protector = protector(Fec::Auto, 100);
        for packet in 0..10 {
            // The numbers between are those of acknowledgements.
            let block = protector.protect(&sent(1000 + 10 * packet, 500 + 2 * packet, Some(300)), b"media");
            assert_eq!(block, Some(0));
        }
        assert_eq!(protector.poll_timeout(), Some(at(1100)));
        assert_eq!(repairs(&mut protector, 1099), []);
        let protected = (0..10).fold(0, |bits, packet| bits | 1 << (2 * packet));
        assert_eq!(repairs(&mut protector, 1100), [(500, Repair { back: 0, protected, index: 0, repairs: 1 })]);
        assert!(!protector.is_pending());
    }

    /// Datagrams that can be sent again, or that expire on the way, need no protection, and none does without losses.
    #[test]
    fn auto_protects_only_what_cannot_be_sent_again() {
        let mut lossy = protector(Fec::Auto, 100);
        assert_eq!(lossy.protect(&sent(0, 1, None), b"media"), None);
        assert_eq!(lossy.protect(&sent(0, 2, Some(600)), b"media"), None);
        assert_eq!(lossy.protect(&sent(0, 3, Some(100)), b"media"), None);
        assert_eq!(lossy.protect(&sent(0, 4, Some(599)), b"media"), Some(0));
        let mut clean = protector(Fec::Auto, 1000);
        assert_eq!(clean.protect(&sent(0, 1, Some(300)), b"media"), None);
    }

    /// Repair packets of `auto` do not take the place of media: the allowed rate must have room for them.
    #[test]
    fn auto_sends_no_repair_packets_in_overload() {
        let mut protector = protector(Fec::Auto, 20);
        let kbps = |kbps: u64| Some(Rate::from_bits_per_second(1000 * kbps));
        let second = |protector: &mut Protector<u64>, from: u64| {
            // 80 kb/s.
            (from..from + 1000)
                .step_by(10)
                .map(|millis| {
                    protector.protect(&sent(millis, millis, Some(300)), &[0; 100]);
                    repairs(protector, millis).len()
                })
                .sum::<usize>()
        };
        protector.set_path(Some(1000), kbps(100));
        assert_eq!(second(&mut protector, 0), 0);
        protector.set_path(Some(1000), kbps(240));
        assert!(second(&mut protector, 1000) >= 10);
        protector.on_drop(at(2000));
        assert_eq!(second(&mut protector, 2000) + second(&mut protector, 3000 - 10), 0, "after a drop");
        assert!(second(&mut protector, 4100) >= 10);
    }

    #[test]
    fn late_repair_packets_are_discarded() {
        let mut protector = protector(Fec::Auto, 20);
        protector.protect(&sent(200, 2, Some(300)), b"media");
        assert_eq!(protector.next_len(at(300)), Some(symbol::HEADER + 6));
        assert_eq!(protector.next_len(at(401)), None, "they would arrive too late");
    }

    /// A constant share is rounded up and needs no loss. A block has at most 32 datagrams in 128 numbers.
    #[test]
    fn a_constant_share_protects_everything() {
        let mut protector = protector(Fec::Share(0.1), 1000);
        for packet in 0..32 {
            assert_eq!(protector.protect(&sent(packet, packet, None), &[7; 900]), Some(0));
        }
        assert_eq!(repairs(&mut protector, 31).len(), 4, "a tenth of 32");
        assert_eq!(protector.protect(&sent(40, 100, None), b"media"), Some(1));
        assert_eq!(protector.protect(&sent(41, 228, None), b"media"), None, "beyond the option's bits");
        assert_eq!(repairs(&mut protector, 41).len(), 1);
        assert_eq!(protector.protect(&sent(42, 229, None), &[7; 990]), None, "does not fit into a repair packet");
        assert_eq!(protector.counters().repair_packets, 5);
        assert!(protector.media_share() < 1.0);
    }

    /// The sender knows from the reported packets which lost datagrams the receiver has restored.
    #[test]
    fn arrivals_decide_about_lost_datagrams() {
        let mut protector = protector(Fec::Share(0.5), 1000);
        let block = protector.protect(&sent(0, 1, None), b"one");
        assert_eq!(protector.protect(&sent(1, 2, None), b"two"), block);
        assert_eq!(protector.settle(block, ReportedFate::Lost, Some(1)), None);
        assert_eq!(protector.next_len(at(100)), Some(symbol::HEADER + 4));
        protector.take();
        assert_eq!(protector.sent(Seq48::new(3)), Some(block));
        protector.settle(block, ReportedFate::Received, None);
        assert_eq!(protector.poll_decided(), None);
        protector.settle(block, ReportedFate::Received, None);
        assert_eq!(protector.poll_decided(), Some((1, true)));
        assert_eq!(protector.counters().restored_datagrams, 1);
        assert_eq!(protector.settle(None, ReportedFate::Lost, Some(9)), Some(9), "not protected");
    }

    /// A receiver keeps a datagram for 512 numbers. A repair packet that is sent later restores nothing.
    #[test]
    fn distant_repair_packets_are_useless() {
        let mut protector = protector(Fec::Share(1.0), 1000);
        let block = protector.protect(&sent(0, 1, None), b"one");
        protector.settle(block, ReportedFate::Lost, Some(1));
        protector.next_len(at(100));
        protector.take();
        assert_eq!(protector.sent(Seq48::new(258)), Some(None));
        assert_eq!(protector.poll_decided(), Some((1, false)));
    }

    /// The peer is asked once, and by `auto` only when it helps: until then a receiver keeps no datagrams.
    #[test]
    fn the_peer_is_asked_when_needed() {
        assert!(protector(Fec::Share(0.2), 1000).asks());
        let mut auto = protector(Fec::Auto, 100);
        auto.protect(&sent(0, 1, None), b"media");
        assert!(!auto.asks());
        auto.protect(&sent(0, 2, Some(300)), b"media");
        assert!(auto.asks() && !auto.asks());
        let _ = auto.drain();
        auto.protect(&sent(0, 3, Some(300)), b"media");
        assert!(auto.asks(), "another connection");
    }

    #[test]
    fn off_has_no_state() {
        assert!(Protector::<u64>::new(Fec::Off).is_none());
        let mut unagreed = Protector::<u64>::new(Fec::Share(1.0)).unwrap();
        assert_eq!(unagreed.protect(&sent(0, 1, None), b"media"), None, "the peer does not accept repair packets");
    }
}
