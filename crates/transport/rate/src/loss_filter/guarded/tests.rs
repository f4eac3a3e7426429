use super::super::seen;
use super::*;

#[test]
fn classes_double() {
    let classes = [0, 50, 51, 100, 101, 200, 201, 25_600, 51_200, 10_000_000]
        .map(|micros| Guarded::class(Duration::from_micros(micros)));
    assert_eq!(classes, [0, 0, 1, 1, 2, 2, 3, 9, 10, 15]);
}

/// Feeds packets every 1 ms, of which the n-th is queued for `queue(n)` us and lost if `lost(n)`. Returns the number of
/// counted losses and of all losses in the last half.
fn run(packets: u64, queue: impl Fn(u64) -> u64, lost: impl Fn(u64) -> bool) -> (u64, u64) {
    let mut filter = Guarded::default();
    let (mut counted, mut all) = (0, 0);
    let mut missing = None;
    for number in 0..packets {
        if lost(number) {
            missing.get_or_insert(number);
            continue;
        }
        let seen = Seen {
            rtt: Some(Duration::from_millis(20)),
            ..seen(number, 1000 * number, 1000 * number + 5000 + queue(number))
        };
        filter.on_packet(&seen);
        if let Some(first) = missing.take().filter(|_| number > packets / 2) {
            all += 1;
            counted += u64::from(filter.counts(first, number - 1));
        }
    }
    (counted, all)
}

fn drawn(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 20
}

/// Returns a queueing delay that rises and falls between 0 and 20 ms with a period of 2 s.
fn sawtooth(number: u64) -> u64 {
    20 * (1000 - (number % 2000).abs_diff(1000))
}

/// The channel loses 1 of 20 packets at any queueing delay.
#[test]
fn losses_independent_of_delay_do_not_count() {
    let (counted, all) = run(100_000, sawtooth, |number| drawn(number).is_multiple_of(20));
    assert!(all > 2000 && counted * 50 < all, "{counted} of {all}");
}

/// The first losses count, because nothing is known. They no longer do when the channel explains them: the queue passes
/// all lengths three times, and each loses 1 of 100. The losses of a full queue keep counting. Losses while the queue
/// falls for the first time are not regarded: it looks like a standing queue.
#[test]
fn first_losses_are_excused_when_the_path_is_known() {
    for (lost, ever_excused) in [
        ((|number| number % 100 == 99) as fn(u64) -> bool, true),
        (|number| sawtooth(number) > 19_000 && number % 20 == 0, false),
    ] {
        let (mut filter, mut losses, mut counted) = (Guarded::default(), Vec::new(), 0);
        for number in 0..6000_u64 {
            if lost(number) {
                losses.extend((number < 1000).then_some(number));
                continue;
            }
            let (sent, rtt) = (1000 * number, Some(Duration::from_millis(20)));
            filter.on_packet(&Seen { rtt, ..seen(number, sent, sent + 5000 + sawtooth(number)) });
            if let Some(first) = losses.last().filter(|last| **last + 1 == number) {
                counted += usize::from(filter.counts(*first, *first));
            }
        }
        let still = losses.iter().filter(|first| filter.counts(**first, **first)).count();
        assert!(counted > 0, "{losses:?}");
        assert_eq!(still, if ever_excused { 0 } else { losses.len() }, "{counted} of {losses:?} at first");
    }
}

/// A queue that drops packets at its maximum.
#[test]
fn losses_with_a_full_queue_count() {
    let (counted, all) = run(100_000, sawtooth, |number| sawtooth(number) > 19_000 && number % 20 == 0);
    assert!(all > 100 && counted == all, "{counted} of {all}");
}

/// With both, few of the channel's 1 % and nearly all of the full queue's 20 % count.
#[test]
fn channel_and_queue_losses_are_distinguished() {
    let channel = |number| drawn(number).is_multiple_of(100);
    let top = |number| sawtooth(number) > 19_000 && number % 5 == 0;
    let (of_channel, _) = run(100_000, sawtooth, channel);
    let (counted, all) = run(100_000, sawtooth, |number| channel(number) || top(number));
    let (_, of_top) = run(100_000, sawtooth, top);
    assert!(of_channel * 10 < all - of_top, "{of_channel}");
    assert!(counted * 10 > of_top * 9, "{counted} of {all}, {of_top} at the top");
}

/// Without queueing, delays are inconclusive.
#[test]
fn without_delays_all_losses_count() {
    let (counted, all) = run(50_000, |_| 0, |number| drawn(number).is_multiple_of(50));
    assert_eq!(counted, all);
}

/// The queue becomes 30 ms longer permanently and drops packets. After about 256 round trips all losses count.
#[test]
fn earlier_channel_losses_are_forgotten() {
    let queue = |number: u64| if number < 20_000 { sawtooth(number) } else { 40_000 };
    let (counted, all) = run(100_000, queue, |number| drawn(number).is_multiple_of(50));
    assert!(all > 500 && counted * 100 > all * 95, "{counted} of {all}");
}

/// Queues are conclusive with at least 16 packets and a sixteenth of all. Both classes lose 1 of 4: if the other class
/// is conclusive, the channel explains all losses, otherwise all count.
#[test]
fn sixteen_packets_and_a_sixteenth_of_all_are_conclusive() {
    let quarter = |received: f64| Counts { received, lost: received / 4.0 };
    for (others, own, part) in [
        (15.0, 16.0, 1.0),
        (16.0, 16.0, 0.0),
        (16.0, 240.0, 0.0),
        (16.0, 241.0, 1.0),
        (17.0, 255.0, 0.0),
        (17.0, 256.0, 1.0),
    ] {
        let mut filter = Guarded::default();
        (filter.classes[3], filter.classes[5]) = (quarter(others), quarter(own));
        assert_eq!(filter.part(5), part, "{others} shorter, {own} own");
        // Longer queues that do not lose more show that queues are not the cause.
        let mut filter = Guarded::default();
        (filter.classes[3], filter.classes[5]) = (quarter(own), quarter(others));
        assert_eq!(filter.part(3), part, "{own} own, {others} longer");
    }
    // Longer queues cannot be compared before a packet has met a shorter one.
    let mut filter = Guarded::default();
    (filter.classes[3].lost, filter.classes[5].received) = (1.0, 100.0);
    assert_eq!(filter.part(3), 1.0);
}

/// Each round trip keeps 255/256 of the counts: after one packet in each of n round trips a class holds 256 (1 -
/// (255/256)^n). Two packets in one round trip fade once.
#[test]
fn a_round_trip_keeps_255_of_256() {
    let mut filter = Guarded::default();
    let packets = (0..200).map(|number| (number, 20_000 * (number / 2)));
    for (number, sent) in packets {
        let rtt = Some(Duration::from_millis(20));
        filter.on_packet(&Seen { rtt, ..seen(number, sent, sent + 5000) });
    }
    // A packet counts once two later ones are received, so the first two do not.
    let keep: f64 = 255.0 / 256.0;
    let (expected, _) = (0..99).fold((0.0, 2.0), |(sum, weight), _| (sum + weight, weight * keep));
    let held = filter.classes[0].received;
    assert!((held - expected).abs() < 1e-9, "{held} instead of {expected}");
}
