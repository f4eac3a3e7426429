//! One-way delays of received datagrams, and the share that was on time.

use super::arguments::DelayOptions;
use super::metrics::Page;
use headway_net::{Duration, MediaKind, OneWayDelay};
use headway_record::{DelaySummary, FlowSummary, Histogram};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

impl DelayOptions {
    pub(super) const fn is_enabled(self) -> bool {
        self.delays || self.deadline.is_some()
    }

    /// Returns the meter of the delays, if they are measured.
    pub(super) fn meter(self) -> Option<Arc<DelayMeter>> {
        self.is_enabled().then(|| Arc::new(DelayMeter::new(self.deadline)))
    }
}

/// Meter that the reading threads share.
#[derive(Debug)]
pub(super) struct DelayMeter {
    deadline: Option<Duration>,
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    delays: Histogram,
    largest_error: Duration,
    on_time: u64,
    surely_on_time: u64,
    possibly_on_time: u64,
}

/// One-way delays up to now. Names are those of `summary.json`, if it has them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Delays {
    /// Number of datagrams with a known delay.
    pub(super) timed_packets: u64,
    /// Delay from the Timestamp of a packet to its arrival, in s.
    pub(super) one_way_delay_s: Option<DelaySummary>,
    /// Maximum error of a delay, in s.
    pub(super) one_way_delay_error_s: Option<f64>,
    /// Datagrams on time, if there is a deadline.
    #[serde(flatten)]
    pub(super) on_time: Option<OnTime>,
}

/// Share of datagrams that arrived by their deadline, of those with a known delay and those that did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct OnTime {
    pub(super) on_time_ratio: f64,
    /// Lower bound, with each delay longer by its error.
    pub(super) on_time_ratio_least: f64,
    /// Upper bound, with each delay shorter by its error.
    pub(super) on_time_ratio_most: f64,
    /// Share of datagrams that arrived after their deadline.
    pub(super) late_ratio: f64,
}

impl DelayMeter {
    /// `deadline`: time after which a datagram is late.
    pub(super) fn new(deadline: Option<Duration>) -> Self {
        Self { deadline, counted: Mutex::default() }
    }

    pub(super) fn add(&self, delay: OneWayDelay) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.delays.record(delay.estimate.as_nanos());
        counted.largest_error = counted.largest_error.max(delay.error);
        let Some(deadline) = self.deadline else { return };
        counted.on_time += u64::from(delay.estimate <= deadline);
        counted.surely_on_time += u64::from(delay.most() <= deadline);
        counted.possibly_on_time += u64::from(delay.least() <= deadline);
    }

    /// `lost`: number of datagrams that did not arrive.
    pub(super) fn delays(&self, lost: u64) -> Delays {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let timed = counted.delays.total();
        let ratio = |packets: u64| packets as f64 / timed.saturating_add(lost) as f64;
        Delays {
            timed_packets: timed,
            one_way_delay_s: counted.delays.summary(),
            one_way_delay_error_s: (timed > 0).then(|| counted.largest_error.as_secs_f64()),
            on_time: self.deadline.filter(|_| timed > 0).map(|_| OnTime {
                on_time_ratio: ratio(counted.on_time),
                on_time_ratio_least: ratio(counted.surely_on_time),
                on_time_ratio_most: ratio(counted.possibly_on_time),
                late_ratio: ratio(timed - counted.on_time),
            }),
        }
    }
}

impl Delays {
    /// Returns the text that follows other figures.
    pub(super) fn text(&self) -> String {
        let Some((delay, error)) = self.one_way_delay_s.zip(self.one_way_delay_error_s) else { return String::new() };
        let ms = |seconds: f64| format!("{:.1}", 1e3 * seconds);
        let on_time = self.on_time.map(|on_time| {
            let percent = [on_time.on_time_ratio, on_time.on_time_ratio_least, on_time.on_time_ratio_most];
            let [ratio, least, most] = percent.map(|ratio| 100.0 * ratio);
            format!(", {ratio:.1} % on time ({least:.1} to {most:.1})")
        });
        let delay = [delay.mean, error, delay.p95].map(ms);
        format!(", delay {} ± {} ms (p95 {}){}", delay[0], delay[1], delay[2], on_time.unwrap_or_default())
    }

    /// Adds the delays to the flow of a record. All datagrams count as data, because the receiver does not know their
    /// kinds.
    pub(super) fn record(&self, flow: &mut FlowSummary) {
        flow.one_way_delay_s = self.one_way_delay_s;
        flow.one_way_delay_error_s = self.one_way_delay_error_s;
        if let Some(on_time) = self.on_time {
            flow.on_time_ratio = BTreeMap::from([(MediaKind::Data, on_time.on_time_ratio)]);
            flow.late_ratio = BTreeMap::from([(MediaKind::Data, on_time.late_ratio)]);
        }
    }

    pub(super) fn page(&self, page: &mut Page) {
        let mean = self.one_way_delay_s.map(|delay| delay.mean);
        page.gauge("one_way_delay_seconds", "Mean one-way delay of received datagrams.", mean);
        let error = "Maximum error of a one-way delay.";
        page.gauge("one_way_delay_error_seconds", error, self.one_way_delay_error_s);
        let on_time = self.on_time.map(|on_time| on_time.on_time_ratio);
        page.gauge("on_time_ratio", "Share of datagrams that arrived by their deadline.", on_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The deadline is 100 ms and the error 30 ms: 60 ms is on time, 150 ms is late, and 90 and 110 ms depend on the
    /// error. A fifth datagram was lost. Percentiles of the histogram are at most 1/128 too small.
    #[test]
    fn the_error_bounds_the_share_on_time() {
        let meter = DelayMeter::new(Some(Duration::from_millis(100)));
        let error = Duration::from_millis(30);
        for estimate in [60, 90, 110, 150].map(Duration::from_millis) {
            meter.add(OneWayDelay { estimate, error });
        }
        let delays = meter.delays(1);
        let expected =
            OnTime { on_time_ratio: 0.4, on_time_ratio_least: 0.2, on_time_ratio_most: 0.6, late_ratio: 0.4 };
        assert_eq!((delays.timed_packets, delays.on_time), (4, Some(expected)));
        assert_eq!(delays.one_way_delay_error_s, Some(0.03));
        assert!((delays.one_way_delay_s.unwrap().mean - 0.1025).abs() < 1e-9);
        assert_eq!(delays.text(), ", delay 102.5 ± 30.0 ms (p95 149.9), 40.0 % on time (20.0 to 60.0)");
    }

    #[test]
    fn unknown_delays_and_ratios_are_omitted() {
        let meter = DelayMeter::new(None);
        assert_eq!(meter.delays(9).text(), "");
        meter.add(OneWayDelay { estimate: Duration::from_millis(30), error: Duration::from_millis(31) });
        let text = serde_json::to_string(&meter.delays(0)).unwrap();
        assert!(text.contains(r#""one_way_delay_error_s":0.031"#) && !text.contains("on_time"), "{text}");
    }
}
