use super::*;

const PARAMS: Params = Params { target: 5_000_000, interval: 100_000_000, mtu_time: 0 };

fn decide(control: &mut Control, at_ms: f64, waited_ms: u64, is_ecn: bool, drawn: u32) -> Action {
    let now = Instant::from_nanos((at_ms * 1e6).round() as u64);
    let mut random = Random::scripted(&[u64::from(drawn) << 32]);
    control.decide(&PARAMS, now, Duration::from_millis(waited_ms), is_ecn, &mut random)
}

/// CoDel: drops are interval / sqrt(count) apart, from an interval after the first packet that
/// waited too long. In Linux the first drop of a queue is due at once.
#[test]
fn drops_become_more_frequent() {
    for (first_waits, first) in [(true, 100.0), (false, 0.1)] {
        let mut control = Control::new(first_waits);
        let mut drops = Vec::new();
        assert_eq!(decide(&mut control, 999.9, 1, false, 0), Action::Forward);
        for tenth in 0..5000 {
            let at = 1000.0 + f64::from(tenth) / 10.0;
            if decide(&mut control, at, 10, false, 0) == Action::Drop {
                drops.push(at - 1000.0);
            }
        }
        let mut due = first;
        for (drop, count) in drops.iter().zip(2_u32..) {
            assert!((drop - due).abs() < 0.25, "{count}: {drop} {due}");
            due += 100.0 / f64::from(count).sqrt();
        }
        assert!(drops.len() >= 9, "{drops:?}");
    }
}

/// Below the target the count decreases step by step, whereas CoDel resets it at once.
#[test]
fn below_the_target_the_count_falls() {
    let mut control = Control::new(true);
    let mut count = 0;
    for tenth in 0..4000 {
        let at = 1000.0 + f64::from(tenth) / 10.0;
        count += u32::from(decide(&mut control, at, 10, true, 0) == Action::Mark);
    }
    assert!(count > 5);
    assert_eq!(decide(&mut control, 1400.0, 1, true, 0), Action::Forward);
    assert!(!control.is_at_rest(Instant::from_millis(1400)));
    // Each step takes longer than the previous one.
    for at in 1401..2500 {
        assert_eq!(decide(&mut control, f64::from(at), 1, true, 0), Action::Forward);
    }
    control.found_empty(&PARAMS, Instant::from_millis(2600));
    control.found_empty(&PARAMS, Instant::from_millis(2700));
    assert!(control.is_at_rest(Instant::from_millis(2900)));
}

/// BLUE: plus 1/256 at an overflow, at most once per target; minus 1/4096 when the queue is empty, at most once per
/// target. It drops ECN-capable packets, too.
#[test]
fn blue_drops_unresponsive_flows_at_random() {
    let mut control = Control::new(true);
    let at = Instant::from_millis;
    for now in [1000, 1004, 1006] {
        control.overflowed(&PARAMS, at(now));
    }
    let below = |parts: u32| parts - 1;
    let p = 2 << 24;
    assert_eq!(decide(&mut control, 1006.0, 0, true, below(p)), Action::Drop);
    assert_eq!(decide(&mut control, 1006.0, 0, true, p), Action::Forward);
    (0..3).for_each(|_| control.found_empty(&PARAMS, at(1012)));
    assert_eq!(decide(&mut control, 1012.0, 0, true, p - (1 << 20)), Action::Forward);
    assert_eq!(decide(&mut control, 1012.0, 0, true, below(p - (1 << 20))), Action::Drop);
    (0..31).for_each(|step| control.found_empty(&PARAMS, at(1018 + 6 * step)));
    assert_eq!(decide(&mut control, 3000.0, 0, true, 0), Action::Forward, "the probability is 0 again");
}

#[test]
fn four_packet_times_are_not_above_target() {
    let params = Params { mtu_time: 12_000_000, ..PARAMS };
    let mut control = Control::new(true);
    let mut random = Random::new(1, "any");
    let mut passes = |waited| {
        (0..1000).all(|at| {
            let waited = Duration::from_millis(waited);
            control.decide(&params, Instant::from_millis(at), waited, false, &mut random) == Action::Forward
        })
    };
    assert_eq!((passes(48), passes(49)), (true, false));
}

