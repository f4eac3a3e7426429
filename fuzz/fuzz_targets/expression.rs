//! Any bytes as a metric of a record.
#![no_main]

#[path = "../check_expression.rs"]
mod check_expression;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_expression::check(bytes));
