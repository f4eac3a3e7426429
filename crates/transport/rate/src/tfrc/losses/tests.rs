use super::*;
use headway_units::{Dialect, Options, Seq24, Seq48};
use proptest::prelude::*;

fn options() -> TfrcOptions {
    TfrcOptions::preset(Dialect::Rfc)
}

fn history(rule: LossEvents) -> LossHistory {
    LossHistory::new(&options(), rule)
}

fn packet(number: u64, at: f64) -> Arrival {
    Arrival {
        number,
        data: true,
        marked: false,
        ndp_count: 0,
        ccval: 0,
        at,
        r: 0.05,
        round: 0,
        rare: false,
        restarts: false,
    }
}

fn starts(history: &LossHistory) -> Vec<u64> {
    history.events.list.iter().map(|event| event.start).collect()
}

/// RFC 5348 section 5.2: losses 11, 12, 13 at 1.02, 1.04, 1.06 s, loss 20 at 1.21 s (tests/data/tfrc.json).
#[test]
fn interpolation_and_grouping() {
    let data: serde_json::Value = serde_json::from_str(include_str!("../../../tests/data/tfrc.json")).unwrap();
    let vector = &data["loss_interpolation"];
    for (r, events) in [("R", "events"), ("R_small", "events_small")] {
        let mut history = history(LossEvents::ArrivalTime);
        for (number, at) in [(10, 1.0), (14, 1.08), (15, 1.1), (16, 1.12), (17, 1.14), (18, 1.18), (19, 1.2)]
            .into_iter()
            .chain([(21, 1.22), (22, 1.24), (23, 1.26)])
        {
            history.on_packet(&Arrival { r: vector[r].as_f64().unwrap(), ..packet(number, at) });
        }
        let lost = vector["examples"].as_array().unwrap().iter().zip(vector[events].as_array().unwrap());
        let mut expected: Vec<(u64, f64)> = Vec::new();
        for (example, event) in lost {
            if event.as_u64().unwrap() as usize == expected.len() {
                expected.push((example["lost"].as_u64().unwrap(), example["T_loss"].as_f64().unwrap()));
            }
        }
        let got: Vec<(u64, f64)> = history.events.list.iter().map(|event| (event.start, event.at)).collect();
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(expected) {
            assert!(got.0 == expected.0 && (got.1 - expected.1).abs() < 1e-12, "{got:?} {expected:?}");
        }
    }
}

/// RFC 5348 section 5.2 with 24-bit numbers that wrap: fffffe arrives at 2.0 s, 3 at 2.5 s, so 1 was lost at 2.3 s. The
/// carrier extends the numbers as in RFC 4340 section 7.6.
#[test]
fn interpolation_over_a_wrap() {
    let data: serde_json::Value = serde_json::from_str(include_str!("../../../tests/data/tfrc.json")).unwrap();
    let mut history = history(LossEvents::ArrivalTime);
    let mut greatest = Seq48::new(0xff_fffe);
    for (short, at) in [(0xff_fffe, 2.0), (3, 2.5), (4, 2.6), (5, 2.7), (6, 2.8)] {
        let number = Seq48::extend(Seq24::new(short), greatest);
        greatest = number;
        // The round trip is short enough that each loss is an event.
        history.on_packet(&Arrival { r: 0.001, ..packet(number.value(), at) });
    }
    let lost = history.events.list.iter().find(|event| event.start % (1 << 24) == 1).unwrap();
    assert!((lost.at - data["loss_interpolation"]["wrap24"].as_f64().unwrap()).abs() < 1e-12, "{lost:?}");
}

