//! Rules of RFC 4341, one test per rule, with computed examples.

use super::options::MAX_WINDOW;
use super::receiver::tests::{received, receiver};
use super::{Restart, TcpLikeOptions, TcpLikeSender, UnusedWindow};
use crate::contract::{Next, Permit, ReceiverHalf, SenderContext, SenderHalf, Sending};
use crate::report::{Arrival, Feedback, Report, Run};
use headway_units::{Bytes, Dialect, Duration, Instant, Options, QueueSize, Random};

mod properties;

const SIZE: Bytes = Bytes::new(1000);
const RTT: Duration = Duration::from_millis(100);
const FIRST: u64 = 1000;

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn feedback(acknowledged: u64, runs: &[Run]) -> Feedback<'_> {
    Feedback::new(acknowledged, Report::Arrivals(runs))
}

/// Sender with a clock and the number of its next packet.
struct Harness {
    sender: TcpLikeSender,
    next: u64,
    now: Instant,
}

impl Harness {
    fn new(dialect: Dialect, change: impl FnOnce(&mut TcpLikeOptions)) -> Self {
        let mut options = TcpLikeOptions::preset(dialect);
        change(&mut options);
        options.check().unwrap();
        let context =
            SenderContext { rtt: Some(RTT), ..SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "tcp-like")) };
        Self { sender: TcpLikeSender::new(&options, context), next: FIRST, now: Instant::ZERO }
    }
    fn with_window(dialect: Dialect, cwnd: u64) -> Self {
        Self::new(dialect, |options| {
            options.initial_window = QueueSize::Packets(cwnd);
            options.initial_window_bytes = None;
            options.initial_ssthresh = Some(QueueSize::Packets(cwnd));
        })
    }
    fn send(&mut self, data: bool) {
        self.sender.on_send(self.now, &Sending { number: self.next, size: SIZE, data });
        self.next += 1;
    }
    /// Sends while permitted and returns the number of packets.
    fn fill(&mut self) -> u64 {
        let before = self.next;
        while self.sender.poll_send(self.now, &Next::new(SIZE)) == Permit::Now {
            self.send(true);
        }
        self.next - before
    }
    /// Reports the packets up to `newest`, relative to the first, oldest first: `+` is received, `m` marked, `-` not
    /// received.
    fn report(&mut self, newest: u64, arrivals: &str) {
        self.report_with(newest, arrivals, |_| {});
    }
    fn report_with(&mut self, newest: u64, arrivals: &str, change: impl FnOnce(&mut Feedback<'_>)) {
        let runs: Vec<_> = arrivals
            .chars()
            .rev()
            .map(|arrival| Run {
                packets: 1,
                arrival: match arrival {
                    '+' => Arrival::Received,
                    'm' => Arrival::Marked,
                    _ => Arrival::NotReceived,
                },
            })
            .collect();
        let mut feedback = feedback(FIRST + newest, &runs);
        change(&mut feedback);
        self.sender.on_feedback(self.now, &feedback);
    }
    fn time_out(&mut self) {
        self.now = self.sender.poll_timeout().unwrap();
        self.sender.handle_timeout(self.now);
    }
    fn windows(&self) -> (u64, u64) {
        (self.sender.window.cwnd, self.sender.window.ssthresh)
    }
}

/// Section 5, last paragraph but one, and RFC 3390: min(4, max(2, 4380 / size)), and an arbitrarily high ssthresh.
#[test]
fn section_5_initial_window() {
    for (size, packets) in [(100, 4), (1095, 4), (1096, 3), (1460, 3), (1461, 2), (9000, 2), (0, 4)] {
        let options = TcpLikeOptions::preset(Dialect::Rfc);
        assert_eq!(options.initial_cwnd(Bytes::new(size)), packets, "{size} B");
    }
    assert_eq!(Harness::new(Dialect::Rfc, |_| {}).sender.status().ssthresh, None);
    assert_eq!(Harness::new(Dialect::Ns2, |_| {}).windows(), (3, 65_535));
}

/// Section 5: "The sender MAY send a data packet when pipe < cwnd". Packets without data need no permission.
#[test]
fn section_5_sends_while_pipe_is_less_than_cwnd() {
    let mut harness = Harness::with_window(Dialect::Rfc, 4);
    assert_eq!(harness.fill(), 4);
    assert_eq!(harness.sender.pipe, 4);
    harness.send(false);
    assert_eq!(harness.sender.pipe, 4);
    assert_eq!(harness.sender.poll_send(harness.now, &Next::new(SIZE)), Permit::Blocked);
    harness.report(0, "+");
    assert_eq!(harness.fill(), 1);
}

