//! Replays the corpus of the fuzz target for DTLS: seeds of the fuzzer and inputs that once failed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails where it panics")]

#[path = "../../../../fuzz/check_dtls.rs"]
mod check_dtls;
#[path = "../../../../fuzz/choices.rs"]
mod choices;
#[path = "../../../../fuzz/replay.rs"]
mod reader;

#[test]
fn dtls() {
    reader::replay(include_str!("../../../../fuzz/corpus/dtls.hex"), 8, check_dtls::check);
}
