//! `packets.arrow`: every packet at every link.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::columns::Table;
use common::hops::{Hop, agree, rows};
use common::{run, scenario, shipped};
use headway_scenario::Scenario;
use headway_sim::{Ns2Trace, PacketTrace, Simulation};
use std::collections::BTreeSet;

fn hops(scenario: &Scenario) -> Vec<Hop> {
    rows(&Table::read(&file(scenario)))
}

fn file(scenario: &Scenario) -> Vec<u8> {
    run(scenario, PacketTrace::new(scenario)).observer.take().unwrap()
}

/// Asserts that the rows agree with ns-2's trace of the same run, whether or not links schedule additional events.
fn check(scenario: &Scenario) -> Vec<Hop> {
    let alone = file(scenario);
    let (mut lines, mut packets) = run(scenario, (Ns2Trace::new(scenario), PacketTrace::new(scenario))).observer;
    assert_eq!(packets.take().unwrap(), alone, "another observer changes nothing");
    assert_eq!(file(scenario), alone, "the same seed gives the same bytes");
    let hops = rows(&Table::read(&alone));
    agree(scenario, &String::from_utf8(lines.take()).unwrap(), &hops, scenario.duration.as_nanos() as i64);
    hops
}

fn fates(hops: &[Hop]) -> BTreeSet<&str> {
    hops.iter().map(|hop| hop.fate.as_str()).collect()
}

/// TCP and UDP through a bottleneck whose queue is full.
#[test]
fn tcp_and_udp_at_a_full_queue_match_the_ns2_trace() {
    let hops = check(&shipped("demo.toml"));
    assert!(fates(&hops).is_superset(&["delivered", "queue_full", "in_flight"].into()), "{:?}", fates(&hops));
    assert!(hops.iter().any(|hop| hop.kind == "feedback") && hops.iter().any(|hop| hop.kind.starts_with("video")));
    assert!(hops.is_sorted_by_key(|hop| (hop.link, hop.offered)));
}

#[test]
fn red_drops_early_and_marks() {
    assert!(fates(&check(&shipped("red.toml"))).contains("early"));
    let marking = r#"
        duration = "10s"
        [[link]]
        between = ["a", "b"]
        rate = "1Mbps"
        delay = "5ms"
        queue = { kind = "red", limit = "12packets", min_threshold = "2packets", max_threshold = "6packets", queue_weight = 0.1, ecn = true }
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = { kind = "tcp-sack", ecn = true }
        source = { kind = "ftp" }
    "#;
    let scenario = scenario(marking);
    let marks = check(&scenario).iter().filter(|hop| hop.mark).count() as u64;
    assert_eq!(marks, run(&scenario, ()).summary.links[0].marked_packets);
    assert!(marks > 10, "{marks}");
}

/// Losses before the queue and after the transmission, a policer, a full host, and drops of waiting packets.
#[test]
fn every_fate_is_recorded() {
    let text = |place: &str, drop: &str| {
        format!(
            r#"
        duration = "5s"
        [[node]]
        name = "b"
        host = {{ arrival = "300us", delivery = "9ms", queue = "3packets", ring = "2packets" }}
        [[link]]
        between = ["a", "b"]
        rate = "3Mbps"
        delay = "10ms"
        queue = {{ kind = "droptail", limit = "5packets", drop = "{drop}" }}
        loss = {{ kind = "bernoulli", probability = 0.1, place = "{place}" }}
        policer = {{ rate = "2Mbps", burst = "6kB" }}
        [[flow]]
        name = "small"
        from = "a"
        to = "b"
        transport = {{ kind = "udp" }}
        source = {{ kind = "cbr", rate = "1Mbps", size = "1000B", lifetime = "30ms" }}
        [[flow]]
        name = "bursts"
        from = "a"
        to = "b"
        transport = {{ kind = "udp", datagram = "700B" }}
        source = {{ kind = "cbr", rate = "1Mbps", payload = "9kB" }}
    "#
        )
    };
    for (place, drop) in [("before-queue", "tail"), ("after-transmission", "tail"), ("before-queue", "front")] {
        let scenario = scenario(&text(place, drop));
        let hops = check(&scenario);
        let found = fates(&hops);
        for fate in ["delivered", "queue_full", "channel", "host", "policer"] {
            assert!(found.contains(fate), "{place} {drop}: no {fate} in {found:?}");
        }
        let small: Vec<_> = hops.iter().filter(|hop| hop.flow == 0).collect();
        assert!(small.iter().all(|hop| hop.deadline == Some(30)) && hops.iter().any(|hop| hop.deadline.is_none()));
        let summary = run(&scenario, ()).summary;
        for cause in headway_units::DropCause::ALL {
            let lost: u64 = summary.flows.iter().map(|flow| flow.lost_packets.of(cause)).sum();
            let ours = hops.iter().filter(|hop| hop.fate == cause.name()).count() as u64;
            assert_eq!(ours, lost, "{place} {drop} {cause:?}");
        }
    }
}

