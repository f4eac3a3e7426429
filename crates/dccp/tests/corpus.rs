//! Replays the corpora of the fuzz targets for DCCP: packets and options that once went wrong, and seeds for the fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../fuzz/check_connection.rs"]
mod check_connection;
#[path = "../../../fuzz/check_dccp.rs"]
mod check_dccp;
#[path = "../../../fuzz/replay.rs"]
mod reader;

use reader::replay;

const LINUX: &str = include_str!("data/linux-6.1.txt");

#[test]
fn packets() {
    replay(include_str!("../../../fuzz/corpus/dccp-packet.hex"), 3, check_dccp::packet);
    let packets: String = LINUX.lines().filter(|line| !line.starts_with('#')).filter_map(hex_of_packet).collect();
    replay(&packets, 3, check_dccp::packet);
}

/// "source destination hex", as opposed to the line that a packet is shown as.
fn hex_of_packet(line: &str) -> Option<String> {
    let hex = line.rsplit(' ').next()?;
    (hex.len() >= 24 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| format!("{hex}\n"))
}

#[test]
fn options() {
    replay(include_str!("../../../fuzz/corpus/dccp-options.hex"), 3, check_dccp::options);
}

#[test]
fn datagrams() {
    replay(include_str!("../../../fuzz/corpus/dccp-udp.hex"), 3, check_dccp::udp);
}

#[test]
fn arrivals() {
    replay(include_str!("../../../fuzz/corpus/ack-vector.hex"), 3, check_dccp::ack_vector);
}

#[test]
fn connections() {
    replay(include_str!("../../../fuzz/corpus/connection.hex"), 3, check_connection::check);
}
