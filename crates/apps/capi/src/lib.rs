#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod abi;
mod connection;
mod endpoint;
mod event;
mod failure;
mod kind;
mod options;
mod statistics;

pub use abi::*;
pub use connection::HeadwayConnection;
pub use endpoint::HeadwayEndpoint;
pub use event::{HeadwayEvent, HeadwayEventKind, HeadwayFate, HeadwayReason};
pub use failure::HeadwayCode;
pub use kind::HeadwayKind;
pub use options::HeadwayOptions;
pub use statistics::HeadwayStatistics;
