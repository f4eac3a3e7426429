//! Tests of the flow meter.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_record::{FlowLabel, FlowMeter, FlowPacket, FlowSummary, Interval, Measured, Summary, WrittenFrame};
use headway_units::{DropCause, Duration, Instant, MediaKind, SendDrop};
use proptest::prelude::*;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn packet(sent_millis: u64) -> FlowPacket {
    FlowPacket { sent_at: at(sent_millis), wire_bytes: 1000, kind: MediaKind::Data, deadline: None }
}

fn summary(meter: &FlowMeter, end: Instant) -> FlowSummary {
    meter.summary(FlowLabel { name: "f".into(), from: "a".into(), to: "b".into(), kind: "udp".into() }, end)
}

/// Four packets of 1000 B in 2 s: two arrive after 10 and 20 ms, one is lost, one is in flight.
#[test]
fn received_lost_and_in_flight_packets_are_summarized() {
    let mut meter = FlowMeter::new(&Measured::between(Instant::ZERO, at(2000)));
    for sent in [0, 500, 1000, 1995] {
        meter.sent(&packet(sent));
    }
    meter.received(at(10), &packet(0), 960);
    meter.received(at(520), &packet(500), 0);
    meter.lost(&packet(1000), DropCause::Early);
    meter.rtt(at(30), Duration::from_millis(20));
    meter.rtt(at(540), Duration::from_millis(40));
    let s = summary(&meter, at(2000));
    assert_eq!((s.sent_packets, s.received_packets, s.in_flight_packets), (4, 2, 1));
    assert_eq!((s.lost_packets.of(DropCause::Early), s.lost_packets.total()), (1, 1));
    assert_eq!((s.throughput_bps, s.goodput_bps, s.loss_ratio), (8000.0, 3840.0, 0.25));
    let delay = s.one_way_delay_s.unwrap();
    assert_eq!((delay.mean, delay.max), (0.015, 0.020));
    assert!((delay.p50 - 0.010).abs() <= 0.010 / 128.0 && (delay.p95 - 0.020).abs() <= 0.020 / 128.0);
    // RFC 3550 A.8: 16 J = 10 ms after one difference of 10 ms.
    assert_eq!(s.jitter_s, Some(0.000_625));
    let rtt = s.rtt_s.unwrap();
    assert_eq!((rtt.mean, rtt.min, rtt.max), (0.030, 0.020, 0.040));
    // Bins 1000, 1000, 0, 0: mean 500, deviation 500.
    assert_eq!(s.rate_cov, Some(1.0));
    assert!(s.on_time_ratio.is_empty() && s.timeouts.is_none() && s.retransmitted_packets.is_none());
}

#[test]
fn a_flow_without_packets_has_no_statistics() {
    let s = summary(&FlowMeter::new(&Measured::between(at(5), at(2000))), at(5));
    assert_eq!((s.throughput_bps, s.loss_ratio), (0.0, 0.0));
    assert!(s.one_way_delay_s.is_none() && s.jitter_s.is_none() && s.rtt_s.is_none() && s.rate_cov.is_none());
}

/// The denominator is all written packets with a deadline. Arrival at the deadline is on time. Late payload is not
/// goodput.
#[test]
fn the_on_time_ratio_is_over_written_packets() {
    let mut meter = FlowMeter::new(&Measured::between(Instant::ZERO, at(2000)));
    let voice = |sent: u64| FlowPacket {
        sent_at: at(sent),
        wire_bytes: 200,
        kind: MediaKind::Audio,
        deadline: Some(at(sent + 100)),
    };
    for sent in [0, 20, 40, 60] {
        meter.written(MediaKind::Audio, voice(sent).deadline);
        meter.sent(&voice(sent));
    }
    meter.sent(&packet(70));
    meter.received(at(100), &voice(0), 160);
    meter.lost(&voice(20), DropCause::QueueFull);
    meter.received(Instant::from_nanos(140_000_001), &voice(40), 160);
    meter.received(at(150), &packet(70), 960);
    let s = summary(&meter, at(1000));
    assert_eq!(s.on_time_ratio.into_iter().collect::<Vec<_>>(), [(MediaKind::Audio, 0.25)]);
    assert_eq!(s.late_ratio.into_iter().collect::<Vec<_>>(), [(MediaKind::Audio, 0.25)]);
    assert_eq!(s.goodput_bps, (160.0 + 960.0) * 8.0);
}