/// RFC 5348 section 5.2: one run can contain many events. With a packet every 10 ms and R = 45 ms, an event has five
/// packets. For a long run, the newest events are the same as without skipping.
#[test]
fn many_events_in_one_hole() {
    for lost in [10, 1000] {
        let mut history = history(LossEvents::ArrivalTime);
        let time = |number: u64| 1.0 + (number - 10) as f64 / 100.0;
        for number in [10, 11 + lost, 12 + lost, 13 + lost] {
            history.on_packet(&Arrival { r: 0.045, ..packet(number, time(number)) });
        }
        let events: Vec<_> = history.events.list.iter().map(|event| (event.start, event.last, event.dropped)).collect();
        let first = 11 + lost - 5 * events.len() as u64;
        let wanted: Vec<_> = (0..events.len() as u64).map(|n| (first + 5 * n, first + 5 * n + 4, 5)).collect();
        assert_eq!(events, wanted);
        assert!(events.len() == 2 && first == 11 || events.len() > 8 && lost == 1000);
        assert!(history.events.list.iter().all(|event| (event.at - time(event.start)).abs() < 1e-9));
    }
}

/// RFC 5348 section 5.1: a packet is lost after three later packets; a late arrival revokes the loss.
#[test]
fn loss_after_three_later_packets_and_a_late_arrival() {
    let mut history = history(LossEvents::ArrivalTime);
    let changes: Vec<Change> = [1, 3, 4, 5].map(|n| history.on_packet(&packet(n, n as f64))).into();
    assert_eq!(changes.iter().map(|change| change.new_event).collect::<Vec<_>>(), [false, false, false, true]);
    assert_eq!(starts(&history), [2]);
    let late = history.on_packet(&packet(2, 5.5));
    assert!(late.filled && !late.duplicate && !history.has_losses());
    assert!(history.on_packet(&packet(2, 5.6)).duplicate);
    assert!(history.on_packet(&packet(4, 5.7)).duplicate);
}

/// RFC 4340 section 11.7.2: a packet with corrupt data counts as marked, whether this is known on arrival or later.
/// Packets lost, not received or already marked are unchanged.
#[test]
fn a_mark_may_follow_the_arrival() {
    let outcome = |marked: Option<u64>, corrupt: &[u64]| {
        let mut history = history(LossEvents::ArrivalTime);
        for number in [9, 10, 11, 12, 14, 15, 16, 18] {
            let marked = marked == Some(number);
            history.on_packet(&Arrival { marked, r: 0.5, ..packet(number, number as f64) });
        }
        let changes: Vec<_> =
            corrupt.iter().map(|n| history.mark(&Arrival { r: 0.5, ..packet(*n, *n as f64) })).collect();
        let mut intervals = Vec::new();
        let skip = history.report(1.0, &mut intervals);
        (skip, intervals, changes.iter().map(|change| (change.duplicate, change.new_event)).collect::<Vec<_>>())
    };
    for (number, newest) in [(10, false), (12, false), (14, true), (16, true), (18, true)] {
        let (at_once, later) = (outcome(Some(number), &[]), outcome(None, &[number, number]));
        assert_eq!((later.0, &later.1), (at_once.0, &at_once.1), "{number}");
        assert_eq!(later.2, [(false, newest), (true, false)], "{number}");
    }
    for number in [8, 13, 17, 19] {
        let (skip, intervals, _) = outcome(None, &[]);
        assert_eq!(outcome(None, &[number]), (skip, intervals, vec![(true, false)]), "{number}");
    }
}

/// RFC 5348 section 5.1: after n-1, n+1 and a marked n+2, the event starts immediately with n.
#[test]
fn a_mark_is_congestion_immediately() {
    let mut history = history(LossEvents::ArrivalTime);
    history.on_packet(&packet(9, 1.0));
    assert!(!history.on_packet(&packet(11, 1.01)).new_event);
    assert!(history.on_packet(&Arrival { marked: true, ..packet(12, 1.02) }).new_event);
    assert_eq!(starts(&history), [10]);
    assert_eq!(history.events.list[0].dropped, 2);
    // RFC 5348 section 5.3: a single marked packet is an interval of one.
    let mut history = LossHistory::new(&options(), LossEvents::ArrivalTime);
    history.on_packet(&packet(1, 1.0));
    history.on_packet(&Arrival { marked: true, ..packet(2, 1.01) });
    let mut intervals = vec![];
    history.intervals(7.0, false, &mut intervals);
    assert_eq!(intervals.iter().map(|i| i.length).collect::<Vec<_>>(), [1.0, 7.0]);
}

