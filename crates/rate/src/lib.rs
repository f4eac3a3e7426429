#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod carrier;
mod contract;
mod faster_restart;
mod kinds;
mod none;
mod own;
mod tcp_like;
mod tfrc;
mod tfrc_sp;

pub use carrier::{Acknowledged, Due, Inbound, Ledger, Outbound, Trip};
pub use contract::{
    Arrival, Feedback, LossForm, LossInterval, Losses, Next, Permit, Received, ReceiverContext, ReceiverHalf, Report,
    ReportForm, Run, SenderContext, SenderHalf, Sending, Stamp, Status, TfrcReport, Timing,
};
pub use kinds::{ControllerOptions, Receiver, Sender};
pub use none::{NoneOptions, NoneReceiver, NoneSender};
pub use own::Own;
pub use tcp_like::{AckRatioRule, Restart, RtoFloor, TcpLikeOptions, TcpLikeReceiver, TcpLikeSender, UnusedWindow};
pub use tfrc::{
    CounterSamples, FeedbackClock, FirstInterval, Idle, Increase, InitialWindow, LossEvents, Nofeedback, OpenInterval,
    Pacing, ReceiveLimit, RtoRule, Segment, SlowStart, TfrcOptions, TfrcReceiver, TfrcSender,
};
pub use tfrc_sp::TfrcSpOptions;
