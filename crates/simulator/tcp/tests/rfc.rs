//! Rules of the RFCs as exchanges: the segments sent for each acknowledgement, and the acknowledgements sent for each
//! segment. Dialect rfc.
#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init, reason = "a test fails where it panics")]

use headway_tcp::{HalvedWindow, Halving, Pipe, Restart, Rules, SackBlocks, Segment, Sender, Sink, TcpOptions};
use headway_units::{Bytes, Dialect, Duration, Ecn, Instant, QueueSize, Random, Registry};
use std::ops::Range;

/// Sender under test; the test plays the peer.
struct Dialogue {
    sender: Sender,
    now: Instant,
}

fn options(kind: &str, change: impl FnOnce(&mut Rules)) -> TcpOptions {
    let mut options = TcpOptions::preset(kind, Dialect::Rfc).unwrap();
    change(options.rules_mut());
    options.check().unwrap();
    options
}

fn ack(seq: u64) -> Segment {
    Segment {
        seq,
        sent: Instant::ZERO,
        echo: Instant::ZERO,
        sack: SackBlocks::default(),
        size: 40,
        ecn: Ecn::NotEct,
        is_ack: true,
        ece: false,
        cwr: false,
        push: false,
        retransmission: false,
    }
}

impl Dialogue {
    /// Creates an endless transfer whose SYN is in flight.
    fn new(kind: &str, change: impl FnOnce(&mut Rules)) -> Self {
        let mut sender = Sender::new(&options(kind, change), Random::new(1, "dialogue"));
        sender.write(Instant::ZERO, u64::MAX / 2);
        let syn = sender.poll_transmit(Instant::ZERO).unwrap();
        assert_eq!((syn.seq, syn.size), (0, 40));
        assert!(sender.poll_transmit(Instant::ZERO).is_none(), "nothing before the SYN is answered");
        Self { sender, now: Instant::ZERO }
    }
    /// Creates a transfer in congestion avoidance with a window of `window` in flight, after a round trip of 100 ms.
    fn with_window(kind: &str, window: u64) -> Self {
        let mut dialogue = Self::new(kind, |rules| {
            rules.initial_window = QueueSize::Packets(window);
            rules.initial_window_bytes = None;
            rules.initial_ssthresh = Some(QueueSize::Packets(window));
        });
        assert_eq!(dialogue.receive(ack(1)), (1..=window).collect::<Vec<_>>());
        dialogue
    }
    /// Delivers `ack` after 100 ms and returns the numbers sent.
    fn receive(&mut self, ack: Segment) -> Vec<u64> {
        self.now += Duration::from_millis(100);
        self.at_once(ack)
    }
    fn at_once(&mut self, ack: Segment) -> Vec<u64> {
        self.sender.handle(self.now, &ack);
        self.sent()
    }
    fn sack(&mut self, seq: u64, blocks: &[Range<u64>]) -> Vec<u64> {
        let mut ack = ack(seq);
        for block in blocks {
            ack.sack.push(block.clone());
        }
        self.at_once(ack)
    }
    fn time_out(&mut self) -> Vec<u64> {
        self.now = self.sender.poll_timeout().unwrap();
        self.sender.handle_timeout(self.now);
        self.sent()
    }
    fn sent(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.sender.poll_transmit(self.now)).map(|segment| segment.seq).collect()
    }
    fn windows(&self) -> (f64, f64) {
        (self.sender.cwnd(), self.sender.ssthresh())
    }
}

/// RFC 6928 section 2: 10 segments, or 14600 bytes. RFC 3390: 4, 3 or 2 by size.
#[test]
fn initial_window() {
    let window = |segment: u64, packets, bytes| {
        let mut dialogue = Dialogue::new("tcp-reno", |rules| {
            rules.segment = Bytes::new(segment + 40);
            rules.initial_window = QueueSize::Packets(packets);
            rules.initial_window_bytes = Some(Bytes::new(bytes));
        });
        dialogue.receive(ack(1)).len()
    };
    assert_eq!([536, 1460, 2190, 8960].map(|size| window(size, 10, 14_600)), [10, 10, 6, 2]);
    assert_eq!([536, 1095, 1096, 1460, 2190, 2191].map(|size| window(size, 4, 4_380)), [4, 4, 3, 3, 2, 2]);
}

/// RFC 5681 section 3.1 and RFC 6298 step 5.7: after a lost SYN the window is one segment and the timeout 3 s.
#[test]
fn a_lost_syn() {
    let mut dialogue = Dialogue::new("tcp-reno", |_| {});
    assert_eq!(dialogue.time_out(), [0]);
    assert_eq!(dialogue.now, Instant::from_secs(1));
    assert_eq!(dialogue.receive(ack(1)), [1]);
    assert_eq!(dialogue.sender.rto(), Duration::from_secs(3));
}

/// RFC 5681 section 3.1, RFC 3465 with L = 2: slow start adds the acknowledged segments, at most two.
#[test]
fn slow_start_counts_segments() {
    let mut dialogue = Dialogue::new("tcp-reno", |_| {});
    dialogue.receive(ack(1));
    assert_eq!(dialogue.receive(ack(3)), [11, 12, 13, 14]);
    assert_eq!(dialogue.sender.cwnd(), 12.0);
    assert_eq!(dialogue.at_once(ack(4)), [15, 16]);
    assert_eq!(dialogue.at_once(ack(14)).len(), 12);
    assert_eq!(dialogue.sender.cwnd(), 15.0);
}

