//! What window growths have in common.

use crate::options::{AckCounting, Increase, Rules};
use crate::segment::Segment;
use crate::state::Cut;
use headway_units::{Dialect, Duration, Ecn, Instant, OptionError};

/// The congestion window and the slow-start threshold, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
}

impl Window {
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// What an acknowledgement of new data tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub(crate) now: Instant,
    /// Segments newly acknowledged, one at least.
    pub(crate) segments: u64,
    /// The number that is waited for now, and one past the highest sent.
    pub(crate) una: u64,
    pub(crate) max: u64,
    /// The round trip of the segment that was answered, if it can be told.
    pub(crate) rtt: Option<Duration>,
    /// Zero before the first sample.
    pub(crate) srtt: Duration,
}

/// How a window opens, and what a loss leaves of it.
pub(crate) trait Growth {
    /// The options that only this growth has.
    type Options;

    /// What this growth asks for beyond the dialect.
    fn adjust(_rules: &mut Rules, _dialect: Dialect) {}

    /// Checks the options that only this growth has.
    ///
    /// # Errors
    ///
    /// The first wrong option.
    fn check(_rules: &Rules, _options: &Self::Options) -> Result<(), OptionError> {
        Ok(())
    }

    fn new(rules: &Rules, options: &Self::Options) -> Self;

    /// Sees every acknowledgement before anything is made of it, duplicates too. `una` is the number that was waited for before it,
    /// `max` one past the highest sent.
    fn observe(&mut self, _now: Instant, _una: u64, _max: u64, _ack: &Segment) {}

    /// Sees every acknowledgement of the `fack` recovery once its number and its round trip are taken in, duplicates too; `fine`: it is new,
    /// and nothing is wrong (CA_EVENT_FAST_ACK and CA_EVENT_SLOW_ACK of Linux 2.6).
    fn acknowledged(&mut self, _acked: Acked, _fine: bool) {}

    /// Opens the window.
    fn grow(&mut self, window: &mut Window, acked: Acked);

    /// Sees an acknowledgement that may not open the window: in recovery, or when the application is the limit.
    fn hold(&mut self, _acked: Acked) {}

    /// Is notified that the application or the receiver left a part of the window unused.
    fn application_limited(&mut self, _now: Instant) {}

    /// What remains of `base` (cwnd or FlightSize) after a loss or mark in a window of `cwnd`; `cut` says what told of it.
    fn decrease(&mut self, cut: Cut, cwnd: f64, base: f64) -> f64;

    /// What cwnd, which was `cwnd`, becomes where [`Growth::decrease`] left `reduced`, unless a timeout closes it.
    fn settle(&self, _cwnd: f64, reduced: f64) -> f64 {
        reduced
    }

    /// SACK's recovery is over.
    fn recovered(&mut self, _window: &mut Window) {}

    /// The retransmission timer ran out.
    fn timed_out(&mut self) {}

    /// Sending goes on after `silence` without anything in flight.
    fn resumed(&mut self, _silence: Duration) {}

    /// Returns the ECN codepoint of data.
    fn codepoint(&self) -> Ecn {
        Ecn::Ect0
    }
}

/// Slow start and the step from a number of acknowledged segments to an increase: shared by all growths.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    counting: AckCounting,
    limit: u32,
    increase: Increase,
    /// Segments counted towards the next whole one.
    counted: f64,
    /// Slow start goes over segments that may have arrived before a timeout.
    after_timeout: bool,
}

impl Step {
    pub(crate) fn new(rules: &Rules) -> Self {
        Self {
            counting: rules.ack_counting,
            limit: rules.slow_start_limit,
            increase: rules.increase,
            counted: 0.0,
            after_timeout: false,
        }
    }

    /// Opens by one a segment (RFC 3465 section 2.2) or acknowledgement in slow start; answers how many segments are
    /// left for congestion avoidance.
    pub(crate) fn slow_start(&mut self, window: &mut Window, segments: u64) -> f64 {
        if self.counting == AckCounting::Acks {
            if window.in_slow_start() {
                window.cwnd += 1.0;
                return 0.0;
            }
            return 1.0;
        }
        if !window.in_slow_start() {
            return segments as f64;
        }
        // RFC 3465 section 2.3: after a timeout one acknowledgement may cover what arrived long before.
        let limit = if self.after_timeout && self.limit < u32::MAX { 1 } else { self.limit };
        let offered = segments.min(u64::from(limit)) as f64;
        let taken = offered.min(window.ssthresh - window.cwnd);
        window.cwnd += taken;
        offered - taken
    }

    /// Opens by `segments / per_segment`: at once, or when `per_segment` have been counted.
    pub(crate) fn avoid(&mut self, window: &mut Window, segments: f64, per_segment: f64) {
        match self.increase {
            Increase::Fractional => window.cwnd += segments / per_segment,
            Increase::Whole => {
                self.counted += segments;
                if self.counted >= per_segment {
                    let whole = (self.counted / per_segment).floor();
                    // Counters count whole segments: what is left of one is not carried over.
                    self.counted = (self.counted - whole * per_segment).floor();
                    window.cwnd += whole;
                }
            }
        }
    }

    /// `window` as this way of increasing would show it.
    pub(crate) fn whole_if_counted(&self, window: f64) -> f64 {
        match self.increase {
            Increase::Fractional => window,
            Increase::Whole => window.floor(),
        }
    }

    /// A window on a curve around `plateau`; counted in whole segments, what is left to the plateau is rounded towards
    /// it, as Linux's integers do, which shortens the approach.
    pub(crate) fn towards(&self, window: f64, plateau: f64) -> f64 {
        match self.increase {
            Increase::Fractional => window,
            Increase::Whole if window < plateau => plateau - (plateau - window).floor(),
            Increase::Whole => plateau + (window - plateau).floor(),
        }
    }

    /// The window was reduced.
    pub(crate) fn reset(&mut self, by_timeout: bool) {
        self.counted = 0.0;
        self.after_timeout = by_timeout;
    }
}
