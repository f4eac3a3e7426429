#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod actor;
mod event_queue;
mod moment;
mod ties;
mod timer;

pub use actor::{Actor, Class, MAX_ACTORS};
pub use event_queue::{AHEAD, EventQueue};
pub use moment::Moment;
pub use ties::{Places, Ties};
pub use timer::{Owner, Timer};
