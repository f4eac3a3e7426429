//! Comparison with CCID 3 of Linux 6.1, by captures of its receiver and its sender.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_rate::{
    ControllerOptions, Feedback, Losses, Next, Permit, Received, Receiver, ReceiverContext, ReceiverHalf, Report,
    Sender, SenderContext, SenderHalf, Sending, TfrcReport,
};
use headway_units::{Bytes, Dialect, Duration, Instant, Probability, Random, Rate, Registry};

/// 300 packets with 5 % loss: reports at the same packets as Linux, the receive rate to 2 B/s (capture timestamps are
/// off by a few microseconds), and 1/p to one packet from the first loss event, when p depends on the receiver's
/// estimate of the round-trip time.
#[test]
fn reports_of_a_lossy_flow_match_linux() {
    let options = ControllerOptions::preset("tfrc", Dialect::Linux).unwrap();
    let mut receiver = Receiver::new(&options, ReceiverContext::new(Instant::ZERO, Bytes::new(1400)));
    let mut ours = None;
    let mut reports = 0;
    for line in include_str!("data/linux-ccid3-loss5.csv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<u64>().unwrap();
        if fields[0] == "d" {
            assert_eq!(ours, None, "Linux did not report then");
            let now = Instant::from_nanos((fields[1].parse::<f64>().unwrap() * 1e9).round() as u64);
            let mut packet = Received::new(number(2), (fields[6] == "1").then(|| Bytes::new(number(4))));
            (packet.ccval, packet.ndp_count) = (number(3) as u8, Some(number(5)));
            receiver.on_packet(now, &packet);
            if let Some(Report::Tfrc(report)) = receiver.poll_report(now) {
                let Losses::EventRate(p) = report.losses else { panic!("not asked for") };
                ours = Some((number(2), report.x_recv.bits_per_second() / 8, p.value()));
            }
        } else {
            let (highest, x_recv, p) = ours.take().unwrap_or_else(|| panic!("Linux reported: {line}"));
            assert_eq!(highest, number(2));
            assert!(x_recv.abs_diff(number(3)) <= 2, "{x_recv}: {line}");
            match fields[4] {
                "none" => assert_eq!(p, 0.0, "{line}"),
                _ => assert!((1.0 / p - number(4) as f64).abs() < 1.01, "{p}: {line}"),
            }
            reports += 1;
        }
    }
    assert_eq!(reports, 41);
}

/// A queue of ten packets, full most of the time, at 400 kb/s: slow start, the first losses, the equation. Of 275
/// packets all are sent within 100 us of Linux's, except four that miss a tick of 4 ms by less than a fraction of a
/// microsecond per earlier packet. Until then all window counters match; later they are at most one behind.
#[test]
fn departures_of_a_limited_flow_match_linux() {
    let options = ControllerOptions::preset("tfrc", Dialect::Linux).unwrap();
    // Shift of the capture's clock that moves Linux's ticks to multiples of 4 ms.
    let at = |seconds: f64| Instant::from_nanos(((seconds + 0.000_630) * 1e9).round() as u64);
    let seconds = |now: Instant| now.as_nanos() as f64 / 1e9 - 0.000_630;
    let mut context = SenderContext::new(at(0.042_3), Bytes::new(1400), Random::new(1, "sender"));
    context.rtt = Some(Duration::from_micros(42_260));
    let mut sender = Sender::new(&options, context);
    let lines = include_str!("data/linux-ccid3-bottleneck.csv").lines().filter(|line| !line.starts_with('#'));
    let lines: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let number = |line: &[&str], i: usize| line[i].parse::<f64>().unwrap();
    let sent: Vec<f64> = lines.iter().filter(|line| line[0] == "d").map(|line| number(line, 1)).collect();
    let counters: Vec<u8> = lines.iter().filter(|line| line[0] == "d").map(|line| number(line, 3) as u8).collect();
    // A sleep ended 57 us late.
    let writes = (0..400).map(|i| at(0.042_673 + 0.008 * f64::from(i) + if i > 0 { 0.000_057 } else { 0.0 }));
    let mut writes = writes.peekable();
    let mut reports = lines.iter().filter(|line| line[0] == "f").peekable();
    let (mut waiting, mut sent_count, mut timer) = (0, 0usize, None);
    let mut missed = Vec::new();
    loop {
        let report = reports.peek().map(|line| at(number(line, 1)));
        let now = [writes.peek().copied(), report, timer, sender.poll_timeout()].into_iter().flatten().min().unwrap();
        if sender.poll_timeout().is_some_and(|due| due <= now) {
            sender.handle_timeout(now);
        }
        if writes.next_if_eq(&now).is_some() {
            waiting = (waiting + 1).min(10);
        }
        if report == Some(now) {
            let line = reports.next().unwrap();
            let acknowledged = number(line, 2) as usize;
            let p = if line[4] == "none" { 0.0 } else { 1.0 / number(line, 4) };
            let report = TfrcReport {
                x_recv: Rate::from_bits_per_second(number(line, 3) as u64 * 8),
                losses: Losses::EventRate(Probability::new(p).unwrap()),
                new_loss_event: false,
            };
            let mut feedback = Feedback::new(acknowledged as u64, Report::Tfrc(report));
            feedback.rtt_sample = Some(Duration::from_secs_f64(number(line, 1) - sent[acknowledged]));
            sender.on_feedback(now, &feedback);
        }
        timer = None;
        while waiting > 0 && sent_count < sent.len() {
            match sender.poll_send(now, &Next::new(Bytes::new(500))) {
                Permit::Now => {
                    let sending = Sending::new(sent_count as u64, Some(Bytes::new(500)));
                    let stamp = sender.on_send(now, &sending);
                    let late = seconds(now) - sent[sent_count];
                    assert!(late.abs() < 0.0081, "packet {sent_count}: {late} s late");
                    if late.abs() > 0.0001 {
                        missed.push(sent_count);
                    }
                    let behind = counters[sent_count].wrapping_sub(stamp.ccval) % 16;
                    assert!(behind <= u8::from(!missed.is_empty()), "packet {sent_count}: counter {}", stamp.ccval);
                    (waiting, sent_count) = (waiting - 1, sent_count + 1);
                }
                Permit::At(due) => {
                    timer = Some(due);
                    break;
                }
                Permit::Blocked => panic!("TFRC is never blocked"),
            }
        }
        if sent_count == sent.len() {
            break;
        }
    }
    assert_eq!(sent_count, 275);
    assert!(missed.len() <= 4 && missed.first() > Some(&140), "{missed:?}");
}
