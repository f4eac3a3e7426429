//! Counters of a connection compared with its path, and the status of a closed connection.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue;
use crate::pipe;

use dialogue::Dialogue;
use headway_dccp::{Ccid, Closed, ConnectionOptions, InitCookies, Reset, ResetCode, State, Status};
use headway_units::{Dialect, Duration, Options};
use pipe::{End, Fate, Pipe, options, perfect};
use std::cell::RefCell;
use std::rc::Rc;

/// Returns RFC 4340's options with one CCID in both directions.
fn rules(ccid: Ccid) -> ConnectionOptions {
    ConnectionOptions {
        send_ccids: vec![ccid.0],
        receive_ccids: vec![ccid.0],
        ..ConnectionOptions::preset(Dialect::Rfc)
    }
}

fn status(end: &End) -> Status {
    end.connection.as_ref().unwrap().status()
}

/// Sends a datagram every 5 ms in both directions for three seconds.
fn talk<F: FnMut(u64) -> Fate>(pipe: &mut Pipe<F>) {
    pipe.run(Duration::from_secs(1));
    for _ in 0..600 {
        pipe.client.outbox.push(&[1; 100]);
        pipe.server.outbox.push(&[2; 50]);
        pipe.run(Duration::from_millis(5));
    }
    while !pipe.client.outbox.0.is_empty() || !pipe.server.outbox.0.is_empty() {
        pipe.run(Duration::from_secs(1));
    }
}

/// By hand from sections 5.1 to 5.3 and 5.8 of RFC 4340. A Request has 20 bytes and a Response 28,
/// here with 10 bytes of options and 2 of padding; an Ack has 24, Data 16 and its data, a Reset 28.
#[test]
fn bytes() {
    let mut client = Dialogue::open_client(&options());
    client.push(21, b"four");
    client.push(21, b"seven b");
    client.send(22, "Data 1002", &[], b"x");
    client.send(23, "Data 1002", &[], b"x");
    client.send(24, "Data 1003", &[], b"yes");
    client.send(25, "Reset 1004 (3) 2", &[], b"");
    let counters = client.connection().status().counters;
    assert_eq!((counters.sent_bytes, counters.sent_data), (32 + 24 + 20 + 23, 11));
    assert_eq!((counters.received_bytes, counters.delivered_data), (40 + 24 + 17 + 19 + 28, 4));
}

/// Without losses, the packets sent by one endpoint are those received by the other.
#[test]
fn counters_agree_without_losses() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC, Ccid::TFRC_SP] {
        let mut pipe = Pipe::new(&rules(ccid), &rules(ccid), perfect);
        talk(&mut pipe);
        pipe.run(Duration::from_secs(1));
        let [client, server] = [&pipe.client, &pipe.server].map(|end| status(end).counters);
        for (from, to) in [(client, server), (server, client)] {
            assert_eq!((from.sent_packets, from.sent_bytes), (to.received_packets, to.received_bytes), "{ccid:?}");
            assert_eq!((from.sent_data_packets, from.sent_data), (to.delivered_packets, to.delivered_data));
            assert_eq!((from.lost_packets, from.marked_packets), (0, 0));
            assert_eq!((to.missing_packets, to.received_marked_packets, from.sent_data_packets), (0, 0, 600));
        }
    }
}

/// Losses are far apart, so that each is a loss event. The sender counts each from the peer's
/// reports, and the receiver counts each as missing.
#[test]
fn losses() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC, Ccid::TFRC_SP] {
        let lost = Rc::new(RefCell::new(Vec::new()));
        let (all, mut calls) = (Rc::clone(&lost), 0);
        let lossy = move |sent| {
            calls += 1;
            let lost = (100..800).contains(&calls) && calls % 97 == 0;
            all.borrow_mut().extend(lost.then_some(calls - 1));
            Fate { lost, ..perfect(sent) }
        };
        let mut pipe = Pipe::new(&rules(ccid), &rules(ccid), lossy);
        talk(&mut pipe);
        pipe.run(Duration::from_secs(1));
        let by = |who: &str| lost.borrow().iter().filter(|at| pipe.log[**at].contains(who)).count() as u64;
        let [client, server] = [&pipe.client, &pipe.server].map(|end| status(end).counters);
        let [from_client, from_server] = [by(" client "), by(" server ")];
        assert!(from_client > 0 && from_server > 0 && from_client + from_server == 7, "{from_client} {from_server}");
        assert_eq!((client.lost_packets, server.missing_packets), (from_client, from_client), "{ccid:?}");
        assert_eq!((server.lost_packets, client.missing_packets), (from_server, from_server), "{ccid:?}");
        // Without NDP Counts any missing packet may have carried data.
        assert_eq!(server.missing_data_packets, from_client, "{ccid:?}");
        assert_eq!((client.marked_packets, client.sent_packets - from_client), (0, server.received_packets));
    }
}

