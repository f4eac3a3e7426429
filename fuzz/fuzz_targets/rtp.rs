//! Datagrams of any peer, to an RTP session.
#![no_main]

#[path = "../check_rtp.rs"]
mod check_rtp;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_rtp::check(bytes));
