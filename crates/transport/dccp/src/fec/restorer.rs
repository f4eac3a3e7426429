//! Receiver of repair packets: restores lost datagrams.

use super::{code, symbol};
use crate::{DeliveryOrder, Repair};
use headway_units::Seq48;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Number of packets, up to the newest, of which datagrams are kept.
const WINDOW: u64 = 512;
/// Maximum number of repair packets that are kept.
const MAX_REPAIRS: usize = 256;
/// Place of the first packet: those before it have places, too.
const ORIGIN: u64 = 1 << 48;

/// Restores lost datagrams from repair packets (forward error correction).
///
/// It keeps the datagrams of up to 512 packets.
///
/// ```
/// use headway_dccp::{Repair, Restorer};
/// use headway_units::Seq48;
///
/// let mut restorer = Restorer::new();
/// // A repair packet of which all datagrams are missing restores none.
/// let repair = Repair { back: 2, protected: 0b11, index: 0, repairs: 1 };
/// restorer.receive_repair(Seq48::new(7), &repair, &[0; 16], &mut |_, _, _| panic!("restored"));
/// // A datagram is delivered, unless it was restored or received before.
/// let mut delivered = 0;
/// restorer.receive(Seq48::new(8), None, b"frame", &mut |_, _, _| delivered += 1);
/// restorer.receive(Seq48::new(8), None, b"frame", &mut |_, _, _| delivered += 1);
/// assert_eq!(delivered, 1);
/// ```
#[derive(Debug, Default)]
pub struct Restorer {
    /// Number and place of the newest packet.
    newest: Option<(Seq48, u64)>,
    /// Symbols of received and restored datagrams, by the places of their packets.
    symbols: BTreeMap<u64, Vec<u8>>,
    /// Places of the restored ones.
    restored: BTreeSet<u64>,
    missing_restored: u64,
    /// Blocks with missing datagrams, by the places of their first packets.
    blocks: BTreeMap<u64, Block>,
}

#[derive(Debug)]
struct Block {
    repair: Repair,
    repairs: Vec<(u8, Vec<u8>)>,
}

impl Block {
    /// Returns the places of the protected packets.
    fn places(&self, first: u64) -> impl Iterator<Item = u64> {
        let protected = self.repair.protected;
        (0..128).filter(move |bit| protected >> bit & 1 == 1).map(move |bit| first + bit)
    }
}

impl Restorer {
    /// Creates a restorer without state.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Receives a datagram, the number of its packet and its position. Calls `deliver` with the same values, unless it was
    /// restored before, and for each datagram that can now be restored.
    pub fn receive(
        &mut self,
        number: Seq48,
        order: Option<DeliveryOrder>,
        datagram: &[u8],
        deliver: &mut impl FnMut(Seq48, Option<DeliveryOrder>, &[u8]),
    ) {
        let (place, newest) = self.place(number);
        if place + WINDOW <= newest {
            return deliver(number, order, datagram);
        }
        let Entry::Vacant(vacant) = self.symbols.entry(place) else {
            self.missing_restored -= u64::from(self.restored.remove(&place));
            return;
        };
        vacant.insert(symbol::of(order, datagram));
        deliver(number, order, datagram);
        // A datagram that arrives after repair packets of its block may complete that.
        let of_it = self.blocks.range(place.saturating_sub(127)..=place).next_back();
        if let Some(first) = of_it.map(|(first, _)| *first) {
            self.restore(first, deliver);
        }
    }

    /// Receives a repair packet and its number. Calls `deliver` with number, position and bytes of each datagram that it
    /// restores, in the order of their packets.
    pub fn receive_repair(
        &mut self,
        number: Seq48,
        repair: &Repair,
        data: &[u8],
        deliver: &mut impl FnMut(Seq48, Option<DeliveryOrder>, &[u8]),
    ) {
        let (place, newest) = self.place(number);
        let first = place.saturating_sub(u64::from(repair.back));
        let kept: usize = self.blocks.values().map(|block| block.repairs.len()).sum();
        if first + WINDOW <= newest || kept >= MAX_REPAIRS {
            return;
        }
        let block = self.blocks.entry(first).or_insert_with(|| Block { repair: *repair, repairs: Vec::new() });
        // All packets of a block agree on it.
        let agrees = (block.repair.protected, block.repair.repairs) == (repair.protected, repair.repairs)
            && block.repairs.iter().all(|(index, other)| *index != repair.index && other.len() == data.len());
        if agrees {
            block.repairs.push((repair.index, data.to_vec()));
        }
        self.restore(first, deliver);
    }

