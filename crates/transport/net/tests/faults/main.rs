//! Tests of faults between real sockets: peers that vanish, NAT rebinding, outages, narrow paths, garbage and
//! spoofing. No test asserts a speed; measured times are printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_types, reason = "tests")]

mod attackers;
mod breaker;
mod ends;
mod hostile;
mod nat;
mod path;
mod world;