/// Deadlines before, at the ends of, in and after the interval from 1 s to 2 s. Times of writing, sending and arrival
/// do not matter.
#[test]
fn packets_count_in_the_interval_of_their_deadline() {
    let mut meter = FlowMeter::new(&Measured::between(at(1000), at(2000)));
    for deadline in [900, 1000, 1500, 2000, 2100] {
        let frame = FlowPacket { kind: MediaKind::Video, deadline: Some(at(deadline)), ..packet(deadline - 200) };
        meter.written(frame.kind, frame.deadline);
        meter.sent(&frame);
        meter.received(at(deadline - 100), &frame, 900);
    }
    meter.written(MediaKind::Video, Some(at(1600)));
    let s = summary(&meter, at(2000));
    assert_eq!(s.on_time_ratio.into_iter().collect::<Vec<_>>(), [(MediaKind::Video, 0.75)]);
}

#[test]
fn the_send_queue_is_counted_by_kind() {
    let mut meter = FlowMeter::new(&Measured::between(at(1000), at(2000)));
    meter.queued(at(999), MediaKind::Audio);
    meter.unsent(at(999), MediaKind::Audio, SendDrop::Refused, Duration::ZERO);
    for _ in 0..5 {
        meter.queued(at(1000), MediaKind::Video);
    }
    meter.left_send_queue(at(1010), MediaKind::Video, Duration::from_millis(10));
    meter.left_send_queue(at(1030), MediaKind::Video, Duration::from_millis(30));
    meter.unsent(at(1040), MediaKind::Video, SendDrop::Refused, Duration::ZERO);
    meter.unsent(at(1040), MediaKind::Video, SendDrop::PushedOut, Duration::from_millis(50));
    meter.unsent(at(1050), MediaKind::Video, SendDrop::Expired, Duration::from_millis(100));
    for (millis, returned) in [(999, true), (1060, true), (1070, true), (1080, false)] {
        meter.found_lost(at(millis), MediaKind::Video, returned);
    }
    let s = summary(&meter, at(2000));
    assert_eq!(s.unsent_packets(), 3);
    assert_eq!(s.send_queue.keys().collect::<Vec<_>>(), [&MediaKind::Video]);
    let video = &s.send_queue[&MediaKind::Video];
    assert_eq!((video.written_packets, video.sent_packets), (5, 2));
    assert_eq!((video.refused_packets, video.pushed_out_packets, video.expired_packets), (1, 1, 1));
    assert_eq!((video.mean_wait_s, video.max_wait_s), (Some(0.020), Some(0.030)));
    assert_eq!((video.late_packets, video.mean_lateness_s), (2, Some(0.075)));
    assert_eq!((video.returned_packets, video.lost_late_packets), (2, 1));
}

/// A packet sent before `measure_from` is not counted, but its bytes are part of the throughput if they arrive later.
#[test]
fn packets_sent_before_the_interval_are_not_counted() {
    let mut meter = FlowMeter::new(&Measured::between(at(1000), at(2000)));
    meter.sent(&packet(990));
    meter.sent(&packet(995));
    meter.sent(&packet(1000));
    meter.received(at(1000), &packet(990), 960);
    meter.lost(&packet(995), DropCause::QueueFull);
    meter.received(at(1010), &packet(1000), 960);
    meter.rtt(at(999), Duration::from_secs(9));
    let s = summary(&meter, at(2000));
    assert_eq!((s.sent_packets, s.received_packets, s.lost_packets.total(), s.in_flight_packets), (1, 1, 0, 0));
    assert_eq!(s.throughput_bps, 16_000.0);
    assert_eq!(s.one_way_delay_s.unwrap().max, 0.010);
    assert!(s.rtt_s.is_none());
    assert_eq!((meter.total_received_bytes(), meter.total_lost_packets()), (2000, 1));
}

