//! Property tests of the controllers for real-time media: any packets and reports, those of a lying receiver too, cause
//! no panic and no stall, and no rate above the maximum.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_rate::{
    ControllerOptions, Feedback, Next, Own, Permit, Received, Receiver, ReceiverContext, ReceiverHalf, Report, Sender,
    SenderContext, SenderHalf, Sending, TimedArrival, TimedReport, Timing,
};
use headway_units::{Bytes, Dialect, Duration, Ecn, Instant, Random, Rate, Registry, SchemaRegistry};
use proptest::prelude::*;

const MAX_BPS: u64 = 2_000_000;

/// Controllers with a maximum rate, and the factor by which they may pace above it.
fn controllers() -> impl Strategy<Value = (ControllerOptions, u64)> {
    let kinds = vec![
        ("nada", None, 1),
        ("gcc", Some(("version", "gcc-2026")), 2),
        ("gcc", Some(("version", "draft-02")), 1),
        ("scream2", Some(("version", "draft-01")), 6),
        ("scream2", Some(("version", "ericsson-2026-07")), 6),
        ("scream2", Some(("version", "libwebrtc-2026-07")), 6),
        ("prague", Some(("mode", "rate")), 1),
        ("prague", Some(("mode", "frames")), 1),
    ];
    prop::sample::select(kinds).prop_map(|(kind, variant, factor)| {
        let mut options = serde_json::to_value(ControllerOptions::preset(kind, Dialect::Rfc).unwrap()).unwrap();
        options.as_object_mut().unwrap().remove("kind");
        if let Some((key, value)) = variant {
            options[key] = value.into();
        }
        if kind == "prague" {
            options["classic_ecn_fallback"] = true.into();
        }
        options["max_rate"] = serde_json::json!(format!("{MAX_BPS}bps"));
        let options = ControllerOptions::deserialize(kind, options).unwrap();
        options.check().unwrap();
        (options, factor)
    })
}

/// Small, medium and extreme numbers.
fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..100, 2 => 0u64..100_000, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn times() -> impl Strategy<Value = Duration> {
    prop_oneof![4 => 0u64..100_000_000, 2 => 0u64..1 << 40, 1 => numbers()].prop_map(Duration::from_nanos)
}

fn ecns() -> impl Strategy<Value = Ecn> {
    prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce])
}

fn arrivals() -> impl Strategy<Value = TimedArrival> {
    let received =
        (ecns(), prop::option::weighted(0.9, times())).prop_map(|(ecn, before)| TimedArrival::Received { ecn, before });
    prop_oneof![3 => received, 1 => Just(TimedArrival::NotReceived)]
}

#[derive(Clone, Debug)]
enum Step {
    Wait(Duration),
    /// Packets of a frame that waits: data without headers, all data that waits, and the age of the first packet.
    Send {
        size: u64,
        packets: u64,
        waiting: u64,
        age: Duration,
    },
    Timed {
        behind: i64,
        rtt: Option<Duration>,
        clock: Duration,
        arrivals: Vec<TimedArrival>,
    },
    Own {
        rtt: Option<Duration>,
        bytes: Vec<u8>,
    },
    Timeout,
    Limited,
}

