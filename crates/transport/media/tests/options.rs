//! The registries: options of sources, send queues and the UDP transport in scenario files.
#![allow(clippy::unwrap_used, reason = "tests, all of it")]

use headway_media::{Backlog, Context, SendQueueOptions, Source, SourceOptions, Trace, UdpOptions, WriteSize};
use headway_units::{Bytes, Dialect, Duration, Instant, Options, Random, Registry, SchemaRegistry};
use serde_json::{Value, json};

/// Merges the keys of a scenario into the preset.
fn over_preset(kind: &str, keys: &Value) -> Result<SourceOptions, serde_json::Error> {
    let mut table = serde_json::to_value(SourceOptions::preset(kind, Dialect::Rfc).unwrap()).unwrap();
    let table_keys = table.as_object_mut().unwrap();
    table_keys.remove("kind");
    table_keys.extend(keys.as_object().unwrap().clone());
    SourceOptions::deserialize(kind, table)
}

fn context() -> Context {
    Context { start: Instant::ZERO, stop: None, random: Random::new(1, "flow"), trace: None }
}

/// The kind of a send queue is that of its table.
#[test]
fn send_queue_options_round_trip() {
    for kind in SendQueueOptions::KINDS {
        let options = SendQueueOptions::preset(kind, Dialect::Rfc).unwrap();
        let mut table = serde_json::to_value(&options).unwrap();
        assert_eq!(table.as_object_mut().unwrap().remove("kind"), Some(json!(kind)));
        assert_eq!(SendQueueOptions::deserialize(kind, table).unwrap(), options, "{kind}");
    }
    assert!(SendQueueOptions::deserialize("lifo", json!({})).is_err());
}

#[test]
fn source_options_round_trip() {
    for (kind, keys) in [
        ("cbr", json!({ "rate": "1Mbps", "size": "1kB" })),
        (
            "cbr",
            json!({ "interval": "20ms", "payload": "160B", "random_start": true, "dither": true, "packets": 9,
                        "media": "audio", "priority": 1, "lifetime": "150ms" }),
        ),
        ("conference", json!({})),
        (
            "conference",
            json!({ "sizes": "payload", "audio_size": "172B", "audio_interval": "10ms", "audio_priority": 2,
                        "silence_suppression": true, "mean_talkspurt": "1s", "mean_pause": "2s", "frame_interval": "40ms",
                        "motion_mean": "4kB", "motion_deviation": "900B", "still_mean": "1kB", "still_deviation": "400B",
                        "pattern": ["3s", "1s"], "smallest_frame": "50B", "smaller_frames": "truncate",
                        "video_packet": "500B", "video_priority": 3, "lifetime": "150ms", "random_start": true,
                        "random_pattern": true }),
        ),
        ("encoder", json!({})),
        (
            "encoder",
            json!({ "start_rate": "300kbps", "min_rate": "100kbps", "max_rate": "2Mbps", "frame_interval": "40ms",
                        "reaction": "100ms", "burst_change": 0.2, "burst_frames": 10, "burst_size": "20kB",
                        "interval_scale": 0.1, "size_scale": 0.2, "key_interval": 250, "key_factor": 4.5,
                        "skip_above": "150ms", "pauses": [["1s", "2s"]], "key_priority": 1, "priority": 2, "lifetime": "300ms" }),
        ),
        ("encoder", json!({ "file": "ladder.txt", "loop_from": 0 })),
        ("ftp", json!({})),
        ("ftp", json!({ "segments": 100 })),
        ("gop", json!({ "i_mean": "26kB", "p_mean": "5.7kB", "b_mean": "2.1kB" })),
        (
            "gop",
            json!({ "pattern": "IPB", "frame_interval": "20ms", "i_mean": "3kB", "p_mean": "2kB", "b_mean": "1kB",
                        "variation": 0.25, "video_packet": "1kB", "i_priority": 1, "p_priority": 2, "b_priority": 3,
                        "lifetime": "150ms", "random_start": true }),
        ),
        ("pages", json!({})),
        (
            "pages",
            json!({ "arrivals": { "poisson": "2s" }, "reading_time": "10s", "parsing_time": "0s", "main": { "constant": "9kB" },
                        "embedded": { "lognormal": { "mean": "8kB", "deviation": "20kB", "maximum": "1MB" } },
                        "objects": { "constant": 7 }, "connections": 2, "most": 9 }),
        ),
        ("pages", json!({ "users": 12, "objects": { "pareto": { "minimum": 2, "shape": 1.1, "maximum": 55 } } })),
        (
            "sessions",
            json!({ "arrivals": { "poisson": "45ms" }, "sizes": { "pareto": { "mean": "10kB", "shape": 1.5 } } }),
        ),
        ("sessions", json!({ "arrivals": { "every": "1s" }, "sizes": { "exponential": "10kB" }, "most": 9 })),
        ("sessions", json!({ "arrivals": { "at": ["0s", "1.5s"] }, "sizes": { "list": ["10kB", "500B"] } })),
        ("trace", json!({ "file": "conference.txt" })),
        ("trace", json!({ "file": "conference.txt", "loop": true, "streams": "video", "lifetime": "150ms" })),
        (
            "trace",
            json!({ "file": "conference.txt", "audio_priority": 1, "video_priority": 2, "i_priority": 3, "p_priority": 4,
                        "b_priority": 5, "data_priority": 6 }),
        ),
    ] {
        let options = over_preset(kind, &keys).unwrap();
        assert_eq!(options.kind(), kind);
        options.check().unwrap();
        let written = serde_json::to_value(&options).unwrap();
        for (key, value) in keys.as_object().unwrap() {
            assert_eq!(&written[key], value, "{kind} {key}");
        }
        assert_eq!(over_preset(kind, &without_kind(written)).unwrap(), options);
    }
}

