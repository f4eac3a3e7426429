//! The equations and options, by the vectors of the paper (tests/data/uddj.json).

use super::super::seen;
use super::*;
use headway_units::{Duration, Rate};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../tests/data/uddj.json")).unwrap()
}

fn nanos(value: &Value) -> u64 {
    (value.as_f64().unwrap() * 1e9).round() as u64
}

fn at(nanos: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(nanos)
}

fn packet(number: u64, sent: u64, arrived: u64) -> Seen {
    Seen { sent: at(sent), arrived: at(arrived), ..seen(number, 0, 0) }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3
}

/// Returns a filter after the packets of a vector, and its queueing delays after each gap in ns.
fn fed(vector: &Value, options: &UddjOptions) -> (Uddj, Vec<Option<f64>>) {
    let mut filter = Uddj::new(options);
    let (mut sent, mut arrived) = (1_000_000_000, 9_000_000_000);
    filter.on_packet(&packet(0, sent, arrived));
    let gaps = vector["dout"].as_array().unwrap().iter().enumerate();
    let held = gaps.map(|(gap, dout)| {
        let din = vector["din"].get(gap).unwrap_or(&vector["din"]);
        (sent, arrived) = (sent + nanos(din), arrived + nanos(dout));
        filter.on_packet(&packet(gap as u64 + 1, sent, arrived));
        filter.queue
    });
    let held = held.collect();
    (filter, held)
}

/// uddj.recursion.*, uddj.lost-packet: queueing delays once the initial one is known, F, and the flag.
#[test]
fn recursion_and_flag_match_the_vectors() {
    let vectors = vectors();
    let recursions = vectors.as_object().unwrap().iter();
    let recursions = recursions.filter(|(id, _)| id.starts_with("uddj.recursion.") || *id == "uddj.lost-packet");
    let mut count = 0;
    for (id, vector) in recursions {
        let (mut filter, held) = fed(vector, &UddjOptions::default());
        for (beta, held) in vector["beta"].as_array().unwrap().iter().zip(held) {
            assert!(held.is_none_or(|held| near(held, nanos(beta) as f64)), "{id}: {held:?} {beta}");
        }
        assert!(filter.queue.is_some(), "{id}");
        let f = filter.busy_out / filter.all_in;
        assert!((f - vector["F"].as_f64().unwrap()).abs() < 1e-8, "{id}: {f}");
        filter.compute();
        assert_eq!(filter.flag, vector["flag"].as_bool().unwrap(), "{id}");
        count += 1;
    }
    assert_eq!(count, 7);
}

/// Equations (1) to (3): over three hops of constant delay and a bottleneck queue, the jitter is the change of the
/// waiting time, and the recursion yields the last packet's. Expected values: a FIFO of 10 Mb/s with cross traffic.
#[test]
fn equations_1_to_3_the_jitter_is_the_change_of_the_bottlenecks_queue() {
    const SERVICE: u64 = 800_000;
    const HOPS: [u64; 3] = [10_000_000, 2_500_000, 80_000];
    let mut filter = Uddj::new(&UddjOptions::default());
    let (mut free, mut last) = (0_u64, None::<(u64, u64, u64)>);
    let mut waits = Vec::new();
    for number in 0..200_u64 {
        let sent = number * 1_000_000 + (number * number * 7919) % 400_000;
        // Cross traffic served first: overload for 25 packets, then none.
        let others = if number % 50 < 25 { number % 3 } else { 0 };
        let arrives = sent + HOPS[0] + HOPS[1];
        let begins = free.max(arrives) + others * SERVICE;
        free = begins + SERVICE;
        let (waited, arrived) = (begins - arrives, free + HOPS[2]);
        filter.on_packet(&packet(number, sent, arrived));
        if let Some((sent_before, arrived_before, waited_before)) = last {
            let jitter = (arrived - arrived_before) as f64 - (sent - sent_before) as f64;
            assert!(near(jitter, waited as f64 - waited_before as f64), "{number}");
            // The first packet and those at an idle bottleneck do not wait.
            assert!(near(filter.queue.unwrap_or(0.0), waited as f64), "{number}: {:?} {waited}", filter.queue);
        }
        waits.push(waited);
        last = Some((sent, arrived, waited));
    }
    assert!(waits.contains(&0) && waits.iter().any(|wait| *wait > 10 * SERVICE), "{waits:?}");
}

