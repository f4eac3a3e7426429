//! Property tests: any input in any order causes no panic, no stall and no value out of range.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_rate::{
    ControllerOptions, Feedback, LossForm, LossInterval, Losses, Next, Permit, Received, Receiver, ReceiverContext,
    ReceiverHalf, Report, Sender, SenderContext, SenderHalf, Sending, TfrcReport, Timing,
};
use headway_units::{Bytes, Dialect, Duration, Ecn, Instant, Probability, Random, Rate, Registry, SchemaRegistry};
use proptest::prelude::*;

fn controllers() -> impl Strategy<Value = ControllerOptions> {
    let kinds = prop::sample::select(vec!["tfrc", "tfrc-sp"]);
    let dialects = prop::sample::select(vec![Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Linux]);
    (kinds, dialects, prop::bool::ANY).prop_map(|(kind, dialect, restart)| {
        let mut options = ControllerOptions::preset(kind, dialect).unwrap();
        match &mut options {
            ControllerOptions::Tfrc(options) => options.faster_restart = restart,
            ControllerOptions::TfrcSp(options) => options.0.faster_restart = restart,
            _ => {}
        }
        options
    })
}

/// Small, medium and extreme numbers.
fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..5, 0u64..100_000, any::<u64>(), Just(u64::MAX)]
}

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![0u64..1000, 0u64..1_000_000_000, numbers()].prop_map(Duration::from_nanos)
}

#[derive(Clone, Debug)]
enum ReportedLosses {
    Rate(f64, bool),
    Intervals(u8, Vec<(u32, u32, u32, u32)>),
}

fn reported_losses() -> impl Strategy<Value = ReportedLosses> {
    let p = prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64, Just(f64::MIN_POSITIVE)];
    let field = || prop_oneof![0u32..3, 0u32..1000, any::<u32>()];
    let interval = (field(), field(), field(), field());
    prop_oneof![
        (p, prop::bool::ANY).prop_map(|(p, new)| ReportedLosses::Rate(p, new)),
        (any::<u8>(), prop::collection::vec(interval, 0..40))
            .prop_map(|(skip, list)| ReportedLosses::Intervals(skip, list)),
    ]
}

#[derive(Clone, Debug)]
enum ToSender {
    Wait(Duration),
    Send { size: u64, data: bool, skip: u64 },
    Report { acknowledged: u64, rtt: Option<Duration>, x_recv: u64, losses: ReportedLosses, slow: bool, drops: u64 },
    Timeout,
    Limited,
}

fn to_sender() -> impl Strategy<Value = ToSender> {
    let sizes = prop_oneof![0u64..2000, numbers()];
    let rtts = prop::option::weighted(0.95, durations());
    prop_oneof![
        3 => durations().prop_map(ToSender::Wait),
        4 => (sizes, prop::bool::weighted(0.9), 0u64..3)
            .prop_map(|(size, data, skip)| ToSender::Send { size, data, skip }),
        4 => (numbers(), rtts, numbers(), reported_losses(), prop::bool::weighted(0.1), numbers()).prop_map(
            |(acknowledged, rtt, x_recv, losses, slow, drops)| ToSender::Report {
                acknowledged, rtt, x_recv, losses, slow, drops: if slow { drops } else { 0 }
            }
        ),
        2 => Just(ToSender::Timeout),
        1 => Just(ToSender::Limited),
    ]
}

/// Sender's clock and round-trip time, if the packet carries them.
type Stamped = Option<(Timing, Option<Duration>)>;

