//! The transports.

pub(crate) mod agent;
pub(crate) mod dccp;
