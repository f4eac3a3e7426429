use super::*;
use crate::queue::testing::check_bounds;
use headway_units::{Bytes, Dialect, Dscp, Ecn, Options as _, Probability, Threshold};

fn red(change: impl FnOnce(&mut Options)) -> Red {
    let mut options = Options::preset(Dialect::Rfc);
    change(&mut options);
    options.check().unwrap();
    Red::new(&options, LinkProperties { rate: "1Mbps".parse().unwrap(), delay: Duration::from_millis(20) })
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "found {found}, expected {expected}");
}

/// p_b for thresholds 5 and 15, max_p 0.1 (vectors computed independently; equal to ns-2's `prob1_`).
#[test]
fn probability_follows_the_average() {
    for (avg, gentle, plain) in [
        (5.0, 0.0, 0.0),
        (7.5, 0.025, 0.025),
        (10.0, 0.05, 0.05),
        (14.9, 0.099, 0.099),
        (15.0, 0.1, 1.0),
        (20.0, 0.4, 1.0),
        (25.0, 0.7, 1.0),
        (30.0, 1.0, 1.0),
    ] {
        for (is_gentle, expected) in [(true, gentle), (false, plain)] {
            let mut queue = red(|options| options.gentle = is_gentle);
            queue.avg = avg;
            close(queue.p_b(), expected, 1e-12);
        }
    }
}

/// p_a from p_b: with `wait` 0 before 1/p_b arrivals, without it the formula of 1993.
#[test]
fn spacing_makes_drops_uniform() {
    for (p_b, count, wait, plain) in [
        (0.05, 1, 0.0, 0.052_631_6),
        (0.05, 10, 0.0, 0.1),
        (0.05, 19, 0.0, 1.0),
        (0.05, 20, 0.05, 1.0),
        (0.05, 30, 0.1, 1.0),
        (0.05, 39, 1.0, 1.0),
        (0.05, 49, 1.0, 1.0),
        (0.05, 60, 1.0, 1.0),
        (0.05, 99, 1.0, 1.0),
        (0.02, 1, 0.0, 0.020_408_2),
        (0.02, 10, 0.0, 0.025),
        (0.02, 19, 0.0, 0.032_258_1),
        (0.02, 20, 0.0, 0.033_333_3),
        (0.02, 30, 0.0, 0.05),
        (0.02, 39, 0.0, 0.090_909_1),
        (0.02, 49, 0.0, 1.0),
        (0.02, 60, 0.025, 1.0),
        (0.02, 99, 1.0, 1.0),
        // The average has jumped.
        (0.05, 40, 1.0, 1.0),
        (0.5, 40, 1.0, 1.0),
    ] {
        for (is_wait, expected) in [(true, wait), (false, plain)] {
            let mut queue = red(|options| options.wait = is_wait);
            queue.count = count;
            close(queue.p_a(p_b, 1000), expected, 1e-6);
        }
    }
}

/// In byte mode the count is bytes over the mean packet in integers, and p grows with the size of the packet.
#[test]
fn byte_mode_weighs_the_packet() {
    let mut queue = red(|options| {
        options.weigh_size = true;
        options.wait = false;
    });
    queue.count_bytes = 5_499;
    close(queue.p_a(0.01, 1000), 0.01 / (1.0 - 10.0 * 0.01) * 2.0, 1e-12);
}

/// A whole run of averages, with idle decay: `tests/data/red-average-run.csv`.
#[test]
fn average_agrees_with_ns2_over_a_run() {
    let mut queue = red(|options| {
        options.mean_packet = Bytes::new(1000);
        options.limit = QueueSize::Packets(1_000_000);
        options.min_threshold = Some(Threshold::Packets(1e6));
        options.max_threshold = Some(Threshold::Packets(3e6));
    });
    let text = include_str!("../../../tests/data/red-average-run.csv");
    let mut rows = 0;
    for line in text.lines().filter(|line| !line.starts_with(['#', 't'])) {
        let fields: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        queue.update_average(Instant::ZERO, fields[1] as u64, fields[3] as u64);
        close(queue.avg, fields[2], 1e-12 * fields[2].max(1e-3));
        rows += 1;
    }
    assert!(rows > 150, "{rows}");
}

