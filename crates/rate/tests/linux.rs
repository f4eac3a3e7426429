//! Against Linux 6.1's CCID 3 receiver, replayed from a capture.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_rate::{ControllerOptions, LossForm, Losses, Received, Receiver, ReceiverContext, ReceiverHalf, Report};
use headway_units::{Bytes, Dialect, Ecn, Instant, Registry};

/// 300 packets with 5 % loss: a report with each packet with which Linux reported, and with no other; the receive rate to
/// 2 B/s (the capture is stamped a few microseconds off), 1/p to one packet, from the first loss event on, when p comes of the
/// receiver's own estimate of the round trip.
#[test]
fn the_reports_of_a_lossy_flow() {
    let options = ControllerOptions::preset("tfrc", Dialect::Linux).unwrap();
    let context = ReceiverContext { now: Instant::ZERO, packet_size: Bytes::new(1400), losses: LossForm::EventRate };
    let mut receiver = Receiver::new(&options, context);
    let mut ours = None;
    let mut reports = 0;
    for line in include_str!("data/linux-ccid3-loss5.csv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<u64>().unwrap();
        if fields[0] == "d" {
            assert_eq!(ours, None, "Linux did not report then");
            let now = Instant::from_nanos((fields[1].parse::<f64>().unwrap() * 1e9).round() as u64);
            let packet = Received {
                number: number(2),
                size: Bytes::new(number(4)),
                data: fields[6] == "1",
                ecn: Ecn::NotEct,
                ccval: number(3) as u8,
                ndp_count: Some(number(5)),
                timing: None,
            };
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