/// Section 5, item 1: "MUST NOT decrement pipe more than once per data packet".
#[test]
fn section_5_acknowledged_packets_leave_the_pipe_once() {
    let mut harness = Harness::with_window(Dialect::Rfc, 10);
    harness.fill();
    harness.report(1, "+m");
    assert_eq!(harness.sender.pipe, 8);
    harness.report(1, "+m");
    assert_eq!(harness.sender.pipe, 8);
    harness.report(2, "+m+");
    assert_eq!(harness.sender.pipe, 7);
}

/// Section 5: "MUST NOT decrement pipe for non-data packets".
#[test]
fn section_5_packets_without_data_are_not_in_the_pipe() {
    let mut harness = Harness::with_window(Dialect::Rfc, 10);
    for data in [true, false, true, false, false] {
        harness.send(data);
    }
    assert_eq!(harness.sender.pipe, 2);
    harness.report(4, "-++++");
    // The third packet is received; the first is lost.
    assert_eq!(harness.sender.pipe, 0);
}

/// Section 5, item 2: a packet is lost when three later packets, with or without data, have been received; a late
/// arrival does not count again.
#[test]
fn section_5_a_packet_is_lost_after_three_later_ones() {
    let mut harness = Harness::with_window(Dialect::Rfc, 10);
    for data in [true, true, false, false, true] {
        harness.send(data);
    }
    harness.report(2, "-++");
    assert_eq!((harness.sender.pipe, harness.windows()), (2, (10, 10)));
    harness.report(3, "-+++");
    assert_eq!((harness.sender.pipe, harness.windows()), (1, (5, 5)));
    harness.report(3, "++++");
    assert_eq!((harness.sender.pipe, harness.windows()), (1, (5, 5)));
}

/// Section 5: the window is halved once per event; cwnd is at least 1 and ssthresh at least 2.
#[test]
fn section_5_congestion_event() {
    for (cwnd, arrivals, after) in [
        (10, "-+++", (5, 5)),
        (10, "---+++", (5, 5)),
        (10, "-+-+-+++", (5, 5)),
        (11, "-+++", (5, 5)),
        (4, "-+++", (2, 2)),
        (10, "+m", (5, 5)),
        (10, "mmmm", (5, 5)),
        (10, "-m++", (5, 5)),
    ] {
        let mut harness = Harness::with_window(Dialect::Rfc, cwnd);
        harness.fill();
        harness.report(arrivals.len() as u64 - 1, arrivals);
        assert_eq!(harness.windows(), after, "cwnd {cwnd}, {arrivals}");
    }
    let mut harness = Harness::with_window(Dialect::Rfc, 3);
    harness.fill();
    harness.report(0, "m");
    assert_eq!(harness.windows(), (1, 2));
    harness.fill();
    // ns-2 has no minimum of two (dccp_tcplike.cc, lostOrMarkedData).
    let mut harness = Harness::with_window(Dialect::Ns2, 3);
    harness.fill();
    harness.report(0, "m");
    assert_eq!(harness.windows(), (1, 1));
}

/// Section 5: one event "when the second packet was sent before the loss or mark of the first packet was detected".
#[test]
fn section_5_packets_sent_before_the_detection_belong_to_the_same_event() {
    let mut harness = Harness::with_window(Dialect::Rfc, 16);
    harness.fill();
    harness.report(0, "m");
    assert_eq!(harness.windows(), (8, 8));
    harness.report(15, "m-+m++++++++++++");
    assert_eq!(harness.windows(), (8, 8));
    harness.fill();
    harness.report(16, "m");
    assert_eq!(harness.windows(), (4, 4));
}

/// Section 5, item 3, and RFC 6298 section 5: pipe is 0, ssthresh half, cwnd 1, and the timer backs off.
#[test]
fn section_5_transmit_timeout() {
    let mut harness = Harness::with_window(Dialect::Rfc, 10);
    harness.fill();
    // SRTT 100 ms, RTTVAR 50 ms; the variance term is at least 300 ms.
    assert_eq!(harness.sender.poll_timeout(), Some(ms(400)));
    harness.time_out();
    assert_eq!((harness.sender.pipe, harness.windows()), (0, (1, 5)));
    assert_eq!(harness.sender.poll_timeout(), None);
    assert_eq!(harness.fill(), 1);
    assert_eq!(harness.sender.poll_timeout(), Some(ms(400 + 800)));
    harness.time_out();
    assert_eq!(harness.windows(), (1, 2));
}

