//! What must hold for TFRC and TFRC-SP, whatever the peer says. Shared by the fuzz target and by the test that replays
//! `fuzz/corpus`.

use headway_rate::{
    ControllerOptions, Feedback, LossForm, LossInterval, Losses, Next, Permit, Received, Receiver, ReceiverContext,
    ReceiverHalf, Report, Sender, SenderContext, SenderHalf, Sending, TfrcReport, Timing,
};
use headway_units::{Bytes, Dialect, Duration, Ecn, Instant, Probability, Random, Rate, Registry};

const SIZE: Bytes = Bytes::new(1000);

/// Bytes as what happens to both halves: the first chooses the kind, the dialect, the form of reports, and whether the
/// handshake measured a round trip.
pub(crate) fn check(bytes: &[u8]) {
    let Some((&choice, steps)) = bytes.split_first() else { return };
    let dialect = [Dialect::Rfc, Dialect::Ns2, Dialect::Linux][usize::from(choice % 3)];
    let kind = if choice & 16 == 0 { "tfrc" } else { "tfrc-sp" };
    let options = ControllerOptions::preset(kind, dialect).expect("a kind of this crate");
    let rtt = (choice & 64 != 0).then_some(Duration::from_millis(40));
    let losses = if choice & 128 == 0 { LossForm::EventRate } else { LossForm::Intervals };
    let context = SenderContext { now: Instant::ZERO, rtt, packet_size: SIZE, random: Random::new(1, "fuzz") };
    let mut sender = Sender::new(&options, context);
    let mut receiver = Receiver::new(&options, ReceiverContext { now: Instant::ZERO, packet_size: SIZE, losses });

    let (mut now, mut next, mut steps) = (Instant::ZERO, 0x00ff_ffff_ff00_u64, steps.iter().copied());
    let mut arriving = next;
    while let Some(step) = steps.next() {
        let mut byte = || steps.next().unwrap_or_default();
        now += Duration::from_micros(u64::from(step >> 4) << 12);
        match step & 15 {
            // As many data packets as may go, or one without data.
            0..4 => {
                let size = Bytes::new(if step & 15 == 3 { 1 << (byte() & 15) } else { 1000 });
                for _ in 0..=byte() {
                    match sender.poll_send(now, Next { size }) {
                        Permit::Now => {}
                        Permit::At(at) => {
                            assert!(at > now, "later than now");
                            now = at;
                            continue;
                        }
                        Permit::Blocked => break,
                    }
                    let stamp = sender.on_send(now, &Sending { number: next, size, data: true });
                    assert!(stamp.ccval < 16);
                    next += 1;
                }
            }
            4 => {
                sender.on_send(now, &Sending { number: next, size: SIZE, data: false });
                sender.on_application_limited(now);
                next += 1;
            }
            5..8 => {
                let acknowledged = next.wrapping_sub(byte().into());
                let flags = byte();
                let wide = |byte: u8| u32::from(byte & 15) << ((byte >> 4) + (byte >> 5));
                let intervals: Vec<_> = (0..flags & 15)
                    .map(|_| {
                        let [lossless, lossy, data] = [byte(), byte(), byte()].map(wide);
                        LossInterval { lossless, lossy, data, dropped: wide(byte()) }
                    })
                    .collect();
                let losses = if flags & 16 == 0 {
                    Losses::Intervals { skip: byte() & 3, intervals: &intervals }
                } else {
                    let p = 1.0 / f64::from(wide(byte()).max(1));
                    Losses::EventRate(if flags & 32 == 0 {
                        Probability::new(p).expect("1 or less")
                    } else {
                        Probability::ZERO
                    })
                };
                let x_recv = Rate::from_bits_per_second(1_u64.checked_shl(byte().into()).unwrap_or(0));
                let report = Report::Tfrc(TfrcReport { x_recv, losses, new_loss_event: flags & 64 != 0 });
                feed(
                    &mut sender,
                    now,
                    acknowledged,
                    (flags & 128 == 0).then(|| Duration::from_nanos(1 << (byte() % 41))),
                    report,
                );
            }
            8 | 9 => {
                if let Some(timeout) = sender.poll_timeout() {
                    now = now.max(timeout);
                    sender.handle_timeout(now);
                }
            }
            10 => now += Duration::from_millis(1 << (byte() & 31)),
            11..14 => {
                let (ahead, kind) = (byte(), byte());
                let back = kind & 64 != 0;
                let number = if back {
                    arriving.wrapping_sub(ahead.into())
                } else {
                    arriving + (u64::from(ahead & 31) << (ahead >> 5 << 1))
                };
                arriving = arriving.max(number + 1);
                let timing = (kind & 32 != 0).then(|| Timing {
                    sent: now,
                    rtt: (byte() & 1 == 0).then(|| Duration::from_nanos(1 << (byte() % 41))),
                    t_rto: None,
                    round: byte().into(),
                    urgent: byte() & 1 == 0,
                });
                receiver.on_packet(
                    now,
                    &Received {
                        number,
                        size: Bytes::new(1 << (byte() & 15)),
                        data: kind & 1 == 0,
                        ecn: if kind & 6 == 6 { Ecn::Ce } else { Ecn::Ect0 },
                        ccval: byte() & 15,
                        ndp_count: (kind & 8 == 0).then(|| u64::from(byte())),
                        timing,
                        ..Received::default()
                    },
                );
                report(&mut receiver, &mut sender, now, (kind & 16 != 0).then_some(next.wrapping_sub(1)));
            }
            _ => {
                if let Some(timeout) = receiver.poll_timeout() {
                    now = now.max(timeout);
                    receiver.handle_timeout(now);
                    report(&mut receiver, &mut sender, now, None);
                }
            }
        }
        // Who may not send has something to wait for.
        match sender.poll_send(now, Next { size: SIZE }) {
            Permit::Now => {}
            Permit::At(at) => assert!(at > now, "later than now"),
            Permit::Blocked => assert!(sender.poll_timeout().is_some(), "blocked for ever"),
        }
        assert!(sender.status().rate.is_some());
    }
    assert!(format!("{sender:?}{receiver:?}").len() < 8 << 20);
}

/// What the receiver has to say, if anything; it may reach the sender.
fn report(receiver: &mut Receiver, sender: &mut Sender, now: Instant, acknowledged: Option<u64>) {
    let Some(report) = receiver.poll_report(now) else { return };
    if let Report::Tfrc(TfrcReport { losses: Losses::Intervals { skip, intervals }, .. }) = report {
        assert!(skip <= 3);
        assert!(intervals.len() <= 28);
        for interval in intervals {
            assert!(interval.lossless < 1 << 24 && interval.lossy < 1 << 23 && interval.data < 1 << 24, "{interval:?}");
            assert!(interval.dropped <= interval.lossy, "{interval:?}");
        }
    }
    if let Some(acknowledged) = acknowledged {
        feed(sender, now, acknowledged, Some(Duration::from_millis(40)), report);
    }
    assert!(receiver.poll_report(now).is_none(), "a report is made once");
}

fn feed(sender: &mut Sender, now: Instant, acknowledged: u64, rtt_sample: Option<Duration>, report: Report<'_>) {
    let feedback =
        Feedback { acknowledged, rtt_sample, report, lost_acks: 0, slow_receiver: false, receive_buffer_drops: 0 };
    sender.on_feedback(now, &feedback);
}
