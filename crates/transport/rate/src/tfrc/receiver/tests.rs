use super::*;
use headway_units::{Bytes, Dialect, Options};

fn receiver(change: impl FnOnce(&mut TfrcOptions), losses: LossForm) -> TfrcReceiver {
    let mut options = TfrcOptions::preset(Dialect::Rfc);
    change(&mut options);
    TfrcReceiver::new(&options, context(losses))
}

fn context(losses: LossForm) -> ReceiverContext {
    let mut context = ReceiverContext::new(Instant::ZERO, Bytes::new(1000));
    context.tfrc.losses = losses;
    context
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn counted(number: u64, ccval: u8) -> Received {
    Received { ecn: Ecn::Ect0, ccval, ..Received::new(number, Some(Bytes::new(1000))) }
}

/// Returns a packet with the sender's clock and an R in ms, if known.
fn timed(number: u64, rtt: Option<u64>) -> Received {
    let rtt = rtt.map(Duration::from_millis);
    Received { timing: Some(Timing::new(Instant::ZERO)), rtt, ..counted(number, 0) }
}

/// Returns X_recv in bytes/s and p of the report that is due.
fn due(receiver: &mut TfrcReceiver, now: Instant) -> Option<(f64, f64)> {
    match receiver.poll_report(now)? {
        Report::Tfrc(report) => {
            let Losses::EventRate(p) = report.losses else { panic!("not asked for") };
            Some((report.x_recv.bits_per_second() as f64 / 8.0, p.value()))
        }
        _ => panic!("TFRC's own numbers"),
    }
}

fn receive(receiver: &mut TfrcReceiver, now: Instant, packet: &Received) -> Option<(f64, f64)> {
    receiver.on_packet(now, packet);
    due(receiver, now)
}

/// RFC 5348 section 6.3: an immediate report with zeros; then one per packet until R is known.
#[test]
fn the_first_packets() {
    let mut receiver = receiver(|_| {}, LossForm::EventRate);
    assert_eq!(due(&mut receiver, ms(0)), None);
    assert_eq!(receive(&mut receiver, ms(0), &timed(5, None)), Some((0.0, 0.0)));
    assert_eq!(receiver.poll_timeout(), None);
    // One packet in the 200 ms since the last report.
    assert_eq!(receive(&mut receiver, ms(200), &timed(6, None)), Some((5000.0, 0.0)));
    assert!(receive(&mut receiver, ms(250), &timed(7, Some(100))).is_some());
    assert_eq!(receiver.poll_timeout(), Some(ms(350)));
    assert_eq!(receive(&mut receiver, ms(300), &timed(8, Some(100))), None);
}

/// RFC 5348 sections 6 and 6.2: a report every R if data has arrived; otherwise the next packet is reported
/// immediately, and X_recv is at least one packet per round trip.
#[test]
fn the_feedback_timer() {
    let mut receiver = receiver(|_| {}, LossForm::EventRate);
    receive(&mut receiver, ms(0), &timed(0, Some(100)));
    for number in 1..=4 {
        assert_eq!(receive(&mut receiver, ms(20 * number), &timed(number, Some(100))), None);
    }
    receiver.handle_timeout(ms(100));
    assert_eq!(due(&mut receiver, ms(100)), Some((40_000.0, 0.0)));
    receiver.handle_timeout(ms(200));
    assert_eq!(due(&mut receiver, ms(200)), None);
    assert_eq!(receive(&mut receiver, ms(900), &timed(5, Some(100))), Some((10_000.0, 0.0)));
    assert_eq!(receiver.poll_timeout(), Some(ms(1000)));
}

/// A packet without data can be the third after a loss. If data has arrived since the last report, the event is
/// reported immediately as new, and not in the next report.
#[test]
fn a_packet_without_data_may_reveal_a_loss() {
    let mut receiver = receiver(|_| {}, LossForm::EventRate);
    receive(&mut receiver, ms(0), &timed(0, Some(100)));
    assert_eq!(receive(&mut receiver, ms(5), &timed(1, Some(100))), None);
    let bare = |number| Received { data: false, timing: None, ..counted(number, 0) };
    for number in [3, 4] {
        assert_eq!(receive(&mut receiver, ms(10 * number), &bare(number)), None);
    }
    receiver.on_packet(ms(50), &bare(5));
    let is_new = |receiver: &mut TfrcReceiver, at| match receiver.poll_report(at) {
        Some(Report::Tfrc(report)) => Some(report.new_loss_event),
        _ => None,
    };
    assert_eq!(is_new(&mut receiver, ms(50)), Some(true));
    receiver.on_packet(ms(60), &timed(6, Some(100)));
    receiver.handle_timeout(ms(150));
    assert_eq!(is_new(&mut receiver, ms(150)), Some(false));
}

/// The window counter has four bits: after an outage its difference is arbitrary, possibly close to zero. Then the time
/// applies (quarters of 25 ms are known from the first packets).
#[test]
fn a_wrapped_counter_is_replaced_by_the_time() {
    let mut receiver = receiver(|_| {}, LossForm::EventRate);
    receive(&mut receiver, ms(0), &counted(0, 0));
    for number in 1..=8 {
        receive(&mut receiver, ms(25 * number), &counted(number, number as u8));
    }
    assert_eq!(
        receive(&mut receiver, ms(599), &counted(40, 8)),
        None,
        "less than four round trips after the last report"
    );
    assert!(receive(&mut receiver, ms(600), &counted(41, 8)).is_some());
    // Packets five steps apart allow no measurement: 200 ms (RFC 4340 section 3.4).
    let mut sparse = self::receiver(|_| {}, LossForm::EventRate);
    (0..=3).for_each(|n| assert!(receive(&mut sparse, ms(20 * n), &counted(n, (5 * n % 16) as u8)).is_some()));
    assert_eq!(sparse.r(), None);
    assert_eq!(receive(&mut sparse, ms(859), &counted(40, 15)), None);
    assert!(receive(&mut sparse, ms(860), &counted(41, 15)).is_some());
}

/// Without data, the report waits for some. It would contain a rate of zero, which only the first report may (RFC 5348
/// section 4.3): a sender would reduce its rate to one packet per 64 s.
#[test]
fn a_loss_report_waits_for_data() {
    let mut receiver = receiver(|_| {}, LossForm::EventRate);
    receive(&mut receiver, ms(0), &timed(0, Some(100)));
    let bare = |number| Received { data: false, timing: None, ..counted(number, 0) };
    for number in [2, 3, 4, 5] {
        assert_eq!(receive(&mut receiver, ms(10 * number), &bare(number)), None);
    }
    let (x_recv, p) = receive(&mut receiver, ms(60), &timed(6, Some(100))).unwrap();
    assert!(x_recv > 0.0 && p > 0.0, "{x_recv} {p}");
}

/// RFC 5348 section 6.1: a new loss event, or its revocation, is reported immediately.
#[test]
fn a_loss_event_is_reported_immediately() {
    let mut receiver = receiver(|_| {}, LossForm::EventRate);
    receive(&mut receiver, ms(0), &timed(0, Some(100)));
    let arrivals = [(1, 10), (3, 20), (4, 30)];
    assert!(arrivals.map(|(n, t)| receive(&mut receiver, ms(t), &timed(n, Some(100)))).iter().all(Option::is_none));
    let (_, p) = receive(&mut receiver, ms(40), &timed(5, Some(100))).unwrap();
    assert!(p > 0.0);
    assert_eq!(receive(&mut receiver, ms(45), &timed(5, Some(100))), None);
    let (_, p) = receive(&mut receiver, ms(50), &timed(2, Some(100))).unwrap();
    assert_eq!(p, 0.0);
}

/// RFC 5348 section 6.3.1: 125 packets of 1000 B in the best round trip of 1 s are 125000 B/s, whose interval at R =
/// 0.1 s is 120.3638 packets (tests/data/tfrc.json). In packets this does not depend on the packet size.
#[test]
fn the_first_interval() {
    for size in [1000, 500] {
        let mut receiver = receiver(|_| {}, LossForm::EventRate);
        let mut p = 0.0;
        for number in (0u64..2000).filter(|n| *n != 1500) {
            // 8 ms apart, from packet 1000 twice that, so that the best round trip is an earlier one.
            let now = ms(8 * number.min(1000) + 16 * number.saturating_sub(1000));
            while receiver.poll_timeout().is_some_and(|at| at <= now) {
                let at = receiver.poll_timeout().unwrap();
                receiver.handle_timeout(at);
                due(&mut receiver, at);
            }
            if let Some(report) =
                receive(&mut receiver, now, &Received { size: Bytes::new(size), ..timed(number, Some(100)) })
            {
                p = report.1;
                if p > 0.0 {
                    break;
                }
            }
        }
        // A timer that is not aligned with packets sees 12 or 13 of them in R: 120 or 130 kB/s.
        assert!((1.0 / p - 120.36).abs() < 12.0, "{size} B: {}", 1.0 / p);
        let s = size as f64;
        let best = receiver.greatest_x_recv;
        let exact = receiver.equation.inverse(best, s, 0.1, 0.4);
        assert!((p / exact - 1.0).abs() < 1e-9 && (120.0..=130.0).contains(&(best / s)), "{size} B: {best}");
    }
}

/// RFC 5348 section 6.3.1: a marked first data packet is half a packet per round trip, an interval of 4.8443.
#[test]
fn a_null_first_interval() {
    let mut receiver = receiver(|_| {}, LossForm::EventRate);
    let marked = Received { ecn: Ecn::Ce, ..timed(0, Some(100)) };
    let (_, p) = receive(&mut receiver, ms(0), &marked).unwrap();
    assert!((1.0 / p - 4.8443).abs() < 5e-5, "{}", 1.0 / p);
}

/// RFC 4342 section 10.3: a report at each step of four. RFC 4342 section 8.3: X_recv since the last report.
#[test]
fn reports_by_the_window_counter() {
    let mut receiver = receiver(|_| {}, LossForm::EventRate);
    assert_eq!(receive(&mut receiver, ms(0), &counted(0, 0)), Some((0.0, 0.0)));
    for number in 1..=3 {
        assert_eq!(receive(&mut receiver, ms(25 * number), &counted(number, number as u8)), None);
    }
    assert_eq!(receive(&mut receiver, ms(100), &counted(4, 4)), Some((40_000.0, 0.0)));
    // The counter wraps; an old packet does not count; a step of five does.
    for (number, ccval, t, reported) in [(5, 7, 175, false), (7, 8, 200, true), (8, 13, 325, true), (6, 8, 351, false)]
    {
        assert_eq!(receive(&mut receiver, ms(t), &counted(number, ccval)).is_some(), reported, "{number}");
    }
    assert_eq!(receive(&mut receiver, ms(400), &counted(9, 0)), None);
    assert!(receive(&mut receiver, ms(425), &counted(10, 1)).is_some());
    assert!((receiver.r().unwrap() - 0.1).abs() < 1e-9);
    assert_eq!(receiver.poll_timeout(), None);
    // After an idle second, X_recv is one packet per second; a sender by RFC 3448 would be limited by it.
    let (x_recv, _) = receive(&mut receiver, ms(1425), &counted(11, 6)).unwrap();
    assert!((x_recv - 1000.0).abs() < 1.0, "{x_recv}");
}

/// RFC 4342 section 8.6: a lossless interval at first, and at least nine if that many exist.
#[test]
fn reported_intervals() {
    let mut receiver = receiver(|_| {}, LossForm::Intervals);
    let mut list = Vec::new();
    for number in (0..400).filter(|n| n % 20 != 19) {
        receiver.on_packet(ms(10 * number), &counted(number, (number % 16) as u8));
        if let Some(Report::Tfrc(TfrcReport { losses: Losses::Intervals { intervals, .. }, .. })) =
            receiver.poll_report(ms(10 * number))
        {
            list = intervals.to_vec();
            if number < 20 {
                assert_eq!((list.len(), list[0].lossy, list[0].data), (1, 0, 0));
                assert_eq!(u64::from(list[0].lossless), number + 1);
            }
        }
    }
    assert!(list.len() >= 9);
    assert!(list[1..].iter().all(|one| (one.lossless, one.lossy, one.data, one.dropped) == (19, 1, 20, 1)));
}

/// RFC 4828 section 3: 20 packets with 4 losses are an interval of 5 if they last 1.5 round trips, of 20 if 3.
#[test]
fn short_intervals() {
    for (steps, length) in [(6, 5.0), (12, 20.0)] {
        let mut options = TfrcOptions::preset(Dialect::Rfc);
        options.expert.short_intervals = true;
        let mut history = LossHistory::new(&options, LossEvents::WindowCounter);
        for number in (0u64..60).filter(|n| ![20, 21, 23, 24, 40].contains(n)) {
            let counter = match number {
                0..20 => 0,
                20..40 => steps * (number - 20) / 20,
                _ => steps + number - 40,
            };
            history.on_packet(&Arrival {
                rare: false,
                restarts: false,
                number,
                data: true,
                marked: false,
                ndp_count: 0,
                ccval: (counter % 16) as u8,
                at: number as f64,
                r: 1.0,
                round: 0,
            });
        }
        let mut intervals = vec![];
        let open_counts = history.intervals(100.0, true, &mut intervals);
        assert_eq!(intervals.iter().map(|one| one.length).collect::<Vec<_>>(), [20.0, length, 100.0], "{steps}");
        assert!(open_counts);
    }
}

/// RFC 4342 section 8.4 may be negotiated at any time and keeps the losses: packet 10.
#[test]
fn a_change_of_the_report_form_keeps_the_losses() {
    let mut receiver = receiver(|_| {}, LossForm::EventRate);
    for number in (0..20).filter(|number| *number != 10) {
        receiver.on_packet(ms(10 * number), &timed(number, Some(100)));
        let _ = receiver.poll_report(ms(10 * number));
    }
    assert!(due_after(&mut receiver, 400).is_some_and(|p| p > 0.0));
    receiver.on_change(&context(LossForm::Intervals));
    receiver.on_packet(ms(500), &timed(20, Some(100)));
    receiver.handle_timeout(ms(700));
    let Some(Report::Tfrc(report)) = receiver.poll_report(ms(700)) else { panic!("nothing is due") };
    let Losses::Intervals { intervals, .. } = report.losses else { panic!("{report:?}") };
    assert_eq!((intervals[0].lossy, intervals[0].lossless), (1, 10));
}

/// Returns p of the report caused by the feedback timer after an arrival.
fn due_after(receiver: &mut TfrcReceiver, at: u64) -> Option<f64> {
    receiver.handle_timeout(ms(at));
    due(receiver, ms(at)).map(|(_, p)| p)
}

/// Dialect headway-1: a gap of three packets and four round trips restarts the loss history. A loss after it occurs at
/// the initial rate, 4 packets per R (RFC 5348 sections 4.2 and 6.3.1). Two packets, or a shorter gap, count as losses.
#[test]
fn a_silence_restarts_the_loss_history() {
    for (missing, lasts, restarts) in [(3, 401, true), (2, 401, false), (3, 399, false)] {
        let mut receiver = TfrcReceiver::new(&TfrcOptions::preset(Dialect::Headway1), context(LossForm::EventRate));
        let at = |number: u64, sent: u64| Received { timing: Some(Timing::new(ms(sent))), ..timed(number, Some(100)) };
        let mut now = 0;
        for number in 0..20 {
            now = 100 * number;
            receiver.on_packet(ms(now), &at(number, now));
            receiver.handle_timeout(ms(now));
            due(&mut receiver, ms(now));
        }
        now += lasts;
        let next = 20 + missing;
        let mut p = Vec::new();
        for number in [next, next + 1, next + 3, next + 4, next + 5] {
            receiver.on_packet(ms(now), &at(number, now));
            receiver.handle_timeout(ms(now));
            p.extend(due(&mut receiver, ms(now)).map(|report| report.1));
            now += 25;
        }
        if restarts {
            assert_eq!(p[0], 0.0);
            let initial = receiver.equation.inverse(4.0 * 1000.0 / 0.1, 1000.0, 0.1, 0.4);
            let last = *p.last().unwrap();
            assert!(last > 0.0 && last <= initial * 1.0001, "{p:?} {initial}");
        } else {
            assert!(p.iter().any(|p| *p > 0.0), "{missing} {lasts}: {p:?}");
        }
    }
}

/// UDDJ with `hold`: the queue grows without losses and the flag is set. 1000 B every 10 ms arrive every 12 ms: 83,333
/// B/s. Reports contain the p of the rate at which the flag was set while it is set, and otherwise zero.
#[test]
fn a_filter_holds_the_receive_rate() {
    use crate::{LossFilterKind, UddjAction, UddjOptions};
    let reported = |action| {
        let mut receiver = receiver(
            |options| {
                options.loss_filter = Some(LossFilterKind::Uddj);
                options.uddj = Some(UddjOptions { action, ..UddjOptions::default() });
            },
            LossForm::EventRate,
        );
        let packet =
            |number: u64, sent: u64| Received { timing: Some(Timing::new(ms(sent))), ..timed(number, Some(100)) };
        // The queue grows by 2 ms per packet, drains by 2 ms per packet, then remains empty.
        let mut reported = Vec::new();
        for number in 0..140_u64 {
            let queue = if number < 60 { 2 * number } else { 120_u64.saturating_sub(2 * (number - 60)) };
            let now = ms(10 * number + queue);
            receiver.handle_timeout(now);
            receiver.on_packet(now, &packet(number, 10 * number));
            reported.extend(due(&mut receiver, now).map(|(_, p)| (number, p)));
        }
        (receiver, reported)
    };
    let (_, filtered) = reported(UddjAction::Filter);
    assert!(filtered.iter().all(|(_, p)| *p == 0.0), "{filtered:?}");
    let (receiver, held) = reported(UddjAction::Hold);
    let growing: Vec<f64> = held.iter().filter(|(number, _)| (30..55).contains(number)).map(|(_, p)| *p).collect();
    assert!(growing.len() >= 2 && growing.windows(2).all(|pair| pair[0] == pair[1]), "{held:?}");
    let rate = receiver.equation.rate(1000.0, 0.1, 0.4, growing[0]);
    assert!((rate / 83_333.0 - 1.0).abs() < 0.1, "{rate}");
    assert_eq!(held.last().unwrap().1, 0.0);
}