/// m counts whole mean packets: one of 1000 B at 1 Mb/s takes 8 ms.
#[test]
fn idle_time_counts_in_whole_packets() {
    let queue = red(|options| options.mean_packet = Bytes::new(1000));
    let missed = |idle_s| queue.missed_arrivals(idle_s);
    assert_eq!([missed(-1e-9), missed(0.0079), missed(0.0081), missed(0.3519), missed(0.3521)], [0, 0, 1, 43, 44]);
}

/// ns-2.35, measured: 1 Mb/s, 20 ms, 1000 B gives the weight 0.0079681.
#[test]
fn automatic_weight_is_that_of_ns2() {
    close(weight(-1.0, 125.0, Duration::from_millis(20)), 0.007_968_1, 5e-8);
    // Above 0.1 s: 3 (0.1 + 1 / 125) = 0.324 s, and 1 - exp(-1 / (10 x 0.324 x 125)).
    close(weight(-1.0, 125.0, Duration::from_millis(100)), 0.002_466_09, 5e-9);
    close(weight(0.0, 125.0, Duration::from_millis(20)), 1.0 - libm::exp(-1.0 / 125.0), 0.0);
    close(weight(-2.0, 125.0, Duration::from_millis(20)), 1.0 - libm::exp(-10.0 / 125.0), 0.0);
}

/// ns-2.35 at 50 Mb/s: 31.25 and 93.75 units of 500 B; at 10 Mb/s 6.25 and 18.75.
#[test]
fn automatic_thresholds_are_those_of_ns2() {
    for (rate, low, high) in [("50Mbps", 31.25, 93.75), ("10Mbps", 6.25, 18.75), ("1Mbps", 5.0, 15.0)] {
        let options = Options::preset(Dialect::Ns2);
        let queue = Red::new(&options, LinkProperties { rate: rate.parse().unwrap(), delay: Duration::from_millis(3) });
        close(queue.min_th, low * 500.0, 1e-9);
        close(queue.max_th, high * 500.0, 1e-9);
    }
}

fn arrive(queue: &mut Red, packets: u64, ecn: Ecn, random: &mut Random) -> Verdict {
    let backlog = Backlog { packets, bytes: packets * 1000, idle: false, idle_s: 0.0 };
    queue.admit(Instant::from_secs(1), &backlog, Arrival { size: Bytes::new(1000), ecn, dscp: Dscp::CS0 }, random)
}

#[test]
fn the_first_above_the_threshold_is_never_dropped() {
    let mut random = Random::new(1, "red");
    let mut queue = red(|options| {
        options.gentle = false;
        options.max_threshold = Some(Threshold::Packets(5.0));
        options.queue_weight = 1.0;
        options.mark_limit = MarkLimit::new(0.1);
    });
    assert_eq!(arrive(&mut queue, 10, Ecn::NotEct, &mut random), Verdict::Admit);
    assert_eq!(arrive(&mut queue, 10, Ecn::NotEct, &mut random), Verdict::Drop(DropCause::Early));
}

#[test]
fn a_single_waiting_packet_prevents_early_drops() {
    let mut random = Random::new(1, "red");
    let mut queue = red(|options| options.gentle = false);
    queue.avg = 1000.0;
    for _ in 0..50 {
        assert_eq!(arrive(&mut queue, 1, Ecn::NotEct, &mut random), Verdict::Admit);
    }
}

