//! The rules of RFC 4341, a test a rule, with worked numbers.

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

/// A sender and the number of its next packet.
struct Talk {
    sender: TcpLikeSender,
    next: u64,
    now: Instant,
}

impl Talk {
    fn new(dialect: Dialect, change: impl FnOnce(&mut TcpLikeOptions)) -> Self {
        let mut options = TcpLikeOptions::preset(dialect);
        change(&mut options);
        options.check().unwrap();
        let context =
            SenderContext { rtt: Some(RTT), ..SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "tcp-like")) };
        Self { sender: TcpLikeSender::new(&options, context), next: FIRST, now: Instant::ZERO }
    }
    /// With this window, in congestion avoidance.
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
    /// Sends all that may go.
    fn fill(&mut self) -> u64 {
        let before = self.next;
        while self.sender.poll_send(self.now, &Next::new(SIZE)) == Permit::Now {
            self.send(true);
        }
        self.next - before
    }
    /// A report on the packets up to `newest`, counted from the first: `+` has come, `m` marked, `-` not; the oldest first.
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

/// Section 5, last paragraph but one, and RFC 3390: min(4, max(2, 4380 / size)), and ssthresh arbitrarily high.
#[test]
fn section_5_initial_window() {
    for (size, packets) in [(100, 4), (1095, 4), (1096, 3), (1460, 3), (1461, 2), (9000, 2), (0, 4)] {
        let options = TcpLikeOptions::preset(Dialect::Rfc);
        assert_eq!(options.initial_cwnd(Bytes::new(size)), packets, "{size} B");
    }
    assert_eq!(Talk::new(Dialect::Rfc, |_| {}).sender.status().ssthresh, None);
    assert_eq!(Talk::new(Dialect::Ns2, |_| {}).windows(), (3, 65_535));
}

/// Section 5: "The sender MAY send a data packet when pipe < cwnd". Packets without data are not asked about.
#[test]
fn section_5_sends_while_pipe_is_less_than_cwnd() {
    let mut talk = Talk::with_window(Dialect::Rfc, 4);
    assert_eq!(talk.fill(), 4);
    assert_eq!(talk.sender.pipe, 4);
    talk.send(false);
    assert_eq!(talk.sender.pipe, 4);
    assert_eq!(talk.sender.poll_send(talk.now, &Next::new(SIZE)), Permit::Blocked);
    talk.report(0, "+");
    assert_eq!(talk.fill(), 1);
}

/// Section 5, item 1, and "MUST NOT decrement pipe more than once per data packet".
#[test]
fn section_5_acknowledged_packets_leave_the_pipe_once() {
    let mut talk = Talk::with_window(Dialect::Rfc, 10);
    talk.fill();
    talk.report(1, "+m");
    assert_eq!(talk.sender.pipe, 8);
    talk.report(1, "+m");
    assert_eq!(talk.sender.pipe, 8);
    talk.report(2, "+m+");
    assert_eq!(talk.sender.pipe, 7);
}

/// Section 5: "MUST NOT decrement pipe for non-data packets".
#[test]
fn section_5_packets_without_data_never_were_in_the_pipe() {
    let mut talk = Talk::with_window(Dialect::Rfc, 10);
    for data in [true, false, true, false, false] {
        talk.send(data);
    }
    assert_eq!(talk.sender.pipe, 2);
    talk.report(4, "-++++");
    // The third packet has come; the first is lost.
    assert_eq!(talk.sender.pipe, 0);
}

/// Section 5, item 2: lost when three packets sent later, data or not, have come; never counted again when it comes.
#[test]
fn section_5_three_later_packets_make_one_lost() {
    let mut talk = Talk::with_window(Dialect::Rfc, 10);
    for data in [true, true, false, false, true] {
        talk.send(data);
    }
    talk.report(2, "-++");
    assert_eq!((talk.sender.pipe, talk.windows()), (2, (10, 10)));
    talk.report(3, "-+++");
    assert_eq!((talk.sender.pipe, talk.windows()), (1, (5, 5)));
    talk.report(3, "++++");
    assert_eq!((talk.sender.pipe, talk.windows()), (1, (5, 5)));
}

