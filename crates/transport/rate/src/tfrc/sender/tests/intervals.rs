//! Loss Intervals, as processed by the sender.

use super::*;

/// RFC 4342 section 9.2: reports are verified against the sent packets, here eight per round trip.
mod verification {
    use super::*;
    fn plain() -> TfrcOptions {
        TfrcOptions { discounting: false, ..rfc() }
    }

    fn interval(lossless: u32, lossy: u32, data: u32) -> LossInterval {
        LossInterval { lossless, lossy, data, dropped: lossy }
    }

    /// "The sender can verify that the receiver is not falsely combining two loss events into one": packets 3 to 34
    /// were sent in four round trips. Four events start at 3, 10, 18 and 26; the newest interval has 17 packets and is
    /// open.
    #[test]
    fn an_event_longer_than_a_round_trip_is_split() {
        let p = read(&plain(), &[], &[interval(8, 32, 40), interval(3, 0, 3)]);
        let mean = f64::max(17.0 + 8.0 + 8.0 + 7.0, 8.0 + 8.0 + 7.0 + 3.0) / 4.0;
        assert!((p - 1.0 / mean).abs() < 1e-12, "{p}");
        // Packets 3 to 13, a round trip and a quarter, may be one event whose losses the receiver cannot separate.
        let p = read(&plain(), &[], &[interval(29, 11, 40), interval(3, 0, 3)]);
        assert!((p - 1.0 / 40.0).abs() < 1e-12, "{p}");
        // With packet 14 there are two events, from 3 and from 10.
        let p = read(&plain(), &[], &[interval(28, 12, 40), interval(3, 0, 3)]);
        assert!((p - 2.0 / f64::max(33.0 + 7.0, 7.0 + 3.0)).abs() < 1e-12, "{p}");
    }

    /// The lost packet 40 carried no data: the other two of its interval are added to the 14 of the newest of the four
    /// events into which the previous interval is split.
    #[test]
    fn an_interval_without_data_is_merged_with_the_newest_part() {
        for (first, sum) in [(3, 16.0 + 8.0 + 8.0 + 7.0), (40, 8.0 + 8.0 + 7.0 + 40.0)] {
            let p = read(&plain(), &[40], &[interval(2, 1, 3), interval(5, 32, 37), interval(3, 0, first)]);
            assert!((p - 4.0 / sum).abs() < 1e-12, "{p}");
        }
    }

    /// Reports of the 32 losses from packet 3, and again 250 round trips later. Sending times are recorded for 64 round
    /// trips, but the four events are kept. Finally 26 to 34 have arrived late, which leaves three events.
    #[test]
    fn split_events_remain_split() {
        let mut sent = SentLog::default();
        (0..=44).for_each(|number| sent.add(Sent { number, at: ms(10 * number), counter: number / 2, bytes: number }));
        let mut reported = Reported::new(&plain(), false);
        reported.allowed(5.0, 5.0, || 1.0);
        let mut read = |acknowledged, sent: &SentLog, newest| {
            1.0 / reported.read(acknowledged, 0, &[newest, interval(3, 0, 3)], sent, 0.08).p
        };
        assert_eq!(read(44, &sent, interval(10, 32, 42)), (19.0 + 8.0 + 8.0 + 7.0) / 4.0);
        (45..=1044).for_each(|number| sent.add(Sent { number, at: ms(10 * number), counter: number, bytes: number }));
        assert_eq!(read(1044, &sent, interval(1010, 32, 1042)), (1019.0 + 8.0 + 8.0 + 7.0) / 4.0);
        assert_eq!(read(1044, &sent, interval(1019, 23, 1042)), (1027.0 + 8.0 + 7.0) / 3.0);
    }