/// Packets acknowledged after a timeout do not leave the pipe again and cause no further event. Linux discards them,
/// ns-2 lets them open the window.
#[test]
fn after_a_timeout_late_acknowledgements_do_not_touch_the_pipe() {
    for (dialect, cwnd) in [(Dialect::Rfc, 1), (Dialect::Linux, 1), (Dialect::Ns2, 2)] {
        let mut harness = Harness::with_window(dialect, 10);
        harness.fill();
        harness.time_out();
        harness.fill();
        assert_eq!(harness.sender.pipe, 1, "{dialect}");
        harness.report(9, "--+-----++");
        assert_eq!((harness.sender.pipe, harness.windows().0), (1, cwnd), "{dialect}");
        harness.report(10, "+");
        assert_eq!(harness.sender.pipe, 0, "{dialect}");
    }
}

/// RFC 6298 steps 5.1 to 5.3: the timer is started by the first packet, restarted by new acknowledgements, and stopped
/// when all data is acknowledged.
#[test]
fn rfc_6298_timer() {
    let mut harness = Harness::with_window(Dialect::Rfc, 10);
    harness.send(true);
    harness.now = ms(10);
    harness.send(true);
    assert_eq!(harness.sender.poll_timeout(), Some(ms(400)));
    harness.now = ms(100);
    harness.report(0, "+");
    assert_eq!(harness.sender.poll_timeout(), Some(ms(500)));
    harness.now = ms(110);
    harness.report(0, "+");
    assert_eq!(harness.sender.poll_timeout(), Some(ms(500)));
    harness.report(1, "++");
    assert_eq!(harness.sender.poll_timeout(), None);

    let mut harness = Harness::with_window(Dialect::Linux, 10);
    harness.send(true);
    harness.now = ms(10);
    harness.send(true);
    assert_eq!(harness.sender.poll_timeout(), Some(ms(310)));
}

/// Section 5, item 3: "The sender estimates the round-trip time at most once per window of data".
#[test]
fn section_5_one_round_trip_sample_per_window() {
    for (dialect, srtt) in [(Dialect::Rfc, 200), (Dialect::Ns2, 186)] {
        let mut harness = Harness::with_window(dialect, 4);
        harness.fill();
        // 100, then 900: 100 * 7/8 + 900/8 = 200. The second sample of the window would give 200 * 7/8 + 100/8 = 187.5.
        harness.report_with(0, "+", |feedback| feedback.rtt_sample = Some(Duration::from_millis(900)));
        harness.fill();
        harness.report_with(1, "++", |feedback| feedback.rtt_sample = Some(RTT));
        let rtt = harness.sender.status().rtt.unwrap();
        assert!(rtt.as_nanos() / 1_000_000 == srtt + u64::from(dialect == Dialect::Ns2), "{dialect}: {rtt}");
    }
}

/// Section 5: half a packet per acknowledged data packet, with the receiver half: with Ack Ratio 2 the window grows
/// from 3 to 4, 6, 9; the odd packet waits for the timer.
#[test]
fn section_5_slow_start_matches_tcp_with_delayed_acknowledgements() {
    let mut harness = Harness::new(Dialect::Rfc, |options| options.initial_window = QueueSize::Packets(3));
    let options = TcpLikeOptions::preset(Dialect::Rfc);
    let mut receiver = receiver(&options);
    let mut windows = vec![];
    for _ in 0..4 {
        let first = harness.next;
        windows.push(harness.fill());
        for number in first..harness.next {
            receiver.on_packet(harness.now, &received(number));
            if receiver.poll_report(harness.now).is_some() {
                harness.report(number - FIRST, &"+".repeat((number - FIRST) as usize + 1));
            }
        }
        if let Some(timer) = receiver.poll_timeout() {
            harness.now = timer;
            receiver.handle_timeout(timer);
            assert!(receiver.poll_report(timer).is_some());
            harness.report(harness.next - 1 - FIRST, "+");
        }
    }
    assert_eq!(windows, [3, 4, 6, 9]);
}

