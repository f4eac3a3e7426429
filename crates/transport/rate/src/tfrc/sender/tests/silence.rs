//! Outages (`docs/src/rate/headway.md`).

use super::*;

/// Returns a sender of 1000 B packets with R = 100 ms without reports from 2 s to 7 s, the time of the first report
/// after that, and the number of the next packet.
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

/// The path returns with a queue of 0.8 s. RFC 5348 section 4.2 permits W_init, four packets, in the first round trip.
/// Reports on packets from before the end of the silence are not measured, so only probes follow: at most one packet
/// per 200 ms.
#[test]
fn a_restart_sends_one_window_before_a_round_trip_is_measured() {
    let (mut sender, mut now, mut number) = after_a_silence();
    assert_eq!(sender.status().rtt, Some(Duration::from_millis(100)));
    let (end, first) = (now, number);
    assert!((4..=5).contains(&sent_until(&mut sender, &mut now, &mut number, end + Duration::from_millis(100))));
    for _ in 0..7 {
        sender.on_feedback(now, &Feedback { acknowledged: first - 1, ..feedback(report(40_000.0, 0.0), 5.0) });
        let until = now + Duration::from_millis(100);
        assert!(sent_until(&mut sender, &mut now, &mut number, until) <= 1);
    }
    // The first sample after the silence replaces R. The second window is 8000 B in 0.8 s, without a burst.
    sender.on_feedback(now, &Feedback { acknowledged: first, ..feedback(report(40_000.0, 0.0), 0.8) });
    assert_eq!(sender.status().rtt, Some(Duration::from_millis(800)));
    assert_eq!(sender.allowed.x(), 10_000.0);
    let until = now + Duration::from_millis(50);
    assert_eq!(sent_until(&mut sender, &mut now, &mut number, until), 1);
}

/// A receiver with another dialect counts the losses in the silence; the sender uses its p of 0.3.
#[test]
fn the_sender_uses_p_of_a_receiver_with_another_dialect() {
    let (mut sender, now, number) = after_a_silence();
    assert_eq!(sender.allowed.x(), 40_000.0);
    let next = now + Duration::from_millis(100);
    sender.on_feedback(next, &Feedback { acknowledged: number - 1, ..feedback(report(40_000.0, 0.3), 0.1) });
    let expected = sender.equation.rate(1000.0, 0.1, 0.4, 0.3);
    assert!((sender.allowed.x() - expected).abs() < 1e-6, "{} instead of {expected}", sender.allowed.x());
}
