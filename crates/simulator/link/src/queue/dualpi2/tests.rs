use super::*;
use crate::queue::testing::{Packet, check_bounds};
use headway_units::{Dscp, Options as _};

struct Run {
    queue: DualPi2,
    pool: Pool<Packet>,
    decisions: VecDeque<Decision>,
}

/// A departure: the packet, whether it was marked, and how many were dropped before it.
type Left = (Option<Ecn>, bool, usize);

impl Run {
    fn new(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::preset(Dialect::Rfc);
        change(&mut options);
        options.check().unwrap();
        let facts = LinkProperties { rate: "10Mbps".parse().unwrap(), delay: Duration::ZERO };
        Self { queue: DualPi2::new(&options, facts), pool: Pool::default(), decisions: VecDeque::new() }
    }

    /// A queue whose p' is constant.
    fn held_at(p: f64, change: impl FnOnce(&mut Options)) -> Self {
        let mut run = Self::new(change);
        run.queue.base.p = p;
        run.queue.next_update = Instant::FAR_FUTURE;
        run
    }

    fn arrive(&mut self, now: Instant, ecn: Ecn) {
        let packet = self.pool.insert(Packet { ecn, ..Packet::of(1500) });
        self.pool.slot_mut(packet).unwrap().since = now;
        self.queue.enqueue(now, packet, &mut self.pool, &mut self.decisions);
    }

    fn depart(&mut self, now: Instant) -> Left {
        let packet = self.queue.dequeue(now, &mut self.pool, &mut self.decisions);
        let marked = self.decisions.iter().any(|decision| matches!(decision, Decision::Marked(_)));
        let dropped = self.decisions.len() - usize::from(marked);
        self.decisions.clear();
        (packet.map(|packet| self.pool.get(packet).ecn), marked, dropped)
    }

    /// Passes this many packets without waiting. Returns the numbers of marks and drops.
    fn shares(&mut self, ecn: Ecn, packets: usize) -> (usize, usize) {
        (0..packets).for_each(|_| self.arrive(ms(0), ecn));
        let mut all = (0, 0);
        loop {
            let (left, marked, dropped) = self.depart(ms(0));
            all = (all.0 + usize::from(marked), all.1 + dropped);
            if left.is_none() {
                return all;
            }
        }
    }
}

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Figure 6: the delays of `tests/data/dualpi2-probabilities.csv`, with Tupdate = 16 ms.
#[test]
fn figure_6_the_base_controller() {
    let mut base = Run::new(|options| options.t_update = Some(Duration::from_millis(16))).queue.base;
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    close(base.alpha, 0.16);
    close(base.beta, 3.0);
    let rows = include_str!("../../../tests/data/dualpi2-probabilities.csv");
    let rows = rows.lines().filter(|line| !line.starts_with(['#', 'd']));
    assert_eq!(rows.clone().count(), 5);
    for row in rows {
        let row: Vec<f64> = row.split(',').map(|field| field.parse().unwrap()).collect();
        base.update(row[0]);
        close(base.p, row[1]);
        close(base.p_cl(), row[2]);
        close(base.p_c(), row[3]);
    }
    // Within 0 and 1, for any wait.
    base.update(1e3);
    assert_eq!((base.p, base.p_cl(), base.p_c()), (1.0, 1.0, 1.0));
    base.update(0.0);
    assert_eq!(base.p, 0.0);
    close(base.p_c_max(), 0.25);
}

/// Figure 2: derived values.
#[test]
fn figure_2_defaults() {
    let queue = Run::new(|_| {}).queue;
    assert_eq!((queue.t_update, queue.limit), (Duration::from_millis(15), QueueSize::Bytes(Bytes::new(312_500))));
    assert!((queue.base.alpha - 0.15).abs() < 1e-12 && (queue.base.beta - 3.0).abs() < 1e-12);
    let short = Run::new(|options| options.rtt_max = Duration::from_millis(30)).queue;
    assert_eq!(short.t_update, Duration::from_millis(10));
}

