//! Tests of two drivers over a wire in memory, with a virtual clock.

mod delays;
mod fec;
#[cfg(feature = "qlog")]
mod qlog;
mod reconnect;
mod schemes;
mod transmit;

use super::*;
use crate::Clock;
use crate::mailbox::{Event, Phase};
use crate::options::Options;
use crate::secure::{Dtls, DtlsOptions, SecureError, Trust};
use crate::socket::Arrived;
use crate::unread::Unread;
use crate::watched::lock;
use crate::wire::Wire;
use headway_dccp::{Fate, Reset, ResetCode};
use headway_media::QueueMethod;
use headway_units::{Dialect, Ecn, Random, Rate, SendDrop};
use std::sync::Mutex;

/// Wire that keeps sent datagrams until the test carries them.
#[derive(Debug)]
struct Memory {
    address: SocketAddr,
    sent: Mutex<Vec<Vec<u8>>>,
}

impl Wire for Memory {
    fn local_addr(&self) -> SocketAddr {
        self.address
    }
    fn send(&self, _: SocketAddr, _: Ecn, datagrams: &[u8], segment: usize) -> io::Result<()> {
        lock(&self.sent).extend(datagrams.chunks(segment).map(<[u8]>::to_vec));
        Ok(())
    }
}

struct End {
    driver: Driver,
    wire: Arc<Memory>,
}

impl End {
    fn new(port: u16, options: &Options) -> Self {
        Self::with(port, options, None)
    }

    fn secure(port: u16, options: &Options) -> Self {
        let dtls = DtlsOptions { accept: port == 1, ..options.dtls.clone().unwrap() };
        let mut end = Self::with(port, options, Some(Box::new(Dtls::new(dtls, Clock::new()).unwrap())));
        if port == 1 {
            end.driver.listen(Instant::ZERO).unwrap();
        }
        end
    }

    fn with(port: u16, options: &Options, secure: Option<Box<dyn Secure>>) -> Self {
        let wire = Arc::new(Memory { address: ([192, 0, 2, 1], port).into(), sent: Mutex::default() });
        let carrier = Arc::new(Carrier::Wire(Arc::<Memory>::clone(&wire)));
        let random = Random::new(port.into(), "end");
        let driver = Driver::new(options.common().unwrap(), options.endpoint, carrier, secure, random);
        Self { driver, wire }
    }

    fn server(options: &Options) -> Self {
        let mut server = Self::new(1, options);
        server.driver.listen(Instant::ZERO).unwrap();
        server
    }

    fn connect(&mut self, now: Instant, to: &Self) -> (u64, Arc<Mailbox>) {
        self.driver.connect(now, Path::Udp { local: self.wire.address, remote: to.wire.address })
    }

    fn turn(&mut self, now: Instant) {
        while self.driver.turn(now, false).unwrap() == Next::Turn {}
    }

    /// Delivers the datagrams that this end has sent, or drops them.
    fn carry(&self, now: Instant, to: &mut Self, arrives: bool) {
        let path = Path::Udp { local: to.wire.address, remote: self.wire.address };
        let sent = std::mem::take(&mut *lock(&self.wire.sent));
        for mut datagram in sent.into_iter().filter(|_| arrives) {
            to.driver.handle_datagram(now, Arrived { path, ecn: Ecn::NotEct }, &mut datagram);
        }
    }
}

const fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A window without a round-trip sample has no rate. It was taken for an unlimited one, so that an encoder first got the
/// ceiling. The handshake is a sample; with a coarse clock it can be 0, which is none to a window.
#[test]
fn no_controller_starts_an_encoder_at_the_ceiling() {
    let others = ["tfrc", "scream2", "gcc", "nada", "prague", "rap", "udpm"];
    for (kind, at_once) in others.map(|kind| (kind, false)).into_iter().chain([("tcp-like", false), ("tcp-like", true)])
    {
        let options = Options::insecure().with_controller(kind).unwrap();
        let (mut server, mut client) = (End::server(&options), End::new(2, &options));
        let mut ends = vec![client.connect(at(0), &server)];
        if at_once {
            client.turn(at(0));
        }
        for ms in (0..1000).step_by(10) {
            client.carry(at(ms), &mut server, true);
            server.turn(at(ms));
            server.carry(at(ms), &mut client, true);
            client.turn(at(ms));
            let accepted = server.driver.accepts.with(|accepts| accepts.waiting.pop_front());
            ends.extend(accepted.map(|(key, _, mailbox)| (key, mailbox)));
            for ((key, mailbox), driver) in ends.iter().zip([&mut client.driver, &mut server.driver]) {
                if mailbox.phase() == Phase::Open {
                    driver.send_all(at(ms), *key, &[Media::new(&[0; 100])]);
                }
                let rate = mailbox.rate();
                assert!(
                    rate.is_none_or(|rate| rate < EncoderOptions::default().ceiling),
                    "{kind} after {ms} ms: {rate:?}"
                );
            }
        }
        assert_eq!(ends.len(), 2, "{kind}: both ends are open");
    }
}

