//! An outbox that throws away what waited when it is asked for it: late data, in a send queue that knows expiry.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::pipe;

use headway_dccp::{Connection, ConnectionOptions, State};
use headway_units::{Dialect, Duration, Instant, Options};
use pipe::{Fate, Pipe, Throws, options, perfect};

/// The rules of RFC 4340 under one CCID.
fn rules(ccid: u8) -> ConnectionOptions {
    let preset = ConnectionOptions::preset(Dialect::Rfc);
    let controllers = [preset.controllers.clone(), options().controllers].concat();
    ConnectionOptions { send_ccids: vec![ccid], receive_ccids: vec![ccid], controllers, ..preset }
}

/// Every way of carrying data that there is.
fn all_rules() -> Vec<ConnectionOptions> {
    let mut all: Vec<_> = [2, 3, 4, 248].map(rules).into();
    all.push(ConnectionOptions { handshake_data: true, ..rules(2) });
    all.push(ConnectionOptions { ndp_counts: true, timestamps: true, loss_event_rate: true, ..rules(3) });
    all
}

/// Data both ways at times, and between them, from both ends, data that `throws`. Afterwards all of it goes.
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
            // What did not go now must not be mistaken for what is thrown away.
            end.outbox.0.clear();
            end.outbox.2 = if throws == Throws::Endlessly { throws } else { Throws::Nothing };
        }
        pipe.run(Duration::from_millis(7));
    }
    pipe
}

/// To throw away all that waits is the same as to have nothing. The controllers are told that the application had nothing, and what
/// was to ride on the data goes alone: every packet is the same to the last bit, and so is all that both ends hold.
#[test]
fn what_is_thrown_away_never_was() {
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

/// The connection rests between what it hears, and its timers lie ahead: [`Pipe`] fails where they do not. Data that comes later
/// flows.
#[test]
fn a_connection_whose_data_is_always_thrown_away_rests_and_wakes() {
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

/// The peer's data goes on while ours is thrown away: reports and Ack Vectors on packets of their own.
#[test]
fn acknowledgements_go_without_the_data_that_they_were_to_ride_on() {
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

/// Who has nothing has nothing.
#[test]
fn no_data() {
    use headway_dccp::{NoData, Outbox};
    let mut none = NoData;
    assert_eq!((none.next_len(Instant::ZERO), none.take(Instant::ZERO)), (None, None));
}
