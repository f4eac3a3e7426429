use super::*;
use crate::report::Run;
use headway_units::Random;
use proptest::prelude::*;

const SIZE: Bytes = Bytes::new(1000);

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn sender_of(options: &RapOptions) -> RapSender {
    RapSender::new(options, SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "rap")))
}

fn sender(dialect: Dialect) -> RapSender {
    sender_of(&RapOptions::preset(dialect))
}

fn send(sender: &mut RapSender, now: Instant, number: u64) {
    sender.on_send(now, &Sending::new(number, Some(SIZE)));
}

fn report(sender: &mut RapSender, now: Instant, acknowledged: u64, rtt: Option<u64>, runs: &[Run]) {
    let mut feedback = Feedback::new(acknowledged, Report::Arrivals(runs));
    feedback.rtt_sample = rtt.map(Duration::from_millis);
    sender.on_feedback(now, &feedback);
}

const fn run(arrival: Arrival, packets: u64) -> Run {
    Run { arrival, packets }
}

const ARRIVED: [Run; 1] = [run(Arrival::Received, 1)];

/// Returns a sender with one packet acknowledged after 100 ms, so that the gap is 100 ms.
fn established(dialect: Dialect) -> RapSender {
    let mut sender = sender(dialect);
    send(&mut sender, Instant::ZERO, 0);
    report(&mut sender, ms(100), 0, Some(100), &ARRIVED);
    assert!((sender.gap_s - 0.1).abs() < 1e-12);
    sender
}

/// Rejaie, Handley and Estrin 1999, section 2.3: by gap SRTT/(gap + SRTT), gaps are 100, 50, 33.3, 25 ms.
#[test]
fn rap_1999_one_more_packet_per_round_trip() {
    let mut sender = established(Dialect::Rfc);
    let (mut number, mut now) = (1, ms(100));
    for packets in 1..=4 {
        assert!((sender.gap_s - 0.1 / f64::from(packets)).abs() < 1e-9, "{packets}: {}", sender.gap_s);
        let end = now + Duration::from_millis(100);
        while now + Duration::from_micros(1) < end {
            assert_eq!(sender.poll_send(now, &Next::default()), Permit::Now, "{number}");
            send(&mut sender, now, number);
            report(&mut sender, now, number, None, &ARRIVED);
            number += 1;
            let Permit::At(at) = sender.poll_send(now, &Next::default()) else { panic!("{number}") };
            now = at;
        }
        now = end;
        sender.advance(now);
    }
}

/// Without half of the allowed packets the rate does not grow (`dpthresh_` 50).
#[test]
fn an_unused_rate_does_not_grow() {
    for (sent, gap_s) in [(2, 0.02), (3, 0.1 / 6.0)] {
        let mut sender = established(Dialect::Rfc);
        sender.gap_s = 0.02;
        (0..sent).for_each(|number| send(&mut sender, ms(101), 1 + number));
        sender.advance(ms(200));
        assert!((sender.gap_s - gap_s).abs() < 1e-12, "{sent}: {}", sender.gap_s);
        sender.advance(ms(5000));
        assert!((sender.gap_s - gap_s).abs() < 1e-12, "no packets, no change");
    }
}

