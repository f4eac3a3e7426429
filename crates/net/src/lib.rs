#![doc = include_str!("../README.md")]

mod clock;
mod secure;

pub use clock::Clock;
pub use secure::{Plain, Secure, SecureError, SecureEvent};
