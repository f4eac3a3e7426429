//! Accurate ECN (RFC 9768): the counters of the sink, and their use by senders.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_tcp::{EcnCounts, EcnEcho, Rules, SackBlocks, Segment, Sender, Sink, TcpOptions};
use headway_units::{Dialect, Duration, Ecn, Instant, Random, Registry};

fn options(kind: &str, change: impl FnOnce(&mut Rules)) -> TcpOptions {
    let mut options = TcpOptions::preset(kind, Dialect::Rfc).unwrap();
    let rules = options.rules_mut();
    (rules.ecn, rules.ecn_echo, rules.paced) = (true, EcnEcho::Accurate, false);
    change(rules);
    options.check().unwrap();
    options
}

fn data(seq: u64, ecn: Ecn) -> Segment {
    Segment {
        seq,
        sent: Instant::ZERO,
        echo: Instant::ZERO,
        sack: SackBlocks::default(),
        size: 1500,
        ecn,
        is_ack: false,
        ece: seq == 0,
        cwr: false,
        push: false,
        retransmission: false,
    }
}

/// Returns the number, counters and size of the immediate acknowledgement of a segment, if any.
fn answer(sink: &mut Sink, seq: u64, ecn: Ecn) -> Option<(u64, EcnCounts, u32)> {
    sink.handle(Instant::ZERO, &data(seq, ecn));
    sink.poll_transmit(Instant::ZERO).map(|mut ack| (ack.seq, ack.sack.take_counts().unwrap(), ack.size))
}

fn counts(ect0: u16, ect1: u16, ce: u16) -> EcnCounts {
    let EcnCounts { ect0: e0, ect1: e1, ce: c } = EcnCounts::INITIAL;
    EcnCounts { ect0: ect0 + e0, ect1: ect1 + e1, ce: ce + c }
}

/// Section 3.2.2.5.1: CE after a packet without CE is acknowledged immediately, and the reverse; further CE packets at
/// least every second. The counters include the segments that waited, and a segment that was received before.
#[test]
fn the_sink_counts_and_acknowledges_changes_to_ce() {
    let mut sink = Sink::new(&options("tcp-sack", |_| {}));
    assert_eq!(answer(&mut sink, 0, Ecn::NotEct), Some((1, EcnCounts::of_syn(Ecn::NotEct), 44)));
    assert_eq!(answer(&mut sink, 1, Ecn::Ect0), None);
    assert_eq!(answer(&mut sink, 2, Ecn::Ect0), Some((3, counts(2, 0, 0), 48)));
    assert_eq!(answer(&mut sink, 3, Ecn::Ce), Some((4, counts(2, 0, 1), 48)));
    assert_eq!(answer(&mut sink, 4, Ecn::Ce), None);
    assert_eq!(answer(&mut sink, 5, Ecn::Ce), Some((6, counts(2, 0, 3), 48)));
    assert_eq!(answer(&mut sink, 6, Ecn::Ect0), Some((7, counts(3, 0, 3), 48)));
    assert_eq!(answer(&mut sink, 7, Ecn::Ect0), None);
    assert_eq!(answer(&mut sink, 7, Ecn::NotEct), Some((8, counts(4, 0, 3), 48)));
    assert_eq!(answer(&mut sink, 8, Ecn::NotEct), None);
    assert_eq!(answer(&mut sink, 9, Ecn::Ect1), Some((10, counts(4, 1, 3), 52)));
}

/// Section 3.2.3.3: with the counters, there is space for two SACK blocks.
#[test]
fn the_sink_reports_two_blocks_with_the_counters() {
    let options = options("tcp-sack", |rules| rules.delayed_ack = None);
    let mut sink = Sink::new(&options);
    for seq in [0, 2, 4, 6] {
        sink.handle(Instant::ZERO, &data(seq, Ecn::Ect0));
        let mut ack = sink.poll_transmit(Instant::ZERO).unwrap();
        if seq == 6 {
            assert_eq!(ack.size, 40 + 8 + 16);
            assert_eq!(Some(u64::from(ack.size)), Some(options.rules.largest_ack().count() - 4), "11 bytes, padded");
            assert_eq!(ack.sack.take_counts(), Some(counts(3, 0, 0)));
            assert_eq!(ack.sack.iter(1).collect::<Vec<_>>(), [6..7, 4..5]);
        }
    }
    // The gaps are filled: no blocks.
    for seq in [1, 3, 5] {
        sink.handle(Instant::ZERO, &data(seq, Ecn::Ect0));
        let mut ack = sink.poll_transmit(Instant::ZERO).unwrap();
        if seq == 5 {
            assert_eq!((ack.seq, ack.sack.take_counts(), ack.sack.len()), (7, Some(counts(6, 0, 0)), 0));
        }
    }
}