/// The keys are a stable interface: those of the book's page on records, in this order.
#[test]
fn the_summary_has_the_documented_keys() {
    let mut meter = FlowMeter::new(&Measured::between(Instant::ZERO, at(2000)));
    let frame = FlowPacket { kind: MediaKind::VideoI, deadline: Some(at(500)), ..packet(0) };
    meter.written(frame.kind, frame.deadline);
    meter.sent(&frame);
    meter.received(at(20), &frame, 900);
    meter.rtt(at(30), Duration::from_millis(30));
    let mut flow = summary(&meter, at(1000));
    flow.timeouts = Some(2);
    let summary = Summary {
        version: "0.1.0".into(),
        name: "one".into(),
        seed: u64::MAX,
        complete: true,
        interval: Interval { from: 0.0, to: 1.0 },
        jain_index: Summary::fairness(std::slice::from_ref(&flow)),
        flows: vec![flow],
        links: vec![],
        hosts: Vec::new(),
        attackers: Vec::new(),
        packet_hops: 1,
        fingerprint: "00c0ffee00c0ffee".to_owned(),
    };
    let text = summary.to_json_pretty();
    assert_eq!(Summary::from_json(&text).unwrap(), summary);
    let expected = r#"{
  "version": "0.1.0",
  "name": "one",
  "seed": 18446744073709551615,
  "complete": true,
  "interval": {
    "from": 0.0,
    "to": 1.0
  },
  "flows": [
    {
      "name": "f",
      "from": "a",
      "to": "b",
      "kind": "udp",
      "sent_packets": 1,
      "received_packets": 1,
      "lost_packets": {
        "queue_full": 0,
        "early": 0,
        "channel": 0,
        "too_big": 0,
        "host": 0,
        "policer": 0
      },
      "in_flight_packets": 0,
      "throughput_bps": 8000.0,
      "goodput_bps": 7200.0,
      "loss_ratio": 0.0,
      "one_way_delay_s": {
        "mean": 0.02,
        "p50": 0.02,
        "p95": 0.02,
        "p99": 0.02,
        "max": 0.02
      },
      "jitter_s": null,
      "rtt_s": {
        "mean": 0.03,
        "min": 0.03,
        "max": 0.03
      },
      "on_time_ratio": {
        "video-i": 1.0
      },
      "late_ratio": {
        "video-i": 0.0
      },
      "r_factor": null,
      "mos": null,
      "rate_cov": 1.0,
      "timeouts": 2
    }
  ],
  "links": [],
  "jain_index": 1.0,
  "packet_hops": 1,
  "fingerprint": "00c0ffee00c0ffee"
}
"#;
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn errors_of_a_summary_include_the_line() {
    let message = Summary::from_json("{\"version\": 3}").unwrap_err().to_string();
    assert!(message.contains("invalid type: integer `3`, expected a string at line 1"), "{message}");
}

/// Outcome of a packet: its delay in ms or its drop cause.
fn fate() -> impl Strategy<Value = Result<u64, DropCause>> {
    prop_oneof![
        4 => (0u64..500).prop_map(Ok),
        1 => prop::sample::select(DropCause::ALL.to_vec()).prop_map(Err),
    ]
}

