//! Any bytes as a trace of losses.
#![no_main]

#[path = "../check_loss_trace.rs"]
mod check_loss_trace;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_loss_trace::check(bytes));