/// Equation (7): busy if jitter plus queue is above 0. At 0 the paper is ambiguous: `busy_at_zero` selects ">" or ">=".
#[test]
fn equation_7_where_jitter_and_queue_cancel() {
    for (jitter, strict, at_zero) in [(-2e6, true, true), (-3e6, false, true), (-4e6, false, false)] {
        for (busy_at_zero, busy) in [(false, strict), (true, at_zero)] {
            let mut filter = Uddj::new(&UddjOptions { busy_at_zero, ..UddjOptions::default() });
            filter.queue = Some(3e6);
            filter.gap(jitter, 5e6);
            assert_eq!(filter.busy_out > 0.0, busy, "{jitter} {busy_at_zero}");
        }
    }
}

/// Section 2.2: the first run of negative jitters drains the initial queue; an initial positive jitter is the queue of
/// the second packet. An initial jitter of 0, which the paper does not cover, means no queue.
#[test]
fn the_first_jitters_determine_the_initial_queue() {
    for (jitters, queue, busy_out) in [
        // 5 ms drain in three gaps; the last one finds an empty queue. Busy output is 3 + 2 ms.
        (&[-1e6, -2e6, -2e6, 0.0][..], 0.0, 3e6 + 2e6),
        (&[2e6], 2e6, 6e6),
        (&[0.0], 0.0, 0.0),
    ] {
        let mut filter = Uddj::new(&UddjOptions::default());
        for jitter in jitters {
            filter.gap(*jitter, 4e6);
        }
        assert_eq!(filter.queue, Some(queue), "{jitters:?}");
        assert!(near(filter.busy_out, busy_out), "{jitters:?}: {}", filter.busy_out);
    }
}

/// With a known initial queue, a standing queue has F = 1: detected with a margin, not with the strict test.
#[test]
fn a_margin_detects_a_standing_queue() {
    let vectors = vectors();
    for (margin, flag) in [(0.0, false), (0.02, true)] {
        let (mut filter, _) =
            fed(&vectors["uddj.recursion.standing-queue"], &UddjOptions { margin, ..UddjOptions::default() });
        filter.queue = Some(6e6);
        (filter.busy_out, filter.all_in) = (0.0, 0.0);
        for _ in 0..10 {
            filter.gap(0.0, 2e6);
        }
        filter.compute();
        assert_eq!(filter.flag, flag);
    }
}

/// uddj.lindley: both branches of (8) are max(0, b + UDD).
#[test]
fn equation_8_is_lindleys_recursion() {
    for row in vectors()["uddj.lindley"].as_array().unwrap() {
        let [beta, udd, next] = ["beta", "udd", "next"].map(|key| row[key].as_f64().unwrap() * 1e9);
        let mut filter = Uddj::new(&UddjOptions::default());
        filter.queue = Some(beta);
        filter.gap(udd, 5e6);
        assert!(near(filter.queue.unwrap(), next), "{row}");
    }
}

/// Figure 2: a channel loss does not change the queueing delay.
#[test]
fn figure_2_a_lost_packet_makes_a_longer_gap() {
    let vectors = vectors();
    let (_, held) = fed(&vectors["uddj.lost-packet"], &UddjOptions::default());
    let without_loss = vectors["uddj.lost-packet"]["beta_without_loss"].as_array().unwrap();
    let last = without_loss.last().unwrap();
    assert!(near(held.last().unwrap().unwrap(), nanos(last) as f64));
}

/// Figure 3: bursts of cross traffic fill single gaps and leave others idle. F over all of them is not congestion.
#[test]
fn figure_3_f_over_many_gaps_ignores_bursts() {
    let burst = |update| {
        let mut filter = Uddj::new(&UddjOptions { update, ..UddjOptions::default() });
        let mut flags = Vec::new();
        // 1000 B every 2 ms through 10 Mb/s; a burst of 1250 B in every second gap: 80 % of the rate.
        for number in 0..40_u64 {
            let wait = if number % 2 == 1 { 1_000_000 } else { 0 };
            let round = (number % 20 == 19).then_some(Duration::from_millis(1));
            filter.on_packet(&Seen {
                rtt: round,
                ..packet(number, 2_000_000 * number, 2_000_000 * number + 5_000_000 + wait)
            });
            flags.push(filter.flag);
        }
        flags
    };
    let [single, together] = [UddjUpdate::Packet, UddjUpdate::RoundTrip].map(burst);
    assert_eq!(single.iter().filter(|flag| **flag).count(), 20);
    assert!(together.iter().all(|flag| !flag));
}

