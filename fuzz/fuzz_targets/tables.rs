//! Scenarios that are right in form and absurd in size. Prints the text of one that goes wrong, to be kept in
//! `corpus/scenario`.
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
