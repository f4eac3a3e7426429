//! TCP Westwood (Mascolo, Casetti, Gerla, Sanadidi and Wang 2001) and Westwood+ (Grieco and Mascolo 2004; Mascolo,
//! Grieco, Ferorelli, Camarda and Piscitelli 2004; Linux net/ipv4/tcp_westwood.c): the window grows as Reno's, and a
//! loss sets it to the estimated bandwidth-delay product.
//!
//! ```text
//! loss:      ssthresh = max(2, BWE RTTmin), cwnd = min(cwnd, ssthresh)
//! its end:   the same again, and cwnd = ssthresh      (Westwood+)
//! timeout:   ssthresh likewise, cwnd = 1, and the next round-trip sample restarts RTTmin
//! ```
//! BWE, in segments per second, is estimated by `bandwidth.rs`. A duplicate acknowledgement counts as one segment; the
//! next cumulative one does not count these again. `bandwidth_filter = "linux"` uses `westwood_linux.rs`.

use crate::growth::{Acked, Growth, Window};
use crate::keys::options;
use crate::kinds::aimd::Aimd;
use crate::kinds::bandwidth::Bandwidth;
use crate::kinds::westwood_linux::LinuxWestwood;
use crate::options::{Pipe, Rules};
use crate::segment::Segment;
use crate::state::Cut;
use headway_units::{Dialect, Duration, Instant, OptionError};

options! {
    /// Options of `tcp-westwood`.
    WestwoodOptions {
        /// Filter with which the sender estimates the bandwidth.
        Usual bandwidth_filter: BandwidthFilter = BandwidthFilter::Plus, Ns2: BandwidthFilter::Linux;
    }
}

/// Filter with which Westwood estimates the bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BandwidthFilter {
    /// Westwood+: one sample per round trip, smoothed twice (Linux).
    Plus,
    /// Westwood of 2001: one sample per acknowledgement, through a two-pole filter.
    Tustin,
    /// Westwood+ in the integers of Linux 2.6, with Reno's ssthresh; needs the events of `pipe = "fack"` (ns-2
    /// Agent/TCP/Linux).
    Linux,
}

macro_rules! either {
    ($value:expr, $each:ident => $call:expr) => {
        match $value {
            Westwood::Published($each) => $call,
            Westwood::Linux($each) => $call,
        }
    };
}

#[derive(Clone, Debug)]
pub(crate) enum Westwood {
    Published(Published),
    Linux(LinuxWestwood),
}

impl Growth for Westwood {
    type Options = WestwoodOptions;

    fn adjust(rules: &mut Rules, dialect: Dialect) {
        if dialect == Dialect::Ns2 {
            rules.adjust_to_linux_agent();
        }
    }

    fn check(rules: &Rules, options: &Self::Options) -> Result<(), OptionError> {
        if options.bandwidth_filter == BandwidthFilter::Linux && rules.sack.pipe != Pipe::Fack {
            let message = "linux requires expert.pipe = \"fack\"";
            return Err(OptionError::new("bandwidth_filter", message));
        }
        Ok(())
    }

    fn new(rules: &Rules, options: &Self::Options) -> Self {
        match options.bandwidth_filter {
            BandwidthFilter::Linux => Self::Linux(LinuxWestwood::new(rules, &())),
            BandwidthFilter::Plus | BandwidthFilter::Tustin => Self::Published(Published::new(rules, options)),
        }
    }