/// RFC 3168: an ECN-capable packet is marked instead of dropped; from `mark_limit` on it is dropped, too.
#[test]
fn capable_packets_are_marked_below_the_mark_limit() {
    let mut random = Random::new(1, "red");
    let mut verdicts = |avg: f64, ecn| {
        let mut queue = red(|options| {
            options.ecn = true;
            options.mark_limit = MarkLimit::new(0.1);
        });
        queue.above_min = true;
        let mut seen = [0u32; 3];
        for _ in 0..400 {
            queue.avg = avg;
            match arrive(&mut queue, avg as u64, ecn, &mut random) {
                Verdict::Admit => seen[0] += 1,
                Verdict::Mark => seen[1] += 1,
                _ => seen[2] += 1,
            }
        }
        seen
    };
    let [_, marked, dropped] = verdicts(10.0, Ecn::Ect0);
    assert!(marked > 5 && dropped == 0);
    let [_, marked, dropped] = verdicts(10.0, Ecn::NotEct);
    assert!(marked == 0 && dropped > 5);
    let [_, marked, dropped] = verdicts(16.0, Ecn::Ect0);
    assert!(marked == 0 && dropped > 5, "p_b is above 0.1");
}

/// ns-2.35, red.cc `drop_early`: ECN-capable packets are dropped if `mark_p_` is not above p_b. With 2.0 they never
/// are, and there are no forced drops above the upper threshold. With 1.0 every packet is dropped there.
#[test]
fn ns2_mark_p_of_2_marks_always() {
    let mut random = Random::new(1, "red");
    for (limit, expected) in [(1.0, Verdict::Drop(DropCause::Early)), (2.0, Verdict::Mark)] {
        let mut queue = red(|options| {
            (options.ecn, options.gentle, options.queue_weight) = (true, false, 1.0);
            (options.min_threshold, options.max_threshold) =
                (Some(Threshold::Packets(20.0)), Some(Threshold::Packets(20.0)));
            options.mark_limit = MarkLimit::new(limit);
        });
        assert_eq!(arrive(&mut queue, 25, Ecn::Ect0, &mut random), Verdict::Admit, "the first one is not dropped");
        for packets in 26..40 {
            assert_eq!(arrive(&mut queue, packets, Ecn::Ect0, &mut random), expected, "{limit}");
            assert_eq!(arrive(&mut queue, packets, Ecn::NotEct, &mut random), Verdict::Drop(DropCause::Early));
        }
    }
    assert_eq!([-0.1, 100.1, f64::NAN].map(MarkLimit::new), [None; 3]);
}

/// ns-3.37, `RedQueueDisc::InitializeParams`: the bottom is min(0.01, 8 MeanPktSize Rtt / rate) with 500 B and 0.1 s.
/// ns-2.35, red.cc `initialize_params`: min(0.01, 80000 / rate).
#[test]
fn the_automatic_bottom_is_that_of_the_dialect() {
    for (dialect, rate, bottom) in [
        (Dialect::Ns2, "10Mbps", 0.008),
        (Dialect::Ns2, "1Mbps", 0.01),
        (Dialect::Rfc, "10Mbps", 0.008),
        (Dialect::Ns3, "10Mbps", 4e-5),
        (Dialect::Ns3, "10kbps", 0.01),
    ] {
        let options = Options::preset(dialect);
        let queue =
            Red::new(&options, LinkProperties { rate: rate.parse().unwrap(), delay: Duration::from_millis(20) });
        close(queue.bottom, bottom, 1e-15);
    }
}

#[test]
fn a_marked_packet_may_find_the_queue_full() {
    let mut random = Random::new(1, "red");
    let mut verdict = |packets| {
        let mut queue = red(|options| {
            options.ecn = true;
            options.limit = QueueSize::Packets(20);
            options.max_probability = Probability::ONE;
        });
        queue.above_min = true;
        queue.avg = 15.0;
        arrive(&mut queue, packets, Ecn::Ect0, &mut random)
    };
    assert_eq!(verdict(19), Verdict::Mark);
    assert_eq!(verdict(20), Verdict::DropMarked(DropCause::QueueFull));
}

