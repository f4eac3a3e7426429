//! Any packets in a send queue.
#![no_main]

#[path = "../check_send_queue.rs"]
mod check_send_queue;
#[path = "../choices.rs"]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_send_queue::check(bytes));
