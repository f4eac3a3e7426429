//! An open connection with a malicious peer.
#![no_main]

#[path = "../check_established.rs"]
mod check_established;
#[path = "../choices.rs"]
mod choices;
#[path = "../datagrams.rs"]
mod datagrams;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_established::check(bytes));
