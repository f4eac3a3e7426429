//! Arrow IPC files and streams.

#[cfg(feature = "arrow")]
pub(crate) mod batches;
pub(super) mod compressed;
pub(super) mod file;
pub(crate) mod messages;
pub(super) mod metadata;