/// RFC 5681 equation 3 with delayed acknowledgements: one segment per round trip.
#[test]
fn congestion_avoidance_adds_one_segment_per_round_trip() {
    let mut dialogue = Dialogue::with_window("tcp-reno", 20);
    for acknowledged in (3..=21).step_by(2) {
        dialogue.at_once(ack(acknowledged));
    }
    assert!((dialogue.sender.cwnd() - 21.0).abs() < 0.03, "{}", dialogue.sender.cwnd());
}

/// RFC 5681 section 3.1, RFC 7661: an unused window does not grow.
#[test]
fn an_unused_window_does_not_grow() {
    let mut sender = Sender::new(&options("tcp-reno", |_| {}), Random::new(1, "dialogue"));
    let mut now = Instant::ZERO;
    for round in 0..20 {
        sender.write(now, 1);
        while sender.poll_transmit(now).is_some() {}
        now += Duration::from_millis(100);
        sender.handle(now, &ack(round + 1));
        while sender.poll_transmit(now).is_some() {}
    }
    assert_eq!(sender.cwnd(), 10.0);
}

/// RFC 5681 section 3.2 with RFC 3042, step by step.
#[test]
fn reno_fast_recovery() {
    let mut dialogue = Dialogue::with_window("tcp-reno", 10);
    // Two duplicates: one new segment each, the window is unchanged.
    assert_eq!(dialogue.at_once(ack(1)), [11]);
    assert_eq!(dialogue.at_once(ack(1)), [12]);
    assert_eq!(dialogue.windows(), (10.0, 10.0));
    // The third: ssthresh is half of FlightSize without these two segments. The window of 5 + 3 is below the 12 in
    // flight.
    assert_eq!(dialogue.at_once(ack(1)), [1]);
    assert_eq!(dialogue.windows(), (5.0, 5.0));
    // Nine duplicates for the other segments: from 13 on the inflated window admits new segments.
    let sent: Vec<_> = (0..9).map(|_| dialogue.at_once(ack(1))).collect();
    assert!(sent[..4].iter().all(Vec::is_empty));
    assert_eq!(sent[4..].concat(), [13, 14, 15, 16, 17]);
    // A new acknowledgement deflates the window to ssthresh.
    assert_eq!(dialogue.receive(ack(13)), [] as [u64; 0]);
    assert_eq!(dialogue.windows(), (5.0, 5.0));
    assert_eq!(dialogue.sender.in_flight(), 5);
}

/// Acknowledgements below `una` are not duplicates (RFC 5681 section 2).
#[test]
fn stale_acknowledgements_change_nothing() {
    let mut dialogue = Dialogue::with_window("tcp-newreno", 10);
    dialogue.receive(ack(8));
    for _ in 0..5 {
        assert_eq!(dialogue.at_once(ack(3)), [] as [u64; 0]);
    }
    assert_eq!((dialogue.sender.dupacks(), dialogue.sender.counters().fast_recoveries), (0, 0));
}

/// RFC 6582 section 3.2: partial acknowledgements resend, a full one ends the recovery.
#[test]
fn newreno_partial_and_full() {
    let mut dialogue = Dialogue::with_window("tcp-newreno", 10);
    for _ in 0..2 {
        dialogue.at_once(ack(1));
    }
    assert_eq!(dialogue.at_once(ack(1)), [1]);
    let deadline = dialogue.sender.poll_timeout();
    // 1 arrives and 4 is missing: three segments are acknowledged, and 4 is resent immediately.
    assert_eq!(dialogue.receive(ack(4)), [4]);
    assert_ne!(dialogue.sender.poll_timeout(), deadline, "the first partial acknowledgement restarts the timer");
    let deadline = dialogue.sender.poll_timeout();
    assert_eq!(dialogue.receive(ack(6))[0], 6);
    assert_eq!(dialogue.sender.poll_timeout(), deadline, "impatient: the second does not");
    assert_eq!(dialogue.sender.counters().fast_recoveries, 1);
    // Segments up to 12 were sent before the recovery. 13 ends it with min(ssthresh, FlightSize + 1).
    let flight_after = dialogue.sender.in_flight() - (13 - 6);
    dialogue.receive(ack(13));
    assert_eq!(dialogue.sender.cwnd(), 5f64.min(flight_after.max(1) as f64 + 1.0));
}

/// RFC 6582 section 3.2 step 2: duplicates for data sent before the recovery do not start another one.
#[test]
fn one_reduction_per_window() {
    let mut dialogue = Dialogue::with_window("tcp-newreno", 10);
    dialogue.time_out();
    for _ in 0..6 {
        dialogue.at_once(ack(4));
    }
    assert_eq!(dialogue.sender.counters().fast_recoveries, 0);
}

