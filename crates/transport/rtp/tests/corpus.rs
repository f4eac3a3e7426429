//! Replays the corpus of the fuzz target for sessions: past failures and seeds of the fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../../fuzz/check_rtp.rs"]
mod check_rtp;
#[path = "../../../../fuzz/replay.rs"]
mod reader;

#[test]
fn datagrams_of_any_peer() {
    reader::replay(include_str!("../../../../fuzz/corpus/rtp.hex"), 9, check_rtp::check);
}
