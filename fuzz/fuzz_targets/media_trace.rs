//! Any bytes as a media trace.
#![no_main]

#[path = "../check_media_trace.rs"]
mod check_media_trace;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_media_trace::check(bytes));
