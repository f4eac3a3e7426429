#![doc = include_str!("../README.md")]

mod emulator;

pub use headway_link::PortSample;

pub use emulator::{Departure, Dropped, Emulator, MOST_HELD, Packet, Way, WayCounts};

#[cfg(target_os = "linux")]
mod clients;
#[cfg(target_os = "linux")]
mod driver;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod waiter;
#[cfg(target_os = "linux")]
mod watch;

#[cfg(target_os = "linux")]
pub use driver::{Proxy, ProxyError, ProxyOptions};
#[cfg(target_os = "linux")]
pub use report::Report;
#[cfg(target_os = "linux")]
pub use watch::{Seen, Watch};
