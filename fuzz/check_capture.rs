//! Invariants of any bytes that are read as a packet capture, and of the source that plays it. Shared by the fuzz
//! target and the test that replays `fuzz/corpus`.

use headway_media::{Capture, CaptureOptions, Context, KindRule, Source, SourceOptions};
use headway_units::{Bytes, Dialect, Instant, MediaKind, Options as _, Random};
use std::sync::Arc;

pub(crate) fn check(bytes: &[u8]) {
    let capture = match Capture::parse(bytes) {
        Ok(capture) => capture,
        Err(error) => {
            assert!(error.offset <= bytes.len() as u64 && !error.to_string().is_empty());
            return;
        }
    };
    let datagrams = capture.datagrams();
    assert!(datagrams.len() <= bytes.len() / 16, "a record has 16 bytes of header");
    assert!(datagrams.windows(2).all(|pair| pair[0].packet < pair[1].packet), "datagrams are in the order of the file");
    assert!(datagrams.iter().all(|datagram| datagram.payload_type.is_none_or(|kind| kind <= 127)));
    if let Some(cut) = capture.cut() {
        assert!(cut.offset < bytes.len() as u64 && datagrams.len() as u64 <= cut.packets);
    }

    let mut options = CaptureOptions::preset(Dialect::Rfc);
    options.file = "call.pcap".into();
    let rule = KindRule { payload_type: None, port: None, min_size: None, max_size: None, kind: MediaKind::Audio };
    options.kinds = vec![
        KindRule { payload_type: Some(0), ..rule.clone() },
        KindRule { min_size: Some(Bytes::new(800)), kind: MediaKind::Video, ..rule },
    ];
    if let Some([from, _]) = datagrams.first().and_then(|first| capture.flow(first.flow)) {
        options.from = Some(from.to_string().parse().expect("a socket's address is a host"));
    }
    let Ok(schedule) = options.schedule(&capture) else { return };
    let frames = schedule.trace.frames();
    assert!(frames.first().is_some_and(|first| first.at.is_zero()), "the first datagram is at zero");
    assert!(frames.windows(2).all(|pair| pair[0].at <= pair[1].at), "datagrams are in the order of sending");
    assert!(frames.len() <= datagrams.len());
    let trace = Some(Arc::new(schedule.trace.clone()));
    let context = Context { start: Instant::ZERO, stop: None, random: Random::new(1, "fuzz"), trace };
    let mut source = Source::new(&SourceOptions::Capture(options), context).expect("a schedule can be played");
    for frame in frames.iter().take(200) {
        let at = Instant::ZERO + frame.at;
        assert_eq!(source.poll_timeout(), Some(at));
        assert!(source.poll(at).is_some(), "a source that is due has nothing");
    }
}
