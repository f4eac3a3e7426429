//! Reports that a session passes to its controller: packets by the numbers of the controller, arrival times by the
//! peer's clock, and no report that repeats an earlier one.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_rate::{
    AnyReceiverHalf, AnySenderHalf, CcfbBlock, CcfbPacket, ControllerOptions, ExternalController, ExternalOptions,
    Feedback, Next, NoneOptions, NumReports, Permit, Receiver, ReceiverContext, Report, ReportForm, SenderContext,
    SenderHalf, Sending, Stamp, Status, TimedArrival,
};
use headway_rtp::{Duration, Ecn, Instant, Media, Random, RtpPacket, Session, SessionOptions};
use std::sync::{Arc, Mutex};

/// Report that a controller got: acknowledged packet, round trip in ms, time in ms, and the arrival time of each packet
/// from the acknowledged one downwards, in ms.
#[derive(Clone, Debug, PartialEq)]
struct Got {
    acknowledged: u64,
    rtt_ms: Option<u64>,
    clock_ms: u64,
    arrived_ms: Vec<Option<u64>>,
}

/// Controller that permits everything and records its reports.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Vec<Got>>>);

impl SenderHalf for Recorder {
    fn poll_send(&mut self, _: Instant, _: &Next) -> Permit {
        Permit::Now
    }
    fn on_send(&mut self, _: Instant, _: &Sending) -> Stamp {
        Stamp::default()
    }
    fn on_feedback(&mut self, _: Instant, feedback: &Feedback<'_>) {
        let Report::Timed(report) = feedback.report else { panic!("{feedback:?}") };
        // Zero of the peer's clock is 2^16 s, where a counter of 32 bits of 1/65536 s begins.
        let ms = |at: Instant| at.since(Instant::from_secs(65_536)).as_nanos() / 1_000_000;
        let arrived = |arrival: &TimedArrival| match arrival {
            TimedArrival::NotReceived => None,
            TimedArrival::Received { before, .. } => {
                Some(before.map_or(u64::MAX, |before| ms(report.clock.checked_sub(before).unwrap())))
            }
        };
        let rtt_ms = feedback.rtt_sample.map(|rtt| rtt.as_nanos() / 1_000_000);
        let arrived_ms = report.arrivals.iter().map(arrived).collect();
        let got = Got { acknowledged: feedback.acknowledged, rtt_ms, clock_ms: ms(report.clock), arrived_ms };
        self.0.lock().unwrap().push(got);
    }
    fn status(&self) -> Status {
        Status::default()
    }
}

impl ExternalController for Recorder {
    fn sender(&self, _: SenderContext) -> Box<dyn AnySenderHalf> {
        Box::new(self.clone())
    }
    fn receiver(&self, context: ReceiverContext) -> Box<dyn AnyReceiverHalf> {
        Box::new(Receiver::new(&ControllerOptions::None(NoneOptions::default()), context))
    }
}

struct Sender {
    session: Session,
    reports: Recorder,
}

impl Sender {
    /// Sends these packets, SSRC and sequence number, at 10, 20, .. ms.
    fn new(packets: &[(u32, u16)]) -> Self {
        let mut options = SessionOptions::new("none").unwrap();
        let reports = Recorder::default();
        let controller = Arc::new(reports.clone());
        options.controller =
            ControllerOptions::External(ExternalOptions { reports: ReportForm::Timed, needs: vec![], controller });
        let mut session = Session::new(Instant::ZERO, options, Random::new(1, "sender")).unwrap();
        let mut datagram = vec![];
        for (index, (ssrc, sequence)) in (1..).zip(packets) {
            let now = Instant::from_millis(10 * index);
            let packet = RtpPacket { ssrc: *ssrc, sequence: *sequence, payload: &[0; 50], ..RtpPacket::default() };
            let mut bytes = vec![];
            packet.encode(&mut bytes).unwrap();
            session.send(now, Media::new(now, bytes)).unwrap();
            while session.poll_transmit(now, &mut datagram).is_some() {}
        }
        Self { session, reports }
    }

