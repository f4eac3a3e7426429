//! All tests of this crate in one program. `cargo test -p headway-cli --test all MODULE` runs one module.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod attacks;
mod book;
mod book_links;
mod command;
mod common;
mod declared;
mod dependencies;
mod deploy;
mod folders;
mod lab;
mod layers;
mod output;
mod paper_figures;
mod papers;
mod papers_parts;
mod plots;
mod proxy;
mod qlog;
mod queues;
mod reference;
mod relay;
mod shell;
mod shell_faults;
mod shell_files;
mod sockets;
mod suite;
mod sweep;
mod typed_errors;
mod view;