/// RFC 5681 section 3.1 and RFC 6298 section 5: a timeout reduces the window to one segment, goes back, and doubles the
/// timer. ssthresh is half of FlightSize once, for any number of timeouts of the same segment.
#[test]
fn timeouts() {
    for kind in ["tcp-tahoe", "tcp-reno", "tcp-newreno", "tcp-sack"] {
        let mut dialogue = Dialogue::with_window(kind, 10);
        assert_eq!(dialogue.time_out(), [1], "{kind}");
        assert_eq!(dialogue.windows(), (1.0, 5.0), "{kind}");
        assert_eq!(dialogue.time_out(), [1], "{kind}");
        assert_eq!(dialogue.windows(), (1.0, 5.0), "{kind}");
        assert_eq!(dialogue.sender.backoff(), 4, "{kind}");
        assert_eq!(dialogue.receive(ack(2)), [2, 3], "{kind}: slow start over what may be lost");
        assert_eq!(dialogue.sender.counters().timeouts, 2, "{kind}");
    }
}

/// The fast retransmit of the first data segment is always allowed, since no data was sent before it.
#[test]
fn the_first_segment_is_fast_retransmitted() {
    for kind in ["tcp-tahoe", "tcp-reno", "tcp-newreno", "tcp-sack"] {
        let mut dialogue = Dialogue::with_window(kind, 10);
        let sent: Vec<_> = (3..6).map(|end| dialogue.sack(1, &[2..end])).collect();
        assert_eq!(sent[2][0], 1, "{kind}");
        assert_eq!(dialogue.sender.counters().fast_recoveries, 1, "{kind}");
        assert_eq!(dialogue.sender.ssthresh(), 5.0, "{kind}");
    }
}

/// A timeout in the round trip of an ECN reduction keeps ssthresh (RFC 3168 section 6.1.2: once a window).
#[test]
fn a_timeout_after_ecn_does_not_halve_again() {
    let mut dialogue = Dialogue::new("tcp-reno", |rules| rules.ecn = true);
    assert_eq!(dialogue.receive(Segment { ece: true, ..ack(1) }).len(), 10);
    dialogue.receive(Segment { ece: true, ..ack(2) });
    assert_eq!(dialogue.windows(), (5.0, 5.0));
    dialogue.at_once(ack(9));
    assert!(dialogue.sender.in_flight() < 10);
    dialogue.time_out();
    assert_eq!(dialogue.windows(), (1.0, 5.0));
}

/// A timeout in a recovery in which most of the window is SACKed: FlightSize is still 40 segments, but at most a window
/// of 20 is in the network. RFC 5681 to the letter keeps ssthresh at 20, half of FlightSize. `halving = "network"` sets
/// 10, half of the network's share.
#[test]
fn sacked_data_are_not_in_the_network_at_a_timeout() {
    for (halving, left) in [(Halving::Flight, 20.0), (Halving::Network, 10.0)] {
        let mut dialogue = Dialogue::new("tcp-sack", |rules| {
            rules.initial_window = QueueSize::Packets(40);
            rules.initial_window_bytes = None;
            rules.initial_ssthresh = Some(QueueSize::Packets(40));
            rules.halving = halving;
        });
        dialogue.receive(ack(1));
        for end in 3..=41 {
            dialogue.sack(1, &[2..end]);
        }
        assert_eq!((dialogue.windows().1, dialogue.sender.in_flight() >= 40), (20.0, true), "{halving:?}");
        dialogue.time_out();
        assert_eq!(dialogue.windows(), (1.0, left), "{halving:?}");
    }
}

/// RFC 3168 section 6.1.2: a window of one segment cannot shrink. After an echo, the next segment waits for the
/// retransmission timer. Further echoes back the timer off, and round-trip samples do not end the back-off.
#[test]
fn ecn_at_a_window_of_one() {
    let mut dialogue = Dialogue::new("tcp-reno", |rules| rules.ecn = true);
    dialogue.receive(Segment { ece: true, ..ack(1) });
    dialogue.time_out();
    assert_eq!((dialogue.sender.cwnd(), dialogue.sender.backoff()), (1.0, 2));
    // The first echo causes no back-off, the second belongs to the same window. Then the echo of each window doubles
    // the timer.
    for (seq, backoff) in [(2, 2), (11, 2), (12, 4), (13, 8)] {
        assert_eq!(dialogue.receive(Segment { ece: true, ..ack(seq) }), [] as [u64; 0], "echo at {seq}");
        assert_eq!((dialogue.sender.cwnd(), dialogue.sender.backoff()), (1.0, backoff), "echo at {seq}");
        if seq > 2 {
            assert_eq!(dialogue.time_out(), [seq]);
        }
    }
    assert_eq!(dialogue.receive(ack(14)), [14, 15]);
    assert_eq!(dialogue.sender.backoff(), 1);
    assert_eq!(dialogue.sender.counters().timeouts, 1, "waiting is no timeout");
}