struct Connection {
    sender: Sender,
    now: Instant,
}

impl Connection {
    /// Creates a connection whose SYN is acknowledged, and that has sent the initial window.
    fn new(options: &TcpOptions, syn: Ecn) -> (Self, Vec<Segment>) {
        let mut sender = Sender::new(options, Random::new(1, "accurate ECN"));
        sender.write(Instant::ZERO, u64::MAX / 2);
        assert!(sender.poll_transmit(Instant::ZERO).unwrap().ece);
        let mut connection = Self { sender, now: Instant::ZERO };
        let sent = connection.ack(1, EcnCounts::of_syn(syn));
        (connection, sent)
    }

    fn ack(&mut self, seq: u64, counts: EcnCounts) -> Vec<Segment> {
        self.now += Duration::from_millis(10);
        let mut ack = Segment { is_ack: true, ece: true, ecn: Ecn::NotEct, size: 48, ..data(seq, Ecn::NotEct) };
        ack.sack.set_counts(counts);
        self.sender.handle(self.now, &ack);
        std::iter::from_fn(|| self.sender.poll_transmit(self.now)).collect()
    }

    fn failures(&self) -> u64 {
        self.sender.counters().ecn_failures
    }
}

/// An acknowledgement of several segments, and one after a lost acknowledgement, report all marks. The reduction is
/// that of 4 marked packets of 10 in the second window: the first ends with the first acknowledgement, with alpha 15/16.
#[test]
fn marks_of_lost_acknowledgements_are_counted() {
    let options = options("tcp-dctcp", |rules| rules.initial_ssthresh = Some("4packets".parse().unwrap()));
    let (mut connection, sent) = Connection::new(&options, Ecn::NotEct);
    assert!(sent.len() == 10 && sent.iter().all(|segment| segment.ecn == Ecn::Ect0 && !segment.cwr));
    connection.ack(2, counts(1, 0, 0));
    let before = connection.sender.cwnd();
    // The segments 2 to 5, two of them marked. The acknowledgement of 6 and 7, both marked, is lost.
    let sent = connection.ack(6, counts(3, 0, 2));
    assert_eq!(connection.sender.cwnd(), before * (1.0 - 15.0 / 32.0));
    assert!(sent.iter().all(|segment| !segment.cwr), "the flag is a bit of ACE");
    connection.ack(11, counts(6, 0, 4));
    assert_eq!(connection.sender.counters().ecn_reductions, 1, "once a window");
    connection.ack(12, counts(7, 0, 4));
    let alpha = (15.0 / 16.0) * (15.0 / 16.0) + 4.0 / 10.0 / 16.0;
    let before = connection.sender.cwnd();
    connection.ack(13, counts(7, 0, 5));
    let after = connection.sender.cwnd();
    assert!((after - before * (1.0 - alpha / 2.0)).abs() < 1e-9, "{before} {after}");
}

/// Section 3.2.2.2: the feedback of an acknowledgement that was overtaken is ignored.
#[test]
fn overtaken_acknowledgements_are_ignored() {
    let (mut connection, _) = Connection::new(&options("tcp-sack", |_| {}), Ecn::NotEct);
    connection.ack(5, counts(4, 0, 0));
    connection.ack(3, counts(2, 0, 0));
    assert_eq!((connection.sender.counters().ecn_reductions, connection.failures()), (0, 0));
    connection.ack(7, counts(5, 0, 1));
    assert_eq!((connection.sender.counters().ecn_reductions, connection.failures()), (1, 0));
}

