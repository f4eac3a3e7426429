use super::*;
use crate::queue::testing::{Packet, check_bounds};
use headway_units::{Dscp, Ecn, Options as _};

const SIZE: u32 = 1000;

fn pie(change: impl FnOnce(&mut Options)) -> Pie {
    let mut options = Options::preset(Dialect::Rfc);
    change(&mut options);
    options.check().unwrap();
    Pie::new(&options)
}

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn measured(pie: &mut Pie, delay: f64) {
    pie.gauge.departed(Instant::ZERO + Duration::from_secs_f64(delay), Instant::ZERO, SIZE, 1);
}

fn backlog(bytes: u64) -> Backlog {
    Backlog { packets: bytes / u64::from(SIZE), bytes, idle: bytes == 0, idle_s: 0.0 }
}

fn arrive(pie: &mut Pie, now: Instant, bytes: u64, ecn: Ecn, random: &mut Random) -> Verdict {
    pie.admit(now, &backlog(bytes), Arrival { size: Bytes::new(1000), ecn, dscp: Dscp::CS0 }, random)
}

/// A queue with this probability and no burst allowance.
fn dropping(drop_prob: f64, change: impl FnOnce(&mut Options)) -> Pie {
    let mut pie = pie(change);
    measured(&mut pie, 0.02);
    pie.control = Control { drop_prob, qdelay_old: 0.02, burst_allowance: 0, ..pie.control };
    pie
}

/// Section 4.2: the delays of `tests/data/pie-drop-probability.csv`.
#[test]
fn section_4_2_the_probability_follows_the_delay() {
    let mut pie = pie(|options| options.cap_adjustment = true);
    let rows = include_str!("../../../tests/data/pie-drop-probability.csv");
    let rows = rows.lines().filter(|line| !line.starts_with(['#', 'd']));
    let mut count = 0;
    for row in rows {
        let (delay, p) = row.split_once(',').unwrap();
        measured(&mut pie, delay.parse().unwrap());
        pie.calculate_drop_prob();
        let (p, found): (f64, f64) = (p.parse().unwrap(), pie.control.drop_prob);
        assert!((found - p).abs() <= 1e-12 * p.max(1e-3), "{row}: {found}");
        count += 1;
    }
    assert_eq!(count, 9);
}

/// Section 4.2: each step of the ladder has its own divisor and its own edge. The delay is constantly 16 ms above the
/// reference, so that a step is alpha times that over the divisor; section 5.5 bounds it from 0.1 on.
#[test]
fn section_4_2_the_ladder_and_its_edges() {
    for (drop_prob, divisor) in [
        (0.0, 2048.0),
        (1e-6, 512.0),
        (9.9e-6, 512.0),
        (1e-5, 128.0),
        (1e-4, 32.0),
        (1e-3, 8.0),
        (1e-2, 2.0),
        (0.0999, 2.0),
        (0.1, 1.0),
    ] {
        for (cap, alpha, most) in [(false, 100.0, f64::INFINITY), (true, 100.0, 0.02), (true, 0.125, 0.02)] {
            let mut pie = dropping(drop_prob, |options| (options.cap_adjustment, options.alpha) = (cap, alpha));
            measured(&mut pie, 0.031);
            pie.control.qdelay_old = 0.031;
            pie.calculate_drop_prob();
            let step = alpha * 0.016 / divisor;
            let step = if drop_prob >= 0.1 { step.min(most) } else { step };
            let (found, expected) = (pie.control.drop_prob, (drop_prob + step).min(1.0));
            assert!((found - expected).abs() < 1e-12, "{drop_prob} {cap} {alpha}: {found} {expected}");
        }
    }
}

