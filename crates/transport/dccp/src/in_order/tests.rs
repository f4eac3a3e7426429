use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const WAIT: Duration = Duration::from_millis(500);

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Receives datagrams named by their number: (time in ms, number, awaited). Returns what each delivers.
fn deliveries(all: &[(u64, u16, u16)]) -> Vec<Vec<u16>> {
    let mut in_order = InOrder::new(WAIT, 1024);
    all.iter().map(|&(millis, index, awaited)| receive(&mut in_order, at(millis), index, awaited)).collect()
}

fn receive(in_order: &mut InOrder<()>, now: Instant, index: u16, awaited: u16) -> Vec<u16> {
    let mut delivered = Vec::new();
    let mut deliver = |data: &[u8], ()| delivered.push(u16::from_be_bytes(data.try_into().unwrap_or_default()));
    in_order.handle_timeout(now, &mut deliver);
    let order = DeliveryOrder { stream: 3, index, awaited };
    in_order.receive(now, order, &index.to_be_bytes(), (), &mut deliver);
    delivered
}

/// A retransmission fills the gap, and what was held is delivered after it.
#[test]
fn datagrams_wait_for_a_retransmission() {
    let all = [(0, 7, 0), (10, 9, 1), (20, 10, 2), (30, 8, 0), (40, 11, 3)];
    assert_eq!(deliveries(&all), [vec![7], vec![], vec![], vec![8, 9, 10], vec![11]]);
}

/// The sender has given up datagram 8, which may still arrive late, once.
#[test]
fn no_datagram_waits_for_one_that_was_given_up() {
    let all = [(0, 7, 0), (10, 9, 1), (20, 10, 1), (30, 8, 0), (40, 8, 0)];
    assert_eq!(deliveries(&all), [vec![7], vec![], vec![9, 10], vec![8], vec![]]);
}

/// If the first datagrams are lost, later ones wait for them. A lost one that nothing awaits is passed over, and
/// delivered if it arrives later.
#[test]
fn the_first_datagrams_may_be_lost() {
    assert_eq!(deliveries(&[(0, 1, 0), (10, 0, 0), (20, 0, 0)]), [vec![1], vec![0], vec![]]);
    assert_eq!(deliveries(&[(0, 2, 2), (10, 0, 0), (20, 1, 0)]), [vec![], vec![0], vec![1, 2]]);
    assert_eq!(deliveries(&[(0, 2, 0), (10, 5, 0)]), [vec![2], vec![5]]);
}

/// A datagram is held for at most the set time, and those before it are delivered first.
#[test]
fn a_datagram_waits_for_a_limited_time() {
    let mut in_order = InOrder::new(WAIT, 1024);
    for (millis, index, awaited) in [(0, 0, 0), (10, 3, 3), (20, 2, 2), (300, 5, 5)] {
        receive(&mut in_order, at(millis), index, awaited);
    }
    assert_eq!(in_order.poll_timeout(), Some(at(510)));
    let mut delivered = Vec::new();
    in_order.handle_timeout(at(509), &mut |data, ()| delivered.push(data[1]));
    assert!(delivered.is_empty());
    in_order.handle_timeout(at(510), &mut |data, ()| delivered.push(data[1]));
    assert_eq!((delivered, in_order.poll_timeout()), (vec![2, 3], Some(at(800))));
    assert_eq!(receive(&mut in_order, at(790), 4, 4), [4, 5]);
    assert_eq!(in_order.poll_timeout(), None);
}

/// The number of held datagrams is limited, for any number of streams. At the end all are delivered.
#[test]
fn held_datagrams_are_limited() {
    let (mut in_order, mut delivered) = (InOrder::new(WAIT, 1024), 0);
    for number in 0..5000u16 {
        let order =
            DeliveryOrder { stream: (number % 7) as u8, index: number / 7 * 2 + 1, awaited: 1 + number / 7 * 2 };
        in_order.receive(at(0), order, &[], number, &mut |_, _| delivered += 1);
        assert!(in_order.held <= 1024 && usize::from(number) + 1 == delivered + in_order.held);
    }
    in_order.drain(&mut |_, _| delivered += 1);
    assert_eq!((delivered, in_order.poll_timeout()), (5000, None));
}

/// A datagram is delivered once, however late it is within the range of an index.
#[test]
fn very_late_datagrams_are_delivered() {
    let mut in_order = InOrder::new(WAIT, 1024);
    for index in (1..30_000).filter(|index| index % 100 != 0) {
        assert_eq!(receive(&mut in_order, at(0), index, 0), [index]);
    }
    for index in (0..30_000).step_by(100) {
        assert_eq!(receive(&mut in_order, at(0), index, 0), [index]);
        assert!(receive(&mut in_order, at(0), index, 0).is_empty());
    }
}

/// Indices are modulo 2^16.
#[test]
fn indices_wrap_around() {
    let mut in_order = InOrder::new(WAIT, 1024);
    let delivered: Vec<u16> =
        (65_000..67_000u32).flat_map(|number| receive(&mut in_order, at(0), (number & 0xffff) as u16, 5)).collect();
    assert_eq!(delivered.len(), 2000);
    assert!(receive(&mut in_order, at(0), 1465, 5).is_empty());
    assert_eq!(receive(&mut in_order, at(0), 1464, 5), [1464, 1465]);
}

proptest! {
    /// Whatever arrives, every datagram is delivered at most once, positions that are awaited arrive in order, and the
    /// state is bounded.
    #[test]
    fn nothing_is_delivered_twice(arrivals in prop::collection::vec((0..40u16, 0..40u16, 0..200u64), 1..200)) {
        let (mut in_order, mut now, mut delivered) = (InOrder::new(WAIT, 1024), at(0), Vec::new());
        for (index, awaited, later) in arrivals {
            now += Duration::from_millis(later);
            delivered.extend(receive(&mut in_order, now, index, awaited));
            prop_assert!(in_order.poll_timeout().is_none_or(|due| due > now && due <= now + WAIT));
        }
        in_order.drain(&mut |data, ()| delivered.push(u16::from_be_bytes(data.try_into().unwrap_or_default())));
        let distinct: BTreeSet<u16> = delivered.iter().copied().collect();
        prop_assert_eq!(distinct.len(), delivered.len());
    }

    /// Without losses that the sender gives up, any order of arrival within the window is restored.
    #[test]
    fn the_order_is_restored(lost in prop::collection::btree_set(0..100u16, 0..50)) {
        let mut in_order = InOrder::new(WAIT, 1024);
        let first = (0..100).filter(|index| !lost.contains(index));
        let oldest = |index: u16| index - lost.iter().copied().find(|lost| *lost <= index).unwrap_or(index);
        let mut delivered: Vec<u16> = first.flat_map(|index| receive(&mut in_order, at(0), index, oldest(index))).collect();
        for index in lost.iter().copied() {
            delivered.extend(receive(&mut in_order, at(100), index, 0));
        }
        prop_assert_eq!(delivered, (0..100).collect::<Vec<_>>());
    }
}
