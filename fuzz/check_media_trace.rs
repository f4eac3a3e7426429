//! Invariants of any text that is read as a media trace, and of its playback. Shared by the fuzz target and the test
//! that replays `fuzz/corpus`.

use headway_media::{Context, Source, SourceOptions, Trace};
use headway_units::{Bytes, Dialect, Duration, Instant, Random, Registry};
use std::sync::Arc;

pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let trace = match Trace::parse(&text) {
        Ok(trace) => trace,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let frames = trace.frames();
    assert!(frames.first().is_some_and(|first| first.at.is_zero()), "the first frame is at zero");
    assert!(frames.windows(2).all(|pair| pair[0].at <= pair[1].at), "frames are in the order of sending");
    assert!(frames.iter().all(|frame| frame.bytes > Bytes::new(0)), "a frame holds a byte");
    assert!(frames.len() <= text.lines().count());
    assert!(frames.last().is_some_and(|last| last.at <= trace.period()), "the period covers all frames");

    let mut options = SourceOptions::preset("trace", Dialect::Rfc).expect("a kind of this crate");
    if let SourceOptions::Trace(options) = &mut options {
        options.file = "trace.txt".into();
        options.frame_interval = (!trace.is_timed()).then(|| Duration::from_millis(40));
    }
    let context =
        Context { start: Instant::ZERO, stop: None, random: Random::new(1, "fuzz"), trace: Some(Arc::new(trace)) };
    let Ok(mut source) = Source::new(&options, context) else { return };
    let mut now = Instant::ZERO;
    for _ in 0..200 {
        let Some(at) = source.poll_timeout() else { break };
        assert!(at >= now, "time decreases");
        now = at;
        let write = source.poll(now);
        assert!(write.is_some() || source.poll_timeout() != Some(at), "a source that is due has nothing");
    }
}
