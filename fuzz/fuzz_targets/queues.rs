//! Any arrivals at a link with a queue of any kind.
#![no_main]

#[path = "../check_queues.rs"]
mod check_queues;
#[path = "../choices.rs"]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_queues::check(bytes));
