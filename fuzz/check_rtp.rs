//! Invariants of an RTP session whose peer sends any datagrams. Shared by the fuzz target and the test that replays
//! `fuzz/corpus`.
//!
//! The first byte chooses the controller. Then follow datagrams: the time since the previous one in ms, the length in
//! bytes, and the contents.

use headway_rtp::{
    Bytes, Duration, Ecn, Handled, Instant, Media, Random, RtcpPackets, RtpPacket, Session, SessionOptions,
};

const CONTROLLERS: [&str; 4] = ["scream2", "nada", "tcp-like", "tfrc"];
/// Stream of the session, and its first sequence number.
const SSRC: u32 = 0x2222_2222;
const FIRST: u16 = 65_530;
const PACKET_SIZE: usize = 600;
/// More datagrams than a session may send at one time: its window, and RTCP.
const ENDLESS: usize = 2000;

fn packet(sequence: u16) -> Vec<u8> {
    let mut bytes = vec![];
    let packet = RtpPacket { payload_type: 96, sequence, ssrc: SSRC, payload: &[0; 80], ..RtpPacket::default() };
    packet.encode(&mut bytes).expect("a packet of fixed fields can be encoded");
    bytes
}

fn check_packet(bytes: &[u8]) {
    if let Ok(packet) = RtpPacket::parse(bytes) {
        let mut encoded = vec![];
        packet.encode(&mut encoded).expect("a decoded packet can be encoded");
        let kept = bytes.len() - usize::from(packet.padding);
        assert_eq!((encoded.len(), &encoded[..kept]), (bytes.len(), &bytes[..kept]));
    }
    assert!(RtcpPackets::new(bytes).count() <= bytes.len().div_ceil(4));
}

pub(crate) fn check(bytes: &[u8]) {
    let Some((choice, mut rest)) = bytes.split_first() else { return };
    let mut options =
        SessionOptions::new(CONTROLLERS[usize::from(*choice) % CONTROLLERS.len()]).expect("the controller exists");
    options.packet_size = Bytes::new(PACKET_SIZE as u64);
    options.cname = (choice & 64 > 0).then(|| "fuzz@example.org".into());
    options.clock_rates.insert(96, 90_000);
    let mut now = Instant::from_secs(1);
    let mut session = Session::new(now, options, Random::new(1, "fuzz")).expect("the options are valid");
    let mut sequence = FIRST;
    while let Some((&[gap, length], after)) = rest.split_first_chunk() {
        let (datagram, after) = after.split_at_checked(length.into()).unwrap_or((after, &[]));
        rest = after;
        check_packet(datagram);
        now += Duration::from_millis(gap.into());
        session.handle_timeout(now);
        session.send(now, Media::new(now, packet(sequence))).expect("the packet is valid");
        sequence = sequence.wrapping_add(1 + u16::from(gap == 7));
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(gap % 4)];
        if let Ok(Handled::Rtp(packet)) = session.handle(now, datagram, ecn) {
            assert!(packet.ssrc != SSRC, "the session's own stream");
        }
        let mut out = vec![];
        let mut sent = 0;
        while session.poll_transmit(now, &mut out).is_some() {
            assert!(out.len() <= PACKET_SIZE, "{} B", out.len());
            sent += 1;
            assert!(sent < ENDLESS, "the session sends without end");
        }
        let counters = session.counters();
        assert!(
            counters.acknowledged_packets <= counters.sent_packets && counters.lost_packets <= counters.sent_packets
        );
        assert!(session.poll_timeout().is_none_or(|at| at > now), "a timer that is due was not handled");
        while let Some(event) = session.poll_event() {
            let _ = event;
        }
    }
}
