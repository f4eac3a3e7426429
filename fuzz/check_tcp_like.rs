//! What must hold for TCP-like congestion control, whatever its peer says. Shared by the fuzz target and by the test
//! that replays `fuzz/corpus`.

use headway_rate::{
    Arrival, ControllerOptions, Feedback, LossForm, Next, Permit, Received, Receiver, ReceiverContext, ReceiverHalf,
    Report, Run, Sender, SenderContext, SenderHalf, Sending,
};
use headway_units::{Bytes, Dialect, Duration, Ecn, Instant, Random, Registry};

const SIZE: Bytes = Bytes::new(1000);

/// Bytes as what happens to both halves: the first chooses the dialect, and whether the handshake measured a round trip.
pub(crate) fn check(bytes: &[u8]) {
    let Some((&choice, steps)) = bytes.split_first() else { return };
    let dialect = [Dialect::Rfc, Dialect::Ns2, Dialect::Linux][usize::from(choice % 3)];
    let options = ControllerOptions::preset("tcp-like", dialect).expect("a kind of this crate");
    let rtt = (choice & 64 != 0).then_some(Duration::from_millis(40));
    let context = SenderContext { now: Instant::ZERO, rtt, packet_size: SIZE, random: Random::new(1, "fuzz") };
    let mut sender = Sender::new(&options, context);
    let context = ReceiverContext { now: Instant::ZERO, packet_size: SIZE, losses: LossForm::default() };
    let mut receiver = Receiver::new(&options, context);

    let (mut now, mut next, mut steps) = (Instant::ZERO, 0x00ff_ffff_ff00_u64, steps.iter().copied());
    while let Some(step) = steps.next() {
        let mut byte = || steps.next().unwrap_or_default();
        now += Duration::from_micros(u64::from(step >> 4) << 12);
        match step & 15 {
            // As many data packets as may go, or one without data.
            0..4 => {
                for _ in 0..=byte() {
                    if sender.poll_send(now, Next { size: SIZE }) != Permit::Now {
                        break;
                    }
                    sender.on_send(now, &Sending { number: next, size: SIZE, data: true });
                    next += 1;
                }
            }
            4 => {
                sender.on_send(now, &Sending { number: next, size: SIZE, data: false });
                next += 1;
            }
            5..9 => {
                let acknowledged = next.wrapping_sub(byte().into());
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
                sender.on_feedback(
                    now,
                    &Feedback {
                        acknowledged,
                        rtt_sample: sample,
                        report: Report::Arrivals(&runs),
                        lost_acks: u64::from(flags & 16),
                        slow_receiver: flags & 32 != 0,
                        receive_buffer_drops: if flags & 64 == 0 { 0 } else { byte().into() },
                    },
                );
            }
            9..11 => {
                if let Some(timeout) = sender.poll_timeout() {
                    now = now.max(timeout);
                    sender.handle_timeout(now);
                    assert_eq!(sender.poll_timeout(), None, "nothing is under way");
                    assert_eq!(sender.poll_send(now, Next { size: SIZE }), Permit::Now);
                }
            }
            11 => now += Duration::from_millis(1 << (byte() & 31)),
            12..15 => {
                let (number, kind) = (byte(), byte());
                receiver.on_packet(
                    now,
                    &Received {
                        number: number.into(),
                        size: SIZE,
                        data: kind & 1 == 0,
                        ecn: if kind & 14 == 14 { Ecn::Ce } else { Ecn::Ect0 },
                        ..Received::default()
                    },
                );
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
        // Who may not send has something to wait for.
        let blocked = sender.poll_send(now, Next { size: SIZE }) == Permit::Blocked;
        assert!(!blocked || sender.poll_timeout().is_some());
        let status = sender.status();
        let window = status.window.unwrap_or_default();
        assert!((1.0..=32_384.0).contains(&window), "{window}");
        let ratio = f64::from(status.ack_ratio.unwrap_or_default());
        assert!(ratio >= 1.0 && ratio <= (window / 2.0).ceil().max(2.0), "{ratio} of {window}");
    }
}