/// ns-2's RED in packets accepts up to its limit, its DropTail one less.
#[test]
fn a_full_queue_drops_at_the_limit() {
    let mut random = Random::new(1, "red");
    let mut queue = red(|options| {
        options.limit = QueueSize::Packets(20);
        options.min_threshold = Some(Threshold::Packets(20.0));
        options.max_threshold = Some(Threshold::Packets(60.0));
    });
    assert_eq!(arrive(&mut queue, 19, Ecn::NotEct, &mut random), Verdict::Admit);
    assert_eq!(arrive(&mut queue, 20, Ecn::NotEct, &mut random), Verdict::Drop(DropCause::QueueFull));
}

/// Adaptive RED: multiplicative decrease below the target, additive increase above it, once per interval.
#[test]
fn adaptive_red_moves_max_p_once_an_interval() {
    let mut queue = red(|options| {
        options.adaptive = Adaptive::Aimd;
        options.queue_weight = 1.0;
    });
    queue.update_average(Instant::from_millis(501), 6, 0);
    close(queue.max_p, 0.09, 1e-12);
    queue.update_average(Instant::from_millis(900), 6, 0);
    close(queue.max_p, 0.09, 1e-12);
    queue.update_average(Instant::from_millis(1002), 14, 0);
    close(queue.max_p, 0.1, 1e-12);
    queue.update_average(Instant::from_millis(1503), 10, 0);
    close(queue.max_p, 0.1, 1e-12);
}

#[test]
fn each_bound_of_the_options_holds_on_both_sides() {
    check_bounds::<Options>(
        &[
            |o| o.limit = QueueSize::Packets(5),
            |o| (o.limit, o.min_threshold) = (QueueSize::Packets(1), Some(Threshold::Packets(1.0))),
            |o| (o.limit, o.min_threshold) = (QueueSize::Packets(4), None),
            |o| (o.limit, o.in_bytes) = (QueueSize::Bytes(Bytes::new(2500)), true),
            |o| (o.min_threshold, o.in_bytes) = (Some(Threshold::Bytes(1.0)), true),
            |o| o.min_threshold = Some(Threshold::Packets(15.0)),
            |o| o.max_threshold = Some(Threshold::Packets(5.0)),
            |o| o.max_threshold = None,
            |o| (o.min_threshold, o.max_threshold) = (None, Some(Threshold::Packets(5.0))),
            |o| o.mean_packet = Bytes::new(1),
            |o| o.mean_packet = Bytes::new(1_000_000_000),
            |o| o.idle_packet = Bytes::new(1),
            |o| o.idle_packet = Bytes::new(1_000_000_000),
            |o| o.queue_weight = f64::MIN_POSITIVE,
            |o| o.queue_weight = 1.0,
            |o| o.queue_weight = 0.0,
            |o| o.queue_weight = -1.0,
            |o| o.queue_weight = -2.0,
            |o| o.max_probability = Probability::new(f64::MIN_POSITIVE).unwrap(),
            |o| o.alpha = Some(f64::MIN_POSITIVE),
            |o| o.alpha = Some(100.0),
            |o| o.beta = Some(f64::MIN_POSITIVE),
            |o| o.beta = Some(100.0),
            |o| o.cautious = 3,
            |o| (o.adaptive, o.bottom) = (Adaptive::Aimd, o.top),
        ],
        &[
            ("limit", |o| o.limit = QueueSize::Packets(0)),
            ("limit", |o| o.limit = QueueSize::Packets(4)),
            ("limit", |o| (o.limit, o.in_bytes) = (QueueSize::Bytes(Bytes::new(2499)), true)),
            ("max_threshold", |o| (o.min_threshold, o.max_threshold) = (None, Some(Threshold::Packets(4.5)))),
            ("limit", |o| o.limit = QueueSize::Bytes(Bytes::new(9000))),
            ("limit", |o| (o.limit, o.in_bytes) = (QueueSize::Bytes(Bytes::new(0)), true)),
            ("min_threshold", |o| o.min_threshold = Some(Threshold::Bytes(1.0))),
            ("max_threshold", |o| o.max_threshold = Some(Threshold::Bytes(9.0))),
            ("max_threshold", |o| o.min_threshold = Some(Threshold::Packets(15.0_f64.next_up()))),
            ("max_threshold", |o| o.max_threshold = Some(Threshold::Packets(5.0_f64.next_down()))),
            ("mean_packet", |o| o.mean_packet = Bytes::new(0)),
            ("mean_packet", |o| o.mean_packet = Bytes::new(1_000_000_001)),
            ("idle_packet", |o| o.idle_packet = Bytes::new(0)),
            ("idle_packet", |o| o.idle_packet = Bytes::new(1_000_000_001)),
            ("queue_weight", |o| o.queue_weight = 0.0_f64.next_down()),
            ("queue_weight", |o| o.queue_weight = 1.0_f64.next_up()),
            ("queue_weight", |o| o.queue_weight = -3.0),
            ("queue_weight", |o| o.queue_weight = f64::NAN),
            ("max_probability", |o| o.max_probability = Probability::ZERO),
            ("alpha", |o| o.alpha = Some(0.0)),
            ("alpha", |o| o.alpha = Some(100.0_f64.next_up())),
            ("beta", |o| o.beta = Some(0.0)),
            ("beta", |o| o.beta = Some(100.0_f64.next_up())),
            ("cautious", |o| o.cautious = 4),
            ("bottom", |o| (o.adaptive, o.bottom) = (Adaptive::Aimd, Probability::ONE)),
            ("classes", |o| o.classes = vec![Class { dscp: vec![], on_congestion: OnCongestion::Drop }]),
        ],
    );
}

