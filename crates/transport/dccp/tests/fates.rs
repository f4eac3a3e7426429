//! What became of each datagram, as a program that follows its outbox is told (RFC 4340 sections 11.4 and 11.5): each has one end, and it is
//! what the path did.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::call;

use call::{Call, lossy, queue, tfrc_with_vectors};
use headway_dccp::{ConnectionOptions, Fate, MediaOutbox, Outbox};
use headway_media::Media;
use headway_rate::{ControllerOptions, NoneOptions};
use headway_units::{Duration, Instant, QueueSize, Random, SendDrop, Seq48};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What the program has been told: when each datagram last went, and its end.
struct Told {
    sent: BTreeMap<u64, Instant>,
    ends: BTreeMap<u64, (Instant, Fate)>,
}

/// Nothing is told of a datagram behind its end, and none before it goes.
fn told(call: &Call) -> Told {
    let mut told = Told { sent: BTreeMap::new(), ends: BTreeMap::new() };
    for (at, id, fate) in &call.fates {
        assert!(!told.ends.contains_key(id), "{id} has ended, and now it is {fate:?}");
        if fate.is_final() {
            told.ends.insert(*id, (*at, *fate));
        } else {
            told.sent.insert(*id, *at);
        }
    }
    told
}

/// So many datagrams, one each `gap`, and all that is told behind them. `tail`: how many may be open at last.
fn stream(call: &mut Call, datagrams: u64, gap: Duration, lifetime: Duration, tail: u64) -> Told {
    for _ in 0..datagrams {
        call.push(100, lifetime);
        call.run(gap);
    }
    call.run(Duration::from_secs(1));
    assert!(call.outbox().drain().is_empty());
    call.run(Duration::ZERO);
    let told = told(call);
    let delivered: BTreeSet<u64> = call.delivered.iter().copied().collect();
    let pushed = call.outbox().pushed();
    assert!(told.ends.keys().copied().eq(0..pushed), "{} of {pushed} have an end", told.ends.len());
    for (id, (_, fate)) in &told.ends {
        match fate {
            Fate::Delivered => assert!(delivered.contains(id), "{id}"),
            Fate::Dropped(code) => panic!("{id}: nobody drops data here: {code}"),
            Fate::Lost | Fate::Unsent { .. } => assert!(!delivered.contains(id), "{id}: {fate:?}"),
            Fate::Unknown => assert!(*id + tail >= pushed, "{id} is none of the last"),
            Fate::Sent(_) | Fate::Withdrawn => panic!("{id}: {fate:?}"),
        }
    }
    told
}

/// How long the program waits for the end of what went, in round trips: the mean, and the longest.
fn latency(told: &Told, rtt: Duration) -> (f64, f64) {
    let ends = told.ends.iter().filter(|(_, (_, fate))| matches!(fate, Fate::Delivered | Fate::Lost));
    let waits: Vec<_> = ends.map(|(id, (at, _))| at.since(told.sent[id]).as_secs_f64() / rtt.as_secs_f64()).collect();
    (waits.iter().sum::<f64>() / waits.len() as f64, waits.iter().copied().fold(0.0, f64::max))
}

fn count(told: &Told, wanted: impl Fn(&Fate) -> bool) -> usize {
    told.ends.values().filter(|(_, fate)| wanted(fate)).count()
}

/// 10,000 datagrams a second under TFRC, whose receiver reports once a round trip: its vectors tell of all that came between two reports,
/// be it a thousand, and be reports lost. Where the round trip is 1 ms TFRC keeps that rate under a loss of 1 %; where it is 100 ms, only
/// without loss. Of what came behind the last report, at most a round trip's, nobody tells.
#[test]
fn each_of_ten_thousand_a_second_has_one_end() {
    for (millis, lost, longest) in [(1, 0, 4.0), (1, 10, 8.0), (20, 0, 3.0), (100, 0, 3.0)] {
        let rtt = Duration::from_millis(millis);
        let options = tfrc_with_vectors();
        let mut call = Call::new(&options, &options, &queue("fifo", false), lossy(rtt / 2, lost));
        call.run(Duration::from_secs(2));
        // The rate rises.
        for _ in 0..5_000 {
            call.push(100, Duration::from_secs(9));
            call.run(Duration::from_millis(1));
        }
        let told = stream(&mut call, 20_000, Duration::from_micros(100), Duration::from_secs(1), 10 * (2 * millis + 2));
        let (mean, worst) = latency(&told, rtt);
        let went = count(&told, |fate| !matches!(fate, Fate::Unsent { .. }));
        let missing = count(&told, |fate| *fate == Fate::Lost);
        println!(
            "{rtt}, {lost} of 1000 lost: {went} went, {missing} lost, told after {mean:.2} round trips, {worst:.2} at most"
        );
        assert!(worst < longest && went > 24_000, "{rtt}: {went} went, {worst}");
        assert!((lost == 0) == (missing == 0) && missing <= went * lost as usize * 2 / 1000, "{missing}");
    }
}