/// Section 2.3: "updated every round-trip time or if packet loss was detected".
#[test]
fn the_flag_is_computed_each_round_trip_and_at_losses() {
    for (update, at_loss) in [(UddjUpdate::RoundTripAndLoss, true), (UddjUpdate::RoundTrip, false)] {
        let mut filter = Uddj::new(&UddjOptions { update, ..UddjOptions::default() });
        let grows = |number: u64| Seen {
            rtt: Some(Duration::from_millis(50)),
            ..packet(number, 2_000_000 * number, 2_400_000 * number)
        };
        (0..10).for_each(|number| filter.on_packet(&grows(number)));
        assert!(!filter.flag && !filter.poll_early());
        assert_eq!(filter.counts(3, 3), at_loss);
        // The sums restart: with no gap since, there is no congestion.
        assert!(!filter.counts(3, 3));
        (10..40).for_each(|number| filter.on_packet(&grows(number)));
        assert!(filter.flag && filter.poll_early() && !filter.poll_early());
    }
}

/// With `filter` a flag without a loss is not reported. With a floor, no flag is set below it.
#[test]
fn action_and_floor() {
    let fed = |options: UddjOptions| {
        let mut filter = Uddj::new(&options);
        // The queue grows by 0.4 ms per packet, to 16 ms.
        for number in 0..=40 {
            filter.on_packet(&Seen {
                rtt: Some(Duration::from_millis(48)),
                ..packet(number, 2_000_000 * number, 2_400_000 * number)
            });
        }
        (filter.flag, filter.poll_early())
    };
    let default = UddjOptions::default;
    assert_eq!(fed(default()), (true, true));
    assert_eq!(fed(UddjOptions { action: UddjAction::Filter, ..default() }), (true, false));
    assert_eq!(fed(UddjOptions { floor: Duration::from_millis(10), ..default() }), (true, true));
    assert_eq!(fed(UddjOptions { floor: Duration::from_millis(30), ..default() }), (false, false));
}

/// At 10 Mb/s 1500 B take 0.8 ms longer than 500 B, which is not queueing.
#[test]
fn the_bottleneck_rate_removes_sizes_from_the_jitter() {
    for (bottleneck, most) in [(None, 800_000.0), (Some(Rate::from_bits_per_second(10_000_000)), 0.0)] {
        let mut filter = Uddj::new(&UddjOptions { bottleneck, ..UddjOptions::default() });
        for number in 0..20_u64 {
            let size = if number % 2 == 0 { 500 } else { 1500 };
            filter.on_packet(&Seen { size, ..packet(number, 2_000_000 * number, 2_000_000 * number + 800 * size) });
            assert!(filter.queue.is_none_or(|queue| queue <= most + 1e-3), "{:?}", filter.queue);
        }
        assert!(near(filter.queue.unwrap(), most));
    }
}

/// A skew of 50 ppm adds 50 us per second without bound; the line below all delays removes it.
#[test]
fn skew_looks_like_a_queue_until_it_is_removed() {
    let queue_after = |remove_skew, seconds: u64| {
        let mut filter = Uddj::new(&UddjOptions { remove_skew, ..UddjOptions::default() });
        for number in 0..seconds * 100 {
            let sent = 10_000_000 * number;
            filter.on_packet(&packet(number, sent, sent + 5_000_000 + sent / 20_000));
        }
        filter.queue.unwrap()
    };
    assert!(near(queue_after(false, 60), 2_999_500.0));
    // The line is fitted every half second, in which the clocks diverge by 25 us.
    assert!(queue_after(true, 60) <= 25_000.0, "{}", queue_after(true, 60));
}

#[test]
fn options_are_checked() {
    let wrong = |options: UddjOptions| options.check().unwrap_err().key;
    assert_eq!(wrong(UddjOptions { margin: 1.0, ..UddjOptions::default() }), "margin");
    assert_eq!(wrong(UddjOptions { margin: f64::NAN, ..UddjOptions::default() }), "margin");
    assert_eq!(
        wrong(UddjOptions { bottleneck: Some(Rate::from_bits_per_second(0)), ..UddjOptions::default() }),
        "bottleneck"
    );
    UddjOptions::default().check().unwrap();
}
