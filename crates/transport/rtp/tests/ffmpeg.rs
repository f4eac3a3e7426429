//! RTP and RTCP that ffmpeg wrote.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_rtp::{
    Ecn, Handled, Instant, Random, RtcpPacket, RtcpPackets, RtpPacket, SenderInfo, Session, SessionOptions,
};

/// Returns the datagrams of the capture, with whether each is RTP.
fn datagrams() -> Vec<(bool, Vec<u8>)> {
    let lines = include_str!("data/ffmpeg.hex").lines().filter(|line| !line.starts_with('#'));
    let datagram = |line: &str| {
        let (kind, hex) = line.split_once(' ').unwrap();
        let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
        (kind == "rtp", bytes.collect())
    };
    lines.map(datagram).collect()
}

/// H.264 in packets of 200 B (RFC 6184): single NAL units or FU-A, with the marker at the end of a picture.
#[test]
fn packets_of_ffmpeg_are_read_and_written() {
    let all = datagrams();
    let packets: Vec<RtpPacket<'_>> =
        all.iter().filter(|(is_rtp, _)| *is_rtp).map(|(_, bytes)| RtpPacket::parse(bytes).unwrap()).collect();
    assert_eq!(packets.len(), 10);
    for (index, packet) in (0..).zip(&packets) {
        let fields = (packet.payload_type, packet.ssrc, packet.sequence, packet.timestamp);
        assert_eq!(fields, (96, 0x1234_5678, 0x015a + index, 0x4cf6_49ca));
        assert!(!packet.marker && packet.extension.is_none() && packet.csrcs.is_empty() && packet.padding == 0);
        assert!([24, 28].contains(&(packet.payload[0] & 31)), "STAP-A and FU-A: {}", packet.payload[0]);
        let mut encoded = vec![];
        packet.encode(&mut encoded).unwrap();
        assert!(all.iter().any(|(_, bytes)| *bytes == encoded));
    }
}

/// A session reports all packets, and its receiver report echoes the sender report.
#[test]
fn a_session_receives_from_ffmpeg() {
    let mut options = SessionOptions::new("none").unwrap();
    options.cname = Some("viewer@example.org".into());
    let mut session = Session::new(Instant::ZERO, options, Random::new(1, "viewer")).unwrap();
    let mut now = Instant::from_millis(1);
    for (is_rtp, bytes) in datagrams() {
        match session.handle(now, &bytes, Ecn::NotEct).unwrap() {
            Handled::Rtp(_) => assert!(is_rtp),
            Handled::Rtcp => assert!(!is_rtp),
        }
    }
    let (mut reports, mut datagram) = (vec![], vec![]);
    for _ in 0..2 {
        now = session.poll_timeout().unwrap();
        while session.poll_transmit(now, &mut datagram).is_some() {
            reports.push(datagram.clone());
        }
    }
    let feedback = headway_rate::CcfbPacket::decode(&reports[0], headway_rtp::NumReports::Count).unwrap();
    let [block] = &feedback.blocks[..] else { panic!("{feedback:?}") };
    assert_eq!((block.ssrc, block.begin_seq, block.arrivals.len()), (0x1234_5678, 0x015a, 10));
    let Some(Ok(RtcpPacket::ReceiverReport { mut blocks, .. })) = RtcpPackets::new(&reports[1]).next() else {
        panic!()
    };
    assert_eq!(blocks.next().map(|block| (block.ssrc, block.last_sr)), Some((0x1234_5678, 0x3975_96c8)));
    // The sender report is that of the first packet.
    let sender_report = datagrams().into_iter().find(|(is_rtp, _)| !is_rtp).unwrap().1;
    let Some(Ok(RtcpPacket::SenderReport { info, .. })) = RtcpPackets::new(&sender_report).next() else { panic!() };
    assert_eq!(info, SenderInfo { ntp: 0xeeb8_3975_96c8_b439, rtp_timestamp: 0x4cf6_49ca, packets: 0, octets: 0 });
}
