use super::super::options::{InitialWindow, Segment, TfrcExpert};
use super::*;
use crate::report::LossInterval;
use headway_units::{Bytes, Dialect, Options, Random};

mod intervals;
mod silence;

fn expert(change: impl FnOnce(&mut TfrcExpert)) -> TfrcOptions {
    let mut options = rfc();
    change(&mut options.expert);
    options
}

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

/// Returns X in bytes/s after two reports with an unlimited receive rate.
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

/// Returns a sender of 1000 B packets with R = 100 ms and p = 1 %: 112332.2 B/s.
fn steady(options: &TfrcOptions) -> TfrcSender {
    let mut sender = sender(options, 1000);
    for (number, t) in (0..10).zip((0..).step_by(100)) {
        send(&mut sender, ms(t), number);
        let feedback = Feedback { acknowledged: number, ..feedback(report(112_332.2, 0.01), 0.1) };
        sender.on_feedback(ms(t + 100), &feedback);
    }
    sender
}

/// RFC 5348 section 4.2: one packet per second, the timer after two; then, per round trip, 4 packets of up to 1095 B,
/// 4380 B of larger ones, two of more than 2190 B.
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

/// Table of RFC 2414 section 1, as in ns-2's `rate_init_option_` 2: 4 segments up to 1095 B, 3 below 2190 B, else 2.
#[test]
fn an_initial_window_in_packets() {
    let options = expert(|o| o.initial_window = InitialWindow::Packets);
    for (size, packets) in [(1, 4.0), (1095, 4.0), (1096, 3.0), (1460, 3.0), (2189, 3.0), (2190, 2.0), (8960, 2.0)] {
        assert_eq!(sender(&options, size).moment(ms(0)).w_init, packets * size as f64, "{size}");
    }
}

/// RFC 4342 section 5.3 and ns-2: with pacing in packets, ten received packets of 200 B count as ten of 1000 B.
#[test]
fn received_small_packets_count_as_s() {
    let mut sender = sender(&TfrcOptions { paced: Paced::Packets, ..expert(|o| o.segment = Segment::Full) }, 1000);
    (0..10).for_each(|number| {
        sender.on_send(ms(100 * number), &Sending { number, size: Bytes::new(200), data: true });
    });
    let Report::Tfrc(report) = report(2000.0, 0.01) else { panic!("it is TFRC's") };
    sender.on_feedback(ms(1000), &Feedback { acknowledged: 9, ..feedback(Report::Tfrc(report), 0.1) });
    assert!((sender.x_inrecv(&report) - 10_000.0).abs() < 1e-6, "{}", sender.x_inrecv(&report));
}

/// RFC 5348 section 4.2: the round trip of a handshake is equivalent to that of a report.
#[test]
fn a_round_trip_of_the_handshake() {
    let context = SenderContext::new(ms(50), Bytes::new(1000), Random::new(1, "sender"));
    let context = SenderContext { rtt: Some(Duration::from_millis(100)), ..context };
    let mut sender = TfrcSender::new(&rfc(), context);
    assert!((sender.allowed.x() - 40_000.0).abs() < 1e-6);
    let stamp = send(&mut sender, ms(50), 0);
    assert_eq!(stamp.rtt, Some(Duration::from_millis(100)));
    assert_eq!(sender.poll_timeout(), Some(ms(450)));
}

/// RFC 4342 section 6: without TFRC's options and a round trip, an acknowledgement is not feedback.
#[test]
fn other_acknowledgements_are_not_feedback() {
    let mut sender = steady(&rfc());
    let timeout = sender.poll_timeout();
    sender.on_feedback(ms(1050), &feedback(Report::Arrivals(&[]), 0.1));
    sender.on_feedback(ms(1050), &Feedback { rtt_sample: None, ..feedback(report(1e6, 0.5), 0.1) });
    assert_eq!(sender.poll_timeout(), timeout);
    assert_eq!(sender.status().loss_event_rate, Probability::new(0.01));
}

/// RFC 4342 section 5.2: X_inrecv 100000 B/s, s 1000 B, R 0.1 s, three drops: X_recv 35000, X 70000.
#[test]
fn packets_dropped_at_the_receiver() {
    let mut sender = steady(&rfc());
    let drops = Feedback { receive_buffer_drops: 3, ..feedback(report(100_000.0, 0.01), 0.1) };
    sender.on_feedback(ms(1100), &drops);
    assert!((sender.allowed.x() - 70_000.0).abs() < 1e-6, "{}", sender.allowed.x());
    // Drops reduce the rate to at least one packet per round trip.
    sender.on_feedback(ms(1200), &Feedback { receive_buffer_drops: 1_000_000, ..drops });
    assert!((sender.allowed.x() - 10_000.0).abs() < 1e-6);
    // A slow receiver limits the rate to its receive rate.
    let slow = Feedback { slow_receiver: true, ..feedback(report(50_000.0, 0.01), 0.1) };
    sender.on_feedback(ms(1300), &slow);
    assert!((sender.allowed.x() - 50_000.0).abs() < 1e-6);
}

