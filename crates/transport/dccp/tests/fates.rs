//! Outcomes of datagrams reported by an outbox (RFC 4340 sections 11.4 and 11.5): each has one
//! final outcome that matches the path.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::call;

use call::{Call, lossy, queue, tfrc_with_vectors};
use headway_dccp::{ConnectionOptions, Fate, MediaOutbox, Outbox};
use headway_media::Media;
use headway_rate::{ControllerOptions, NoneOptions};
use headway_units::{Duration, Instant, QueueSize, Random, SendDrop, Seq48};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Reported outcomes: when each datagram was last sent, and its final outcome.
struct Outcomes {
    sent: BTreeMap<u64, Instant>,
    ends: BTreeMap<u64, (Instant, Fate)>,
}

/// Returns the outcomes, and checks that none follows a final one.
fn outcomes(call: &Call) -> Outcomes {
    let mut outcomes = Outcomes { sent: BTreeMap::new(), ends: BTreeMap::new() };
    for (at, id, fate) in &call.fates {
        assert!(!outcomes.ends.contains_key(id), "{id} has ended, and now it is {fate:?}");
        if fate.is_final() {
            outcomes.ends.insert(*id, (*at, *fate));
        } else {
            outcomes.sent.insert(*id, *at);
        }
    }
    outcomes
}

/// Sends `datagrams` datagrams, one every `gap`, and returns their outcomes. `tail`: how many of
/// the last may be unknown.
fn stream(call: &mut Call, datagrams: u64, gap: Duration, lifetime: Duration, tail: u64) -> Outcomes {
    for _ in 0..datagrams {
        call.push(100, lifetime);
        call.run(gap);
    }
    call.run(Duration::from_secs(1));
    assert!(call.outbox().drain().is_empty());
    call.run(Duration::ZERO);
    let outcomes = outcomes(call);
    let delivered: BTreeSet<u64> = call.delivered.iter().copied().collect();
    let pushed = call.outbox().pushed();
    assert!(outcomes.ends.keys().copied().eq(0..pushed), "{} of {pushed} have an end", outcomes.ends.len());
    for (id, (_, fate)) in &outcomes.ends {
        match fate {
            Fate::Delivered => assert!(delivered.contains(id), "{id}"),
            Fate::Dropped(code) => panic!("{id}: no data is dropped here: {code}"),
            Fate::Lost | Fate::Unsent { .. } => assert!(!delivered.contains(id), "{id}: {fate:?}"),
            Fate::Unknown => assert!(*id + tail >= pushed, "{id} is none of the last"),
            Fate::Sent(_) | Fate::Withdrawn => panic!("{id}: {fate:?}"),
        }
    }
    outcomes
}

/// Returns the mean and maximum time from sending to the final outcome, in round trips.
fn latency(outcomes: &Outcomes, rtt: Duration) -> (f64, f64) {
    let ends = outcomes.ends.iter().filter(|(_, (_, fate))| matches!(fate, Fate::Delivered | Fate::Lost));
    let waits: Vec<_> =
        ends.map(|(id, (at, _))| at.since(outcomes.sent[id]).as_secs_f64() / rtt.as_secs_f64()).collect();
    (waits.iter().sum::<f64>() / waits.len() as f64, waits.iter().copied().fold(0.0, f64::max))
}

fn count(outcomes: &Outcomes, wanted: impl Fn(&Fate) -> bool) -> usize {
    outcomes.ends.values().filter(|(_, fate)| wanted(fate)).count()
}

/// 10,000 datagrams per second under TFRC, whose receiver reports once per round trip. Its vectors cover all packets
/// between two reports, even a thousand, and even if reports are lost. At 1 ms TFRC sustains that rate with 1 % losses;
/// at 100 ms only without losses. Packets after the last report, at most those of a round trip, stay unknown.
#[test]
fn each_of_ten_thousand_per_second_has_one_outcome() {
    for (millis, lost, longest) in [(1, 0, 4.0), (1, 10, 8.0), (20, 0, 3.0), (100, 0, 3.0)] {
        let rtt = Duration::from_millis(millis);
        let options = tfrc_with_vectors();
        let mut call = Call::new(&options, &options, &queue("fifo", false), lossy(rtt / 2, lost));
        call.run(Duration::from_secs(2));
        // Wait until the rate has risen.
        for _ in 0..5_000 {
            call.push(100, Duration::from_secs(9));
            call.run(Duration::from_millis(1));
        }
        let outcomes =
            stream(&mut call, 20_000, Duration::from_micros(100), Duration::from_secs(1), 10 * (2 * millis + 2));
        let (mean, worst) = latency(&outcomes, rtt);
        let went = count(&outcomes, |fate| !matches!(fate, Fate::Unsent { .. }));
        let missing = count(&outcomes, |fate| *fate == Fate::Lost);
        println!(
            "{rtt}, {lost} of 1000 lost: {went} sent, {missing} lost, reported after {mean:.2} round trips, {worst:.2} at most"
        );
        assert!(worst < longest && went > 24_000, "{rtt}: {went} went, {worst}");
        assert!((lost == 0) == (missing == 0) && missing <= went * lost as usize * 2 / 1000, "{missing}");
    }
}

