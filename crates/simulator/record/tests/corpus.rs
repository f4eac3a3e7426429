//! Replays the corpora of the fuzz targets for records and metrics: past failures and seeds of the fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../../fuzz/check_expression.rs"]
mod check_expression;
#[path = "../../../../fuzz/check_records.rs"]
mod check_records;
#[path = "../../../../fuzz/choices.rs"]
mod choices;
#[path = "../../../../fuzz/replay.rs"]
mod reader;

use reader::replay;

#[test]
fn records() {
    replay(include_str!("../../../../fuzz/corpus/records.hex"), 5, check_records::check);
}

#[test]
fn metrics() {
    replay(include_str!("../../../../fuzz/corpus/expression.hex"), 12, check_expression::check);
}