/// RFC 5348 section 4.4: a sender without feedback halves its allowed rate each time the nofeedback timer expires.
/// Rates were reported only when packets arrived: during an outage of 10 s the encoder kept its rate, and produced
/// almost nothing after it.
#[test]
fn the_encoder_rate_follows_the_allowed_rate_through_an_outage() {
    let options = Options::insecure();
    let (mut server, mut client) = (End::server(&options), End::new(2, &options));
    let (key, mailbox) = client.connect(at(0), &server);
    let outage = 3000..13_000;
    let (mut before, mut during, mut recovered) = (Rate::from_bits_per_second(0), Rate::from_bits_per_second(0), None);
    for ms in (0..20_000).step_by(10) {
        let up = !outage.contains(&ms);
        // Each direction is carried once a step: the round trip is 10 ms.
        client.carry(at(ms), &mut server, up);
        server.turn(at(ms));
        server.carry(at(ms), &mut client, up);
        for _ in 0..10 {
            client.driver.send_all(at(ms), key, &[Media::new(&[7; 1000])]);
        }
        client.turn(at(ms));
        while server.driver.accepts.with(|accepts| accepts.waiting.pop_front()).is_some() {}
        let (Some(reported), Some(sender)) =
            (mailbox.rate(), client.driver.status(key).and_then(|status| status.sender))
        else {
            continue;
        };
        // The contract of `EncoderOptions`: at most the rate that the controller allows, above the floor.
        let allowed = sender.target_rate.unwrap();
        assert!(reported <= allowed.max(options.encoder.floor), "{ms} ms: {reported}, and {allowed} is allowed");
        if ms == 2990 {
            before = reported;
        }
        if ms == 12_990 {
            during = reported;
        }
        // Half of the earlier allowed rate is allowed again.
        if ms > 13_000 && allowed >= before {
            recovered.get_or_insert((ms, reported, allowed));
        }
    }
    assert!(before > Rate::from_bits_per_second(1_000_000), "{before}");
    assert_eq!(during, options.encoder.floor);
    // Ten seconds at the floor permit a growth by 2^10, more than the path needs: only headroom and dead band
    // remain.
    let (ms, reported, allowed) = recovered.unwrap();
    assert!(
        reported.bits_per_second() as f64 >= 0.85 * allowed.bits_per_second() as f64,
        "{ms} ms: {reported} of {allowed}"
    );
}

/// SFDPS section 4.3: each message has its own priority, expiry and queueing method. Two late messages wait for the
/// handshake: the one of SFDPS1 is discarded, the one of unmodified DCCP is sent.
#[test]
fn sfdps_4_3_messages_are_queued_by_their_own_method() {
    let mut options = Options::insecure();
    options.queue = SendQueueOptions::fifo(Dialect::Rfc);
    let (mut server, mut client) = (End::server(&options), End::new(2, &options));
    let (key, mailbox) = client.connect(at(0), &server);
    let (sfdps1, soon) = (QueueMethod::named("sfdps1").ok(), Some(Duration::from_millis(1)));
    for (byte, priority, expires, method) in [
        // The Request carries the first message.
        (0, 0, None, None),
        (1, 1, None, None),
        (2, 0, None, sfdps1),
        (3, 0, None, None),
        (4, 0, soon, sfdps1),
        (5, 2, soon, None),
    ] {
        client.driver.send_all(at(0), key, &[Media { priority, expires, method, ..Media::new(&[byte; 100]) }]);
    }
    let (mut arrived, mut accepted) = (Vec::new(), None);
    for ms in (0..3000).step_by(10) {
        client.turn(at(ms));
        client.carry(at(ms), &mut server, true);
        server.turn(at(ms));
        server.carry(at(ms), &mut client, true);
        accepted = accepted.or_else(|| server.driver.accepts.with(|accepts| accepts.waiting.pop_front()));
        let Some((_, _, mailbox)) = &accepted else { continue };
        let mut datagram = Vec::new();
        while mailbox.incoming.with(|incoming| incoming.receive(&mut datagram)).is_some_and(|read| read.is_ok()) {
            arrived.push(datagram[0]);
        }
    }
    assert_eq!(arrived, [0, 2, 1, 3, 5]);
    let events = std::iter::from_fn(|| mailbox.events.with(Unread::next).flatten());
    let expired = |event| match event {
        Event::Media(number, Fate::Unsent { cause: SendDrop::Expired, .. }) => Some(number),
        _ => None,
    };
    assert_eq!(events.filter_map(expired).collect::<Vec<u64>>(), [4]);
}

