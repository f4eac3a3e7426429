//! Attackers against a connection: what each wins, and what not. validation/attacks has the same at length.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_record::{AttackerSummary, FlowSummary};
use headway_sim::{Ns2Trace, PcapngTrace, Record};

/// A call over DCCP of 8 s, and an attacker at `at`: off the path it has links of its own to both ends.
fn run(connection: &str, at: &str, attacker: &str) -> Record {
    common::run(&scenario(connection, at, attacker), ())
}

fn scenario(connection: &str, at: &str, attacker: &str) -> headway_scenario::Scenario {
    let link = |between: &str, delay: &str| {
        format!("[[link]]\nbetween = [{between}]\nrate = \"10Mbps\"\ndelay = \"{delay}\"\n")
    };
    let links = [
        link(r#""client", "router""#, "5ms"),
        link(r#""router", "server""#, "20ms"),
        link(r#""mallory", "server""#, "10ms"),
        link(r#""mallory", "client""#, "10ms"),
    ];
    common::scenario(&format!(
        r#"duration = "10s"
{}
[[flow]]
name = "call"
from = "client"
to = "server"
start = "1s"
stop = "9s"
transport = {{ kind = "dccp", ccid = 3, connection = {{ {connection} }} }}
source = {{ kind = "cbr", interval = "20ms", payload = "160B" }}
[[attacker]]
name = "mallory"
at = "{at}"
target = "call"
{attacker}
"#,
        links.concat()
    ))
}

fn off(connection: &str, attacker: &str) -> Record {
    run(connection, "mallory", attacker)
}

fn on(attack: &str) -> Record {
    run("", "router", &format!("on_path = true\nstart = \"3s\"\nstop = \"8s\"\nattack = {attack}"))
}

fn call(record: &Record) -> &FlowSummary {
    &record.summary.flows[0]
}

fn attacker(record: &Record) -> &AttackerSummary {
    &record.summary.attackers[0]
}

/// The record without anything of the attacker's.
fn honest(record: &Record) -> String {
    let mut summary = record.summary.clone();
    summary.attackers.clear();
    summary.links.retain(|link| !link.name.contains("mallory"));
    (summary.packet_hops, summary.fingerprint) = (0, String::new());
    summary.to_json_pretty()
}

const NOBODY: &str = "start = \"99s\"\nattack = { kind = \"flood\" }";

fn blind(packet: &str, towards: &str, start: &str) -> String {
    format!(
        "start = \"{start}\"\nattack = {{ kind = \"forge\", packet = \"{packet}\", towards = \"{towards}\", interval = \"1ms\" }}"
    )
}

const PACKETS: [&str; 10] =
    ["request", "response", "data", "ack", "data-ack", "close-req", "close", "reset", "sync", "sync-ack"];

/// RFC 4340 section 7.5.5: off the path nothing is moved. But for the Syncs that answer, the record is the same to the last digit.
#[test]
fn off_the_path_nothing_moves() {
    for (connection, same) in [("syncs_per_second = 0", true), ("", false)] {
        let base = off(connection, NOBODY);
        for packet in PACKETS {
            for towards in ["to-server", "to-client"] {
                let record = off(connection, &blind(packet, towards, "2s"));
                let name = format!("{packet} {towards}");
                assert_eq!((attacker(&record).sent_packets, attacker(&record).accepted_packets), (8000, 0), "{name}");
                assert_eq!(call(&record).goodput_bps, call(&base).goodput_bps, "{name}");
                assert_eq!(call(&record).connection_failure, None, "{name}");
                // Section 7.5.4: at most eight a second, and one second begins before the other ends.
                assert!(attacker(&record).answer_packets <= 8 * 9, "{name}: {:?}", attacker(&record));
                assert!(!same || honest(&record) == honest(&base), "{name}");
            }
        }
    }
}

/// An attacker on the path that only looks leaves even the order of events as it is.
#[test]
fn a_look_changes_nothing() {
    let nothing = "on_path = true\nattack = { kind = \"drop\", share = 0 }";
    let (looked, base) = (run("", "router", nothing), off("", NOBODY));
    assert!(attacker(&looked).seen_packets > 400);
    assert_eq!(looked.summary.fingerprint, base.summary.fingerprint);
    assert_eq!(honest(&looked), honest(&base));
}

/// Whatever comes while the client connects, it connects. A Request in its name that is there first does not keep it out.
#[test]
fn a_handshake_under_attack() {
    let base = off("", NOBODY);
    for cookies in ["when-busy", "always"] {
        for (packet, towards) in
            [("request", "to-server"), ("data", "to-server"), ("response", "to-client"), ("sync", "to-client")]
        {
            let record = off(&format!("init_cookies = \"{cookies}\""), &blind(packet, towards, "0.5s"));
            assert_eq!(call(&record).connection_failure, None, "{packet} {towards} {cookies}");
            assert!(call(&record).goodput_bps > 0.99 * call(&base).goodput_bps, "{packet} {towards} {cookies}");
        }
    }
    // Without cookies it does: the bar can be missed.
    let record = off("init_cookies = \"never\"", &blind("request", "to-server", "0.5s"));
    assert!(call(&record).connection_failure.is_some());
}

/// RFC 4340 section 8.1.4: a listener under Requests from addresses that nobody has keeps no more than its backlog, or nothing,
/// serves the client that comes in the middle of it, and says to nobody more than three times what was said to it.
#[test]
fn a_flood_of_requests() {
    let base = off("", NOBODY);
    for padding in ["0B", "60B"] {
        let flood = format!("attack = {{ kind = \"flood\", interval = \"200us\", padding = \"{padding}\" }}");
        for (cookies, kept) in [("when-busy", 128), ("always", 0)] {
            let record = off(&format!("init_cookies = \"{cookies}\""), &flood);
            assert_eq!(attacker(&record).most_connections, kept);
            assert_eq!(call(&record).connection_failure, None);
            assert!(call(&record).goodput_bps > 0.99 * call(&base).goodput_bps);
            assert!(attacker(&record).answer_bytes <= 3 * attacker(&record).sent_bytes);
        }
        let record = off("init_cookies = \"never\"", &flood);
        assert!(call(&record).connection_failure.is_some());
    }
}

/// On the path: what numbers, checksums and the order of options hold.
#[test]
fn on_the_path_what_holds() {
    let base = off("", NOBODY);
    for (attack, least) in [
        (r#"{ kind = "replay", after = "0.5s" }"#, 0.999),
        (r#"{ kind = "replay", after = "0s", copies = 10 }"#, 0.999),
        (r#"{ kind = "truncate" }"#, 0.8),
        (r#"{ kind = "tamper", change = "bit" }"#, 0.8),
    ] {
        let record = on(attack);
        assert!(attacker(&record).arrived_packets > 20, "{attack}");
        assert_eq!(attacker(&record).accepted_packets, 0, "{attack}");
        assert_eq!(call(&record).connection_failure, None, "{attack}");
        assert!(call(&record).goodput_bps > least * call(&base).goodput_bps, "{attack}");
    }
    let record = on(r#"{ kind = "reorder" }"#);
    assert!(attacker(&record).delayed_packets > 20);
    assert!(call(&record).goodput_bps > 0.99 * call(&base).goodput_bps);
}

/// On the path: what only encryption holds (section 18). These attacks succeed.
#[test]
fn on_the_path_what_does_not_hold() {
    let base = off("", NOBODY);
    for (attack, why) in [
        (
            r#"{ kind = "forge", packet = "reset", unknown_bits = 0 }"#,
            Some("the peer reset the connection: No Connection"),
        ),
        (r#"{ kind = "forge", packet = "close", unknown_bits = 0 }"#, Some("the peer closed the connection")),
        (
            r#"{ kind = "tamper", change = "mandatory", towards = "to-client" }"#,
            Some("this endpoint reset the connection: Mandatory Error"),
        ),
        (r#"{ kind = "tamper", change = "not-listening", towards = "to-client" }"#, None),
        (r#"{ kind = "drop" }"#, None),
    ] {
        let record = on(attack);
        assert!(call(&record).goodput_bps < 0.5 * call(&base).goodput_bps, "{attack}");
        let failure = call(&record).connection_failure.as_deref();
        assert_eq!(failure, why, "{attack}");
    }
    for attack in
        [r#"{ kind = "forge", packet = "data", unknown_bits = 0 }"#, r#"{ kind = "truncate", fix_checksum = true }"#]
    {
        assert!(attacker(&on(attack)).delivered_packets > 0, "{attack}");
    }
}

/// What goes into the router and does not come out of it was taken, and the attacker counts it.
#[test]
fn what_is_taken_is_counted() {
    let record = on(r#"{ kind = "drop", share = 0.5 }"#);
    let came = |names: [&str; 2]| -> u64 {
        let links = record.summary.links.iter().filter(|link| names.contains(&&*link.name));
        links.map(|link| link.arrived_packets - link.dropped_packets.total()).sum()
    };
    let taken = came(["client->router", "server->router"]) - came(["router->client", "router->server"]);
    assert!(taken > 10);
    assert_eq!(attacker(&record).taken_packets, taken);
}

/// ns-2's trace has -1 where a packet has no number that ns-2 knows (trace.cc, `Trace::format`): what a stranger makes up.
#[test]
fn a_forged_packet_has_no_number_in_a_trace() {
    let scenario = scenario("", "mallory", &blind("data", "to-server", "2s"));
    let trace = common::run(&scenario, Ns2Trace::new(&scenario)).observer.take();
    let trace = String::from_utf8(trace).unwrap();
    // The links in the order of the scenario: mallory is the fourth node.
    let forged = trace.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|columns| columns[2] == "3");
    let numbers: Vec<_> = forged.map(|columns| columns[10]).collect();
    assert!(numbers.len() > 8000 && numbers.iter().all(|number| *number == "-1"));
}

/// Every packet is accounted for, whoever holds it, and a capture has the attacker's too.
#[test]
fn nothing_is_lost_in_the_books() {
    let scenario =
        scenario("", "router", "on_path = true\nattack = { kind = \"reorder\", share = 0.5, delay = \"3s\" }");
    let mut record = common::run(&scenario, PcapngTrace::new(&scenario));
    let counted = record.conservation;
    assert!(record.summary.attackers[0].delayed_packets > 0 && counted.in_flight > 0);
    assert_eq!(counted.sent, counted.delivered + counted.dropped + counted.in_flight);
    assert!(record.observer.take().len() > 10_000);
}