/// Section 5: "up to a maximum of Ack Ratio/2 packets per acknowledgement".
#[test]
fn section_5_slow_start_counts_at_most_the_ack_ratio() {
    for (ratio_doubled, cwnd) in [(false, 17), (true, 18)] {
        let mut harness = Harness::with_window(Dialect::Rfc, 16);
        harness.sender.window.ssthresh = u64::MAX;
        harness.fill();
        harness.report_with(0, "-", |feedback| feedback.lost_acks = u64::from(ratio_doubled));
        assert_eq!(harness.sender.ack_ratio.get(), if ratio_doubled { 4 } else { 2 });
        harness.report(7, "++++++++");
        assert_eq!(harness.windows().0, cwnd);
        if ratio_doubled {
            // Three packets leave a credit of half a packet.
            harness.report(10, "+++");
            assert_eq!(harness.windows().0, cwnd + 1);
            harness.report(11, "+");
            assert_eq!(harness.windows().0, cwnd + 2);
        }
    }
}

/// Two Ack Vector options cover 32384 packets, the maximum in flight.
#[test]
fn the_window_is_bounded() {
    let mut harness = Harness::with_window(Dialect::Rfc, MAX_WINDOW);
    assert_eq!(harness.fill(), 32_384);
    let runs = [Run { arrival: Arrival::Received, packets: MAX_WINDOW }];
    harness.sender.on_feedback(harness.now, &feedback(FIRST + MAX_WINDOW - 1, &runs));
    assert_eq!((harness.windows().0, harness.sender.pipe), (MAX_WINDOW, 0));
}

/// ns-2, updateCwnd: one packet per acknowledged packet, at most the Ack Ratio per acknowledgement; growth beyond
/// ssthresh is congestion avoidance. Linux, ccid2_new_ack: an Ack Ratio of 1 is rounded up to 2.
#[test]
fn slow_start_of_the_dialects() {
    let mut harness = Harness::new(Dialect::Ns2, |_| {});
    harness.fill();
    harness.report(1, "++");
    assert_eq!(harness.windows().0, 5);
    for (dialect, cwnd) in [(Dialect::Rfc, 3), (Dialect::Linux, 4)] {
        let mut harness = Harness::new(dialect, |options| options.initial_window = QueueSize::Packets(3));
        harness.sender.ack_ratio.on_report(&TcpLikeOptions::preset(Dialect::Linux), 3, 1, false);
        assert_eq!(harness.sender.ack_ratio.get(), 1);
        harness.fill();
        harness.report(1, "++");
        assert_eq!(harness.windows().0, cwnd, "{dialect}");
    }
}

/// Section 5: one packet "for every window of data acknowledged without lost or marked packets".
#[test]
fn section_5_congestion_avoidance() {
    let mut harness = Harness::with_window(Dialect::Rfc, 4);
    harness.fill();
    harness.report(2, "+++");
    assert_eq!(harness.windows(), (4, 4));
    harness.report(3, "++++");
    assert_eq!(harness.windows(), (5, 4));
    harness.fill();
    harness.report(7, "++++");
    assert_eq!(harness.windows(), (5, 4));
    harness.report(8, "m");
    assert_eq!(harness.windows(), (2, 2));
    // Packets sent before the detection of the mark (three unmarked ones since the fifth) no longer count.
    harness.fill();
    harness.report(9, "++");
    assert_eq!(harness.windows(), (2, 2));
    harness.fill();
    harness.report(11, "++");
    assert_eq!(harness.windows(), (3, 2));
}

/// In recovery: packets of the window with the loss do not open the window by RFC 4341, but do in ns-2 and Linux.
#[test]
fn growth_in_recovery_of_the_dialects() {
    for (dialect, cwnd) in [(Dialect::Rfc, 4), (Dialect::Ns2, 5), (Dialect::Linux, 5)] {
        let mut harness = Harness::with_window(dialect, 8);
        harness.fill();
        harness.report(3, "-+++");
        assert_eq!(harness.windows(), (4, 4), "{dialect}");
        harness.report(7, "++++");
        assert_eq!(harness.windows(), (cwnd, 4), "{dialect}");
    }
}

