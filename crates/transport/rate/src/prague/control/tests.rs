use super::*;

const LIMITS: Limits = Limits { start: 12_500, min: 12_500, max: 12_500_000_000 };

/// Returns the size of packets with which udp_prague sends two of them per virtual round trip. Its reports count these
/// packets.
fn packet_size(control: &Control) -> u64 {
    (control.rate * control.virtual_rtt_us() / US_PER_S / 2).max(150).min(control.mtu)
}

/// Reports of 4 packets every 15 ms over a path of 30 ms, with a mark in the 15th to 17th and the 30th. The state of an
/// independent program after each of the 40 reports: time, rate, window, `alpha` and size of packets. The program and
/// udp_prague itself agree.
#[test]
fn forty_of_forty_counters_of_udp_prague() {
    let expected: Vec<[i64; 5]> = serde_json::from_str(include_str!("../../../tests/data/udp-prague-40.json")).unwrap();
    let (mut control, mut counters) = (Control::new(LIMITS, 1400, None), Counters::default());
    for (index, expected) in expected.iter().enumerate() {
        counters.received += 4;
        counters.marked += u64::from(matches!(index + 1, 15..=17 | 30));
        counters.sent = counters.received + 4;
        let (now, size) = (30_000 + 15_000 * index as u64, packet_size(&control));
        control.on_rtt(30_000);
        control.on_report(now, counters, size, u64::MAX);
        let found = [now, control.rate, control.window, control.alpha.unsigned_abs(), packet_size(&control)];
        assert_eq!(found.map(u64::cast_signed), *expected, "report {index}");
    }
    assert_eq!(expected.len(), 40);
}

/// Steps of the window: (window, packets, size, smoothed round-trip time, increment).
#[test]
fn steps_of_the_window() {
    for (window, acks, srtt_us, increment, expected) in [
        (28_000, 2, 25_000, 1400, 28_140_000_000),
        (28_000, 2, 5_000, 1400, 28_005_600_000),
        (140_000, 10, 50_000, 2800, 140_280_000_000),
    ] {
        let mut control = Control::new(LIMITS, 1400, None);
        (control.window, control.srtt_us, control.rate) = (window * US_PER_S, Some(srtt_us), 1000 * increment);
        control.countdown = i64::from(increment == 1400);
        control.grow(srtt_us, acks, 1400, u64::MAX);
        assert_eq!(control.window, expected);
    }
}

/// udp_prague ran with 1340 reports in seven runs, over short paths, with late packets, with frames, and at its limits.
/// The first run is an open loop with a queue, losses of 5 and 20 % and marks of 10 and 50 %.
#[test]
fn reports_of_udp_prague() {
    let (mut control, mut budget_us, mut run, mut reports) = (Control::new(LIMITS, 1, None), 0, "", 0);
    let (mut undone, mut by_rate) = (0, 0);
    for line in include_str!("../../../tests/data/udp-prague.csv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[0] == "run" {
            let numbers: Vec<u64> = fields[2..].iter().map(|field| field.parse().unwrap()).collect();
            let [mtu, fps, budget, start, min, max] = numbers[..] else { panic!("{line}") };
            let frame_us = (fps > 0).then(|| US_PER_S / fps);
            control = Control::new(Limits { start, min, max }, mtu, frame_us);
            (budget_us, run) = (budget.min(frame_us.unwrap_or_default()), fields[1]);
            continue;
        }
        let numbers: Vec<u64> = fields.iter().map(|field| field.parse().unwrap()).collect();
        let [now, rtt, received, marked, lost, sent, expected @ ..] = &numbers[..] else { panic!("{line}") };
        let (now, size, lost_before) = (*now, packet_size(&control), control.counters.lost);
        control.on_rtt(*rtt);
        let counters = Counters { received: *received, marked: *marked, lost: *lost, sent: *sent };
        control.on_report(now, counters, size, u64::MAX);
        let packet = packet_size(&control);
        let found = [
            control.rate,
            control.window,
            control.alpha.unsigned_abs(),
            packet,
            control.countdown.unsigned_abs(),
            control.pacing_rate(now),
            packet.max(quotient(control.rate, budget_us, US_PER_S)),
            u64::from(control.by_rate),
        ];
        assert_eq!(found, expected, "{run}: {line}");
        undone += u32::from(*lost < lost_before);
        by_rate += u32::from(control.by_rate);
        reports += 1;
    }
    assert_eq!(reports, 1340);
    assert!(undone >= 5 && by_rate >= 100, "{undone} {by_rate}");
}