/// All ECN-capable packets are marked. The receiver of CCID 2 reports each, and the sender counts
/// all but the last ones.
#[test]
fn marks() {
    let mut pipe = Pipe::new(&rules(Ccid::TCP_LIKE), &rules(Ccid::TCP_LIKE), perfect);
    pipe.congested = true;
    talk(&mut pipe);
    pipe.run(Duration::from_secs(1));
    let [client, server] = [&pipe.client, &pipe.server].map(|end| status(end).counters);
    // Request and Response are not ECN-capable (section 12).
    assert_eq!((server.received_marked_packets, server.missing_packets), (client.sent_packets - 1, 0));
    assert_eq!((client.received_marked_packets, client.lost_packets), (server.sent_packets - 1, 0));
    let unreported = server.received_marked_packets - client.marked_packets;
    assert!(unreported <= 5 && client.marked_packets > 30, "{client:?}");
}

/// A connection restored from an Init Cookie counts its Request as received.
#[test]
fn a_restored_connection_misses_nothing() {
    let always = ConnectionOptions { init_cookies: InitCookies::Always, ..rules(Ccid::TFRC) };
    let mut pipe = Pipe::new(&always, &always, perfect);
    talk(&mut pipe);
    pipe.run(Duration::from_secs(1));
    let [client, server] = [&pipe.client, &pipe.server].map(|end| status(end).counters);
    assert_eq!((server.received_packets, server.missing_packets), (client.sent_packets, 0));
    assert_eq!((client.missing_packets, server.delivered_packets), (0, 600));
}

/// Counters and the reason remain available after the end of a connection.
#[test]
fn a_closed_connection_keeps_its_status() {
    let mut pipe = Pipe::new(&rules(Ccid::TFRC), &rules(Ccid::TFRC), perfect);
    talk(&mut pipe);
    let before = status(&pipe.client);
    assert!(before.sender.is_some_and(|sender| sender.target_rate.is_some()));
    assert_eq!((before.closed, before.state), (None, State::Open));
    let now = pipe.now;
    pipe.client.connection.as_mut().unwrap().close(now);
    assert_eq!(status(&pipe.client).sender, before.sender);
    pipe.run(Duration::from_secs(1));
    let closed = Reset { code: ResetCode::CLOSED, data: [0; 3] };
    let [client, server] = [status(&pipe.client), status(&pipe.server)];
    assert_eq!((client.state, client.closed), (State::TimeWait, Some(Closed::ByPeer(closed))));
    assert_eq!((server.state, server.closed), (State::Closed, Some(Closed::ByUs(closed))));
    assert_eq!((client.sender, client.rtt, client.send_ccid), (before.sender, before.rtt, Ccid::TFRC));
    assert!(server.sender.is_some());
    assert_eq!(client.counters.sent_packets, before.counters.sent_packets + 1, "the Close");
}

/// A refused Request leaves no missing packets.
#[test]
fn refused() {
    let mut client = Dialogue::client(&options());
    client.next(0);
    client.send(6, "Reset 0 (0) 7", &[], b"");
    let Status { counters, closed, sender, .. } = client.connection().status();
    let refused = Reset { code: ResetCode::CONNECTION_REFUSED, data: [0; 3] };
    assert_eq!((counters.missing_packets, closed, sender), (0, Some(Closed::ByPeer(refused)), None));
}
