//! A receiver that lies to TFRC.
#![no_main]

#[path = "../check_lying_tfrc.rs"]
mod check_lying_tfrc;
#[path = "../choices.rs"]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_lying_tfrc::check(bytes));