/// Returns the example of RFC 4342 section 8.6.2 and RFC 5622 section 8.7.1: 0 to 44 without 10, 19 to 21, 23, 32, 43.
fn example() -> LossHistory {
    let mut history = history(LossEvents::WindowCounter);
    for number in (0..=44).filter(|n| ![10, 19, 20, 21, 23, 32, 43].contains(n)) {
        history.on_packet(&Arrival { ccval: (number / 2 % 16) as u8, ..packet(number, number as f64) });
    }
    history
}

#[test]
fn the_loss_intervals_example() {
    let mut list = Vec::new();
    let skip = example().report(15.0, &mut list);
    let fields: Vec<[u32; 4]> = list.iter().map(|l| [l.lossless, l.lossy, l.data, l.dropped]).collect();
    assert_eq!((skip, &fields[..]), (2, &[[10, 1, 11, 1], [8, 5, 13, 4], [8, 1, 9, 1], [10, 0, 15, 0]][..]));
    let sequence: u32 = list.iter().map(|l| l.lossless + l.lossy).sum();
    assert_eq!(sequence + u32::from(skip), 45);
}

/// RFC 4342 section 6.1.1: packets without data are not in data lengths; with an NDP Count their loss is no congestion.
#[test]
fn packets_without_data() {
    let mut history = history(LossEvents::WindowCounter);
    let at = |number: u64| Arrival { ccval: (number / 2 % 16) as u8, ..packet(number, number as f64) };
    for number in 0..20 {
        history.on_packet(&Arrival { data: number % 4 != 3, ..at(number) });
    }
    // The lost packet 20 carries no data, nor do 22 and 23, which are lost with the data of 21.
    history.on_packet(&Arrival { ndp_count: 1, ..at(21) });
    assert!(history.holes.is_empty());
    history.on_packet(&Arrival { ndp_count: 2, ..at(25) });
    for number in 26..30 {
        history.on_packet(&at(number));
    }
    assert_eq!(starts(&history), [22]);
    let mut list = Vec::new();
    history.report(9.0, &mut list);
    assert_eq!((list[0].lossy, list[0].lossless, list[0].data), (1, 7, 6));
    assert_eq!(list[1].lossless, 22);
}

/// RFC 4342 section 6.1.1: data lengths exclude packets without data, even if they or their NDP Count arrive late. Of 0
/// to 19, 5 and 15 are lost; 8 to 10 arrive late, or only 10 with an NDP Count, after 15 is declared lost.
#[test]
fn late_packets_without_data() {
    let at = |number: u64| Arrival { ccval: (number / 2 % 16) as u8, ..packet(number, number as f64) };
    let lengths = |late: &[Arrival]| {
        let mut history = history(LossEvents::WindowCounter);
        for number in (0..20).filter(|number| ![5, 8, 9, 10, 15].contains(number)) {
            history.on_packet(&at(number));
        }
        late.iter().for_each(|late| assert!(!history.on_packet(late).duplicate));
        assert_eq!(starts(&history), [5, 15]);
        let mut list = Vec::new();
        history.report(9.0, &mut list);
        [list[0].data, list[1].data]
    };
    let bare = |number| Arrival { data: false, ..at(number) };
    assert_eq!(lengths(&[8, 9, 10].map(at)), [5, 10]);
    assert_eq!(lengths(&[at(8), at(9), bare(10)]), [5, 9]);
    assert_eq!(lengths(&[8, 9, 10].map(bare)), [5, 7]);
    assert_eq!(lengths(&[Arrival { ndp_count: 2, ..at(10) }]), [5, 8]);
    // 16 arrives late, before the lost packet 17.
    let mut history = history(LossEvents::WindowCounter);
    for number in (0..23).filter(|number| ![5, 16, 17].contains(number)) {
        history.on_packet(&at(number));
    }
    history.on_packet(&bare(16));
    let mut list = Vec::new();
    history.report(9.0, &mut list);
    assert_eq!((starts(&history), list[0].data, list[1].data), (vec![5, 17], 6, 11));
}

