//! A link of the simulator between two addresses, in wall-clock time and without root: UDP datagrams come in, wait, are dropped, marked and delayed as
//! packets of a simulated link are, and go on.
//!
//! [`Emulator`] is the link, without I/O. [`Proxy`] is the emulator between sockets: one thread, epoll and a timerfd, so on Linux only.

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
