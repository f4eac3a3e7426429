//! A receiver that lies to TCP-like congestion control.
#![no_main]

#[path = "../check_lying_tcp_like.rs"]
mod check_lying_tcp_like;
#[path = "../choices.rs"]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_lying_tcp_like::check(bytes));