/// DCCP sequence numbers are those of its trace.
#[test]
fn a_dccp_call_matches_the_ns2_trace() {
    check(&shipped("conference.toml"));
}

/// A stopped run gives a readable file whose last packets are in flight.
#[test]
fn a_stopped_run_is_readable() {
    let scenario = shipped("demo.toml");
    let mut simulation = Simulation::new(&scenario, PacketTrace::new(&scenario)).unwrap();
    assert!(!simulation.run(20_000).unwrap());
    let end = simulation.now().as_nanos() as i64;
    let mut record = simulation.finish();
    let hops = rows(&Table::read(&record.observer.take().unwrap()));
    assert!(hops.len() > 5000);
    assert!(hops.iter().all(|hop| hop.offered <= end && (hop.start <= end || hop.fate == "in_flight")));
    let whole = self::hops(&scenario);
    for link in 0..scenario.links.len() {
        let of_link = |hops: &[Hop]| hops.iter().filter(|hop| hop.link == link).cloned().collect::<Vec<_>>();
        let (cut, whole) = (of_link(&hops), of_link(&whole));
        let same = cut.iter().zip(&whole).filter(|(cut, whole)| cut.fate == "in_flight" || cut == whole).count();
        assert_eq!(same, cut.len(), "except for packets in flight, the rows are the first rows of the whole run");
    }
}

/// A transmission longer than 32 bits of nanoseconds, and a queue that delays rows for longer than batches wait: all
/// times are correct, and late rows are included.
#[test]
fn rows_of_slow_links_follow_those_of_fast_links() {
    let text = r#"
        duration = "60s"
        [[link]]
        between = ["a", "b"]
        rate = "1kbps"
        delay = "1ms"
        queue = { kind = "droptail", limit = "8packets" }
        [[link]]
        between = ["c", "d"]
        rate = "400Mbps"
        delay = "1ms"
        [[flow]]
        name = "slow"
        from = "a"
        to = "b"
        transport = { kind = "udp" }
        source = { kind = "cbr", rate = "4kbps", size = "1000B" }
        [[flow]]
        name = "fast"
        from = "c"
        to = "d"
        transport = { kind = "udp" }
        source = { kind = "cbr", rate = "300Mbps", size = "1500B" }
    "#;
    let scenario = scenario(text);
    let table = Table::read(&file(&scenario));
    let hops = rows(&table);
    let slow: Vec<_> = hops.iter().filter(|hop| hop.flow == 0).collect();
    assert!(slow.iter().any(|hop| hop.end - hop.start == 8_000_000_000), "{slow:?}");
    assert_eq!(hops.len() as u64, run(&scenario, PacketTrace::new(&scenario)).conservation.sent);
    let (mut lines, _) = run(&scenario, (Ns2Trace::new(&scenario), PacketTrace::new(&scenario))).observer;
    agree(&scenario, &String::from_utf8(lines.take()).unwrap(), &hops, 60_000_000_000);
    // Batches of the fast link do not wait for the slow one, whose rows follow.
    let late = table.batches.last().unwrap().column_by_name("flow").unwrap();
    assert!(table.batches.len() > 20 && late.len() < 10, "{} batches, {} late rows", table.batches.len(), late.len());
}

/// The index contains the position of each batch, which forms a stream with the preceding schema.
#[test]
fn the_index_locates_each_batch() {
    let mut scenario = shipped("demo.toml");
    scenario.duration = scenario.duration * 4;
    let mut trace = run(&scenario, PacketTrace::new(&scenario)).observer;
    let bytes = trace.take().unwrap();
    let text = trace.index().unwrap().to_json();
    assert_eq!(headway_record::PacketIndex::text_of(&bytes).as_ref(), Some(&text));
    let index: serde_json::Value = serde_json::from_str(&text).unwrap();
    let number = |value: &serde_json::Value| value.as_u64().unwrap() as usize;
    let part = |place: &serde_json::Value| {
        let from = number(&place["offset"]);
        &bytes[from..from + number(&place["length"])]
    };
    let whole = Table::read(&bytes);
    assert_eq!(whole.metadata_value("headway.packets"), "2");
    let batches = index["batches"].as_array().unwrap();
    assert!(batches.len() > 1 && batches.len() == whole.batches.len());
    for (place, batch) in batches.iter().zip(&whole.batches) {
        let stream = [part(&index["schema"]), part(place)].concat();
        let mut reader = arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(stream), None).unwrap();
        assert_eq!(reader.next().unwrap().unwrap().columns(), batch.columns());
        assert_eq!(number(&place["rows"]), batch.num_rows());
        let hops = rows(&Table { batches: vec![batch.clone()], metadata: whole.metadata.clone() });
        let base = hops.iter().map(|hop| hop.offered).min().unwrap();
        let until = hops.iter().map(|hop| hop.ended).max().unwrap();
        assert_eq!((number(&place["base_ns"]), number(&place["until_ns"])), (base as usize, until as usize));
    }
    assert_eq!(number(&index["rows"]), whole.all("bytes").len());
}