    /// Returns the number of packets whose datagrams were restored and that have not arrived.
    #[must_use]
    pub const fn missing_restored(&self) -> u64 {
        self.missing_restored
    }

    /// Restores the block with this first packet if it has enough packets.
    fn restore(&mut self, first: u64, deliver: &mut impl FnMut(Seq48, Option<DeliveryOrder>, &[u8])) {
        let Self { blocks, symbols, restored: all, missing_restored, newest: Some((newest, newest_place)), .. } = self
        else {
            return;
        };
        let Some(block) = blocks.get(&first) else { return };
        let places: Vec<u64> = block.places(first).collect();
        let missing = places.iter().filter(|place| !symbols.contains_key(*place)).count();
        if missing > block.repairs.len() {
            return;
        }
        if missing > 0 {
            let len = block.repairs.first().map_or(0, |(_, symbol)| symbol.len());
            let known: Vec<_> =
                places.iter().map(|place| symbols.get(place).map(|symbol| padded(symbol, len))).collect();
            for (index, restored) in code::decode(&known, &block.repairs, block.repair.repairs) {
                if let (Some(missing), Some((order, datagram))) = (places.get(index), symbol::read(&restored)) {
                    deliver(*newest - newest_place.saturating_sub(*missing), order, datagram);
                    symbols.insert(*missing, symbol::of(order, datagram));
                    *missing_restored += u64::from(all.insert(*missing));
                }
            }
        }
        blocks.remove(&first);
    }

    /// Returns the place of a packet and that of the newest, and forgets packets far behind that.
    fn place(&mut self, number: Seq48) -> (u64, u64) {
        let (newest, place) = *self.newest.get_or_insert((number, ORIGIN));
        if number.is_before(newest) {
            return (place.saturating_sub(newest.distance_from(number)), place);
        }
        let place = place + number.distance_from(newest);
        self.newest = Some((number, place));
        let oldest = place.saturating_sub(WINDOW - 1);
        if self.symbols.first_key_value().is_some_and(|(place, _)| *place < oldest) {
            self.symbols = self.symbols.split_off(&oldest);
            self.restored = self.restored.split_off(&oldest);
        }
        if self.blocks.first_key_value().is_some_and(|(first, _)| *first < oldest) {
            self.blocks = self.blocks.split_off(&oldest);
        }
        (place, place)
    }
}

/// Returns a symbol with zeros up to this length.
fn padded(symbol: &[u8], len: usize) -> Vec<u8> {
    let mut padded = symbol.to_vec();
    padded.resize(len.max(symbol.len()), 0);
    padded
}

#[cfg(test)]
mod tests {
    use super::super::{Fec, Protector, Sent};
    use super::*;
    use headway_units::{Duration, Instant};
    use proptest::prelude::*;

    /// Packet of a test: its number, its option if it is a repair packet, and its data.
    type Packet = (u64, Option<Repair>, Vec<u8>);

    /// Sends a datagram of each size, one a millisecond, with half as many repair packets.
    fn packets(first: u64, sizes: &[usize]) -> Vec<Packet> {
        let mut protector = Protector::<()>::new(Fec::Share(0.5)).unwrap();
        protector.set_path(Some(1400), None);
        let (mut all, mut next) = (Vec::new(), Seq48::new(first));
        // The last block ends after 100 ms.
        for millis in 0..sizes.len() + 150 {
            let now = Instant::from_millis(millis as u64);
            if let Some(size) = sizes.get(millis) {
                let datagram = vec![millis as u8; *size];
                let order = Some(DeliveryOrder { stream: 1, index: u16::from(millis as u8), awaited: 0 });
                protector.protect(&Sent { now, number: next, order, expires: None, travel: Duration::ZERO }, &datagram);
                all.push((next.value(), None, datagram));
                next += 1;
            }
            while protector.next_len(now).is_some() {
                let (first, repair) = protector.next_option().unwrap();
                let back = u16::try_from(next.distance_from(first)).unwrap();
                let data = protector.take().unwrap().to_vec();
                all.push((next.value(), Some(Repair { back, ..repair }), data));
                protector.sent(next);
                next += 1;
            }
        }
        all
    }

    /// Datagrams by the number of their packet.
    type Datagrams = BTreeMap<u64, Vec<u8>>;