/// RFC 5348 section 4.4: the rate halves at each expiry, every 4R, then 2s/X.
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

/// Rates after an hour without sending, from 112332 B/s and from a rate below the initial one. R = 100 ms, so the
/// initial rate is 40000 B/s and one packet per round trip 10000.
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
    // RFC 3448 section 4.4: at least two packets per round trip.
    let (_, x) = left(Idle::Rfc3448, 112_332.2, 0.01);
    assert!((20_000.0..80_000.0).contains(&x), "{x}");
    // ns-2 requires a notification that the application has no data; without it, s/64 remains.
    let (_, x) = left(Idle::HalvedToInitial, 112_332.2, 0.01);
    assert!(x <= 16.0, "{x}");
    let (_, x) = left(Idle::HalvedAndLifted, 112_332.2, 0.01);
    assert!((x - 40_000.0).abs() < 1.0, "{x}");
}

/// A receiver reports holding times equal to the round trip, and the application stops. An idle sender's rate is not
/// halved (RFC 4342 section 5.1), so only the minimum wait prevents an expiry every 4 us.
#[test]
fn round_trips_of_zero_do_not_speed_up_the_timer() {
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

/// RFC 5348 section 4.4 step 1, "cut the allowed sending rate in half", never raises it. The rate after the first
/// report, 4000 B in 0.1 s, is below half of the equation's 112332.2 B/s, which `Update_Limits(X_Bps/2)` alone would
/// set.
#[test]
fn an_expiry_does_not_raise_the_rate() {
    let mut sender = sender(&rfc(), 1000);
    send(&mut sender, ms(0), 0);
    sender.on_feedback(ms(100), &feedback(report(1e6, 0.01), 0.1));
    assert_eq!(sender.allowed.x().round(), 40_000.0);
    send(&mut sender, ms(100), 1);
    sender.handle_timeout(sender.poll_timeout().unwrap());
    assert_eq!(sender.allowed.x().round(), 40_000.0);
}

/// ns-2's `idleFix_`: an application without data keeps the initial rate.
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

/// RFC 5348 section 8.2.1: X_recv limits a sender that sends all permitted data, and no other.
#[test]
fn data_limited_intervals() {
    for (spacing_ms, limited) in [(5, false), (50, true)] {
        let mut sender = steady(&rfc());
        let mut number = 10;
        for round in 10..20u64 {
            let mut last = number;
            for t in (0..100).step_by(spacing_ms) {
                last = number;
                // The link carries only 10 kB/s, which X_recv reports in both cases.
                send(&mut sender, ms(round * 100 + t), number);
                number += 1;
            }
            let feedback = Feedback { acknowledged: last, ..feedback(report(10_000.0, 0.01), 0.1) };
            sender.on_feedback(ms(round * 100 + 100), &feedback);
        }
        assert_eq!(sender.allowed.x() > 100_000.0, limited, "{spacing_ms}: {}", sender.allowed.x());
    }
}

/// RFC 5348 section 4.1, RFC 4342 section 5.3: s is the mean of the last four loss intervals, that of a full packet, or
/// a moving average. In whole bytes, the latter ends at 391 on the way to 400: (9 * 391 + 400) / 10 = 391.9.
#[test]
fn segment_sizes() {
    for (segment, s) in [(Segment::Average, 300.0), (Segment::Full, 1000.0), (Segment::Smoothed, 391.0)] {
        let mut sender = sender(&expert(|o| o.segment = segment), 1000);
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

/// RFC 4828 section 4.3, RFC 5622 section 5: at most three packets in 30 ms.
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

/// Faster Restart, anticipated by RFC 5622 section 5.1: twice the initial rate, then four times that.
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

/// net/dccp/ccids/ccid3.c: the handshake's round trip is averaged with the first sample (`ccid3_hc_tx_packet_recv`),
/// `W_init` uses the mean size (`rfc3390_initial_rate`), and the first nofeedback timer is 2 s
/// (`TFRC_INITIAL_TIMEOUT`).
#[test]
fn linux_initial_rate_and_timer() {
    let mut sender = linux_after_handshake(100);
    send_bytes(&mut sender, ms(0), 0, 1000);
    assert_eq!((sender.allowed.x(), sender.poll_timeout()), (40_000.0, Some(ms(2000))));
    send_bytes(&mut sender, ms(50), 1, 500);
    sender.on_feedback(ms(200), &feedback(report(0.0, 0.0), 0.2));
    let r = sender.rtt.r().unwrap();
    assert!((r - 0.11).abs() < 1e-12, "{r}");
    // (9 * 1000 + 500) / 10 = 950 B, four of them in 110 ms.
    assert!((sender.allowed.x() - 3800.0 / 0.11).abs() < 1e-6, "{}", sender.allowed.x());
}

fn send_bytes(sender: &mut TfrcSender, now: Instant, number: u64, bytes: u64) -> Stamp {
    sender.on_send(now, &Sending { number, size: Bytes::new(bytes), data: true })
}

/// RFC 5348 section 4.3: below one packet per four round trips, X_recv covers the one received packet, which counts as
/// s: 850 B in 10 s, although it had 100 B and 1600 B were lost after it. A reported rate of zero is not replaced.
#[test]
fn a_single_small_packet_counts_as_s() {
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

/// net/dccp/ccids/ccid3.c, `ccid3_hc_tx_update_win_count`: only time advances the counter, in RFC 4342 section 8.1
/// reports too.
#[test]
fn reports_do_not_advance_the_counter_in_linux() {
    let counters = |dialect, rtt| {
        let mut sender = sender(&TfrcOptions::preset(dialect), 1000);
        send(&mut sender, ms(0), 0);
        sender.on_feedback(ms(100), &feedback(report(1e6, 0.0), rtt));
        [send(&mut sender, ms(101), 1).ccval, send(&mut sender, ms(102), 2).ccval]
    };
    assert_eq!(counters(Dialect::Rfc, 0.1), [4, 4]);
    // 101 ms are four quarters of 100 ms, and none of 1 s, where only the report advances RFC 4342's counter.
    assert_eq!(counters(Dialect::Linux, 0.1), [4, 4]);
    assert_eq!(counters(Dialect::Rfc, 1.0), [4, 4]);
    assert_eq!(counters(Dialect::Linux, 1.0), [0, 0]);
}

/// Linux 6.1: `dccp_write_xmit` first calls `ccid3_hc_tx_send_packet`, which adds `t_ipi` to `t_nom`; a packet
/// discarded after that has used its permission. 1000 B at 40,000 B/s are 25 ms apart, and a packet may be sent 2 ms
/// early (`TFRC_T_DELTA`).
#[test]
fn a_discard_uses_its_nominal_send_time_as_in_linux() {
    let next = |sender: &mut TfrcSender, at| sender.poll_send(at, &Next::default());
    let begun = || {
        let mut sender = linux_after_handshake(100);
        send_bytes(&mut sender, ms(0), 0, 1000);
        assert_eq!(next(&mut sender, ms(0)), Permit::At(ms(23)));
        assert_eq!(next(&mut sender, ms(30)), Permit::Now);
        sender
    };
    let mut sends = begun();
    send_bytes(&mut sends, ms(30), 1, 1000);
    let mut discards = begun();
    discards.on_discard(ms(30));
    assert_eq!([next(&mut sends, ms(30)), next(&mut discards, ms(30))], [Permit::At(ms(48)); 2]);
    // `ccid3_hc_tx_packet_sent` is not reached: the discard does not count in s and is not acknowledged.
    discards.on_feedback(ms(130), &feedback(report(10_000.0, 0.0), 0.1));
    assert_eq!(discards.segment.s(), 1000.0);
    // A late sender loses one permission per discard and may continue immediately.
    let mut late = begun();
    late.on_discard(ms(100));
    late.on_discard(ms(100));
    assert_eq!(next(&mut late, ms(100)), Permit::Now);
    late.on_discard(ms(100));
    late.on_discard(ms(100));
    assert_eq!(next(&mut late, ms(100)), Permit::At(ms(123)));
    // Before the first packet a gap is that of the initial rate: 4380 B in 100 ms, 32 ms for 1400 B.
    let mut first = linux_after_handshake(100);
    first.on_discard(ms(0));
    let Permit::At(at) = next(&mut first, ms(0)) else { panic!("the permission is used up") };
    assert!((at.as_secs_f64() - (1400.0 / 43_800.0 - 0.002)).abs() < 1e-6, "{at}");
}
