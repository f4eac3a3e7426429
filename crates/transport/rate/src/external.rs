//! Controllers that a program supplies to the library. No scenario file can name one.
//!
//! A caller implements [`SenderHalf`] and [`ReceiverHalf`]. The constants of these traits are not accessible through a
//! trait object, so [`ExternalOptions`] repeats the report form and the requirements.

use crate::contract::{
    CongestionEvents, LossClassification, Need, Next, Permit, Received, ReceiverContext, ReceiverHalf, SenderContext,
    SenderHalf, Sending, Stamp, Status,
};
use crate::report::{Feedback, Report, ReportForm};
use headway_units::Instant;
use std::fmt::Debug;
use std::sync::Arc;

/// Congestion controller supplied by the program: creates a sender half and a receiver half for each flow.
pub trait ExternalController: Debug + Send + Sync {
    /// Creates the sender half of the controller for one flow.
    fn sender(&self, context: SenderContext) -> Box<dyn AnySenderHalf>;

    /// Creates the receiver half of the controller for one flow.
    fn receiver(&self, context: ReceiverContext) -> Box<dyn AnyReceiverHalf>;
}

/// Options of an external controller, which a program supplies.
#[derive(Clone, Debug)]
pub struct ExternalOptions {
    /// Form of the reports that the controller's receiver half sends to its sender half.
    pub reports: ReportForm,
    /// Requirements of the controller's sender and receiver half on their carrier: the connection or simulator agent
    /// that drives them.
    pub needs: Vec<Need>,
    /// Factory of the controller's sender and receiver halves.
    pub controller: Arc<dyn ExternalController>,
}

impl PartialEq for ExternalOptions {
    fn eq(&self, other: &Self) -> bool {
        self.reports == other.reports && self.needs == other.needs && Arc::ptr_eq(&self.controller, &other.controller)
    }
}

/// Generates object-safe variants of the half traits, without constants, and the halves that forward to them.
macro_rules! object_safe_half {
    ($(#[$any_meta:meta])* $Any:ident for $Half:ident as $External:ident;
     $( fn $name:ident([$($by:tt)+] $this:ident $(, $argument:ident: $Type:ty)*) $(-> $Output:ty)?; )+) => {
        $(#[$any_meta])*
        pub trait $Any: Debug + Send {
            $( #[doc = concat!("Calls [`", stringify!($Half), "::", stringify!($name), "`] of the half.")]
               fn $name($($by)+ $this, $($argument: $Type),*) $(-> $Output)?; )+
        }

        impl<H: $Half + Debug + Send> $Any for H {
            $( fn $name($($by)+ $this, $($argument: $Type),*) $(-> $Output)? { $Half::$name($this, $($argument),*) } )+
        }

        impl $Half for $External {
            $( fn $name($($by)+ $this, $($argument: $Type),*) $(-> $Output)? { $this.half.$name($($argument),*) } )+
        }
    };
}

object_safe_half! {
    /// Object-safe form of [`SenderHalf`], implemented for each type that implements that trait.
    AnySenderHalf for SenderHalf as ExternalSender;
    fn poll_send([&mut] self, now: Instant, next: &Next) -> Permit;
    fn on_send([&mut] self, now: Instant, sending: &Sending) -> Stamp;
    fn on_application_limited([&mut] self, now: Instant);
    fn on_feedback([&mut] self, now: Instant, feedback: &Feedback<'_>);
    fn handle_timeout([&mut] self, now: Instant);
    fn poll_timeout([&] self) -> Option<Instant>;
    fn status([&] self) -> Status;
    fn congestion_events([&] self) -> CongestionEvents;
}

object_safe_half! {
    /// Object-safe form of [`ReceiverHalf`], implemented for each type that implements that trait.
    AnyReceiverHalf for ReceiverHalf as ExternalReceiver;
    fn report_form([&] self) -> ReportForm;
    fn on_packet([&mut] self, now: Instant, packet: &Received);
    fn on_corrupt([&mut] self, now: Instant, number: u64);
    fn on_channel_loss([&mut] self, number: u64);
    fn poll_loss_classification([&mut] self) -> Option<LossClassification>;
    fn poll_report([&mut] self, now: Instant) -> Option<Report<'_>>;
    fn handle_timeout([&mut] self, now: Instant);
    fn poll_timeout([&] self) -> Option<Instant>;
    fn set_ack_ratio([&mut] self, packets: u16);
    fn on_change([&mut] self, context: &ReceiverContext);
}

/// Sender half of a controller supplied by the program.
#[derive(Debug)]
pub struct ExternalSender {
    half: Box<dyn AnySenderHalf>,
}

impl ExternalSender {
    pub(crate) fn new(options: &ExternalOptions, context: SenderContext) -> Self {
        Self { half: options.controller.sender(context) }
    }
}

/// Receiver half of a controller supplied by the program.
#[derive(Debug)]
pub struct ExternalReceiver {
    half: Box<dyn AnyReceiverHalf>,
}

impl ExternalReceiver {
    pub(crate) fn new(options: &ExternalOptions, context: ReceiverContext) -> Self {
        Self { half: options.controller.receiver(context) }
    }
}