/// Figure 5: from minTh to minTh + range.
#[test]
fn figure_5_the_ramp() {
    let queue = Run::new(|_| {}).queue;
    let at = |micros| queue.laqm(Duration::from_micros(micros));
    assert_eq!([at(0), at(800), at(1200), at(5000)], [0.0, 0.0, 1.0, 1.0]);
    assert!((at(1000) - 0.5).abs() < 1e-12 && (at(900) - 0.25).abs() < 1e-12);
}

/// Figure 4: the distance of marks is the inverse of their likelihood.
#[test]
fn figure_4_recur() {
    let mut queue = Queue::default();
    let turns: Vec<_> = (1..=20).filter(|_| queue.recur(0.25)).collect();
    assert_eq!(turns, [5, 9, 13, 17]);
    assert!(!Queue::default().recur(1.0) && !Queue::default().recur(0.0));
}

/// Figure 3: ECT(1) and CE are in the L queue, and depart before earlier packets of the other queue.
#[test]
fn figure_3_the_classifier() {
    let mut run = Run::new(|_| {});
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        run.arrive(ms(0), ecn);
    }
    let left: Vec<_> = (0..5).map(|_| run.depart(ms(0)).0).collect();
    assert_eq!(left, [Some(Ecn::Ect1), Some(Ecn::Ce), Some(Ecn::NotEct), Some(Ecn::Ect0), None]);
    assert_eq!(run.queue.waiting(), (0, 0));
}

/// Figure 3: a packet is admitted if one MTU fits, with a limit of both queues together.
#[test]
fn figure_3_the_limit() {
    let mut run = Run::new(|options| options.limit = Some(QueueSize::Bytes(Bytes::new(3_500))));
    let mut admits = |bytes, size, idle| {
        let backlog = Backlog { packets: 1, bytes, idle, idle_s: 0.0 };
        let arrival = Arrival { size: Bytes::new(size), ecn: Ecn::Ect1, dscp: Dscp::CS0 };
        run.queue.admit(ms(0), &backlog, arrival, &mut Random::new(1, "")) == Verdict::Admit
    };
    assert!(admits(2_000, 40, false) && !admits(2_001, 40, false) && admits(2_000, 1_500, false));
    assert!(!admits(2_000, 1_501, false) && admits(3_500, 9_000, true));
}

/// Figure 7 lines 5 and 6: the native ramp of the L queue does not mark a single packet, but coupled marks do.
#[test]
fn figure_7_marks_of_the_l_queue() {
    let mut run = Run::held_at(0.0, |_| {});
    (0..5).for_each(|_| run.arrive(ms(0), Ecn::Ect1));
    let marks: Vec<_> = (0..5).map(|_| run.depart(ms(2)).1).collect();
    // The first sum is 1, which is not above 1.
    assert_eq!(marks, [false, true, true, true, false]);
    // p' = 0.1: p_CL = 0.2.
    let mut coupled = Run::held_at(0.1, |_| {});
    let (marks, drops) = coupled.shares(Ecn::Ect1, 1000);
    assert!(marks.abs_diff(200) <= 1 && drops == 0, "{marks}");
}

/// Figure 7 lines 10 to 17, and the persistent overload of lines 8 and 12b. p_C = p'^2, and p_CL reaches 1 at p' =
/// 1/2, where p_C reaches 1/4.
#[test]
fn figure_7_classic_drops_and_overload() {
    for (ecn, p, marks, drops) in [
        (Ecn::NotEct, 0.1, 0, 10),
        (Ecn::Ect0, 0.1, 10, 0),
        (Ecn::Ect0, 0.49, 240, 0),
        (Ecn::Ect0, 0.5, 0, 250),
        (Ecn::NotEct, 0.5, 0, 250),
        (Ecn::Ect1, 0.49, 980, 0),
        (Ecn::Ect1, 0.5, 750, 250),
        (Ecn::Ect1, 1.0, 0, 1000),
    ] {
        let mut run = Run::held_at(p, |_| {});
        let found = run.shares(ecn, 1000);
        assert!(found.0.abs_diff(marks) <= 2 && found.1.abs_diff(drops) <= 2, "{ecn:?} {p}: {found:?}");
    }
    // Linux: below two MTU nothing is dropped.
    let mut spared = Run::held_at(1.0, |options| options.min_backlog = Bytes::new(3_000));
    assert_eq!(spared.shares(Ecn::NotEct, 1), (0, 0));
}

