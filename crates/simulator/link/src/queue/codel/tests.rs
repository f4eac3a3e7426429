use super::*;
use crate::queue::testing::{Packet, check_bounds};
use headway_units::{Dscp, Options as _};

const SIZE: u32 = 1500;

/// A queue in which all packets arrived at time zero.
struct Full {
    codel: Codel,
    pool: Pool<Packet>,
    decisions: VecDeque<Decision>,
    left: Vec<Handle>,
}

impl Full {
    fn with(packets: usize, ecn: Ecn, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::preset(Dialect::Rfc);
        change(&mut options);
        options.check().unwrap();
        let mut full =
            Self { codel: Codel::new(&options), pool: Pool::default(), decisions: VecDeque::new(), left: vec![] };
        (0..packets).for_each(|_| full.arrive(Instant::ZERO, ecn));
        full
    }

    fn arrive(&mut self, now: Instant, ecn: Ecn) {
        let packet = self.pool.insert(Packet { ecn, ..Packet::of(SIZE) });
        self.pool.slot_mut(packet).unwrap().since = now;
        self.codel.enqueue(now, packet, &mut self.pool, &mut self.decisions);
    }

    /// Dequeues one packet. Returns how many packets were dropped, and how many marked.
    fn depart(&mut self, now: Instant) -> (usize, usize) {
        let left = self.codel.dequeue(now, &mut self.pool, &mut self.decisions);
        let marked = |decision: &Decision| matches!(decision, Decision::Marked(packet) if Some(*packet) == left);
        let marks = self.decisions.iter().filter(|decision| marked(decision)).count();
        let drops = self.decisions.len() - marks;
        self.decisions.clear();
        self.left.extend(left);
        (drops, marks)
    }
}