    /// Receives packets; returns the datagrams that are delivered as received, and those that are restored.
    fn receive<'a>(restorer: &mut Restorer, packets: impl IntoIterator<Item = &'a Packet>) -> (Datagrams, Datagrams) {
        let (mut received, mut restored) = (Datagrams::new(), Datagrams::new());
        for (number, repair, data) in packets {
            let seq = Seq48::new(*number);
            let mut deliver = |seq: Seq48, order: Option<DeliveryOrder>, data: &[u8]| {
                assert_eq!(order.unwrap().index, u16::from(data[0]));
                let delivered = if seq.value() == *number { &mut received } else { &mut restored };
                assert!(delivered.insert(seq.value(), data.to_vec()).is_none());
            };
            match repair {
                None => {
                    let order = Some(DeliveryOrder { stream: 1, index: u16::from(data[0]), awaited: 0 });
                    restorer.receive(seq, order, data, &mut deliver);
                }
                Some(repair) => restorer.receive_repair(seq, repair, data, &mut deliver),
            }
        }
        (received, restored)
    }

    fn is_datagram(packet: &&Packet) -> bool {
        packet.1.is_none()
    }

    /// A block before the numbers wrap and one after it, with losses that the repair packets make good.
    #[test]
    fn losses_are_restored() {
        let mut restorer = Restorer::new();
        let all = packets((1 << 48) - 40, &[100; 64]);
        let arriving: Vec<_> = all.iter().filter(|packet| packet.1.is_some() || packet.2[0] % 3 != 0).collect();
        let (received, restored) = receive(&mut restorer, arriving);
        let lost = all.iter().filter(is_datagram).filter(|packet| packet.2[0] % 3 == 0);
        let lost: Datagrams = lost.map(|(number, _, data)| (*number, data.clone())).collect();
        assert_eq!(restored, lost);
        assert_eq!(received.len(), 42);
    }

    /// A datagram that arrives after it was restored is not delivered twice.
    #[test]
    fn a_restored_datagram_is_not_received_again() {
        let mut restorer = Restorer::new();
        let all = packets(0, &[100; 64]);
        let (late, others): (Vec<_>, Vec<_>) = all.iter().partition(|packet| is_datagram(packet) && packet.2[0] == 40);
        let (_, restored) = receive(&mut restorer, others);
        assert_eq!(restored.len(), 1);
        assert_eq!(restorer.missing_restored(), 1);
        assert_eq!(receive(&mut restorer, late), (Datagrams::new(), Datagrams::new()));
        assert_eq!(restorer.missing_restored(), 0, "its packet is no longer missing");
    }

    #[test]
    fn memory_is_limited() {
        let mut restorer = Restorer::new();
        let mut delivered = 0;
        for number in 0..10_000 {
            restorer.receive(Seq48::new(number), None, b"media", &mut |_, _, _| delivered += 1);
        }
        assert_eq!((delivered, restorer.symbols.len()), (10_000, 512));
    }

    proptest! {
        /// Any loss and any order of the packets: what is restored was sent, and nothing is delivered twice.
        #[test]
        fn only_sent_datagrams_are_restored(
            sizes in prop::collection::vec(1_usize..300, 40..120), lost: u128, swaps in prop::collection::vec((0_usize..150, 0_usize..12), 0..40),
        ) {
            let mut restorer = Restorer::new();
            let all = packets(lost as u64 >> 20, &sizes);
            let mut arriving: Vec<_> = (0..128).cycle().zip(&all).filter(|(bit, _)| lost >> bit & 1 == 0).map(|(_, packet)| packet).collect();
            for (place, by) in swaps {
                if place + by < arriving.len() {
                    arriving.swap(place, place + by);
                }
            }
            let (mut received, restored) = receive(&mut restorer, arriving);
            let sent: Datagrams = all.iter().filter(is_datagram).map(|(number, _, data)| (*number, data.clone())).collect();
            for (number, data) in restored {
                prop_assert_eq!(sent.get(&number), Some(&data));
                prop_assert!(received.insert(number, data).is_none());
            }
        }

        /// Forged repair packets neither panic nor use memory without bound.
        #[test]
        fn forged_repair_packets_are_harmless(
            forged in prop::collection::vec((0_u64..2000, 1_u16.., any::<u128>(), 0_u8..4, 1_u8..5, prop::collection::vec(any::<u8>(), 0..40)), 1..200),
        ) {
            let mut restorer = Restorer::new();
            for (number, back, protected, index, repairs, data) in forged {
                let repair = Repair { back, protected: protected | 1, index: index.min(repairs - 1), repairs };
                restorer.receive_repair(Seq48::new(number), &repair, &data, &mut |_, _, _| {});
                restorer.receive(Seq48::new(number + 1), None, &data, &mut |_, _, _| {});
            }
            prop_assert!(restorer.symbols.len() <= 1024 && restorer.blocks.len() <= 512);
        }
    }
}
