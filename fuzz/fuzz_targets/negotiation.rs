//! Feature negotiation with a man in the middle.
#![no_main]

#[path = "../check_negotiation.rs"]
mod check_negotiation;
#[path = "../choices.rs"]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_negotiation::check(bytes));