/// When the system's buffer is full, datagrams stay with the driver. The threads wait until the socket is writable,
/// and these datagrams are sent first.
#[test]
fn datagrams_that_the_system_did_not_take_are_sent_first() {
    let options = Options::insecure();
    let (server, mut client) = (End::server(&options), End::new(2, &options));
    let path = Path::Udp { local: client.wire.address, remote: server.wire.address };
    client.driver.pending = Some(SendBatch { path, ecn: Ecn::NotEct, segment: 2, bytes: vec![1, 2, 3] });
    assert!(client.driver.is_blocked());
    client.connect(at(0), &server);
    client.turn(at(0));
    let sent = lock(&client.wire.sent);
    assert!(!client.driver.is_blocked());
    assert_eq!(sent[..2], [vec![1, 2], vec![3]]);
    assert_eq!(sent.len(), 3, "and the Request");
}

/// The 65th sender was accepted and closed, and its exit status was success. RFC 4340 section 5.6: code 9, "Too
/// Busy", "sent by a server that has too many connections".
#[test]
fn a_peer_above_the_limit_is_refused_as_too_busy() {
    let options = Options { accepted: Some(1), ..Options::insecure() };
    let (mut server, mut first, mut second) = (End::server(&options), End::new(2, &options), End::new(3, &options));
    let (key, one) = first.connect(at(0), &server);
    let turns = |now: Instant, ends: &mut [&mut End; 2], server: &mut End| {
        for step in 0..20 {
            let now = now + Duration::from_millis(step);
            for end in ends.iter_mut() {
                end.turn(now);
                end.carry(now, server, true);
                server.turn(now);
                server.carry(now, end, true);
            }
        }
    };
    turns(at(1), &mut [&mut first, &mut second], &mut server);
    assert_eq!(one.phase(), Phase::Open);
    let (_, two) = second.connect(at(30), &server);
    turns(at(30), &mut [&mut first, &mut second], &mut server);
    let busy = Reset { code: ResetCode::TOO_BUSY, data: [0; 3] };
    assert_eq!(two.phase(), Phase::Over(Closed::Reset(busy)));
    assert!(!std::iter::from_fn(|| two.events.with(Unread::next).flatten()).any(|event| event == Event::Connected));
    assert_eq!(server.driver.accepts.with(|accepts| accepts.waiting.len()), 1);
    let refused = Refused { from: Some(second.wire.address), why: Closed::Aborted(busy), handshakes: 1 };
    assert_eq!((server.driver.take_refused(), server.driver.counters().refused_handshakes), (Some(refused), 1));
    // The first connection closes and leaves room for another.
    first.driver.close(key, at(50));
    turns(at(50), &mut [&mut first, &mut second], &mut server);
    let (_, three) = second.connect(at(100), &server);
    turns(at(100), &mut [&mut first, &mut second], &mut server);
    assert_eq!(three.phase(), Phase::Open);
}

/// RFC 4340 section 8.1.2: a Request with a service code that the server does not have gets Reset 8, "Bad Service Code". The
/// server did not report it.
#[test]
fn a_peer_with_another_service_code_is_refused() {
    for dtls in [false, true] {
        let (served, options) = if dtls {
            (Options::server().unwrap(), Options::client(Trust::AnyPeer).unwrap())
        } else {
            (Options::insecure(), Options::insecure())
        };
        let options = Options { service: ServiceCode(7), ..options };
        let (mut server, mut client) = if dtls {
            (End::secure(1, &served), End::secure(2, &options))
        } else {
            (End::server(&served), End::new(2, &options))
        };
        let (_, mailbox) = client.connect(at(0), &server);
        exchange(1, &mut client, &mut server);
        let bad = Reset { code: ResetCode::BAD_SERVICE_CODE, data: [0; 3] };
        assert_eq!(mailbox.phase(), Phase::Over(Closed::Reset(bad)));
        let refused = Refused { from: Some(client.wire.address), why: Closed::Aborted(bad), handshakes: 1 };
        assert_eq!((server.driver.take_refused(), server.driver.counters().refused_handshakes), (Some(refused), 1));
        assert_eq!(server.driver.connections(), 0);
    }
}