proptest! {
    /// Frames sent as one packet have the counts of separately reported frames, also if other frames follow.
    #[test]
    fn single_packet_frames_are_counted_as_frames(
        frames in prop::collection::vec((0u64..40, 0u8..8, prop::option::of(0u64..900)), 1..60),
        from in 0u64..300,
    ) {
        let measured = Measured::between(at(from), at(2000));
        let (mut separate, mut combined) = (FlowMeter::new(&measured), FlowMeter::new(&measured));
        let mut now = 0;
        let mut events: Vec<(u64, WrittenFrame, Option<u64>)> = Vec::new();
        for (gap, odd, delay) in frames {
            now += gap;
            let created = if odd == 0 { now.saturating_sub(1) } else { now };
            let kind = if odd == 1 { MediaKind::Audio } else { MediaKind::Data };
            events.push((now, frame(kind, created, (odd == 2).then_some(now + 5)), delay));
        }
        let mut arrivals: Vec<(u64, u64, WrittenFrame)> = Vec::new();
        for (sent, frame, delay) in events {
            arrivals.sort_by_key(|(at, ..)| *at);
            let due = arrivals.partition_point(|(at, ..)| *at <= sent);
            for (arrived, sent, frame) in arrivals.drain(..due) {
                for meter in [&mut separate, &mut combined] {
                    meter.frame_complete(at(arrived), &frame);
                    meter.received(at(arrived), &packet(sent), 960);
                }
            }
            separate.frame_written(&frame);
            combined.frame_written_and_sent(at(sent), &frame);
            for meter in [&mut separate, &mut combined] {
                meter.sent(&packet(sent));
            }
            match delay {
                Some(delay) => arrivals.push((sent + delay, sent, frame)),
                None => [&mut separate, &mut combined].map(|meter| meter.lost(&packet(sent), DropCause::Early)).into_iter().collect(),
            }
        }
        prop_assert_eq!(summary(&separate, at(2000)), summary(&combined, at(2000)));
        prop_assert_eq!(separate.distributions("f".into()), combined.distributions("f".into()));
    }

    /// For any packets, `measure_from` and end, each packet sent in the interval is counted once, and packets in flight
    /// are those whose outcome is after the end.
    #[test]
    fn sent_equals_received_plus_lost_plus_in_flight(
        packets in prop::collection::vec((0u64..2000, fate()), 0..200),
        from in 0u64..2500,
        end in 1u64..2500,
    ) {
        let mut meter = FlowMeter::new(&Measured::between(at(from), at(end)));
        // (time, whether it is the outcome, index of the packet), in the order of time, with sending first.
        let mut events: Vec<(u64, bool, usize)> = Vec::new();
        for (index, (sent, fate)) in packets.iter().enumerate() {
            events.push((*sent, false, index));
            events.push((sent + fate.unwrap_or(3), true, index));
        }
        events.sort_unstable();
        let (mut in_flight, mut received_bytes) = (0u64, 0u64);
        for (time, is_outcome, index) in events.into_iter().filter(|event| event.0 <= end) {
            let (sent, fate) = packets[index];
            let counted = sent >= from;
            match (is_outcome, fate) {
                (false, _) => {
                    meter.sent(&packet(sent));
                    in_flight += u64::from(counted);
                }
                (true, Ok(_)) => {
                    meter.received(at(time), &packet(sent), 960);
                    in_flight -= u64::from(counted);
                    received_bytes += if time >= from { 1000 } else { 0 };
                }
                (true, Err(cause)) => {
                    meter.lost(&packet(sent), cause);
                    in_flight -= u64::from(counted);
                }
            }
        }
        let s = summary(&meter, at(end));
        prop_assert_eq!(s.in_flight_packets, in_flight);
        prop_assert_eq!(s.sent_packets, s.received_packets + s.lost_packets.total() + s.in_flight_packets);
        prop_assert!((0.0..=1.0).contains(&s.loss_ratio));
        if end > from {
            let seconds = (end - from) as f64 / 1e3;
            prop_assert!((s.throughput_bps * seconds / 8.0 - received_bytes as f64).abs() < 1e-6);
        }
    }
}

/// Numbers from runs of shipped scenarios whose shortest digits an inexact parser rounds to a neighboring double.
#[test]
fn numbers_of_a_summary_are_parsed_exactly() {
    for (text, value) in
        [("0.10386308223250352", 0.103_863_082_232_503_52_f64), ("0.15400114570962015", 0.154_001_145_709_620_15)]
    {
        let read: f64 = serde_json::from_str(text).unwrap();
        assert_eq!(read.to_bits(), value.to_bits(), "{text}");
    }
}