/// Section 5: halved once for a loss; floors of one and two.
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
        let mut talk = Talk::with_window(Dialect::Rfc, cwnd);
        talk.fill();
        talk.report(arrivals.len() as u64 - 1, arrivals);
        assert_eq!(talk.windows(), after, "cwnd {cwnd}, {arrivals}");
    }
    let mut talk = Talk::with_window(Dialect::Rfc, 3);
    talk.fill();
    talk.report(0, "m");
    assert_eq!(talk.windows(), (1, 2));
    talk.fill();
    // ns-2 knows no floor of two (dccp_tcplike.cc, lostOrMarkedData).
    let mut talk = Talk::with_window(Dialect::Ns2, 3);
    talk.fill();
    talk.report(0, "m");
    assert_eq!(talk.windows(), (1, 1));
}

/// Section 5: one event "when the second packet was sent before the loss or mark of the first packet was detected".
#[test]
fn section_5_what_was_sent_before_the_detection_is_the_same_event() {
    let mut talk = Talk::with_window(Dialect::Rfc, 16);
    talk.fill();
    talk.report(0, "m");
    assert_eq!(talk.windows(), (8, 8));
    talk.report(15, "m-+m++++++++++++");
    assert_eq!(talk.windows(), (8, 8));
    talk.fill();
    talk.report(16, "m");
    assert_eq!(talk.windows(), (4, 4));
}

/// Section 5, item 3, and RFC 6298 section 5: pipe is zero, ssthresh half, cwnd one, and the timer backs off.
#[test]
fn section_5_transmit_timeout() {
    let mut talk = Talk::with_window(Dialect::Rfc, 10);
    talk.fill();
    // SRTT 100 ms, RTTVAR 50 ms; the variance counts for 300 ms at least.
    assert_eq!(talk.sender.poll_timeout(), Some(ms(400)));
    talk.time_out();
    assert_eq!((talk.sender.pipe, talk.windows()), (0, (1, 5)));
    assert_eq!(talk.sender.poll_timeout(), None);
    assert_eq!(talk.fill(), 1);
    assert_eq!(talk.sender.poll_timeout(), Some(ms(400 + 800)));
    talk.time_out();
    assert_eq!(talk.windows(), (1, 2));
}

/// What came after all is not in the pipe twice, and is no congestion beyond the timeout. Whether it opens the window
/// differs: Linux has forgotten it, ns-2 counts it.
#[test]
fn after_a_timeout_late_acknowledgements_do_not_touch_the_pipe() {
    for (dialect, cwnd) in [(Dialect::Rfc, 1), (Dialect::Linux, 1), (Dialect::Ns2, 2)] {
        let mut talk = Talk::with_window(dialect, 10);
        talk.fill();
        talk.time_out();
        talk.fill();
        assert_eq!(talk.sender.pipe, 1, "{dialect}");
        talk.report(9, "--+-----++");
        assert_eq!((talk.sender.pipe, talk.windows().0), (1, cwnd), "{dialect}");
        talk.report(10, "+");
        assert_eq!(talk.sender.pipe, 0, "{dialect}");
    }
}

/// RFC 6298 steps 5.1 to 5.3: started by the first packet, restarted by news, stopped when all has come.
#[test]
fn rfc_6298_timer() {
    let mut talk = Talk::with_window(Dialect::Rfc, 10);
    talk.send(true);
    talk.now = ms(10);
    talk.send(true);
    assert_eq!(talk.sender.poll_timeout(), Some(ms(400)));
    talk.now = ms(100);
    talk.report(0, "+");
    assert_eq!(talk.sender.poll_timeout(), Some(ms(500)));
    talk.now = ms(110);
    talk.report(0, "+");
    assert_eq!(talk.sender.poll_timeout(), Some(ms(500)));
    talk.report(1, "++");
    assert_eq!(talk.sender.poll_timeout(), None);

    let mut talk = Talk::with_window(Dialect::Linux, 10);
    talk.send(true);
    talk.now = ms(10);
    talk.send(true);
    assert_eq!(talk.sender.poll_timeout(), Some(ms(310)));
}

