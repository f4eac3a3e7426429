//! The interface of window growths, and shared steps.

use crate::delivery::{Lost, RateSample};
use crate::options::{AckCounting, Increase, Rules};
use crate::segment::{EcnCounts, Segment};
use crate::state::Cut;
use headway_units::{Dialect, Duration, Ecn, Instant, OptionError, Random};

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

/// Information about an acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub(crate) now: Instant,
    /// Newly acknowledged segments, at least 1.
    pub(crate) segments: u64,
    /// First unacknowledged segment, and one past the highest segment sent.
    pub(crate) una: u64,
    pub(crate) max: u64,
    /// Round-trip sample, if the acknowledgement gives one.
    pub(crate) rtt: Option<Duration>,
    /// Smoothed round-trip time; zero before the first sample.
    pub(crate) srtt: Duration,
}

/// Window growth: how the window opens and how a loss reduces it.
pub(crate) trait Growth {
    /// Options of this growth only.
    type Options;

    /// Whether an acknowledgement that reports marks opens the window, too.
    const GROWS_WHEN_MARKED: bool = false;

    /// Whether a window counts as used if pacing delays segments that it permits.
    const GROWS_WHEN_PACED: bool = false;

    /// Whether a loss in the round trip after a mark also reduces the window.
    const REDUCES_AFTER_MARK: bool = false;

    /// Applies the options that this growth requires on top of the dialect.
    fn adjust(_rules: &mut Rules, _dialect: Dialect) {}

    /// Checks the options of this growth and returns the first invalid one.
    fn check(_rules: &Rules, _options: &Self::Options) -> Result<(), OptionError> {
        Ok(())
    }

    fn new(rules: &Rules, options: &Self::Options) -> Self;

    /// Observes every acknowledgement before it is processed, including duplicates. `una` is the first unacknowledged
    /// segment before it, `max` one past the highest segment sent.
    fn observe(&mut self, _now: Instant, _una: u64, _max: u64, _ack: &Segment) {}

    /// Observes every acknowledgement with `ecn_echo = "accurate"`, instead of [`Growth::observe`]. `new` are the
    /// packets counted since the last one.
    fn counted(&mut self, _window: &mut Window, now: Instant, (una, max): (u64, u64), ack: &Segment, _new: EcnCounts) {
        self.observe(now, una, max, ack);
    }

    /// Is notified that the path changes the ECN field, so that the sender stops using ECN.
    fn ecn_failed(&mut self) {}

    /// Observes every acknowledgement of the `fack` recovery after its number and round trip are processed, including
    /// duplicates. `fine`: it is new and reports no problem (CA_EVENT_FAST_ACK and CA_EVENT_SLOW_ACK of Linux 2.6).
    fn acknowledged(&mut self, _acked: Acked, _fine: bool) {}

    /// Opens the window.
    fn grow(&mut self, window: &mut Window, acked: Acked);

    /// Handles an acknowledgement that must not open the window: in recovery, or when limited by the application.
    fn hold(&mut self, _acked: Acked) {}

    /// Is notified that the application or the receiver left a part of the window unused.
    fn application_limited(&mut self, _now: Instant) {}

    /// Returns the reduced value of `base` (cwnd or FlightSize) after a loss or mark in a window of `cwnd`. `cut` is
    /// the cause.
    fn decrease(&mut self, cut: Cut, cwnd: f64, base: f64) -> f64;

    /// Returns cwnd after a reduction from `cwnd`, where [`Growth::decrease`] returned `reduced`. Not used after
    /// timeouts.
    fn settle(&self, _cwnd: f64, reduced: f64) -> f64 {
        reduced
    }

    /// Is notified that a SACK recovery ended.
    fn recovered(&mut self, _window: &mut Window) {}

    /// Is notified that the retransmission timer expired.
    fn timed_out(&mut self) {}

    /// Is notified that sending resumes after `silence` with nothing in flight.
    fn resumed(&mut self, _silence: Duration) {}

    /// Is notified that the SYN was acknowledged after `rtt`, if this time is known, and that `window` was set. Only the
    /// recovery `rack-tlp` reports this event and the following ones.
    fn opened(&mut self, _window: &mut Window, _now: Instant, _rtt: Option<Duration>) {}

    /// Is notified that a segment is about to be sent with nothing in flight. `app_limited`: the application had
    /// nothing to send before.
    fn sending(&mut self, _window: &mut Window, _now: Instant, _app_limited: bool, _random: &mut Random) {}

    /// Is notified of each lost segment, before the window is reduced.
    fn segment_lost(&mut self, _window: &Window, _lost: &Lost) {}

    /// Processes the sample of an acknowledgement that delivered data, after all other notifications of it. Returns
    /// whether the segments now in flight count as limited by the application.
    fn sampled(&mut self, _window: &mut Window, _sample: &RateSample, _random: &mut Random) -> bool {
        false
    }

    /// Is notified that the last reduction was spurious, after `window` was restored.
    fn undone(&mut self, _window: &mut Window) {}

    /// Returns the pacing rate in segments per second; `None`: cwnd / SRTT. Used with [`Rules::paced`].
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Returns the ECN codepoint of data.
    fn codepoint(&self) -> Ecn {
        Ecn::Ect0
    }
}

/// Slow start and the increase for a number of acknowledged segments, shared by all growths.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    counting: AckCounting,
    limit: u32,
    increase: Increase,
    /// Acknowledged segments counted towards the next whole increment.
    counted: f64,
    /// Whether slow start may cover segments received before a timeout.
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

    /// Opens the window by one per segment (RFC 3465 section 2.2) or per acknowledgement in slow start. Returns the
    /// segments left for congestion avoidance.
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
        // RFC 3465 section 2.3: after a timeout, one acknowledgement may cover segments received much earlier.
        let limit = if self.after_timeout && self.limit < u32::MAX { 1 } else { self.limit };
        let offered = segments.min(u64::from(limit)) as f64;
        let taken = offered.min(window.ssthresh - window.cwnd);
        window.cwnd += taken;
        offered - taken
    }

    /// Opens the window by `segments / per_segment`, immediately or once `per_segment` segments are counted.
    pub(crate) fn avoid(&mut self, window: &mut Window, segments: f64, per_segment: f64) {
        match self.increase {
            Increase::Fractional => window.cwnd += segments / per_segment,
            Increase::Whole => {
                self.counted += segments;
                if self.counted >= per_segment {
                    let whole = (self.counted / per_segment).floor();
                    // Counters count whole segments; fractions are not carried over.
                    self.counted = (self.counted - whole * per_segment).floor();
                    window.cwnd += whole;
                }
            }
        }
    }

    /// Returns `window`, rounded down if the window increases in whole segments.
    pub(crate) fn whole_if_counted(&self, window: f64) -> f64 {
        match self.increase {
            Increase::Fractional => window,
            Increase::Whole => window.floor(),
        }
    }

    /// Returns a window on a curve around `plateau`. With whole segments, the distance to the plateau is rounded down
    /// as by Linux's integers, which shortens the approach.
    pub(crate) fn towards(&self, window: f64, plateau: f64) -> f64 {
        match self.increase {
            Increase::Fractional => window,
            Increase::Whole if window < plateau => plateau - (plateau - window).floor(),
            Increase::Whole => plateau + (window - plateau).floor(),
        }
    }

    /// Resets the counter after a reduction.
    pub(crate) fn reset(&mut self, by_timeout: bool) {
        self.counted = 0.0;
        self.after_timeout = by_timeout;
    }
}
