//! Regular RTCP reports (RFC 3550 section 6) of sessions with a canonical name.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_rtp::{
    Bytes, Ecn, Event, Instant, Media, Random, RtcpPacket, RtcpPackets, RtpPacket, Session, SessionOptions,
};
use std::collections::BTreeSet;

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn rtp(ssrc: u32, sequence: u16, timestamp: u32) -> Vec<u8> {
    let packet = RtpPacket { payload_type: 96, sequence, timestamp, ssrc, payload: &[0; 50], ..RtpPacket::default() };
    let mut bytes = vec![];
    packet.encode(&mut bytes).unwrap();
    bytes
}

fn named(cname: &str, ssrc: u32, packet_size: u64) -> Session {
    let mut options = SessionOptions::new("none").unwrap();
    (options.cname, options.ssrc, options.packet_size) = (Some(cname.into()), Some(ssrc), Bytes::new(packet_size));
    options.clock_rates.insert(96, 90_000);
    Session::new(ms(0), options, Random::new(1, "session")).unwrap()
}

/// Returns the regular RTCP datagrams that are due.
fn regular(session: &mut Session, now: Instant) -> Vec<Vec<u8>> {
    session.handle_timeout(now);
    let (mut all, mut datagram) = (vec![], vec![]);
    while let Some(transmit) = session.poll_transmit(now, &mut datagram) {
        if transmit.is_rtcp && datagram[1] != 205 {
            all.push(datagram.clone());
        }
    }
    all
}

fn packets(datagram: &[u8]) -> Vec<RtcpPacket<'_>> {
    RtcpPackets::new(datagram).map(Result::unwrap).collect()
}

/// Compound reports each 2.5 to 7.5 s, the first after half of that (section 6.2). The stream ends after 30 s: it has
/// sender reports, with the RTP timestamp of their time, while a packet was sent since the last report but one
/// (section 6.4), and then receiver reports. The peer's reports echo the sender reports.
#[test]
fn regular_reports_of_both_ends() {
    let (mut a, mut b) = (named("a@example.org", 1, 1200), named("b@example.org", 2, 1200));
    let (mut datagram, mut of_a, mut of_b) = (vec![], vec![], vec![]);
    for step in 0..6000_u64 {
        let now = ms(10 * step);
        if step < 3000 && step % 10 == 0 {
            a.send(now, Media::new(now, rtp(1, (step / 10) as u16, 900 * step as u32))).unwrap();
        }
        a.handle_timeout(now);
        while let Some(transmit) = a.poll_transmit(now, &mut datagram) {
            // One packet of 300 is lost.
            if transmit.is_rtcp || datagram[2..4] != [0, 50] {
                b.handle(now, &datagram, Ecn::NotEct).unwrap();
            }
            if transmit.is_rtcp {
                of_a.push((now, datagram.clone()));
            }
        }
        for report in regular(&mut b, now) {
            a.handle(now, &report, Ecn::NotEct).unwrap();
            of_b.push((now, report));
        }
    }
    for reports in [&of_a, &of_b] {
        let times: Vec<u64> = reports.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
        assert!((1250..=3760).contains(&times[0]), "{times:?}");
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (2500..=7510).contains(gap)) && gaps.len() > 6, "{gaps:?}");
    }
    let types: Vec<u8> = of_a.iter().map(|(_, bytes)| bytes[1]).collect();
    let during = of_a.iter().filter(|(at, _)| *at < ms(29_900)).count();
    assert!(types[..during + 2].iter().all(|kind| *kind == 200), "{types:?}");
    assert!(types.len() > during + 2 && types[during + 2..].iter().all(|kind| *kind == 201), "{types:?}");

    let (at, bytes) = &of_a[1];
    let [RtcpPacket::SenderReport { ssrc: 1, info, .. }, RtcpPacket::Other { packet_type: 202, count: 1, .. }] =
        packets(bytes)[..]
    else {
        panic!("{bytes:?}")
    };
    let sent = at.as_nanos().div_ceil(100_000_000) as u32;
    assert_eq!((info.packets, info.octets), (sent, 50 * sent));
    assert_eq!(u64::from(info.rtp_timestamp), at.as_nanos() * 9 / 100_000);
    assert_eq!(info.ntp >> 32, at.as_nanos() / 1_000_000_000);

    let blocks: Vec<_> = of_b
        .iter()
        .filter_map(|(at, bytes)| match packets(bytes)[0] {
            RtcpPacket::ReceiverReport { ssrc: 2, mut blocks } => blocks.next().map(|block| (*at, block)),
            _ => panic!("{bytes:?}"),
        })
        .collect();
    let (at, block) = blocks.last().unwrap();
    assert!(blocks.len() < of_b.len(), "nothing has arrived since the last report");
    assert_eq!((block.ssrc, block.cumulative_lost, block.extended_highest), (1, 1, 299));
    // LSR and DLSR: the last sender report before this one.
    let (sent, _) = of_a.iter().rfind(|(sent, bytes)| bytes[1] == 200 && sent <= at).unwrap();
    assert_eq!(u128::from(block.last_sr), u128::from(sent.as_nanos()) * 65_536 / 1_000_000_000);
    assert_eq!(u128::from(block.delay_since_last_sr), u128::from(at.since(*sent).as_nanos()) * 65_536 / 1_000_000_000);

    // The end of the stream.
    a.close(ms(70_000));
    assert!(a.poll_transmit(ms(70_000), &mut datagram).is_some_and(|transmit| transmit.is_rtcp));
    b.handle(ms(70_010), &datagram, Ecn::NotEct).unwrap();
    let bye = std::iter::from_fn(|| b.poll_event()).find(|event| matches!(event, Event::Bye(_)));
    assert_eq!(bye, Some(Event::Bye(1)));
}

