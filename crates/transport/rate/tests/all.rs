//! Integration tests in one program; each file is a module. `cargo test -p headway-rate --test all MODULE` runs one.

mod book;
mod kth_drop;
mod linux;
mod media_properties;
mod ns2;
mod path;
mod properties;