/// rap.cc, `AckLostPacket`: a missing packet is lost once a packet three numbers above it has arrived. Further losses
/// of packets sent before belong to the same event (`MarkInactive`).
#[test]
fn a_loss_doubles_the_gap_once() {
    let mut sender = established(Dialect::Rfc);
    (1..=10).for_each(|number| send(&mut sender, ms(100), number));
    report(&mut sender, ms(150), 1, None, &[run(Arrival::Received, 2)]);
    report(&mut sender, ms(150), 4, None, &[run(Arrival::Received, 1), run(Arrival::NotReceived, 2)]);
    assert!((sender.gap_s - 0.1).abs() < 1e-12, "4 is two above 2");
    report(&mut sender, ms(151), 5, None, &[run(Arrival::Received, 2), run(Arrival::NotReceived, 2)]);
    assert!((sender.gap_s - 0.2).abs() < 1e-12);
    report(&mut sender, ms(152), 10, None, &[run(Arrival::Received, 1), run(Arrival::NotReceived, 4)]);
    assert!((sender.gap_s - 0.2).abs() < 1e-12, "sent before the loss was found");
    assert_eq!(sender.congestion_events().loss_events, 1);
    (11..=14).for_each(|number| send(&mut sender, ms(160), number));
    report(&mut sender, ms(240), 14, None, &[run(Arrival::Received, 1), run(Arrival::NotReceived, 3)]);
    assert!((sender.gap_s - 0.4).abs() < 1e-12);
    // RFC 8311: a mark is a loss.
    send(&mut sender, ms(245), 15);
    report(&mut sender, ms(300), 15, None, &[run(Arrival::Marked, 1)]);
    assert!((sender.gap_s - 0.8).abs() < 1e-12);
}

/// rap.cc, `UpdateTimeValues`, by hand: samples of 100 and 140 ms give SRTT = 120 ms, VAR = 20 ms, timeout = 1.2 x 120 +
/// 4 x 20 = 224 ms. The packet that detects the loss waits for the new gap of 200 ms.
#[test]
fn timeouts_are_detected_when_a_packet_is_due() {
    let mut sender = established(Dialect::Rfc);
    send(&mut sender, ms(100), 1);
    report(&mut sender, ms(240), 1, Some(140), &ARRIVED);
    let RoundTrip { smoothed, variance, .. } = sender.round_trip;
    assert!((smoothed - 0.12).abs() < 1e-12 && (variance - 0.02).abs() < 1e-12, "{smoothed} {variance}");
    // Suppress increases.
    (sender.gap_s, sender.increase) = (0.1, Some(Fine::at(ms(9000))));
    send(&mut sender, ms(240), 2);
    assert!(!sender.timed_out(ms(463)));
    assert_eq!(sender.poll_send(ms(464), &Next::default()), Permit::At(ms(464 + 200)));
    assert_eq!(sender.congestion_events(), CongestionEvents { loss_events: 1, timeouts: 1 });
    assert_eq!(sender.poll_send(ms(664), &Next::default()), Permit::Now);
}

/// The initial gap is 2 s (`ipg_`), in ns-2 also after the first acknowledgement.
#[test]
fn first_gap() {
    for (dialect, at) in [(Dialect::Ns2, 2000), (Dialect::Rfc, 100), (Dialect::Headway1, 100)] {
        let mut sender = established(dialect);
        let permit = sender.poll_send(ms(50), &Next::default());
        assert_eq!(permit, Permit::At(ms(at)), "{dialect}");
    }
    let mut known = SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "rap"));
    known.rtt = Some(Duration::from_millis(80));
    let mut sender = RapSender::new(&RapOptions::preset(Dialect::Rfc), known);
    send(&mut sender, Instant::ZERO, 7);
    assert_eq!(sender.poll_send(Instant::ZERO, &Next::default()), Permit::At(ms(80)), "measured by a handshake");
}

/// Section 2.4 with the weights of ns-2: after round trips of 100 and 200 ms, short/long = 190/101.
#[test]
fn fine_grain() {
    let options = RapOptions { fine_grain: true, ..RapOptions::preset(Dialect::Rfc) };
    let mut sender = sender_of(&options);
    send(&mut sender, Instant::ZERO, 0);
    report(&mut sender, ms(100), 0, Some(100), &ARRIVED);
    send(&mut sender, ms(100), 1);
    report(&mut sender, ms(300), 1, Some(200), &ARRIVED);
    assert!((sender.wait_s(ms(300)) / sender.gap_s - 190.0 / 101.0).abs() < 1e-9);
}

