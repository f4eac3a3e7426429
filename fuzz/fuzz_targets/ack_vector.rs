//! Any arrivals, recorded in an Ack Vector.
#![no_main]

#[path = "../check_dccp.rs"]
#[allow(dead_code, reason = "each target checks one thing")]
mod check_dccp;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_dccp::ack_vector(bytes));