fn steps() -> impl Strategy<Value = Step> {
    let rtts = || prop::option::weighted(0.9, times());
    prop_oneof![
        3 => times().prop_map(Step::Wait),
        4 => (prop_oneof![3 => 0u64..2000, 1 => numbers()], 1u64..40, numbers(), times())
            .prop_map(|(size, packets, waiting, age)| Step::Send { size, packets, waiting, age }),
        4 => (-3i64..50, rtts(), times(), prop::collection::vec(arrivals(), 0..120))
            .prop_map(|(behind, rtt, clock, arrivals)| Step::Timed { behind, rtt, clock, arrivals }),
        4 => (rtts(), prop_oneof![1 => prop::collection::vec(any::<u8>(), 0..12), 9 => prop::collection::vec(any::<u8>(), 6)])
            .prop_map(|(rtt, bytes)| Step::Own { rtt, bytes }),
        2 => Just(Step::Timeout),
        1 => Just(Step::Limited),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_reports_keep_the_sender_below_its_maximum(
        (options, factor) in controllers(),
        rtt in prop::option::of(times()),
        packet_size in prop_oneof![3 => Just(1000u64), 1 => numbers()],
        steps in prop::collection::vec(steps(), 1..100),
    ) {
        let mut now = Instant::from_secs(1);
        let mut context = SenderContext::new(now, Bytes::new(packet_size), Random::new(7, "any"));
        context.rtt = rtt;
        let mut sender = Sender::new(&options, context);
        let (mut number, mut next) = (0, Next::new(Bytes::new(100)));
        for step in steps {
            match step {
                Step::Wait(time) => now += time,
                Step::Send { size, packets, waiting, age } => for packet in 1..=packets {
                    (next.size, next.waiting, next.age) = (Bytes::new(size), Bytes::new(waiting), age);
                    next.ends_frame = packet == packets;
                    let _ = sender.poll_send(now, &next);
                    number += 1;
                    sender.on_send(now, &Sending::new(number, Some(Bytes::new(size))));
                }
                Step::Timed { behind, rtt, clock, arrivals } => {
                    let acknowledged = number.saturating_add_signed(-behind);
                    let report = TimedReport { clock: Instant::ZERO + clock, arrivals: &arrivals };
                    let mut feedback = Feedback::new(acknowledged, Report::Timed(report));
                    feedback.rtt_sample = rtt;
                    sender.on_feedback(now, &feedback);
                }
                Step::Own { rtt, bytes } => {
                    let mut feedback = Feedback::new(number, Report::Own(Own::new(&bytes).unwrap()));
                    feedback.rtt_sample = rtt;
                    sender.on_feedback(now, &feedback);
                }
                Step::Timeout => if let Some(at) = sender.poll_timeout() {
                    now = now.max(at);
                    sender.handle_timeout(now);
                    let next = sender.poll_timeout();
                    prop_assert!(next.is_none_or(|next| next > now || now == Instant::FAR_FUTURE), "{next:?} {now}");
                }
                Step::Limited => sender.on_application_limited(now),
            }
            if let Permit::At(at) = sender.poll_send(now, &next) {
                prop_assert!(at > now);
            }
            let status = sender.status();
            // scream2 knows no rate before its first round-trip time.
            prop_assert!(status.target_rate.is_some() || options.kind() == "scream2");
            let most = |factor: u64| Rate::from_bits_per_second(factor * MAX_BPS);
            prop_assert!(status.target_rate.is_none_or(|rate| rate <= most(1)), "{status:?}");
            prop_assert!(status.pacing_rate.is_none_or(|rate| rate <= most(factor)), "{status:?}");
        }
    }

    #[test]
    fn any_packets_keep_the_receiver_in_step(
        (options, _) in controllers(),
        packets in prop::collection::vec((numbers(), numbers(), ecns(), prop::option::of(times()), times()), 1..150),
        near in prop::bool::ANY,
    ) {
        let mut now = Instant::ZERO;
        let mut receiver = Receiver::new(&options, ReceiverContext::new(now, Bytes::new(1000)));
        for (i, (number, size, ecn, sent, wait)) in packets.into_iter().enumerate() {
            now += wait;
            if let Some(at) = receiver.poll_timeout().filter(|at| *at <= now) {
                receiver.handle_timeout(at.max(now));
                prop_assert!(receiver.poll_timeout().is_none_or(|next| next > now || now == Instant::FAR_FUTURE));
            }
            // Half of the runs start near the maximum number.
            let number = if near { (u64::MAX - 300 + 2 * i as u64).wrapping_add(number % 5) } else { number };
            let mut packet = Received::new(number, Some(Bytes::new(size)));
            (packet.ecn, packet.timing) = (ecn, sent.map(|sent| Timing::new(Instant::ZERO + sent)));
            receiver.on_packet(now, &packet);
            let _ = receiver.poll_report(now);
            prop_assert!(receiver.poll_report(now).is_none(), "each report is returned once");
        }
    }

    /// Packets in order lead to a report within half a second, after any packets before.
    #[test]
    fn packets_in_order_lead_to_reports(
        (options, _) in controllers(),
        before in prop::collection::vec((0u64..1000, ecns()), 0..50),
        gap_ms in 1u64..100,
    ) {
        let mut now = Instant::from_secs(1);
        let mut receiver = Receiver::new(&options, ReceiverContext::new(now, Bytes::new(1000)));
        let in_order = (1000..1000 + 500 / gap_ms).map(|number| (number, Ecn::Ect0));
        let mut reports = 0;
        for (number, ecn) in before.into_iter().chain(in_order) {
            now += Duration::from_millis(gap_ms);
            let mut packet = Received::new(number, Some(Bytes::new(1000)));
            packet.ecn = ecn;
            packet.timing = now.checked_sub(Duration::from_millis(50)).map(Timing::new);
            receiver.handle_timeout(now);
            receiver.on_packet(now, &packet);
            if number >= 1000 {
                reports += u32::from(receiver.poll_report(now).is_some());
            } else {
                let _ = receiver.poll_report(now);
            }
        }
        prop_assert!(reports > 0);
    }
}
