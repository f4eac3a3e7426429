//! Two sockets on the loopback interface.

use super::*;
use headway_rtp::{Event, RtpPacket};
use headway_units::Instant;

const LONG: Duration = Duration::from_secs(20);

fn options(controller: &str) -> RtpOptions {
    RtpOptions::new(SessionOptions::new(controller).unwrap())
}

fn bind(options: &RtpOptions) -> RtpSocket {
    RtpSocket::bind("127.0.0.1:0".parse().unwrap(), options).unwrap()
}

fn rtp(ssrc: u32, sequence: u16) -> Vec<u8> {
    let packet = RtpPacket { payload_type: 96, sequence, ssrc, payload: &[0; 500], ..RtpPacket::default() };
    let mut bytes = vec![];
    packet.encode(&mut bytes).unwrap();
    bytes
}

/// Sends packets until the peer has acknowledged 20, and returns the datagrams that arrived.
fn exchange(sender: &RtpSocket, receiver: &RtpSocket) -> Vec<Vec<u8>> {
    let (mut all, mut datagram) = (vec![], vec![]);
    for sequence in 0..4000 {
        sender.send(Media::new(&rtp(7, sequence))).unwrap();
        while let Some(kind) = receiver.recv_timeout(&mut datagram, Duration::from_millis(5)) {
            assert_eq!(kind, Ok(RtpKind::Rtp));
            all.push(datagram.clone());
        }
        if sender.counters().acknowledged_packets >= 20 {
            return all;
        }
    }
    panic!("{:?}", sender.counters());
}

/// One port: the sender of the first packet becomes the peer. The sender gets a rate and a round trip.
#[test]
fn rtp_and_rtcp_on_one_port() {
    let (receiver, sender) = (bind(&options("none")), bind(&options("scream2")));
    sender.connect(receiver.local_addr()).unwrap();
    let arrived = exchange(&sender, &receiver);
    assert_eq!(arrived[0], rtp(7, 0));
    assert!(sender.rate().is_some() && sender.round_trip().is_some_and(|rtt| rtt < Duration::from_secs(1)));
    let event = std::iter::from_fn(|| sender.event_timeout(LONG));
    assert!(event.into_iter().any(|event| matches!(event, RtpEvent::Session(Event::Rate(_)))));
    assert_eq!(sender.counters().refused_packets, 0);
}

/// Two ports, RFC 3550 section 11: RTP on an even one, and RTCP on the next.
#[test]
fn rtp_and_rtcp_on_two_ports() {
    let pair = |controller| RtpOptions { is_multiplexed: false, ..options(controller) };
    let (receiver, sender) = (bind(&pair("none")), bind(&pair("gcc")));
    assert_eq!((receiver.local_addr().port() % 2, sender.local_addr().port() % 2), (0, 0));
    sender.connect(receiver.local_addr()).unwrap();
    exchange(&sender, &receiver);
    assert!(sender.round_trip().is_some());
    let odd = "127.0.0.1:5005".parse().unwrap();
    assert!(matches!(RtpSocket::bind(odd, &pair("gcc")), Err(EndpointError::System(_))));
}

const REPORT: [u8; 8] = [0x80, 201, 0, 1, 0, 0, 0, 7];

/// Socket that sends any datagram.
struct Stranger(crate::socket::Socket);

impl Stranger {
    fn new() -> Self {
        Self(crate::socket::Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap())
    }

    fn send(&self, to: SocketAddr, datagram: &[u8]) {
        self.0.send(self.0.path_to(to).unwrap(), headway_units::Ecn::NotEct, datagram, datagram.len()).unwrap();
    }
}

/// Only a valid RTP packet determines the peer, not RTCP and malformed datagrams. Then datagrams of others are ignored.
/// The loopback interface keeps the order of datagrams.
#[test]
fn datagrams_of_others_are_ignored() {
    let (receiver, sender, stranger) = (bind(&options("none")), bind(&options("none")), Stranger::new());
    let mut datagram = vec![];
    // RTCP, DTLS, and RTP that ends within its header.
    for bytes in [&REPORT[..], &[22, 254, 253, 0], &rtp(2, 2)[..11]] {
        stranger.send(receiver.local_addr(), bytes);
    }
    sender.connect(receiver.local_addr()).unwrap();
    sender.send(Media::new(&rtp(1, 1))).unwrap();
    assert_eq!(receiver.recv_timeout(&mut datagram, LONG), Some(Ok(RtpKind::Rtp)));
    assert_eq!((&datagram, receiver.ignored_datagrams(), receiver.counters().refused_packets), (&rtp(1, 1), 1, 2));
    for bytes in [&REPORT[..], &rtp(2, 2)] {
        stranger.send(receiver.local_addr(), bytes);
    }
    sender.send(Media::new(&rtp(1, 3))).unwrap();
    assert_eq!(receiver.recv_timeout(&mut datagram, LONG), Some(Ok(RtpKind::Rtp)));
    assert_eq!((&datagram, receiver.ignored_datagrams()), (&rtp(1, 3), 3));
}

