//! `events.arrow`: adverse events of a run and their times.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::columns::Table;
use common::{run, scenario, shipped};
use headway_record::{MAX_EVENTS_PER_KIND, Summary};
use headway_scenario::Scenario;
use headway_sim::{EventTrace, Simulation};
use headway_units::{DropCause, MediaKind};

struct Event {
    time_ns: i64,
    event: String,
    entity: String,
    flow: Option<String>,
    kind: Option<String>,
    cause: Option<String>,
    sequence: Option<i64>,
    bytes: Option<i64>,
    late_ns: Option<i64>,
}

fn events(bytes: &[u8]) -> Vec<Event> {
    let table = Table::read(bytes);
    let (time_ns, sequence) = (table.all("time_ns"), table.numbers("sequence"));
    let (bytes, late_ns) = (table.numbers("bytes"), table.numbers("late_ns"));
    let [event, entity, flow, kind, cause] = ["event", "entity", "flow", "kind", "cause"].map(|name| table.names(name));
    let row = |row: usize| Event {
        time_ns: time_ns[row],
        event: event[row].clone().unwrap(),
        entity: entity[row].clone().unwrap(),
        flow: flow[row].clone(),
        kind: kind[row].clone(),
        cause: cause[row].clone(),
        sequence: sequence[row],
        bytes: bytes[row],
        late_ns: late_ns[row],
    };
    (0..time_ns.len()).map(row).collect()
}

fn traced(scenario: &Scenario) -> (Vec<u8>, Summary) {
    let record = run(scenario, EventTrace::new(scenario));
    (record.observer.finish().unwrap(), record.summary)
}

/// Asserts that the events of a run measured from its start match the counts of its summary.
fn check(scenario: &Scenario) -> (Vec<Event>, Summary) {
    let (bytes, summary) = traced(scenario);
    assert_eq!(traced(scenario).0, bytes, "the same seed gives the same bytes");
    assert_eq!(run(scenario, ()).summary, summary, "an observer changes nothing");
    assert_eq!(summary.interval.from, 0.0);
    let events = events(&bytes);
    assert!(events.is_sorted_by_key(|event| event.time_ns));
    let count = |wanted: &dyn Fn(&Event) -> bool| events.iter().filter(|event| wanted(event)).count() as u64;
    let is = |event: &Event, what: &str, cause: &str| event.event == what && event.cause.as_deref() == Some(cause);
    for link in &summary.links {
        for cause in DropCause::ALL {
            let of_link = count(&|event| is(event, "drop", cause.name()) && event.entity == link.name);
            assert_eq!(of_link, link.dropped_packets.of(cause), "{} {cause:?}", link.name);
        }
    }
    for flow in &summary.flows {
        let of_flow = |event: &Event| event.flow.as_ref() == Some(&flow.name);
        for cause in DropCause::ALL {
            let forward = |event: &Event| event.kind.as_deref() != Some("feedback") && of_flow(event);
            let lost = count(&|event| is(event, "drop", cause.name()) && forward(event));
            assert_eq!(lost, flow.lost_packets.of(cause), "{} {cause:?}", flow.name);
        }
        if let Some(timeouts) = flow.timeouts {
            let reported = count(&|event| event.event == "timeout" && event.entity == flow.name && of_flow(event));
            assert_eq!(reported, timeouts, "{}", flow.name);
        }
        for (kind, queue) in &flow.send_queue {
            let of_kind = |event: &Event| of_flow(event) && event.kind.as_deref() == Some(kind.name());
            let causes = [
                ("refused", queue.refused_packets),
                ("pushed_out", queue.pushed_out_packets),
                ("expired", queue.expired_packets),
            ];
            for (cause, packets) in causes {
                assert_eq!(count(&|event| is(event, "unsent", cause) && of_kind(event)), packets, "{kind} {cause}");
            }
            let late = |event: &Event| event.event == "unsent" && of_kind(event) && event.late_ns != Some(0);
            assert_eq!(count(&late), queue.late_packets, "{kind}");
        }
    }
    (events, summary)
}