/// Section 4.2 and appendix B: when the probability decays.
#[test]
fn section_4_2_decay() {
    for (decay, delay, old, decays) in [
        (Decay::Zero, 0.0, 0.0, true),
        (Decay::Zero, 0.001, 0.0, false),
        (Decay::Zero, 0.0, 0.001, false),
        (Decay::Half, 0.007, 0.007, true),
        (Decay::Half, 0.0075, 0.0, false),
        (Decay::Half, 0.0, 0.0075, false),
    ] {
        let mut pie = dropping(0.5, |options| (options.decay, options.alpha, options.beta) = (decay, 1e-9, 0.0));
        measured(&mut pie, delay);
        pie.control.qdelay_old = old;
        pie.calculate_drop_prob();
        let expected = if decays { 0.49 } else { 0.5 };
        assert!((pie.control.drop_prob - expected).abs() < 1e-6, "{decay:?} {delay} {old}");
    }
}

/// Section 4.1: packets that are not dropped, regardless of the probability.
#[test]
fn section_4_1_work_conserving() {
    let mut random = Random::new(1, "pie");
    for (drop_prob, old, bytes, spared) in [
        (0.19, 0.0074, 10_000, true),
        (0.2, 0.0074, 10_000, false),
        (0.19, 0.0075, 10_000, false),
        (1.0, 0.02, 3_000, true),
        (1.0, 0.02, 3_001, false),
    ] {
        let mut pie = dropping(drop_prob, |_| {});
        pie.control.qdelay_old = old;
        let drops = (0..1000).filter(|_| pie.drop_early(&backlog(bytes), Bytes::new(1000), &mut random)).count() as f64;
        let expected = if spared { 0.0 } else { 1000.0 * drop_prob };
        assert!(
            (drops - expected).abs() <= 3.0 * (expected * (1.0 - drop_prob)).sqrt(),
            "{drop_prob} {old} {bytes}: {drops}"
        );
    }
}

/// Section 4.4: MAX_BURST is ten updates. It is allowed again only if there is no congestion.
#[test]
fn section_4_4_burst_tolerance() {
    let mut random = Random::new(1, "pie");
    let mut pie = pie(|_| {});
    pie.control.drop_prob = 1.0;
    measured(&mut pie, 0.02);
    for now in 0..300 {
        let verdict = arrive(&mut pie, ms(now), 10_000, Ecn::NotEct, &mut random);
        let expected = if now < 150 { Verdict::Admit } else { Verdict::Drop(DropCause::Early) };
        assert_eq!(verdict, expected, "{now}");
    }
    for (drop_prob, delay, old, renewed) in [
        (0.0, 0.007, 0.007, true),
        (1e-9, 0.007, 0.007, false),
        (0.0, 0.0075, 0.007, false),
        (0.0, 0.007, 0.0075, false),
    ] {
        (pie.control.drop_prob, pie.control.qdelay_old) = (drop_prob, old);
        pie.control.burst_allowance = 0;
        measured(&mut pie, delay);
        arrive(&mut pie, ms(299), 10_000, Ecn::NotEct, &mut random);
        assert_eq!(pie.control.burst_allowance, if renewed { 150_000_000 } else { 0 }, "{drop_prob} {delay} {old}");
    }
}

/// Linux, `pie_calculate_probability`: a 64th, and only for an empty queue.
#[test]
fn linux_decay() {
    let mut pie = dropping(0.5, |options| {
        *options = Options { alpha: 1e-9, beta: 0.0, ..Options::preset(Dialect::Linux) };
    });
    let (mut pool, mut decisions) = (Pool::default(), VecDeque::new());
    pie.gauge.departed(ms(0), ms(0), SIZE, 0);
    pie.control.qdelay_old = 0.0;
    let packet = pool.insert(Packet::of(SIZE));
    pie.enqueue(ms(0), packet, &mut pool, &mut decisions);
    pie.calculate_drop_prob();
    assert!((pie.control.drop_prob - 0.5).abs() < 1e-9);
    pie.dequeue(ms(0), &mut pool, &mut decisions);
    pie.calculate_drop_prob();
    assert!((pie.control.drop_prob - 0.5 * 63.0 / 64.0).abs() < 1e-9);
}

