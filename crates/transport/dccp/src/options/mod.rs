//! Options (RFC 4340 section 5.8).

mod ack_vector;
mod area;
mod ccid;
mod data_dropped;
mod decode;
mod delivery_order;
mod process;
mod repair;
mod time;
mod writer;

pub use ack_vector::{AckRun, AckState, AckVector};
pub use area::{OptionArea, RawOption};
pub use ccid::{CcidOption, DroppedPackets, LossInterval, LossIntervals};
pub use data_dropped::{DataDropped, DropCode, DropRun};
pub use decode::DccpOption;
pub use delivery_order::DeliveryOrder;
pub use process::{OptionError, OptionFault, ProcessedOption, Reaction};
pub use repair::Repair;
pub use time::{Elapsed, Timestamp};
pub use writer::OptionWriter;

/// Option types, Table 3 of section 5.8.
mod number {
    pub(super) const PADDING: u8 = 0;
    pub(super) const MANDATORY: u8 = 1;
    pub(super) const SLOW_RECEIVER: u8 = 2;
    /// Lowest type with a length byte; lower types are one byte long.
    pub(super) const FIRST_LONG: u8 = 32;
    pub(super) const CHANGE_L: u8 = 32;
    pub(super) const CONFIRM_L: u8 = 33;
    pub(super) const CHANGE_R: u8 = 34;
    pub(super) const CONFIRM_R: u8 = 35;
    pub(super) const INIT_COOKIE: u8 = 36;
    pub(super) const NDP_COUNT: u8 = 37;
    pub(super) const ACK_VECTOR_0: u8 = 38;
    pub(super) const ACK_VECTOR_1: u8 = 39;
    pub(super) const DATA_DROPPED: u8 = 40;
    pub(super) const TIMESTAMP: u8 = 41;
    pub(super) const TIMESTAMP_ECHO: u8 = 42;
    pub(super) const ELAPSED_TIME: u8 = 43;
    pub(super) const DATA_CHECKSUM: u8 = 44;
    /// First type for experiments.
    pub(super) const DELIVERY_ORDER: u8 = 120;
    /// Second type for experiments.
    pub(super) const REPAIR: u8 = 121;
    /// Lowest CCID-specific type (section 10.3).
    pub(super) const FIRST_CCID: u8 = 128;
    /// RFC 4342 section 8.5.
    pub(super) const LOSS_EVENT_RATE: u8 = 192;
    /// RFC 4342 section 8.6.
    pub(super) const LOSS_INTERVALS: u8 = 193;
    /// RFC 4342 section 8.3.
    pub(super) const RECEIVE_RATE: u8 = 194;
    /// RFC 5622 section 8.7.
    pub(super) const DROPPED_PACKETS: u8 = 195;
}