const fn us(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

/// Section 5.6: a queue that never empties drops at the times of `tests/data/codel-drop-times.csv` after the first
/// drop, which is INTERVAL after the sojourn time first was above TARGET.
#[test]
fn section_5_6_the_control_law() {
    let text = include_str!("../../../tests/data/codel-drop-times.csv");
    let expected: Vec<f64> =
        text.lines().filter(|line| !line.starts_with(['#', 't'])).map(|line| line.parse().unwrap()).collect();
    let mut full = Full::with(30_000, Ecn::NotEct, |_| {});
    let (mut drops, mut due) = (vec![], vec![]);
    for now in (5_000..).step_by(100).take(7_000) {
        if full.depart(us(now)).0 > 0 {
            drops.push(now);
            due.push(full.codel.control.drop_next);
        }
    }
    assert_eq!(drops[0], 105_000);
    assert!(expected.len() == 10 && drops.len() > 11);
    for (number, expected) in expected.iter().enumerate() {
        let exact = 105e6 + expected * 1e9;
        assert!((due[number] as f64 - exact).abs() < 10.0, "{number}: {} {exact}", due[number]);
        // At the next departure.
        assert_eq!(drops[number + 1], (exact / 1e5).ceil() as u64 * 100, "{number}");
    }
}

/// Section 5.6 and Linux: the first drop is due at the end of the interval, or just after it.
#[test]
fn section_5_6_for_the_interval_or_longer() {
    for (above_for, drops) in [(AboveFor::Interval, [0, 1]), (AboveFor::Longer, [0, 0])] {
        let mut full = Full::with(100, Ecn::NotEct, |options| options.above_for = above_for);
        assert_eq!([5_000, 105_000].map(|now| full.depart(us(now)).0), drops, "{above_for:?}");
        assert_eq!(full.depart(us(105_001)).0, usize::from(above_for == AboveFor::Longer));
    }
}

/// Section 5.5: packets with a sojourn time below TARGET, or with at most one MTU after them, are not dropped, and end
/// the drop state.
#[test]
fn section_5_5_the_drop_state_is_left() {
    let mut full = Full::with(60, Ecn::NotEct, |_| {});
    let mut all = 0;
    for now in (5_000..).step_by(5_000).take(70) {
        all += full.depart(us(now)).0;
        if full.codel.waiting().0 <= 1 {
            assert!(!full.codel.control.dropping);
        }
    }
    assert!(all >= 3 && full.left.len() + all == 60, "{all}");
    // The last two departed, regardless of their sojourn time.
    assert_eq!(full.codel.waiting(), (0, 0));
    let mut low = Full::with(1000, Ecn::NotEct, |options| options.target = Duration::from_secs(10));
    assert!((5_000..2_000_000).step_by(5_000).all(|now| low.depart(us(now)).0 == 0));
}

/// Section 5.5: a queue that returns to the drop state within 16 INTERVAL continues with its previous drop rate, minus
/// the initial count of that state; later it starts again at 1.
#[test]
fn section_5_5_the_drop_state_remembers() {
    for (pause_ms, remembers) in [(200, true), (2_000, false)] {
        let mut full = Full::with(10_000, Ecn::NotEct, |_| {});
        let mut now = 5_000;
        while full.codel.control.count < 9 {
            full.depart(us(now));
            now += 1_000;
        }
        // The queue becomes empty.
        full.codel.queue = Sublist::default();
        full.depart(us(now));
        assert!(!full.codel.control.dropping);
        let later = now + pause_ms * 1_000;
        (0..1_000).for_each(|_| full.arrive(us(later), Ecn::NotEct));
        now = later + 5_000;
        while !full.codel.control.dropping {
            full.depart(us(now));
            now += 1_000;
        }
        assert_eq!(full.codel.control.count, if remembers { 8 } else { 1 }, "{pause_ms}");
    }
}

/// Section 5.5: `count_ = 1; if ((delta > 1) && (now - drop_next_ < 16 * INTERVAL)) count_ = delta;`. Sixteen
/// intervals are 1.6 s: one nanosecond less keeps the difference, 1.6 s itself does not. A difference of 1 is not
/// kept. The next drop is due INTERVAL / sqrt(count) later.
#[test]
fn section_5_5_sixteen_intervals_end_the_memory() {
    const INTERVALS: u64 = 1_600_000_000;
    for (pause, lastcount, expected) in [
        (0, 1, 8),
        (INTERVALS - 1, 1, 8),
        (INTERVALS, 1, 1),
        (INTERVALS + 1, 1, 1),
        (INTERVALS - 1, 7, 2),
        (INTERVALS, 7, 1),
        (INTERVALS - 1, 8, 1),
        (INTERVALS - 1, 9, 1),
    ] {
        let mut full = Full::with(10, Ecn::NotEct, |_| {});
        let control = &mut full.codel.control;
        let drop_next = 200_000_000;
        (control.count, control.lastcount, control.drop_next) = (9, lastcount, drop_next);
        control.first_above_time = Some(105_000_000);
        let now = drop_next + pause;
        assert_eq!(full.depart(Instant::from_nanos(now)), (1, 0), "{pause} {lastcount}");
        let Control { count, drop_next, .. } = full.codel.control;
        let due = now as f64 + 1e8 / f64::from(expected).sqrt();
        assert_eq!(count, expected, "{pause} {lastcount}");
        assert!((drop_next as f64 - due).abs() < 1.0, "{pause} {lastcount}: {drop_next} instead of {due}");
    }
}

/// Linux, `codel_dequeue`: a difference of 1 sets the inverse root to 65535 / 65536. A difference of 2 takes a Newton
/// step from the previous value: from 1/3, x (3 - 2 x^2) / 2 is 25/54.
#[test]
fn linux_keeps_the_inverse_root_with_the_count() {
    for (lastcount, count, expected) in [(8, 1, 65_535.0), (7, 2, 65_536.0 * 25.0 / 54.0)] {
        let mut full = Full::with(10, Ecn::NotEct, |options| *options = Options::preset(Dialect::Linux));
        let control = &mut full.codel.control;
        (control.count, control.lastcount, control.drop_next) = (9, lastcount, 200_000);
        (control.first_above_time, control.rec_inv_sqrt) = (Some(100_000), 21_845);
        assert_eq!(full.depart(us(300_000)), (1, 0));
        let control = full.codel.control;
        assert_eq!(control.count, count);
        assert!((f64::from(control.rec_inv_sqrt) - expected).abs() < 3.0, "{}", control.rec_inv_sqrt);
    }
}

/// With ECN, packets are marked instead of dropped, at most one per departure; others are dropped.
#[test]
fn marks_replace_drops() {
    for (ecn, capable) in [(Ecn::NotEct, false), (Ecn::Ect0, true), (Ecn::Ect1, true), (Ecn::Ce, true)] {
        let count = |with_ecn| {
            let mut full = Full::with(30_000, ecn, |options| options.ecn = with_ecn);
            let departures: Vec<_> = (5_000..700_000).step_by(100).map(|now| full.depart(us(now))).collect();
            assert!(departures.iter().all(|(_, marks)| *marks <= 1));
            departures.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
        };
        let (drops, none) = count(false);
        assert!(drops > 10 && none == 0);
        assert_eq!(count(true), if capable { (0, drops) } else { (drops, 0) }, "{ecn:?}");
    }
}

/// Linux: the threshold marks packets that have waited longer, also outside of the drop state; optionally only ECT(1).
#[test]
fn the_ce_threshold_marks_by_the_sojourn_time_alone() {
    for (ecn, [all, l4s]) in [(Ecn::NotEct, [0, 0]), (Ecn::Ect0, [2, 0]), (Ecn::Ect1, [2, 2])] {
        for (which, expected) in [(CeThresholdMarks::Ect, all), (CeThresholdMarks::Ect1, l4s)] {
            let mut full = Full::with(4, ecn, |options| {
                (options.ce_threshold, options.ce_threshold_marks) = (Some(Duration::from_millis(1)), which);
            });
            let departures: Vec<_> = [500, 1_000, 1_001, 3_000].map(|now| full.depart(us(now))).to_vec();
            assert_eq!(departures.iter().map(|one| one.1).sum::<usize>(), expected, "{ecn:?} {which:?}");
            assert!(departures[..2].iter().all(|one| *one == (0, 0)), "a wait equal to the threshold is not marked");
        }
    }
}

/// After a mark in the drop state, the next interval starts when the mark was due, or when it was set (ns-3).
#[test]
fn after_a_mark() {
    for after_mark in [AfterMark::Due, AfterMark::Set] {
        let mut full = Full::with(100, Ecn::Ect0, |options| (options.ecn, options.after_mark) = (true, after_mark));
        assert_eq!([5_000, 105_000].map(|now| full.depart(us(now)).1), [0, 1], "{after_mark:?}");
        // The second was due at 205 ms, and is set at 230 ms.
        assert_eq!(full.depart(us(230_000)).1, 1);
        let from = if after_mark == AfterMark::Due { 205e6 } else { 230e6 };
        assert!((full.codel.control.drop_next as f64 - (from + 1e8 / f64::sqrt(2.0))).abs() < 1.0, "{after_mark:?}");
    }
}

/// ns-3 (`UseL4s`): packets with ECT(1) or CE are marked by the threshold and do not change the state of CoDel.
#[test]
fn l4s_packets_are_exempt() {
    for (ecn, passes) in [(Ecn::Ect1, true), (Ecn::Ce, true), (Ecn::Ect0, false), (Ecn::NotEct, false)] {
        let mut full = Full::with(1, ecn, |options| {
            (options.ce_threshold, options.ce_threshold_marks) =
                (Some(Duration::from_millis(1)), CeThresholdMarks::L4s);
        });
        (0..9).for_each(|_| full.arrive(Instant::ZERO, Ecn::NotEct));
        full.arrive(Instant::ZERO, Ecn::Ect1);
        (0..9).for_each(|_| full.arrive(Instant::ZERO, Ecn::NotEct));
        assert_eq!(full.depart(us(10_000)), (0, usize::from(passes)), "{ecn:?}");
        assert_eq!(full.codel.control.first_above_time.is_none(), passes, "{ecn:?}");
        (0..7).for_each(|_| assert_eq!(full.depart(us(10_000)), (0, 0)));
        // The ninth is dropped and the tenth departs. The eleventh is an L4S packet: it departs in spite of a due
        // drop.
        assert_eq!(full.depart(us(110_000)), (1, 0), "{ecn:?}");
        assert_eq!(full.depart(us(300_000)), (0, 1), "{ecn:?}");
        assert!(full.codel.control.dropping && full.codel.control.count == 1);
    }
}

/// Section 5.6: an empty queue is below TARGET. Linux and ns-3 skip it: if packets of other queues count, the next
/// packet may be dropped at once.
#[test]
fn section_5_6_an_empty_queue() {
    for (empty_resets, drops) in [(true, 0), (false, 1)] {
        let mut full = Full::with(2, Ecn::NotEct, |options| options.empty_resets = empty_resets);
        let Full { codel: Codel { params, control, queue, .. }, pool, decisions, .. } = &mut full;
        let mut leave = |now, queue: &mut Sublist, pool: &mut Pool<_>| {
            control.dequeue(params, us(now), queue, 10_000, pool, decisions)
        };
        assert!(leave(5_000, queue, pool).is_some() && leave(6_000, queue, pool).is_some());
        assert!(leave(7_000, queue, pool).is_none());
        for _ in 0..2 {
            let packet = pool.insert(Packet::of(SIZE));
            pool.slot_mut(packet).unwrap().since = us(100_000);
            queue.push(packet, pool);
        }
        assert!(leave(106_000, queue, pool).is_some());
        assert_eq!(decisions.len(), drops);
    }
}

/// Linux's 16 bits by hand: from 65535 / 65536 at count 1, x (3 - 2 x^2) / 2 is 0.50001 at count 2; after some steps
/// at one count the result is correct to 4 digits.
#[test]
fn newton_in_16_bits() {
    let options = Options::preset(Dialect::Linux);
    let params = Params::new(&options);
    assert_eq!((params.tick, params.target, params.interval), (1024, 4_882, 97_656));
    let mut control = Control { count: 2, ..Control::default() };
    control.newton_step(&params);
    assert!(control.rec_inv_sqrt.abs_diff(32_768) < 4, "{}", control.rec_inv_sqrt);
    for count in [2_u32, 3, 10, 100, 1000] {
        control.count = count;
        control.rec_inv_sqrt = (65_536.0 / f64::from(count).sqrt() * 0.9) as u16;
        (0..6).for_each(|_| control.newton_step(&params));
        let exact = 97_656.0 / f64::from(count).sqrt();
        let found = control.control_law(&params, 0) as f64;
        assert!((found / exact - 1.0).abs() < 2e-3, "{count}: {found} {exact}");
    }
}

#[test]
fn the_limit_is_a_tail_drop() {
    let codel = |limit: &str| {
        let options = Options { limit: limit.parse().unwrap(), ..Options::preset(Dialect::Rfc) };
        let mut codel = Codel::new(&options);
        move |packets: u64, idle: bool| {
            let backlog = Backlog { packets, bytes: packets * 1500, idle, idle_s: 0.0 };
            let arrival = Arrival { size: Bytes::new(1500), ecn: Ecn::Ect0, dscp: Dscp::CS0 };
            codel.admit(Instant::ZERO, &backlog, arrival, &mut Random::new(1, "")) == Verdict::Admit
        }
    };
    let (mut packets, mut bytes) = (codel("5packets"), codel("7500B"));
    assert_eq!([packets(4, false), packets(5, false), bytes(4, false), bytes(5, false)], [true, false, true, false]);
    // A packet that is transmitted at once does not wait.
    assert!(codel("1B")(0, true));
}

#[test]
fn each_bound_of_the_options_holds_on_both_sides() {
    check_bounds::<Options>(
        &[
            |options| options.limit = QueueSize::Packets(1),
            |options| options.target = Duration::from_nanos(1),
            |options| options.interval = Duration::from_nanos(1),
            |options| options.tick = Duration::from_nanos(1),
            |options| options.tick = Duration::from_millis(1),
            |options| {
                (options.ce_threshold_marks, options.ce_threshold) = (CeThresholdMarks::L4s, Some(Duration::ZERO));
            },
        ],
        &[
            ("limit", |options| options.limit = QueueSize::Packets(0)),
            ("target", |options| options.target = Duration::ZERO),
            ("interval", |options| options.interval = Duration::ZERO),
            ("tick", |options| options.tick = Duration::ZERO),
            ("tick", |options| options.tick = Duration::from_nanos(1_000_001)),
            ("ce_threshold_marks", |options| options.ce_threshold_marks = CeThresholdMarks::L4s),
        ],
    );
}
