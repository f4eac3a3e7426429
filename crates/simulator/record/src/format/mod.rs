//! File formats: Arrow files, traces and captures.

pub(crate) mod arrow;
pub(crate) mod events;
pub(crate) mod ip;
pub mod nam;
mod name_set;
pub mod ns2;
pub(crate) mod packets;
pub(crate) mod pcapng;
pub mod perfetto;
pub(crate) mod pretty;
pub(crate) mod series;
