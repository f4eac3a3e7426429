use super::*;
use crate::queue::testing::{Packet, check_bounds};
use headway_units::{Dscp, Ecn, Options as _};

/// A queue, and the numbers of the packets that arrived and departed.
struct Run {
    queue: FqCodel,
    pool: Pool<Packet>,
    decisions: VecDeque<Decision>,
    arrived: usize,
}

impl Run {
    fn new(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::preset(Dialect::Rfc);
        change(&mut options);
        options.check().unwrap();
        Self { queue: FqCodel::new(&options), pool: Pool::default(), decisions: VecDeque::new(), arrived: 0 }
    }

    fn arrive(&mut self, flow: u64, size: u32) {
        let packet = self.pool.insert(Packet { flow, number: self.arrived, ..Packet::of(size) });
        self.arrived += 1;
        self.pool.slot_mut(packet).unwrap().since = Instant::ZERO;
        self.queue.enqueue(Instant::ZERO, packet, &mut self.pool, &mut self.decisions);
    }

    /// No packet has waited: CoDel does nothing.
    fn depart(&mut self) -> Option<Packet> {
        let packet = self.queue.dequeue(Instant::ZERO, &mut self.pool, &mut self.decisions)?;
        Some(*self.pool.get(packet))
    }

    fn flows(&mut self, packets: usize) -> Vec<u64> {
        std::iter::from_fn(|| self.depart()).take(packets).map(|packet| packet.flow).collect()
    }

    fn dropped(&mut self) -> Vec<usize> {
        let decisions = std::mem::take(&mut self.decisions);
        let number = |decision| match decision {
            Decision::Dropped { packet, cause, .. } => {
                assert_eq!(cause, DropCause::QueueFull);
                self.pool.get(packet).number
            }
            Decision::Marked(_) => unreachable!(),
        };
        decisions.into_iter().map(number).collect()
    }
}

/// Section 4.1: of 1024 queues, 1024 (1 - (1 - 1/1024)^1000) = 638 are used by 1000 flows, for any salt; another salt
/// gives other collisions.
#[test]
fn section_4_1_hashing() {
    let numbers = |salt| {
        let mut run = Run::new(|_| {});
        run.queue.salt = Some(salt);
        // Flows have consecutive numbers.
        (0..1000).map(|flow| run.queue.number(flow)).collect::<Vec<_>>()
    };
    for salt in 0..20 {
        let mut used = numbers(salt * 0x1234_5678_9abc);
        assert!(used.iter().all(|number| *number < 1024));
        used.sort_unstable();
        used.dedup();
        assert!(used.len().abs_diff(638) < 50, "{salt}: {}", used.len());
    }
    assert_ne!(numbers(1), numbers(2));
    let mut run = Run::new(|_| {});
    let backlog = Backlog { packets: 0, bytes: 0, idle: false, idle_s: 0.0 };
    let arrival = Arrival { size: Bytes::new(100), ecn: Ecn::NotEct, dscp: Dscp::CS0 };
    let mut random = Random::new(7, "salt");
    let verdict = run.queue.admit(Instant::ZERO, &backlog, arrival, &mut random);
    assert_eq!((verdict, run.queue.salt), (Verdict::Admit, Some(Random::new(7, "salt").bits())));
}

/// Section 4.2: queues share by bytes, not by packets: 100 quanta of each are 151400 B.
#[test]
fn section_4_2_bytes_are_shared() {
    let mut run = Run::new(|options| options.flows = 65_536);
    for _ in 0..600 {
        run.arrive(1, 1500);
        run.arrive(2, 300);
    }
    let mut bytes = [0; 3];
    for _ in 0..500 {
        let packet = run.depart().unwrap();
        bytes[packet.flow as usize] += packet.size;
    }
    assert!(bytes[1].abs_diff(bytes[2]) <= 1514 + 1500, "{bytes:?}");
}

/// Section 4.2: a new queue is served before the old ones, and is one of them in the next round.
#[test]
fn section_4_2_new_queues_first() {
    let mut run = Run::new(|options| options.flows = 65_536);
    (0..10).for_each(|_| run.arrive(1, 1500));
    // 1500 of 1514 credits; a second packet makes them negative.
    assert_eq!(run.flows(2), [1, 1]);
    (0..3).for_each(|_| run.arrive(2, 1500));
    assert_eq!(run.flows(6), [2, 2, 1, 2, 1, 1]);
    assert_eq!(run.flows(20), [1; 5]);
    assert_eq!(run.queue.waiting(), (0, 0));
}