/// A sender that does not slow down, and a receiver that hears no round trip from it and so reports each 0.8 s: 8000 packets, of which 1 % is lost,
/// take 3 bytes for each loss of the 506 that two options have (section 11.4). Each datagram has its end, and all but the last are known.
#[test]
fn vectors_tell_of_a_second() {
    let server = ConnectionOptions { sequence_window: 1 << 14, ..tfrc_with_vectors() };
    let mut client = server.clone();
    client.controllers.iter_mut().for_each(|row| row.controller = ControllerOptions::None(NoneOptions {}));
    let rtt = Duration::from_millis(100);
    let mut call = Call::new(&client, &server, &queue("fifo", false), lossy(rtt / 2, 10));
    call.run(Duration::from_secs(2));
    let told = stream(&mut call, 50_000, Duration::from_micros(100), Duration::from_secs(1), 10_000);
    let (mean, worst) = latency(&told, rtt);
    let [lost, unknown] = [Fate::Lost, Fate::Unknown].map(|end| count(&told, |fate| *fate == end));
    println!("{lost} of 50000 lost, {unknown} unknown, told after {mean:.2} round trips, {worst:.2} at most");
    assert!((350..650).contains(&lost) && unknown < 10_000, "{lost} {unknown}");
}

/// What is lost goes again, and has its end when it has come, or can come no more: of use for 60 ms, on a path of 10 ms each way, most
/// comes the second time. Of use for 25 ms nothing can.
#[test]
fn what_goes_again_has_one_end() {
    for (lifetime, again) in [(60, true), (25, false)] {
        let options = tfrc_with_vectors();
        let way = lossy(Duration::from_millis(10), 50);
        let mut call = Call::new(&options, &options, &queue("fifo", true), way);
        call.run(Duration::from_secs(1));
        let told = stream(&mut call, 2_000, Duration::from_millis(10), Duration::from_millis(lifetime), 30);
        let sent = |id: &u64| call.fates.iter().filter(|(_, of, fate)| of == id && !fate.is_final()).count();
        let came_again = told.ends.iter().filter(|(id, (_, fate))| *fate == Fate::Delivered && sent(id) > 1).count();
        let lost = count(&told, |fate| *fate == Fate::Lost);
        println!("of use for {lifetime} ms: {came_again} came the second time, {lost} were lost");
        assert!(if again { came_again > 20 } else { came_again == 0 && lost > 20 }, "{came_again} {lost}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Paths that lose, reorder and stand still, with and without a second try: each datagram has one end, and what is told as delivered was.
    #[test]
    fn each_has_one_end_on_any_path(
        seed: u64, lost in 0u64..200, late in 0u64..200, outage in 0u64..2000, resend: bool, lifetime in 20u64..2000,
    ) {
        let mut random = Random::new(seed, "path");
        let way = move |now: Instant, _, _: &[u8]| {
            let out = now.since(Instant::from_secs(5)) < Duration::from_millis(outage) && now >= Instant::from_secs(5);
            let delay = 10 + if random.below(1000) < late { random.below(100) } else { 0 };
            (!out && random.below(1000) >= lost).then_some(Duration::from_millis(delay))
        };
        let options = tfrc_with_vectors();
        let mut call = Call::new(&options, &options, &queue("sfdps2", resend), Box::new(way));
        for _ in 0..1_000 {
            call.push(100, Duration::from_millis(lifetime));
            call.run(Duration::from_millis(10));
        }
        call.run(Duration::from_secs(1));
        call.outbox().drain();
        call.run(Duration::ZERO);
        let (told, delivered) = (told(&call), call.delivered.iter().copied().collect::<BTreeSet<_>>());
        prop_assert!(told.ends.keys().copied().eq(0..1_000));
        for (id, (_, fate)) in &told.ends {
            prop_assert!(*fate != Fate::Delivered || delivered.contains(id), "{}", id);
            // With a second try it may be the first that came, too late for the rule.
            let never_went = matches!(fate, Fate::Unsent { .. } | Fate::Withdrawn);
            prop_assert!(resend || !never_went || !delivered.contains(id), "{}", id);
        }
    }
}

/// Without Ack Vectors nobody tells anything: of all but the newest 32,384 that is said, and of these at the end.
#[test]
fn what_nobody_tells_is_unknown() {
    let mut options = tfrc_with_vectors();
    options.controllers.iter_mut().for_each(|row| row.ack_vectors = false);
    let mut call = Call::new(&options, &options, &queue("fifo", false), lossy(Duration::from_millis(1), 0));
    call.run(Duration::from_secs(1));
    for _ in 0..40_000 {
        call.push(100, Duration::from_secs(60));
        call.run(Duration::from_micros(500));
    }
    call.run(Duration::from_secs(60));
    assert_eq!(call.delivered.len(), 40_000);
    assert_eq!(told(&call).ends.len(), 40_000 - 32_384);
    call.outbox().drain();
    call.run(Duration::ZERO);
    let told = told(&call);
    assert!(told.ends.values().all(|(_, fate)| *fate == Fate::Unknown));
    assert_eq!((told.ends.len(), told.sent.len()), (40_000, 40_000));
}

/// Before it goes a datagram may be refused, pushed out, expire, be too large for any packet, or be taken back.
#[test]
fn what_never_goes_has_its_cause() {
    let mut rules = queue("sfdps1", false);
    rules.rules.limit = QueueSize::Packets(3);
    let mut outbox = MediaOutbox::new(&rules).follow();
    let now = Instant::from_secs(1);
    let media = |millis, len| {
        let expires = Some(now + Duration::from_millis(millis));
        Media { expires, ..Media::new(now, vec![0; len]) }
    };
    assert_eq!([10, 100, 100].map(|millis| outbox.push(now, media(millis, 1))), [0, 1, 2]);
    assert_eq!(outbox.push(now, media(100, 1)), 3);
    let ends = |outbox: &mut MediaOutbox<Vec<u8>>| -> Vec<_> { std::iter::from_fn(|| outbox.poll_fate()).collect() };
    let unsent = |cause, lateness| Fate::Unsent { cause, lateness: Duration::from_millis(lateness) };
    let full = ends(&mut outbox);
    assert!(matches!(full[..], [(_, Fate::Unsent { cause: SendDrop::Refused | SendDrop::PushedOut, .. })]), "{full:?}");
    let later = now + Duration::from_millis(30);
    let first = outbox.take(later).map(<[u8]>::len);
    outbox.sent(Seq48::new(7));
    let next = ends(&mut outbox);
    assert_eq!((first, next.last()), (Some(1), Some(&(if full[0].0 == 1 { 2 } else { 1 }, Fate::Sent(Seq48::new(7))))));
    assert!(full[0].0 == 0 || next[0] == (0, unsent(SendDrop::Expired, 20)), "{next:?}");
    outbox.take(later);
    outbox.too_large();
    outbox.sent(Seq48::new(8));
    assert!(matches!(ends(&mut outbox)[..], [(_, Fate::Unsent { cause: SendDrop::Refused, .. })]));
    let last = outbox.push(later, media(100, 1));
    assert_eq!(outbox.drain().len(), 1);
    let ends = ends(&mut outbox);
    assert!(matches!(ends[..], [(_, Fate::Unknown), (id, Fate::Withdrawn)] if id == last), "{ends:?}");
}

/// Nobody asks, and no memory fills: the newest are kept. Who does not follow is told nothing.
#[test]
fn what_nobody_asks_for_is_bounded() {
    for follows in [true, false] {
        let outbox = MediaOutbox::new(&queue("fifo", false));
        let mut outbox = if follows { outbox.follow() } else { outbox };
        let now = Instant::from_secs(1);
        for _ in 0..100_000 {
            outbox.push(now, Media::new(now, vec![0; 1]));
        }
        let told: Vec<_> = std::iter::from_fn(|| outbox.poll_fate()).collect();
        assert_eq!(told.len(), if follows { 1 << 16 } else { 0 });
        assert_eq!(told.last().map(|(id, _)| *id), follows.then_some(99_999));
    }
}