/// RFC 3168 section 6.1.2: with a window of one, "the TCP sender MUST reset the retransmit timer on receiving the
/// ECN-Echo packet". If the echo is on a duplicate after all data is acknowledged, new data waits for the timer. ns-2,
/// whose window has no minimum, then reopens it.
#[test]
fn an_echo_on_a_late_duplicate_starts_the_timer() {
    for ns2 in [false, true] {
        let options = options("tcp-reno", |rules| {
            rules.ecn = true;
            if ns2 {
                (rules.restart_after_idle, rules.halved_window) = (Restart::One, HalvedWindow::Fractional);
            }
        });
        let mut dialogue = Dialogue { sender: Sender::new(&options, Random::new(1, "dialogue")), now: Instant::ZERO };
        let echo = |seq| Segment { ece: true, ..ack(seq) };
        dialogue.sender.write(dialogue.now, 2);
        assert_eq!((dialogue.sent(), dialogue.receive(echo(1))), (vec![0], vec![1, 2]));
        dialogue.time_out();
        dialogue.receive(echo(3));
        dialogue.time_out();
        assert_eq!((dialogue.sender.cwnd(), dialogue.sender.poll_timeout()), (1.0, None), "nothing is in flight");
        dialogue.receive(echo(3));
        dialogue.sender.write(dialogue.now, 1);
        assert_eq!(dialogue.sent(), [] as [u64; 0]);
        assert_eq!(dialogue.time_out(), [3]);
    }
}

/// RFC 3168 section 6.1.2: "the value of the congestion window is bounded below by a value of one MSS", and RFC 9438
/// section 4.6: one after ECN-Echo, two after a loss, and ssthresh two after either. This holds for every kind of
/// halving.
#[test]
fn a_mark_leaves_one_segment_and_a_loss_two() {
    for halved_window in [HalvedWindow::Ssthresh, HalvedWindow::Fractional, HalvedWindow::Whole] {
        for kind in ["tcp-reno", "tcp-newreno", "tcp-sack", "tcp-cubic"] {
            let dialogue = |window| {
                let mut dialogue = Dialogue::new(kind, |rules| {
                    (rules.ecn, rules.halved_window) = (true, halved_window);
                    rules.initial_window = QueueSize::Packets(window);
                });
                dialogue.receive(Segment { ece: true, ..ack(1) });
                dialogue
            };
            let mut marked = dialogue(2);
            marked.receive(Segment { ece: true, ..ack(3) });
            let (cwnd, ssthresh) = marked.windows();
            assert!((1.0..1.5).contains(&cwnd) && ssthresh == 2.0, "{kind}, {halved_window:?}: {cwnd}");
            assert_eq!(marked.sent(), [] as [u64; 0]);
            let mut lost = dialogue(3);
            for end in 3..6 {
                lost.sack(1, &[2..end]);
            }
            assert_eq!(lost.sender.counters().fast_recoveries, 1);
            let (cwnd, ssthresh) = lost.windows();
            assert!((2.0..2.5).contains(&cwnd) && ssthresh == 2.0, "{kind}, {halved_window:?}: {cwnd}");
        }
    }
}

/// Sends `segments` in slow start with an acknowledgement each, until all are acknowledged. Returns the time.
fn grow_then_rest(sender: &mut Sender, segments: u64) -> Instant {
    let (mut now, mut next) = (Instant::ZERO, 0);
    sender.write(now, segments);
    while !sender.is_finished() {
        while let Some(segment) = sender.poll_transmit(now) {
            next = segment.seq + 1;
        }
        now += Duration::from_millis(10);
        sender.handle(now, &ack((sender.acknowledged() + 1).min(next)));
    }
    now
}

/// RFC 2861 (Linux): the window is halved per timeout of silence, to at least the initial window. ssthresh keeps three
/// quarters.
#[test]
fn a_window_decays_in_silence() {
    let change = |rules: &mut Rules| {
        rules.restart_after_idle = Restart::Decay;
        rules.initial_ssthresh = Some(QueueSize::Packets(40));
    };
    for (millis, halvings) in [(500, 0), (1_400, 1), (60_000, 60)] {
        let mut sender = Sender::new(&options("tcp-reno", change), Random::new(1, "dialogue"));
        let now = grow_then_rest(&mut sender, 60) + Duration::from_millis(millis);
        let before = sender.cwnd();
        assert!((35.0..=41.0).contains(&before), "{before}");
        sender.write(now, 1000);
        let after = match halvings {
            0 => before,
            1 => (before / 2.0).floor(),
            _ => 10.0,
        };
        assert_eq!((sender.cwnd(), sender.ssthresh()), (after, 40.0), "after {millis} ms");
    }
    // For a window above ssthresh, ssthresh rises to three quarters of the window.
    let mut sender = Sender::new(&options("tcp-reno", change), Random::new(1, "dialogue"));
    let now = grow_then_rest(&mut sender, 2_000) + Duration::from_secs(2);
    let before = sender.cwnd();
    assert!(before > 60.0, "{before}");
    sender.write(now, 1);
    assert_eq!(sender.ssthresh(), (before * 0.75).floor());
}

/// Using half of the window is enough to open it in slow start, as in Linux, but not in congestion avoidance.
#[test]
fn a_window_half_used_grows_in_slow_start_only() {
    for (in_flight, slow_start, grown) in [(6, true, true), (5, true, false), (6, false, false)] {
        let ssthresh = if slow_start { 100 } else { 10 };
        let change = |rules: &mut Rules| rules.initial_ssthresh = Some(QueueSize::Packets(ssthresh));
        let mut sender = Sender::new(&options("tcp-reno", change), Random::new(1, "dialogue"));
        let now = Instant::ZERO;
        sender.write(now, in_flight);
        sender.poll_transmit(now).unwrap();
        sender.handle(now, &ack(1));
        assert_eq!(std::iter::from_fn(|| sender.poll_transmit(now)).count() as u64, in_flight);
        sender.handle(now, &ack(2));
        assert_eq!(sender.cwnd() > 10.0, grown, "{in_flight} in flight, slow start {slow_start}");
    }
}

