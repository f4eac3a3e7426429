//! Any bytes as a quantity with its unit.
#![no_main]

#[path = "../check_quantities.rs"]
mod check_quantities;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_quantities::check(bytes));
