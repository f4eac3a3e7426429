//! Any reports to RAP.
#![no_main]

#[path = "../check_rap.rs"]
mod check_rap;
#[path = "../choices.rs"]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_rap::check(bytes));
