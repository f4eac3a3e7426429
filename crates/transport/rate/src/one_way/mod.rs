//! One-way delays between two clocks that do not agree: the line below all delays removes the skew, and round trips bound the offset.

mod clock_tracker;
mod floor_line;
mod shortest_trip;

pub use clock_tracker::{ClockTracker, OneWayDelay};
pub(crate) use floor_line::FloorLine;