    /// Handles feedback about these streams: SSRC, first sequence number, and the arrival time of each packet in ms.
    /// Times are multiples of 125 ms, which 1/1024 s can express.
    fn feedback(&mut self, at_ms: u64, clock_ms: u64, blocks: &[(u32, u16, &[Option<u64>])]) {
        let state = |arrived: &Option<u64>| match arrived {
            None => TimedArrival::NotReceived,
            Some(at) => {
                let before = Some(Duration::from_millis(clock_ms - at));
                TimedArrival::Received { ecn: Ecn::NotEct, before }
            }
        };
        let block = |(ssrc, begin_seq, arrived): &(u32, u16, &[Option<u64>])| CcfbBlock {
            ssrc: *ssrc,
            begin_seq: *begin_seq,
            arrivals: arrived.iter().map(state).collect(),
        };
        let report_timestamp = (clock_ms * 65_536 / 1000) as u32;
        let packet = CcfbPacket { sender_ssrc: 9, blocks: blocks.iter().map(block).collect(), report_timestamp };
        let mut datagram = vec![];
        packet.encode(NumReports::Count, &mut datagram).unwrap();
        self.session.handle(Instant::from_millis(at_ms), &datagram, Ecn::NotEct).unwrap();
    }

    fn got(&self) -> Vec<Got> {
        std::mem::take(&mut *self.reports.0.lock().unwrap())
    }
}

fn got(acknowledged: u64, rtt_ms: Option<u64>, clock_ms: u64, arrived_ms: &[Option<u64>]) -> Got {
    Got { acknowledged, rtt_ms, clock_ms, arrived_ms: arrived_ms.to_vec() }
}

/// Streams 1 and 2 alternate, so that the packets of stream 1 are the even numbers of the controller.
#[test]
fn packets_have_the_numbers_of_the_controller() {
    let mut sender = Sender::new(&[(1, 100), (2, 65_535), (1, 101), (2, 0), (1, 103)]);
    // Stream 1: 100 and 103 arrive, 102 was never sent. Stream 2: 0 arrives.
    let one = [Some(125), None, None, Some(250)];
    sender.feedback(1000, 500, &[(1, 100, &one), (2, 65_535, &[None, Some(375)])]);
    // 103 was sent at 50 ms and was held for 250 ms.
    let arrived = [Some(250), Some(375), None, None, Some(125)];
    assert_eq!(sender.got(), [got(4, Some(700), 500, &arrived)]);
}

/// Feedback that repeats what is known is no report. Feedback that is older than the newest adds the arrivals that it
/// reports, at the newest time of the peer's clock, and removes none.
#[test]
fn reordered_feedback_keeps_the_time_of_the_newest() {
    let mut sender = Sender::new(&[(1, 1), (1, 2), (1, 3)]);
    sender.feedback(1000, 750, &[(1, 1, &[Some(125), None, Some(625)])]);
    assert_eq!(sender.got(), [got(2, Some(845), 750, &[Some(625), None, Some(125)])]);
    sender.feedback(1010, 500, &[(1, 1, &[None, Some(250)])]);
    assert_eq!(sender.got(), [got(2, None, 750, &[Some(625), Some(250)])]);
    sender.feedback(1020, 875, &[(1, 1, &[Some(125), Some(250), Some(625)])]);
    assert_eq!(sender.got(), []);
}

/// The feedback of each stream arrives in a separate datagram. Packets of the other stream are not reported as missing
/// meanwhile, but for at most 250 ms of sending time.
#[test]
fn a_packet_whose_feedback_follows_is_not_reported_as_missing() {
    let mut sender = Sender::new(&[(1, 1), (2, 1), (1, 2), (2, 2)]);
    sender.feedback(1000, 500, &[(1, 1, &[Some(125), Some(125)])]);
    assert_eq!(sender.got(), [got(0, None, 500, &[Some(125)])]);
    sender.feedback(1001, 500, &[(2, 1, &[Some(250), Some(250)])]);
    assert_eq!(sender.got(), [got(3, Some(711), 500, &[Some(250), Some(125), Some(250)])]);

    // Stream 2 sends its only packet 240 and 260 ms before the last ones that are reported of stream 1, and is never reported.
    let packets: Vec<(u32, u16)> = (0..28).map(|index| if index == 1 { (2, 1) } else { (1, index) }).collect();
    let mut sender = Sender::new(&packets);
    let arrived: Vec<Option<u64>> = (0..28).map(|index| (index != 1).then_some(125)).collect();
    sender.feedback(1000, 500, &[(1, 0, &arrived[..26])]);
    assert_eq!(sender.got()[0].acknowledged, 0);
    sender.feedback(1001, 500, &[(1, 0, &arrived)]);
    let last = sender.got().pop().unwrap();
    assert_eq!((last.acknowledged, last.arrived_ms.len()), (27, 27));
    assert_eq!(last.arrived_ms.iter().position(Option::is_none), Some(26), "packet 1");
}
