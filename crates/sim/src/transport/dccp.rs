//! DCCP connections.

mod ends;
mod strangers;

pub(crate) use ends::{Client, SERVICE, Server, Verdict, address, pair, ports};
pub(crate) use strangers::Strangers;
