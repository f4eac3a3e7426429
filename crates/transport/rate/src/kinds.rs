//! Registry of controllers, one per line.

use crate::contract::{
    CongestionEvents, LossClassification, Need, Next, Permit, Received, ReceiverContext, ReceiverHalf, Scale,
    SenderContext, SenderHalf, Sending, Stamp, Status,
};
use crate::external::{ExternalOptions, ExternalReceiver, ExternalSender};
use crate::none::{NoneOptions, NoneReceiver, NoneSender};
use crate::report::{Feedback, Report, ReportForm};
use crate::tcp_like::{TcpLikeOptions, TcpLikeReceiver, TcpLikeSender};
use crate::tfrc::{TfrcOptions, TfrcReceiver, TfrcSender};
use crate::tfrc_sp::TfrcSpOptions;
use crate::udpm::{Terms, TermsError};
use headway_units::{Instant, OptionError, Rate, registry};

/// Generates the options and the two halves, with static dispatch.
macro_rules! controllers {
    (($d:tt) $( $kind:literal => $Variant:ident($options:ty, $sender:ty, $receiver:ty) ),+ $(,)?) => {
        registry! {
            /// Options of a congestion controller. The variant selects the controller.
            options ControllerOptions;
            /// Sender half of any controller.
            machine Sender;
            what "controller"; dispatch each_sender;
            $( $kind => $Variant($options, $sender) ),+
            ; from code "external" => External(ExternalOptions, ExternalSender)
        }

        /// Receiver half of any controller: the part that reports arrivals to the sender half.
        #[derive(Debug)]
        pub enum Receiver {
            $( #[doc = concat!("Receiver half of the controller `", $kind, "`.")] $Variant($receiver), )+
            /// Receiver half of a controller supplied by the program; no scenario can select it.
            External(ExternalReceiver),
        }

        macro_rules! each_receiver {
            ($d value:expr, $d name:ident => $d body:expr) => {
                match $d value { $( Receiver::$Variant($d name) => $d body, )+ Receiver::External($d name) => $d body }
            };
        }

        impl ControllerOptions {
            /// Returns the form of the reports that the receiver half of this controller sends to the sender half.
            #[must_use]
            pub const fn reports(&self) -> ReportForm {
                match self {
                    $( Self::$Variant(_) => <$receiver as ReceiverHalf>::REPORTS, )+
                    Self::External(options) => options.reports,
                }
            }

            /// Returns the requirements of this controller's sender and receiver half on their carrier: the connection
            /// or simulator agent that drives them.
            pub fn needs(&self) -> impl Iterator<Item = Need> {
                let [sender, receiver] = match self {
                    $( Self::$Variant(_) => [<$sender as SenderHalf>::NEEDS, <$receiver as ReceiverHalf>::NEEDS], )+
                    Self::External(options) => [&options.needs[..], &[]],
                };
                let filter = self.tfrc().map_or(&[][..], TfrcOptions::needs);
                sender.iter().chain(receiver).chain(filter).copied()
            }
        }

        impl Sender {
            /// Creates the sender half of the controller with these options.
            #[must_use]
            pub fn new(options: &ControllerOptions, context: SenderContext) -> Self {
                match options {
                    $( ControllerOptions::$Variant(options) => Self::$Variant(<$sender>::new(options, context)), )+
                    ControllerOptions::External(options) => Self::External(ExternalSender::new(options, context)),
                }
            }
        }

        impl Receiver {
            /// Creates the receiver half of the controller with these options.
            #[must_use]
            pub fn new(options: &ControllerOptions, context: ReceiverContext) -> Self {
                match options {
                    $( ControllerOptions::$Variant(options) => Self::$Variant(<$receiver>::new(options, context)), )+
                    ControllerOptions::External(options) => Self::External(ExternalReceiver::new(options, context)),
                }
            }
        }
    };
}

controllers! {
    ($)
    // kind => variant(options, sender half, receiver half)
    "none" => None(NoneOptions, NoneSender, NoneReceiver),
    "tcp-like" => TcpLike(TcpLikeOptions, TcpLikeSender, TcpLikeReceiver),
    "tfrc" => Tfrc(TfrcOptions, TfrcSender, TfrcReceiver),
    "tfrc-sp" => TfrcSp(TfrcSpOptions, TfrcSender, TfrcReceiver),
    "tfrc-filtered" => TfrcFiltered(crate::tfrc_filtered::TfrcFilteredOptions, TfrcSender, TfrcReceiver),
    "udpm" => Udpm(crate::udpm::UdpmOptions, crate::udpm::UdpmSender, crate::udpm::UdpmReceiver),
    "spacing-fixed" => SpacingFixed(crate::spacing_fixed::SpacingFixedOptions, crate::spacing_fixed::SpacingFixedSender, NoneReceiver),
    "spacing" => Spacing(crate::spacing::SpacingOptions, crate::spacing::SpacingSender, crate::spacing::SpacingReceiver),
    "spacing-equation" => SpacingEquation(crate::spacing_equation::SpacingEquationOptions, TfrcSender, TfrcReceiver),
    "rap" => Rap(crate::rap::RapOptions, crate::rap::RapSender, crate::rap::RapReceiver),
    "nada" => Nada(crate::nada::NadaOptions, crate::nada::NadaSender, crate::nada::NadaReceiver),
    "gcc" => Gcc(crate::gcc::GccOptions, crate::gcc::GccSender, crate::gcc::GccReceiver),
    "scream2" => Scream2(crate::scream2::Scream2Options, crate::scream2::Scream2Sender, crate::scream2::Scream2Receiver),
    "prague" => Prague(crate::prague::PragueOptions, crate::prague::PragueSender, crate::prague::PragueReceiver),
}

impl ControllerOptions {
    /// Returns the TFRC options of any TFRC variant.
    fn tfrc(&self) -> Option<&TfrcOptions> {
        match self {
            Self::Tfrc(options) => Some(options),
            Self::TfrcSp(options) => Some(options),
            Self::TfrcFiltered(options) => Some(options),
            Self::SpacingEquation(options) => Some(options),
            _ => None,
        }
    }

    /// Returns whether the receiver half classifies losses as congestion or channel losses
    /// ([`ReceiverHalf::poll_loss_classification`]).
    #[must_use]
    pub fn classifies_losses(&self) -> bool {
        self.tfrc().is_some_and(|tfrc| tfrc.loss_filter.is_some())
    }

    /// Returns the parameters of this controller that both endpoints agree on before the first data packet: rates and
    /// rules of `udpm`; `None` for all other controllers.
    #[must_use]
    pub fn terms(&self) -> Option<Terms> {
        match self {
            Self::Udpm(options) => Some(options.terms()),
            _ => None,
        }
    }

    /// Returns whether both endpoints must agree on parameters of this controller: whether [`terms`](Self::terms) is
    /// `Some`.
    #[must_use]
    pub const fn has_terms(&self) -> bool {
        matches!(self, Self::Udpm(_))
    }

    /// Checks that the [`terms`](Self::terms), parameters that both endpoints agree on, can be encoded for their
    /// negotiation.
    ///
    /// # Errors
    /// Returns the key whose value cannot be encoded.
    pub fn check_terms(&self) -> Result<(), OptionError> {
        match self {
            Self::Udpm(options) => options.check_terms(),
            _ => Ok(()),
        }
    }

    /// Returns these options with the parameters `terms` that both endpoints have agreed on. Options of controllers
    /// without such parameters, all but `udpm`, are unchanged.
    ///
    /// # Errors
    /// Returns an error for invalid terms.
    pub fn with_terms(&self, terms: &Terms) -> Result<Self, TermsError> {
        match self {
            Self::Udpm(options) => options.with_terms(terms).map(Self::Udpm),
            other => Ok(other.clone()),
        }
    }
}

impl SenderHalf for Sender {
    #[inline]
    fn poll_send(&mut self, now: Instant, next: &Next) -> Permit {
        each_sender!(self, sender => sender.poll_send(now, next))
    }
    #[inline]
    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        each_sender!(self, sender => sender.on_send(now, sending))
    }
    fn on_discard(&mut self, now: Instant) {
        each_sender!(self, sender => sender.on_discard(now));
    }
    #[inline]
    fn on_application_limited(&mut self, now: Instant) {
        each_sender!(self, sender => sender.on_application_limited(now));
    }
    #[inline]
    fn is_application_limited(&self) -> bool {
        each_sender!(self, sender => sender.is_application_limited())
    }
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        each_sender!(self, sender => sender.on_feedback(now, feedback));
    }
    fn handle_timeout(&mut self, now: Instant) {
        each_sender!(self, sender => sender.handle_timeout(now));
    }
    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        each_sender!(self, sender => sender.poll_timeout())
    }
    fn measures_silence(&self, now: Instant, number: u64) -> bool {
        each_sender!(self, sender => sender.measures_silence(now, number))
    }
    #[inline]
    fn status(&self) -> Status {
        each_sender!(self, sender => sender.status())
    }
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        each_sender!(self, sender => sender.pacing_rate())
    }
    fn congestion_events(&self) -> CongestionEvents {
        each_sender!(self, sender => sender.congestion_events())
    }
    fn scale(&self) -> Option<Scale> {
        each_sender!(self, sender => sender.scale())
    }
}