/// Each bound of `sch_cake.c` at the bound itself. `cobalt_should_drop`:
/// `over_target = sojourn > p->target && sojourn > p->mtu_time * 4`.
#[test]
fn a_wait_is_over_only_above_both_bounds() {
    for (mtu_time, waited, over) in [
        (0, 5_000_000, false),
        (0, 5_000_001, true),
        (1_000_000, 5_000_001, true),
        (12_000_000, 48_000_000, false),
        (12_000_000, 48_000_001, true),
    ] {
        let mut control = Control::new(true);
        let params = Params { mtu_time, ..PARAMS };
        control.decide(&params, Instant::from_secs(1), Duration::from_nanos(waited), false, &mut Random::new(1, "any"));
        assert_eq!((control.dropping, control.count), (over, u32::from(over)), "{mtu_time} {waited}");
    }
}

/// `drop_due = vars->count && ktime_to_ns(schedule) >= 0`, `schedule = now - drop_next`: due at `drop_next` itself.
#[test]
fn a_drop_is_due_at_drop_next() {
    let next = 2_000_000_000;
    for (now, expected) in [(next - 1, Action::Forward), (next, Action::Drop), (next + 1, Action::Drop)] {
        let mut control = Control { count: 1, dropping: true, next, ..Control::new(true) };
        let mut random = Random::new(1, "any");
        let found = control.decide(&PARAMS, Instant::from_nanos(now), Duration::from_millis(10), false, &mut random);
        assert_eq!(found, expected, "{now}");
    }
}

/// `ktime_to_ns(ktime_sub(now, vars->blue_timer)) > p->target`: not at the target itself, for increases and decreases.
#[test]
fn blue_changes_after_more_than_a_target() {
    for (later, changes) in [(4_999_999, false), (5_000_000, false), (5_000_001, true)] {
        let begin = 1_000_000_000;
        let mut control = Control::new(true);
        for now in [begin, begin + later] {
            control.overflowed(&PARAMS, Instant::from_nanos(now));
        }
        assert_eq!(control.p_drop, if changes { 2 << 24 } else { 1 << 24 }, "{later}");
        control.blue_since = Some(begin);
        let before = control.p_drop;
        control.found_empty(&PARAMS, Instant::from_nanos(begin + later));
        assert_eq!(before - control.p_drop, if changes { 1 << 20 } else { 0 }, "{later}");
    }
}

/// `cake_dequeue` keeps an empty queue that has `p_drop`, `count` or `ktime_before(now, drop_next)`.
#[test]
fn an_empty_queue_is_freed_in_its_initial_state() {
    let next = 2_000_000_000;
    let rest = Control { next, ..Control::new(true) };
    let at_rest = |control: Control, now| control.is_at_rest(Instant::from_nanos(now));
    assert_eq!([next - 1, next, next + 1].map(|now| at_rest(rest, now)), [false, true, true]);
    assert!(!at_rest(Control { p_drop: 1, ..rest }, next) && !at_rest(Control { count: 1, ..rest }, next));
}

/// Linux `cobalt_cache_init` takes four Newton steps for each count, from the value of the previous count. For a count
/// of 2 they lead from 1 to 1/2, 5/8, 0.693359375 and 0.706709, where 1 / sqrt(2) is 0.707107. The table has 16
/// entries, and the entry for 0 is the largest number.
#[test]
fn linux_takes_four_newton_steps_for_each_small_count() {
    let steps = [1.0_f64, 0.5, 0.625, 0.693_359_375];
    assert!(steps.windows(2).all(|pair| pair[1] == pair[0] * (3.0 - 2.0 * pair[0] * pair[0]) / 2.0));
    let part = |count: usize| f64::from(SMALL[count]) / 4_294_967_296.0;
    assert!((part(2) - 0.706_709).abs() < 1e-6, "{}", part(2));
    assert_eq!((SMALL.len(), SMALL[0]), (16, u32::MAX));
    for count in 3..16 {
        assert!((part(count) * (count as f64).sqrt() - 1.0).abs() < 1e-7, "{count}: {}", part(count));
    }
}