/// Section 5, item 3: "The sender estimates the round-trip time at most once per window of data".
#[test]
fn section_5_one_round_trip_sample_a_window() {
    for (dialect, srtt) in [(Dialect::Rfc, 200), (Dialect::Ns2, 186)] {
        let mut talk = Talk::with_window(dialect, 4);
        talk.fill();
        // 100, then 900: 100 * 7/8 + 900/8 = 200. The second sample of a window of data: 200 * 7/8 + 100/8 = 187.5.
        talk.report_with(0, "+", |feedback| feedback.rtt_sample = Some(Duration::from_millis(900)));
        talk.fill();
        talk.report_with(1, "++", |feedback| feedback.rtt_sample = Some(RTT));
        let rtt = talk.sender.status().rtt.unwrap();
        assert!(rtt.as_nanos() / 1_000_000 == srtt + u64::from(dialect == Dialect::Ns2), "{dialect}: {rtt}");
    }
}

/// Section 5: half a packet for each data packet acknowledged, driven by the receiver half: with Ack Ratio 2 from 3
/// packets 3, 4, 6, 9; the odd packet waits for the timer.
#[test]
fn section_5_slow_start_is_that_of_tcp_with_delayed_acknowledgements() {
    let mut talk = Talk::new(Dialect::Rfc, |options| options.initial_window = QueueSize::Packets(3));
    let options = TcpLikeOptions::preset(Dialect::Rfc);
    let mut receiver = receiver(&options);
    let mut windows = vec![];
    for _ in 0..4 {
        let first = talk.next;
        windows.push(talk.fill());
        for number in first..talk.next {
            receiver.on_packet(talk.now, &received(number));
            if receiver.poll_report(talk.now).is_some() {
                talk.report(number - FIRST, &"+".repeat((number - FIRST) as usize + 1));
            }
        }
        if let Some(timer) = receiver.poll_timeout() {
            talk.now = timer;
            receiver.handle_timeout(timer);
            assert!(receiver.poll_report(timer).is_some());
            talk.report(talk.next - 1 - FIRST, "+");
        }
    }
    assert_eq!(windows, [3, 4, 6, 9]);
}

/// Section 5: "up to a maximum of Ack Ratio/2 packets per acknowledgement".
#[test]
fn section_5_slow_start_counts_at_most_the_ack_ratio() {
    for (ratio_doubled, cwnd) in [(false, 17), (true, 18)] {
        let mut talk = Talk::with_window(Dialect::Rfc, 16);
        talk.sender.window.ssthresh = u64::MAX;
        talk.fill();
        talk.report_with(0, "-", |feedback| feedback.lost_acks = u64::from(ratio_doubled));
        assert_eq!(talk.sender.ack_ratio.get(), if ratio_doubled { 4 } else { 2 });
        talk.report(7, "++++++++");
        assert_eq!(talk.windows().0, cwnd);
        if ratio_doubled {
            // Three packets leave half a packet's growth for the next.
            talk.report(10, "+++");
            assert_eq!(talk.windows().0, cwnd + 1);
            talk.report(11, "+");
            assert_eq!(talk.windows().0, cwnd + 2);
        }
    }
}

/// Two Ack Vector options tell of 32384 packets; more are never under way.
#[test]
fn the_window_is_bounded() {
    let mut talk = Talk::with_window(Dialect::Rfc, MAX_WINDOW);
    assert_eq!(talk.fill(), 32_384);
    let runs = [Run { arrival: Arrival::Received, packets: MAX_WINDOW }];
    talk.sender.on_feedback(talk.now, &feedback(FIRST + MAX_WINDOW - 1, &runs));
    assert_eq!((talk.windows().0, talk.sender.pipe), (MAX_WINDOW, 0));
}

