//! Any bytes as media headers, and their reassembly.
#![no_main]

#[path = "../check_frames.rs"]
mod check_frames;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_frames::check(bytes));
