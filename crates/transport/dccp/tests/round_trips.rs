//! Acknowledgements that measure a round trip (RFC 4340 section 13.2), in dialogues with one
//! endpoint. Times are in milliseconds.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue;
use crate::pipe;

use dialogue::Dialogue;
use headway_units::Duration;
use pipe::options;

/// Returns a client with a handshake of 10 ms that sent a datagram as packet 2 at 100 ms.
fn sent_at_100() -> Dialogue {
    let mut client = Dialogue::open_client(&options());
    assert_eq!(rtt(&mut client), Duration::from_millis(10));
    client.push(100, b"datagram");
    assert!(client.next(100).starts_with("Data 2"));
    client
}

fn rtt(end: &mut Dialogue) -> Duration {
    end.connection().status().rtt.unwrap()
}

/// Without an Elapsed Time only an Ack, which is not delayed for data, measures a round trip: Linux
/// sends none, and acknowledges the last data in a Close or with its next data, however late.
#[test]
fn only_acks_measure_without_elapsed_time() {
    let mut client = sent_at_100();
    client.send(5000, "DataAck 1002 (2)", &[], b"much later");
    assert_eq!(rtt(&mut client), Duration::from_millis(10));
    let mut client = sent_at_100();
    client.send(5000, "Close 1002 (2)", &[], b"");
    assert_eq!(rtt(&mut client), Duration::from_millis(10));
}

/// The mean of RFC 6298 moves by an eighth: 10 ms, and a sample of 26 ms.
#[test]
fn an_ack_measures() {
    let mut client = sent_at_100();
    client.send(126, "Ack 1002 (2)", &[], b"");
    assert_eq!(rtt(&mut client), Duration::from_millis(12));
}

/// The same sample from data that arrived 4.9 s after the datagram, with an Elapsed Time of 487,400
/// hundredths of a millisecond.
#[test]
fn elapsed_time_measures_on_any_packet() {
    let mut client = sent_at_100();
    client.send(5000, "DataAck 1002 (2)", &[43, 6, 0, 7, 0x6f, 0xe8], b"much later");
    assert_eq!(rtt(&mut client), Duration::from_millis(12));
}

/// The maximum round trip is 64 s, the longest wait for any answer.
#[test]
fn more_than_a_minute_is_no_round_trip() {
    for (ms, mean) in [(64_100, 8_008_750), (64_101, 10_000)] {
        let mut client = sent_at_100();
        client.send(ms, "Ack 1002 (2)", &[], b"");
        // One eighth of 64 s, and seven of 10 ms.
        assert_eq!(rtt(&mut client), Duration::from_micros(mean), "{ms}");
    }
}