/// ns-2, updateCwnd: one for one, and as many as the Ack Ratio for an acknowledgement; what passes ssthresh counts as
/// congestion avoidance. Linux, ccid2_new_ack: an Ack Ratio of 1 is rounded up to 2.
#[test]
fn slow_start_of_the_dialects() {
    let mut talk = Talk::new(Dialect::Ns2, |_| {});
    talk.fill();
    talk.report(1, "++");
    assert_eq!(talk.windows().0, 5);
    for (dialect, cwnd) in [(Dialect::Rfc, 3), (Dialect::Linux, 4)] {
        let mut talk = Talk::new(dialect, |options| options.initial_window = QueueSize::Packets(3));
        talk.sender.ack_ratio.on_report(&TcpLikeOptions::preset(Dialect::Linux), 3, 1, false);
        assert_eq!(talk.sender.ack_ratio.get(), 1);
        talk.fill();
        talk.report(1, "++");
        assert_eq!(talk.windows().0, cwnd, "{dialect}");
    }
}

/// Section 5: one packet "for every window of data acknowledged without lost or marked packets".
#[test]
fn section_5_congestion_avoidance() {
    let mut talk = Talk::with_window(Dialect::Rfc, 4);
    talk.fill();
    talk.report(2, "+++");
    assert_eq!(talk.windows(), (4, 4));
    talk.report(3, "++++");
    assert_eq!(talk.windows(), (5, 4));
    talk.fill();
    talk.report(7, "++++");
    assert_eq!(talk.windows(), (5, 4));
    talk.report(8, "m");
    assert_eq!(talk.windows(), (2, 2));
    // What went before the mark was seen (5 packets from the fifth on have come, three of them unmarked) counts no more.
    talk.fill();
    talk.report(9, "++");
    assert_eq!(talk.windows(), (2, 2));
    talk.fill();
    talk.report(11, "++");
    assert_eq!(talk.windows(), (3, 2));
}

/// In recovery: RFC 4341 has no growth by packets of the window with the loss, ns-2 and Linux have.
#[test]
fn growth_in_recovery_of_the_dialects() {
    for (dialect, cwnd) in [(Dialect::Rfc, 4), (Dialect::Ns2, 5), (Dialect::Linux, 5)] {
        let mut talk = Talk::with_window(dialect, 8);
        talk.fill();
        talk.report(3, "-+++");
        assert_eq!(talk.windows(), (4, 4), "{dialect}");
        talk.report(7, "++++");
        assert_eq!(talk.windows(), (cwnd, 4), "{dialect}");
    }
}

/// Section 5.1, RFC 2581: after a silence longer than the timeout the window is the initial one. RFC 2861: half for each
/// timeout, and three quarters are remembered. ns-2: all of it.
#[test]
fn section_5_1_idle() {
    for (restart, packets, ssthresh) in
        [(Restart::InitialWindow, 4, 64), (Restart::Decay, 16, 64), (Restart::Keep, 64, 64)]
    {
        let mut talk = Talk::with_window(Dialect::Rfc, 4);
        talk.sender.options.restart_after_idle = restart;
        (talk.sender.window.cwnd, talk.sender.window.ssthresh) = (64, 64);
        talk.send(true);
        talk.now = ms(100);
        talk.report(0, "+");
        talk.now = ms(400);
        assert_eq!(talk.sender.poll_send(talk.now, &Next::new(SIZE)), Permit::Now);
        assert_eq!(talk.windows(), (64, 64));
        // The timeout is 400 ms: two of them have passed since the packet.
        talk.now = ms(900);
        assert_eq!((talk.fill(), talk.windows().1), (packets, ssthresh), "{restart:?}");
    }
    let mut talk = Talk::with_window(Dialect::Rfc, 4);
    talk.sender.window.cwnd = 64;
    talk.send(true);
    talk.report(0, "+");
    talk.now = ms(401);
    assert_eq!(talk.fill(), 32);

    let mut talk = Talk::with_window(Dialect::Rfc, 4);
    talk.sender.options.restart_after_idle = Restart::Decay;
    (talk.sender.window.cwnd, talk.sender.window.ssthresh) = (64, 2);
    talk.send(true);
    talk.report(0, "+");
    talk.now = Instant::from_secs(1_000_000);
    assert_eq!((talk.fill(), talk.windows()), (4, (4, 48)));
}