/// A sender stops using ECN for good if the path changes the ECN field (section 3.2.2.3): the SYN arrived as ECT, ECT
/// packets arrived as Not-ECT or with the other ECT codepoint.
#[test]
fn a_sender_stops_using_ecn_if_the_field_is_changed() {
    for kind in ["tcp-sack", "tcp-dctcp", "tcp-prague"] {
        let own = |packets: u16| if kind == "tcp-prague" { counts(0, packets, 0) } else { counts(packets, 0, 0) };
        let other = counts(1, 1, 0);
        for (syn, first, bad) in [(Ecn::Ect0, 2, own(2)), (Ecn::NotEct, 3, own(1)), (Ecn::NotEct, 3, other)] {
            let (mut connection, _) = Connection::new(&options(kind, |_| {}), syn);
            connection.ack(first, bad);
            assert_eq!(connection.failures(), 1, "{kind} {syn:?}");
            let sent = connection.ack(6, EcnCounts { ce: bad.ce + 1, ..bad });
            assert!(!sent.is_empty() || connection.sender.cwnd() < 8.0);
            assert!(sent.iter().all(|segment| segment.ecn == Ecn::NotEct));
            // Marks of Not-ECT packets that became ECN-capable are still answered.
            assert_eq!(connection.sender.counters().ecn_reductions, 1, "{kind} {syn:?}");
            assert_eq!(connection.failures(), 1);
        }
        let (mut connection, sent) = Connection::new(&options(kind, |_| {}), Ecn::NotEct);
        let expected = if kind == "tcp-prague" { Ecn::Ect1 } else { Ecn::Ect0 };
        assert!(sent.iter().all(|segment| segment.ecn == expected));
        connection.ack(3, own(2));
        assert_eq!(connection.failures(), 0, "{kind}");
    }
}

/// Section 3.2.2.3: after four round trips with only CE the sender stops using ECN and ignores the marks.
#[test]
fn a_sender_ignores_marks_if_every_packet_is_marked() {
    let (mut connection, mut sent) =
        Connection::new(&options("tcp-sack", |rules| rules.ecn_least_window = 2), Ecn::NotEct);
    let mut highest = sent.last().unwrap().seq;
    let mut reductions = vec![];
    for _ in 0..8 {
        let next = highest + 1;
        sent = connection.ack(next, counts(0, 0, (next - 1) as u16));
        highest = sent.last().map_or(highest, |last| last.seq);
        reductions.push((connection.sender.counters().ecn_reductions, connection.failures()));
        if sent.is_empty() {
            break;
        }
    }
    assert_eq!(reductions.last().map(|last| last.1), Some(1), "{reductions:?}");
    assert!(reductions.iter().map(|one| one.0).max() < Some(6), "{reductions:?}");
}

/// A Prague sender without ECN is Reno: a loss halves, and each acknowledged window adds a segment.
#[test]
fn prague_without_ecn_is_reno() {
    let (mut connection, _) = Connection::new(
        &options("tcp-prague", |rules| rules.initial_ssthresh = Some("4packets".parse().unwrap())),
        Ecn::Ect0,
    );
    let before = connection.sender.cwnd();
    connection.ack(2, counts(0, 0, 0));
    assert_eq!(connection.sender.cwnd(), before + 1.0 / before);
}

/// A loss in the round trip after a mark is resent without a timeout, and halves the window of Prague again.
#[test]
fn a_loss_after_a_mark_halves_again() {
    let options = options("tcp-prague", |rules| rules.sack.proportional_rate_reduction = false);
    let (mut connection, _) = Connection::new(&options, Ecn::NotEct);
    connection.ack(3, counts(0, 1, 1));
    assert_eq!(connection.sender.counters().ecn_reductions, 1);
    let before = connection.sender.ssthresh();
    let mut resent = false;
    for received in 1..=4 {
        connection.now += Duration::from_millis(1);
        let mut ack = Segment { is_ack: true, ece: true, ecn: Ecn::NotEct, size: 56, ..data(3, Ecn::NotEct) };
        ack.sack.push(4..4 + received);
        ack.sack.set_counts(counts(0, 1 + received as u16, 1));
        connection.sender.handle(connection.now, &ack);
        while let Some(segment) = connection.sender.poll_transmit(connection.now) {
            resent |= segment.seq == 3 && segment.retransmission;
        }
    }
    assert!(resent);
    assert_eq!(connection.sender.counters().fast_recoveries, 1);
    let after = connection.sender.ssthresh();
    assert!((after / before - 0.5).abs() < 0.2, "{before} {after}");
}
