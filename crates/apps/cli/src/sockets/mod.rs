//! Commands that send and receive on real sockets.

pub(crate) mod arguments;
mod console;
mod controller;
mod delays;
mod delivery;
mod endpoint;
mod framing;
mod line;
mod metrics;
mod model;
mod mpeg_ts;
mod rate_feed;
mod receiving;
mod recording;
mod recv;
mod relay;
mod rules;
mod schemes;
mod send;
mod sending;
mod sink;
mod source;
mod watch;

// Used by commands that exist on Linux only.
#[cfg(target_os = "linux")]
pub(crate) use console::Console;
#[cfg(target_os = "linux")]
pub(crate) use endpoint::{address, check_not_own, destination};
pub(crate) use recv::recv;
pub(crate) use relay::relay;
pub(crate) use send::send;