/// Linux, `pie_calculate_probability`: above 250 ms an update adds 0.02, even above the bound of section 5.5.
#[test]
fn linux_steep_above() {
    for (delay, step) in [(0.25, 0.02), (0.250_001, 0.04)] {
        let mut pie = dropping(0.3, |options| *options = Options { alpha: 10.0, ..Options::preset(Dialect::Linux) });
        measured(&mut pie, delay);
        pie.calculate_drop_prob();
        assert!((pie.control.drop_prob - 0.3 - step).abs() < 1e-12, "{delay}: {}", pie.control.drop_prob);
    }
}

/// Linux, `pie_calculate_probability`: the probability increases above 1, and decreases from there.
#[test]
fn linux_above_certainty() {
    for (dialect, expected) in [(Dialect::Rfc, [1.0, 0.5]), (Dialect::Linux, [1.1, 0.6])] {
        let mut pie = dropping(1.0, |options| {
            *options = Options { alpha: 10.0, beta: 0.0, cap_adjustment: false, ..Options::preset(dialect) };
        });
        for (delay, expected) in [(0.025, expected[0]), (0.0, expected[1])] {
            measured(&mut pie, delay);
            pie.options.alpha = if delay == 0.0 { 0.5 / 0.015 } else { 10.0 };
            pie.calculate_drop_prob();
            assert!((pie.control.drop_prob - expected).abs() < 1e-12, "{dialect}: {}", pie.control.drop_prob);
        }
    }
}

/// Linux, `pie_drop_early`: the delay that is measured now prevents drops, not that of the last update.
#[test]
fn linux_spared_by_the_current_delay() {
    let mut random = Random::new(1, "pie");
    for (spared_by, now, old, spared) in [
        (SafeguardDelay::Current, 0.0074, 0.02, true),
        (SafeguardDelay::Current, 0.0075, 0.0, false),
        (SafeguardDelay::Old, 0.0075, 0.0, true),
        (SafeguardDelay::Old, 0.0074, 0.02, false),
    ] {
        let mut pie = dropping(0.19, |options| options.spared_by = spared_by);
        measured(&mut pie, now);
        pie.control.qdelay_old = old;
        let drops = (0..1000).filter(|_| pie.drop_early(&backlog(10_000), Bytes::new(1000), &mut random)).count();
        assert_eq!(drops == 0, spared, "{spared_by:?} {now} {old}");
    }
}

/// Linux, `pie_process_dequeue` and `pie_vars_init`: departures use up the allowance, except for the first after a
/// renewal by an update.
#[test]
fn linux_departures_spend_the_burst() {
    let (mut pool, mut decisions) = (Pool::default(), VecDeque::new());
    let mut random = Random::new(1, "pie");
    let mut pie =
        pie(|options| *options = Options { t_update: Duration::from_secs(1), ..Options::preset(Dialect::Linux) });
    for at in [10, 60, 100] {
        for _ in 0..2 {
            let packet = pool.insert(Packet::of(SIZE));
            pie.enqueue(ms(at), packet, &mut pool, &mut decisions);
        }
        pie.dequeue(ms(at), &mut pool, &mut decisions);
    }
    assert_eq!(pie.control.burst_allowance, 60_000_000);
    arrive(&mut pie, ms(100), 1_000, Ecn::NotEct, &mut random);
    assert_eq!(pie.control.burst_allowance, 60_000_000, "an arrival does not renew it");
    pie.accu_prob = 0.5;
    measured(&mut pie, 0.0074);
    pie.control.qdelay_old = 0.0074;
    pie.update_until(ms(1_000));
    assert_eq!((pie.control.burst_allowance, pie.accu_prob), (150_000_000, 0.0));
    pie.dequeue(ms(1_001), &mut pool, &mut decisions);
    assert_eq!(pie.control.burst_allowance, 150_000_000);
    pie.dequeue(ms(1_200), &mut pool, &mut decisions);
    assert_eq!(pie.control.burst_allowance, 0);
    pie.control.drop_prob = 0.1;
    pie.update_until(ms(2_000));
    assert_eq!(pie.control.burst_allowance, 0, "there is congestion");
}

