//! Faults between real sockets: a peer that vanishes, a NAT that forgets, a path that swallows or narrows, who sends garbage or spoofs. Nothing here asserts
//! how fast anything is; what was measured is printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_types, reason = "tests")]

mod attackers;
mod breaker;
mod ends;
mod hostile;
mod nat;
mod path;
mod world;
