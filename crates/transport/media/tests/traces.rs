//! Compares the traces in `scenarios/media` with the settings of their encoders and the output of the decoder.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_media::{Context, Frame, Source, SourceOptions, Trace, UdpOptions, datagrams};
use headway_units::{Dialect, Duration, Instant, MediaKind, Options, Random, Registry};
use std::sync::Arc;

const CONFERENCE: &str = include_str!("../../../../scenarios/media/conference.txt");
const FILM: &str = include_str!("../../../../scenarios/media/film.txt");

fn of_kind(trace: &Trace, kind: MediaKind) -> Vec<Frame> {
    trace.frames().iter().filter(|frame| frame.kind == kind).copied().collect()
}

/// 30 s at 25 frames/s, an I frame every 2 s; audio every 20 ms, starting 6.5 ms earlier.
#[test]
fn the_conference_matches_its_encoder_settings() {
    let trace = Trace::parse(CONFERENCE).unwrap();
    let (i, p) = (of_kind(&trace, MediaKind::VideoI), of_kind(&trace, MediaKind::VideoP));
    assert_eq!((i.len(), p.len(), of_kind(&trace, MediaKind::VideoB).len()), (15, 735, 0));
    for (n, frame) in (0..).zip(&i) {
        assert_eq!(frame.at, Duration::from_micros(6_500 + 2_000_000 * n));
    }
    for (n, frame) in (0..).zip(of_kind(&trace, MediaKind::Audio)) {
        assert_eq!(frame.at, Duration::from_millis(20 * n));
    }
    let bytes: u64 = i.iter().chain(&p).map(|frame| frame.bytes.count()).sum();
    // 1.2 Mb/s for 30 s are 4.5 MB, met by the encoder within a few percent.
    assert!((4_400_000..4_650_000).contains(&bytes), "{bytes}");
    assert!(i.iter().all(|frame| frame.bytes.count() > 5 * bytes / 750), "an I-frame is several P-frames");
    // Audio ends last, after 1501 frames.
    assert_eq!(trace.period(), Duration::from_millis(30_020));
}

/// Compares the frame types printed by ffprobe with those derived from the order of packets.
#[test]
fn frame_types_match_the_decoder() {
    const MARK: &str = "# pict_type, in presentation order: ";
    let types = FILM.lines().find_map(|line| line.strip_prefix(MARK)).unwrap();
    let trace = Trace::parse(FILM).unwrap();
    let video = trace.frames().iter().filter(|frame| frame.kind != MediaKind::Audio);
    // Both the file and the trace are in decoding order.
    let lines = FILM.lines().filter(|line| line.starts_with("packet|codec_type=video"));
    let mut derived: Vec<(&str, char)> = lines
        .zip(video)
        .map(|(line, frame)| {
            let pts = line.split('|').find_map(|field| field.strip_prefix("pts_time=")).unwrap();
            let letter = match frame.kind {
                MediaKind::VideoI => 'I',
                MediaKind::VideoP => 'P',
                MediaKind::VideoB => 'B',
                other => panic!("{other}"),
            };
            (pts, letter)
        })
        .collect();
    // All times are below 10 s with equal precision, so text order is time order.
    derived.sort_unstable();
    assert_eq!(derived.iter().map(|(_, letter)| letter).collect::<String>(), types);
    assert_eq!(types.len(), 250);
    assert!(['I', 'P', 'B'].iter().all(|letter| types.contains(*letter)));
}

/// Compares the bytes on the wire with separately computed sums: ceil(size / 1472) datagrams per frame, 28 B each.
#[test]
fn every_byte_of_the_conference_is_played() {
    let SourceOptions::Trace(mut options) = SourceOptions::preset("trace", Dialect::Rfc).unwrap() else { panic!() };
    options.file = "conference.txt".into();
    let trace = Some(Arc::new(Trace::parse(CONFERENCE).unwrap()));
    let context = Context { start: Instant::from_secs(2), stop: None, random: Random::new(1, "video"), trace };
    let mut source = Source::new(&SourceOptions::Trace(options), context).unwrap();
    let udp = UdpOptions::preset(Dialect::Rfc);
    let (mut frames, mut packets, mut wire, mut last) = (0, 0, 0, Instant::ZERO);
    while let Some(now) = source.poll_timeout() {
        assert!(now >= last);
        last = now;
        while let Some(write) = source.poll(now) {
            frames += 1;
            for datagram in datagrams(write.size, &udp) {
                packets += 1;
                wire += datagram.wire.count();
            }
        }
    }
    assert_eq!((frames, packets, wire), (2251, 4978, 4783399));
    assert_eq!(last, Instant::from_secs(32));
}