impl ReceiverHalf for Receiver {
    fn report_form(&self) -> ReportForm {
        each_receiver!(self, receiver => receiver.report_form())
    }
    #[inline]
    fn on_packet(&mut self, now: Instant, packet: &Received) {
        each_receiver!(self, receiver => receiver.on_packet(now, packet));
    }
    fn on_corrupt(&mut self, now: Instant, number: u64) {
        each_receiver!(self, receiver => receiver.on_corrupt(now, number));
    }
    fn on_channel_loss(&mut self, number: u64) {
        each_receiver!(self, receiver => receiver.on_channel_loss(number));
    }
    fn poll_loss_classification(&mut self) -> Option<LossClassification> {
        each_receiver!(self, receiver => receiver.poll_loss_classification())
    }
    #[inline]
    fn poll_report(&mut self, now: Instant) -> Option<Report<'_>> {
        each_receiver!(self, receiver => receiver.poll_report(now))
    }
    fn handle_timeout(&mut self, now: Instant) {
        each_receiver!(self, receiver => receiver.handle_timeout(now));
    }
    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        each_receiver!(self, receiver => receiver.poll_timeout())
    }
    fn set_ack_ratio(&mut self, packets: u16) {
        each_receiver!(self, receiver => receiver.set_ack_ratio(packets));
    }
    fn on_change(&mut self, context: &ReceiverContext) {
        each_receiver!(self, receiver => receiver.on_change(context));
    }
}
