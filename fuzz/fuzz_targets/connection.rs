//! Any events at a DCCP connection.
#![no_main]

#[path = "../check_connection.rs"]
mod check_connection;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_connection::check(bytes));
