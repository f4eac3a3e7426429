//! Integration tests in one program; each file is a module. `cargo test -p headway-tcp --test all MODULE` runs one.

mod accurate_ecn;
mod cubic;
mod golden;
mod linux;
mod linux_bbr;
mod linux_rules;
mod ns2;
mod path;
mod properties;
mod rfc;
mod rivals;
mod timers;
