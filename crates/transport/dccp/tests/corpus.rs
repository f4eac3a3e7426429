//! Replays the corpora of the DCCP fuzz targets: earlier failures, and seeds.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../../fuzz/check_ccid_options.rs"]
mod check_ccid_options;
#[path = "../../../../fuzz/check_connection.rs"]
mod check_connection;
#[path = "../../../../fuzz/check_dccp.rs"]
mod check_dccp;
#[path = "../../../../fuzz/check_endpoint.rs"]
mod check_endpoint;
#[path = "../../../../fuzz/check_established.rs"]
mod check_established;
#[path = "../../../../fuzz/check_listener.rs"]
mod check_listener;
#[path = "../../../../fuzz/check_negotiation.rs"]
mod check_negotiation;
#[path = "../../../../fuzz/choices.rs"]
mod choices;
#[path = "../../../../fuzz/datagrams.rs"]
mod datagrams;
#[path = "../../../../fuzz/replay.rs"]
mod reader;

use reader::replay;

const LINUX: &str = include_str!("data/linux-6.1.txt");

#[test]
fn packets() {
    replay(include_str!("../../../../fuzz/corpus/dccp-packet.hex"), 3, check_dccp::packet);
    let packets: String = LINUX.lines().filter(|line| !line.starts_with('#')).filter_map(hex_of_packet).collect();
    replay(&packets, 3, check_dccp::packet);
}

/// Returns the bytes of a line "source destination hex"; `None` for the formatted packet.
fn hex_of_packet(line: &str) -> Option<String> {
    let hex = line.rsplit(' ').next()?;
    (hex.len() >= 24 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| format!("{hex}\n"))
}

#[test]
fn options() {
    replay(include_str!("../../../../fuzz/corpus/dccp-options.hex"), 3, check_dccp::options);
}

#[test]
fn datagrams() {
    replay(include_str!("../../../../fuzz/corpus/dccp-udp.hex"), 3, check_dccp::udp);
}

#[test]
fn arrivals() {
    replay(include_str!("../../../../fuzz/corpus/ack-vector.hex"), 3, check_dccp::ack_vector);
}

#[test]
fn connections() {
    replay(include_str!("../../../../fuzz/corpus/connection.hex"), 3, check_connection::check);
}

#[test]
fn open_connections() {
    replay(include_str!("../../../../fuzz/corpus/established.hex"), 5, check_established::check);
}

#[test]
fn endpoints() {
    replay(include_str!("../../../../fuzz/corpus/endpoint.hex"), 5, check_endpoint::check);
}

#[test]
fn listeners() {
    replay(include_str!("../../../../fuzz/corpus/listener.hex"), 5, check_listener::check);
}

#[test]
fn negotiations() {
    replay(include_str!("../../../../fuzz/corpus/negotiation.hex"), 5, check_negotiation::check);
}

#[test]
fn options_of_ccid_2() {
    replay(include_str!("../../../../fuzz/corpus/ccid2-options.hex"), 5, check_ccid_options::ccid2);
}

#[test]
fn options_of_ccid_3() {
    replay(include_str!("../../../../fuzz/corpus/ccid3-options.hex"), 5, check_ccid_options::ccid3);
}

#[test]
fn options_of_ccid_4() {
    replay(include_str!("../../../../fuzz/corpus/ccid4-options.hex"), 5, check_ccid_options::ccid4);
}