fn packets() -> impl Strategy<Value = (u64, u64, bool, bool, u8, Option<u64>, Stamped, Duration)> {
    let timings =
        (durations(), prop::option::of(durations()), prop::option::of(durations()), any::<u32>(), any::<bool>())
            .prop_map(|(sent, rtt, t_rto, round, urgent)| {
                let mut timing = Timing::new(Instant::ZERO + sent);
                (timing.t_rto, timing.round, timing.urgent) = (t_rto, round, urgent);
                (timing, rtt)
            });
    let ndp = prop::option::weighted(0.3, numbers());
    let sizes = prop_oneof![0u64..2000, numbers()];
    (
        numbers(),
        sizes,
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.2),
        any::<u8>(),
        ndp,
        prop::option::of(timings),
        durations(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_reports_keep_the_sender_in_range(
        options in controllers(),
        rtt in prop::option::of(durations()),
        packet_size in prop_oneof![Just(1000u64), numbers()],
        moves in prop::collection::vec(to_sender(), 1..120),
    ) {
        let mut now = Instant::from_secs(1);
        let mut context = SenderContext::new(now, Bytes::new(packet_size), Random::new(7, "any"));
        context.rtt = rtt;
        let mut sender = Sender::new(&options, context);
        let mut number = 0;
        for one in moves {
            match one {
                ToSender::Wait(time) => now += time,
                ToSender::Send { size, data, skip } => {
                    number += 1 + skip;
                    let stamp = sender.on_send(now, &Sending::new(number, data.then(|| Bytes::new(size))));
                    prop_assert!(stamp.ccval < 16);
                }
                ToSender::Report { acknowledged, rtt, x_recv, losses, slow, drops } => {
                    let list: Vec<LossInterval>;
                    let mut new_loss_event = false;
                    let losses = match losses {
                        ReportedLosses::Rate(p, new) => {
                            new_loss_event = new;
                            Losses::EventRate(Probability::new(p).unwrap())
                        }
                        ReportedLosses::Intervals(skip, fields) => {
                            list = fields
                                .into_iter()
                                .map(|(lossless, lossy, data, dropped)| LossInterval { lossless, lossy, data, dropped })
                                .collect();
                            Losses::Intervals { skip, intervals: &list }
                        }
                    };
                    let report = TfrcReport { x_recv: Rate::from_bits_per_second(x_recv), losses, new_loss_event };
                    let mut feedback = Feedback::new(acknowledged, Report::Tfrc(report));
                    (feedback.rtt_sample, feedback.slow_receiver, feedback.receive_buffer_drops) = (rtt, slow, drops);
                    sender.on_feedback(now, &feedback);
                }
                ToSender::Timeout => {
                    if let Some(at) = sender.poll_timeout() {
                        now = now.max(at);
                        sender.handle_timeout(now);
                        let next = sender.poll_timeout();
                        prop_assert!(next.is_none_or(|next| next > now || now == Instant::FAR_FUTURE), "{next:?} {now}");
                    }
                }
                ToSender::Limited => sender.on_application_limited(now),
            }
            if let Permit::At(at) = sender.poll_send(now, &Next::new(Bytes::new(100))) {
                prop_assert!(at > now);
            }
            let status = sender.status();
            prop_assert!(status.loss_event_rate.is_some() && status.target_rate.is_some());
        }
    }

    #[test]
    fn any_packets_keep_the_reports_in_range(
        options in controllers(),
        intervals in prop::bool::ANY,
        packets in prop::collection::vec(packets(), 1..150),
        near in prop::bool::ANY,
    ) {
        let mut now = Instant::ZERO;
        let losses = if intervals { LossForm::Intervals } else { LossForm::EventRate };
        let mut context = ReceiverContext::new(now, Bytes::new(1000));
        context.tfrc.losses = losses;
        let mut receiver = Receiver::new(&options, context);
        for (i, (number, size, data, marked, ccval, ndp_count, timing, wait)) in packets.into_iter().enumerate() {
            now += wait;
            if let Some(at) = receiver.poll_timeout().filter(|at| *at <= now) {
                receiver.handle_timeout(at.max(now));
                prop_assert!(receiver.poll_timeout().is_none_or(|next| next > now || now == Instant::FAR_FUTURE));
            }
            // Half of the runs start near the maximum number.
            let number = if near { (u64::MAX - 300 + 2 * i as u64).wrapping_add(number % 5) } else { number };
            let mut packet = Received::new(number, data.then(|| Bytes::new(size)));
            packet.ecn = if marked { Ecn::Ce } else { Ecn::Ect0 };
            (packet.ccval, packet.ndp_count) = (ccval % 16, ndp_count);
            (packet.timing, packet.rtt) = timing.map_or((None, None), |(timing, rtt)| (Some(timing), rtt));
            receiver.on_packet(now, &packet);
            if let Some(Report::Tfrc(report)) = receiver.poll_report(now) {
                match report.losses {
                    Losses::EventRate(p) => prop_assert!((0.0..=1.0).contains(&p.value())),
                    Losses::Intervals { skip, intervals } => {
                        prop_assert!(skip <= 3 && (1..=28).contains(&intervals.len()), "{skip} {intervals:?}");
                        for interval in intervals {
                            prop_assert!(interval.lossless < 1 << 24 && interval.lossy < 1 << 23 && interval.data < 1 << 24);
                            prop_assert!(interval.dropped <= interval.lossy, "{interval:?}");
                        }
                    }
                }
            }
            prop_assert!(receiver.poll_report(now).is_none(), "each report is returned once");
        }
    }
}

/// Every preset is valid and can be serialized and deserialized.
#[test]
fn presets() {
    for kind in ControllerOptions::KINDS {
        for dialect in [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Linux] {
            let options = ControllerOptions::preset(kind, dialect).unwrap();
            options.check().unwrap();
            let mut text = serde_json::to_value(&options).unwrap();
            text.as_object_mut().unwrap().remove("kind");
            assert_eq!(ControllerOptions::deserialize(kind, text).unwrap(), options, "{kind} {dialect}");
        }
    }
    let schema = schemars::schema_for!(ControllerOptions).to_value().to_string();
    assert!(schema.contains("\"const\":\"tfrc-sp\"") && schema.contains("arrival-time"));
}

#[test]
fn errors_name_the_invalid_key_or_value() {
    let with = |path: &str, value: serde_json::Value| {
        let mut text = serde_json::to_value(ControllerOptions::preset("tfrc", Dialect::Rfc).unwrap()).unwrap();
        text.as_object_mut().unwrap().remove("kind");
        match path.split_once('.') {
            Some((table, key)) => text[table][key] = value,
            None => text[path] = value,
        }
        ControllerOptions::deserialize("tfrc", text)
    };
    assert!(with("expert.loss_afer", 3.into()).unwrap_err().to_string().contains("loss_afer"));
    assert!(with("expert.pacing", "sometimes".into()).unwrap_err().to_string().contains("sometimes"));
    for (key, value) in [
        ("expert.discount_threshold", serde_json::json!(0.0)),
        ("expert.discount_threshold", serde_json::json!(1.5)),
        ("expert.rtt_filter", serde_json::json!(1.0)),
        ("expert.loss_after", serde_json::json!(0)),
        ("tcp_tick", serde_json::json!("0s")),
        ("expert.max_rate", serde_json::json!("0bps")),
        ("expert.start_rate", serde_json::json!("0bps")),
        ("expert.nominal_segment", serde_json::json!("0B")),
    ] {
        let error = with(key, value.clone()).unwrap().check().unwrap_err();
        assert_eq!(error.tables.into_iter().chain([error.key]).collect::<Vec<_>>().join("."), key, "{value}");
    }
}