/// Section 5.1: after an idle period longer than the timeout, RFC 2581 reduces the window to the initial one, RFC 2861
/// halves it per timeout and keeps three quarters in ssthresh, and ns-2 keeps it.
#[test]
fn section_5_1_idle() {
    for (restart, packets, ssthresh) in
        [(Restart::InitialWindow, 4, 64), (Restart::Decay, 16, 64), (Restart::Keep, 64, 64)]
    {
        let mut harness = Harness::with_window(Dialect::Rfc, 4);
        harness.sender.options.restart_after_idle = restart;
        (harness.sender.window.cwnd, harness.sender.window.ssthresh) = (64, 64);
        harness.send(true);
        harness.now = ms(100);
        harness.report(0, "+");
        harness.now = ms(400);
        assert_eq!(harness.sender.poll_send(harness.now, &Next::new(SIZE)), Permit::Now);
        assert_eq!(harness.windows(), (64, 64));
        // The timeout is 400 ms: two have passed since the packet.
        harness.now = ms(900);
        assert_eq!((harness.fill(), harness.windows().1), (packets, ssthresh), "{restart:?}");
    }
    let mut harness = Harness::with_window(Dialect::Rfc, 4);
    harness.sender.window.cwnd = 64;
    harness.send(true);
    harness.report(0, "+");
    harness.now = ms(401);
    assert_eq!(harness.fill(), 32);

    let mut harness = Harness::with_window(Dialect::Rfc, 4);
    harness.sender.options.restart_after_idle = Restart::Decay;
    (harness.sender.window.cwnd, harness.sender.window.ssthresh) = (64, 2);
    harness.send(true);
    harness.report(0, "+");
    harness.now = Instant::from_secs(1_000_000);
    assert_eq!((harness.fill(), harness.windows()), (4, (4, 48)));
}

/// Section 5.1: a window that is not filled does not grow (RFC 2861), except in ns-2.
#[test]
fn section_5_1_application_limited() {
    for (unused, cwnd) in [(UnusedWindow::Holds, 10), (UnusedWindow::Grows, 11)] {
        let mut harness = Harness::with_window(Dialect::Rfc, 10);
        harness.sender.options.unused_window = unused;
        for packet in 0..12 {
            harness.send(true);
            harness.report(packet, "+");
        }
        assert_eq!(harness.windows().0, cwnd, "{unused:?}");
    }
}

/// RFC 2861, as in Linux: the part unused for a timeout is halved, and ssthresh keeps three quarters.
#[test]
fn section_5_1_unused_window_decays() {
    let mut harness = Harness::with_window(Dialect::Linux, 4);
    (harness.sender.window.cwnd, harness.sender.window.ssthresh) = (40, 2);
    harness.send(true);
    harness.now = ms(200);
    harness.send(true);
    assert_eq!(harness.windows(), (40, 2));
    harness.now = ms(300);
    harness.send(true);
    assert_eq!(harness.windows(), ((40 + 4) / 2, 30));
    // The initial window is not reduced, so ssthresh is unchanged.
    let mut harness = Harness::with_window(Dialect::Linux, 4);
    (harness.sender.window.cwnd, harness.sender.window.ssthresh) = (4, 2);
    harness.send(true);
    harness.now = ms(300);
    harness.send(true);
    assert_eq!(harness.windows(), (4, 2));
}

/// Section 5.2: the window shrinks by one packet per drop in the receiver's buffer, down to one; slow start ends.
#[test]
fn section_5_2_receive_buffer_drops() {
    for (drops, cwnd) in [(1, 9), (3, 7), (9, 1), (u64::MAX, 1)] {
        let mut harness = Harness::with_window(Dialect::Rfc, 10);
        harness.sender.window.ssthresh = u64::MAX;
        harness.fill();
        harness.report_with(3, "++++", |feedback| feedback.receive_buffer_drops = drops);
        assert_eq!(harness.windows(), (cwnd, cwnd), "{drops}");
    }
    // RFC 4340 section 11.7.1: W + min(W1 - W, 0) + min(W2 - W, 0) = 10 - 5 - 2.
    let mut harness = Harness::with_window(Dialect::Rfc, 10);
    harness.fill();
    harness.report_with(3, "m+++", |feedback| feedback.receive_buffer_drops = 2);
    assert_eq!(harness.windows().0, 3);
}

/// Section 5.2 and RFC 4340 section 11.6: slow start ends, and the window does not grow for a round trip.
#[test]
fn section_5_2_slow_receiver() {
    let mut harness = Harness::with_window(Dialect::Rfc, 4);
    harness.sender.window.ssthresh = u64::MAX;
    harness.fill();
    harness.report_with(3, "++++", |feedback| feedback.slow_receiver = true);
    assert_eq!(harness.windows(), (4, 4));
    harness.fill();
    harness.now = ms(99);
    harness.report(7, "++++");
    assert_eq!(harness.windows(), (4, 4));
    harness.fill();
    harness.now = ms(100);
    harness.report(11, "++++");
    assert_eq!(harness.windows(), (5, 4));
}