/// Section 5.1: a window that is not filled does not grow (RFC 2861), unless ns-2's rules hold.
#[test]
fn section_5_1_application_limited() {
    for (unused, cwnd) in [(UnusedWindow::Holds, 10), (UnusedWindow::Grows, 11)] {
        let mut talk = Talk::with_window(Dialect::Rfc, 10);
        talk.sender.options.unused_window = unused;
        for packet in 0..12 {
            talk.send(true);
            talk.report(packet, "+");
        }
        assert_eq!(talk.windows().0, cwnd, "{unused:?}");
    }
}

/// RFC 2861, as Linux has it: what was not used for a timeout is halved, and ssthresh remembers three quarters.
#[test]
fn section_5_1_unused_window_decays() {
    let mut talk = Talk::with_window(Dialect::Linux, 4);
    (talk.sender.window.cwnd, talk.sender.window.ssthresh) = (40, 2);
    talk.send(true);
    talk.now = ms(200);
    talk.send(true);
    assert_eq!(talk.windows(), (40, 2));
    talk.now = ms(300);
    talk.send(true);
    assert_eq!(talk.windows(), ((40 + 4) / 2, 30));
    // The initial window is not given up, so there is nothing to remember.
    let mut talk = Talk::with_window(Dialect::Linux, 4);
    (talk.sender.window.cwnd, talk.sender.window.ssthresh) = (4, 2);
    talk.send(true);
    talk.now = ms(300);
    talk.send(true);
    assert_eq!(talk.windows(), (4, 2));
}

/// Section 5.2: one packet less for each that was dropped in the receiver's buffer, one at least; slow start ends.
#[test]
fn section_5_2_receive_buffer_drops() {
    for (drops, cwnd) in [(1, 9), (3, 7), (9, 1), (u64::MAX, 1)] {
        let mut talk = Talk::with_window(Dialect::Rfc, 10);
        talk.sender.window.ssthresh = u64::MAX;
        talk.fill();
        talk.report_with(3, "++++", |feedback| feedback.receive_buffer_drops = drops);
        assert_eq!(talk.windows(), (cwnd, cwnd), "{drops}");
    }
    // RFC 4340 section 11.7.1: W + min(W1 - W, 0) + min(W2 - W, 0) = 10 - 5 - 2.
    let mut talk = Talk::with_window(Dialect::Rfc, 10);
    talk.fill();
    talk.report_with(3, "m+++", |feedback| feedback.receive_buffer_drops = 2);
    assert_eq!(talk.windows().0, 3);
}

/// Section 5.2 and RFC 4340 section 11.6: slow start ends, and for a round trip nothing grows.
#[test]
fn section_5_2_slow_receiver() {
    let mut talk = Talk::with_window(Dialect::Rfc, 4);
    talk.sender.window.ssthresh = u64::MAX;
    talk.fill();
    talk.report_with(3, "++++", |feedback| feedback.slow_receiver = true);
    assert_eq!(talk.windows(), (4, 4));
    talk.fill();
    talk.now = ms(99);
    talk.report(7, "++++");
    assert_eq!(talk.windows(), (4, 4));
    talk.fill();
    talk.now = ms(100);
    talk.report(11, "++++");
    assert_eq!(talk.windows(), (5, 4));
}

/// Section 6.1.2: what the sender asks of the receiver.
#[test]
fn section_6_1_ack_ratio() {
    let mut talk = Talk::with_window(Dialect::Rfc, 10);
    assert_eq!(talk.sender.status().ack_ratio, Some(2));
    talk.fill();
    talk.report_with(0, "+", |feedback| feedback.lost_acks = 1);
    assert_eq!(talk.sender.status().ack_ratio, Some(4));
    // Halving the window pulls it along: at most ceil(5 / 2).
    talk.report(1, "m");
    assert_eq!(talk.sender.status().ack_ratio, Some(3));
    // At a timeout it is 2, which is always acceptable; ns-2 and Linux go to 1.
    for (dialect, ratio) in [(Dialect::Rfc, 2), (Dialect::Ns2, 1), (Dialect::Linux, 1)] {
        let mut talk = Talk::with_window(dialect, 10);
        talk.fill();
        talk.time_out();
        assert_eq!(talk.sender.status().ack_ratio, Some(ratio), "{dialect}");
    }
}

