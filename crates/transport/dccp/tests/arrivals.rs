//! Reports to the application about sent packets (RFC 4340 section 11.4).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::pipe;

use headway_dccp::{Arrivals, CcidController, ConnectionOptions};
use headway_rate::Arrival;
use headway_units::{Dialect, Duration, Options};
use pipe::{Fate, Pipe, perfect};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Returns RFC 4340's options with one CCID.
fn rules(ccid: u8) -> ConnectionOptions {
    ConnectionOptions { send_ccids: vec![ccid], receive_ccids: vec![ccid], ..ConnectionOptions::preset(Dialect::Rfc) }
}

fn tfrc_with_vectors() -> ConnectionOptions {
    let tfrc = rules(3);
    let controllers = tfrc.controllers.iter().map(|row| CcidController { ack_vectors: true, ..row.clone() }).collect();
    ConnectionOptions { controllers, ..tfrc }
}

/// Sends ten datagrams, of which the fourth is lost. Returns the last reported state of each.
fn reported(rules: &ConnectionOptions) -> Vec<Option<Arrival>> {
    let lost = Cell::new(false);
    let mut pipe = Pipe::new(rules, rules, |sent| Fate { lost: lost.get(), ..perfect(sent) });
    let mut reported = BTreeMap::new();
    for n in 0..10 {
        lost.set(n == 3);
        pipe.client.outbox.push(&[n; 100]);
        let until = pipe.now + Duration::from_secs(2);
        while pipe.step(until) {
            let connection = pipe.client.connection.as_mut().unwrap();
            let Some(Arrivals { newest: mut number, runs, .. }) = connection.take_arrivals() else { continue };
            for run in runs {
                for _ in 0..run.packets {
                    reported.insert(number.value(), run.arrival);
                    number -= 1;
                }
            }
            assert!(connection.take_arrivals().is_none(), "each report is returned once");
        }
    }
    assert_eq!(pipe.server.delivered.len(), 9);
    let of_data = |line: &&String| line.contains("client") && line.contains("[Data");
    let number = |line: &String| line.split("Seq=").nth(1)?.split(' ').next()?.parse().ok();
    pipe.log.iter().filter(of_data).filter_map(number).map(|number: u64| reported.get(&number).copied()).collect()
}

/// CCID 2, and any other CCID with Ack Vectors (Send Ack Vector, section 11.5; RFC 4341 section 6),
/// report each packet by its sequence number.
#[test]
fn ack_vectors_report_each_packet() {
    for rules in [rules(2), tfrc_with_vectors()] {
        let mut wanted = [Some(Arrival::Received); 10];
        wanted[3] = Some(Arrival::NotReceived);
        assert_eq!(reported(&rules), wanted, "CCID {}", rules.send_ccids[0]);
    }
}

/// Receivers of TFRC report rates and losses, not single packets.
#[test]
fn without_ack_vectors_nothing_is_reported() {
    assert_eq!(reported(&rules(3)), [None; 10]);
}
