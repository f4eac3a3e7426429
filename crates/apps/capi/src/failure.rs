//! Return codes, and the text of the last error.

use headway_net::{Closed, EndpointError, FingerprintError, SecureError, SendError};
use headway_units::OptionError;
use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Return code of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum HeadwayCode {
    /// The function succeeded.
    Ok = 0,
    /// Nothing happened within the timeout. This is not an error: `headway_last_error` does not change.
    Timeout = 1,
    /// A required pointer is null.
    NullPointer = 2,
    /// An argument is out of range, unknown or malformed.
    InvalidArgument = 3,
    /// The datagram is larger than one packet on this path.
    TooLarge = 4,
    /// The caller's buffer is too small.
    BufferTooSmall = 5,
    /// The connection or the socket is closed, or the connection has no statistics yet.
    Closed = 6,
    /// The operating system refused the operation.
    System = 7,
    /// The library has a defect. Free the object of the call; all other objects can be used.
    Internal = 8,
}

/// Reason why a function does not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("nothing happened within the timeout")]
    Timeout,
    #[error("{0} is a null pointer")]
    Null(&'static str),
    #[error("{name}: {message}")]
    Argument { name: &'static str, message: String },
    #[error("{}: {}", .0.key, .0.message)]
    Options(#[from] OptionError),
    #[error("{name} has room for {size} bytes; expected at least {needed}")]
    Buffer { name: &'static str, size: usize, needed: usize },
    #[error(transparent)]
    Fingerprint(#[from] FingerprintError),
    #[error(transparent)]
    Security(#[from] SecureError),
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error(transparent)]
    Send(#[from] SendError),
    #[error(transparent)]
    Closed(#[from] Closed),
    #[error("the connection is closed, and its last event was returned before")]
    NoMoreEvents,
    #[error("there are no statistics: the connection is closed, or has not begun")]
    NoStatistics,
    #[error(transparent)]
    System(#[from] std::io::Error),
}

impl Failure {
    const fn code(&self) -> HeadwayCode {
        match self {
            Self::Timeout => HeadwayCode::Timeout,
            Self::Null(_) => HeadwayCode::NullPointer,
            Self::Argument { .. }
            | Self::Options(_)
            | Self::Fingerprint(_)
            | Self::Endpoint(EndpointError::Options(_)) => HeadwayCode::InvalidArgument,
            Self::Buffer { .. } => HeadwayCode::BufferTooSmall,
            Self::Send(SendError::TooLarge { .. }) => HeadwayCode::TooLarge,
            Self::Send(_) | Self::Closed(_) | Self::NoMoreEvents | Self::NoStatistics => HeadwayCode::Closed,
            Self::Security(_) | Self::Endpoint(_) | Self::System(_) => HeadwayCode::System,
        }
    }
}

thread_local! {
    /// Text of the last error of this thread.
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Sets the text of the last error of this thread.
pub(crate) fn set_last_error(text: &str) {
    let text = CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default();
    // A thread that ends no longer has a text.
    let _ = LAST_ERROR.try_with(|last| last.replace(text));
}

/// Returns the text of the last error of this thread; `None` if the thread ends. It is valid until the next error.
pub(crate) fn last_error() -> Option<*const std::ffi::c_char> {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).ok()
}

/// Runs a function of the interface. No panic leaves it.
pub(crate) fn guard(function: impl FnOnce() -> Result<(), Failure>) -> HeadwayCode {
    let result = catch_unwind(AssertUnwindSafe(function));
    match result {
        Ok(Ok(())) => HeadwayCode::Ok,
        Ok(Err(Failure::Timeout)) => HeadwayCode::Timeout,
        Ok(Err(failure)) => {
            set_last_error(&failure.to_string());
            failure.code()
        }
        Err(_) => {
            set_last_error("libheadway has a defect: it panicked, and standard error has the details");
            HeadwayCode::Internal
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn last() -> String {
        LAST_ERROR.with_borrow(|last: &CString| CStr::to_string_lossy(last).into_owned())
    }

    #[test]
    fn a_panic_becomes_a_code() {
        assert_eq!(guard(|| panic!("a defect")), HeadwayCode::Internal);
        assert!(last().contains("panicked"), "{}", last());
    }

    /// A timeout is no error. A zero byte would end the text in C.
    #[test]
    fn errors_leave_their_text() {
        assert_eq!(
            guard(|| Err(Failure::Argument { name: "kind", message: "a\0b".into() })),
            HeadwayCode::InvalidArgument
        );
        assert_eq!(last(), "kind: a\u{fffd}b");
        assert_eq!(guard(|| Err(Failure::Timeout)), HeadwayCode::Timeout);
        assert_eq!(guard(|| Ok(())), HeadwayCode::Ok);
        assert_eq!(last(), "kind: a\u{fffd}b");
    }
}