/// RFC 4342 section 10.2: the counter of the greatest number received before a lost packet applies, even of a late
/// packet. 5 and 10 are lost after counters 0 and 4, one event; with packet 9, after 0 and 5, two. Packets without data
/// do not count.
#[test]
fn the_counter_of_a_late_packet() {
    let events = |late: Option<Arrival>| {
        let mut history = history(LossEvents::WindowCounter);
        for number in [0, 1, 2, 3, 4, 6, 7, 8, 11, 12, 13, 14] {
            let ccval = match number {
                0..5 => 0,
                5..9 => 4,
                _ => 6,
            };
            history.on_packet(&Arrival { ccval, ..packet(number, number as f64) });
        }
        late.map(|late| history.on_packet(&late));
        starts(&history)
    };
    let late = Arrival { ccval: 5, ..packet(9, 15.0) };
    assert_eq!(events(None), [5]);
    assert_eq!(events(Some(late)), [5, 10]);
    assert_eq!(events(Some(Arrival { data: false, ..late })), [5]);
}

/// A jump of 2^60 numbers, thousands of runs, and marks do not increase the memory.
#[test]
fn memory_is_bounded() {
    for rule in [LossEvents::ArrivalTime, LossEvents::SendTime, LossEvents::WindowCounter] {
        let mut history = history(rule);
        history.on_packet(&packet(5, 0.0));
        history.on_packet(&Arrival { r: 1e-9, ..packet(1 << 60, 1e6) });
        for i in 0..10_000 {
            let number = (1 << 60) + 3 * i + 7;
            history.on_packet(&Arrival { marked: i % 5 == 0, round: i as u32, ..packet(number, 1e6 + i as f64) });
        }
        history.on_packet(&packet(u64::MAX, 2e6));
        history.on_packet(&packet(u64::MAX - 2, 2e6));
        assert!(history.holes.len() <= MAX_HOLES && history.events.list.len() <= INTERVALS);
        let mut list = Vec::new();
        history.report(1e30, &mut list);
        assert!(
            list.len() <= INTERVALS && {
                let mut intervals = vec![];
                history.intervals(1e30, true, &mut intervals);
                intervals.len() <= INTERVALS
            }
        );
    }
}

/// Returns the loss events of RFC 5348 sections 5.1 and 5.2, from the list of all arrivals.
fn reference_events(arrivals: &[Arrival], r: f64) -> Vec<u64> {
    let first = arrivals[0].number;
    let mut received: Vec<&Arrival> = Vec::new();
    for arrival in arrivals {
        if arrival.number >= first && received.iter().all(|other| other.number != arrival.number) {
            received.push(arrival);
        }
    }
    let mut lost: Vec<(u64, f64)> = Vec::new();
    let highest = received.iter().map(|arrival| arrival.number).max().unwrap();
    for number in first..=highest {
        if let Some(arrival) = received.iter().find(|arrival| arrival.number == number) {
            if arrival.marked {
                lost.push((number, arrival.at));
            }
            continue;
        }
        let later = received.iter().filter(|arrival| arrival.number > number);
        if later.clone().count() < 3 && !later.clone().any(|arrival| arrival.marked) {
            continue;
        }
        let after = received.iter().position(|arrival| arrival.number > number).unwrap();
        let (before, after) = (received[after - 1], received[after]);
        let step = (after.at - before.at) / (after.number - before.number) as f64;
        lost.push((number, before.at + (number - before.number) as f64 * step));
    }
    let mut events: Vec<(u64, f64)> = Vec::new();
    for loss in lost {
        if events.last().is_none_or(|old| old.1 + r < loss.1) {
            events.push(loss);
        }
    }
    events.iter().map(|event| event.0).collect()
}

