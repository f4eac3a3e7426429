use super::*;
use crate::queue::testing::{Packet, check_bounds};
use headway_units::{Dscp, Ecn, Options as _};

/// A queue, and who came and left by number.
struct Run {
    queue: FqCodel,
    pool: Pool<Packet>,
    told: VecDeque<Decision>,
    came: usize,
}

impl Run {
    fn new(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::preset(Dialect::Rfc);
        change(&mut options);
        options.check().unwrap();
        Self { queue: FqCodel::new(&options), pool: Pool::default(), told: VecDeque::new(), came: 0 }
    }

    fn come(&mut self, flow: u64, size: u32) {
        let packet = self.pool.insert(Packet { flow, number: self.came, ..Packet::of(size) });
        self.came += 1;
        self.pool.slot_mut(packet).unwrap().since = Instant::ZERO;
        self.queue.hold(Instant::ZERO, packet, &mut self.pool, &mut self.told);
    }

    /// Nothing has waited yet: CoDel does nothing.
    fn leave(&mut self) -> Option<Packet> {
        let packet = self.queue.dequeue(Instant::ZERO, &mut self.pool, &mut self.told)?;
        Some(*self.pool.get(packet))
    }

    fn flows(&mut self, packets: usize) -> Vec<u64> {
        std::iter::from_fn(|| self.leave()).take(packets).map(|packet| packet.flow).collect()
    }

    fn dropped(&mut self) -> Vec<usize> {
        let told = std::mem::take(&mut self.told);
        let number = |decision| match decision {
            Decision::Dropped { packet, cause, .. } => {
                assert_eq!(cause, DropCause::QueueFull);
                self.pool.get(packet).number
            }
            Decision::Marked(_) => unreachable!(),
        };
        told.into_iter().map(number).collect()
    }
}

/// Section 4.1: of 1000 flows in 1024 queues 1024 (1 - (1 - 1/1024)^1000) = 638 queues have some, whatever the salt; and another salt makes others meet.
#[test]
fn section_4_1_hashing() {
    let numbers = |salt| {
        let mut run = Run::new(|_| {});
        run.queue.salt = Some(salt);
        // Numbers of flows are close to one another.
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
        run.come(1, 1500);
        run.come(2, 300);
    }
    let mut bytes = [0; 3];
    for _ in 0..500 {
        let packet = run.leave().unwrap();
        bytes[packet.flow as usize] += packet.size;
    }
    assert!(bytes[1].abs_diff(bytes[2]) <= 1514 + 1500, "{bytes:?}");
}

/// Section 4.2: a new queue goes before the old ones, and in the next round is one of them.
#[test]
fn section_4_2_new_queues_first() {
    let mut run = Run::new(|options| options.flows = 65_536);
    (0..10).for_each(|_| run.come(1, 1500));
    // 1500 of 1514 credits; a second packet overdraws them.
    assert_eq!(run.flows(2), [1, 1]);
    (0..3).for_each(|_| run.come(2, 1500));
    assert_eq!(run.flows(6), [2, 2, 1, 2, 1, 1]);
    assert_eq!(run.flows(20), [1; 5]);
    assert_eq!(run.queue.waiting(), (0, 0));
}

/// Section 4.2: what empties goes behind the old queues before it may be new again: who sends just one packet each time does not starve them.
#[test]
fn section_4_2_no_starvation() {
    for (retire, expected) in [
        (Retire::BehindOld, vec![2, 1, 2, 1, 2, 1]),
        // The same, as there is an old queue.
        (Retire::AtOnceIfAlone, vec![2, 1, 2, 1, 2, 1]),
    ] {
        let mut run =
            Run::new(|options| (options.flows, options.quantum, options.retire) = (65_536, Bytes::new(1500), retire));
        (0..20).for_each(|_| run.come(1, 1500));
        assert_eq!(run.flows(1), [1]);
        let mut seen = vec![];
        for _ in 0..3 {
            run.come(2, 1500);
            seen.extend(run.flows(2));
        }
        assert_eq!(seen, expected, "{retire:?}");
    }
}

/// Section 4.2 and Linux: of a new queue that is found empty while no old one is active, and another new one has a packet, the RFC keeps the credits, and Linux
/// forgets the queue.
#[test]
fn section_4_2_a_new_queue_found_empty() {
    for (retire, active) in [(Retire::BehindOld, true), (Retire::AtOnceIfAlone, false)] {
        let mut run = Run::new(|options| (options.flows, options.retire) = (65_536, retire));
        run.come(1, 100);
        assert_eq!(run.flows(1), [1]);
        run.come(2, 100);
        assert_eq!(run.flows(1), [2]);
        let number = run.queue.number(1) as usize;
        assert_eq!(run.queue.flows[number].active, active, "{retire:?}");
    }
}

/// Sections 3 and 4.2: whether a queue that has used its credits to the byte has its turn yet.
#[test]
fn section_4_2_spent_credits() {
    for (spent_at, expected) in [(SpentAt::Zero, [1, 2, 1, 2]), (SpentAt::BelowZero, [1, 1, 2, 2])] {
        let mut run = Run::new(|options| {
            (options.flows, options.quantum, options.spent_at) = (65_536, Bytes::new(1000), spent_at);
        });
        for _ in 0..4 {
            run.come(1, 1000);
            run.come(2, 1000);
        }
        assert_eq!(run.flows(4), expected, "{spent_at:?}");
    }
}

