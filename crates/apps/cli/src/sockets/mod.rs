//! The commands that send and receive on real sockets.

pub(crate) mod arguments;
mod controller;
mod delays;
mod end;
mod framing;
mod line;
mod metrics;
mod model;
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
mod teller;
mod watch;

// Of the commands that are only on Linux.
#[cfg(target_os = "linux")]
pub(crate) use end::{address, check_not_own, destination};
pub(crate) use recv::recv;
pub(crate) use relay::relay;
pub(crate) use send::send;
#[cfg(target_os = "linux")]
pub(crate) use teller::Teller;
