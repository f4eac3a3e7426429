//! No congestion control, as in plain UDP.

use crate::contract::{
    Next, Permit, Received, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Sending, Stamp, Status,
};
use crate::report::Feedback;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Dialect, Instant, Options};

/// Options of the controller `none`, which has no options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct NoneOptions {}

impl Options for NoneOptions {
    fn preset(_: Dialect) -> Self {
        Self {}
    }
}

/// Sender half of the controller `none`, which permits every packet immediately.
#[derive(Debug)]
pub struct NoneSender;

impl NoneSender {
    pub(crate) fn new(_: &NoneOptions, _: SenderContext) -> Self {
        Self
    }
}

impl SenderHalf for NoneSender {
    fn poll_send(&mut self, _: Instant, _: &Next) -> Permit {
        Permit::Now
    }
    fn on_send(&mut self, _: Instant, _: &Sending) -> Stamp {
        Stamp { ecn: headway_units::Ecn::NotEct, ..Stamp::default() }
    }
    fn on_feedback(&mut self, _: Instant, _: &Feedback<'_>) {}
    fn status(&self) -> Status {
        Status::default()
    }
}

/// Receiver half of the controllers `none` and `spacing-fixed`, which sends no reports.
#[derive(Debug)]
pub struct NoneReceiver;

impl NoneReceiver {
    pub(crate) fn new<O>(_: &O, _: ReceiverContext) -> Self {
        Self
    }
}

impl ReceiverHalf for NoneReceiver {
    fn on_packet(&mut self, _: Instant, _: &Received) {}
}