    /// The receiver has reported two events, of packets 20 and 30. With verification it can retract neither: not by a
    /// lossless interval, not by one that lost only packet 29, which carried no data, nor by one that extends to the
    /// first packet.
    #[test]
    fn reported_losses_stay_reported() {
        let reported_intervals = [interval(12, 1, 13), interval(9, 1, 10), interval(20, 0, 20)];
        let p_of = |keeps: bool, later: &[LossInterval]| {
            let mut sent = SentLog::default();
            (0..=44).filter(|number| *number != 29).for_each(|number| {
                sent.add(Sent { number, at: ms(10 * number), counter: number / 2, bytes: number });
            });
            let mut reported = Reported::new(&plain(), keeps);
            sent.add_without_data(29);
            reported.allowed(5.0, 5.0, || 1.0);
            reported.read(42, 0, &reported_intervals, &sent, 0.08);
            reported.read(42, 0, later, &sent, 0.08).p
        };
        // 13 packets, 9, and the first interval.
        let honest = 2.0 / f64::max(13.0 + 9.0, 9.0 + 20.0);
        let taken_back: [&[LossInterval]; 4] = [
            &[interval(43, 0, 20)],
            &[interval(12, 1, 13), interval(30, 0, 20)],
            &[interval(13, 1, 14), interval(29, 0, 20)],
            &[interval(22, 1, 23), interval(20, 0, 20)],
        ];
        for later in taken_back {
            let p = p_of(true, later);
            assert!((p / honest - 1.0).abs() < 0.08, "{later:?}: {p}, {honest}");
            assert!(p_of(false, later) < 0.9 * honest, "{later:?}: no verification");
        }
        assert!((p_of(true, &reported_intervals) - honest).abs() < 1e-12);
        // An event whose first packet arrived late is the same event.
        let longer = [interval(12, 3, 15), interval(7, 1, 8), interval(20, 0, 20)];
        assert!((p_of(true, &longer) - 2.0 / f64::max(15.0 + 7.0, 7.0 + 20.0)).abs() < 0.01);
    }

    /// With more losses than packets, a part may be shorter than a packet, and p is at most 1.
    #[test]
    fn short_events_are_split_too() {
        let options = TfrcOptions { discounting: false, ..expert(|o| o.short_intervals = true) };
        let long = LossInterval { lossless: 0, lossy: 40, data: 1, dropped: 40 };
        for r in [0.001, 0.08, 0.3, 10.0] {
            let mut sent = SentLog::default();
            (0..=44)
                .for_each(|number| sent.add(Sent { number, at: ms(10 * number), counter: number / 2, bytes: number }));
            (5..44).for_each(|number| sent.add_without_data(number));
            let p = Reported::new(&options, false).read(44, 2, &[long, interval(3, 0, 3)], &sent, r).p;
            assert!((0.0..=1.0).contains(&p), "{p}");
        }
    }

    /// An interval is at most as long as all packets sent: 43.
    #[test]
    fn intervals_start_at_the_first_packet() {
        let p = read(&plain(), &[], &[interval((1 << 24) - 1, 1, (1 << 24) - 1)]);
        assert!((p - 1.0 / 43.0).abs() < 1e-12, "{p}");
    }

    /// The first interval is as reported, up to twice the square of the packets allowed in a round trip: 50.
    #[test]
    fn the_first_interval_is_bounded() {
        let p = read(&plain(), &[], &[interval(10, 1, 11), interval(32, 0, (1 << 24) - 1)]);
        assert!((p - 1.0 / 50.0).abs() < 1e-12, "{p}");
        let p = read(&plain(), &[], &[interval(10, 1, 11), interval(32, 0, 49)]);
        assert!((p - 1.0 / 49.0).abs() < 1e-12, "{p}");
        // A length of zero is no interval: the only closed one has 21 packets.
        let p = read(&plain(), &[], &[interval(10, 1, 11), interval(20, 1, 21), interval(11, 0, 0)]);
        assert!((p - 1.0 / 21.0).abs() < 1e-12, "{p}");
    }
}

/// Example of RFC 4342 section 8.6.2 as processed by the sender: intervals of 10, 10, 8 and 15 data packets.
const EXAMPLE: [LossInterval; 4] = [
    LossInterval { lossless: 10, lossy: 1, data: 10, dropped: 1 },
    LossInterval { lossless: 8, lossy: 5, data: 10, dropped: 4 },
    LossInterval { lossless: 8, lossy: 1, data: 8, dropped: 1 },
    LossInterval { lossless: 10, lossy: 0, data: 15, dropped: 0 },
];

fn read(options: &TfrcOptions, without_data: &[u64], intervals: &[LossInterval]) -> f64 {
    read_with(options, without_data, &[(0.08, intervals)])
}

/// Returns p of the last of these reports, each with R on its arrival.
fn read_with(options: &TfrcOptions, without_data: &[u64], reports: &[(f64, &[LossInterval])]) -> f64 {
    let mut sent = SentLog::default();
    for number in 0..=44 {
        if without_data.contains(&number) {
            sent.add_without_data(number);
        } else {
            sent.add(Sent { number, at: ms(10 * number), counter: number / 2, bytes: number });
        }
    }
    let mut reported = Reported::new(options, false);
    reported.allowed(5.0, 5.0, || 1.0);
    reports.iter().fold(0.0, |_, (r, intervals)| reported.read(44, 2, intervals, &sent, *r).p)
}