/// The sender does not slow down, and the receiver has no round-trip time from it, so that it
/// reports every 0.8 s. With 1 % losses, 8000 packets use 3 bytes per loss of the 506 bytes of two
/// options (section 11.4). Each datagram has an outcome, and all but the last are known.
#[test]
fn vectors_cover_a_second_of_packets() {
    let server = ConnectionOptions { sequence_window: 1 << 14, ..tfrc_with_vectors() };
    let mut client = server.clone();
    client.controllers.iter_mut().for_each(|row| row.controller = ControllerOptions::None(NoneOptions {}));
    let rtt = Duration::from_millis(100);
    let mut call = Call::new(&client, &server, &queue("fifo", false), lossy(rtt / 2, 10));
    call.run(Duration::from_secs(2));
    let outcomes = stream(&mut call, 50_000, Duration::from_micros(100), Duration::from_secs(1), 10_000);
    let (mean, worst) = latency(&outcomes, rtt);
    let [lost, unknown] = [Fate::Lost, Fate::Unknown].map(|end| count(&outcomes, |fate| *fate == end));
    println!("{lost} of 50000 lost, {unknown} unknown, reported after {mean:.2} round trips, {worst:.2} at most");
    assert!((350..650).contains(&lost) && unknown < 10_000, "{lost} {unknown}");
}

/// A lost datagram is resent, and its outcome is final once it has arrived or can no longer arrive. On a path of 10 ms
/// each way, most arrive the second time with a lifetime of 60 ms, and none with 25 ms.
#[test]
fn a_resent_datagram_has_one_outcome() {
    for (lifetime, again) in [(60, true), (25, false)] {
        let options = tfrc_with_vectors();
        let path_delay = lossy(Duration::from_millis(10), 50);
        let mut call = Call::new(&options, &options, &queue("fifo", true), path_delay);
        call.run(Duration::from_secs(1));
        let outcomes = stream(&mut call, 2_000, Duration::from_millis(10), Duration::from_millis(lifetime), 30);
        let sent = |id: &u64| call.fates.iter().filter(|(_, of, fate)| of == id && !fate.is_final()).count();
        let resent = outcomes.ends.iter().filter(|(id, (_, fate))| *fate == Fate::Delivered && sent(id) > 1).count();
        let lost = count(&outcomes, |fate| *fate == Fate::Lost);
        println!("lifetime {lifetime} ms: {resent} arrived the second time, {lost} were lost");
        assert!(if again { resent > 20 } else { resent == 0 && lost > 20 }, "{resent} {lost}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// With losses, reordering and outages, with and without resending, each datagram has one
    /// outcome, and those reported as delivered were.
    #[test]
    fn each_datagram_has_one_outcome_on_any_path(
        seed: u64, lost in 0u64..200, late in 0u64..200, outage in 0u64..2000, resend: bool, lifetime in 20u64..2000,
    ) {
        let mut random = Random::new(seed, "path");
        let path_delay = move |now: Instant, _, _: &[u8]| {
            let out = now.since(Instant::from_secs(5)) < Duration::from_millis(outage) && now >= Instant::from_secs(5);
            let delay = 10 + if random.below(1000) < late { random.below(100) } else { 0 };
            (!out && random.below(1000) >= lost).then_some(Duration::from_millis(delay))
        };
        let options = tfrc_with_vectors();
        let mut call = Call::new(&options, &options, &queue("sfdps2", resend), Box::new(path_delay));
        for _ in 0..1_000 {
            call.push(100, Duration::from_millis(lifetime));
            call.run(Duration::from_millis(10));
        }
        call.run(Duration::from_secs(1));
        call.outbox().drain();
        call.run(Duration::ZERO);
        let (outcomes, delivered) = (outcomes(&call), call.delivered.iter().copied().collect::<BTreeSet<_>>());
        prop_assert!(outcomes.ends.keys().copied().eq(0..1_000));
        for (id, (_, fate)) in &outcomes.ends {
            prop_assert!(*fate != Fate::Delivered || delivered.contains(id), "{}", id);
            // With resending, the first copy may arrive although the second expired.
            let never_went = matches!(fate, Fate::Unsent { .. } | Fate::Withdrawn);
            prop_assert!(resend || !never_went || !delivered.contains(id), "{}", id);
        }
    }
}

/// Without Ack Vectors outcomes are unknown: those of all but the newest 32,384 are reported at
/// once, the others at the end.
#[test]
fn outcomes_without_ack_vectors_are_unknown() {
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
    assert_eq!(outcomes(&call).ends.len(), 40_000 - 32_384);
    call.outbox().drain();
    call.run(Duration::ZERO);
    let outcomes = outcomes(&call);
    assert!(outcomes.ends.values().all(|(_, fate)| *fate == Fate::Unknown));
    assert_eq!((outcomes.ends.len(), outcomes.sent.len()), (40_000, 40_000));
}

/// A datagram may be refused, pushed out, expired, too large, or withdrawn before it is sent.
#[test]
fn unsent_datagrams_have_a_cause() {
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

/// Unpolled outcomes are bounded: the newest are kept. Without `follow` none are reported.
#[test]
fn unpolled_results_are_bounded() {
    for follows in [true, false] {
        let outbox = MediaOutbox::new(&queue("fifo", false));
        let mut outbox = if follows { outbox.follow() } else { outbox };
        let now = Instant::from_secs(1);
        for _ in 0..100_000 {
            outbox.push(now, Media::new(now, vec![0; 1]));
        }
        let outcomes: Vec<_> = std::iter::from_fn(|| outbox.poll_fate()).collect();
        assert_eq!(outcomes.len(), if follows { 1 << 16 } else { 0 });
        assert_eq!(outcomes.last().map(|(id, _)| *id), follows.then_some(99_999));
    }
}