fn frame(kind: MediaKind, created: u64, deadline: Option<u64>) -> WrittenFrame {
    WrittenFrame { kind, created: at(created), deadline: deadline.map_or(Instant::FAR_FUTURE, at) }
}

/// Measured from 1 s to 2 s. A frame counts if its deadline is in the interval or, without a deadline, if it was
/// written in the interval. Completion at the deadline is on time.
#[test]
fn frames_count_in_the_interval_of_their_deadline() {
    let mut meter = FlowMeter::new(&Measured::between(at(1000), at(2000)));
    assert!(summary(&meter, at(2000)).frames.is_empty());
    // Times of writing, deadline and completion.
    for (created, deadline, complete) in [
        (700, 999, Some(800)),
        (700, 1000, Some(1000)),
        (1100, 1400, Some(1401)),
        (1700, 2000, None),
        (1701, 2001, Some(1800)),
    ] {
        let picture = frame(MediaKind::Video, created, Some(deadline));
        meter.frame_written(&picture);
        if let Some(complete) = complete {
            meter.frame_complete(at(complete), &picture);
        }
    }
    for (created, complete) in [(999, Some(1010)), (1000, Some(1020)), (1900, Some(1910)), (2000, None)] {
        let sound = frame(MediaKind::Audio, created, None);
        meter.frame_written(&sound);
        if let Some(complete) = complete {
            meter.frame_complete(at(complete), &sound);
        }
    }
    let s = summary(&meter, at(2000));
    let video = &s.frames[&MediaKind::Video];
    assert_eq!((video.written_frames, video.complete_frames, video.on_time_frames), (3, 2, Some(1)));
    assert_eq!((video.complete_ratio, video.on_time_ratio), (2.0 / 3.0, Some(1.0 / 3.0)));
    let delay = video.delay_s.unwrap();
    assert_eq!((delay.mean, delay.max), (0.3005, 0.301));
    assert!((delay.p50 - 0.3).abs() <= 0.3 / 128.0 && (delay.p99 - 0.301).abs() <= 0.301 / 128.0);
    let audio = &s.frames[&MediaKind::Audio];
    assert_eq!((audio.written_frames, audio.complete_frames, audio.on_time_frames), (3, 2, None));
    assert_eq!((audio.complete_ratio, audio.on_time_ratio), (2.0 / 3.0, None));
    assert_eq!(audio.delay_s.unwrap().mean, 0.015);
    assert_eq!(s.frames.len(), 2);
}

/// `frames` is absent without written frames, and on-time fields without deadlines. Both summaries round-trip.
#[test]
fn absent_frames_and_deadlines_are_omitted() {
    let json = |meter: &FlowMeter| {
        let flows = vec![summary(meter, at(2000))];
        let (version, name, fingerprint) = ("0".into(), "n".into(), String::new());
        let interval = Interval { from: 0.0, to: 2.0 };
        let whole = Summary {
            version,
            name,
            seed: 1,
            complete: true,
            interval,
            flows,
            links: vec![],
            hosts: Vec::new(),
            attackers: vec![],
            jain_index: None,
            packet_hops: 0,
            fingerprint,
        };
        let text = whole.to_json_pretty();
        assert_eq!(Summary::from_json(&text).unwrap(), whole);
        text
    };
    let mut meter = FlowMeter::new(&Measured::between(Instant::ZERO, at(2000)));
    assert!(!json(&meter).contains("frames"));
    meter.frame_written(&frame(MediaKind::VideoI, 1, None));
    let text = json(&meter);
    assert!(text.contains("\"frames\": {\n        \"video-i\": {\n          \"written_frames\": 1,\n          \"complete_frames\": 0,\n          \"complete_ratio\": 0.0,\n          \"delay_s\": null\n        }\n      }"), "{text}");
}
