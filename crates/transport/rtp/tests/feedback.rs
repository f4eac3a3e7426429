//! Feedback of any peer, written by hand: what is used, and what is refused with a reason.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_rtp::{
    Duration, Ecn, Event, Handled, Instant, Media, Random, Refused, RefusedFeedback, RtpPacket, SendError, Session,
    SessionOptions,
};

const SSRC: u32 = 0x2222_2222;

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn rtp(ssrc: u32, sequence: u16) -> Vec<u8> {
    let packet = RtpPacket { payload_type: 96, sequence, ssrc, payload: &[0; 100], ..RtpPacket::default() };
    let mut bytes = vec![];
    packet.encode(&mut bytes).unwrap();
    bytes
}

fn session(controller: &str) -> Session {
    Session::new(ms(0), SessionOptions::new(controller).unwrap(), Random::new(1, "session")).unwrap()
}

/// Sends packets with these sequence numbers, one each 10 ms from 10 ms on.
fn sender(sequences: &[u16]) -> Session {
    let mut session = session("scream2");
    let mut datagram = vec![];
    for (index, sequence) in sequences.iter().enumerate() {
        let now = ms(10 + 10 * index as u64);
        session.send(now, Media::new(now, rtp(SSRC, *sequence))).unwrap();
        while session.poll_transmit(now, &mut datagram).is_some() {}
    }
    assert_eq!(session.counters().sent_packets, sequences.len() as u64);
    session
}

/// Feedback with one block: words of 16 bits, and the time of the report in 1/65536 s.
fn feedback(ssrc: u32, begin: u16, words: &[u16], timestamp: u32) -> Vec<u8> {
    let mut bytes = vec![0x8b, 205, 0, (4 + words.len().div_ceil(2)) as u8, 0x11, 0x11, 0x11, 0x11];
    bytes.extend(ssrc.to_be_bytes());
    bytes.extend(begin.to_be_bytes());
    bytes.extend((words.len() as u16).to_be_bytes());
    bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    if words.len() % 2 == 1 {
        bytes.extend([0, 0]);
    }
    bytes.extend(timestamp.to_be_bytes());
    bytes
}

/// Received, this many 1/1024 s before the report.
const fn received(ticks: u16) -> u16 {
    0x8000 | ticks
}

fn handle(session: &mut Session, at: u64, datagram: &[u8]) {
    assert_eq!(session.handle(ms(at), datagram, Ecn::NotEct), Ok(Handled::Rtcp));
}

fn refusal(session: &mut Session) -> Option<RefusedFeedback> {
    std::iter::from_fn(|| session.poll_event()).find_map(|event| match event {
        Event::RefusedFeedback(reason) => Some(reason),
        _ => None,
    })
}

/// RFC 8888 section 3.1: packet 65535 was received 512/1024 s before the report; 0 was not; 1 just before. The round
/// trip is measured with packet 1, sent at 30 ms, and held for 64/1024 s = 62.5 ms: 150 - 30 - 62.5 ms.
#[test]
fn the_round_trip_excludes_the_time_that_the_peer_held_its_report() {
    let mut session = sender(&[65_535, 0, 1]);
    handle(&mut session, 150, &feedback(SSRC, 65_535, &[received(512), 0, received(64)], 0x8000));
    assert_eq!(session.round_trip(), Some(Duration::from_micros(57_500)));
    let counters = session.counters();
    assert_eq!((counters.acknowledged_packets, counters.feedback, counters.refused_feedback), (3, 1, 0));
}

/// An age out of range or unknown is an arrival without a time.
#[test]
fn an_arrival_without_time_measures_no_round_trip() {
    for word in [0x9ffe, 0x9fff] {
        let mut session = sender(&[1]);
        handle(&mut session, 100, &feedback(SSRC, 1, &[word], 0));
        assert_eq!((session.round_trip(), session.counters().acknowledged_packets), (None, 1));
    }
}

/// A packet that was not sent cannot have arrived: a later number, one that the send queue dropped, or one before the
/// first. Numbers that are only listed as not received are no claim.
#[test]
fn feedback_about_packets_that_were_not_sent_is_refused() {
    for sequence in [99, 101, 104] {
        let mut session = sender(&[100, 102, 103]);
        let mut words = [0; 8];
        words[1] = received(9);
        words[usize::from(sequence - 98)] = received(1);
        // The claim about packet 100 is not used either.
        words[2] = received(3);
        words[1] = if sequence == 99 { received(1) } else { 0 };
        handle(&mut session, 100, &feedback(SSRC, 98, &words, 0));
        assert_eq!(refusal(&mut session), Some(RefusedFeedback::NeverSent { ssrc: SSRC, sequence }));
        assert_eq!((session.counters().acknowledged_packets, session.counters().refused_feedback), (0, 1));
    }
    let mut session = sender(&[100, 102, 103]);
    handle(&mut session, 100, &feedback(SSRC, 98, &[0, 0, received(3), 0, 0, received(1), 0, 0], 0));
    assert_eq!((refusal(&mut session), session.counters().acknowledged_packets), (None, 3));
}