/// RFC 6298 step 5.2: no timer without data in flight. RFC 5681 section 4.1: the initial window after a silence.
#[test]
fn restart_after_idle() {
    let mut sender = Sender::new(&options("tcp-reno", |_| {}), Random::new(1, "dialogue"));
    let mut now = grow_then_rest(&mut sender, 30);
    assert!(sender.cwnd() > 20.0, "{}", sender.cwnd());
    assert_eq!(sender.poll_timeout(), None);
    now += Duration::from_secs(2);
    sender.write(now, 100);
    assert_eq!(std::iter::from_fn(|| sender.poll_transmit(now)).count(), 10);
}

/// RFC 6675 section 5: recovery starts with three segments received above; holes are resent first, then new data,
/// limited by pipe.
#[test]
fn sack_recovery() {
    let mut dialogue = Dialogue::with_window("tcp-sack", 10);
    // 1 and 5 are lost. Two blocks: Limited Transmit, since pipe is below cwnd.
    assert_eq!(dialogue.sack(1, &[2..3]), [11]);
    assert_eq!(dialogue.sack(1, &[2..4]), [12]);
    // Three segments above 1: halve (FlightSize 12 minus 2) and resend it. Pipe is 9, cwnd 5.
    assert_eq!(dialogue.sack(1, &[2..5]), [1]);
    assert_eq!(dialogue.windows(), (5.0, 5.0));
    // 6 to 8 arrive, so 5 is lost, too. Pipe: 1 again and 9 to 12, 5. After 9 it is 4, so the hole is resent.
    assert_eq!(dialogue.sack(1, &[6..7, 2..5]), [] as [u64; 0]);
    assert_eq!(dialogue.sack(1, &[6..8, 2..5]), [] as [u64; 0]);
    assert_eq!(dialogue.sack(1, &[6..9, 2..5]), [] as [u64; 0]);
    assert_eq!(dialogue.sack(1, &[6..10, 2..5]), [5]);
    assert_eq!(dialogue.sack(1, &[6..11, 2..5]), [13]);
    // 1 fills the first gap. The second one ends the recovery: segments up to 12 were sent before it.
    assert_eq!(dialogue.sack(5, &[6..11]), [14]);
    let after = dialogue.sack(13, &[]);
    assert_eq!(dialogue.windows(), (5.0, 5.0));
    assert_eq!((after, dialogue.sender.in_flight()), (vec![15, 16, 17], 5));
}

/// Linux (net/ipv4/tcp_input.c, `tcp_cong_control`): the acknowledgement that ends a recovery opens the window by its
/// newly delivered segments. Of 1 to 5, 1 is lost, and 2 to 5 are SACKed when 6 is acknowledged. Only 1 is new: 1/2 of
/// a segment at a window of 2.
#[test]
fn the_end_of_a_recovery_opens_the_window_by_newly_delivered_segments() {
    for (grows, cwnd) in [(false, 2.0), (true, 2.5)] {
        let mut dialogue = Dialogue::new("tcp-sack", |rules| {
            rules.initial_window = QueueSize::Packets(5);
            rules.initial_window_bytes = None;
            rules.initial_ssthresh = Some(QueueSize::Packets(5));
            rules.reno.grow_on_exit = grows;
            rules.limited_transmit = false;
        });
        assert_eq!(dialogue.receive(ack(1)), [1, 2, 3, 4, 5]);
        dialogue.sack(1, &[2..3]);
        dialogue.sack(1, &[2..4]);
        assert_eq!(dialogue.sack(1, &[2..5]), [1]);
        dialogue.sack(1, &[2..6]);
        dialogue.sack(6, &[]);
        assert_eq!(dialogue.windows(), (cwnd, 2.0), "{grows}");
    }
}

/// RFC 6675 section 4, NextSeg() rule 4: with nothing else to send, the highest missing segment is resent once.
#[test]
fn sack_rescues_the_tail_once() {
    let mut sender = Sender::new(&options("tcp-sack", |_| {}), Random::new(1, "dialogue"));
    let now = Instant::ZERO;
    sender.write(now, 10);
    let mut dialogue = Dialogue { sender, now };
    dialogue.sent();
    dialogue.receive(ack(1));
    // 1 and the tail 9, 10 are lost.
    dialogue.sack(1, &[2..4]);
    assert_eq!(dialogue.sack(1, &[2..5]), [1]);
    for end in 6..9 {
        dialogue.sack(1, &[2..end]);
    }
    dialogue.sack(1, &[2..9]);
    assert_eq!(dialogue.sack(9, &[]), [10], "the tail");
    assert_eq!(dialogue.sack(10, &[]), [] as [u64; 0], "once");
}

