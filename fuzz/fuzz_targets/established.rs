//! An open connection, and a peer who says anything within its windows.
#![no_main]

#[path = "../check_established.rs"]
mod check_established;
#[path = "../choices.rs"]
mod choices;
#[path = "../datagrams.rs"]
mod datagrams;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_established::check(bytes));
