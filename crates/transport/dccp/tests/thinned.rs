//! Report interval of a receiver under CCID 3 if the round trip is below the gap between packets,
//! and acknowledgement of the last packets (RFC 5348 section 6, RFC 4342 section 6).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::call;

use call::{Call, SERVER, lossy, queue, tfrc_with_vectors};
use headway_dccp::{ConnectionOptions, Fate};
use headway_rate::{ControllerOptions, Nofeedback};
use headway_units::Duration;

/// Returns options with this report gap, and a nofeedback timer of at least 200 ms, as in Linux.
fn rules(gap: Option<u64>) -> ConnectionOptions {
    let mut rules = tfrc_with_vectors();
    rules.expert.report_gap = gap.map(Duration::from_millis);
    for row in &mut rules.controllers {
        if let ControllerOptions::Tfrc(tfrc) = &mut row.controller {
            tfrc.nofeedback = Nofeedback::FourRttBounded;
        }
    }
    rules
}

/// Runs for 10 s with a datagram every millisecond. Returns reports, datagrams received, and the
/// mean allowed rate in packets per second.
fn run(rules: &ConnectionOptions, rtt: Duration, lost: u64) -> (u64, usize, f64) {
    let mut call = Call::new(rules, rules, &queue("fifo", false), lossy(rtt / 2, lost));
    call.run(Duration::from_secs(2));
    let (before, mut allowed) = (call.sent[SERVER], 0.0);
    for _ in 0..10_000 {
        call.push(500, Duration::from_secs(1));
        call.run(Duration::from_millis(1));
        let rate = call.client().status().sender.unwrap().pacing_rate.unwrap();
        allowed += (rate.bits_per_second() as f64 / 4000.0).min(1e5) / 10_000.0;
    }
    (call.sent[SERVER] - before, call.delivered.len(), allowed)
}

/// With a round trip of 50 us each packet is reported; with a gap of 10 ms every tenth, at the same
/// rate. With a longer round trip the gap has no effect.
#[test]
fn reports_are_thinned() {
    for (micros, lost, fewer) in [(50, 0, true), (50, 10, true), (40_000, 0, false)] {
        let rtt = Duration::from_micros(micros);
        let [(all, received, allowed), (few, still, thinned)] = [None, Some(10)].map(|gap| run(&rules(gap), rtt, lost));
        println!(
            "{rtt}, {lost} of 1000 lost: {all} reports, {received} received, {allowed:.0}/s; thinned {few}, {still}, {thinned:.0}/s"
        );
        if fewer {
            assert!((9_800..=10_100).contains(&all) && (900..=1_100).contains(&few), "{all} {few}");
        } else {
            assert_eq!((all, received), (few, still));
        }
        assert!(received.abs_diff(still) <= 30 && still >= 9_800, "{received} {still}");
    }
}

/// Ten datagrams in a burst, then silence: without `tail_ack` the last are reported with the next
/// burst, with it 50 ms later.
#[test]
fn tail_acks_report_the_last_packets() {
    for tail in [None, Some(Duration::from_millis(50))] {
        let mut rules = tfrc_with_vectors();
        rules.expert.tail_ack = tail;
        let mut call = Call::new(&rules, &rules, &queue("fifo", false), lossy(Duration::from_millis(10), 0));
        call.run(Duration::from_secs(2));
        let mut reported = 0;
        for _ in 0..20 {
            for _ in 0..10 {
                call.push(100, Duration::from_secs(1));
            }
            call.run(Duration::from_millis(150));
            reported = call.fates.iter().filter(|(.., fate)| *fate == Fate::Delivered).count();
            call.run(Duration::from_millis(850));
        }
        println!("{tail:?}: {reported} of 200 reported, {} packets of the server", call.sent[SERVER]);
        assert_eq!(tail.is_some(), reported == 200, "{reported}");
    }
}
