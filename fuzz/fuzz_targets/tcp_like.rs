//! Any reports to TCP-like congestion control.
#![no_main]

#[path = "../check_tcp_like.rs"]
mod check_tcp_like;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_tcp_like::check(bytes));
