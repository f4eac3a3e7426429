//! Attackers on a connection: which attacks succeed and which fail. `validation/attacks` has longer runs.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_record::{AttackerSummary, FlowSummary};
use headway_sim::{Ns2Trace, PcapngTrace, Record};

/// Runs a DCCP call of 8 s with an attacker at `at`. An off-path attacker has separate links to both endpoints.
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

fn off_path(connection: &str, attacker: &str) -> Record {
    run(connection, "mallory", attacker)
}

fn on_path(attack: &str) -> Record {
    run("", "router", &format!("on_path = true\nstart = \"3s\"\nstop = \"8s\"\nattack = {attack}"))
}

fn call(record: &Record) -> &FlowSummary {
    &record.summary.flows[0]
}

fn attacker(record: &Record) -> &AttackerSummary {
    &record.summary.attackers[0]
}

/// Returns the record without the attacker.
fn honest(record: &Record) -> String {
    let mut summary = record.summary.clone();
    summary.attackers.clear();
    summary.links.retain(|link| !link.name.contains("mallory"));
    (summary.packet_hops, summary.fingerprint) = (0, String::new());
    summary.to_json_pretty()
}

const IDLE: &str = "start = \"99s\"\nattack = { kind = \"flood\" }";

fn blind(packet: &str, towards: &str, start: &str) -> String {
    format!(
        "start = \"{start}\"\nattack = {{ kind = \"forge\", packet = \"{packet}\", towards = \"{towards}\", interval = \"1ms\" }}"
    )
}

const PACKETS: [&str; 10] =
    ["request", "response", "data", "ack", "data-ack", "close-req", "close", "reset", "sync", "sync-ack"];

/// RFC 4340 section 7.5.5: off-path attacks have no effect. Apart from Syncs in reply, the record is identical.
#[test]
fn off_path_attacks_have_no_effect() {
    for (connection, same) in [("syncs_per_second = 0", true), ("", false)] {
        let base = off_path(connection, IDLE);
        for packet in PACKETS {
            for towards in ["to-server", "to-client"] {
                let record = off_path(connection, &blind(packet, towards, "2s"));
                let name = format!("{packet} {towards}");
                assert_eq!((attacker(&record).sent_packets, attacker(&record).accepted_packets), (8000, 0), "{name}");
                assert_eq!(call(&record).goodput_bps, call(&base).goodput_bps, "{name}");
                assert_eq!(call(&record).connection_failure, None, "{name}");
                // Section 7.5.4: at most eight per second; the limiter's seconds may overlap the interval at both
                // ends.
                assert!(attacker(&record).answer_packets <= 8 * 9, "{name}: {:?}", attacker(&record));
                assert!(!same || honest(&record) == honest(&base), "{name}");
            }
        }
    }
}

/// An on-path attacker that only observes does not change the order of events.
#[test]
fn observing_changes_nothing() {
    let nothing = "on_path = true\nattack = { kind = \"drop\", share = 0 }";
    let (looked, base) = (run("", "router", nothing), off_path("", IDLE));
    assert!(attacker(&looked).seen_packets > 400);
    assert_eq!(looked.summary.fingerprint, base.summary.fingerprint);
    assert_eq!(honest(&looked), honest(&base));
}

/// The client connects under attack. An earlier Request with its address does not prevent this.
#[test]
fn a_handshake_succeeds_under_attack() {
    let base = off_path("", IDLE);
    for cookies in ["when-busy", "always"] {
        for (packet, towards) in
            [("request", "to-server"), ("data", "to-server"), ("response", "to-client"), ("sync", "to-client")]
        {
            let record = off_path(&format!("init_cookies = \"{cookies}\""), &blind(packet, towards, "0.5s"));
            assert_eq!(call(&record).connection_failure, None, "{packet} {towards} {cookies}");
            assert!(call(&record).goodput_bps > 0.99 * call(&base).goodput_bps, "{packet} {towards} {cookies}");
        }
    }
    // Without cookies the attack succeeds, so the test can fail.
    let record = off_path("init_cookies = \"never\"", &blind("request", "to-server", "0.5s"));
    assert!(call(&record).connection_failure.is_some());
}

