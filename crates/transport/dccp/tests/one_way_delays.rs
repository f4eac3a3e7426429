//! Dialogues with an endpoint that measures one-way delays, and with one whose peer does.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue::Dialogue;
use crate::pipe::options;
use headway_dccp::ConnectionOptions;
use headway_units::Duration;

/// Encode the options Timestamp and Timestamp Echo with Elapsed Time, in units of 10 us.
fn timestamp(value: u32) -> Vec<u8> {
    [&[41, 6][..], &value.to_be_bytes()].concat()
}
fn echo(value: u32, elapsed: u16) -> Vec<u8> {
    [&[42, 8][..], &value.to_be_bytes(), &elapsed.to_be_bytes()].concat()
}

/// RFC 4340 sections 13.1 and 13.3: a Timestamp on an acknowledgement, whose Echo completes a round
/// trip of 84 ms with a hold time of 24 ms. The sender's clock has any epoch. The path is assumed
/// to be symmetric, with an error of half of the round trip.
#[test]
fn rfc4340_13_3_an_echo_on_data_bounds_the_one_way_delay() {
    let mut client = Dialogue::open_client(&ConnectionOptions { one_way_delays: true, ..options() });
    client.send(21, "Data 1002", &timestamp(70_000), b"x");
    assert_eq!(client.connection().one_way_delay(), None, "no round trip so far");
    // The clock of the test starts at 100 s.
    client.recv(21, "Ack 2 (1002) | Timestamp(10002100) TimestampEcho(70000)");
    client.send(105, "Data 1003", &[timestamp(78_400), echo(10_002_100, 2400)].concat(), b"x");
    let found = client.connection().one_way_delay().unwrap();
    assert_eq!(found.estimate, Duration::from_millis(30));
    let (least, most) = (Duration::from_millis(30), Duration::from_millis(31));
    assert!(least <= found.error && found.error < most, "{found:?}");
    // 7 ms later than its Timestamp predicts.
    client.send(132, "Data 1004", &timestamp(80_400), b"x");
    assert_eq!(client.connection().one_way_delay().unwrap().estimate, Duration::from_millis(37));
    client.send(140, "Data 1005", &[], b"x");
    assert_eq!(client.connection().one_way_delay(), None, "no Timestamp");
    // The next Timestamp is sent at least 250 ms after the first.
    client.silence(270);
    client.send(280, "Data 1006", &timestamp(95_900), b"x");
    client.recv(280, "Ack 3 (1006) | Timestamp(10028000) TimestampEcho(95900)");
}

/// RFC 4340 section 13.1: data carries Timestamps only after the peer has put one on an
/// acknowledgement. A Timestamp on data requests nothing.
#[test]
fn rfc4340_13_1_data_is_stamped_for_a_peer_that_measures() {
    let mut client = Dialogue::open_client(&options());
    client.send(21, "Data 1002", &timestamp(1), b"x");
    client.push(30, b"x");
    client.recv(30, "Data 2 Len=1 | TimestampEcho(1, elapsed 900)");
    client.send(40, "Ack 1003 (2)", &timestamp(99), b"");
    client.push(50, b"x");
    client.recv(50, "Data 3 Len=1 | Timestamp(10005000) TimestampEcho(99, elapsed 1000)");
    client.push(60, b"x");
    client.recv(60, "Data 4 Len=1 | Timestamp(10006000)");
}