#[test]
fn loss_intervals_from_the_receiver() {
    let plain = TfrcOptions { discounting: false, ..rfc() };
    // Packets 33, 24, 25, 26 and 11 carried no data: lengths 10, 10, 8, 15; the closed three are 33.
    let p = read(&plain, &[11, 24, 25, 26, 33], &EXAMPLE);
    assert!((p - 3.0 / 33.0).abs() < 1e-12, "{p}");
    // Without knowledge of packets without data: 11, 13, 9, 15.
    assert!((read(&plain, &[], &EXAMPLE) - 3.0 / 37.0).abs() < 1e-12);
    // 32 carried no data: its interval is merged with the previous one, which is now open: 10 + 13, 9, 15.
    let p = read(&plain, &[32], &EXAMPLE);
    assert!((p - 2.0 / f64::max(23.0 + 9.0, 9.0 + 15.0)).abs() < 1e-12, "{p}");
    // 10 carried no data: the other 8 of its interval are added to the first, whose length is synthetic: 11, 13, 23.
    let p = read(&plain, &[10], &EXAMPLE);
    assert!((p - 2.0 / (13.0 + 23.0)).abs() < 1e-12, "{p}");
}

/// RFC 4342 section 8.6.1: "the receiver need not send loss intervals that the sender already knows about". Packet 43
/// was lost late: 50 acknowledges up to 48 an interval from 32, and 60 acknowledges two.
#[test]
fn known_intervals_need_not_be_repeated() {
    let sent = SentLog::default();
    let mut reported = Reported::new(&TfrcOptions { discounting: false, ..rfc() }, false);
    reported.allowed(5.0, 5.0, || 1.0);
    let mut read = |acknowledged, skip, intervals: &[LossInterval]| {
        let reading = reported.read(acknowledged, skip, intervals, &sent, 0.08);
        (1.0 / reading.p, reading.new_event)
    };
    let one = |lossless| LossInterval { lossless, lossy: 1, data: lossless + 1, dropped: 1 };
    // 11, 13, 9 and 15: the closed three.
    assert_eq!(read(44, 2, &EXAMPLE), (37.0 / 3.0, true));
    // 17, and the earlier 13, 9, 15: the newest three have the greater mean.
    assert_eq!(read(50, 2, &[one(16)]), ((17.0 + 13.0 + 9.0) / 3.0, false));
    // A new event: 11 and 18, and the earlier 13, 9, 15: the closed four have the greater mean.
    assert_eq!(read(60, 0, &[one(10), one(17)]), ((18.0 + 13.0 + 9.0 + 15.0) / 4.0, true));
    assert!(!read(60, 0, &[one(10), one(17)]).1, "repeated");
}

/// RFC 4342 section 8.6.1: "the receiver need not send loss intervals that the sender already knows about". The only
/// reported interval starts with packet 43, which carried no data: known intervals and p are kept although the newest
/// interval is longer.
#[test]
fn intervals_that_are_not_repeated_are_kept() {
    let mut sent = SentLog::default();
    (0..43).for_each(|number| sent.add(Sent { number, at: ms(10 * number), counter: number / 2, bytes: number }));
    let mut reported = Reported::new(&TfrcOptions { discounting: false, ..rfc() }, false);
    reported.allowed(5.0, 5.0, || 1.0);
    let first = reported.read(42, 0, &EXAMPLE, &sent, 0.08);
    sent.add_without_data(43);
    let second = reported.read(43, 0, &[LossInterval { lossless: 0, lossy: 1, data: 1, dropped: 1 }], &sent, 0.08);
    assert!(first.p > 0.0);
    assert_eq!((second.p, second.new_event), (first.p, false));
}

/// RFC 4828 section 3, RFC 5622 section 6.1: the interval of 13 packets and 4 losses lasted 130 ms; 2R is 160 ms.
#[test]
fn short_intervals_from_the_receiver() {
    let options = TfrcOptions { discounting: false, ..expert(|o| o.short_intervals = true) };
    // 13/4, 9/1, 15 closed; the open one is short and does not count.
    assert!((read(&options, &[], &EXAMPLE) - 3.0 / (3.25 + 9.0 + 15.0)).abs() < 1e-12);
    // Without Drop Counts the Loss Length applies: 13/5.
    let mut without = EXAMPLE;
    without.iter_mut().for_each(|interval| interval.dropped = 0);
    assert!((read(&options, &[], &without) - 3.0 / (2.6 + 9.0 + 15.0)).abs() < 1e-12);
}

