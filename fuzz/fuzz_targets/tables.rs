//! Scenarios with valid syntax and extreme sizes. Prints the text of a failing one, for `corpus/scenario`.
#![no_main]

#[path = "../check.rs"]
mod check;
#[path = "../tables.rs"]
mod tables;

libfuzzer_sys::fuzz_target!(|tables: tables::Tables| {
    let text = tables.text();
    let checked = std::panic::catch_unwind(|| check::check(&text));
    if let Err(panic) = checked {
        eprintln!("{text}");
        std::panic::resume_unwind(panic);
    }
});