/// A queue in bytes converts a threshold or limit in packets with the mean packet size.
#[test]
fn packets_become_bytes() {
    let queue = red(|options| {
        options.in_bytes = true;
        options.limit = QueueSize::Packets(50);
        options.max_threshold = Some(Threshold::Bytes(7000.0));
    });
    assert_eq!((queue.limit, queue.min_th, queue.max_th), (25_000, 2500.0, 7000.0));
    let queue = red(|options| (options.in_bytes, options.limit) = (true, "9kB".parse().unwrap()));
    assert_eq!(queue.limit, 9000);
    let queue = red(|options| options.min_threshold = Some(Threshold::Packets(0.0)));
    assert_eq!((queue.min_th, queue.max_th), (5.0, 15.0), "zero is automatic");
}

/// Self-configuring RED (Feng, Kandlur, Saha and Shin 1999): max_p is divided by alpha when the average falls below
/// the lower threshold, and multiplied by beta when it rises above the upper one; once per crossing.
#[test]
fn feng_moves_max_p_at_each_crossing() {
    let mut queue = red(|options| {
        options.adaptive = Adaptive::Feng;
        (options.alpha, options.beta) = (Some(4.0), Some(2.0));
        options.queue_weight = 1.0;
    });
    for (q, max_p) in [
        (20, 0.1), // it begins above
        (5, 0.1),
        (4, 0.025),
        (3, 0.025),
        (15, 0.025),
        (16, 0.05),
        (20, 0.05),
        (10, 0.05),
        (16, 0.1),
        (10, 0.1),
        (4, 0.025),
        (10, 0.025),
        (4, 0.00625),
    ] {
        queue.update_average(Instant::ZERO, q, 0);
        close(queue.max_p, max_p, 1e-12);
    }
}

