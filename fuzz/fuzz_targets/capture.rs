//! Any bytes as a packet capture.
#![no_main]

#[path = "../check_capture.rs"]
mod check_capture;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_capture::check(bytes));
