//! Initial Sequence Windows: 100 packets in both directions (RFC 4340 sections 6.4 and 7.5.2), of
//! which a quarter is behind GSR and three quarters ahead (section 7.5.1).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue;
use crate::pipe;

use dialogue::Dialogue;
use headway_dccp::{ConnectionOptions, Delivery, Ignored};
use headway_units::{Dialect, Options};
use pipe::options;

const INVALID: Delivery = Delivery::Dropped(Ignored::SequenceInvalid);

/// A client that received packet 1001 last: SWL to SWH are 1001 + 1 - 25 to 1001 + 75.
#[test]
fn three_quarters_of_a_hundred_packets_may_be_lost() {
    for (number, expected) in [(1002, Delivery::Data), (1076, Delivery::Data), (1077, INVALID)] {
        let mut client = Dialogue::open_client(&options());
        assert_eq!(client.send(30, &format!("Data {number}"), &[], b"data"), expected, "{number}");
    }
    // From 1076 on, SWL is 1076 + 1 - 25.
    for (number, expected) in [(1052, Delivery::Data), (1051, INVALID)] {
        let mut client = Dialogue::open_client(&options());
        client.send(30, "Data 1076", &[], b"data");
        assert_eq!(client.send(30, &format!("Data {number}"), &[], b"data"), expected, "{number}");
    }
}

/// A client that has sent its numbers 0 to 151: AWL is 151 + 1 - 100.
#[test]
fn an_acknowledgement_may_be_a_hundred_packets_old() {
    for (number, expected) in [(52, Delivery::Data), (51, INVALID)] {
        let mut client = Dialogue::open_client(&options());
        (0..150).for_each(|_| client.push(30, b"data"));
        assert_eq!(client.drain_output(30).len(), 150);
        assert_eq!(client.send(40, &format!("DataAck 1002 ({number})"), &[], b"data"), expected, "{number}");
    }
}

/// Initial values are not negotiated. Linux's `net.dccp.default.seq_window` is also 100.
#[test]
fn initial_values_are_not_negotiated() {
    for dialect in [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Linux] {
        let preset = ConnectionOptions::preset(dialect);
        let request = Dialogue::client(&preset).next(0);
        assert!(request.starts_with("Request 0") && !request.contains("SequenceWindow"), "{dialect}: {request}");
        let wide = ConnectionOptions { sequence_window: 101, ..preset };
        let request = Dialogue::client(&wide).next(0);
        assert!(request.contains("ChangeL(SequenceWindow 101)"), "{dialect}: {request}");
    }
}