/// Feng et al. divide by 3 and multiply by 2 (ns-3: `FengAlpha`, `FengBeta`). ns-2 has the values of Adaptive RED.
#[test]
fn feng_without_alpha_and_beta() {
    for (dialect, below, above) in [(Dialect::Rfc, 0.1 / 3.0, 0.2 / 3.0), (Dialect::Ns2, 10.0, 9.0)] {
        let mut options = Options { adaptive: Adaptive::Feng, queue_weight: 1.0, ..Options::preset(Dialect::Rfc) };
        let Options { alpha, beta, .. } = Options::preset(dialect);
        (options.alpha, options.beta) = (alpha, beta);
        let mut queue = red(|own| *own = options);
        queue.update_average(Instant::ZERO, 4, 0);
        close(queue.max_p, below, 1e-12);
        queue.update_average(Instant::ZERO, 16, 0);
        close(queue.max_p, above, 1e-12);
    }
}

/// The target of Adaptive RED is the middle fifth, between 9 and 11 here; max_p stays between 0.01 and 0.5, and
/// increases by 0.01 or a quarter.
#[test]
fn adaptive_red_at_its_bounds() {
    let after = |max_p: f64, q: u64| {
        let mut queue = red(|options| {
            options.adaptive = Adaptive::Aimd;
            options.queue_weight = 1.0;
        });
        queue.max_p = max_p;
        queue.update_average(Instant::from_millis(501), q, 0);
        queue.max_p
    };
    for (max_p, q, wanted) in [
        (0.1, 8, 0.09),
        (0.1, 9, 0.1),
        (0.1, 11, 0.1),
        (0.1, 12, 0.11),
        (0.02, 12, 0.025),
        (0.01, 8, 0.01),
        (0.5, 12, 0.5),
        (0.495, 12, 0.505),
    ] {
        close(after(max_p, q), wanted, 1e-12);
    }
    // At 80 Mb/s the lower bound is 0.001.
    let mut options = Options::preset(Dialect::Rfc);
    let facts = || LinkProperties { rate: "80Mbps".parse().unwrap(), delay: Duration::ZERO };
    close(Red::new(&options, facts()).bottom, 0.001, 1e-15);
    options.bottom = Probability::new(0.2).unwrap();
    close(Red::new(&options, facts()).bottom, 0.2, 0.0);
    // Not before the interval has passed, and from then on.
    let mut queue = red(|options| (options.adaptive, options.queue_weight) = (Adaptive::Aimd, 1.0));
    queue.update_average(Instant::from_millis(500), 8, 0);
    close(queue.max_p, 0.1, 0.0);
}

/// Without `mark_limit` every packet is dropped from the upper threshold on; if `gentle`, from twice that on.
#[test]
fn beyond_the_upper_threshold() {
    for (gentle, certain) in [(false, 15), (true, 30)] {
        let verdict = |packets: u64| {
            let mut queue = red(|options| (options.gentle, options.queue_weight) = (gentle, 1.0));
            arrive(&mut queue, packets, Ecn::NotEct, &mut Random::new(1, "red"))
        };
        assert_eq!(verdict(certain - 1), Verdict::Admit, "the first one above the lower threshold");
        assert_eq!(verdict(certain), Verdict::Drop(DropCause::QueueFull));
    }
}

/// A queue with an average of 12 packets that drops the next packet early with certainty.
fn certain(cautious: u8) -> Red {
    let mut queue = red(|options| (options.cautious, options.wait) = (cautious, false));
    (queue.avg, queue.above_min, queue.count, queue.count_bytes) = (12.0, true, 1000, 0);
    queue
}