fn control_at(rate: u64) -> Control {
    let mut control = Control::new(Limits { start: rate, ..LIMITS }, 1400, None);
    control.on_rtt(50_000);
    control
}

/// A loss halves the rate once per round trip. If the packet arrives later, the rate is restored.
#[test]
fn a_late_packet_restores_the_rate() {
    let mut control = control_at(1_000_000);
    let report = |control: &mut Control, ms: u64, received, lost| {
        let counters = Counters { received, lost, marked: 0, sent: 100 };
        control.on_report(1000 * ms, counters, 1400, 0);
        control.rate
    };
    assert_eq!(report(&mut control, 100, 10, 0), 1_000_000);
    assert_eq!(report(&mut control, 110, 13, 1), 500_000);
    assert_eq!(report(&mut control, 120, 16, 2), 500_000, "the same round");
    assert_eq!(report(&mut control, 130, 17, 1), 500_000, "one is still lost");
    assert_eq!(report(&mut control, 140, 18, 0), 1_000_000);
    assert_eq!(report(&mut control, 150, 19, 0), 1_000_000, "only once");
}

/// RFC 9331 section 4.3: without ECT(1) the flow is Reno-friendly. A mark then halves the rate, and there is no faster
/// growth after a quiet time.
#[test]
fn reno_rules() {
    for (reno, after_mark, increment) in [(true, 1_000_000, 1400), (false, 1_998_048, 2000)] {
        let mut control = control_at(2_000_000);
        control.set_reno(reno);
        (control.alpha, control.alpha_round.since_us) = (1 << 11, 190_000); // alpha is 1/512
        (control.countdown, control.started, control.window) = (0, true, 50_000 * control.rate);
        let before = control.window;
        control.grow(50_000, 1, 1400, u64::MAX);
        assert!((control.window - before).abs_diff(1400 * increment * 10) <= increment, "{reno}");
        control.window = before;
        let counters = Counters { received: 1, marked: 1, lost: 0, sent: 9 };
        assert_eq!(control.on_report(200_000, counters, 1400, u64::MAX), Some(Reduction::Mark));
        assert!(control.rate.abs_diff(after_mark) <= 2, "{reno}: {}", control.rate);
    }
}

/// Growth ends at the maximum for an application that sends less, which does not reduce the rate.
#[test]
fn growth_ends_at_the_used_rate() {
    for (most, expected) in [(1_010_000, 1_010_000), (900_000, 1_000_000), (u64::MAX, 1_028_000)] {
        let mut control = control_at(1_000_000);
        let counters = Counters { received: 50, sent: 60, ..Counters::default() };
        control.on_report(100_000, counters, 1000, most);
        assert!(control.rate.abs_diff(expected) < 100, "{most}: {}", control.rate);
    }
}

/// Each timeout halves the rate, down to the minimum, and the next report does not restore it.
#[test]
fn silences_halve_the_rate() {
    let mut control = control_at(40_000);
    let rates = [(); 3].map(|()| {
        control.on_silence(0);
        control.rate
    });
    assert_eq!(rates, [20_000, 12_500, 12_500]);
    control.on_report(1_000_000, Counters { sent: 1, ..Counters::default() }, 1400, 0);
    assert_eq!(control.rate, 12_500);
}

/// If all packets of a round are lost, `alpha` keeps its value.
#[test]
fn a_round_without_arrivals() {
    let mut control = control_at(1_000_000);
    control.alpha = 1 << 16;
    control.on_report(100_000, Counters { lost: 10, sent: 20, ..Counters::default() }, 1400, 0);
    assert_eq!((control.alpha, control.rate), (1 << 16, 500_000));
}
