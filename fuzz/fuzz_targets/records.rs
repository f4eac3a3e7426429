//! Any bytes in the files of a record.
#![no_main]

#[path = "../check_records.rs"]
mod check_records;
#[path = "../choices.rs"]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check_records::check(bytes));