/// RFC 6675 section 5.1: a timeout clears the scoreboard; segments reported again are not resent.
#[test]
fn sack_after_a_timeout() {
    let mut dialogue = Dialogue::with_window("tcp-sack", 10);
    dialogue.sack(1, &[2..4]);
    assert_eq!(dialogue.time_out(), [1]);
    // The acknowledgement of 1 reports 2, 3 and 5 to 9.
    assert_eq!(dialogue.sack(4, &[5..10]), [4, 10]);
    assert_eq!(dialogue.sender.counters().fast_recoveries, 0);
}

/// ns-2.35 tcp/tcp-sack1.cc, `send_much`: with a hole but no declared loss (`recover_` is 0), neither the hole nor
/// newly written data is sent.
#[test]
fn a_hole_before_a_recovery_is_not_resent() {
    let options = options("tcp-sack", |rules| rules.sack.pipe = Pipe::Counted);
    let mut sender = Sender::new(&options, Random::new(1, "dialogue"));
    sender.write(Instant::ZERO, 5);
    let syn = sender.poll_transmit(Instant::ZERO).unwrap();
    let mut dialogue = Dialogue { sender, now: Instant::ZERO };
    assert_eq!((syn.seq, dialogue.receive(ack(1))), (0, vec![1, 2, 3, 4, 5]));
    assert_eq!(dialogue.sack(1, &[3..4]), [] as [u64; 0]);
    dialogue.sender.write(dialogue.now, 3);
    assert_eq!(dialogue.sent(), [] as [u64; 0]);
    // The second and third duplicates: a fast retransmit.
    assert_eq!(dialogue.sack(1, &[3..5]), [6]);
    assert_eq!(dialogue.sack(1, &[3..6])[0], 1);
}

/// RFC 3168 section 6.1: negotiated on the SYN; ECT(0) on new data only; halved once a window; CWR on the next new
/// segment.
#[test]
fn ecn_at_the_sender() {
    let change = |rules: &mut Rules| {
        rules.ecn = true;
        rules.initial_ssthresh = Some(QueueSize::Packets(10));
    };
    let mut sender = Sender::new(&options("tcp-newreno", change), Random::new(1, "dialogue"));
    sender.write(Instant::ZERO, 1000);
    let syn = sender.poll_transmit(Instant::ZERO).unwrap();
    assert!(syn.ece && syn.ecn == Ecn::NotEct);
    let mut now = Instant::from_millis(100);
    let mut answer = |sender: &mut Sender, seq, ece| {
        now += Duration::from_millis(1);
        sender.handle(now, &Segment { ece, ..ack(seq) });
        std::iter::from_fn(|| sender.poll_transmit(now)).collect::<Vec<_>>()
    };
    let first = answer(&mut sender, 1, true);
    assert!(first.len() == 10 && first.iter().all(|segment| segment.ecn == Ecn::Ect0 && !segment.cwr));
    answer(&mut sender, 2, true);
    assert_eq!((sender.cwnd(), sender.counters().ecn_reductions), (5.0, 1));
    let mut cwr = vec![];
    for seq in 3..=11 {
        cwr.extend(answer(&mut sender, seq, true).into_iter().filter(|segment| segment.cwr));
        assert_eq!(sender.counters().ecn_reductions, 1, "once a window");
    }
    assert_eq!(cwr.len(), 1);
    // 11 was sent after the reduction, so its echo reduces again.
    answer(&mut sender, 12, true);
    assert_eq!(sender.counters().ecn_reductions, 2);
    let timeout = sender.poll_timeout().unwrap();
    sender.handle_timeout(timeout);
    let resent = sender.poll_transmit(timeout).unwrap();
    assert!(resent.retransmission && resent.ecn == Ecn::NotEct && !resent.cwr, "section 6.1.5");
}

/// RFC 8257 section 3.3: the window is reduced by half of alpha once a window. RFC 9331 section 4.1: an L4S sender
/// sends ECT(1).
#[test]
fn dctcp_at_the_sender() {
    let mut options = options("tcp-dctcp", |rules| rules.initial_ssthresh = Some(QueueSize::Packets(10)));
    options.own_mut().dctcp.l4s = true;
    let mut sender = Sender::new(&options, Random::new(1, "dialogue"));
    sender.write(Instant::ZERO, 1000);
    let syn = sender.poll_transmit(Instant::ZERO).unwrap();
    assert!(syn.ece && syn.ecn == Ecn::NotEct);
    let mut now = Instant::from_millis(100);
    let mut answer = |sender: &mut Sender, seq, ece| {
        now += Duration::from_millis(1);
        sender.handle(now, &Segment { ece, ..ack(seq) });
        std::iter::from_fn(|| sender.poll_transmit(now)).collect::<Vec<_>>()
    };
    let first = answer(&mut sender, 1, true);
    assert!(first.len() == 10 && first.iter().all(|segment| segment.ecn == Ecn::Ect1));
    // The first window is one segment without a mark: alpha becomes 15/16.
    answer(&mut sender, 2, false);
    let before = sender.cwnd();
    answer(&mut sender, 3, true);
    assert_eq!((sender.cwnd(), sender.counters().ecn_reductions), (before * (1.0 - 15.0 / 32.0), 1));
    for seq in 4..=11 {
        answer(&mut sender, seq, true);
        assert_eq!(sender.counters().ecn_reductions, 1, "once a window");
    }
}

