//! Controllers: a data packet is permitted, sent and acknowledged. One report acknowledges two packets, with a delay
//! of a window of a hundred packets.

use crate::Operation;
use headway_rate::{
    Arrival, ControllerOptions, Inbound, Next, Outbound, Received, Receiver, ReceiverContext, Report, Run, Sender,
    SenderContext, Timing,
};
use headway_units::{Bytes, Dialect, Duration, Instant, Random, Registry};
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

/// Passes a packet through both halves, with its share of the reports of the receiver half: about one per round trip
/// of 100 packets.
fn pair(kind: &str, losses: bool) -> Operation {
    let options = ControllerOptions::preset(kind, Dialect::Rfc).expect("a controller");
    let (mut now, rtt) = (Instant::ZERO, Duration::from_millis(100));
    let mut context = SenderContext::new(now, SIZE, Random::new(1, kind));
    context.rtt = Some(rtt);
    let (mut sender, mut receiver) = (Outbound::new(1000), Inbound::default());
    sender.start(Sender::new(&options, context));
    receiver.start(Receiver::new(&options, ReceiverContext::new(now, SIZE)));
    Box::new(move || {
        now += Duration::from_millis(1);
        black_box(sender.may_send(now, Some(&Next::new(SIZE))));
        let (number, stamp) = sender.send(now, Some(SIZE), true);
        if let Some(stamp) = stamp.filter(|_| !losses || number % 100 != 99) {
            let mut packet = Received::new(number, Some(SIZE));
            (packet.ccval, packet.ndp_count) = (stamp.ccval, Some(0));
            (packet.timing, packet.rtt) = (Some(Timing::stamped(now, &stamp)), stamp.rtt);
            receiver.on_packet(now, &packet);
        }
        receiver.handle_timeout(now);
        if let Some(due) = receiver.poll_report(now) {
            sender.on_report(now, number, Some(rtt), due.report);
        }
        black_box(sender.poll_timeout());
    })
}

/// Sends two packets in one operation and processes a report in the next; a packet takes 1 ms.
fn controller(kind: &str, losses: bool) -> Operation {
    let options = ControllerOptions::preset(kind, Dialect::Rfc).expect("a controller");
    let mut context = SenderContext::new(Instant::ZERO, SIZE, Random::new(1, kind));
    context.rtt = Some(Duration::from_millis(100));
    let (mut sender, mut now) = (Outbound::new(1000), Instant::ZERO);
    sender.start(Sender::new(&options, context));
    Box::new(move || {
        now += Duration::from_millis(1);
        black_box(sender.may_send(now, Some(&Next::new(SIZE))));
        black_box(sender.send(now, Some(SIZE), true));
        let number = sender.upcoming();
        black_box(sender.poll_timeout());
        if number % 2 == 0 && number > WINDOW {
            let acknowledged = number - WINDOW;
            // Every hundredth packet is lost; each report covers sixteen packets.
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
            let report = Report::Arrivals(black_box(runs));
            sender.on_report(now, acknowledged, Some(Duration::from_millis(100)), report);
        }
    })
}