/// RFC 4340 section 11.4.1: received, then marked is marked, as long as it is remembered.
#[test]
fn a_marked_copy_is_a_mark() {
    let mut talk = Talk::with_window(Dialect::Rfc, 10);
    talk.fill();
    talk.report(0, "+");
    talk.report(0, "m");
    assert_eq!((talk.sender.pipe, talk.windows()), (9, (5, 5)));
    talk.report(0, "+");
    talk.report(0, "m");
    assert_eq!((talk.sender.pipe, talk.windows()), (9, (5, 5)));
}

/// No report changes anything by speaking of what was never sent.
#[test]
fn what_was_never_sent_is_ignored() {
    let mut talk = Talk::with_window(Dialect::Rfc, 10);
    talk.report_with(0, "m", |feedback| feedback.lost_acks = 1);
    talk.fill();
    for number in [FIRST + 10, u64::MAX] {
        for arrival in [Arrival::Received, Arrival::Marked] {
            let runs = [Run { arrival, packets: u64::MAX }, Run { arrival, packets: u64::MAX }];
            talk.sender.on_feedback(talk.now, &Feedback { lost_acks: number / FIRST, ..feedback(number, &runs) });
        }
    }
    assert_eq!((talk.sender.pipe, talk.windows()), (10, (10, 10)));
    assert_eq!(talk.sender.status().ack_ratio, Some(2));
    // A run that goes on below the first packet is cut there.
    let runs = [Run { arrival: Arrival::Received, packets: u64::MAX }];
    talk.sender.on_feedback(talk.now, &feedback(FIRST + 3, &runs));
    assert_eq!(talk.sender.pipe, 6);
}

/// A carrier that is never answered, and sends without asking: memory is bounded, and what is forgotten is lost.
#[test]
fn the_ledger_is_bounded() {
    let mut talk = Talk::with_window(Dialect::Rfc, 10);
    talk.send(true);
    for _ in 1..2 * MAX_WINDOW {
        talk.send(false);
    }
    assert_eq!((talk.sender.pipe, talk.windows()), (1, (10, 10)));
    talk.send(false);
    assert_eq!((talk.sender.pipe, talk.windows()), (0, (5, 5)));
    assert_eq!(talk.sender.poll_timeout(), None);
}

/// The rate is the window in a round trip: 4 packets of 1000 B in 100 ms.
#[test]
fn rate_for_an_encoder() {
    let talk = Talk::new(Dialect::Rfc, |_| {});
    assert_eq!(talk.sender.status().target_rate.unwrap().bits_per_second(), 320_000);
    assert_eq!((talk.sender.status().window_packets, talk.sender.status().rtt), (Some(4.0), Some(RTT)));
}

/// RFC 6928: ten packets, 14,600 B if they are large.
#[test]
fn headway_initial_window() {
    for (size, packets) in [(100, 10), (1460, 10), (1500, 9), (9000, 2)] {
        let options = TcpLikeOptions::preset(Dialect::Headway1);
        assert_eq!(options.initial_cwnd(Bytes::new(size)), packets, "{size} B");
    }
}