/// Figure 8: the longer wait drives the controller at each multiple of Tupdate, regardless of calls in between.
#[test]
fn figure_8_missed_updates_are_caught_up_on() {
    let [mut often, mut rarely] = [0; 2].map(|_| Run::new(|_| {}));
    for run in [&mut often, &mut rarely] {
        run.arrive(ms(7), Ecn::Ect0);
        run.arrive(ms(11), Ecn::Ect1);
    }
    for now in 11..=100 {
        often.queue.update_until(ms(now), &often.pool);
    }
    rarely.queue.update_until(ms(100), &rarely.pool);
    assert_eq!((rarely.queue.base, rarely.queue.next_update), (often.queue.base, ms(105)));
    // Waits of 8, 23, 38, .. 83 ms at 15, 30, 45, .. 90 ms.
    let expected = (1..=5).map(|n| 0.15 * (0.015 * f64::from(n) - 0.007) + 3.0 * 0.015).sum::<f64>();
    let first = 0.15 * -0.007 + 3.0 * 0.008;
    assert!((rarely.queue.base.p - first - expected).abs() < 1e-12, "{}", rarely.queue.base.p);
    // The L queue alone drives it, too.
    let mut l = Run::new(|_| {});
    l.arrive(ms(0), Ecn::Ect1);
    l.queue.update_until(ms(15), &l.pool);
    assert!((l.queue.base.p - 3.0 * 0.015).abs() < 1e-12);
    // A year of idle time is fast.
    let mut idle = Run::new(|_| {});
    idle.queue.base.p = 1.0;
    idle.queue.update_until(Instant::from_secs(31_557_600), &idle.pool);
    assert!(idle.queue.base.p == 0.0 && idle.queue.next_update > Instant::from_secs(31_557_600));
}

/// Section 4.2.2: while both queues wait, the Classic queue gets its weight of the bytes; alone it gets everything.
#[test]
fn weighted_round_robin() {
    for weight in [1.0 / 16.0, 0.1, 0.5] {
        let mut run = Run::held_at(0.0, |options| options.classic_weight = weight);
        for _ in 0..2000 {
            run.arrive(ms(0), Ecn::Ect1);
            run.arrive(ms(0), Ecn::NotEct);
        }
        let classic = (0..1600).filter(|_| run.depart(ms(0)).0 == Some(Ecn::NotEct)).count() as f64;
        assert!((classic - 1600.0 * weight).abs() <= 2.0, "{weight}: {classic}");
    }
}

/// RFC 9332 appendix A.1: the WRR credit is reset in favor of L when the link is idle. A queue that is empty while its
/// last packet is transmitted is not idle.
#[test]
fn appendix_a1_the_credit_is_reset_when_the_link_is_idle() {
    let first_departure = |is_idle: bool| {
        let mut run = Run::held_at(0.0, |options| options.classic_weight = 0.9);
        // The first credit is 1500 B (2 x 0.9 - 1) = 1200 B. That is above zero, so that C is served, which costs 150
        // B while L waits.
        run.arrive(ms(0), Ecn::NotEct);
        run.arrive(ms(0), Ecn::Ect1);
        assert_eq!(run.depart(ms(0)).0, Some(Ecn::NotEct), "1200 B");
        assert_eq!(run.depart(ms(1)).0, Some(Ecn::Ect1), "1050 B, and C does not wait");
        run.queue.credit = -1.0;
        // Both queues are empty. At the end of the transmission the link asks for a packet, unless one has arrived.
        if is_idle {
            assert_eq!(run.depart(ms(2)).0, None);
        }
        run.arrive(ms(2), Ecn::NotEct);
        run.arrive(ms(2), Ecn::Ect1);
        run.depart(ms(2)).0
    };
    assert_eq!(first_departure(false), Some(Ecn::Ect1), "the credit of -1 B is kept");
    assert_eq!(first_departure(true), Some(Ecn::NotEct), "reset to 1200 B");
}