/// Handshakes that fail for different reasons are counted apart, and a flood of reasons uses no memory.
#[test]
fn failed_handshakes_are_counted_by_reason() {
    let mut server = End::server(&Options::insecure());
    let path = |port: u16| Path::Udp { local: server.wire.address, remote: ([192, 0, 2, 2], port).into() };
    let paths: Vec<Path> = (0..100).map(path).collect();
    let reset = |code: u8, data: u8| Closed::Aborted(Reset { code: ResetCode(code), data: [data; 3] });
    let stranger = |found: &str| Closed::Security(SecureError::Fingerprint { found: found.to_owned() });
    for (path, why) in paths.iter().zip([reset(8, 0), stranger("AB"), reset(5, 1), stranger("CD"), reset(5, 2)]) {
        server.driver.record_refused(*path, why);
    }
    let mut taken = || {
        std::iter::from_fn(|| server.driver.take_refused())
            .map(|refused| (refused.from.unwrap().port(), refused.why, refused.handshakes))
            .collect::<Vec<_>>()
    };
    assert_eq!(taken(), [(0, reset(8, 0), 1), (3, stranger("CD"), 2), (4, reset(5, 2), 2)]);
    assert_eq!(taken(), []);
    for (path, code) in paths.iter().zip(0..) {
        server.driver.record_refused(*path, reset(code, 0));
    }
    let all: Vec<Refused> = std::iter::from_fn(|| server.driver.take_refused()).collect();
    assert_eq!((all.len(), all.iter().map(|refused| refused.handshakes).sum::<u64>()), (MAX_REASONS, 100));
    assert_eq!(server.driver.counters().refused_handshakes, 105);
}

/// The book said that TFRC does not retransmit. Its receiver sends Ack Vectors here (RFC 4342 section 6 allows
/// that), so the send queue detects datagrams overtaken by three later packets (RFC 4341 section 5, NUMDUPACK): a
/// datagram dropped once arrives at the second attempt. The receiver restores the order, unless the program declines.
#[test]
fn lost_datagrams_are_retransmitted_over_tfrc() {
    let ordered = resend_over_tfrc(Options::insecure().order_wait);
    assert_eq!(ordered, (0..100).collect::<Vec<u8>>());
    let mut unordered = resend_over_tfrc(None);
    assert!(!unordered.is_sorted());
    unordered.sort_unstable();
    assert_eq!(unordered, ordered);
}

/// Sends 100 datagrams, of which every tenth is lost once. Returns the datagrams as the program reads them.
fn resend_over_tfrc(order_wait: Option<Duration>) -> Vec<u8> {
    let mut options = Options { order_wait, ..Options::insecure() };
    options.queue.rules.resend = true;
    let (mut server, mut client) = (End::server(&options), End::new(2, &options));
    let (key, mailbox) = client.connect(at(0), &server);
    let (mut received, mut accepted, mut dropped, mut sent) = (Vec::new(), None, 0, [0_u32; 100]);
    for ms in (0..3000).step_by(10) {
        if (500..1500).contains(&ms) {
            // Data is recognized by its 400 bytes.
            client.driver.send_all(at(ms), key, &[Media::new(&[((ms - 500) / 10) as u8; 400])]);
        }
        client.turn(at(ms));
        // Every tenth datagram is dropped at its first attempt.
        lock(&client.wire.sent).retain(|datagram| {
            let first = datagram.len() >= 400 && datagram.last().is_some_and(|n| n % 10 == 5 && dropped <= n / 10);
            dropped += u8::from(first);
            !first
        });
        client.carry(at(ms), &mut server, true);
        server.turn(at(ms));
        server.carry(at(ms), &mut client, true);
        accepted = server.driver.accepts.with(|accepts| accepts.waiting.pop_front()).or(accepted);
        if let Some((.., mailbox)) = &accepted {
            let mut datagram = Vec::new();
            while let Some(Ok(())) = mailbox.incoming.with(|incoming| incoming.receive(&mut datagram)) {
                received.push(datagram[0]);
            }
        }
        while let Some(event) = mailbox.events.with(Unread::next).flatten() {
            if let Event::Media(number, Fate::Sent(_)) = event {
                sent[number as usize] += 1;
            }
        }
    }
    assert_eq!(dropped, 10);
    assert_eq!(sent.map(|times| times == 2), std::array::from_fn(|number| number % 10 == 5));
    received
}

