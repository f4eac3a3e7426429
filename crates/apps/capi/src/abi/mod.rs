//! The functions of the header, and all unsafe code of this crate.
//!
//! Each function converts the arguments of C and calls a function of another module under [`guard`], which catches
//! panics. References that may be null are of type `Option`, for which null is `None`.
#![expect(unsafe_code, reason = "C passes pointers, and finds functions by their names")]
#![allow(clippy::missing_safety_doc, reason = "the comments are those of the header, for programs in C")]

// In the order of the header.
mod options;

mod endpoint;

mod connection;

mod pointer;

pub use connection::*;
pub use endpoint::*;
pub use options::*;

use crate::failure::{Failure, last_error};
use headway_net::Duration;
use std::ffi::c_char;

/// As a timeout: no timeout. As a lifetime: the datagram does not expire.
pub const HEADWAY_UNLIMITED: u64 = u64::MAX;

/// Size of the text of a fingerprint with its zero byte, in bytes.
pub const HEADWAY_FINGERPRINT_SIZE: usize = 104;

/// Returns the version of the library, such as "0.1.0". The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn headway_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Returns a sentence about the last error of a function of this library in the calling thread, or an empty text. The
/// library owns the text. It is valid until the next call of a function of this library in the same thread.
#[unsafe(no_mangle)]
pub extern "C" fn headway_last_error() -> *const c_char {
    last_error().unwrap_or(c"".as_ptr())
}

/// Returns the duration of this number of us; `None` if it is unlimited.
fn duration(microseconds: u64) -> Option<Duration> {
    (microseconds != HEADWAY_UNLIMITED).then(|| Duration::from_nanos(microseconds.saturating_mul(1000)))
}

/// Returns the value of a pointer that may be null.
fn required<T>(value: Option<T>, name: &'static str) -> Result<T, Failure> {
    value.ok_or(Failure::Null(name))
}