/// ns-3 (`m_burstState`): 150 ms from the second packet on, in which the probability is 0; again from the first packet
/// after 1.5 s without congestion.
#[test]
fn ns3_a_burst_after_rest() {
    let mut random = Random::new(1, "pie");
    let mut pie = pie(|options| options.burst = Burst::AfterRest);
    pie.control.drop_prob = 1.0;
    pie.control.qdelay_old = 0.02;
    measured(&mut pie, 0.02);
    let drop = Verdict::Drop(DropCause::Early);
    assert_eq!(
        arrive(&mut pie, ms(1), 10_000, Ecn::NotEct, &mut random),
        drop,
        "it begins the burst and is not part of it"
    );
    assert_eq!(arrive(&mut pie, ms(2), 10_000, Ecn::NotEct, &mut random), Verdict::Admit);
    pie.update_until(ms(15));
    assert_eq!((pie.control.drop_prob, pie.control.burst_allowance), (0.0, 135_000_000));
    // The tenth update is the last of the burst, the eleventh the first that adds.
    pie.update_until(ms(150));
    assert_eq!((pie.control.drop_prob, pie.control.burst_allowance), (0.0, 0));
    pie.update_until(ms(165));
    assert!(pie.control.drop_prob > 0.0);
    measured(&mut pie, 0.0);
    let mut rests = ms(165);
    while pie.control.phase == Phase::Begun {
        rests += Duration::from_millis(15);
        pie.update_until(rests);
    }
    // An update with congestion in between restarts the count.
    pie.update_until(rests + Duration::from_millis(600));
    assert_eq!(pie.control.phase, Phase::Resting(40));
    measured(&mut pie, 0.01);
    rests += Duration::from_millis(615);
    pie.update_until(rests);
    assert_eq!(pie.control.phase, Phase::Resting(0));
    measured(&mut pie, 0.0);
    // One more with the old delay, then 101 of 15 ms: more than 1.5 s.
    rests += Duration::from_millis(15 + 1500);
    arrive(&mut pie, rests, 10_000, Ecn::NotEct, &mut random);
    assert_eq!((pie.control.phase, pie.control.burst_allowance), (Phase::Resting(100), 0));
    rests += Duration::from_millis(15);
    arrive(&mut pie, rests, 10_000, Ecn::NotEct, &mut random);
    assert_eq!((pie.control.phase, pie.control.burst_allowance), (Phase::Begun, 150_000_000));
}

/// ns-3 (`DropEarly`): two packets of any size prevent drops or, with a limit in bytes, two mean packets; then the
/// size of a packet matters.
#[test]
fn ns3_counts_in_the_unit_of_the_limit() {
    let mut random = Random::new(1, "pie");
    for (unit, limit, waiting, size, expected) in [
        (Unit::Bytes, "100packets", 3_000, 500, 0.0),
        (Unit::Limit, "100packets", 2_000, 500, 0.0),
        (Unit::Limit, "100packets", 3_000, 500, 0.3),
        (Unit::Limit, "100kB", 3_000, 500, 0.0),
        (Unit::Limit, "100kB", 3_001, 500, 0.1),
        (Unit::Limit, "100kB", 3_001, 1500, 0.3),
        (Unit::Bytes, "100kB", 3_001, 500, 0.3),
    ] {
        let mut pie = dropping(0.3, |options| (options.unit, options.limit) = (unit, limit.parse().unwrap()));
        let drops =
            (0..1000).filter(|_| pie.drop_early(&backlog(waiting), Bytes::new(size), &mut random)).count() as f64;
        let spread = 3.0 * f64::sqrt(1000.0 * expected * (1.0 - expected));
        assert!((drops - 1000.0 * expected).abs() <= spread, "{unit:?} {limit} {waiting} {size}: {drops}");
    }
}

