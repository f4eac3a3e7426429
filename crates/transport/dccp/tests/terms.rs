//! Both endpoints agree on scales and rules at setup, as in the UDPm paper, by features of the CCID
//! (RFC 4340 sections 6.3 and 10.3).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue::{Dialogue, changes, confirms};
use crate::pipe::{self, Pipe, perfect};
use headway_dccp::{
    Ccid, CcidController, Closed, Connection, ConnectionOptions, Delivery, Event, Ignored, InitCookies, Reset,
    ResetCode, State,
};
use headway_rate::{ControllerOptions, Decide, Halve, Scale, Terms, UdpmOptions};
use headway_units::{Dialect, Duration, Options, Rate};
use proptest::prelude::*;

fn options(udpm: UdpmOptions) -> ConnectionOptions {
    let controllers = vec![CcidController::new(Ccid(248), ControllerOptions::Udpm(udpm))];
    ConnectionOptions { controllers, ..pipe::options() }
}

fn udpm() -> UdpmOptions {
    UdpmOptions::preset(Dialect::Rfc)
}
fn five_levels() -> UdpmOptions {
    UdpmOptions { levels: 5, ..udpm() }
}

/// Returns the terms that the endpoint knows: of local data, then of the peer's.
fn terms(end: &pipe::End) -> [Option<Terms>; 2] {
    end.connection.as_ref().map(Connection::controllers).unwrap_or_default().map(|known| known?.terms())
}

fn connected(client: UdpmOptions, server: UdpmOptions) -> Pipe<fn(u64) -> pipe::Fate> {
    let mut pipe = Pipe::new(&options(client), &options(server), perfect as fn(u64) -> pipe::Fate);
    (0..40).for_each(|_| pipe.client.outbox.push(&[0; 1000]));
    pipe.run(Duration::from_secs(1));
    pipe
}

/// Scales of a sender with 5 levels of 200 kb/s: form 0, 100 ms in nanoseconds, 5 levels, 200,000.
const FIVE: [u8; 13] = [0, 0, 5, 0xf5, 0xe1, 0, 0, 5, 0, 0, 3, 0x0d, 0x40];

fn change(action: u8, feature: u8, values: &[u8]) -> Vec<u8> {
    [&[action, 3 + values.len() as u8, feature][..], values].concat()
}

/// Initial terms are not negotiated: handshakes with default options have the same bytes as those without terms.
#[test]
fn udpm_2_2_default_terms_need_no_option() {
    Dialogue::client(&options(udpm())).recv(0, "Request 0 | Mandatory ChangeL(CCID 248) Mandatory ChangeR(CCID 248)");
    let mut server = Dialogue::server(&options(udpm()));
    server.send(0, "Request 1000", &changes(&pipe::options()), b"");
    // The CCID requires the sender's clock on every packet that may carry data.
    server.recv(0, "Response 0 (1000) | Timestamp(10000000) ConfirmL(CCID 248,248) ConfirmR(CCID 248,248)");
}

/// RFC 4340 section 6.3.2: the location of a non-negotiable feature decides, and "the feature remote MUST accept any
/// valid value". Each sender describes its scales, and the receiver announces one of them.
#[test]
fn rfc_4340_6_3_2_each_sender_decides_its_scales() {
    let rates = [64_000, 400_000].map(Rate::from_bits_per_second).to_vec();
    let server = UdpmOptions { ladder: Some(rates), interval: Duration::from_millis(50), ..udpm() };
    let pipe = connected(five_levels(), server.clone());
    let [ours, theirs] = [five_levels(), server].map(|options| ControllerOptions::Udpm(options).terms());
    assert_eq!(terms(&pipe.client), [ours.clone(), theirs.clone()]);
    assert_eq!(terms(&pipe.server), [theirs, ours]);
    assert!(pipe.log[0].contains("Mandatory ChangeL(Scales 0,0,5,245,225,0,0,5,0,0,3,13,64)"), "{}", pipe.log[0]);
    let [client, server] = [&pipe.client, &pipe.server].map(|end| end.connection.as_ref().unwrap());
    let scale = |index, levels, rate| Some(Scale { index, levels, rate: Rate::from_bits_per_second(rate) });
    assert_eq!(
        (client.scale(), server.scale()),
        (scale(4, 5, 1_000_000), scale(0, 2, 64_000)),
        "five rounds in a second"
    );
}