/// Section 4.2: an empty queue moves to the end of the old queues before it can be new again: a flow with one packet
/// at a time does not starve them.
#[test]
fn section_4_2_no_starvation() {
    for (retire, expected) in [
        (Retire::BehindOld, vec![2, 1, 2, 1, 2, 1]),
        // Equal, since there is an old queue.
        (Retire::AtOnceIfAlone, vec![2, 1, 2, 1, 2, 1]),
    ] {
        let mut run =
            Run::new(|options| (options.flows, options.quantum, options.retire) = (65_536, Bytes::new(1500), retire));
        (0..20).for_each(|_| run.arrive(1, 1500));
        assert_eq!(run.flows(1), [1]);
        let mut seen = vec![];
        for _ in 0..3 {
            run.arrive(2, 1500);
            seen.extend(run.flows(2));
        }
        assert_eq!(seen, expected, "{retire:?}");
    }
}

/// Section 4.2 and Linux: a new queue is found empty while no old one is active, and another new one has a packet. The
/// RFC keeps its credits, and Linux makes it inactive.
#[test]
fn section_4_2_a_new_queue_found_empty() {
    for (retire, active) in [(Retire::BehindOld, true), (Retire::AtOnceIfAlone, false)] {
        let mut run = Run::new(|options| (options.flows, options.retire) = (65_536, retire));
        run.arrive(1, 100);
        assert_eq!(run.flows(1), [1]);
        run.arrive(2, 100);
        assert_eq!(run.flows(1), [2]);
        let number = run.queue.number(1) as usize;
        assert_eq!(run.queue.flows[number].active, active, "{retire:?}");
    }
}

/// Sections 3 and 4.2: whether a queue with exactly zero credits is served.
#[test]
fn section_4_2_spent_credits() {
    for (spent_at, expected) in [(DeficitExhausted::Zero, [1, 2, 1, 2]), (DeficitExhausted::BelowZero, [1, 1, 2, 2])] {
        let mut run = Run::new(|options| {
            (options.flows, options.quantum, options.spent_at) = (65_536, Bytes::new(1000), spent_at);
        });
        for _ in 0..4 {
            run.arrive(1, 1000);
            run.arrive(2, 1000);
        }
        assert_eq!(run.flows(4), expected, "{spent_at:?}");
    }
}

/// Section 4.1: too many packets: half of the queue with the most bytes is dropped from its head, at most 64. Queue 2
/// has more packets, but fewer bytes.
#[test]
fn section_4_1_overload() {
    for (many, half, batch, dropped) in [
        (20, HalfOf::Packets, 64, 10),
        (200, HalfOf::Packets, 64, 64),
        (200, HalfOf::Packets, 7, 7),
        (1, HalfOf::Packets, 64, 1),
        (21, HalfOf::Packets, 64, 10),
        // Half of 21 x 1500 B is 15750 B: ten packets are less.
        (21, HalfOf::Bytes, 64, 11),
    ] {
        let mut run = Run::new(|options| {
            (options.flows, options.drop_half_of, options.drop_batch) = (65_536, half, batch);
            options.limit = QueueSize::Packets(2 * many + 1);
        });
        (0..many).for_each(|_| run.arrive(1, 1500));
        (0..=many).for_each(|_| run.arrive(2, 40));
        assert!(run.decisions.is_empty());
        run.arrive(2, 40);
        assert_eq!(run.dropped(), (0..dropped).collect::<Vec<_>>(), "{many} {half:?}");
        assert_eq!(run.queue.waiting().0, 2 * many + 2 - dropped as u64);
        let left = std::iter::from_fn(|| run.depart()).count() as u64;
        assert_eq!((left, run.queue.waiting()), (2 * many + 2 - dropped as u64, (0, 0)));
    }
}

#[test]
fn section_4_1_the_arriving_packet_may_be_dropped() {
    let mut run = Run::new(|options| (options.flows, options.limit) = (65_536, QueueSize::Packets(2)));
    run.arrive(1, 40);
    run.arrive(2, 40);
    run.arrive(3, 1500);
    assert_eq!(run.dropped(), [2]);
}