/// Section 5.1: ECN-capable packets are marked below mark_ecnth.
#[test]
fn section_5_1_ecn() {
    let mut random = Random::new(1, "pie");
    let drop = Verdict::Drop(DropCause::Early);
    for (ecn, uses, drop_prob, expected) in [
        (Ecn::Ect0, true, 0.0999, Verdict::Mark),
        (Ecn::Ect1, true, 0.0999, Verdict::Mark),
        (Ecn::Ect0, true, 0.1, drop),
        (Ecn::NotEct, true, 0.0999, drop),
        (Ecn::Ect0, false, 0.0999, drop),
    ] {
        let mut pie = dropping(drop_prob, |options| options.ecn = uses);
        let verdicts: Vec<_> = (0..1000).map(|_| arrive(&mut pie, ms(1), 10_000, ecn, &mut random)).collect();
        let chosen: Vec<_> = verdicts.into_iter().filter(|verdict| *verdict != Verdict::Admit).collect();
        assert!(!chosen.is_empty() && chosen.iter().all(|verdict| *verdict == expected), "{ecn:?} {uses} {drop_prob}");
    }
}

/// ns-3 (`UseL4s`): packets with ECT(1) or CE are neither dropped nor measured, and marked above the threshold.
#[test]
fn ns3_l4s_packets_are_exempt() {
    let mut random = Random::new(1, "pie");
    for (ecn, waits, passes, marked) in [
        (Ecn::Ect1, 4, true, false),
        (Ecn::Ect1, 5, true, true),
        (Ecn::Ce, 5, true, true),
        (Ecn::Ect0, 5, false, false),
        (Ecn::NotEct, 5, false, false),
    ] {
        let mut pie = dropping(1.0, |options| options.ce_threshold = Some(Duration::from_millis(4)));
        let verdict = arrive(&mut pie, ms(1), 10_000, ecn, &mut random);
        assert_eq!(verdict, if passes { Verdict::Admit } else { Verdict::Drop(DropCause::Early) }, "{ecn:?}");
        let (mut pool, mut decisions) = (Pool::default(), VecDeque::new());
        for ecn in [ecn, Ecn::NotEct] {
            let packet = pool.insert(Packet { ecn, ..Packet::of(SIZE) });
            pool.slot_mut(packet).unwrap().since = ms(1);
            pie.enqueue(ms(1), packet, &mut pool, &mut decisions);
        }
        let packet = pie.dequeue(ms(1 + waits), &mut pool, &mut decisions).unwrap();
        assert_eq!(decisions, Vec::from_iter(marked.then_some(Decision::Marked(packet))), "{ecn:?} {waits}");
        assert_eq!(pie.gauge.delay(0), if passes { 0.02 } else { 0.005 }, "{ecn:?} {waits}");
    }
}

/// Section 5.2, computed by hand: 16384 B are 17 packets of 1000 B. One departs per ms, and the queue is longer: the
/// first 17 after the start of a measurement take 17 ms, at the end of which the next one begins. 20000 B then have a
/// delay of 17 ms x 20000 / 16384.
#[test]
fn section_5_2_dequeue_rate() {
    let mut gauge = Gauge::new(Delay::DequeueRate, 1 << 14);
    assert_eq!(gauge.delay(20_000), 0.0);
    for now in 0..=17 {
        gauge.departed(ms(now), ms(now), SIZE, 20_000);
    }
    assert!((gauge.delay(20_000) - 0.017 * 20_000.0 / 16_384.0).abs() < 1e-12);
    // At half of the rate: the new time has a weight of a quarter, 16384 / 65536.
    for now in (19..=51).step_by(2) {
        gauge.departed(ms(now), ms(now), SIZE, 20_000);
    }
    assert!((gauge.delay(16_384) - (0.25 * 0.034 + 0.75 * 0.017)).abs() < 1e-12, "{}", gauge.delay(16_384));
    // While few bytes wait, nothing is measured.
    let mut short = Gauge::new(Delay::DequeueRate, 1 << 14);
    (0..100).for_each(|now| short.departed(ms(now), ms(now), SIZE, 16_383));
    assert_eq!(short.delay(16_383), 0.0);
}

