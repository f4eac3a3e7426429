//! Loss filters and packet spacing of connections: experimental controllers with options of one end.
//!
//! Both ends select the controller by its CCID. All other options belong to one end: a filter to the receiver of the
//! data, a spacing to its sender.

use crate::options::Options;
use headway_rate::{
    ControllerOptions, Damping, LossFilterKind, SpacingEquationOptions, SpacingFixedOptions, SpacingOptions,
    TfrcFilteredOptions, TfrcOptions, UddjOptions,
};
use headway_units::{Dialect, Duration, OptionError, Options as _, Registry as _};

/// Scheme by which a sender spaces its packets, from the paper "packet spacing: an enabling mechanism for delivering
/// multimedia content in computational grids" (section 2), called the packet spacing paper here.
#[derive(Clone, Debug, PartialEq)]
pub enum Spacing {
    /// Packet-spacing agent: a constant gap between packets, without feedback.
    Fixed(SpacingFixedOptions),
    /// Protocols whose receiver reports each round trip: ad hoc and damped (sections 2.1 and 2.2 of the packet spacing
    /// paper).
    Feedback(SpacingOptions),
    /// Equation-based protocol: even spacing at the rate of the TCP throughput equation (section 2.3 of the packet
    /// spacing paper).
    Equation(SpacingEquationOptions),
}

impl Spacing {
    /// Returns the packet-spacing agent, which sends packets with this constant gap, from the end of a packet to the
    /// start of the next, and without feedback. A gap of zero sends at the rate of the sender's interface.
    #[must_use]
    pub fn fixed(gap: Duration) -> Self {
        Self::Fixed(SpacingFixedOptions { spacing: gap, ..SpacingFixedOptions::preset(Dialect::default()) })
    }

    /// Returns the ad-hoc protocol (section 2.1 of the packet spacing paper): the receiver reports each round trip, and
    /// each report of a loss doubles the gap.
    #[must_use]
    pub fn ad_hoc() -> Self {
        Self::Feedback(SpacingOptions { damping: Damping::None, ..SpacingOptions::preset(Dialect::default()) })
    }

    /// Returns the damped protocol (section 2.2 of the packet spacing paper): the receiver reports each round trip, and
    /// each report of a loss doubles the gap. If the sender had just shortened the gap, the loss restores the gap from
    /// before instead.
    #[must_use]
    pub fn damped() -> Self {
        Self::Feedback(SpacingOptions::preset(Dialect::default()))
    }

    /// Returns the equation-based protocol (section 2.3 of the packet spacing paper): even spacing at the rate of the
    /// TCP throughput equation.
    #[must_use]
    pub fn equation() -> Self {
        Self::Equation(SpacingEquationOptions::preset(Dialect::default()))
    }

    fn controller(self) -> ControllerOptions {
        match self {
            Self::Fixed(options) => ControllerOptions::SpacingFixed(options),
            Self::Feedback(options) => ControllerOptions::Spacing(options),
            Self::Equation(options) => ControllerOptions::SpacingEquation(options),
        }
    }
}

impl Options {
    /// Selects the controller `tfrc-filtered` (CCID 250) with this loss filter, by which this end, as a receiver,
    /// counts only congestion losses. The peer must use this controller, too; it is the default, with
    /// [`LossFilterKind::Guarded`]. Each end filters the data it receives and may use its own filter. `uddj`: the
    /// options of [`LossFilterKind::Uddj`].
    ///
    /// # Errors
    /// If an option is out of range, or the filter is [`LossFilterKind::Oracle`]: no packet reports the losses of
    /// the channel.
    pub fn with_loss_filter(self, filter: LossFilterKind, uddj: Option<UddjOptions>) -> Result<Self, OptionError> {
        if filter == LossFilterKind::Oracle {
            let message = "the oracle counts the losses that the channel did not cause, and only a simulator knows these; \
                           expected another filter";
            return Err(OptionError::new("loss_filter", message));
        }
        let ControllerOptions::TfrcFiltered(TfrcFilteredOptions(usual)) = self.controller_options("tfrc-filtered")?
        else {
            return Err(OptionError::new("controller", "its options are not those of tfrc-filtered"));
        };
        let tfrc = TfrcOptions { loss_filter: Some(filter), uddj, ..usual };
        tfrc.check()?;
        self.with_controller_options(ControllerOptions::TfrcFiltered(TfrcFilteredOptions(tfrc)))
    }

