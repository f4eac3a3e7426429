//! Replays the corpus of the fuzz target for loss traces: seeds for the fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../fuzz/check_loss_trace.rs"]
mod check_loss_trace;
#[path = "../../../fuzz/replay.rs"]
mod reader;

use reader::replay;

#[test]
fn traces() {
    replay(include_str!("../../../fuzz/corpus/loss-trace.hex"), 5, check_loss_trace::check);
}
