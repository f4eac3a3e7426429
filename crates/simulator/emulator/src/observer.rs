//! The trait [`Observer`], which is notified of the datagrams that pass through a proxy.

use super::emulator::Direction;
use headway_units::{DropCause, Instant};

/// Datagram that a proxy forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramInfo {
    /// Index of the listening socket to which the client of this datagram sends; 0 is the first.
    pub listener: usize,
    /// Direction of the datagram.
    pub direction: Direction,
    /// Size on the link, in bytes: the payload plus [`ProxyOptions::overhead`](crate::ProxyOptions::overhead).
    pub bytes: u32,
    /// Time at which the datagram arrived at the link.
    pub arrived_at: Instant,
}

/// Observer of the datagrams of a proxy. Calls are in the order of events; times are of the proxy's clock.
pub trait Observer {
    /// Called when a datagram arrives at the emulated link.
    fn on_arrival(&mut self, datagram: &DatagramInfo);
    /// Called when the proxy has forwarded a datagram, at `now`, after the link.
    fn on_departure(&mut self, now: Instant, datagram: &DatagramInfo);
    /// Called when the emulated link has dropped a datagram, at the time `at`.
    fn on_drop(&mut self, at: Instant, datagram: &DatagramInfo, cause: DropCause);
}

/// Ignores all datagrams.
impl Observer for () {
    fn on_arrival(&mut self, _: &DatagramInfo) {}
    fn on_departure(&mut self, _: Instant, _: &DatagramInfo) {}
    fn on_drop(&mut self, _: Instant, _: &DatagramInfo, _: DropCause) {}
}