/// Section 6.1.2: the Ack Ratio requested from the receiver.
#[test]
fn section_6_1_ack_ratio() {
    let mut harness = Harness::with_window(Dialect::Rfc, 10);
    assert_eq!(harness.sender.status().ack_ratio, Some(2));
    harness.fill();
    harness.report_with(0, "+", |feedback| feedback.lost_acks = 1);
    assert_eq!(harness.sender.status().ack_ratio, Some(4));
    // Halving the window limits the ratio to ceil(5 / 2).
    harness.report(1, "m");
    assert_eq!(harness.sender.status().ack_ratio, Some(3));
    // After a timeout it is 2, which is always acceptable; in ns-2 and Linux 1.
    for (dialect, ratio) in [(Dialect::Rfc, 2), (Dialect::Ns2, 1), (Dialect::Linux, 1)] {
        let mut harness = Harness::with_window(dialect, 10);
        harness.fill();
        harness.time_out();
        assert_eq!(harness.sender.status().ack_ratio, Some(ratio), "{dialect}");
    }
}

/// RFC 4340 section 11.4.1: a packet received and then marked is marked, while it is recorded.
#[test]
fn a_marked_duplicate_counts_as_a_mark() {
    let mut harness = Harness::with_window(Dialect::Rfc, 10);
    harness.fill();
    harness.report(0, "+");
    harness.report(0, "m");
    assert_eq!((harness.sender.pipe, harness.windows()), (9, (5, 5)));
    harness.report(0, "+");
    harness.report(0, "m");
    assert_eq!((harness.sender.pipe, harness.windows()), (9, (5, 5)));
}

/// Reports on packets that were not sent change nothing.
#[test]
fn packets_that_were_not_sent_are_ignored() {
    let mut harness = Harness::with_window(Dialect::Rfc, 10);
    harness.report_with(0, "m", |feedback| feedback.lost_acks = 1);
    harness.fill();
    for number in [FIRST + 10, u64::MAX] {
        for arrival in [Arrival::Received, Arrival::Marked] {
            let runs = [Run { arrival, packets: u64::MAX }, Run { arrival, packets: u64::MAX }];
            harness.sender.on_feedback(harness.now, &Feedback { lost_acks: number / FIRST, ..feedback(number, &runs) });
        }
    }
    assert_eq!((harness.sender.pipe, harness.windows()), (10, (10, 10)));
    assert_eq!(harness.sender.status().ack_ratio, Some(2));
    // A run that extends below the first packet is truncated.
    let runs = [Run { arrival: Arrival::Received, packets: u64::MAX }];
    harness.sender.on_feedback(harness.now, &feedback(FIRST + 3, &runs));
    assert_eq!(harness.sender.pipe, 6);
}

/// Without reports and permissions the record is bounded, and packets removed from it are lost.
#[test]
fn the_record_is_bounded() {
    let mut harness = Harness::with_window(Dialect::Rfc, 10);
    harness.send(true);
    for _ in 1..2 * MAX_WINDOW {
        harness.send(false);
    }
    assert_eq!((harness.sender.pipe, harness.windows()), (1, (10, 10)));
    harness.send(false);
    assert_eq!((harness.sender.pipe, harness.windows()), (0, (5, 5)));
    assert_eq!(harness.sender.poll_timeout(), None);
}

/// The rate is the window per round trip: 4 packets of 1000 B in 100 ms.
#[test]
fn rate_for_an_encoder() {
    let harness = Harness::new(Dialect::Rfc, |_| {});
    assert_eq!(harness.sender.status().target_rate.unwrap().bits_per_second(), 320_000);
    assert_eq!((harness.sender.status().window_packets, harness.sender.status().rtt), (Some(4.0), Some(RTT)));
}

/// RFC 6928: ten packets, or 14,600 B if packets are large.
#[test]
fn headway_initial_window() {
    for (size, packets) in [(100, 10), (1460, 10), (1500, 9), (9000, 2)] {
        let options = TcpLikeOptions::preset(Dialect::Headway1);
        assert_eq!(options.initial_cwnd(Bytes::new(size)), packets, "{size} B");
    }
}

