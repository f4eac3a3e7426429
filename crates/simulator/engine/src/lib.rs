#![doc = include_str!("../README.md")]
//!
//! # Order of events at the same time
//!
//! | file | task |
//! |---|---|
//! | `ties.rs` | Selects the rule for events at the same time: [`Ties`]. Defines no order itself. |
//! | `moment.rs` | Defines the order: [`Moment`] contains all sort keys. |
//! | `event_queue.rs` | Returns events in the order of [`Moment`], then by [`Actor`]: [`EventQueue`]. |
//! | `timer.rs`, links, hosts | Create the [`Moment`] of each event according to the rule. |
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