/// RFC 4340 section 8.1.4: under Requests from spoofed addresses, a listener keeps at most its backlog, or nothing.
/// It accepts a client during the flood, and sends at most three times as many bytes as it receives.
#[test]
fn a_flood_of_requests_does_not_block_a_listener() {
    let base = off_path("", IDLE);
    for padding in ["0B", "60B"] {
        let flood = format!("attack = {{ kind = \"flood\", interval = \"200us\", padding = \"{padding}\" }}");
        for (cookies, kept) in [("when-busy", 128), ("always", 0)] {
            let record = off_path(&format!("init_cookies = \"{cookies}\""), &flood);
            assert_eq!(attacker(&record).peak_connections, kept);
            assert_eq!(call(&record).connection_failure, None);
            assert!(call(&record).goodput_bps > 0.99 * call(&base).goodput_bps);
            assert!(attacker(&record).answer_bytes <= 3 * attacker(&record).sent_bytes);
        }
        let record = off_path("init_cookies = \"never\"", &flood);
        assert!(call(&record).connection_failure.is_some());
    }
}

/// On-path attacks that sequence numbers, checksums and the order of options prevent.
#[test]
fn on_path_attacks_without_valid_numbers_fail() {
    let base = off_path("", IDLE);
    for (attack, least) in [
        (r#"{ kind = "replay", after = "0.5s" }"#, 0.999),
        (r#"{ kind = "replay", after = "0s", copies = 10 }"#, 0.999),
        (r#"{ kind = "truncate" }"#, 0.8),
        (r#"{ kind = "tamper", change = "bit" }"#, 0.8),
    ] {
        let record = on_path(attack);
        assert!(attacker(&record).arrived_packets > 20, "{attack}");
        assert_eq!(attacker(&record).accepted_packets, 0, "{attack}");
        assert_eq!(call(&record).connection_failure, None, "{attack}");
        assert!(call(&record).goodput_bps > least * call(&base).goodput_bps, "{attack}");
    }
    let record = on_path(r#"{ kind = "reorder" }"#);
    assert!(attacker(&record).delayed_packets > 20);
    assert!(call(&record).goodput_bps > 0.99 * call(&base).goodput_bps);
}

/// On-path attacks that only encryption prevents (section 18). These attacks succeed.
#[test]
fn on_path_attacks_with_valid_numbers_succeed() {
    let base = off_path("", IDLE);
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
        let record = on_path(attack);
        assert!(call(&record).goodput_bps < 0.5 * call(&base).goodput_bps, "{attack}");
        let failure = call(&record).connection_failure.as_deref();
        assert_eq!(failure, why, "{attack}");
    }
    for attack in
        [r#"{ kind = "forge", packet = "data", unknown_bits = 0 }"#, r#"{ kind = "truncate", fix_checksum = true }"#]
    {
        assert!(attacker(&on_path(attack)).delivered_packets > 0, "{attack}");
    }
}

/// Packets that enter the router and do not leave it were dropped and counted by the attacker.
#[test]
fn dropped_packets_are_counted() {
    let record = on_path(r#"{ kind = "drop", share = 0.5 }"#);
    let forwarded = |names: [&str; 2]| -> u64 {
        let links = record.summary.links.iter().filter(|link| names.contains(&&*link.name));
        links.map(|link| link.arrived_packets - link.dropped_packets.total()).sum()
    };
    let taken = forwarded(["client->router", "server->router"]) - forwarded(["router->client", "router->server"]);
    assert!(taken > 10);
    assert_eq!(attacker(&record).dropped_packets, taken);
}

/// The trace of ns-2 has -1 for packets without a number (trace.cc, `Trace::format`), such as forged packets.
#[test]
fn a_forged_packet_has_no_number_in_a_trace() {
    let scenario = scenario("", "mallory", &blind("data", "to-server", "2s"));
    let trace = common::run(&scenario, Ns2Trace::new(&scenario)).observer.take();
    let trace = String::from_utf8(trace).unwrap();
    // Nodes are numbered in the order of the links: mallory is the fourth.
    let forged = trace.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|columns| columns[2] == "3");
    let numbers: Vec<_> = forged.map(|columns| columns[10]).collect();
    assert!(numbers.len() > 8000 && numbers.iter().all(|number| *number == "-1"));
}

/// Every packet is accounted for, and a capture includes the attacker's.
#[test]
fn delayed_packets_are_accounted_for() {
    let scenario =
        scenario("", "router", "on_path = true\nattack = { kind = \"reorder\", share = 0.5, delay = \"3s\" }");
    let mut record = common::run(&scenario, PcapngTrace::new(&scenario));
    let counted = record.conservation;
    assert!(record.summary.attackers[0].delayed_packets > 0 && counted.in_flight > 0);
    assert_eq!(counted.sent, counted.delivered + counted.dropped + counted.in_flight);
    assert!(record.observer.take().len() > 10_000);
}
