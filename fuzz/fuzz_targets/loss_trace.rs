//! Any bytes as a loss trace.
#![no_main]

#[path = "../check_loss_trace.rs"]
mod check_loss_trace;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_loss_trace::check(bytes));
