//! Identity of the code.

/// The version, `+`, and a hash of the sources and libraries that can affect a run's numbers:
/// `0.1.0+d41c36f0a25b7e98`. Two programs with the same identity give the same numbers.
pub const CODE: &str = env!("HEADWAY_CODE");