/// A block of another stream is ignored, and the next one is used.
#[test]
fn blocks_of_unknown_streams_are_ignored() {
    let mut session = sender(&[1]);
    let mut datagram = feedback(9, 1, &[received(1), received(1)], 0);
    let end = datagram.len() - 4;
    datagram.splice(end..end, feedback(SSRC, 1, &[received(1)], 0)[8..20].iter().copied());
    datagram[3] += 3;
    handle(&mut session, 100, &datagram);
    assert_eq!(refusal(&mut session), Some(RefusedFeedback::UnknownStream { ssrc: 9 }));
    assert_eq!((session.counters().acknowledged_packets, session.counters().refused_feedback), (1, 1));
}

/// Feedback of which no block is used does not count as feedback. One without blocks does: the peer reports that nothing
/// has arrived.
#[test]
fn feedback_about_unknown_streams_only_is_not_counted() {
    let mut session = sender(&[1]);
    handle(&mut session, 100, &feedback(9, 1, &[received(1)], 0));
    assert_eq!((session.counters().feedback, session.counters().refused_feedback), (0, 1));
    handle(&mut session, 110, &[0x8b, 205, 0, 2, 0x11, 0x11, 0x11, 0x11, 0, 0, 0, 0]);
    assert_eq!((session.counters().feedback, session.counters().refused_feedback), (1, 1));
}

/// The record holds 16,384 packets. A packet that leaves it without any feedback is not lost.
#[test]
fn packets_without_feedback_are_not_lost() {
    let mut session = session("none");
    for number in 0..20_000_u32 {
        let now = ms(u64::from(number));
        session.send(now, Media::new(now, rtp(SSRC, number as u16))).unwrap();
        assert!(session.poll_transmit(now, &mut vec![]).is_some());
    }
    assert_eq!(session.counters().lost_packets, 0);
}

/// A malformed packet is refused. Until the program reads the event, further ones are only counted.
#[test]
fn malformed_feedback_is_refused_once_per_event() {
    let mut session = sender(&[1]);
    let mut datagram = feedback(SSRC, 1, &[received(1)], 0);
    datagram[15] = 9;
    for _ in 0..5000 {
        handle(&mut session, 100, &datagram);
    }
    assert!(matches!(refusal(&mut session), Some(RefusedFeedback::Malformed(_))));
    assert_eq!((refusal(&mut session), session.counters().refused_feedback), (None, 5000));
    handle(&mut session, 100, &datagram);
    assert!(refusal(&mut session).is_some());
}

/// A packet counts as lost when three later ones have arrived (RFC 4341 section 5).
#[test]
fn a_packet_is_lost_after_three_later_ones() {
    for (later, lost) in [(2, 0), (3, 1)] {
        let mut session = sender(&[1, 2, 3, 4, 5, 6]);
        let words: Vec<u16> = [received(9), 0].into_iter().chain(std::iter::repeat_n(received(3), later)).collect();
        handle(&mut session, 100, &feedback(SSRC, 1, &words, 0x1000));
        assert_eq!(session.counters().lost_packets, lost, "{later}");
    }
}

/// Old feedback that arrives late adds what it reports, but takes nothing back. A duplicate changes nothing.
#[test]
fn late_feedback_and_duplicates() {
    let mut session = sender(&[1, 2, 3, 4, 5, 6]);
    let [old, new] = [
        feedback(SSRC, 1, &[0, received(10)], 0x1000),
        feedback(SSRC, 1, &[received(300), 0, received(100), received(90), received(80), received(70)], 0x4000),
    ];
    handle(&mut session, 100, &new);
    let counters = session.counters();
    assert_eq!((counters.acknowledged_packets, counters.lost_packets), (6, 1), "packet 2");
    handle(&mut session, 120, &old);
    handle(&mut session, 130, &new);
    let counters = session.counters();
    assert_eq!((counters.acknowledged_packets, counters.lost_packets, counters.feedback), (6, 0, 3));
}

/// Feedback without overlap, as other implementations send it. The loss of the feedback about 3 and 4 is no loss of
/// these packets (RFC 8888 section 5). After a longer gap they count as lost.
#[test]
fn packets_of_one_lost_feedback_packet_are_assumed_to_have_arrived() {
    let mut session = sender(&[1, 2, 3, 4, 5, 6, 7, 8]);
    handle(&mut session, 100, &feedback(SSRC, 1, &[received(20), received(10)], 0x1000));
    handle(&mut session, 200, &feedback(SSRC, 5, &[received(40), received(30), received(20), received(10)], 0x3000));
    assert_eq!((session.counters().acknowledged_packets, session.counters().lost_packets), (8, 0));
    let sequences: Vec<u16> = (1..60).collect();
    let mut session = sender(&sequences);
    handle(&mut session, 700, &feedback(SSRC, 1, &[received(20), received(10)], 0x1000));
    handle(&mut session, 800, &feedback(SSRC, 55, &[received(9); 5], 0x9000));
    assert_eq!((session.counters().acknowledged_packets, session.counters().lost_packets), (59, 52));
}

