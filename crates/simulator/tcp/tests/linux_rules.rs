//! Rules of dialect linux, each compared with the kernel function that implements it, with data from captures of Linux
//! 6.1.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_tcp::{Rules, SackBlocks, Segment, Sender, Sink, TcpOptions};
use headway_units::{Dialect, Ecn, Instant, QueueSize, Random, Registry};

fn linux(change: impl FnOnce(&mut Rules)) -> TcpOptions {
    let mut options = TcpOptions::preset("tcp-sack", Dialect::Linux).unwrap();
    change(options.rules_mut());
    options.check().unwrap();
    options
}

fn at(us: u64) -> Instant {
    Instant::from_micros(us)
}

fn data(seq: u64, push: bool) -> Segment {
    Segment {
        seq,
        sent: Instant::ZERO,
        echo: Instant::ZERO,
        sack: SackBlocks::default(),
        size: 1500,
        ecn: Ecn::NotEct,
        is_ack: false,
        ece: false,
        cwr: false,
        push,
        retransmission: false,
    }
}

/// Returns the number of the immediate acknowledgement of a segment, if any.
fn answer(sink: &mut Sink, segment: Segment) -> Option<u64> {
    sink.handle(Instant::ZERO, &segment);
    sink.poll_transmit(Instant::ZERO).map(|ack| ack.seq)
}

/// Sender whose SYN is acknowledged after 40 ms.
struct Connection {
    sender: Sender,
    /// First send time of each segment, from number 0.
    sent: Vec<Instant>,
}

impl Connection {
    fn new(change: impl FnOnce(&mut Rules)) -> Self {
        let mut sender = Sender::new(&linux(change), Random::new(1, "connection"));
        sender.write(Instant::ZERO, u64::MAX / 2);
        assert_eq!(sender.poll_transmit(Instant::ZERO).unwrap().seq, 0);
        Self { sender, sent: vec![Instant::ZERO] }
    }

    /// Acknowledges all segments below `seq` at `us`, and `sacked`. Returns one character per segment sent: `P` for
    /// PSH, `R` for a retransmission.
    fn ack(&mut self, us: u64, seq: u64, sacked: Option<u64>) -> String {
        let mut sack = SackBlocks::default();
        if let Some(sacked) = sacked {
            sack.push(sacked..sacked + 1);
        }
        let echo = self.sent[seq as usize - 1];
        self.sender.handle(at(us), &Segment { echo, sack, is_ack: true, ..data(seq, false) });
        let mut flags = String::new();
        while let Some(segment) = self.sender.poll_transmit(at(us)) {
            if segment.seq as usize == self.sent.len() {
                self.sent.push(at(us));
            }
            flags.push(if segment.retransmission {
                'R'
            } else if segment.push {
                'P'
            } else {
                '.'
            });
        }
        flags
    }
}

/// tcp_measure_rcv_mss, tcp_cleanup_rbuf: a full-sized segment with PSH is acknowledged immediately, with any waiting
/// segment.
#[test]
fn a_segment_with_psh_is_acknowledged_immediately() {
    let mut sink = Sink::new(&linux(|rules| rules.quick_acks = 0));
    let answers = [(0, false), (1, false), (2, true), (3, true), (4, false), (5, false), (6, false)];
    let answers = answers.map(|(seq, push)| answer(&mut sink, data(seq, push)));
    assert_eq!(answers, [Some(1), None, Some(3), Some(4), None, Some(6), None]);
}

/// tcp_grow_window, `icsk_ack.quick |= 1`: in a capture, a sink with a buffer of 8 MB acknowledged 2890 segments one by
/// one, and then two together, up to number 2892. tcp_data_queue_ofo does not enter the quick-ACK mode: after a gap,
/// every second segment is acknowledged again.
#[test]
fn segments_are_acknowledged_immediately_while_the_receive_window_grows() {
    let mut sink = Sink::new(&linux(|_| {}));
    assert!((0..=2890).all(|seq| answer(&mut sink, data(seq, false)) == Some(seq + 1)));
    assert_eq!(answer(&mut sink, data(2891, false)), None);
    assert_eq!(answer(&mut sink, data(2892, false)), Some(2893));
    assert_eq!(answer(&mut sink, data(2894, false)), Some(2893));
    assert_eq!(answer(&mut sink, data(2893, false)), Some(2895));
    assert_eq!(answer(&mut sink, data(2895, false)), None);
}

/// __tcp_transmit_skb: the initial window of a capture, and the segments released by single acknowledgements in slow
/// start.
#[test]
fn pairs_end_with_psh() {
    let mut connection = Connection::new(|_| {});
    assert_eq!(connection.ack(40_000, 1, None), ".P.P.P.P.P");
    assert_eq!(connection.ack(80_000, 2, None), ".P");
    assert_eq!(connection.ack(81_500, 3, None), ".P");
}

/// tcp_rack_reo_wnd: in captures at 25.2 and 40.3 ms, the first SACK of a segment sent a quarter of the least round
/// trip after the missing one starts the recovery; a SACK of an earlier one does not.
#[test]
fn a_segment_sent_a_quarter_of_the_least_round_trip_later_proves_a_loss() {
    for (later, sent) in [(90_000, "R"), (89_990, ".")] {
        let mut connection = Connection::new(|_| {});
        connection.ack(40_000, 1, None);
        // The first of these segments is lost.
        assert_eq!(connection.ack(80_000, 2, None), ".P");
        assert_eq!(connection.ack(later, 3, None), ".P");
        connection.ack(95_000, 11, None);
        assert_eq!(connection.ack(121_000, 11, Some(13)), sent, "{later}");
    }
}

/// tcp_tso_should_defer: less than a pair waits for an expected acknowledgement. tcp_is_cwnd_limited: the window still
/// opens.
#[test]
fn less_than_a_pair_waits_for_an_expected_acknowledgement() {
    let mut connection = Connection::new(|rules| rules.initial_ssthresh = Some(QueueSize::Packets(4)));
    connection.ack(40_000, 1, None);
    assert_eq!(connection.ack(80_000, 3, None), ".P");
    assert_eq!(connection.ack(80_600, 4, None), "");
    assert_eq!(connection.ack(81_200, 5, None), ".P");
    assert_eq!(connection.ack(81_800, 6, None), "");
    assert_eq!(connection.ack(82_400, 7, None), ".P");
    // The previous unit was sent more than 1 ms before.
    assert_eq!(connection.ack(83_401, 8, None), ".");
    assert_eq!(connection.ack(84_600, 10, None), ".P");
    // The tenth acknowledged segment opens the window by one.
    assert_eq!(connection.ack(85_700, 11, None), ".P");
}

#[test]
fn other_dialects_do_not_have_these_rules() {
    for dialect in [Dialect::Rfc, Dialect::Headway1, Dialect::Ns2, Dialect::Ns3] {
        let TcpOptions { rules, own, .. } = TcpOptions::preset("tcp-cubic", dialect).unwrap();
        assert!(
            !rules.push && !rules.sack.rack_window && !own.cubic.grow_without_plateau && rules.quick_acks == 0,
            "{dialect:?}"
        );
    }
}