fn without_kind(mut table: Value) -> Value {
    table.as_object_mut().unwrap().remove("kind");
    table
}

#[test]
fn unknown_keys_and_values_are_rejected() {
    for (kind, keys, part) in [
        ("cbr", json!({ "rat": "1Mbps" }), "unknown field `rat`"),
        ("cbr", json!({ "rate": 5 }), "has no unit: a rate is written"),
        ("cbr", json!({ "media": "song" }), "unknown variant `song`"),
        ("cbr", json!({ "priority": 256 }), "256"),
        ("ftp", json!({ "segments": -1 }), "-1"),
        ("conference", json!({ "sizes": "all" }), "unknown variant `all`"),
        ("conference", json!({ "pattern": "10s" }), "expected a sequence"),
        ("gop", json!({ "variation": "much" }), "expected f64"),
        ("sessions", json!({ "arrivals": { "poison": "45ms" } }), "unknown variant `poison`"),
        ("sessions", json!({ "sizes": { "pareto": { "shap": 1 } } }), "unknown field `shap`"),
        ("trace", json!({ "streams": "sound" }), "unknown variant `sound`"),
    ] {
        let message = over_preset(kind, &keys).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn keys_without_a_preset_are_required() {
    for dialect in [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Ns3, Dialect::Linux] {
        for (kind, key) in [("cbr", "size"), ("gop", "i_mean"), ("sessions", "arrivals"), ("trace", "file")] {
            let options = SourceOptions::preset(kind, dialect).unwrap();
            assert_eq!(options.check().unwrap_err().key, key);
            assert_eq!(Source::new(&options, context()).unwrap_err().key, key);
        }
        UdpOptions::preset(dialect).check().unwrap();
    }
}

#[test]
fn the_schema_names_every_key() {
    let schema = schemars::schema_for!(SourceOptions).to_value().to_string();
    for key in ["cbr", "ftp", "trace", "random_start", "dither", "segments", "\"loop\"", "streams", "lifetime"] {
        assert!(schema.contains(key), "{key}");
    }
}

/// ns-2's FTP is a backlog: endless with `start`, of n packets with `produce n`.
#[test]
fn ftp_is_a_backlog_and_never_due() {
    let source = |keys| Source::new(&over_preset("ftp", &keys).unwrap(), context());
    for (keys, backlog) in [(json!({}), Backlog::Endless), (json!({ "segments": 100 }), Backlog::Segments(100))] {
        let mut source = source(keys).unwrap();
        assert_eq!(source.backlog(), backlog);
        assert_eq!(source.poll_timeout(), None);
        assert_eq!(source.poll(Instant::FAR_FUTURE), None);
    }
    assert_eq!(source(json!({ "segments": 0 })).unwrap_err().key, "segments");
    let cbr = over_preset("cbr", &json!({ "rate": "1Mbps", "size": "1000B" })).unwrap();
    assert_eq!(Source::new(&cbr, context()).unwrap().backlog(), Backlog::None);
}

#[test]
fn a_caller_can_bound_a_run_before_it_starts() {
    let cbr = over_preset("cbr", &json!({ "rate": "1Mbps", "size": "1000B" })).unwrap();
    assert_eq!(cbr.largest_write(None), Some(WriteSize::Wire(Bytes::new(1000))));
    assert_eq!(cbr.writes_within(None, Duration::from_secs(1)), 126);
    let absurd = over_preset("cbr", &json!({ "interval": "1ns", "size": "1B" })).unwrap();
    assert_eq!(absurd.writes_within(None, Duration::MAX), u64::MAX);
    let ftp = over_preset("ftp", &json!({})).unwrap();
    assert_eq!((ftp.largest_write(None), ftp.writes_within(None, Duration::MAX)), (None, 0));
    let trace = over_preset("trace", &json!({ "file": "conference.txt" })).unwrap();
    assert_eq!((trace.file(), cbr.file()), (Some("conference.txt"), None));
    let encoder = |keys| over_preset("encoder", &keys).unwrap();
    assert_eq!(encoder(json!({})).file(), None);
    // The first frame of a burst is the largest without deviations: the 1.5 Mb/s of the preset are 6250 B a frame.
    assert_eq!(encoder(json!({ "size_scale": 0.0 })).largest_write(None), Some(WriteSize::Payload(Bytes::new(13_500))));
    // 5000 B each 40 ms are 1 Mb/s. At 1.5 Mb/s they are scaled to 7500 B.
    let text = "packet|codec_type=video|stream_index=0|dts_time=0|size=2000\n\
                packet|codec_type=video|stream_index=1|dts_time=0|size=5000";
    let trace = Trace::parse(text).unwrap();
    // A smaller first frame of a burst makes the seven others larger: (8 * 7500 - 1000)/7 B.
    for (burst, largest) in [("13.5kB", 13_500), ("1kB", 8429)] {
        let keys = json!({ "file": "ladder.txt", "loop_from": 0, "frame_interval": "40ms", "burst_size": burst });
        let traced = encoder(keys);
        assert_eq!(traced.largest_write(Some(&trace)), Some(WriteSize::Payload(Bytes::new(largest))));
        assert_eq!((traced.file(), traced.largest_write(None)), (Some("ladder.txt"), None));
    }
}