/// Datagrams of the largest size have room for their position, also in the first flight, whose packets carry an
/// acknowledgement (RFC 4340 section 8.1.5): if one is lost, the receiver passes the later ones on after it.
#[test]
fn datagrams_of_the_largest_size_keep_their_order() {
    for lost in 0..10 {
        let options = Options::insecure();
        let (mut server, mut client) = (End::server(&options), End::new(2, &options));
        let (key, mailbox) = client.connect(at(0), &server);
        let (mut received, mut accepted, mut sent, mut dropped) = (Vec::new(), None, false, false);
        for ms in 0..1000 {
            if !sent && mailbox.phase() == Phase::Open {
                let all: Vec<Vec<u8>> = (0..10).map(|n| vec![n; mailbox.largest()]).collect();
                client.driver.send_all(at(ms), key, &all.iter().map(|data| Media::new(data)).collect::<Vec<_>>());
                sent = true;
            }
            client.turn(at(ms));
            lock(&client.wire.sent).retain(|datagram| {
                let is_lost = !dropped && datagram.len() > 1000 && datagram.ends_with(&[lost; 1000]);
                dropped |= is_lost;
                !is_lost
            });
            client.carry(at(ms), &mut server, true);
            server.turn(at(ms));
            server.carry(at(ms), &mut client, true);
            accepted = server.driver.accepts.with(|accepts| accepts.waiting.pop_front()).or(accepted);
            if let Some((.., mailbox)) = &accepted {
                let mut datagram = Vec::new();
                while let Some(Ok(())) = mailbox.incoming.with(|incoming| incoming.receive(&mut datagram)) {
                    received.push(datagram[0]);
                }
            }
        }
        assert!(dropped, "{lost}");
        assert_eq!(received, (0..10).collect::<Vec<u8>>(), "{lost} is lost once");
    }
}

/// Runs both ends for 100 ms and carries their datagrams each millisecond.
fn exchange(from: u64, client: &mut End, server: &mut End) {
    for ms in from..from + 100 {
        client.turn(at(ms));
        client.carry(at(ms), server, true);
        server.turn(at(ms));
        server.carry(at(ms), client, true);
    }
}

/// A client over DTLS that closed reported "the peer closed the connection": a server with a limit ended the session
/// before it sent the Reset that answers a Close (RFC 4340 section 8.3). If the Reset is lost, the session's
/// close_notify arrives alone.
#[test]
fn the_end_that_closes_first_over_dtls_closed_here() {
    for accepted in [None, Some(1)] {
        for reset_arrives in [true, false] {
            let options = Options { accepted, ..Options::server().unwrap() };
            let (mut server, mut client) =
                (End::secure(1, &options), End::secure(2, &Options::client(Trust::AnyPeer).unwrap()));
            let (key, mailbox) = client.connect(at(0), &server);
            exchange(1, &mut client, &mut server);
            assert_eq!(mailbox.phase(), Phase::Open);
            let (.., peer) = server.driver.accepts.change(|accepts| accepts.waiting.pop_front()).unwrap();
            client.driver.close(key, at(200));
            client.turn(at(200));
            client.carry(at(200), &mut server, true);
            server.turn(at(200));
            assert_eq!(peer.phase(), Phase::Over(Closed::ByPeer));
            {
                let mut answers = lock(&server.wire.sent);
                assert_eq!(answers.len(), 2, "a Reset, and a close_notify");
                if !reset_arrives {
                    answers.remove(0);
                }
            }
            server.carry(at(200), &mut client, true);
            client.turn(at(200));
            assert_eq!(mailbox.phase(), Phase::Over(Closed::Here), "{accepted:?}, {reset_arrives}");
        }
    }
}

/// RFC 4340 section 5.6, code 9: the Reset "Too Busy" of a full server was not sent over DTLS, as its session had
/// ended.
#[test]
fn a_peer_above_the_limit_is_refused_as_too_busy_over_dtls() {
    let options = Options { accepted: Some(0), ..Options::server().unwrap() };
    let (mut server, mut client) =
        (End::secure(1, &options), End::secure(2, &Options::client(Trust::AnyPeer).unwrap()));
    let (_, mailbox) = client.connect(at(0), &server);
    exchange(1, &mut client, &mut server);
    let busy = Reset { code: ResetCode::TOO_BUSY, data: [0; 3] };
    assert_eq!(mailbox.phase(), Phase::Over(Closed::Reset(busy)));
}
