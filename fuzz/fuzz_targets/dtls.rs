//! Any datagrams to DTLS endpoints with sessions and handshakes in progress.
#![no_main]

#[path = "../check_dtls.rs"]
mod check_dtls;
#[path = "../choices.rs"]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_dtls::check(bytes));