/// Section 6.4: 48 of 64 sources fit into a datagram of 1200 B, 31 in the first packet and 17 in an additional one. The
/// others are in the next report.
#[test]
fn sources_take_turns_in_reports() {
    let mut session = named("viewer@example.org", 1, 1200);
    let mut reports = vec![];
    for step in 0..300 {
        let now = ms(100 * step);
        for ssrc in 100..164 {
            session.handle(now, &rtp(ssrc, step as u16, 0), Ecn::NotEct).unwrap();
        }
        reports.extend(regular(&mut session, now));
    }
    let blocks = |report: &Vec<u8>| -> Vec<Vec<u32>> {
        assert!(report.len() <= 1200);
        let of = |packet: RtcpPacket<'_>| match packet {
            RtcpPacket::ReceiverReport { ssrc: 1, blocks } => Some(blocks.map(|block| block.ssrc).collect()),
            _ => None,
        };
        packets(report).into_iter().filter_map(of).collect()
    };
    let expected = |from: u32, count: u32| -> Vec<u32> { (from..from + count).map(|n| 100 + n % 64).collect() };
    for (index, report) in (0..).zip(&reports) {
        assert_eq!(blocks(report), [expected(48 * index, 31), expected(48 * index + 31, 17)], "{index}");
    }
    assert!(reports.len() > 3);
}

/// Datagrams of at most 256 B with 40 streams: each starts with a report and has the canonical name of its sources
/// (section 6.1), each stream is in one, and the last ones end all streams.
#[test]
fn reports_of_many_streams_are_split() {
    let name = "n".repeat(150);
    let mut session = named(&name, 99, 256);
    for ssrc in 0..40 {
        session.send(ms(0), Media::new(ms(0), rtp(ssrc, 1, 0))).unwrap();
    }
    assert!(regular(&mut session, ms(0)).is_empty());
    for ssrc in 100..164 {
        session.handle(ms(1), &rtp(ssrc, 1, 0), Ecn::NotEct).unwrap();
    }
    // Sources of this end by report, source description and BYE, and reported sources.
    let check = |datagrams: &[Vec<u8>]| {
        let (mut reported, mut names, mut ended, mut sources) = (vec![], vec![], vec![], BTreeSet::new());
        for datagram in datagrams {
            assert!(datagram.len() <= 256);
            assert!(matches!(datagram[1], 200 | 201));
            for packet in packets(datagram) {
                match packet {
                    RtcpPacket::SenderReport { ssrc, blocks, .. } | RtcpPacket::ReceiverReport { ssrc, blocks } => {
                        reported.push(ssrc);
                        sources.extend(blocks.map(|block| block.ssrc));
                    }
                    RtcpPacket::Other { packet_type: 202, count, body } => {
                        assert_eq!(body.len(), 160 * usize::from(count));
                        for chunk in body.chunks(160) {
                            assert_eq!(chunk[4..156], [&[1, 150], name.as_bytes()].concat());
                            names.push(u32::from_be_bytes(*chunk.first_chunk().unwrap()));
                        }
                    }
                    RtcpPacket::Bye { sources } => ended.extend(sources.iter().map(|ssrc| u32::from_be_bytes(*ssrc))),
                    _ => panic!("{packet:?}"),
                }
            }
        }
        let all: Vec<u32> = (0..40).chain([99]).collect();
        assert_eq!((&reported, &names), (&all, &all));
        (ended, sources)
    };
    let datagrams = regular(&mut session, ms(4000));
    assert_eq!(check(&datagrams), (vec![], (100..164).collect()));
    session.close(ms(5000));
    let (ended, _) = check(&regular(&mut session, ms(5000)));
    assert_eq!(ended, (0..40).chain([99]).collect::<Vec<u32>>());
}

/// Section 6.3.7: a member that has sent nothing sends no BYE. Feedback is a packet, too.
#[test]
fn a_session_that_has_sent_nothing_sends_no_bye() {
    for has_received in [false, true] {
        let mut session = named("viewer@example.org", 1, 1200);
        if has_received {
            session.handle(ms(1), &rtp(5, 1, 0), Ecn::NotEct).unwrap();
        }
        assert!(regular(&mut session, ms(1000)).is_empty());
        session.close(ms(1001));
        assert_eq!(regular(&mut session, ms(1001)).len(), usize::from(has_received));
    }
}