/// A silence restarts the flow if at most one in ten packets began a congestion event before it
/// (`docs/src/rate/headway.md`) and three packets were sent without a report.
#[test]
fn a_silence_of_a_healthy_path_restarts_the_flow() {
    for (between, unanswered, restarts) in [(9, 10, false), (11, 10, true), (11, 2, false), (11, 3, true)] {
        let mut harness = Harness::new(Dialect::Headway1, |options| options.remembers_rate = false);
        let mut packet = 0;
        // The first packet of each group is lost.
        for _ in 0..20 {
            harness.send(true);
            for _ in 0..between {
                harness.send(true);
                harness.now += Duration::from_millis(10);
                packet += 1;
                let newest = packet;
                harness.report(
                    newest,
                    if harness.next - FIRST - newest == 1 && newest % (between + 1) == 1 { "-+" } else { "+" },
                );
            }
            packet += 1;
        }
        (0..unanswered).for_each(|_| harness.send(true));
        harness.time_out();
        harness.now += Duration::from_secs(3);
        harness.report(packet, "+");
        let (cwnd, ssthresh) = harness.windows();
        assert_eq!(ssthresh == u64::MAX, restarts, "{between} {unanswered}: {cwnd} {ssthresh}");
    }
}

/// RFC 5681 section 3.1: slow start ends at ssthresh, the window from before the silence. Without a congestion event it
/// is unlimited. A timeout before a round-trip measurement does not reduce it.
#[test]
fn slow_start_after_a_silence_ends_at_the_old_window() {
    for (threshold, remembers_rate, ssthresh) in
        [(Some(20), true, 20), (Some(20), false, u64::MAX), (None, true, u64::MAX)]
    {
        let mut harness = Harness::new(Dialect::Headway1, |options| {
            options.initial_window = QueueSize::Packets(20);
            options.initial_window_bytes = None;
            options.initial_ssthresh = threshold.map(QueueSize::Packets);
            options.remembers_rate = remembers_rate;
        });
        // Nothing is lost, and the window is never full.
        for packet in 0..40 {
            harness.send(true);
            harness.now += Duration::from_millis(10);
            harness.report(packet, "+");
        }
        (0..10).for_each(|_| harness.send(true));
        harness.time_out();
        assert_eq!(harness.windows().1, 10);
        harness.now += Duration::from_secs(3);
        harness.report(40, "+");
        assert_eq!(harness.windows(), (20, ssthresh));
        harness.send(true);
        harness.time_out();
        assert_eq!(harness.windows(), (1, ssthresh));
    }
}

/// Pacing after a silence: a window of 20 packets and a round trip of 100 ms give a gap of 5 ms, and 10/11 of it after
/// slow start. Pacing ends when the window is full.
#[test]
fn a_window_after_a_silence_is_paced_until_it_is_full() {
    let mut harness = Harness::new(Dialect::Headway1, |options| {
        options.initial_window = QueueSize::Packets(10);
        options.initial_window_bytes = None;
        options.initial_ssthresh = Some(QueueSize::Packets(20));
    });
    for packet in 0..40 {
        harness.send(true);
        harness.report(packet, "+");
    }
    (0..10).for_each(|_| harness.send(true));
    harness.time_out();
    harness.now += Duration::from_secs(3);
    harness.report(49, "++++++++++");
    assert_eq!(harness.windows(), (10, 20));
    let mut step = |is_answered: bool| {
        let gap = Duration::from_nanos(if harness.windows().0 < 20 { 5_000_000 } else { 4_545_454 });
        let newest = harness.next - FIRST;
        assert_eq!(harness.sender.poll_send(harness.now, &Next::new(SIZE)), Permit::Now);
        harness.send(true);
        let permit = harness.sender.poll_send(harness.now, &Next::new(SIZE));
        if is_answered {
            harness.report(newest, "+");
        }
        let next = harness.now + gap;
        let is_paced = permit == Permit::At(next);
        if is_paced {
            harness.now = next;
        }
        (is_paced, harness.windows().0)
    };
    // The window grows by one per two packets, although pacing keeps it from being full.
    let windows: Vec<_> = (0..20).map(|_| step(true)).collect();
    assert_eq!((windows[0], windows[1], windows[19]), ((true, 10), (true, 11), (true, 20)));
    assert!(windows.iter().all(|(is_paced, _)| *is_paced));
    assert!((0..19).all(|_| step(false) == (true, 20)));
    assert_eq!(step(false), (false, 20));
}