fn has(events: &[Event], what: &str, cause: Option<&str>) -> bool {
    events.iter().any(|event| event.event == what && (cause.is_none() || event.cause.as_deref() == cause))
}

/// A TCP that fills its queue and a UDP call: drops, fast retransmits, timeouts.
#[test]
fn tcp_events_at_a_full_queue() {
    let (events, _) = check(&shipped("demo.toml"));
    assert!(has(&events, "drop", Some("queue_full")) && has(&events, "fast-retransmit", None));
    let text = r#"
        duration = "60s"
        [[link]]
        between = ["a", "b"]
        rate = "500kbps"
        delay = "20ms"
        queue = { kind = "droptail", limit = "4packets" }
        loss = { kind = "bernoulli", probability = 0.05 }
        [[flow]]
        name = "tcp"
        count = 2
        from = "a"
        to = "b"
        transport = { kind = "tcp-reno" }
        source = { kind = "ftp" }
        [[flow]]
        name = "many"
        from = "a"
        to = "b"
        transport = { kind = "tcp-newreno" }
        source = { kind = "sessions", arrivals = { poisson = "500ms" }, sizes = { pareto = { mean = "10kB", shape = 1.5 } } }
    "#;
    let (events, _) = check(&scenario(text));
    assert!(has(&events, "timeout", None) && has(&events, "drop", Some("channel")));
    // Retransmissions are reported with their number.
    let resent = events.iter().filter(|event| event.event == "fast-retransmit");
    assert!(resent.clone().count() > 10 && resent.clone().all(|event| event.sequence.is_some()));
}

/// RED, random losses, and a rate controller whose sender is notified of loss events.
#[test]
fn red_and_rate_controller_events() {
    let (events, _) = check(&shipped("red.toml"));
    assert!(has(&events, "drop", Some("early")));
    let text = |transport: &str| {
        format!(
            r#"
        duration = "60s"
        [[link]]
        between = ["a", "b"]
        rate = "1Mbps"
        delay = "20ms"
        loss = {{ kind = "bernoulli", probability = 0.01 }}
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = {{ {transport} }}
        source = {{ kind = "ftp" }}
    "#
        )
    };
    for transport in [
        "kind = \"tfrc\"",
        "kind = \"dccp\", ccid = 3",
        "kind = \"dccp\", ccid = 2",
        "kind = \"tcp-like\"",
        "kind = \"udpm\"",
    ] {
        let (events, summary) = check(&scenario(&text(transport)));
        let reported = events.iter().filter(|event| event.event == "loss-event" && event.entity == "f").count() as u64;
        let lost = summary.flows[0].lost_packets.total();
        assert!(reported > 5 && reported <= lost, "{transport}: {reported} loss events of {lost} losses");
    }
}

/// A DCCP call with a send queue that shares a link with a TCP: discarded packets, their lateness, and late packets.
#[test]
fn send_queue_events_of_a_call() {
    for (queue, cause) in [("sfdps1", "expired"), ("ring", "pushed_out"), ("fifo", "refused")] {
        let text = format!(
            r#"
        duration = "40s"
        [[link]]
        between = ["a", "b"]
        rate = "400kbps"
        delay = "40ms"
        queue = {{ kind = "droptail", limit = "30packets" }}
        [[flow]]
        name = "call"
        from = "a"
        to = "b"
        stop = "30s"
        transport = {{ kind = "dccp", ccid = 3 }}
        send_queue = {{ kind = "{queue}", limit = "5packets" }}
        source = {{ kind = "conference", random_start = true }}
        [[flow]]
        name = "tcp"
        from = "a"
        to = "b"
        transport = {{ kind = "tcp-reno", segment = "571B" }}
        source = {{ kind = "ftp" }}
    "#
        );
        let (events, summary) = check(&scenario(&text));
        assert!(has(&events, "unsent", Some(cause)), "{queue}");
        let late: Vec<_> = events.iter().filter(|event| event.event == "late").collect();
        assert!(late.iter().all(|event| event.late_ns > Some(0) && event.bytes > Some(20)));
        let call = &summary.flows[0];
        for kind in [MediaKind::Audio, MediaKind::VideoI, MediaKind::VideoP, MediaKind::Video] {
            let Some(queue) = call.send_queue.get(&kind) else { continue };
            let counted = call.late_ratio.get(&kind).map_or(0.0, |ratio| ratio * queue.written_packets as f64);
            let reported = late.iter().filter(|event| event.kind.as_deref() == Some(kind.name())).count();
            assert!((reported as f64 - counted).abs() < 1e-6, "{kind}: {reported} of {counted}");
        }
    }
}