/// Dialect headway-1: after a silence of any length the gap is at most doubled. Meanwhile a packet is sent every 200
/// ms, and after a minute every 3 s (RFC 8085 section 3.1.3): 300 and 13 in 100 s, and up to 20 before detection. As
/// published, two to four packets are sent per round trip of 100 ms.
#[test]
fn a_silence_is_one_loss() {
    for (dialect, probes) in [(Dialect::Headway1, true), (Dialect::Rfc, false)] {
        let mut sender = established(dialect);
        sender.gap_s = 0.02;
        let (mut now, mut number) = (ms(100), 1);
        let step = |sender: &mut RapSender, now: &mut Instant, number: &mut u64, acknowledged: bool| match sender
            .poll_send(*now, &Next::default())
        {
            Permit::Now => {
                send(sender, *now, *number);
                if acknowledged {
                    report(sender, *now, *number, Some(100), &ARRIVED);
                }
                *number += 1;
            }
            Permit::At(at) => *now = at,
            Permit::Blocked => panic!(),
        };
        while number < 30 {
            step(&mut sender, &mut now, &mut number, true);
        }
        let before = sender.gap_s;
        let (begun, first) = (now, number);
        while now < begun + Duration::from_secs(100) {
            step(&mut sender, &mut now, &mut number, false);
        }
        let sent = number - first;
        report(&mut sender, now, number - 1, None, &ARRIVED);
        if probes {
            assert!((313..=333).contains(&sent), "{sent} packets in 100 s");
            assert!(sender.gap_s <= 2.0 * before + 1e-9, "{} after {before}", sender.gap_s);
            assert!(sender.measures_silence(now, number - 1) && !sender.measures_silence(now, number));
        } else {
            assert!((1500..=4000).contains(&sent), "{sent}");
        }
    }
}

/// Only data packets are acknowledged.
#[test]
fn every_data_packet_is_acknowledged() {
    let mut receiver = RapReceiver::new(&RapOptions::preset(Dialect::Rfc), ReceiverContext::new(Instant::ZERO, SIZE));
    for number in 0..5 {
        receiver.on_packet(ms(number), &Received::new(number, (number != 3).then_some(SIZE)));
        assert_eq!(receiver.poll_report(ms(number)), (number != 3).then_some(Report::Arrivals(&[])));
        assert_eq!(receiver.poll_report(ms(number)), None);
    }
}

proptest! {
    /// For any report, gaps are at most 64 s and the sender is never blocked.
    #[test]
    fn any_report_keeps_the_gap_bounded(
        base in prop::sample::select(vec![0, (1 << 48) - 50, u64::MAX - 100]),
        reports in prop::collection::vec((any::<u64>(), 0u64..200, prop::collection::vec((0u64..100, 0u8..3), 0..6), any::<u64>()), 0..60),
        dialect in prop::sample::select(vec![Dialect::Headway1, Dialect::Rfc, Dialect::Ns2]),
        fine_grain in any::<bool>(),
    ) {
        let mut sender = sender_of(&RapOptions { fine_grain, ..RapOptions::preset(dialect) });
        let (mut now, mut number) = (Instant::ZERO, base);
        for (far, close, runs, sample) in reports {
            for _ in 0..4 {
                match sender.poll_send(now, &Next::default()) {
                    Permit::Now => {
                        send(&mut sender, now, number);
                        number = number.wrapping_add(1);
                    }
                    Permit::At(at) => now = at,
                    Permit::Blocked => prop_assert!(false),
                }
            }
            let runs: Vec<Run> = runs
                .into_iter()
                .map(|(packets, what)| run([Arrival::Received, Arrival::Marked, Arrival::NotReceived][usize::from(what)], packets))
                .collect();
            for acknowledged in [far, base.wrapping_add(close)] {
                let mut feedback = Feedback::new(acknowledged, Report::Arrivals(&runs));
                feedback.rtt_sample = Some(Duration::from_nanos(sample % 64_000_000_000));
                sender.on_feedback(now, &feedback);
            }
            prop_assert!(sender.gap_s > 0.0 && sender.gap_s <= 64.0);
        }
    }
}
