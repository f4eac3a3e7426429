//! How often a receiver under CCID 3 reports where the round trip is below the packets' gap, and who tells of the last packets
//! (RFC 5348 section 6, RFC 4342 section 6).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::call;

use call::{Call, SERVER, lossy, queue, tfrc_with_vectors};
use headway_dccp::{ConnectionOptions, Fate};
use headway_rate::{ControllerOptions, Nofeedback};
use headway_units::Duration;

/// With reports so far apart, and a nofeedback timer as Linux's, which waits for 200 ms at least.
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

/// 10 s of a datagram each millisecond: reports, datagrams that came, the mean rate that was allowed in packets a second.
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

/// With a round trip of 50 us each packet is reported; with a gap of 10 ms each tenth, and all go as before. Where the round trip is longer the
/// gap changes nothing.
#[test]
fn reports_are_thinned() {
    for (micros, lost, fewer) in [(50, 0, true), (50, 10, true), (40_000, 0, false)] {
        let rtt = Duration::from_micros(micros);
        let [(all, came, allowed), (few, still, thinned)] = [None, Some(10)].map(|gap| run(&rules(gap), rtt, lost));
        println!(
            "{rtt}, {lost} of 1000 lost: {all} reports, {came} came, {allowed:.0}/s; thinned {few}, {still}, {thinned:.0}/s"
        );
        if fewer {
            assert!((9_800..=10_100).contains(&all) && (900..=1_100).contains(&few), "{all} {few}");
        } else {
            assert_eq!((all, came), (few, still));
        }
        assert!(came.abs_diff(still) <= 30 && still >= 9_800, "{came} {still}");
    }
}

/// Ten datagrams in a burst, then silence: without `tail_ack` nobody tells of the last before the next burst, with it 50 ms later.
#[test]
fn the_last_packets_are_told_of() {
    for tail in [None, Some(Duration::from_millis(50))] {
        let mut rules = tfrc_with_vectors();
        rules.expert.tail_ack = tail;
        let mut call = Call::new(&rules, &rules, &queue("fifo", false), lossy(Duration::from_millis(10), 0));
        call.run(Duration::from_secs(2));
        let mut told = 0;
        for _ in 0..20 {
            for _ in 0..10 {
                call.push(100, Duration::from_secs(1));
            }
            call.run(Duration::from_millis(150));
            told = call.fates.iter().filter(|(.., fate)| *fate == Fate::Delivered).count();
            call.run(Duration::from_millis(850));
        }
        println!("{tail:?}: {told} of 200 told, {} packets of the server", call.sent[SERVER]);
        assert_eq!(tail.is_some(), told == 200, "{told}");
    }
}