/// Drops by a host or an attacker are reported with their node.
#[test]
fn drops_at_nodes_are_reported() {
    let text = r#"
        duration = "5s"
        [[node]]
        name = "b"
        host = { arrival = "300us", delivery = "9ms", queue = "3packets", ring = "2packets" }
        [[link]]
        between = ["a", "b"]
        rate = "3Mbps"
        delay = "10ms"
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = { kind = "udp" }
        source = { kind = "cbr", rate = "2Mbps", size = "1000B" }
    "#;
    let (events, summary) = check(&scenario(text));
    let at_host = events.iter().filter(|event| event.entity == "b" && event.cause.as_deref() == Some("host")).count();
    assert_eq!(at_host as u64, summary.flows[0].lost_packets.of(DropCause::Host));
    assert!(at_host > 100);
}

/// The number of events of each kind is limited; the file contains the number of omitted events.
#[test]
fn events_of_a_flood_are_limited() {
    let text = r#"
        duration = "30s"
        record.series = false
        [[link]]
        between = ["a", "b"]
        rate = "1Mbps"
        delay = "1ms"
        queue = { kind = "droptail", limit = "3packets" }
        [[flow]]
        name = "flood"
        from = "a"
        to = "b"
        transport = { kind = "udp" }
        source = { kind = "cbr", rate = "10Mbps", size = "100B" }
    "#;
    let (bytes, summary) = traced(&scenario(text));
    let dropped = summary.flows[0].lost_packets.total();
    assert!(dropped > MAX_EVENTS_PER_KIND, "{dropped}");
    let table = Table::read(&bytes);
    assert_eq!(table.metadata_value("rows").parse::<u64>().unwrap(), MAX_EVENTS_PER_KIND);
    assert_eq!(table.metadata_value("left_out"), format!("{{\"drop\":{}}}", dropped - MAX_EVENTS_PER_KIND));
    assert_eq!(table.all("time_ns").len() as u64, MAX_EVENTS_PER_KIND);
    assert!(bytes.len() as u64 / MAX_EVENTS_PER_KIND < 16, "{} bytes", bytes.len());
}

/// A run without adverse events gives a file without rows. A stopped run gives a readable file.
#[test]
fn empty_and_stopped_runs_are_readable() {
    let text = r#"
        duration = "1s"
        [[link]]
        between = ["a", "b"]
        rate = "1Mbps"
        delay = "1ms"
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = { kind = "udp" }
        source = { kind = "cbr", rate = "100kbps", size = "100B" }
    "#;
    let (bytes, _) = traced(&scenario(text));
    let table = Table::read(&bytes);
    assert_eq!((table.metadata_value("rows"), table.metadata_value("left_out"), table.batches.len()), ("0", "{}", 0));
    let scenario = shipped("demo.toml");
    let mut simulation = Simulation::new(&scenario, EventTrace::new(&scenario)).unwrap();
    assert!(!simulation.run(20_000).unwrap());
    let cut = events(&simulation.finish().observer.finish().unwrap());
    let whole = events(&traced(&scenario).0);
    assert!(!cut.is_empty() && cut.len() < whole.len());
    assert!(cut.iter().zip(&whole).all(|(cut, whole)| (cut.time_ns, &cut.event) == (whole.time_ns, &whole.event)));
}
