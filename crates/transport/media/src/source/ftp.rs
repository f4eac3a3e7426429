//! File transfer: a backlog that the transport sends at its own pace (ns-2 `Application/FTP`).

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::{Backlog, Write};
use headway_units::{Dialect, Instant, OptionError};

/// Options of the source `ftp`, a file transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct FtpOptions {
    /// Number of full segments of the file, at least 1 (ns-2 `produce`); absent: an endless transfer.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub segments: Option<u64>,
}

impl headway_units::Options for FtpOptions {
    fn preset(_: Dialect) -> Self {
        Self { segments: None }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.segments == Some(0) {
            return Err(OptionError::new("segments", "a file of 0 segments sends nothing: segments is at least 1"));
        }
        Ok(())
    }
}

/// State of the source `ftp`, a file transfer.
#[derive(Debug)]
pub struct Ftp {
    segments: Option<u64>,
}

impl Ftp {
    pub(super) const fn new(options: &FtpOptions) -> Self {
        Self { segments: options.segments }
    }

    pub(super) const fn backlog(&self) -> Backlog {
        match self.segments {
            Some(count) => Backlog::Segments(count),
            None => Backlog::Endless,
        }
    }

    // The transport uses the backlog instead of polling.
    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    pub(super) const fn poll(&mut self, _: Instant) -> Option<Write> {
        None
    }
}
