//! Tests of two DTLS layers back to back, without sockets, in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails where it panics")]

mod attacks;
mod handshake;
mod moving;
mod packets;
mod world;