/// RFC 4340 section 6.3.1: an endpoint with initial rules follows the peer, whether client or
/// server; the rules apply to both.
#[test]
fn rfc_4340_6_3_1_rules_of_either_end_hold() {
    let strict = UdpmOptions { decide: Decide::Packet, halve: Halve::EachLoss, ..udpm() };
    for (client, server) in [(strict.clone(), udpm()), (udpm(), strict.clone()), (strict.clone(), strict)] {
        let pipe = connected(client, server);
        let known = [&pipe.client, &pipe.server].map(terms);
        assert!(known.iter().flatten().all(|terms| terms.as_ref().is_some_and(|terms| terms.rules == 6)), "{known:?}");
        assert!(pipe.server.delivered.len() > 20, "{}", pipe.server.delivered.len());
    }
}

/// RFC 4340 section 6.3.1, no shared entry, and section 6.6.9: with Mandatory the connection ends
/// with a Mandatory Error that contains the option and the feature.
#[test]
fn rfc_4340_6_6_9_other_rules_end_the_connection() {
    let packet = UdpmOptions { decide: Decide::Packet, ..udpm() };
    let mut pipe = connected(packet, UdpmOptions { halve: Halve::EachLoss, ..udpm() });
    let reset = Reset { code: ResetCode::MANDATORY_ERROR, data: [32, 129, 2] };
    assert_eq!(pipe.client.events, [Event::Closed(Closed::ByPeer(reset))]);
    pipe.run(Duration::from_secs(1));
    assert_eq!((pipe.server.delivered.len(), pipe.server.state() == State::Open), (0, false));
}

/// RFC 4340 section 6.6.7: a peer without terms rejects them.
#[test]
fn rfc_4340_6_6_7_a_peer_that_knows_no_terms() {
    let mut server = Dialogue::server(&pipe::options());
    let scales = [&changes(&pipe::options())[..], &[1], &change(32, 128, &FIVE)].concat();
    server.send(0, "Request 1000", &scales, b"");
    server.recv(0, "Reset 0 (1000) Mandatory Error, data=208000");
    // The peer answers with an empty Confirm instead of the required Reset.
    let mut client = Dialogue::client(&options(five_levels()));
    client.next(0);
    let empty = [&confirms(&pipe::options())[..], &[35, 3, 128]].concat();
    let delivery = client.send(10, "Response 1000 (0)", &empty, b"");
    assert_eq!(delivery, Delivery::Dropped(Ignored::OptionError));
    client.recv(10, "Reset 1 (1000) Option Error, data=238000");
    // A peer that does not answer receives no data.
    let mut client = Dialogue::client(&options(five_levels()));
    client.next(0);
    client.outbox.push(b"data");
    client.send(10, "Response 1000 (0)", &confirms(&pipe::options()), b"");
    assert!(client.drain_output(1000).iter().all(|output| !output.contains("Len=")));
    client.send(1000, "Ack 1001 (1)", &change(35, 128, &FIVE), b"");
    assert!(client.next(1000).contains("Len=4"));
}

/// RFC 4340 section 6.6.8: malformed scales are rejected with a Mandatory Error, or with an empty
/// Confirm that keeps the initial ones.
#[test]
fn rfc_4340_6_6_8_malformed_terms_are_refused() {
    let fifty: Vec<u8> = [&FIVE[..6], &[0; 250]].concat();
    let cut = &FIVE[..12];
    let of = |levels: u8, step: u8| [&FIVE[..7], &[levels, 0, 0, 0, 0, step]].concat();
    let list = |rates: [u8; 2]| [&[1][..], &FIVE[1..6], &[0, 0, 0, 0, rates[0], 0, 0, 0, 0, rates[1]]].concat();
    let short = [&[0, 0, 0, 0, 0, 1][..], &FIVE[6..]].concat();
    let form = [&[2][..], &FIVE[1..]].concat();
    for scales in [vec![0], cut.to_vec(), form, of(0, 1), of(5, 0), list([2, 2]), list([2, 1]), list([0, 1]), short] {
        let mut server = Dialogue::server(&options(udpm()));
        let asked = [&changes(&pipe::options())[..], &[1], &change(32, 128, &scales)].concat();
        server.send(0, "Request 1000", &asked, b"");
        let reset = server.next(0);
        assert!(reset.contains(" Mandatory Error, data=2080"), "{scales:?}: {reset}");
        let mut server = Dialogue::server(&options(udpm()));
        let asked = [&changes(&pipe::options())[..], &change(32, 128, &scales)].concat();
        server.send(0, "Request 1000", &asked, b"");
        assert!(server.next(0).ends_with("ConfirmR(Scales empty)"), "{scales:?}");
        let controllers = server.connection().controllers();
        assert!(controllers.iter().all(|known| known.as_ref().unwrap().terms() == Some(Terms::initial())));
    }
    // Longer than an option, from the wrong side, or with unknown rules.
    assert!(Terms::check_scales(&fifty).is_err());
    for asked in [change(34, 128, &FIVE), change(32, 129, &[3]), change(34, 129, &[255, 8])] {
        let mut server = Dialogue::server(&options(udpm()));
        server.send(0, "Request 1000", &[&changes(&pipe::options())[..], &[1], &asked].concat(), b"");
        let reset = server.next(0);
        assert!(reset.contains(" Mandatory Error"), "{asked:?}: {reset}");
    }
    assert!(options(UdpmOptions { levels: 0, ..udpm() }).check().is_ok(), "a carrier does not check its controllers");
    let rates = (1..=50).map(Rate::from_bits_per_second).collect();
    let error = options(UdpmOptions { ladder: Some(rates), ..udpm() }).check().unwrap_err();
    assert_eq!((error.key, error.tables), ("ladder", vec!["controllers"]));
}