/// RFC 8257 section 3.2: an acknowledgement covers segments with equal marks. When the mark changes, the waiting
/// segment is acknowledged first, the new one immediately after.
#[test]
fn dctcp_at_the_sink() {
    let options = options("tcp-dctcp", |_| {});
    let mut sink = Sink::new(&options);
    let mut now = Instant::ZERO;
    let mut receive = |sink: &mut Sink, seq, marked: bool| {
        now += Duration::from_millis(1);
        let ecn = if seq == 0 {
            Ecn::NotEct
        } else if marked {
            Ecn::Ce
        } else {
            Ecn::Ect0
        };
        sink.handle(now, &Segment { is_ack: false, ece: seq == 0, ecn, size: 1500, ..ack(seq) });
        std::iter::from_fn(|| sink.poll_transmit(now)).map(|ack| (ack.seq, ack.ece)).collect::<Vec<_>>()
    };
    assert_eq!(receive(&mut sink, 0, false), [(1, true)], "the SYN asks for ECN, and is granted it");
    assert_eq!(receive(&mut sink, 1, false), []);
    assert_eq!(receive(&mut sink, 2, false), [(3, false)], "every second one");
    assert_eq!(receive(&mut sink, 3, false), []);
    assert_eq!(receive(&mut sink, 4, true), [(4, false), (5, true)], "3 was not marked, 4 is");
    assert_eq!(receive(&mut sink, 5, true), []);
    assert_eq!(receive(&mut sink, 6, true), [(7, true)]);
    assert_eq!(receive(&mut sink, 7, false), [(8, false)], "nothing waited");
    assert_eq!(receive(&mut sink, 8, false), []);
    // 9 is lost: the waiting segment gets a separate acknowledgement, and 10 a duplicate.
    assert_eq!(receive(&mut sink, 10, true), [(9, false), (9, true)]);
    assert_eq!(receive(&mut sink, 9, true), [(11, true)], "the gap is filled");
    // With an unchanged mark, the acknowledgement is delayed.
    assert_eq!(receive(&mut sink, 11, true), []);
    let due = sink.poll_timeout().unwrap();
    sink.handle_timeout(due);
    assert_eq!(sink.poll_transmit(due).map(|ack| (ack.seq, ack.ece)), Some((12, true)));
}

/// RFC 7323 section 4.3: each of the two acknowledgements at a change of marks echoes the first segment that it covers.
#[test]
fn dctcp_acknowledgements_echo_the_first_segment_they_cover() {
    let mut sink = Sink::new(&options("tcp-dctcp", |_| {}));
    let mut receive = |seq, ecn| {
        let sent = Instant::ZERO + Duration::from_millis(10 * (seq + 1));
        let now = sent + Duration::from_millis(50);
        sink.handle(now, &Segment { is_ack: false, ece: seq == 0, ecn, size: 1500, sent, ..ack(seq) });
        std::iter::from_fn(|| sink.poll_transmit(now))
            .map(|ack| ack.echo.since(Instant::ZERO).as_nanos() / 10_000_000 - 1)
            .collect::<Vec<_>>()
    };
    assert_eq!(receive(0, Ecn::NotEct), [0]);
    assert_eq!([receive(1, Ecn::Ect0), receive(2, Ecn::Ect0)], [vec![], vec![1]], "RFC 7323: the first of the two");
    assert_eq!([receive(3, Ecn::Ect0), receive(4, Ecn::Ce)], [vec![], vec![3, 4]]);
}

/// ns-2's `overhead_`: segments released by an acknowledgement wait for a random time up to `overhead`, then are sent
/// together.
#[test]
fn random_overhead_delays_each_release() {
    let overhead = Duration::from_millis(10);
    let delays = |seed| {
        let options = options("tcp-reno", |rules| rules.overhead = overhead);
        let mut sender = Sender::new(&options, Random::new(seed, "overhead"));
        let mut now = Instant::ZERO;
        sender.write(now, 1000);
        let mut delays = vec![];
        for round in 0..200 {
            assert!(sender.poll_transmit(now).is_none());
            let due = sender.poll_timeout().unwrap();
            delays.push(due.since(now));
            now = due;
            sender.handle_timeout(now);
            let sent = std::iter::from_fn(|| sender.poll_transmit(now)).count();
            assert!(sent >= 1, "round {round}");
            now += Duration::from_millis(50);
            sender.handle(now, &ack(round + 1));
        }
        delays
    };
    let (one, other) = (delays(1), delays(2));
    assert_ne!(one, other);
    assert!(one.iter().all(|&delay| delay < overhead));
    // The mean of 200 uniform delays is 5 ms within five standard errors of 0.2 ms.
    let mean = one.iter().copied().sum::<Duration>() / 200;
    assert!(mean > Duration::from_millis(4) && mean < Duration::from_millis(6), "{mean}");
}

fn data(seq: u64) -> Segment {
    Segment { is_ack: false, size: 1500, ecn: Ecn::Ect0, ..ack(seq) }
}

