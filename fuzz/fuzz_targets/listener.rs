//! A flooded listener.
#![no_main]

#[path = "../check_listener.rs"]
mod check_listener;
#[path = "../choices.rs"]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_listener::check(bytes));