    /// Selects the controller of this scheme, by which this end spaces the packets that it sends. Both ends need the
    /// same controller: `spacing-fixed`, `spacing` or `spacing-equation`. The sender of the data decides the gaps and
    /// rules.
    ///
    /// # Errors
    /// If an option is out of range, or the scheme needs
    /// [`ConnectionOptions::line_rate`](headway_dccp::ConnectionOptions::line_rate) and it is not set: reports have
    /// no arrival times from which a sender could measure the rate.
    pub fn with_spacing(self, spacing: Spacing) -> Result<Self, OptionError> {
        let controller = spacing.controller();
        controller.check()?;
        self.with_controller_options(controller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Rate;

    fn controller(options: &Options) -> &ControllerOptions {
        let [ccid] = options.connection.send_ccids[..] else { panic!("one CCID") };
        assert_eq!(options.connection.receive_ccids, [ccid]);
        &options.connection.controllers.iter().find(|row| row.ccid.0 == ccid).unwrap().controller
    }

    /// UDDJ-TFRC, "future work": an implementation on a network. Every filter that needs only a receiver runs over
    /// CCID 250.
    #[test]
    fn uddj_future_work_filters_of_a_receiver() {
        for filter in [
            LossFilterKind::Uddj,
            LossFilterKind::Guarded,
            LossFilterKind::Zigzag,
            LossFilterKind::Mbiaz,
            LossFilterKind::Spike,
        ] {
            let options = Options::insecure().with_loss_filter(filter, None).unwrap();
            let ControllerOptions::TfrcFiltered(tfrc) = controller(&options) else { panic!("{filter:?}") };
            assert_eq!((tfrc.loss_filter, options.connection.send_ccids[0]), (Some(filter), 250));
        }
        let refused = Options::insecure().with_loss_filter(LossFilterKind::Oracle, None).unwrap_err();
        assert_eq!(refused.key, "loss_filter");
        assert!(refused.message.contains("only a simulator knows"), "{}", refused.message);
        let uddj = |margin| Some(UddjOptions { margin, ..UddjOptions::default() });
        for (filter, margin, key) in [(LossFilterKind::Uddj, 1.0, "margin"), (LossFilterKind::Spike, 0.0, "uddj")] {
            assert_eq!(Options::insecure().with_loss_filter(filter, uddj(margin)).unwrap_err().key, key);
        }
    }

    /// Packet spacing, section 2: all schemes; only the equation needs no line rate.
    #[test]
    fn packet_spacing_2_schemes_of_a_sender() {
        let schemes =
            || [Spacing::fixed(Duration::from_micros(500)), Spacing::ad_hoc(), Spacing::damped(), Spacing::equation()];
        for (scheme, ccid) in schemes().into_iter().zip([252, 249, 249, 253]) {
            let mut options = Options::insecure();
            options.connection.line_rate = Some(Rate::from_bits_per_second(100_000_000));
            let options = options.with_spacing(scheme.clone()).unwrap();
            assert_eq!((controller(&options), options.connection.send_ccids[0]), (&scheme.controller(), ccid));
        }
        let without = schemes().map(|scheme| Options::insecure().with_spacing(scheme).err().map(|error| error.key));
        assert_eq!(without, [Some("line_rate"), Some("line_rate"), Some("line_rate"), None]);
        assert_ne!(Spacing::ad_hoc(), Spacing::damped());
        let too_long = Options::insecure().with_spacing(Spacing::fixed(Duration::from_secs(65)));
        assert_eq!(too_long.unwrap_err().key, "spacing");
    }
}