/// `cautious_` 1 and 2: "far below" is the average after 50 ms of idle time. At 1 Mb/s: 12.5 packets of 500 B, 12
/// (0.998)^12.5 = 11.70.
#[test]
fn a_queue_far_below_its_average_drops_less() {
    let arrival = Arrival { size: Bytes::new(500), ecn: Ecn::NotEct, dscp: Dscp::CS0 };
    let dropped = |cautious: u8, q: u64| {
        let mut random = Random::new(1, "red");
        let early = |_: &u32| matches!(certain(cautious).decide_early(q, arrival, &mut random), Early::Drop);
        (0..4000).filter(early).count()
    };
    assert_eq!((dropped(0, 2), dropped(0, 12)), (4000, 4000));
    assert_eq!((dropped(1, 11), dropped(1, 12)), (0, 4000));
    // 2 drops a fraction: 2 of 11.70, 10 of 11.70.
    assert_eq!(dropped(2, 12), 4000);
    close(dropped(2, 2) as f64 / 4000.0, 0.171, 0.025);
    close(dropped(2, 10) as f64 / 4000.0, 0.855, 0.025);
    // 12 (0.98)^12.5 = 9.32.
    for (q, spared) in [(9, true), (10, false)] {
        let mut queue = certain(1);
        queue.w_q = 0.02;
        assert_eq!(matches!(queue.decide_early(q, arrival, &mut Random::new(1, "red")), Early::No), spared, "{q}");
    }
}

/// `cautious_` 3: idle time counts in packets of 100 B: at 1 Mb/s 1.25 per millisecond.
#[test]
fn idle_time_in_small_packets() {
    let queue = red(|options| options.cautious = 3);
    assert_eq!(queue.missed_arrivals(0.008_01), 10);
}

/// A drop restarts the count. With `ns1_compat_` a drop by a full queue does not.
#[test]
fn a_drop_restarts_the_count() {
    for (ns1_compat, left) in [(false, (0, 0)), (true, (8, 5000))] {
        let mut queue = red(|options| options.ns1_compat = ns1_compat);
        (queue.count, queue.count_bytes) = (7, 4000);
        let verdict = arrive(&mut queue, 50, Ecn::NotEct, &mut Random::new(1, "red"));
        assert_eq!(verdict, Verdict::Drop(DropCause::QueueFull));
        assert_eq!((queue.count, queue.count_bytes), left);
    }
    let arrival = Arrival { size: Bytes::new(500), ecn: Ecn::NotEct, dscp: Dscp::CS0 };
    let mut queue = certain(0);
    assert!(matches!(queue.decide_early(12, arrival, &mut Random::new(1, "red")), Early::Drop));
    assert_eq!((queue.count, queue.count_bytes), (0, 0));
    // Below the lower threshold, so that the next crossing drops nothing again.
    let mut queue = red(|options| options.queue_weight = 1.0);
    (queue.above_min, queue.count, queue.count_bytes) = (true, 7, 4000);
    let mut random = Random::new(1, "red");
    arrive(&mut queue, 4, Ecn::NotEct, &mut random);
    assert!(!queue.above_min);
    arrive(&mut queue, 5, Ecn::NotEct, &mut random);
    assert_eq!((queue.above_min, queue.count, queue.count_bytes), (true, 1, 1000));
}

/// Victims of a full queue: any waiting packet or the arriving one, or the second to depart.
#[test]
fn victims() {
    let place = |drop: Victim, packets: u64, random: &mut Random| {
        let mut queue = red(|options| {
            (options.drop, options.limit) = (drop, QueueSize::Packets(packets));
            options.min_threshold = Some(Threshold::Packets(packets as f64));
        });
        match arrive(&mut queue, packets, Ecn::NotEct, random) {
            Verdict::EnqueueAndDrop { mark: false, place, cause: DropCause::QueueFull } => Some(place),
            _ => None,
        }
    };
    let mut random = Random::new(1, "red");
    assert_eq!([1, 2, 9].map(|packets| place(Victim::Front, packets, &mut random)), [Some(1); 3]);
    let mut seen = [0; 4];
    (0..400).for_each(|_| seen[place(Victim::Random, 3, &mut random).unwrap()] += 1);
    assert!(seen.iter().all(|times| *times > 60), "{seen:?}");
}

