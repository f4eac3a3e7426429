//! An outbox that discards its datagrams when polled, such as a send queue with expiry.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::pipe;

use headway_dccp::{Connection, ConnectionOptions, State};
use headway_units::{Dialect, Duration, Instant, Options};
use pipe::{Fate, Pipe, Throws, options, perfect};

/// Returns RFC 4340's options with one CCID.
fn rules(ccid: u8) -> ConnectionOptions {
    let preset = ConnectionOptions::preset(Dialect::Rfc);
    let controllers = [preset.controllers.clone(), options().controllers].concat();
    ConnectionOptions { send_ccids: vec![ccid], receive_ccids: vec![ccid], controllers, ..preset }
}

/// Returns all combinations of options that affect data.
fn all_rules() -> Vec<ConnectionOptions> {
    let mut all: Vec<_> = [2, 3, 4, 248].map(rules).into();
    all.push(ConnectionOptions { handshake_data: true, ..rules(2) });
    all.push(ConnectionOptions { ndp_counts: true, timestamps: true, loss_event_rate: true, ..rules(3) });
    all
}

/// Runs data in both directions, interleaved with data that is discarded. Later data is sent.
fn played(rules: &ConnectionOptions, throws: Throws) -> Pipe<impl FnMut(u64) -> Fate> {
    let lossy = |sent| Fate { lost: sent > 20 && sent % 17 == 0, ..perfect(sent) };
    let mut pipe = Pipe::new(rules, rules, lossy);
    for n in 0..400u32 {
        for end in [&mut pipe.client, &mut pipe.server] {
            let real = n > 20 && n % 4 == 0;
            end.outbox.2 = if real { Throws::Nothing } else { throws };
            if real || throws == Throws::All {
                end.outbox.push(&[n as u8; 200]);
            }
        }
        pipe.drain();
        for end in [&mut pipe.client, &mut pipe.server] {
            // Unsent data must not be mistaken for discarded data.
            end.outbox.0.clear();
            end.outbox.2 = if throws == Throws::Endlessly { throws } else { Throws::Nothing };
        }
        pipe.run(Duration::from_millis(7));
    }
    pipe
}

/// Discarding all queued data is equivalent to having none. The controllers are notified that the application has no
/// data, and acknowledgements are sent alone: all packets and the state of both endpoints are identical.
#[test]
fn discarded_data_has_no_effect() {
    for rules in all_rules() {
        let none = played(&rules, Throws::Nothing);
        let ccid = rules.send_ccids[0];
        assert_eq!((none.client.state(), none.server.state()), (State::Open, State::Open), "CCID {ccid}");
        assert!(none.server.delivered.len() > 50 && none.client.delivered.len() > 50, "CCID {ccid}");
        for throws in [Throws::All, Throws::Endlessly] {
            let thrown = played(&rules, throws);
            for (with, without) in thrown.log.iter().zip(&none.log) {
                assert_eq!(with, without, "CCID {ccid}, {throws:?}");
            }
            assert_eq!(thrown.log.len(), none.log.len());
            let held = |connection: &Option<Connection>| format!("{connection:?}");
            assert_eq!(held(&thrown.client.connection), held(&none.client.connection), "CCID {ccid}, {throws:?}");
            assert_eq!(held(&thrown.server.connection), held(&none.server.connection), "CCID {ccid}, {throws:?}");
        }
    }
}

/// The connection is idle between received packets, and its deadlines are in the future ([`Pipe`]
/// checks this). Later data is sent.
#[test]
fn a_connection_without_data_is_idle_and_resumes() {
    for rules in all_rules() {
        let mut pipe = Pipe::new(&rules, &rules, perfect);
        pipe.client.outbox.2 = Throws::Endlessly;
        pipe.server.outbox.2 = Throws::Endlessly;
        pipe.run(Duration::from_secs(20));
        let ccid = rules.send_ccids[0];
        assert_eq!((pipe.client.state(), pipe.server.state()), (State::Open, State::Open), "CCID {ccid}");
        assert!(pipe.log.len() < 40, "CCID {ccid}: {:#?}", pipe.log);
        for n in 0..50 {
            pipe.client.outbox.2 = Throws::Nothing;
            pipe.client.outbox.push(&[n; 100]);
            pipe.run(Duration::from_millis(100));
        }
        assert_eq!(pipe.server.delivered.len(), 50, "CCID {ccid}");
    }
}

/// The peer's data continues while ours is discarded: reports and Ack Vectors are sent on separate packets.
#[test]
fn acknowledgements_are_sent_without_discarded_data() {
    for rules in all_rules() {
        let mut pipe = Pipe::new(&rules, &rules, perfect);
        pipe.server.outbox.2 = Throws::Endlessly;
        for n in 0..500u32 {
            pipe.client.outbox.push(&[n as u8; 100]);
            pipe.run(Duration::from_millis(10));
        }
        pipe.run(Duration::from_secs(5));
        let ccid = rules.send_ccids[0];
        assert_eq!(pipe.server.delivered.len(), 500, "CCID {ccid}");
        let status = pipe.client.connection.as_ref().unwrap().status();
        // CCID 248 needs no reports.
        assert!(
            status.rtt.is_some_and(|rtt| rtt < Duration::from_millis(40)) || ccid == 248,
            "CCID {ccid}: {status:?}"
        );
    }
}

#[test]
fn without_data_nothing_is_sent() {
    use headway_dccp::{NoData, Outbox};
    let mut none = NoData;
    assert_eq!((none.next_len(Instant::ZERO), none.take(Instant::ZERO)), (None, None));
}
