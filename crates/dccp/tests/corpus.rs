//! Replays the corpora of the fuzz targets for DCCP: packets and options that once went wrong, and seeds for the fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../fuzz/check_connection.rs"]
mod check_connection;
#[path = "../../../fuzz/check_dccp.rs"]
mod check_dccp;

const LINUX: &str = include_str!("data/linux-6.1.txt");

fn replay(corpus: &str, check: impl Fn(&[u8])) {
    let mut count = 0;
    for line in corpus.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        println!("{line}");
        let digits: Vec<_> = line.chars().filter(|c| !c.is_whitespace()).collect();
        let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16).unwrap();
        check(&digits.chunks(2).map(byte).collect::<Vec<_>>());
        count += 1;
    }
    assert!(count > 2);
}

#[test]
fn packets() {
    replay(include_str!("../../../fuzz/corpus/dccp-packet.hex"), check_dccp::packet);
    let packets: String = LINUX.lines().filter(|line| !line.starts_with('#')).filter_map(hex_of_packet).collect();
    replay(&packets, check_dccp::packet);
}

/// "source destination hex", as opposed to the line that a packet is shown as.
fn hex_of_packet(line: &str) -> Option<String> {
    let hex = line.rsplit(' ').next()?;
    (hex.len() >= 24 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| format!("{hex}\n"))
}

#[test]
fn options() {
    replay(include_str!("../../../fuzz/corpus/dccp-options.hex"), check_dccp::options);
}

#[test]
fn datagrams() {
    replay(include_str!("../../../fuzz/corpus/dccp-udp.hex"), check_dccp::udp);
}

#[test]
fn arrivals() {
    replay(include_str!("../../../fuzz/corpus/ack-vector.hex"), check_dccp::ack_vector);
}

#[test]
fn connections() {
    replay(include_str!("../../../fuzz/corpus/connection.hex"), check_connection::check);
}
