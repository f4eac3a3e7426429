//! Replays the corpus of the fuzz target for quantities: past failures and seeds of the fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../../fuzz/check_quantities.rs"]
mod check_quantities;
#[path = "../../../../fuzz/replay.rs"]
mod reader;

use reader::replay;

#[test]
fn quantities() {
    replay(include_str!("../../../../fuzz/corpus/quantities.hex"), 10, check_quantities::check);
}
