//! The tests of this crate in one program. `cargo test -p headway-scenario --test all MODULE` runs one module.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod attackers;
mod book;
mod clocks;
mod common;
mod controllers;
mod errors;
mod expansion;
mod fragments;
mod hosts;
mod link_file;
mod links;
mod mutation;
mod programs;
mod recordings;
mod schema;
mod sessions;
mod shipped;
mod sweeps;