/// RFC 4340 section 8.1.4: an Init Cookie stores the terms of the client. Those of a server may not
/// fit on a Response, which is at most three times as long as the Request, and follow it.
#[test]
fn rfc_4340_8_1_4_cookies_keep_terms() {
    let rates = (1..=49).map(|rate| Rate::from_bits_per_second(rate * 100_000)).collect();
    let many = UdpmOptions { ladder: Some(rates), ..udpm() };
    for (client, server) in [(many.clone(), udpm()), (udpm(), many.clone()), (five_levels(), many)] {
        let cookies = ConnectionOptions { init_cookies: InitCookies::Always, ..options(server.clone()) };
        let mut pipe = Pipe::new(&options(client.clone()), &cookies, perfect as fn(u64) -> pipe::Fate);
        pipe.client.outbox.push(b"data");
        pipe.server.outbox.push(b"data");
        pipe.run(Duration::from_secs(2));
        let [ours, theirs] = [client, server].map(|options| ControllerOptions::Udpm(options).terms());
        assert_eq!(terms(&pipe.server), [theirs.clone(), ours.clone()]);
        assert_eq!(terms(&pipe.client), [ours, theirs]);
        assert_eq!((pipe.client.delivered.len(), pipe.server.delivered.len()), (1, 1));
    }
}

proptest! {
    /// RFC 4340 section 6.6.2: for any losses and duplicates, both endpoints have the same terms
    /// when data arrives. A server that keeps no state before the cookie is echoed (section 8.1.4)
    /// may negotiate its rules later: finally both agree on them.
    #[test]
    fn both_ends_agree_over_any_path(
        levels in prop::collection::vec(1u16..=256, 2), rules in prop::sample::select(&Terms::RULES[..]), client_decides: bool,
        fates in prop::collection::vec(0u8..4, 0..30), cookies: bool,
    ) {
        let ends = [true, false].map(|client| {
            let scales = ControllerOptions::Udpm(UdpmOptions { levels: levels[usize::from(client)], ..udpm() });
            let own = if client == client_decides { rules } else { 0 };
            let terms = Terms { rules: own, ..scales.terms().unwrap() };
            let controllers = vec![CcidController::new(Ccid(248), scales.with_terms(&terms).unwrap())];
            let init_cookies = if cookies { InitCookies::Always } else { InitCookies::Never };
            ConnectionOptions { controllers, init_cookies, ..pipe::options() }
        });
        let mut pipe = Pipe::new(&ends[0], &ends[1], move |number: u64| {
            let fate = fates.get(number as usize).copied().unwrap_or(0);
            // Every third packet passes, as a handshake without any is given up.
            pipe::Fate { lost: fate == 1 && number % 3 != 2, copies: if fate == 2 { 2 } else { 1 }, ..perfect(number) }
        });
        let agreed = |client: &pipe::End, server: &pipe::End| {
            let [ours, theirs] = [&terms(client)[0], &terms(server)[1]].map(Clone::clone);
            ours == theirs && ours.is_some_and(|terms| terms.rules == rules)
        };
        // A datagram per second, since lost datagrams are not retransmitted.
        for _ in 0..600 {
            pipe.client.outbox.push(b"data");
            pipe.run(Duration::from_secs(1));
            if !pipe.server.delivered.is_empty() && (!cookies || agreed(&pipe.client, &pipe.server)) {
                break;
            }
        }
        prop_assert!(!pipe.server.delivered.is_empty());
        prop_assert!(agreed(&pipe.client, &pipe.server), "{:?}", [&pipe.client, &pipe.server].map(terms));
    }
}