/// Two classes, AF41 marked at the head and EF at the tail, and LE that is dropped; each would be dropped early.
fn of_classes(change: impl FnOnce(&mut Options)) -> Red {
    let class = |name: &str, on_congestion| Class { dscp: vec![name.parse().unwrap()], on_congestion };
    let mut queue = red(|options| {
        // p_b = 1 from 5 packets on, and never certain: twice the upper threshold is 20.
        (options.max_threshold, options.gentle) = (Some(Threshold::Packets(10.0)), true);
        options.max_probability = Probability::ONE;
        options.wait = false;
        options.classes = vec![
            class("af41", OnCongestion::MarkHead),
            class("ef", OnCongestion::MarkTail),
            class("le", OnCongestion::Drop),
        ];
        change(options);
    });
    (queue.above_min, queue.avg) = (true, 10.0);
    queue
}

fn arrive_as(queue: &mut Red, packets: u64, name: &str, ecn: Ecn) -> Verdict {
    let backlog = Backlog { packets, bytes: packets * 1000, idle: false, idle_s: 0.0 };
    let arrival = Arrival { size: Bytes::new(1000), ecn, dscp: name.parse().unwrap() };
    queue.admit(Instant::from_secs(1), &backlog, arrival, &mut Random::new(1, "red"))
}

/// At the upper threshold p_b is max_p = 1: every packet would be dropped. ECN fields matter only without a class.
#[test]
fn a_class_determines_the_action() {
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ce] {
        for capable in [false, true] {
            let verdict = |name| arrive_as(&mut of_classes(|options| options.ecn = capable), 10, name, ecn);
            assert_eq!(verdict("af41"), Verdict::MarkHead { class: 0 });
            assert_eq!(verdict("ef"), Verdict::Mark);
            assert_eq!(verdict("le"), Verdict::Drop(DropCause::Early));
            let marked = capable && ecn.is_capable();
            assert_eq!(verdict("cs0"), if marked { Verdict::Mark } else { Verdict::Drop(DropCause::Early) });
        }
    }
}

/// The first packet above the lower threshold, and one that finds at most one waiting, are not dropped or marked.
#[test]
fn classes_do_not_add_drops_or_marks() {
    for name in ["af41", "ef", "le"] {
        let mut queue = of_classes(|_| ());
        queue.above_min = false;
        assert_eq!(arrive_as(&mut queue, 10, name, Ecn::Ect0), Verdict::Admit);
        assert_eq!(arrive_as(&mut of_classes(|_| ()), 1, name, Ecn::Ect0), Verdict::Admit);
    }
}

/// A full queue, and an average above twice the upper threshold, drop packets of any class; the latter are the forced
/// drops of ns-2. From `mark_limit` on a packet is dropped early.
#[test]
fn forced_drops_apply_to_all_classes() {
    let full = |options: &mut Options| options.limit = QueueSize::Packets(10);
    for name in ["af41", "ef"] {
        let verdict = arrive_as(&mut of_classes(full), 10, name, Ecn::NotEct);
        assert_eq!(verdict, Verdict::DropMarked(DropCause::QueueFull));
        let mut queue = of_classes(|options| options.queue_weight = 1.0);
        assert_eq!(
            arrive_as(&mut queue, 19, name, Ecn::NotEct),
            arrive_as(&mut of_classes(|_| ()), 10, name, Ecn::NotEct)
        );
        assert_eq!(arrive_as(&mut queue, 20, name, Ecn::NotEct), Verdict::Drop(DropCause::QueueFull));
        let limited = |options: &mut Options| options.mark_limit = MarkLimit::new(0.5);
        assert_eq!(arrive_as(&mut of_classes(limited), 10, name, Ecn::NotEct), Verdict::Drop(DropCause::Early));
    }
    // A full queue that evicts another packet admits the arriving one, which is marked.
    let front = |options: &mut Options| (options.limit, options.drop) = (QueueSize::Packets(10), Victim::Front);
    let evict = Verdict::EnqueueAndDrop { mark: true, place: 1, cause: DropCause::QueueFull };
    assert_eq!(arrive_as(&mut of_classes(front), 10, "af41", Ecn::NotEct), evict);
}
