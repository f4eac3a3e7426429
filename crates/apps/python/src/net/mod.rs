//! Connections over real sockets: adapters from `headway-net` to the classes of `headway/_connection.py`.

pub(crate) mod connection;
mod event;
mod failure;
pub(crate) mod identity;
pub(crate) mod listener;
pub(crate) mod operation;
pub(crate) mod options;
pub(crate) mod wakeups;
