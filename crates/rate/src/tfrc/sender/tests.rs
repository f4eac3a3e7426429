//! Tests of the sender half.

use super::super::options::{InitialWindow, Segment};
use super::*;
use crate::report::LossInterval;
use headway_units::{Bytes, Dialect, Options, Random};

fn rfc() -> TfrcOptions {
    TfrcOptions::preset(Dialect::Rfc)
}

fn sender(options: &TfrcOptions, packet_size: u64) -> TfrcSender {
    let random = Random::new(1, "sender");
    TfrcSender::new(options, SenderContext::new(Instant::ZERO, Bytes::new(packet_size), random))
}

fn send(sender: &mut TfrcSender, now: Instant, number: u64) -> Stamp {
    let size = Bytes::new(sender.segment.s() as u64);
    sender.on_send(now, &Sending { number, size, data: true })
}

fn report(x_recv: f64, p: f64) -> Report<'static> {
    Report::Tfrc(TfrcReport {
        x_recv: Rate::from_bits_per_second((x_recv * 8.0) as u64),
        losses: Losses::EventRate(Probability::new(p).unwrap()),
        new_loss_event: false,
    })
}

fn feedback(report: Report<'_>, rtt_sample: f64) -> Feedback<'_> {
    Feedback { rtt_sample: Some(Duration::from_secs_f64(rtt_sample)), ..Feedback::new(0, report) }
}

/// X in bytes/s after two reports of an unlimited receive rate.
pub(crate) fn allowed_after(options: &TfrcOptions, s: u64, r: f64, p: f64) -> f64 {
    let mut sender = sender(options, s);
    send(&mut sender, Instant::ZERO, 0);
    for seconds in [1, 2] {
        sender.on_feedback(Instant::from_secs(seconds), &feedback(report(1e12, p), r));
    }
    sender.allowed.x()
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A sender of 1000 B packets with R = 100 ms that is limited by p = 1 %: 112332.2 B/s.
fn steady(options: &TfrcOptions) -> TfrcSender {
    let mut sender = sender(options, 1000);
    for (number, t) in (0..10).zip((0..).step_by(100)) {
        send(&mut sender, ms(t), number);
        let feedback = Feedback { acknowledged: number, ..feedback(report(112_332.2, 0.01), 0.1) };
        sender.on_feedback(ms(t + 100), &feedback);
    }
    sender
}

/// RFC 5348 section 4.2: one packet a second, the timer after two; then 4 packets of up to 1095 B a round trip, 4380 B of
/// larger ones, two of more than 2190 B.
#[test]
fn initialization() {
    for (size, w_init) in [(100, 400.0), (1000, 4000.0), (1095, 4380.0), (1460, 4380.0), (3000, 6000.0)] {
        let mut sender = sender(&rfc(), size);
        assert_eq!((sender.allowed.x(), sender.poll_timeout()), (size as f64, None));
        assert_eq!(sender.poll_send(ms(0), &Next::new(Bytes::new(size))), Permit::Now);
        send(&mut sender, ms(0), 0);
        assert_eq!(sender.poll_send(ms(0), &Next::new(Bytes::new(size))), Permit::At(ms(1000)));
        assert_eq!(sender.poll_timeout(), Some(ms(2000)));
        sender.on_feedback(ms(200), &feedback(report(0.0, 0.0), 0.2));
        assert!((sender.allowed.x() - w_init / 0.2).abs() < 1e-6, "{size}");
    }
}

/// RFC 2414 section 1's table, as ns-2's `rate_init_option_` 2 has it: 4 segments up to 1095 B, 3 of less than 2190 B, else 2.
#[test]
fn an_initial_window_in_packets() {
    let options = TfrcOptions { initial_window: InitialWindow::Packets, ..rfc() };
    for (size, packets) in [(1, 4.0), (1095, 4.0), (1096, 3.0), (1460, 3.0), (2189, 3.0), (2190, 2.0), (8960, 2.0)] {
        assert_eq!(sender(&options, size).moment(ms(0)).w_init, packets * size as f64, "{size}");
    }
}

/// RFC 4342 section 5.3 and ns-2: paced in packets, each packet that arrives counts s. Ten packets of 200 B a second are ten of 1000 B.
#[test]
fn small_packets_that_arrive_count_s() {
    let mut sender = sender(&TfrcOptions { paced: Paced::Packets, segment: Segment::Full, ..rfc() }, 1000);
    (0..10).for_each(|number| {
        sender.on_send(ms(100 * number), &Sending { number, size: Bytes::new(200), data: true });
    });
    let Report::Tfrc(report) = report(2000.0, 0.01) else { panic!("it is TFRC's") };
    sender.on_feedback(ms(1000), &Feedback { acknowledged: 9, ..feedback(Report::Tfrc(report), 0.1) });
    assert!((sender.x_inrecv(&report) - 10_000.0).abs() < 1e-6, "{}", sender.x_inrecv(&report));
}

/// RFC 5348 section 4.2: a handshake's round trip is as good as that of a report.
#[test]
fn a_round_trip_known_before() {
    let context = SenderContext::new(ms(50), Bytes::new(1000), Random::new(1, "sender"));
    let context = SenderContext { rtt: Some(Duration::from_millis(100)), ..context };
    let mut sender = TfrcSender::new(&rfc(), context);
    assert!((sender.allowed.x() - 40_000.0).abs() < 1e-6);
    let stamp = send(&mut sender, ms(50), 0);
    assert_eq!(stamp.rtt, Some(Duration::from_millis(100)));
    assert_eq!(sender.poll_timeout(), Some(ms(450)));
}

/// RFC 4342 section 6: what lacks TFRC's options or a round trip is no feedback, and does not move the timer.
#[test]
fn other_acknowledgements_are_no_feedback() {
    let mut sender = steady(&rfc());
    let timeout = sender.poll_timeout();
    sender.on_feedback(ms(1050), &feedback(Report::Arrivals(&[]), 0.1));
    sender.on_feedback(ms(1050), &Feedback { rtt_sample: None, ..feedback(report(1e6, 0.5), 0.1) });
    assert_eq!(sender.poll_timeout(), timeout);
    assert_eq!(sender.status().loss_event_rate, Probability::new(0.01));
}

/// RFC 4342 section 5.2: X_inrecv 100000 B/s, s 1000 B, R 0.1 s, three packets dropped: X_recv 35000, X 70000.
#[test]
fn packets_dropped_at_the_receiver() {
    let mut sender = steady(&rfc());
    let drops = Feedback { receive_buffer_drops: 3, ..feedback(report(100_000.0, 0.01), 0.1) };
    sender.on_feedback(ms(1100), &drops);
    assert!((sender.allowed.x() - 70_000.0).abs() < 1e-6, "{}", sender.allowed.x());
    // Never below one packet a round trip for that reason.
    sender.on_feedback(ms(1200), &Feedback { receive_buffer_drops: 1_000_000, ..drops });
    assert!((sender.allowed.x() - 10_000.0).abs() < 1e-6);
    // A slow receiver is sent no more than it takes.
    let slow = Feedback { slow_receiver: true, ..feedback(report(50_000.0, 0.01), 0.1) };
    sender.on_feedback(ms(1300), &slow);
    assert!((sender.allowed.x() - 50_000.0).abs() < 1e-6);
}

/// RFC 5348 section 4.4: half the rate at each expiry, 4R apart, then 2s/X; the third falls on an X of 14 kB/s.
#[test]
fn no_feedback() {
    let mut sender = steady(&rfc());
    let mut x = sender.allowed.x();
    for number in 10..20 {
        let at = sender.poll_timeout().unwrap();
        send(&mut sender, at.checked_sub(Duration::from_millis(1)).unwrap(), number);
        sender.handle_timeout(at);
        assert!((sender.allowed.x() - (x / 2.0).max(1000.0 / 64.0)).abs() < 1e-6);
        x = sender.allowed.x();
        let wait = sender.poll_timeout().unwrap().since(at).as_secs_f64();
        assert!((wait - f64::max(0.4, 2000.0 / x)).abs() < 1e-6, "{wait}");
    }
}

/// What is left of 112332 B/s, and of a rate below the initial one, after an hour without sending. R = 100 ms, so that
/// the initial rate is 40000 B/s and one packet a round trip 10000.
#[test]
fn idle() {
    let left = |idle: Idle, x_recv: f64, p: f64| {
        let mut sender = steady(&TfrcOptions { idle, ..rfc() });
        let at = sender.poll_timeout().unwrap();
        for _ in 0..3 {
            sender.on_feedback(at, &feedback(report(x_recv, p), 0.1));
        }
        let x = sender.allowed.x();
        for _ in 0..9000 {
            let at = sender.poll_timeout().unwrap();
            sender.handle_timeout(at);
        }
        (x.round(), sender.allowed.x().round())
    };
    // RFC 4342 section 5.1: the initial rate; a lower one is kept.
    assert_eq!(left(Idle::Rfc4342, 112_332.2, 0.01), (112_332.0, 40_000.0));
    assert_eq!(left(Idle::Rfc4342, 112_332.2, 0.1), (17_701.0, 17_701.0));
    // RFC 5348 section 4.4: halved until X_recv is below the initial rate.
    let (_, x) = left(Idle::Rfc5348, 112_332.2, 0.01);
    assert!((20_000.0..80_000.0).contains(&x), "{x}");
    // RFC 3448 section 4.4: two packets a round trip at least.
    let (_, x) = left(Idle::Rfc3448, 112_332.2, 0.01);
    assert!((20_000.0..80_000.0).contains(&x), "{x}");
    // ns-2 asks whether the application has said that it has nothing; it has not, so s/64 is left.
    let (_, x) = left(Idle::HalvedToInitial, 112_332.2, 0.01);
    assert!(x <= 16.0, "{x}");
    let (_, x) = left(Idle::HalvedAndLifted, 112_332.2, 0.01);
    assert!((x - 40_000.0).abs() < 1.0, "{x}");
}

/// A receiver says that it held every report back for all of its round trip, and the application falls silent: an idle sender's
/// rate is not halved (RFC 4342 section 5.1), so that nothing but its least keeps the timer from expiring each 4 us.
#[test]
fn round_trips_of_nothing_keep_nobody_awake() {
    let mut sender = sender(&rfc(), 1000);
    send(&mut sender, ms(0), 0);
    for t in [100, 101] {
        sender.on_feedback(ms(t), &feedback(report(1e12, 0.0), 0.0));
    }
    let (mut expired, end) = (0, ms(1101));
    while let Some(at) = sender.poll_timeout().filter(|at| *at <= end) {
        sender.handle_timeout(at);
        expired += 1;
    }
    assert_eq!(expired, 1000);
}

/// RFC 5348 section 4.4 step 1, "cut the allowed sending rate in half", never raises it. The first report's rate, 4000 B in 0.1 s,
/// is below half of the equation's 112332.2 B/s, to which `Update_Limits(X_Bps/2)` alone would bring it.
#[test]
fn silence_does_not_make_it_faster() {
    let mut sender = sender(&rfc(), 1000);
    send(&mut sender, ms(0), 0);
    sender.on_feedback(ms(100), &feedback(report(1e6, 0.01), 0.1));
    assert_eq!(sender.allowed.x().round(), 40_000.0);
    send(&mut sender, ms(100), 1);
    sender.handle_timeout(sender.poll_timeout().unwrap());
    assert_eq!(sender.allowed.x().round(), 40_000.0);
}

/// ns-2's `idleFix_`: an application that had nothing to send is left the initial rate.
#[test]
fn idle_in_ns2() {
    let mut sender = steady(&TfrcOptions { idle: Idle::HalvedToInitial, ..rfc() });
    sender.on_application_limited(ms(1010));
    for _ in 0..20 {
        let at = sender.poll_timeout().unwrap();
        sender.handle_timeout(at);
    }
    assert!((sender.allowed.x() - 40_000.0).abs() < 1e-6);
}

/// RFC 5348 section 8.2.1: who sends all that is allowed is limited by X_recv, who does not is not.
#[test]
fn data_limited_intervals() {
    for (spacing_ms, limited) in [(5, false), (50, true)] {
        let mut sender = steady(&rfc());
        let mut number = 10;
        for round in 10..20u64 {
            let mut last = number;
            for t in (0..100).step_by(spacing_ms) {
                last = number;
                // The link takes only 10 kB/s of what comes: X_recv says so in both cases.
                send(&mut sender, ms(round * 100 + t), number);
                number += 1;
            }
            let feedback = Feedback { acknowledged: last, ..feedback(report(10_000.0, 0.01), 0.1) };
            sender.on_feedback(ms(round * 100 + 100), &feedback);
        }
        assert_eq!(sender.allowed.x() > 100_000.0, limited, "{spacing_ms}: {}", sender.allowed.x());
    }
}

/// RFC 5348 section 4.1, RFC 4342 section 5.3: s is the mean of the last four loss intervals, that of a full packet, or a moving average, which in whole bytes stops at
/// 391 on its way up to 400: (9 * 391 + 400) / 10 = 391.9.
#[test]
fn segment_sizes() {
    for (segment, s) in [(Segment::Average, 300.0), (Segment::Full, 1000.0), (Segment::Smoothed, 391.0)] {
        let mut sender = sender(&TfrcOptions { segment, ..rfc() }, 1000);
        for number in 0..200 {
            let size = Bytes::new(if number % 2 == 0 { 200 } else { 400 });
            sender.on_send(ms(number), &Sending { number, size, data: true });
        }
        for number in 200..300 {
            if segment == Segment::Smoothed {
                sender.on_send(ms(number), &Sending { number, size: Bytes::new(400), data: true });
            }
        }
        assert!((sender.segment.s() - s).abs() < 0.1, "{segment:?}: {}", sender.segment.s());
    }
    let mut size = SegmentSize::new(Segment::Average, 1000);
    for interval in 1..=6u64 {
        (0..10).for_each(|_| size.add(100 * interval));
        size.on_loss_event();
    }
    assert_eq!(size.s(), 450.0);
}

/// RFC 4342 section 9.2: what a receiver says is held against what was sent. Of the example, eight packets go in a round
/// trip.
mod lies {
    use super::*;
    fn plain() -> TfrcOptions {
        TfrcOptions { discounting: false, ..rfc() }
    }

    fn interval(lossless: u32, lossy: u32, data: u32) -> LossInterval {
        LossInterval { lossless, lossy, data, dropped: lossy }
    }

    /// "The sender can verify that the receiver is not falsely combining two loss events into one": packets 3 to 34 went in
    /// four round trips. Four events begin with 3, 10, 18 and 26; the newest interval has 17 packets and is open.
    #[test]
    fn one_event_is_not_longer_than_its_round_trip() {
        let p = read(&plain(), &[], &[interval(8, 32, 40), interval(3, 0, 3)]);
        let mean = f64::max(17.0 + 8.0 + 8.0 + 7.0, 8.0 + 8.0 + 7.0 + 3.0) / 4.0;
        assert!((p - 1.0 / mean).abs() < 1e-12, "{p}");
        // A round trip and a quarter, the packets 3 to 13, may be one event whose losses the receiver cannot tell apart.
        let p = read(&plain(), &[], &[interval(29, 11, 40), interval(3, 0, 3)]);
        assert!((p - 1.0 / 40.0).abs() < 1e-12, "{p}");
        // With packet 14 there are two, from 3 and from 10.
        let p = read(&plain(), &[], &[interval(28, 12, 40), interval(3, 0, 3)]);
        assert!((p - 2.0 / f64::max(33.0 + 7.0, 7.0 + 3.0)).abs() < 1e-12, "{p}");
    }

    /// Packet 40 was lost without data: its other two join the 14 of the newest of the four events into which the interval before
    /// falls apart. The rest is as it was.
    #[test]
    fn an_interval_without_data_joins_the_newest_part() {
        for (first, sum) in [(3, 16.0 + 8.0 + 8.0 + 7.0), (40, 8.0 + 8.0 + 7.0 + 40.0)] {
            let p = read(&plain(), &[40], &[interval(2, 1, 3), interval(5, 32, 37), interval(3, 0, first)]);
            assert!((p - 4.0 / sum).abs() < 1e-12, "{p}");
        }
    }

    /// Reports of the 32 losses from packet 3 on, and 250 round trips later again. When a packet went is remembered for 64 round
    /// trips only, but the four events are. In the end 26 to 34 turn out to have come late: three events are left.
    #[test]
    fn events_that_fell_apart_stay_apart() {
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

    /// Two events were told, of packets 20 and 30. A receiver that is verified takes neither back: not by a lossless interval, not
    /// by one that only lost packet 29, which carried no data, nor by one that reaches to the beginning.
    #[test]
    fn what_was_told_as_lost_stays_lost() {
        let told = [interval(12, 1, 13), interval(9, 1, 10), interval(20, 0, 20)];
        let p_of = |keeps: bool, later: &[LossInterval]| {
            let mut sent = SentLog::default();
            (0..=44).filter(|number| *number != 29).for_each(|number| {
                sent.add(Sent { number, at: ms(10 * number), counter: number / 2, bytes: number });
            });
            let mut reported = Reported::new(&plain(), keeps);
            sent.add_without_data(29);
            reported.allowed(5.0, 5.0, || 1.0);
            reported.read(42, 0, &told, &sent, 0.08);
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
            assert!(p_of(false, later) < 0.9 * honest, "{later:?}: nobody verifies");
        }
        assert!((p_of(true, &told) - honest).abs() < 1e-12);
        // An event that has lost its first packet to a late arrival is the same one.
        let longer = [interval(12, 3, 15), interval(7, 1, 8), interval(20, 0, 20)];
        assert!((p_of(true, &longer) - 2.0 / f64::max(15.0 + 7.0, 7.0 + 20.0)).abs() < 0.01);
    }

    /// Events of more losses than packets: what falls apart may be shorter than a packet, and p is 1 at most.
    #[test]
    fn short_events_fall_apart_too() {
        let options = TfrcOptions { short_intervals: true, ..plain() };
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

    /// No interval is longer than all that was sent: 43 packets.
    #[test]
    fn intervals_begin_with_the_first_packet() {
        let p = read(&plain(), &[], &[interval((1 << 24) - 1, 1, (1 << 24) - 1)]);
        assert!((p - 1.0 / 43.0).abs() < 1e-12, "{p}");
    }

    /// The first interval is what the receiver says, up to twice the square of the packets allowed in a round trip: 50.
    #[test]
    fn the_first_interval_is_bounded() {
        let p = read(&plain(), &[], &[interval(10, 1, 11), interval(32, 0, (1 << 24) - 1)]);
        assert!((p - 1.0 / 50.0).abs() < 1e-12, "{p}");
        let p = read(&plain(), &[], &[interval(10, 1, 11), interval(32, 0, 49)]);
        assert!((p - 1.0 / 49.0).abs() < 1e-12, "{p}");
        // None is no interval: the only closed one has 21 packets.
        let p = read(&plain(), &[], &[interval(10, 1, 11), interval(20, 1, 21), interval(11, 0, 0)]);
        assert!((p - 1.0 / 21.0).abs() < 1e-12, "{p}");
    }
}

/// RFC 4342 section 8.6.2's example as the sender reads it: intervals of 10, 10, 8 and 15 data packets.
const EXAMPLE: [LossInterval; 4] = [
    LossInterval { lossless: 10, lossy: 1, data: 10, dropped: 1 },
    LossInterval { lossless: 8, lossy: 5, data: 10, dropped: 4 },
    LossInterval { lossless: 8, lossy: 1, data: 8, dropped: 1 },
    LossInterval { lossless: 10, lossy: 0, data: 15, dropped: 0 },
];

fn read(options: &TfrcOptions, without_data: &[u64], intervals: &[LossInterval]) -> f64 {
    read_with(options, without_data, &[(0.08, intervals)])
}

/// p of the last of these reports, with the R at which it comes.
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
    // Packets 33, 24, 25, 26 and 11 carried no data: lengths 10, 10, 8, 15, of which the closed three are 33.
    let p = read(&plain, &[11, 24, 25, 26, 33], &EXAMPLE);
    assert!((p - 3.0 / 33.0).abs() < 1e-12, "{p}");
    // Nothing is known of packets without data: 11, 13, 9, 15.
    assert!((read(&plain, &[], &EXAMPLE) - 3.0 / 37.0).abs() < 1e-12);
    // 32 carried none: its interval joins the one before, which is now open: 10 + 13, 9, 15.
    let p = read(&plain, &[32], &EXAMPLE);
    assert!((p - 2.0 / f64::max(23.0 + 9.0, 9.0 + 15.0)).abs() < 1e-12, "{p}");
    // 10 carried none: the other 8 of its interval join the first, whose length is synthetic: 11, 13, 23.
    let p = read(&plain, &[10], &EXAMPLE);
    assert!((p - 2.0 / (13.0 + 23.0)).abs() < 1e-12, "{p}");
}

/// RFC 4342 section 8.6.1: "the receiver need not send loss intervals that the sender already knows about". Packet 43 was lost
/// late: 50 acknowledges up to 48 an interval from 32 on, and 60 two of them.
#[test]
fn intervals_that_are_known() {
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
    // 17, and 13, 9, 15 from before: the newest three are more.
    assert_eq!(read(50, 2, &[one(16)]), ((17.0 + 13.0 + 9.0) / 3.0, false));
    // A new event: 11 and 18, and 13, 9, 15 from before: the closed four are more.
    assert_eq!(read(60, 0, &[one(10), one(17)]), ((18.0 + 13.0 + 9.0 + 15.0) / 4.0, true));
    assert!(!read(60, 0, &[one(10), one(17)]).1, "the same again");
}

/// RFC 4342 section 8.6.1: "the receiver need not send loss intervals that the sender already knows about". The only one that it
/// sends began with packet 43, which carried no data: what is known stays, and p with it, be the newest interval longer.
#[test]
fn intervals_that_are_not_repeated_are_remembered() {
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

/// RFC 4828 section 3, RFC 5622 section 6.1: the interval of 13 packets and 4 losses lasted 130 ms, 2R are 160.
#[test]
fn short_intervals_from_the_receiver() {
    let options = TfrcOptions { discounting: false, short_intervals: true, ..rfc() };
    // 13/4, 9/1, 15 closed; the open one is short and does not count.
    assert!((read(&options, &[], &EXAMPLE) - 3.0 / (3.25 + 9.0 + 15.0)).abs() < 1e-12);
    // Without Drop Counts the Loss Length counts: 13/5.
    let mut without = EXAMPLE;
    without.iter_mut().for_each(|interval| interval.dropped = 0);
    assert!((read(&options, &[], &without) - 3.0 / (2.6 + 9.0 + 15.0)).abs() < 1e-12);
}

/// RFC 4828 section 3: an interval of at most two round trips is short, and while the newest one is, it does not count. It has 30
/// packets, sent in 300 ms, after 9 in 80 ms with 3 losses.
#[test]
fn the_newest_interval_is_short_or_counts() {
    let options = TfrcOptions { discounting: false, short_intervals: true, ..rfc() };
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

/// RFC 4828 section 3: whether a closed interval was short is settled when it closes, whatever R becomes. Of the three that are
/// reported the newest is short and the next not, in 140 ms, until packet 32 turns out to have come late: then the next is the
/// newest, and is looked at anew.
#[test]
fn a_closed_interval_stays_short_or_long() {
    let options = TfrcOptions { discounting: false, short_intervals: true, ..rfc() };
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

/// RFC 4828 section 4.3, RFC 5622 section 5: no more than three packets in 30 ms.
#[test]
fn small_packets_are_ten_milliseconds_apart() {
    let options = crate::TfrcSpOptions::preset(Dialect::Rfc).0;
    let mut sender = sender(&options, 100);
    send(&mut sender, ms(0), 0);
    sender.on_feedback(ms(10), &feedback(report(1e6, 0.0), 0.01));
    sender.on_feedback(ms(20), &feedback(report(1e6, 0.0), 0.01));
    send(&mut sender, ms(21), 1);
    assert_eq!(sender.poll_send(ms(21), &Next::new(Bytes::new(100))), Permit::At(ms(31)));
    assert_eq!(sender.status().target_rate, Some(Rate::from_bits_per_second(80_000)));
}

/// Faster Restart, which RFC 5622 section 5.1 looks forward to: after an idle time, twice the initial rate, and four times as much in the next round trip.
#[test]
fn faster_restart() {
    for (on, left, next) in [(false, 40_000.0, 80_000.0), (true, 80_000.0, 112_332.2)] {
        let mut sender = steady(&TfrcOptions { faster_restart: on, ..rfc() });
        for _ in 0..20 {
            let at = sender.poll_timeout().unwrap();
            sender.handle_timeout(at);
        }
        assert!((sender.allowed.x() - left).abs() < 0.1, "{on}: {}", sender.allowed.x());
        let now = sender.poll_timeout().unwrap();
        let mut last = 10;
        for t in 0..20 {
            last = 10 + t;
            send(&mut sender, now + Duration::from_millis(t), last);
        }
        let feedback = Feedback { acknowledged: last, ..feedback(report(40_000.0, 0.01), 0.1) };
        sender.on_feedback(now + Duration::from_millis(120), &feedback);
        assert!((sender.allowed.x() - next).abs() < 0.1, "{on}: {}", sender.allowed.x());
    }
}

fn linux_after_handshake(rtt_ms: u64) -> TfrcSender {
    let context = SenderContext::new(Instant::ZERO, Bytes::new(1400), Random::new(1, "sender"));
    let context = SenderContext { rtt: Some(Duration::from_millis(rtt_ms)), ..context };
    TfrcSender::new(&TfrcOptions::preset(Dialect::Linux), context)
}

/// net/dccp/ccids/ccid3.c: the handshake's round trip is the first old average (`ccid3_hc_tx_packet_recv`), `W_init` is reckoned
/// with the mean size (`rfc3390_initial_rate`), the first nofeedback timer runs for 2 s (`TFRC_INITIAL_TIMEOUT`).
#[test]
fn linux_begins() {
    let mut sender = linux_after_handshake(100);
    send_bytes(&mut sender, ms(0), 0, 1000);
    assert_eq!((sender.allowed.x(), sender.poll_timeout()), (40_000.0, Some(ms(2000))));
    send_bytes(&mut sender, ms(50), 1, 500);
    sender.on_feedback(ms(200), &feedback(report(0.0, 0.0), 0.2));
    let r = sender.rtt.r().unwrap();
    assert!((r - 0.11).abs() < 1e-12, "{r}");
    // (9 * 1000 + 500) / 10 = 950 B, and four of them in 110 ms.
    assert!((sender.allowed.x() - 3800.0 / 0.11).abs() < 1e-6, "{}", sender.allowed.x());
}

fn send_bytes(sender: &mut TfrcSender, now: Instant, number: u64, bytes: u64) -> Stamp {
    sender.on_send(now, &Sending { number, size: Bytes::new(bytes), data: true })
}

/// RFC 5348 section 4.3: below a packet in four round trips X_recv is that of the one packet that came, which counts s: 850 B in 10 s, although
/// it had 100 B and 1600 B were lost behind it. Who says that nothing came is not believed to mean a packet.
#[test]
fn one_small_packet_counts_s() {
    for (bytes_per_second, counted) in [(10.0, 85.0), (200.0, 200.0), (0.0, 0.0)] {
        let mut sender = sender(&rfc(), 1000);
        send_bytes(&mut sender, ms(0), 0, 850);
        sender.on_feedback(ms(100), &feedback(report(0.0, 0.0), 0.1));
        send_bytes(&mut sender, ms(1000), 1, 100);
        send_bytes(&mut sender, ms(2000), 2, 1600);
        sender.on_feedback(ms(10_100), &Feedback { acknowledged: 2, ..feedback(report(0.0, 0.5), 0.1) });
        let TfrcReport { x_recv, losses, .. } = match report(bytes_per_second, 0.5) {
            Report::Tfrc(tfrc) => tfrc,
            _ => unreachable!(),
        };
        let counts = sender.x_inrecv(&TfrcReport { x_recv, losses, new_loss_event: false });
        assert!((counts - counted).abs() < 1e-9, "{counts}");
    }
}

/// net/dccp/ccids/ccid3.c, `ccid3_hc_tx_update_win_count`: only time moves the counter; RFC 4342 section 8.1 has reports move it
/// too.
#[test]
fn reports_do_not_move_linuxs_counter() {
    let counters = |dialect, rtt| {
        let mut sender = sender(&TfrcOptions::preset(dialect), 1000);
        send(&mut sender, ms(0), 0);
        sender.on_feedback(ms(100), &feedback(report(1e6, 0.0), rtt));
        [send(&mut sender, ms(101), 1).ccval, send(&mut sender, ms(102), 2).ccval]
    };
    assert_eq!(counters(Dialect::Rfc, 0.1), [4, 4]);
    // 101 ms are four quarters of 100 ms; of 1 s none, but the report moves RFC 4342's counter all the same.
    assert_eq!(counters(Dialect::Linux, 0.1), [4, 4]);
    assert_eq!(counters(Dialect::Rfc, 1.0), [4, 4]);
    assert_eq!(counters(Dialect::Linux, 1.0), [0, 0]);
}

/// Losses of a silence do not count, whatever the receiver repeats: nothing is left of the example of RFC 4342 section 8.6.2 once the silence ended
/// after it. A later loss begins a new history.
#[test]
fn a_silence_restarts_reported_losses() {
    let sent = SentLog::default();
    let mut reported = Reported::new(&TfrcOptions::preset(Dialect::Headway1), false);
    reported.allowed(5.0, 5.0, || 25.0);
    assert!(reported.read(44, 2, &EXAMPLE, &sent, 0.08).p > 0.0);
    reported.restart(50);
    assert_eq!(reported.read(44, 2, &EXAMPLE, &sent, 0.08).p, 0.0);
    reported.allowed(5.0, 5.0, || 25.0);
    let one = |lossless| LossInterval { lossless, lossy: 1, data: lossless + 1, dropped: 1 };
    let later = reported.read(64, 0, &[one(3), one(10), EXAMPLE[2]], &sent, 0.08);
    // 4 open, 11 closed, and before it the interval of X_recv since the restart (RFC 5348 section 6.3.1), 25.
    assert!(later.new_event && (later.p - 2.0 / (11.0 + 25.0)).abs() < 1e-12, "{later:?}");
}

/// A loss range that begins in a silence and ends after it: the part after it is one loss at the initial rate (RFC 5348 section 6.3.1).
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

/// A sender of 1000 B packets with R = 100 ms, whose packets from 2 s on nobody answers until 7 s. Returns the time, which is that of the
/// first report after the silence, and the number of the next packet.
fn after_a_silence() -> (TfrcSender, Instant, u64) {
    let mut sender = sender(&TfrcOptions::preset(Dialect::Headway1), 1000);
    let mut number = 0;
    let mut now = Instant::ZERO;
    while now < Instant::from_secs(7) {
        if sender.poll_timeout().is_some_and(|at| at <= now) {
            sender.handle_timeout(now);
        }
        if sender.poll_send(now, &Next::new(Bytes::new(1000))) == Permit::Now {
            send(&mut sender, now, number);
            number += 1;
        }
        if now < Instant::from_secs(2) && now.as_nanos().is_multiple_of(100_000_000) && number > 0 {
            let feedback = Feedback { acknowledged: number - 1, ..feedback(report(40_000.0, 0.0), 0.1) };
            sender.on_feedback(now, &feedback);
        }
        now += Duration::from_millis(1);
    }
    sender.on_feedback(now, &Feedback { acknowledged: number - 1, ..feedback(report(1.0, 0.0), 5.0) });
    (sender, now, number)
}

/// Returns how many packets go until `until`.
fn sent_until(sender: &mut TfrcSender, now: &mut Instant, number: &mut u64, until: Instant) -> u64 {
    let before = *number;
    while *now < until {
        if sender.poll_send(*now, &Next::new(Bytes::new(1000))) == Permit::Now {
            send(sender, *now, *number);
            *number += 1;
        }
        *now += Duration::from_millis(1);
    }
    *number - before
}

/// A path that returns with a queue of 0.8 s. RFC 5348 section 4.2 allows W_init, four packets, in the first round trip. Reports on
/// packets from before the end of the silence measure none, so that no more than probes follow: at most one packet in 200 ms.
#[test]
fn a_restart_sends_one_window_before_it_knows_the_round_trip() {
    let (mut sender, mut now, mut number) = after_a_silence();
    assert_eq!(sender.status().rtt, Some(Duration::from_millis(100)));
    let (end, first) = (now, number);
    assert!((4..=5).contains(&sent_until(&mut sender, &mut now, &mut number, end + Duration::from_millis(100))));
    for _ in 0..7 {
        sender.on_feedback(now, &Feedback { acknowledged: first - 1, ..feedback(report(40_000.0, 0.0), 5.0) });
        let until = now + Duration::from_millis(100);
        assert!(sent_until(&mut sender, &mut now, &mut number, until) <= 1);
    }
    // The first sample of a packet after the silence replaces R. The second window is two initial ones: 8000 B in 0.8 s, without a burst.
    sender.on_feedback(now, &Feedback { acknowledged: first, ..feedback(report(40_000.0, 0.0), 0.8) });
    assert_eq!(sender.status().rtt, Some(Duration::from_millis(800)));
    assert_eq!(sender.allowed.x(), 10_000.0);
    let until = now + Duration::from_millis(50);
    assert_eq!(sent_until(&mut sender, &mut now, &mut number, until), 1);
}

/// A receiver of another dialect counts the losses of the silence. The sender obeys its p, 0.3, as RFC 5348 section 4.3 says.
#[test]
fn a_receiver_of_another_dialect_decides_p() {
    let (mut sender, now, number) = after_a_silence();
    assert_eq!(sender.allowed.x(), 40_000.0);
    let next = now + Duration::from_millis(100);
    sender.on_feedback(next, &Feedback { acknowledged: number - 1, ..feedback(report(40_000.0, 0.3), 0.1) });
    let expected = sender.equation.rate(1000.0, 0.1, 0.4, 0.3);
    assert!((sender.allowed.x() - expected).abs() < 1e-6, "{} instead of {expected}", sender.allowed.x());
}
