//! BBR: the sending rate and the window follow a model of the path, its bandwidth and its round-trip time.

mod v1;
mod v3;

use crate::delivery::{Lost, RateSample};
use crate::growth::{Acked, Growth, Window};
use crate::keys::options;
use crate::options::{Pipe, Restart, Rules};
use crate::state::Cut;
use headway_units::{Dialect, Duration, Instant, OptionError, Random};
use v1::V1;
use v3::V3;

/// Version of the BBR algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub enum BbrVersion {
    /// BBR version 1 of Linux 6.1 (net/ipv4/tcp_bbr.c).
    #[serde(rename = "v1-linux")]
    V1Linux,
    /// BBR version 3 of draft-ietf-ccwg-bbr-06.
    #[serde(rename = "v3")]
    V3,
}

options! {
    /// Options of `tcp-bbr`.
    BbrOptions {
        /// Version of the BBR algorithm.
        Usual version: BbrVersion = BbrVersion::V3, Linux: BbrVersion::V1Linux;
    }
}

#[derive(Clone, Debug)]
enum Model {
    V1(Box<V1>),
    V3(Box<V3>),
}

#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    model: Model,
}

impl Growth for Bbr {
    type Options = BbrOptions;

    fn adjust(rules: &mut Rules, dialect: Dialect) {
        rules.paced = true;
        rules.sack.proportional_rate_reduction = false;
        // The model keeps its rate through silences, and each acknowledgement gives a round trip.
        rules.restart_after_idle = Restart::Keep;
        rules.timestamps = true;
        if dialect == Dialect::Linux {
            // `sk_pacing_shift` 10.
            rules.segmentation_offload = Some(Duration::from_millis(1));
        }
    }

    fn check(rules: &Rules, _options: &Self::Options) -> Result<(), OptionError> {
        if rules.ecn {
            return Err(OptionError::new(
                "ecn",
                "true has no effect on tcp-bbr, which defines no response to marks; expected false",
            ));
        }
        if rules.sack.pipe != Pipe::RackTlp {
            return Err(OptionError::new("pipe", "tcp-bbr needs the samples of one recovery; expected \"rack-tlp\""));
        }
        if rules.sack.proportional_rate_reduction {
            let message = "true would replace the window of tcp-bbr in a recovery; expected false";
            return Err(OptionError::new("proportional_rate_reduction", message));
        }
        if !rules.paced {
            return Err(OptionError::new("paced", "tcp-bbr is always paced; expected true"));
        }
        Ok(())
    }

    fn new(rules: &Rules, options: &Self::Options) -> Self {
        let model = match options.version {
            BbrVersion::V1Linux => Model::V1(Box::new(V1::new(rules.segment.count()))),
            BbrVersion::V3 => {
                let offload = rules.segmentation_offload.is_some();
                Model::V3(Box::new(V3::new(rules.payload().count(), rules.initial_window_segments(), offload)))
            }
        };
        Self { model }
    }

    /// The window is set by the samples.
    fn grow(&mut self, _window: &mut Window, _acked: Acked) {}

    fn decrease(&mut self, _cut: Cut, cwnd: f64, base: f64) -> f64 {
        match &mut self.model {
            Model::V1(bbr) => bbr.save_window(cwnd),
            Model::V3(bbr) => bbr.recovery_begins(cwnd),
        }
        base
    }

    fn settle(&self, cwnd: f64, _reduced: f64) -> f64 {
        cwnd
    }

    fn timed_out(&mut self) {
        if let Model::V1(bbr) = &mut self.model {
            bbr.timed_out();
        }
    }

    fn opened(&mut self, window: &mut Window, now: Instant, rtt: Option<Duration>) {
        match &mut self.model {
            Model::V1(bbr) => bbr.opened(window, now, rtt),
            Model::V3(bbr) => bbr.opened(window, now, rtt),
        }
    }

    fn sending(&mut self, window: &mut Window, now: Instant, app_limited: bool, random: &mut Random) {
        match &mut self.model {
            Model::V1(bbr) => bbr.sending(window, now, app_limited, random),
            Model::V3(bbr) => bbr.sending(window, now, app_limited, random),
        }
    }

    fn segment_lost(&mut self, window: &Window, lost: &Lost) {
        if let Model::V3(bbr) = &mut self.model {
            bbr.segment_lost(lost, window.cwnd);
        }
    }

    fn sampled(&mut self, window: &mut Window, sample: &RateSample, random: &mut Random) -> bool {
        let (limits, full) = match &mut self.model {
            Model::V1(bbr) => (bbr.sampled(window, sample, random), bbr.is_full()),
            Model::V3(bbr) => (bbr.sampled(window, sample, random), bbr.full_bw_reached),
        };
        if full {
            // Observers see the end of Startup as the end of slow start.
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
        limits
    }

    fn undone(&mut self, window: &mut Window) {
        match &mut self.model {
            Model::V1(bbr) => bbr.undone(),
            Model::V3(bbr) => bbr.undone(window),
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        let rate = match &self.model {
            Model::V1(bbr) => bbr.pacing_rate(),
            Model::V3(bbr) => bbr.pacing_rate,
        };
        (rate > 0.0).then_some(rate)
    }
}