/// With two ports, a datagram on the RTCP port does not determine the peer, and RTCP arrives from the port after that
/// of the peer's RTP.
#[test]
fn the_port_of_rtcp_does_not_determine_the_peer() {
    let pair = RtpOptions { is_multiplexed: false, ..options("none") };
    let (receiver, sender, stranger) = (bind(&pair), bind(&pair), Stranger::new());
    let mut datagram = vec![];
    let rtcp = SocketAddr::new(receiver.local_addr().ip(), receiver.local_addr().port() + 1);
    let wait_for_ignored = |count| {
        for _ in 0..5000 {
            if receiver.ignored_datagrams() == count {
                return;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        panic!("{} datagrams were ignored", receiver.ignored_datagrams());
    };
    for (count, bytes) in (1..).zip([&REPORT[..], &rtp(2, 2)]) {
        stranger.send(rtcp, bytes);
        wait_for_ignored(count);
    }
    sender.connect(receiver.local_addr()).unwrap();
    sender.send(Media::new(&rtp(1, 1))).unwrap();
    assert_eq!(receiver.recv_timeout(&mut datagram, LONG), Some(Ok(RtpKind::Rtp)));
    stranger.send(rtcp, &REPORT);
    wait_for_ignored(3);
    sender.send_rtcp(&REPORT).unwrap();
    assert_eq!(receiver.recv_timeout(&mut datagram, LONG), Some(Ok(RtpKind::Rtcp)));
}

/// RFC 3550 section 11: RTCP has the port after that of RTP.
#[test]
fn addresses_of_no_peer_are_refused() {
    let connect = |is_multiplexed, peer: &str| {
        let socket = bind(&RtpOptions { is_multiplexed, ..options("none") });
        socket.connect(peer.parse().unwrap()).map_err(|error| error.to_string())
    };
    assert_eq!(connect(true, "127.0.0.1:65535"), Ok(()));
    for (is_multiplexed, peer, why) in [
        (false, "127.0.0.1:65535", "port 65535 has no next port for RTCP; expected an RTP port up to 65534"),
        (
            true,
            "255.255.255.255:5004",
            "the address is that of all hosts (broadcast); expected the address of one host",
        ),
        (
            true,
            "[::1]:5004",
            "::1 cannot be reached from 127.0.0.1; expected an address of the same family, IPv4 or IPv6",
        ),
    ] {
        assert_eq!(connect(is_multiplexed, peer), Err(why.to_owned()));
    }
}

/// A program with its own RTCP gets that of the peer; one with a canonical name leaves it to the session.
#[test]
fn rtcp_of_the_program() {
    let mut named = options("none");
    named.session.cname = Some("a@example.org".into());
    let (receiver, sender) = (bind(&options("none")), bind(&named));
    sender.connect(receiver.local_addr()).unwrap();
    let mut datagram = vec![];
    sender.send(Media::new(&rtp(1, 1))).unwrap();
    assert_eq!(receiver.recv_timeout(&mut datagram, LONG), Some(Ok(RtpKind::Rtp)));
    sender.send_rtcp(&REPORT).unwrap();
    assert_eq!(receiver.recv_timeout(&mut datagram, LONG), Some(Ok(RtpKind::Rtcp)));
    assert_eq!(datagram, REPORT);
    receiver.send_rtcp(&REPORT).unwrap();
    assert_eq!(sender.recv_timeout(&mut datagram, Duration::from_millis(50)), None);
    // The end of a session with a canonical name is a BYE.
    drop(sender);
    assert_eq!(receiver.recv_timeout(&mut datagram, LONG), Some(Ok(RtpKind::Rtcp)));
    assert!(
        headway_rtp::RtcpPackets::new(&datagram)
            .any(|packet| { matches!(packet, Ok(headway_rtp::RtcpPacket::Bye { sources: &[_, _] })) })
    );
}

/// ECN fields reach the controller: SCReAM sends ECT(1).
#[test]
fn packets_are_ecn_capable_on_request() {
    let server = crate::socket::Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    for (ecn, expected) in [(true, headway_units::Ecn::Ect1), (false, headway_units::Ecn::NotEct)] {
        let mut options = options("scream2");
        options.session.ecn = ecn;
        let sender = bind(&options);
        sender.connect(server.local_addr()).unwrap();
        sender.send(Media::new(&rtp(1, 1))).unwrap();
        let (mut batch, mut arrived) = (crate::socket::Batch::new(), None);
        for _ in 0..5000 {
            if server.receive(&mut batch).is_ok() {
                server.datagrams(&mut batch, |datagram, _| arrived = Some(datagram.ecn));
                break;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        assert_eq!(arrived, Some(expected));
    }
}

/// RFC 8083 section 4.1: a sender without congestion control and without feedback is stopped after 15 s. The threads do
/// not run, so that the test sets the time.
#[test]
fn the_circuit_breaker_stops_a_sender_without_feedback() {
    let options = options("none");
    let session = Session::new(options.clock.now(), options.session.clone(), Random::new(1, "rtp")).unwrap();
    let shared = Shared::bind("127.0.0.1:0".parse().unwrap(), &options, session).unwrap();
    let silent = SocketAddr::from(([127, 0, 0, 1], 9));
    shared.connect(silent).unwrap();
    let (mut now, mut stopped) = (options.clock.now(), None);
    for sequence in 0..2000 {
        now += Duration::from_millis(10);
        let tripped = shared.run_at(now, |session| session.send(now, headway_media::Media::new(now, rtp(1, sequence))));
        if tripped.is_err() {
            stopped = Some(now);
            break;
        }
    }
    let stopped = stopped.unwrap_or(Instant::FAR_FUTURE).since(options.clock.now());
    assert!((14.0..18.0).contains(&stopped.as_secs_f64()), "{stopped}");
    let breaker = std::iter::from_fn(|| shared.events.with(|events| events.next().flatten()))
        .find(|event| matches!(event, RtpEvent::Breaker(BreakerReason::NoReports(_))));
    assert!(breaker.is_some());
}

#[test]
fn options_out_of_range_are_refused() {
    for (key, options) in
        [("unread", RtpOptions { unread: 0, ..options("gcc") }), ("events", RtpOptions { events: 0, ..options("gcc") })]
    {
        let refused = RtpSocket::bind("127.0.0.1:0".parse().unwrap(), &options);
        assert!(matches!(refused, Err(EndpointError::Options(error)) if error.key == key));
    }
}