/// ns-3: a packet that arrives at a queue with `limit` packets is dropped.
#[test]
fn ns3_limits_each_queue() {
    for (limit_each, dropped) in [(false, [0, 1]), (true, [4, 5])] {
        let mut run = Run::new(|options| (options.limit_each, options.limit) = (limit_each, QueueSize::Packets(4)));
        run.queue.options.drop_batch = 1;
        (0..6).for_each(|_| run.arrive(1, 1500));
        assert_eq!(run.dropped(), dropped);
        assert_eq!(run.queue.waiting(), (4, 6000));
    }
}

#[test]
fn drops_by_the_limit_may_count() {
    for (drop_counts, count) in [(false, 0), (true, 5)] {
        let mut run = Run::new(|options| (options.drop_counts, options.limit) = (drop_counts, QueueSize::Packets(10)));
        (0..11).for_each(|_| run.arrive(1, 1500));
        let number = run.queue.number(1) as usize;
        assert_eq!(run.queue.flows[number].control_count(), count);
    }
}

impl Flow {
    fn control_count(&self) -> u32 {
        self.control.count()
    }
}

/// Each queue has its own CoDel: of two, the sparse one has no drops.
#[test]
fn section_4_2_codel_in_each_queue() {
    let mut run = Run::new(|options| options.flows = 65_536);
    (0..5_000).for_each(|_| run.arrive(1, 1500));
    let mut lost = [0; 3];
    for millis in 0..2_000 {
        let now = Instant::from_millis(millis);
        if millis % 20 == 0 {
            let packet = run.pool.insert(Packet { flow: 2, ..Packet::of(100) });
            run.pool.slot_mut(packet).unwrap().since = now;
            run.queue.enqueue(now, packet, &mut run.pool, &mut run.decisions);
        }
        run.queue.dequeue(now, &mut run.pool, &mut run.decisions).unwrap();
        for decision in run.decisions.drain(..) {
            let Decision::Dropped { packet, .. } = decision else { unreachable!() };
            lost[run.pool.get(packet).flow as usize] += 1;
        }
    }
    assert!(lost[1] > 50 && lost[2] == 0, "{lost:?}");
}

#[test]
fn each_bound_of_the_options_holds_on_both_sides() {
    check_bounds::<Options>(
        &[
            |options| options.limit = QueueSize::Packets(1),
            |options| options.flows = 1,
            |options| options.flows = 65_536,
            |options| options.quantum = Bytes::new(256),
            |options| options.quantum = Bytes::new(1_048_576),
            |options| options.drop_batch = 1,
            |options| options.drop_batch = 65_536,
        ],
        &[
            ("limit", |options| options.limit = QueueSize::Packets(0)),
            ("limit", |options| options.limit = QueueSize::Bytes(Bytes::new(10_000))),
            ("flows", |options| options.flows = 0),
            ("flows", |options| options.flows = 65_537),
            ("quantum", |options| options.quantum = Bytes::new(255)),
            ("quantum", |options| options.quantum = Bytes::new(1_048_577)),
            ("drop_batch", |options| options.drop_batch = 0),
            ("drop_batch", |options| options.drop_batch = 65_537),
            // The checks of CoDel, whose own tests cover their bounds.
            ("ce_threshold_marks", |options| options.ce_threshold_marks = CeThresholdMarks::L4s),
            ("target", |options| options.target = Duration::ZERO),
        ],
    );
}

/// ns-3.37, `FqCoDelQueueDisc::FqCoDelDrop`: of the queues with the most bytes, the one that was created first loses
/// packets. Linux uses the lowest index.
#[test]
fn ns3_drops_from_the_oldest_of_equal_queues() {
    for salt in 0..20 {
        let run = |drop_tie| {
            let mut run = Run::new(|options| {
                (options.limit, options.drop_batch) = (QueueSize::Packets(8), 1);
                (options.flows, options.drop_tie) = (65_536, drop_tie);
            });
            run.queue.salt = Some(salt * 0x1234_5678_9abc);
            // Flows 0, 2 and 3 have 2000 B each and the others less when packet 8 exceeds the limit. Packet n of the
            // first four is the first of flow n.
            for flow in [0, 1, 2, 3, 0, 2, 3, 4] {
                run.arrive(flow, 1000);
            }
            run.arrive(1, 500);
            run
        };
        assert_eq!(run(DropTie::Oldest).dropped(), [0], "{salt}");
        let mut lowest = run(DropTie::LowestNumber);
        let first = [0, 2, 3].into_iter().min_by_key(|flow| lowest.queue.number(*flow)).unwrap();
        assert_eq!(lowest.dropped(), [first as usize], "{salt}");
    }
}
