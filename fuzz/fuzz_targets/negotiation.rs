//! Two ends that negotiate features, and a man between them.
#![no_main]

#[path = "../check_negotiation.rs"]
mod check_negotiation;
#[path = "../choices.rs"]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_negotiation::check(bytes));
