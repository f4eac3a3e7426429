//! Any datagrams to an endpoint.
#![no_main]

#[path = "../check_endpoint.rs"]
mod check_endpoint;
#[path = "../choices.rs"]
mod choices;
#[path = "../datagrams.rs"]
mod datagrams;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_endpoint::check(bytes));
