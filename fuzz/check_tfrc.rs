//! Invariants of TFRC, TFRC-SP and their carrier with any input from the peer. Shared by the fuzz target and the test
//! that replays `fuzz/corpus`.

use headway_rate::{
    ControllerOptions, Inbound, LossForm, LossInterval, Losses, Next, Outbound, Received, Receiver, ReceiverContext,
    Report, Sender, SenderContext, TfrcReport, Timing,
};
use headway_units::{Bytes, Dialect, Duration, Ecn, Instant, Probability, Random, Rate, Registry};

const SIZE: Bytes = Bytes::new(1000);

/// Interprets the bytes as events at both halves. The first selects the kind, the dialect, the form of reports, and
/// whether the handshake measured a round trip.
pub(crate) fn check(bytes: &[u8]) {
    let Some((&choice, steps)) = bytes.split_first() else { return };
    let dialect = [Dialect::Rfc, Dialect::Ns2, Dialect::Linux][usize::from(choice % 3)];
    let kind = if choice & 16 == 0 { "tfrc" } else { "tfrc-sp" };
    let options = ControllerOptions::preset(kind, dialect).expect("a kind of this crate");
    let rtt = (choice & 64 != 0).then_some(Duration::from_millis(40));
    let mut context = SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "fuzz"));
    context.rtt = rtt;
    let (mut sender, mut receiver) = (Outbound::new(100), Inbound::default());
    sender.start(Sender::new(&options, context));
    let mut context = ReceiverContext::new(Instant::ZERO, SIZE);
    context.tfrc.losses = if choice & 128 == 0 { LossForm::EventRate } else { LossForm::Intervals };
    receiver.start(Receiver::new(&options, context));

    let (mut now, mut steps) = (Instant::ZERO, steps.iter().copied());
    let mut arriving = 0x00ff_ffff_ff00_u64;
    while let Some(step) = steps.next() {
        let mut byte = || steps.next().unwrap_or_default();
        now += Duration::from_micros(u64::from(step >> 4) << 12);
        match step & 15 {
            // Data packets as far as permitted, or one without data.
            0..4 => {
                let size = Bytes::new(if step & 15 == 3 { 1 << (byte() & 15) } else { 1000 });
                for _ in 0..=byte() {
                    if !sender.may_send(now, Some(&Next::new(size))) {
                        let Some(at) = sender.permitted().filter(|at| *at < Instant::FAR_FUTURE) else { break };
                        assert!(at > now, "later than now");
                        now = at;
                        continue;
                    }
                    let (_, stamp) = sender.send(now, Some(size), true);
                    assert!(stamp.is_some_and(|stamp| stamp.ccval < 16));
                }
            }
            4 => {
                sender.send(now, None, false);
                sender.on_nothing_sent(now);
            }
            5..8 => {
                let acknowledged = sender.upcoming().wrapping_sub(byte().into());
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
                let sample = (flags & 128 == 0).then(|| Duration::from_nanos(1 << (byte() % 41)));
                sender.on_report(now, acknowledged, sample, report);
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
                let mut rtt = None;
                let timing = (kind & 32 != 0).then(|| {
                    let mut timing = Timing::new(now);
                    rtt = (byte() & 1 == 0).then(|| Duration::from_nanos(1 << (byte() % 41)));
                    (timing.round, timing.urgent) = (byte().into(), byte() & 1 == 0);
                    timing
                });
                let size = Bytes::new(1 << (byte() & 15));
                let mut packet = Received::new(number, (kind & 1 == 0).then_some(size));
                packet.ecn = if kind & 6 == 6 { Ecn::Ce } else { Ecn::Ect0 };
                packet.ccval = byte() & 15;
                packet.ndp_count = (kind & 8 == 0).then(|| u64::from(byte()));
                (packet.timing, packet.rtt) = (timing, rtt);
                receiver.on_packet(now, &packet);
                report(&mut receiver, &mut sender, now, kind & 16 != 0);
            }
            _ => {
                if let Some(timeout) = receiver.poll_timeout() {
                    now = now.max(timeout);
                    receiver.handle_timeout(now);
                    report(&mut receiver, &mut sender, now, false);
                }
            }
        }
        // A sender that may not send has a timer.
        if !sender.may_send(now, Some(&Next::new(SIZE))) {
            assert!(sender.permitted().is_none_or(|at| at > now), "later than now");
            assert!(sender.poll_timeout().is_some(), "blocked for ever");
        }
        assert!(sender.status().is_some_and(|status| status.target_rate.is_some()));
    }
    assert!(format!("{sender:?}{receiver:?}").len() < 8 << 20);
}

/// Delivers the receiver's report, if one is due, to the sender if `arrives`.
fn report(receiver: &mut Inbound, sender: &mut Outbound, now: Instant, arrives: bool) {
    let Some(due) = receiver.poll_report(now) else { return };
    if let Report::Tfrc(TfrcReport { losses: Losses::Intervals { skip, intervals }, .. }) = due.report {
        assert!(skip <= 3);
        assert!(intervals.len() <= 28);
        for interval in intervals {
            assert!(interval.lossless < 1 << 24 && interval.lossy < 1 << 23 && interval.data < 1 << 24, "{interval:?}");
            assert!(interval.dropped <= interval.lossy, "{interval:?}");
        }
    }
    if arrives {
        let newest = sender.upcoming().wrapping_sub(1);
        sender.on_report(now, newest, Some(Duration::from_millis(40)), due.report);
    }
    assert!(receiver.poll_report(now).is_none(), "a report is made once");
}