/// RFC 5761 section 4: the second byte of RTCP is 192 to 223. Everything else of version 2 is RTP.
#[test]
fn rtp_and_rtcp_share_a_port() {
    let mut session = session("none");
    let mut packet = rtp(5, 1);
    assert!(matches!(session.handle(ms(1), &packet, Ecn::NotEct), Ok(Handled::Rtp(RtpPacket { ssrc: 5, .. }))));
    packet[1] = 200;
    assert!(matches!(session.handle(ms(1), &packet, Ecn::NotEct), Err(Refused::Rtcp(_))));
    packet[0] = 0x16;
    assert_eq!(session.handle(ms(1), &packet, Ecn::NotEct), Err(Refused::Unknown), "DTLS (RFC 7983)");
    assert_eq!(session.handle(ms(1), &[], Ecn::NotEct), Err(Refused::Unknown));
    assert_eq!(session.counters().refused_packets, 3);
}

#[test]
fn packets_that_cannot_be_sent_are_refused_with_a_reason() {
    let mut session = session("scream2");
    let now = ms(1);
    let mut send = |bytes: Vec<u8>| session.send(now, Media::new(now, bytes));
    let mut marked = rtp(1, 1);
    marked[1] = 0x80 | 72;
    assert_eq!(send(marked), Err(SendError::Ambiguous));
    assert_eq!(send(vec![0x80; 1201]), Err(SendError::TooLarge { len: 1201, largest: 1200 }));
    assert!(matches!(send(vec![0x80; 11]), Err(SendError::Rtp(_))));
    for ssrc in 0..64 {
        assert_eq!(send(rtp(ssrc, 1)), Ok(u64::from(ssrc)));
    }
    assert_eq!(send(rtp(64, 1)), Err(SendError::TooManyStreams { ssrc: 64 }));
    assert_eq!(session.send_rtcp(rtp(1, 1)), Err(SendError::Ambiguous));
    assert_eq!(session.handle(now, &rtp(3, 1), Ecn::NotEct), Err(Refused::OwnStream { ssrc: 3 }));
    session.stop();
    assert_eq!(session.send(now, Media::new(now, rtp(1, 2))), Err(SendError::Stopped));
    let mut datagram = vec![];
    assert_eq!(session.poll_transmit(now, &mut datagram), None);
}

/// A stopped session has no controller: its encoder rate does not rise to the ceiling, and feedback that arrives later
/// is not reported as the end of a silence.
#[test]
fn a_stopped_session_has_no_new_rate_and_no_resumption() {
    let mut session = sender(&[1, 2]);
    handle(&mut session, 40, &feedback(SSRC, 1, &[received(1)], 0x1000));
    let rate = session.rate().unwrap();
    session.send(ms(50), Media::new(ms(50), rtp(SSRC, 3))).unwrap();
    assert!(session.poll_transmit(ms(50), &mut vec![]).is_some());
    session.handle_timeout(ms(2000));
    let events: Vec<Event> = std::iter::from_fn(|| session.poll_event()).collect();
    assert!(events.iter().any(|event| matches!(event, Event::FeedbackStopped(_))), "{events:?}");
    session.stop();
    handle(&mut session, 5000, &feedback(SSRC, 1, &[received(1), received(1)], 0x40000));
    session.handle_timeout(ms(6000));
    assert_eq!((session.status(), session.rate(), session.poll_event()), (None, Some(rate), None));
}

/// RTCP of the program is sent unchanged, before RTP. At most 64 datagrams wait.
#[test]
fn the_program_sends_its_own_rtcp() {
    let mut session = sender(&[1]);
    let report = vec![0x80, 201, 0, 1, 0, 0, 0, 7];
    for _ in 0..64 {
        assert_eq!(session.send_rtcp(report.clone()), Ok(()));
    }
    assert_eq!(session.send_rtcp(report.clone()), Err(SendError::TooManyReports));
    // The feedback of the session does not replace it.
    session.handle(ms(100), &rtp(5, 1), Ecn::NotEct).unwrap();
    let mut datagram = vec![];
    for _ in 0..64 {
        assert!(session.poll_transmit(ms(1000), &mut datagram).is_some_and(|transmit| transmit.is_rtcp));
        assert_eq!(datagram, report);
    }
    assert!(session.poll_transmit(ms(1000), &mut datagram).is_some_and(|transmit| transmit.is_rtcp));
    assert_eq!(datagram[1], 205);
}
