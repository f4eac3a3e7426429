//! Any bytes as Ack Vectors, the options of CCID 2.
#![no_main]

#[path = "../check_ccid_options.rs"]
#[allow(dead_code, reason = "each target checks one thing")]
mod check_ccid_options;
#[path = "../choices.rs"]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_ccid_options::ccid2(bytes));
