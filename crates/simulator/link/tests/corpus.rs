//! Replays the corpora of the fuzz targets for loss traces and queues: seeds for the fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../../fuzz/check_loss_trace.rs"]
mod check_loss_trace;
#[path = "../../../../fuzz/check_queues.rs"]
mod check_queues;
#[path = "../../../../fuzz/choices.rs"]
mod choices;
#[path = "../../../../fuzz/replay.rs"]
mod reader;

use reader::replay;

#[test]
fn traces() {
    replay(include_str!("../../../../fuzz/corpus/loss-trace.hex"), 5, check_loss_trace::check);
}

#[test]
fn queues() {
    replay(include_str!("../../../../fuzz/corpus/queues.hex"), 32, check_queues::check);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(1000))]

    #[test]
    fn queues_fed_anything(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 40..600)) {
        check_queues::check(&bytes);
    }
}
