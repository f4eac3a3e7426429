//! The commands that send and receive on real sockets.

pub(crate) mod arguments;
mod end;
mod framing;
mod line;
mod model;
mod receiving;
mod recv;
mod relay;
mod rules;
mod send;
mod sending;
mod sink;
mod source;
mod teller;

pub(crate) use recv::recv;
pub(crate) use relay::relay;
pub(crate) use send::send;
