#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

/// Derive macros for options that are tables of a scenario.
#[cfg(feature = "schema")]
mod schema {
    pub(crate) use schemars::JsonSchema;
    pub(crate) use serde::{Deserialize, Serialize};
}

mod carrier;
mod contract;
mod encoder;
mod external;
mod faster_restart;
mod gcc;
mod kinds;
mod loss_filter;
mod nada;
mod none;
mod one_way;
mod prague;
mod rap;
mod report;
mod scream2;
mod spacing;
mod spacing_equation;
mod spacing_fixed;
mod tcp_like;
mod tfrc;
mod tfrc_filtered;
mod tfrc_sp;
pub mod toolbox;
mod udpm;

pub use carrier::{Acknowledged, Due, Inbound, Outbound, SentPackets, Trip, Wrapped};
pub use contract::{
    CongestionEvents, LossClassification, Need, Next, Permit, Received, ReceiverContext, ReceiverHalf, Scale,
    SenderContext, SenderHalf, Sending, Stamp, Status, Timing,
};
pub use encoder::{EncoderOptions, EncoderRate};
pub use external::{
    AnyReceiverHalf, AnySenderHalf, ExternalController, ExternalOptions, ExternalReceiver, ExternalSender,
};
pub use gcc::{GccOptions, GccReceiver, GccSender, GccVersion};
pub use kinds::{ControllerOptions, Receiver, Sender};
pub use loss_filter::{LossFilterKind, UddjAction, UddjOptions, UddjUpdate};
pub use nada::{NadaOptions, NadaReceiver, NadaSender};
pub use none::{NoneOptions, NoneReceiver, NoneSender};
pub use one_way::{ClockTracker, OneWayDelay};
pub use prague::{PragueMode, PragueOptions, PragueReceiver, PragueSender};
pub use rap::{RapOptions, RapReceiver, RapSender};
pub use report::{
    Arrival, CcfbBlock, CcfbError, CcfbLog, CcfbPacket, Feedback, LossForm, LossInterval, Losses, NumReports, Own,
    Report, ReportForm, Run, TfrcReport, TimedArrival, TimedReport,
};
pub use scream2::{Scream2Options, Scream2Receiver, Scream2Sender, Scream2Version};
pub use spacing::{Damping, Shorten, SpacingOptions, SpacingReceiver, SpacingRtt, SpacingSender, WhenLimited};
pub use spacing_equation::SpacingEquationOptions;
pub use spacing_fixed::{SpacingFixedOptions, SpacingFixedSender, SpacingReference};
pub use tcp_like::{
    AckRatioRule, Restart, TcpLikeExpert, TcpLikeOptions, TcpLikeReceiver, TcpLikeSender, UnusedWindow,
};
pub use tfrc::{
    CounterSamples, DiscountKept, FeedbackClock, FirstInterval, Idle, Increase, InitialWindow, LossEvents, Nofeedback,
    OpenInterval, Paced, Pacing, ReceiveLimit, RtoRule, Segment, SlowStart, TfrcContext, TfrcExpert, TfrcOptions,
    TfrcReceiver, TfrcSender,
};
pub use tfrc_filtered::TfrcFilteredOptions;
pub use tfrc_sp::TfrcSpOptions;
pub use udpm::{Decide, Halve, RoundTrip, Terms, TermsError, UdpmOptions, UdpmReceiver, UdpmSender};