/// A silence restarts the flow if one in ten packets or fewer began a congestion event before it (`docs/src/rate/headway.md`), and if three
/// packets have gone without an answer.
#[test]
fn a_silence_of_a_healthy_path_restarts_the_flow() {
    for (between, unanswered, restarts) in [(9, 10, false), (11, 10, true), (11, 2, false), (11, 3, true)] {
        let mut talk = Talk::new(Dialect::Headway1, |options| options.remembers_rate = false);
        let mut packet = 0;
        // Of so many packets, each loses its first.
        for _ in 0..20 {
            talk.send(true);
            for _ in 0..between {
                talk.send(true);
                talk.now += Duration::from_millis(10);
                packet += 1;
                let newest = packet;
                talk.report(
                    newest,
                    if talk.next - FIRST - newest == 1 && newest % (between + 1) == 1 { "-+" } else { "+" },
                );
            }
            packet += 1;
        }
        (0..unanswered).for_each(|_| talk.send(true));
        talk.time_out();
        talk.now += Duration::from_secs(3);
        talk.report(packet, "+");
        let (cwnd, ssthresh) = talk.windows();
        assert_eq!(ssthresh == u64::MAX, restarts, "{between} {unanswered}: {cwnd} {ssthresh}");
    }
}

/// RFC 5681 section 3.1: slow start ends at ssthresh, which is the window from before a silence. That of a flow without a congestion event has no
/// end. Until a round trip is measured, a timeout leaves it there.
#[test]
fn slow_start_after_a_silence_ends_at_the_window_from_before() {
    for (threshold, remembers_rate, ssthresh) in
        [(Some(20), true, 20), (Some(20), false, u64::MAX), (None, true, u64::MAX)]
    {
        let mut talk = Talk::new(Dialect::Headway1, |options| {
            options.initial_window = QueueSize::Packets(20);
            options.initial_window_bytes = None;
            options.initial_ssthresh = threshold.map(QueueSize::Packets);
            options.remembers_rate = remembers_rate;
        });
        // Nothing is lost, and the window is never full.
        for packet in 0..40 {
            talk.send(true);
            talk.now += Duration::from_millis(10);
            talk.report(packet, "+");
        }
        (0..10).for_each(|_| talk.send(true));
        talk.time_out();
        assert_eq!(talk.windows().1, 10);
        talk.now += Duration::from_secs(3);
        talk.report(40, "+");
        assert_eq!(talk.windows(), (20, ssthresh));
        talk.send(true);
        talk.time_out();
        assert_eq!(talk.windows(), (1, ssthresh));
    }
}

/// After a silence the window is paced. A window of twenty packets, and a round trip of 100 ms, give a gap of 5 ms, and 10/11
/// of it after slow start. The pace ends when the window is full.
#[test]
fn a_window_after_a_silence_is_paced_until_it_is_full() {
    let mut talk = Talk::new(Dialect::Headway1, |options| {
        options.initial_window = QueueSize::Packets(10);
        options.initial_window_bytes = None;
        options.initial_ssthresh = Some(QueueSize::Packets(20));
    });
    for packet in 0..40 {
        talk.send(true);
        talk.report(packet, "+");
    }
    (0..10).for_each(|_| talk.send(true));
    talk.time_out();
    talk.now += Duration::from_secs(3);
    talk.report(49, "++++++++++");
    assert_eq!(talk.windows(), (10, 20));
    let mut go = |is_answered: bool| {
        let gap = Duration::from_nanos(if talk.windows().0 < 20 { 5_000_000 } else { 4_545_454 });
        let newest = talk.next - FIRST;
        assert_eq!(talk.sender.poll_send(talk.now, &Next::new(SIZE)), Permit::Now);
        talk.send(true);
        let permit = talk.sender.poll_send(talk.now, &Next::new(SIZE));
        if is_answered {
            talk.report(newest, "+");
        }
        let next = talk.now + gap;
        let is_paced = permit == Permit::At(next);
        if is_paced {
            talk.now = next;
        }
        (is_paced, talk.windows().0)
    };
    // The window grows by one for two packets, although the pace keeps it from being full.
    let windows: Vec<_> = (0..20).map(|_| go(true)).collect();
    assert_eq!((windows[0], windows[1], windows[19]), ((true, 10), (true, 11), (true, 20)));
    assert!(windows.iter().all(|(is_paced, _)| *is_paced));
    assert!((0..19).all(|_| go(false) == (true, 20)));
    assert_eq!(go(false), (false, 20));
}