/// RFC 9332 section 2.1 and figure 2 line 21: p_CL is at most p_Lmax = 1, so that marks end with an overload.
#[test]
fn figure_2_line_21_marks_end_with_the_overload() {
    let mut run = Run::held_at(1.0, |options| options.k = 4.0);
    // p' = 1/2: p_CL is bounded by 1, and p_C = 1/4.
    run.queue.base.p = 0.5;
    let (marks, drops) = run.shares(Ecn::Ect1, 1000);
    assert!(marks.abs_diff(750) <= 2 && drops.abs_diff(250) <= 2, "{marks} {drops}");
    run.queue.base.p = 0.0;
    assert_eq!(run.shares(Ecn::Ect1, 1000), (0, 0));
}

/// Appendix A.2: the head that has waited longest, with 50 ms less for the Classic one.
#[test]
fn time_shifted_fifo() {
    for (arrival, classic_first) in [(49, false), (50, false), (51, true)] {
        let mut run = Run::held_at(0.0, |options| options.scheduler = Scheduler::TsFifo);
        run.arrive(ms(0), Ecn::Ect0);
        run.arrive(ms(arrival), Ecn::Ect1);
        assert_eq!(run.depart(ms(60)).0 == Some(Ecn::Ect0), classic_first, "{arrival}");
    }
}

#[test]
fn each_bound_of_the_options_holds_on_both_sides() {
    check_bounds::<Options>(
        &[
            |options| options.limit = Some(QueueSize::Packets(1)),
            |options| options.target = Duration::from_micros(100),
            |options| options.rtt_max = Duration::from_micros(300),
            |options| options.t_update = Some(Duration::from_micros(100)),
            |options| options.t_update = Some(Duration::from_secs(10)),
            |options| options.alpha = Some(f64::MIN_POSITIVE),
            |options| options.alpha = Some(1000.0),
            |options| options.beta = Some(0.0),
            |options| options.beta = Some(1000.0),
            |options| options.k = 0.1,
            |options| options.k = 100.0,
            |options| options.range = Duration::from_nanos(1),
            |options| options.classic_weight = f64::MIN_POSITIVE,
            |options| options.classic_weight = 1.0_f64.next_down(),
        ],
        &[
            ("limit", |options| options.limit = Some(QueueSize::Packets(0))),
            ("target", |options| options.target = Duration::ZERO),
            ("rtt_max", |options| options.rtt_max = Duration::ZERO),
            // `t_update` follows from these two.
            ("t_update", |options| options.target = Duration::from_nanos(99_999)),
            ("t_update", |options| options.rtt_max = Duration::from_nanos(299_999)),
            ("t_update", |options| options.t_update = Some(Duration::from_nanos(99_999))),
            ("t_update", |options| options.t_update = Some(Duration::from_nanos(10_000_000_001))),
            ("alpha", |options| options.alpha = Some(0.0)),
            ("alpha", |options| options.alpha = Some(1000.0_f64.next_up())),
            ("alpha", |options| options.alpha = Some(f64::NAN)),
            ("beta", |options| options.beta = Some(0.0_f64.next_down())),
            ("beta", |options| options.beta = Some(1000.0_f64.next_up())),
            ("k", |options| options.k = 0.1_f64.next_down()),
            ("k", |options| options.k = 100.0_f64.next_up()),
            ("range", |options| options.range = Duration::ZERO),
            ("classic_weight", |options| options.classic_weight = 0.0),
            ("classic_weight", |options| options.classic_weight = 1.0),
        ],
    );
}