/// Section 5.4: no drop while accu_prob is below 0.85, and a certain one from 8.5 on.
#[test]
fn section_5_4_derandomization() {
    let mut random = Random::new(1, "pie");
    let mut pie = dropping(0.01, |options| options.derandomize = true);
    let drops: Vec<_> = (0..100_000)
        .filter(|_| matches!(arrive(&mut pie, ms(1), 10_000, Ecn::NotEct, &mut random), Verdict::Drop(_)))
        .collect();
    let gaps: Vec<_> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // 0.85 and 8.5 at 0.01 per packet, where the sums of hundredths are off by a last bit.
    assert!(gaps.iter().all(|gap| (85..=851).contains(gap)), "{:?}", (gaps.iter().min(), gaps.iter().max()));
    // A mark counts like a drop, or not (ns-3).
    for (mark_resets, accu_prob) in [(true, 0.0), (false, 9.05)] {
        let mut pie = dropping(0.05, |options| {
            (options.derandomize, options.ecn, options.mark_resets) = (true, true, mark_resets);
        });
        pie.accu_prob = 9.0;
        assert_eq!(arrive(&mut pie, ms(1), 10_000, Ecn::Ect0, &mut random), Verdict::Mark);
        assert_eq!(pie.accu_prob, accu_prob);
    }
    pie.control.drop_prob = 0.0;
    assert!(!pie.drop_early(&backlog(10_000), Bytes::new(1000), &mut random) && pie.accu_prob == 0.0);
}

/// Section 5.3: it is inactive until a third of the limit waits.
#[test]
fn section_5_3_active_and_inactive() {
    let mut random = Random::new(1, "pie");
    for limit in ["30packets", "30kB"] {
        let mut pie = pie(|options| {
            (options.inactive_below, options.limit) = (true, limit.parse().unwrap());
        });
        let mut arrive_at = |pie: &mut Pie, now, bytes| _ = arrive(pie, ms(now), bytes, Ecn::NotEct, &mut random);
        pie.control.drop_prob = 0.5;
        arrive_at(&mut pie, 100, 8_000);
        assert!(!pie.active && pie.control.drop_prob == 0.5, "there are no updates");
        arrive_at(&mut pie, 107, 9_000);
        assert!(pie.active && pie.control.drop_prob == 0.0);
        assert_eq!(pie.next_update, ms(122));
        measured(&mut pie, 0.1);
        arrive_at(&mut pie, 140, 8_000);
        assert!(pie.active && pie.control.drop_prob > 0.0);
        (pie.control.drop_prob, pie.control.qdelay_old) = (0.0, 0.0);
        measured(&mut pie, 0.0);
        arrive_at(&mut pie, 141, 8_000);
        assert!(!pie.active, "{limit}");
    }
}

/// Rare and frequent calls have equal results, and a link that was idle for a year is fast.
#[test]
fn missed_updates_are_caught_up_on() {
    for (delay, t_update) in [(0.0, 15), (0.003, 15), (0.031, 7), (0.015, 1)] {
        let start = |pie: &mut Pie| {
            pie.control.drop_prob = 0.3;
            measured(pie, delay);
        };
        let [mut often, mut rarely] = [0; 2].map(|_| pie(|options| options.t_update = Duration::from_millis(t_update)));
        start(&mut often);
        start(&mut rarely);
        for now in 0..=40_000 {
            often.update_until(ms(now));
            if now % 9_973 == 0 {
                rarely.update_until(ms(now));
                assert_eq!((rarely.control, rarely.next_update), (often.control, often.next_update), "{now}");
            }
        }
        rarely.update_until(Instant::from_secs(31_557_600));
        assert!(rarely.next_update > Instant::from_secs(31_557_600));
        assert_eq!(rarely.next_update.as_nanos() % (t_update * 1_000_000), 0);
    }
}