/// RFC 4828 section 3: an interval of at most two round trips is short, and while the newest is short it does not
/// count. It has 30 packets in 300 ms, after 9 in 80 ms with 3 losses.
#[test]
fn the_newest_interval_is_short_or_counts() {
    let options = TfrcOptions { discounting: false, ..expert(|o| o.short_intervals = true) };
    let intervals = [(29, 1), (6, 3), (4, 0)].map(|(lossless, lossy)| LossInterval {
        lossless,
        lossy,
        data: lossless + lossy,
        dropped: lossy,
    });
    for (r, sum) in [(10.0, 3.0 + 4.0), (0.15, 3.0 + 4.0), (0.149, 30.0 + 3.0), (0.04, 30.0 + 3.0), (0.039, 30.0 + 9.0)]
    {
        let p = read_with(&options, &[], &[(r, &intervals)]);
        assert!((p - 2.0 / sum).abs() < 1e-12, "{r}: {p}");
    }
}

/// RFC 4828 section 3: whether an interval is short is decided when it closes, regardless of later values of R. Of
/// three reported ones, the newest is short and the next is not, in 140 ms, until packet 32 arrives late: the next is
/// then the newest and is evaluated again.
#[test]
fn a_closed_interval_stays_short_or_long() {
    let options = TfrcOptions { discounting: false, ..expert(|o| o.short_intervals = true) };
    let intervals = [(10, 1), (8, 5), (6, 3), (15, 0)].map(|(lossless, lossy)| LossInterval {
        lossless,
        lossy,
        data: lossless + lossy,
        dropped: lossy,
    });
    // 13; 9 with 3 losses in 80 ms; 15.
    let after = |reports: &[(f64, &[LossInterval])]| 1.0 / read_with(&options, &[], reports);
    let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found} instead of {wanted}");
    close(after(&[(0.06, &intervals)]), (13.0 + 3.0 + 15.0) / 3.0);
    close(after(&[(0.06, &intervals), (0.08, &intervals)]), (13.0 + 3.0 + 15.0) / 3.0);
    close(after(&[(0.06, &intervals), (0.03, &intervals)]), (13.0 + 3.0 + 15.0) / 3.0);
    // 13 with 5 losses.
    close(after(&[(0.08, &intervals), (0.06, &intervals)]), (2.6 + 3.0 + 15.0) / 3.0);
    let late = [LossInterval { lossless: 19, lossy: 5, data: 24, dropped: 5 }, intervals[2], intervals[3]];
    // 24 in 240 ms.
    close(after(&[(0.08, &intervals), (0.08, &late)]), (24.0 + 3.0) / 2.0);
}

/// Losses in a silence do not count even if repeated. A later loss starts a new history.
#[test]
fn a_silence_restarts_reported_losses() {
    let sent = SentLog::default();
    // 4 open, 11 closed, and before it the interval of X_recv since the restart (RFC 5348 section 6.3.1), 25: once, or
    // for all older ones, since it is longer than half of the earlier mean, 8.3.
    for (remembers_rate, p) in [(false, 2.0 / (11.0 + 25.0)), (true, 6.0 / (11.0 + 5.0 * 25.0))] {
        let options = TfrcOptions { remembers_rate, ..TfrcOptions::preset(Dialect::Headway1) };
        let mut reported = Reported::new(&options, false);
        reported.allowed(5.0, 5.0, || 25.0);
        assert!(reported.read(44, 2, &EXAMPLE, &sent, 0.08).p > 0.0);
        reported.restart(50);
        assert_eq!(reported.read(44, 2, &EXAMPLE, &sent, 0.08).p, 0.0);
        reported.allowed(5.0, 5.0, || 25.0);
        let one = |lossless| LossInterval { lossless, lossy: 1, data: lossless + 1, dropped: 1 };
        let later = reported.read(64, 0, &[one(3), one(10), EXAMPLE[2]], &sent, 0.08);
        assert!(later.new_event && (later.p - p).abs() < 1e-12, "{later:?}");
    }
}

/// Only the part after the silence of a loss range counts, as one loss at the initial rate (RFC 5348 section 6.3.1).
#[test]
fn losses_across_the_end_of_a_silence() {
    let sent = SentLog::default();
    let mut reported = Reported::new(&TfrcOptions::preset(Dialect::Headway1), false);
    reported.restart(50);
    reported.allowed(5.0, 5.0, || 25.0);
    // Packets 30 to 50 were lost, and 51 to 54 arrived.
    let across = LossInterval { lossless: 4, lossy: 21, data: 25, dropped: 21 };
    let reading = reported.read(54, 0, &[across], &sent, 0.08);
    assert!(reading.new_event && (reading.p - 1.0 / 25.0).abs() < 1e-12, "{reading:?}");
}
