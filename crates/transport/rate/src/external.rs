//! Controllers that are not of this crate: whoever drives a simulation from code may bring its own. No scenario file can name one.
//!
//! Whoever writes the halves implements [`SenderHalf`] and [`ReceiverHalf`] as any controller does; what they report and need is
//! said in [`ExternalOptions`], since it cannot be read from a half behind a pointer.

use crate::contract::{
    Judgement, Need, Next, Permit, Received, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Sending,
    Setbacks, Stamp, Status,
};
use crate::report::{Feedback, Report, ReportForm};
use headway_units::Instant;
use std::fmt::Debug;
use std::sync::Arc;

/// Makes the halves of a controller, for each flow its own.
pub trait ExternalController: Debug + Send + Sync {
    /// The half at the data's sender.
    fn sender(&self, context: SenderContext) -> Box<dyn AnySenderHalf>;

    /// The half at the data's receiver.
    fn receiver(&self, context: ReceiverContext) -> Box<dyn AnyReceiverHalf>;
}

/// A controller from elsewhere.
#[derive(Clone, Debug)]
pub struct ExternalOptions {
    /// What its receiver half reports.
    pub reports: ReportForm,
    /// What its halves need of their carrier.
    pub needs: Vec<Need>,
    /// What makes them.
    pub controller: Arc<dyn ExternalController>,
}

impl PartialEq for ExternalOptions {
    fn eq(&self, other: &Self) -> bool {
        self.reports == other.reports && self.needs == other.needs && Arc::ptr_eq(&self.controller, &other.controller)
    }
}

/// Makes of the lines below the traits without constants, which a pointer can lead to, and the halves that forward to it.
macro_rules! behind_a_pointer {
    ($(#[$any_meta:meta])* $Any:ident for $Half:ident as $External:ident;
     $( fn $name:ident([$($by:tt)+] $this:ident $(, $argument:ident: $Type:ty)*) $(-> $Answer:ty)?; )+) => {
        $(#[$any_meta])*
        pub trait $Any: Debug + Send {
            $( #[doc = concat!("[`", stringify!($Half), "::", stringify!($name), "`]")]
               fn $name($($by)+ $this, $($argument: $Type),*) $(-> $Answer)?; )+
        }

        impl<H: $Half + Debug + Send> $Any for H {
            $( fn $name($($by)+ $this, $($argument: $Type),*) $(-> $Answer)? { $Half::$name($this, $($argument),*) } )+
        }

        impl $Half for $External {
            $( fn $name($($by)+ $this, $($argument: $Type),*) $(-> $Answer)? { $this.half.$name($($argument),*) } )+
        }
    };
}

behind_a_pointer! {
    /// Any [`SenderHalf`].
    AnySenderHalf for SenderHalf as ExternalSender;
    fn poll_send([&mut] self, now: Instant, next: &Next) -> Permit;
    fn on_send([&mut] self, now: Instant, sending: &Sending) -> Stamp;
    fn on_application_limited([&mut] self, now: Instant);
    fn on_feedback([&mut] self, now: Instant, feedback: &Feedback<'_>);
    fn handle_timeout([&mut] self, now: Instant);
    fn poll_timeout([&] self) -> Option<Instant>;
    fn status([&] self) -> Status;
    fn setbacks([&] self) -> Setbacks;
}

behind_a_pointer! {
    /// Any [`ReceiverHalf`].
    AnyReceiverHalf for ReceiverHalf as ExternalReceiver;
    fn report_form([&] self) -> ReportForm;
    fn on_packet([&mut] self, now: Instant, packet: &Received);
    fn on_corrupt([&mut] self, now: Instant, number: u64);
    fn on_channel_loss([&mut] self, number: u64);
    fn poll_judgement([&mut] self) -> Option<Judgement>;
    fn poll_report([&mut] self, now: Instant) -> Option<Report<'_>>;
    fn handle_timeout([&mut] self, now: Instant);
    fn poll_timeout([&] self) -> Option<Instant>;
    fn set_ack_ratio([&mut] self, packets: u16);
    fn on_change([&mut] self, context: &ReceiverContext);
}

/// The sender half of a controller from elsewhere.
#[derive(Debug)]
pub struct ExternalSender {
    half: Box<dyn AnySenderHalf>,
}

impl ExternalSender {
    pub(crate) fn new(options: &ExternalOptions, context: SenderContext) -> Self {
        Self { half: options.controller.sender(context) }
    }
}

/// The receiver half of a controller from elsewhere.
#[derive(Debug)]
pub struct ExternalReceiver {
    half: Box<dyn AnyReceiverHalf>,
}

impl ExternalReceiver {
    pub(crate) fn new(options: &ExternalOptions, context: ReceiverContext) -> Self {
        Self { half: options.controller.receiver(context) }
    }
}
