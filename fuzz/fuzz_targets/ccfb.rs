//! Any bytes as RTCP Congestion Control Feedback.
#![no_main]

#[path = "../check_ccfb.rs"]
mod check_ccfb;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_ccfb::check(bytes));
