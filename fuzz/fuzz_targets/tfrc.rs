//! Any reports to TFRC.
#![no_main]

#[path = "../check_tfrc.rs"]
mod check_tfrc;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_tfrc::check(bytes));
