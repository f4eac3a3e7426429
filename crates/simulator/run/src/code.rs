//! Which code this is.

/// The version, and behind `+` a hash of the sources and libraries that a run's numbers can hang on: `0.1.0+d41c36f0a25b7e98`. Two programs with
/// the same one give the same numbers.
pub const CODE: &str = env!("HEADWAY_CODE");
