use super::super::seen;
use super::*;

/// Up to 50 us, up to 100, up to 200 ...
#[test]
fn classes_double() {
    let classes = [0, 50, 51, 100, 101, 200, 201, 25_600, 51_200, 10_000_000]
        .map(|micros| Guarded::class(Duration::from_micros(micros)));
    assert_eq!(classes, [0, 0, 1, 1, 2, 2, 3, 9, 10, 15]);
}

/// Feeds packets of 1 ms distance, of which the n-th waits `queue(n)` us and is lost if `lost(n)`; returns how many losses of the last half counted, and how
/// many there were.
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

/// A number of which nobody sees the rule.
fn drawn(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 20
}

/// A queue that goes up and down between 0 and 20 ms in 2 s.
fn saw(number: u64) -> u64 {
    20 * (1000 - (number % 2000).abs_diff(1000))
}

/// The channel takes 1 of 20, whatever the queue.
#[test]
fn losses_at_all_delays_alike_do_not_count() {
    let (counted, all) = run(100_000, saw, |number| drawn(number).is_multiple_of(20));
    assert!(all > 2000 && counted * 50 < all, "{counted} of {all}");
}

/// A queue that drops at its top.
#[test]
fn losses_at_the_top_of_the_queue_count() {
    let (counted, all) = run(100_000, saw, |number| saw(number) > 19_000 && number % 20 == 0);
    assert!(all > 100 && counted == all, "{counted} of {all}");
}

/// Both: of the channel's 1 % hardly any counts, of the queue's 20 % at its top all.
#[test]
fn both_are_told_apart() {
    let channel = |number| drawn(number).is_multiple_of(100);
    let top = |number| saw(number) > 19_000 && number % 5 == 0;
    let (of_channel, _) = run(100_000, saw, channel);
    let (counted, all) = run(100_000, saw, |number| channel(number) || top(number));
    let (_, of_top) = run(100_000, saw, top);
    assert!(of_channel * 10 < all - of_top, "{of_channel}");
    assert!(counted * 10 > of_top * 9, "{counted} of {all}, {of_top} at the top");
}

/// Where nothing ever waits, delays say nothing.
#[test]
fn without_delays_all_losses_count() {
    let (counted, all) = run(50_000, |_| 0, |number| drawn(number).is_multiple_of(50));
    assert_eq!(counted, all);
}

/// A queue that has become 30 ms longer for good, and drops: the channel that there was before is forgotten in some 256 round trips, and then all counts.
#[test]
fn what_was_is_forgotten() {
    let queue = |number: u64| if number < 20_000 { saw(number) } else { 40_000 };
    let (counted, all) = run(100_000, queue, |number| drawn(number).is_multiple_of(50));
    assert!(all > 500 && counted * 100 > all * 95, "{counted} of {all}");
}
