//! One-way delays between unsynchronized clocks, by the line below all delays and the round trips.

mod clock_tracker;
mod floor_line;
mod shortest_trip;

pub use clock_tracker::{ClockTracker, OneWayDelay};
pub(crate) use floor_line::FloorLine;