/// Returns the loss events of RFC 4342 section 10.2, from all packets in order: whether received, and counter.
fn reference_events_by_counter(packets: &[(bool, u8)]) -> Vec<u64> {
    let received = |n: &usize| packets[*n].0;
    let mut events: Vec<usize> = Vec::new();
    for y in 1..packets.len() {
        if received(&y) || (y + 1..packets.len()).filter(received).count() < 3 {
            continue;
        }
        let previous = |n: usize| (0..n).rev().find(received).unwrap();
        let separate = events.last().is_none_or(|x| {
            let (x_prev, y_prev) = (previous(*x), previous(y));
            let distance = |s: usize| packets[s].1.wrapping_sub(packets[x_prev].1) % 16;
            (x_prev + 1..=y_prev).filter(received).any(|s| distance(s) > 4)
        });
        if separate {
            events.push(y);
        }
    }
    events.iter().map(|event| *event as u64).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Marks reported later in any order yield the same events as marks on arrival.
    #[test]
    fn marks_may_follow_the_arrival(
        moves in prop::collection::vec((1u64..4, 0.001..0.03f64, prop::bool::weighted(0.2), 0usize..40), 4..40),
        r in 0.01..0.3f64,
    ) {
        let (mut number, mut now, mut arrivals) = (100, 0.0, Vec::new());
        for (step, gap, marked, later) in moves {
            (number, now) = (number + step, now + gap);
            arrivals.push((Arrival { marked, r, ..packet(number, now) }, later));
        }
        let (mut at_once, mut later) = (history(LossEvents::ArrivalTime), history(LossEvents::ArrivalTime));
        let mut waiting: Vec<(usize, Arrival)> = Vec::new();
        for (at, (arrival, delay)) in arrivals.iter().enumerate() {
            at_once.on_packet(arrival);
            later.on_packet(&Arrival { marked: false, ..*arrival });
            waiting.extend(arrival.marked.then_some((at + delay, *arrival)));
            for (_, marked) in waiting.extract_if(.., |(due, _)| *due <= at) {
                prop_assert!(!later.mark(&marked).duplicate);
                prop_assert!(later.mark(&marked).duplicate);
            }
        }
        for (_, marked) in &waiting {
            later.mark(marked);
        }
        let events = |history: &LossHistory| -> Vec<_> {
            history.events.list.iter().map(|event| (event.start, event.last, event.dropped)).collect()
        };
        prop_assert_eq!(events(&later), events(&at_once));
    }

    /// Compares loss, reordering, duplication and marks with a reference that keeps all arrivals.
    #[test]
    fn loss_events_match_the_rfc(
        moves in prop::collection::vec((0u64..6, 0.001..0.03f64, prop::bool::weighted(0.1)), 4..60),
        r in 0.01..0.3f64,
    ) {
        let mut history = history(LossEvents::ArrivalTime);
        let mut arrivals = Vec::new();
        let (mut newest, mut now) = (100u64, 0.0);
        for (step, gap, marked) in moves {
            now += gap;
            // Steps 0 to 2 advance by 1 to 3; others repeat or deliver one of the last few packets.
            newest += if step < 3 { step + 1 } else { 0 };
            let number = if step < 3 { newest } else { newest - (step - 2) * 2 + 1 };
            let arrival = Arrival { r, marked, ..packet(number, now) };
            arrivals.push(arrival);
            history.on_packet(&arrival);
        }
        let expected = reference_events(&arrivals, r);
        let kept = expected.len().saturating_sub(INTERVALS);
        prop_assert_eq!(starts(&history), &expected[kept..]);
        prop_assert_eq!(history.remembers_first(), expected.len() < INTERVALS);
    }

    /// Counters advance by 0 to 5 per packet, with up to two consecutive losses: too few for an undetected wrap.
    #[test]
    fn loss_events_by_counter_match_the_rfc(
        steps in prop::collection::vec((0u8..6, 0u8..5), 8..80),
    ) {
        let mut packets = vec![(true, 0)];
        let mut counter = 0u8;
        for (step, fate) in steps {
            counter = (counter + step) % 16;
            let run = packets.iter().rev().take_while(|packet| !packet.0).count();
            packets.push((fate > 0 || run == 1, counter));
        }
        let mut history = history(LossEvents::WindowCounter);
        for (number, (_, ccval)) in packets.iter().enumerate().filter(|(_, packet)| packet.0) {
            history.on_packet(&Arrival { ccval: *ccval, ..packet(number as u64, number as f64) });
        }
        let expected = reference_events_by_counter(&packets);
        let kept = expected.len().saturating_sub(INTERVALS);
        prop_assert_eq!(starts(&history), &expected[kept..]);
    }
}
