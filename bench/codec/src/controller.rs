//! Controllers: a data packet asked for, sent and acknowledged, with its share of the reports: one for two packets, as
//! long as a window of a hundred later.

use crate::Operation;
use headway_rate::{
    Arrival, ControllerOptions, Feedback, LossForm, Next, Received, Receiver, ReceiverContext, ReceiverHalf, Report,
    Run, Sender, SenderContext, SenderHalf, Sending, Stamp, Timing,
};
use headway_units::{Bytes, Dialect, Duration, Ecn, Instant, Random, Registry};
use std::hint::black_box;

const SIZE: Bytes = Bytes::new(1000);
const WINDOW: u64 = 100;

pub(crate) fn cases() -> Vec<(&'static str, Operation)> {
    vec![
        ("none", controller("none", false)),
        ("tcp-like", controller("tcp-like", false)),
        ("tcp-like-1-in-100-lost", controller("tcp-like", true)),
        ("tfrc-both-halves", pair("tfrc", false)),
        ("tfrc-both-halves-1-in-100-lost", pair("tfrc", true)),
    ]
}

/// A packet through both halves, with its share of the reports, which are the receiver half's own: about one in a round trip
/// of 100 packets.
fn pair(kind: &str, losses: bool) -> Operation {
    let options = ControllerOptions::preset(kind, Dialect::Rfc).expect("a controller");
    let (mut now, rtt) = (Instant::ZERO, Duration::from_millis(100));
    let random = Random::new(1, kind);
    let mut sender = Sender::new(&options, SenderContext { now, rtt: Some(rtt), packet_size: SIZE, random });
    let context = ReceiverContext { now, packet_size: SIZE, losses: LossForm::EventRate };
    let mut receiver = Receiver::new(&options, context);
    let mut number = 0;
    Box::new(move || {
        now += Duration::from_millis(1);
        black_box(sender.poll_send(now, Next { size: SIZE }));
        let stamp = sender.on_send(now, &Sending { number, size: SIZE, data: true });
        if !losses || number % 100 != 99 {
            let Stamp { ccval, rtt, t_rto, round, urgent, own } = stamp;
            let timing = Some(Timing { sent: now, rtt, t_rto, round, urgent });
            let (size, ndp_count) = (SIZE, Some(0));
            receiver.on_packet(now, &Received { number, size, data: true, ecn: Ecn::NotEct, ccval, ndp_count, timing, own });
        }
        if receiver.poll_timeout().is_some_and(|at| at <= now) {
            receiver.handle_timeout(now);
        }
        if let Some(report) = receiver.poll_report(now) {
            let feedback = Feedback {
                acknowledged: number,
                rtt_sample: Some(rtt),
                report,
                lost_acks: 0,
                slow_receiver: false,
                receive_buffer_drops: 0,
            };
            sender.on_feedback(now, &feedback);
        }
        number += 1;
        black_box(sender.poll_timeout());
    })
}

/// Two packets and a report make every other operation; a packet takes 1 ms.
fn controller(kind: &str, losses: bool) -> Operation {
    let options = ControllerOptions::preset(kind, Dialect::Rfc).expect("a controller");
    let context = SenderContext {
        now: Instant::ZERO,
        rtt: Some(Duration::from_millis(100)),
        packet_size: SIZE,
        random: Random::new(1, kind),
    };
    let mut sender = Sender::new(&options, context);
    let (mut now, mut number) = (Instant::ZERO, 0);
    Box::new(move || {
        now += Duration::from_millis(1);
        black_box(sender.poll_send(now, Next { size: SIZE }));
        black_box(sender.on_send(now, &Sending { number, size: SIZE, data: true }));
        number += 1;
        black_box(sender.poll_timeout());
        if number % 2 == 0 && number > WINDOW {
            let acknowledged = number - WINDOW;
            // Each hundredth packet is missing; a report goes back over sixteen.
            let back = acknowledged % 100;
            let received = |packets| Run { arrival: Arrival::Received, packets };
            let missing = Run { arrival: Arrival::NotReceived, packets: 1 };
            let lost = [received(back), missing, received(16)];
            let whole = [received(16)];
            let runs: &[Run] = if !losses || back > 16 {
                &whole
            } else if back == 0 {
                &lost[1..]
            } else {
                &lost
            };
            sender.on_feedback(
                now,
                &Feedback {
                    acknowledged,
                    rtt_sample: Some(Duration::from_millis(100)),
                    report: Report::Arrivals(black_box(runs)),
                    lost_acks: 0,
                    slow_receiver: false,
                    receive_buffer_drops: 0,
                },
            );
        }
    })
}
