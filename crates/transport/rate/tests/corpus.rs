//! Replays the corpora of the fuzz targets for controllers and their reports: past failures and seeds of the fuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

#[path = "../../../../fuzz/check_ccfb.rs"]
mod check_ccfb;
#[path = "../../../../fuzz/check_lying_tcp_like.rs"]
mod check_lying_tcp_like;
#[path = "../../../../fuzz/check_lying_tfrc.rs"]
mod check_lying_tfrc;
#[path = "../../../../fuzz/check_rap.rs"]
mod check_rap;
#[path = "../../../../fuzz/check_tcp_like.rs"]
mod check_tcp_like;
#[path = "../../../../fuzz/check_tfrc.rs"]
mod check_tfrc;
#[path = "../../../../fuzz/choices.rs"]
mod choices;
#[path = "../../../../fuzz/replay.rs"]
mod reader;

use reader::replay;

#[test]
fn feedback_packets() {
    replay(include_str!("../../../../fuzz/corpus/ccfb.hex"), 12, check_ccfb::check);
}

#[test]
fn tcp_like() {
    replay(include_str!("../../../../fuzz/corpus/tcp-like.hex"), 5, check_tcp_like::check);
}

#[test]
fn rap() {
    replay(include_str!("../../../../fuzz/corpus/rap.hex"), 5, check_rap::check);
}

#[test]
fn tfrc() {
    replay(include_str!("../../../../fuzz/corpus/tfrc.hex"), 5, check_tfrc::check);
}

#[test]
fn false_reports_to_tcp_like() {
    replay(include_str!("../../../../fuzz/corpus/lying-tcp-like.hex"), 5, check_lying_tcp_like::check);
}

#[test]
fn false_reports_to_tfrc() {
    replay(include_str!("../../../../fuzz/corpus/lying-tfrc.hex"), 5, check_lying_tfrc::check);
}