#[test]
fn the_delay_is_that_of_the_last_departure() {
    let (mut pie, mut pool) = (pie(|_| {}), Pool::default());
    let mut decisions = VecDeque::new();
    for at in [0, 10] {
        let packet = pool.insert(Packet::of(SIZE));
        pool.slot_mut(packet).unwrap().since = ms(at);
        pie.enqueue(ms(at), packet, &mut pool, &mut decisions);
    }
    assert!(pie.dequeue(ms(12), &mut pool, &mut decisions).is_some());
    assert_eq!((pie.gauge.delay(0), pie.waiting()), (0.012, (1, 1000)));
    assert!(pie.dequeue(ms(40), &mut pool, &mut decisions).is_some());
    assert_eq!((pie.gauge.delay(0), pie.waiting()), (0.0, (0, 0)));
    assert_eq!(pie.dequeue(ms(41), &mut pool, &mut decisions), None);
    // The updates at 15 and 30 ms saw a wait of 12 ms; those at 45 and 60 ms saw none.
    pie.update_until(ms(44));
    assert_eq!(pie.control.qdelay_old, 0.012);
    pie.update_until(ms(45));
    assert_eq!(pie.control.qdelay_old, 0.0);
}

#[test]
fn each_bound_of_the_options_holds_on_both_sides() {
    check_bounds::<Options>(
        &[
            |options| options.limit = QueueSize::Bytes(Bytes::new(1)),
            |options| options.qdelay_ref = Duration::from_nanos(1),
            |options| options.t_update = Duration::from_micros(100),
            |options| options.t_update = Duration::from_secs(10),
            |options| options.alpha = f64::MIN_POSITIVE,
            |options| options.alpha = 1000.0,
            |options| options.beta = 0.0,
            |options| options.beta = 1000.0,
            |options| options.drop_prob_max = 1.0,
            |options| options.drop_prob_max = 256.0,
            |options| (options.unit, options.mean_pktsize) = (Unit::Bytes, Bytes::new(0)),
            |options| (options.unit, options.mean_pktsize) = (Unit::Limit, Bytes::new(1)),
            |options| options.dq_threshold = Bytes::new(1),
            |options| options.dq_threshold = Bytes::new(65_536),
        ],
        &[
            ("limit", |options| options.limit = QueueSize::Bytes(Bytes::new(0))),
            ("qdelay_ref", |options| options.qdelay_ref = Duration::ZERO),
            ("t_update", |options| options.t_update = Duration::from_nanos(99_999)),
            ("t_update", |options| options.t_update = Duration::from_nanos(10_000_000_001)),
            ("alpha", |options| options.alpha = 0.0),
            ("alpha", |options| options.alpha = 1000.0_f64.next_up()),
            ("alpha", |options| options.alpha = f64::NAN),
            ("beta", |options| options.beta = 0.0_f64.next_down()),
            ("beta", |options| options.beta = 1000.0_f64.next_up()),
            ("drop_prob_max", |options| options.drop_prob_max = 1.0_f64.next_down()),
            ("drop_prob_max", |options| options.drop_prob_max = 256.0_f64.next_up()),
            ("drop_prob_max", |options| options.drop_prob_max = f64::NAN),
            ("mean_pktsize", |options| (options.unit, options.mean_pktsize) = (Unit::Limit, Bytes::new(0))),
            ("dq_threshold", |options| options.dq_threshold = Bytes::new(0)),
            ("dq_threshold", |options| options.dq_threshold = Bytes::new(65_537)),
        ],
    );
}
