//! Replays the corpora of the fuzz targets for media: past failures, and seeds of the fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../../fuzz/check_capture.rs"]
mod check_capture;
#[path = "../../../../fuzz/check_frames.rs"]
mod check_frames;
#[path = "../../../../fuzz/check_media_trace.rs"]
mod check_media_trace;
#[path = "../../../../fuzz/check_send_queue.rs"]
mod check_send_queue;
#[path = "../../../../fuzz/choices.rs"]
mod choices;
#[path = "../../../../fuzz/replay.rs"]
mod reader;

use reader::replay;

#[test]
fn captures() {
    replay(include_str!("../../../../fuzz/corpus/capture.hex"), 10, check_capture::check);
}

#[test]
fn frames() {
    replay(include_str!("../../../../fuzz/corpus/frames.hex"), 8, check_frames::check);
}

#[test]
fn traces() {
    replay(include_str!("../../../../fuzz/corpus/media-trace.hex"), 3, check_media_trace::check);
}

#[test]
fn send_queues() {
    replay(include_str!("../../../../fuzz/corpus/send-queue.hex"), 12, check_send_queue::check);
}
