//! Any bytes as the text of a scenario.
#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::check(&String::from_utf8_lossy(bytes)));
