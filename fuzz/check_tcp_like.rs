//! Invariants of TCP-like congestion control and its carrier with any input from the peer. Shared by the fuzz target
//! and the test that replays `fuzz/corpus`.

use headway_rate::{
    Arrival, ControllerOptions, Inbound, Next, Outbound, Received, Receiver, ReceiverContext, Report, Run, Sender,
    SenderContext,
};
use headway_units::{Bytes, Dialect, Duration, Ecn, Instant, Random, Registry};

const SIZE: Bytes = Bytes::new(1000);

/// Interprets the bytes as events at both halves. The first selects the dialect, and whether the handshake measured a
/// round trip.
pub(crate) fn check(bytes: &[u8]) {
    let Some((&choice, steps)) = bytes.split_first() else { return };
    let dialect = [Dialect::Rfc, Dialect::Ns2, Dialect::Linux][usize::from(choice % 3)];
    let options = ControllerOptions::preset("tcp-like", dialect).expect("a kind of this crate");
    let rtt = (choice & 64 != 0).then_some(Duration::from_millis(40));
    let mut context = SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "fuzz"));
    context.rtt = rtt;
    let (mut sender, mut receiver) = (Outbound::new(100), Inbound::default());
    sender.start(Sender::new(&options, context));
    receiver.start(Receiver::new(&options, ReceiverContext::new(Instant::ZERO, SIZE)));

    let (mut now, mut steps) = (Instant::ZERO, steps.iter().copied());
    let next = Some(&Next::new(SIZE));
    while let Some(step) = steps.next() {
        let mut byte = || steps.next().unwrap_or_default();
        now += Duration::from_micros(u64::from(step >> 4) << 12);
        match step & 15 {
            // Data packets as far as permitted, or one without data.
            0..4 => {
                for _ in 0..=byte() {
                    if !sender.may_send(now, next) {
                        break;
                    }
                    sender.send(now, Some(SIZE), true);
                }
            }
            4 => drop(sender.send(now, None, false)),
            5..9 => {
                let acknowledged = sender.upcoming().wrapping_sub(byte().into());
                let flags = byte();
                let runs: Vec<_> = (0..flags & 7)
                    .map(|_| {
                        let run = byte();
                        Run {
                            arrival: [Arrival::Received, Arrival::Marked, Arrival::NotReceived, Arrival::Received]
                                [usize::from(run >> 6)],
                            packets: if run & 63 == 63 { u64::MAX } else { (run & 63).into() },
                        }
                    })
                    .collect();
                let sample = if flags & 8 == 0 { None } else { Some(Duration::from_nanos(1 << (byte() & 63))) };
                sender.on_lost_acks(u64::from(flags & 16));
                if flags & 32 != 0 {
                    sender.on_slow_receiver();
                }
                sender.on_receive_buffer_drops(if flags & 64 == 0 { 0 } else { byte().into() });
                sender.on_report(now, acknowledged, sample, Report::Arrivals(&runs));
            }
            9..11 => {
                if let Some(timeout) = sender.poll_timeout() {
                    now = now.max(timeout);
                    sender.handle_timeout(now);
                    assert_eq!(sender.poll_timeout(), None, "no packet is in flight");
                    assert!(sender.may_send(now, next));
                }
            }
            11 => now += Duration::from_millis(1 << (byte() & 31)),
            12..15 => {
                let (number, kind) = (byte(), byte());
                let mut packet = Received::new(number.into(), (kind & 1 == 0).then_some(SIZE));
                packet.ecn = if kind & 14 == 14 { Ecn::Ce } else { Ecn::Ect0 };
                receiver.on_packet(now, &packet);
                receiver.set_ack_ratio(u16::from(kind >> 4));
                let due = receiver.poll_report(now).is_some();
                assert!(!due || receiver.poll_report(now).is_none() && receiver.poll_timeout().is_none());
            }
            _ => {
                if let Some(timeout) = receiver.poll_timeout() {
                    now = now.max(timeout);
                    receiver.handle_timeout(now);
                    assert!(receiver.poll_report(now).is_some(), "the timer is that of a report");
                }
            }
        }
        // A sender that may not send has a timer.
        assert!(sender.may_send(now, next) || sender.poll_timeout().is_some());
        let status = sender.status().expect("a controller runs");
        let window = status.window_packets.unwrap_or_default();
        assert!((1.0..=32_384.0).contains(&window), "{window}");
        let ratio = f64::from(status.ack_ratio.unwrap_or_default());
        assert!(ratio >= 1.0 && ratio <= (window / 2.0).ceil().max(2.0), "{ratio} of {window}");
    }
}
