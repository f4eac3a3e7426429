//! What a connection tells its application of the packets that it sent (RFC 4340 section 11.4).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::pipe;

use headway_dccp::{Arrivals, CcidController, ConnectionOptions};
use headway_rate::Arrival;
use headway_units::{Dialect, Duration, Options};
use pipe::{Fate, Pipe, perfect};
use std::cell::Cell;
use std::collections::BTreeMap;

/// The rules of RFC 4340 under one CCID.
fn rules(ccid: u8) -> ConnectionOptions {
    ConnectionOptions { send_ccids: vec![ccid], receive_ccids: vec![ccid], ..ConnectionOptions::preset(Dialect::Rfc) }
}

/// TFRC, whose data receiver must send Ack Vectors besides.
fn tfrc_with_vectors() -> ConnectionOptions {
    let tfrc = rules(3);
    let controllers = tfrc.controllers.iter().map(|row| CcidController { ack_vectors: true, ..row.clone() }).collect();
    ConnectionOptions { controllers, ..tfrc }
}

/// Ten datagrams, of which the fourth is lost: what the client has been told of each at last.
fn told(rules: &ConnectionOptions) -> Vec<Option<Arrival>> {
    let lost = Cell::new(false);
    let mut pipe = Pipe::new(rules, rules, |sent| Fate { lost: lost.get(), ..perfect(sent) });
    let mut told = BTreeMap::new();
    for n in 0..10 {
        lost.set(n == 3);
        pipe.client.outbox.push(&[n; 100]);
        let until = pipe.now + Duration::from_secs(2);
        while pipe.step(until) {
            let connection = pipe.client.connection.as_mut().unwrap();
            let Some(Arrivals { newest: mut number, runs, .. }) = connection.take_arrivals() else { continue };
            for run in runs {
                for _ in 0..run.packets {
                    told.insert(number.value(), run.arrival);
                    number -= 1;
                }
            }
            assert!(connection.take_arrivals().is_none(), "it is told once");
        }
    }
    assert_eq!(pipe.server.delivered.len(), 9);
    let of_data = |line: &&String| line.contains("client") && line.contains("[Data");
    let number = |line: &String| line.split("Seq=").nth(1)?.split(' ').next()?.parse().ok();
    pipe.log.iter().filter(of_data).filter_map(number).map(|number: u64| told.get(&number).copied()).collect()
}

/// With CCID 2, and with any other CCID whose data receiver sends Ack Vectors (Send Ack Vector, section 11.5;
/// RFC 4341 section 6), each packet's fate
/// under the number with which it went.
#[test]
fn ack_vectors_tell_the_fate_of_each_packet() {
    for rules in [rules(2), tfrc_with_vectors()] {
        let mut wanted = [Some(Arrival::Received); 10];
        wanted[3] = Some(Arrival::NotReceived);
        assert_eq!(told(&rules), wanted, "CCID {}", rules.send_ccids[0]);
    }
}

/// TFRC's receivers report rates and losses: there is nothing to tell.
#[test]
fn without_ack_vectors_nothing_is_told() {
    assert_eq!(told(&rules(3)), [None; 10]);
}