    fn observe(&mut self, now: Instant, una: u64, max: u64, ack: &Segment) {
        either!(self, each => each.observe(now, una, max, ack));
    }
    fn acknowledged(&mut self, acked: Acked, fine: bool) {
        either!(self, each => each.acknowledged(acked, fine));
    }
    fn grow(&mut self, window: &mut Window, acked: Acked) {
        either!(self, each => each.grow(window, acked));
    }
    fn hold(&mut self, acked: Acked) {
        either!(self, each => each.hold(acked));
    }
    fn decrease(&mut self, cut: Cut, cwnd: f64, base: f64) -> f64 {
        either!(self, each => each.decrease(cut, cwnd, base))
    }
    fn settle(&self, cwnd: f64, reduced: f64) -> f64 {
        either!(self, each => each.settle(cwnd, reduced))
    }
    fn recovered(&mut self, window: &mut Window) {
        either!(self, each => each.recovered(window));
    }
    fn timed_out(&mut self) {
        either!(self, each => each.timed_out());
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Published {
    reno: Aimd,
    bandwidth: Bandwidth,
    plus: bool,
    /// Segments counted by duplicates and not yet by a cumulative acknowledgement.
    accounted: u64,
    rtt: Option<Duration>,
    min_rtt: Duration,
    restart: bool,
}

impl Growth for Published {
    type Options = WestwoodOptions;

    fn new(rules: &Rules, options: &Self::Options) -> Self {
        Self {
            reno: Aimd::new(rules, &()),
            bandwidth: Bandwidth::new(options.bandwidth_filter),
            plus: options.bandwidth_filter == BandwidthFilter::Plus,
            accounted: 0,
            rtt: None,
            min_rtt: Duration::ZERO,
            restart: true,
        }
    }

    fn observe(&mut self, now: Instant, una: u64, _max: u64, ack: &Segment) {
        if una == 0 {
            self.bandwidth.start(now);
        } else if ack.seq >= una {
            let segments = self.count(ack.seq - una);
            self.bandwidth.acknowledged(now, segments, self.rtt);
        }
    }

    fn grow(&mut self, window: &mut Window, acked: Acked) {
        self.measure(acked);
        self.reno.grow(window, acked);
    }

    fn hold(&mut self, acked: Acked) {
        self.measure(acked);
    }

    fn decrease(&mut self, cut: Cut, cwnd: f64, base: f64) -> f64 {
        self.reno.decrease(cut, cwnd, base);
        self.bandwidth_delay_product()
    }

    fn settle(&self, cwnd: f64, reduced: f64) -> f64 {
        cwnd.min(reduced)
    }

    fn recovered(&mut self, window: &mut Window) {
        if self.plus {
            window.ssthresh = self.bandwidth_delay_product().floor();
            window.cwnd = window.ssthresh;
        }
    }

    fn timed_out(&mut self) {
        self.restart = true;
        self.reno.timed_out();
    }
}

impl Published {
    /// Returns the bandwidth-delay product with the least round trip, in segments.
    fn bandwidth_delay_product(&self) -> f64 {
        (self.bandwidth.rate() * self.min_rtt.as_secs_f64()).max(2.0)
    }

    fn measure(&mut self, acked: Acked) {
        if let Some(rtt) = acked.rtt {
            self.rtt = Some(rtt);
            self.min_rtt = if self.restart { rtt } else { self.min_rtt.min(rtt) };
            self.restart = false;
        }
    }

    /// Returns how many segments arrived, for an acknowledgement that advances by `advance`.
    fn count(&mut self, advance: u64) -> u64 {
        match advance {
            0 => {
                self.accounted += 1;
                1
            }
            1 => 1,
            _ if self.accounted >= advance => {
                self.accounted -= advance;
                1
            }
            _ => advance - std::mem::take(&mut self.accounted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpOptions;
    use headway_units::{Dialect, Registry};

    fn westwood(filter: BandwidthFilter) -> Published {
        let mut options = TcpOptions::preset("tcp-westwood", Dialect::Rfc).unwrap();
        options.own_mut().westwood.bandwidth_filter = filter;
        Published::new(&options.rules, &options.own.westwood)
    }

    /// AckedCount of the 2001 paper: three duplicates count immediately; an acknowledgement of four segments then
    /// counts one. Five duplicates before an acknowledgement of three leave two to subtract from the next.
    #[test]
    fn duplicates_are_counted_once() {
        let mut westwood = westwood(BandwidthFilter::Plus);
        let counted: Vec<_> = [0, 0, 0, 4, 2, 1].map(|advance| westwood.count(advance)).into();
        assert_eq!(counted, [1, 1, 1, 1, 2, 1]);
        let counted: Vec<_> = [0, 0, 0, 0, 0, 3, 4, 4].map(|advance| westwood.count(advance)).into();
        assert_eq!(counted, [1, 1, 1, 1, 1, 1, 2, 4]);
    }

    /// 100 segments per second with RTTmin 200 ms are 20 segments, for any larger window. A smaller window is
    /// unchanged.
    #[test]
    fn a_loss_sets_the_bandwidth_delay_product() {
        let options = TcpOptions::preset("tcp-westwood", Dialect::Rfc).unwrap();
        let mut sender = crate::Sender::new(&options, headway_units::Random::new(1, "test"));
        let mut template = crate::Sink::new(&options);
        sender.write(Instant::ZERO, 10);
        let syn = sender.poll_transmit(Instant::ZERO).unwrap();
        template.handle(Instant::ZERO, &syn);
        let ack = template.poll_transmit(Instant::ZERO).unwrap();

        for filter in [BandwidthFilter::Plus, BandwidthFilter::Tustin] {
            let mut westwood = westwood(filter);
            westwood.observe(Instant::ZERO, 0, 1, &ack);
            assert_eq!(westwood.decrease(Cut::DupAcks, 50.0, 50.0), 2.0, "nothing is known");
            let mut window = Window { cwnd: 60.0, ssthresh: 60.0 };
            for una in 1..2000 {
                let now = Instant::from_millis(10 * una);
                westwood.observe(now, una, una + 60, &Segment { seq: una + 1, ..ack });
                let rtt = Duration::from_millis(if una == 700 { 200 } else { 600 });
                let acked = Acked { now, segments: 1, una: una + 1, max: una + 60, rtt: Some(rtt), srtt: rtt };
                westwood.hold(acked);
            }
            let left = westwood.decrease(Cut::DupAcks, 60.0, 60.0);
            assert!((left - 20.0).abs() < 0.2, "{filter:?}: {left}");
            assert_eq!((westwood.settle(60.0, left), westwood.settle(7.0, left)), (left, 7.0));
            westwood.recovered(&mut window);
            let after = if filter == BandwidthFilter::Plus { left.floor() } else { 60.0 };
            assert_eq!((window.cwnd, window.ssthresh), (after, after));
            // RTTmin restarts with the next sample: 600 ms.
            westwood.timed_out();
            assert_eq!(westwood.decrease(Cut::Timeout, 60.0, 60.0), left);
            let rtt = Duration::from_millis(600);
            westwood.hold(Acked {
                now: Instant::from_secs(20),
                segments: 1,
                una: 2000,
                max: 2001,
                rtt: Some(rtt),
                srtt: rtt,
            });
            assert!((westwood.decrease(Cut::Timeout, 60.0, 60.0) - 3.0 * left).abs() < 1e-9);
        }
    }
}