/// Section 4.1: too many packets: half of the queue with most bytes goes from its head, 64 at most. Queue 2 has more packets, and fewer bytes.
#[test]
fn section_4_1_overload() {
    for (many, half, batch, dropped) in [
        (20, HalfOf::Packets, 64, 10),
        (200, HalfOf::Packets, 64, 64),
        (200, HalfOf::Packets, 7, 7),
        (1, HalfOf::Packets, 64, 1),
        (21, HalfOf::Packets, 64, 10),
        // Of 21 x 1500 B the half are 15750: ten packets are less.
        (21, HalfOf::Bytes, 64, 11),
    ] {
        let mut run = Run::new(|options| {
            (options.flows, options.drop_half_of, options.drop_batch) = (65_536, half, batch);
            options.limit = QueueSize::Packets(2 * many + 1);
        });
        (0..many).for_each(|_| run.come(1, 1500));
        (0..=many).for_each(|_| run.come(2, 40));
        assert!(run.told.is_empty());
        run.come(2, 40);
        assert_eq!(run.dropped(), (0..dropped).collect::<Vec<_>>(), "{many} {half:?}");
        assert_eq!(run.queue.waiting().0, 2 * many + 2 - dropped as u64);
        let left = std::iter::from_fn(|| run.leave()).count() as u64;
        assert_eq!((left, run.queue.waiting()), (2 * many + 2 - dropped as u64, (0, 0)));
    }
}

/// A newcomer may be what has to go.
#[test]
fn section_4_1_the_newcomer_is_of_the_largest_queue() {
    let mut run = Run::new(|options| (options.flows, options.limit) = (65_536, QueueSize::Packets(2)));
    run.come(1, 40);
    run.come(2, 40);
    run.come(3, 1500);
    assert_eq!(run.dropped(), [2]);
}

/// ns-3: what comes to a queue that alone holds as many as the limit is dropped itself.
#[test]
fn a_queue_may_have_the_limit_for_itself() {
    for (limit_each, dropped) in [(false, [0, 1]), (true, [4, 5])] {
        let mut run = Run::new(|options| (options.limit_each, options.limit) = (limit_each, QueueSize::Packets(4)));
        run.queue.options.drop_batch = 1;
        (0..6).for_each(|_| run.come(1, 1500));
        assert_eq!(run.dropped(), dropped);
        assert_eq!(run.queue.waiting(), (4, 6000));
    }
}

/// Linux: CoDel counts what is dropped for room.
#[test]
fn drops_for_room_may_count() {
    for (drop_counts, count) in [(false, 0), (true, 5)] {
        let mut run = Run::new(|options| (options.drop_counts, options.limit) = (drop_counts, QueueSize::Packets(10)));
        (0..11).for_each(|_| run.come(1, 1500));
        let number = run.queue.number(1) as usize;
        assert_eq!(run.queue.flows[number].control_count(), count);
    }
}

impl Flow {
    fn control_count(&self) -> u32 {
        self.control.count()
    }
}

/// Each queue has a CoDel of its own: of two, that with a packet now and then loses none.
#[test]
fn section_4_2_codel_in_each_queue() {
    let mut run = Run::new(|options| options.flows = 65_536);
    (0..5_000).for_each(|_| run.come(1, 1500));
    let mut lost = [0; 3];
    for millis in 0..2_000 {
        let now = Instant::from_millis(millis);
        if millis % 20 == 0 {
            let packet = run.pool.insert(Packet { flow: 2, ..Packet::of(100) });
            run.pool.slot_mut(packet).unwrap().since = now;
            run.queue.hold(now, packet, &mut run.pool, &mut run.told);
        }
        run.queue.dequeue(now, &mut run.pool, &mut run.told).unwrap();
        for decision in run.told.drain(..) {
            let Decision::Dropped { packet, .. } = decision else { unreachable!() };
            lost[run.pool.get(packet).flow as usize] += 1;
        }
    }
    assert!(lost[1] > 50 && lost[2] == 0, "{lost:?}");
}

/// The last value that each bound accepts and the first that it refuses, as the options are documented.
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
            // The checks of CoDel, whose own tests hold their bounds.
            ("ce_threshold_marks", |options| options.ce_threshold_marks = CeThresholdMarks::L4s),
            ("target", |options| options.target = Duration::ZERO),
        ],
    );
}

/// ns-3.37, `FqCoDelQueueDisc::FqCoDelDrop`: of the queues with the most bytes the first that was created loses packets. Linux takes the lowest number.
#[test]
fn ns3_drops_from_the_oldest_of_equal_queues() {
    for salt in 0..20 {
        let run = |drop_tie| {
            let mut run = Run::new(|options| {
                (options.limit, options.drop_batch) = (QueueSize::Packets(8), 1);
                (options.flows, options.drop_tie) = (65_536, drop_tie);
            });
            run.queue.salt = Some(salt * 0x1234_5678_9abc);
            // Flows 0, 2 and 3 have 2000 B each and the others less when packet 8 is too many. Packet n of the first four is flow n's first.
            for flow in [0, 1, 2, 3, 0, 2, 3, 4] {
                run.come(flow, 1000);
            }
            run.come(1, 500);
            run
        };
        assert_eq!(run(DropTie::Oldest).dropped(), [0], "{salt}");
        let mut lowest = run(DropTie::LowestNumber);
        let first = [0, 2, 3].into_iter().min_by_key(|flow| lowest.queue.number(*flow)).unwrap();
        assert_eq!(lowest.dropped(), [first as usize], "{salt}");
    }
}