/// Returns the acknowledgements that a sink sends for segments arriving 1 ms apart.
fn answers(sink: &mut Sink, from: Instant, segments: &[Segment]) -> Vec<Option<Segment>> {
    segments
        .iter()
        .enumerate()
        .map(|(index, segment)| {
            let now = from + Duration::from_millis(index as u64);
            sink.handle(now, segment);
            let answer = sink.poll_transmit(now);
            assert!(sink.poll_transmit(now).is_none());
            answer
        })
        .collect()
}

/// RFC 5681 section 4.2, RFC 1122 section 4.2.3.2.
#[test]
fn delayed_acknowledgements() {
    let mut sink = Sink::new(&options("tcp-reno", |_| {}));
    let numbers = |answers: Vec<Option<Segment>>| answers.iter().map(|a| a.map(|a| a.seq)).collect::<Vec<_>>();
    let start = Instant::from_secs(1);
    // The SYN and every second segment are acknowledged immediately.
    let some = answers(&mut sink, start, &[0, 1, 2, 3, 4].map(data));
    assert_eq!(numbers(some), [Some(1), None, Some(3), None, Some(5)]);
    // Out of order, filling a gap, and duplicate: immediately.
    let some = answers(&mut sink, start, &[6, 7, 5, 6].map(data));
    assert_eq!(numbers(some), [Some(5), Some(5), Some(8), Some(8)]);
    // A single segment after 200 ms.
    assert_eq!(numbers(answers(&mut sink, start, &[data(8)])), [None]);
    let due = sink.poll_timeout().unwrap();
    assert_eq!(due, start + Duration::from_millis(200));
    sink.handle_timeout(due);
    assert_eq!(sink.poll_transmit(due).unwrap().seq, 9);
    assert_eq!(sink.poll_timeout(), None);
    assert_eq!((sink.received_segments(), sink.duplicates()), (8, 1));
    assert_eq!(sink.received_payload(), Bytes::new(8 * 1460));
}

/// Linux's quick-ACK mode at the start and after a gap.
#[test]
fn quick_acknowledgements() {
    let mut sink = Sink::new(&options("tcp-reno", |rules| (rules.quick_acks, rules.quick_acks_after_gap) = (3, 2)));
    let sent = answers(&mut sink, Instant::ZERO, &[0, 1, 2, 3, 4, 5, 7, 6, 8, 9, 10].map(data));
    let at_once: Vec<_> = sent.iter().map(Option::is_some).collect();
    assert_eq!(at_once, [true, true, true, true, false, true, true, true, true, false, true]);
}

/// RFC 3168 section 6.1.3: ECE from the mark until CWR.
#[test]
fn ecn_at_the_sink() {
    let mut sink = Sink::new(&options("tcp-reno", |rules| rules.delayed_ack = None));
    let syn = Segment { ece: true, ecn: Ecn::NotEct, ..data(0) };
    let marked = Segment { ecn: Ecn::Ce, ..data(2) };
    let reduced = Segment { cwr: true, ..data(4) };
    let echoes: Vec<_> = answers(&mut sink, Instant::ZERO, &[syn, data(1), marked, data(3), reduced, data(5)])
        .iter()
        .map(|answer| answer.unwrap().ece)
        .collect();
    assert_eq!(echoes, [true, false, true, true, false, false]);
}

/// RFC 3168 section 6.1.1: segments without ECT, in a connection without ECN or as retransmissions, report no
/// congestion. A host that receives an ECN-setup SYN responds with an ECN-setup SYN-ACK, including to a repeated SYN
/// while an acknowledgement is delayed.
#[test]
fn only_a_syn_requests_ecn() {
    let mut sink = Sink::new(&options("tcp-reno", |_| {}));
    let plain = |seq| Segment { ecn: Ecn::NotEct, ..data(seq) };
    let syn = Segment { ece: true, ..plain(0) };
    let mut echoes = |segments: &[Segment]| -> Vec<Option<bool>> {
        answers(&mut sink, Instant::ZERO, segments).iter().map(|answer| answer.map(|answer| answer.ece)).collect()
    };
    assert_eq!(echoes(&[plain(0), plain(1), plain(2), plain(4)]), [Some(false), None, Some(false), Some(false)]);
    assert_eq!(echoes(&[plain(3), plain(5), syn]), [Some(false), None, Some(true)]);
}

/// RFC 2018 section 8, example 3 in whole segments: every second of eight segments is lost, then the gaps are filled.
#[test]
fn sack_blocks() {
    let mut sink = Sink::new(&options("tcp-sack", |rules| rules.delayed_ack = None));
    let mut blocks = |seq| {
        let answer = answers(&mut sink, Instant::ZERO, &[data(seq)])[0].unwrap();
        (answer.seq, answer.sack.iter(answer.seq).collect::<Vec<_>>(), answer.size)
    };
    assert_eq!(blocks(0), (1, vec![], 40));
    assert_eq!(blocks(2), (1, vec![2..3], 48));
    assert_eq!(blocks(4), (1, vec![4..5, 2..3], 56));
    assert_eq!(blocks(6), (1, vec![6..7, 4..5, 2..3], 64));
    assert_eq!(blocks(8), (1, vec![8..9, 6..7, 4..5], 64));
    // 3 arrives late and merges with its neighbors.
    assert_eq!(blocks(3), (1, vec![2..5, 8..9, 6..7], 64));
    assert_eq!(blocks(1), (5, vec![8..9, 6..7], 56));
}
