//! Delivery-rate samples (draft-ietf-ccwg-bbr-06 section 4.1, before that draft-cheng-iccrg-delivery-rate-estimation;
//! Linux net/ipv4/tcp_rate.c). Sizes are segments. `C` is the connection, `P` the newest segment that an
//! acknowledgement delivers, by the time of its transmission:
//!
//! ```text
//! send_elapsed = P.sent - P.first_sent            ack_elapsed = C.delivered_at - P.delivered_at
//! rate         = (C.delivered - P.delivered) / max(send_elapsed, ack_elapsed)
//! ```
//! A sample over less than the least round-trip time is invalid: it is a burst of acknowledgements.

use headway_units::{Duration, Instant};

/// State of the connection when a segment was sent (`P` of the draft).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    first_sent: Instant,
    delivered_at: Instant,
    delivered: u64,
    lost: u64,
    /// Segments in flight, including this one.
    in_flight: u32,
    app_limited: bool,
    /// Whether the segment was sent before, so that its acknowledgement is ambiguous.
    pub(crate) resent: bool,
}

/// A segment that was declared lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    /// Segments in flight when it was sent, including itself.
    pub(crate) tx_in_flight: u64,
    /// Segments declared lost since it was sent, including itself.
    pub(crate) lost: u64,
    /// Whether the application limited the flight when it was sent.
    pub(crate) app_limited: bool,
    /// Segments delivered since the start (`C.delivered`).
    pub(crate) total_delivered: u64,
}

/// What an acknowledgement says about the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateSample {
    pub(crate) now: Instant,
    /// Delivery rate in segments per second; `None` without a valid interval.
    pub(crate) rate: Option<f64>,
    /// Segments delivered since the newest segment was sent.
    pub(crate) delivered: u64,
    /// `C.delivered` when the newest segment was sent.
    pub(crate) prior_delivered: u64,
    /// Round-trip time of the newest segment, if it was sent once.
    pub(crate) rtt: Option<Duration>,
    /// Segments in flight when the newest segment was sent, and segments declared lost since.
    pub(crate) tx_in_flight: u64,
    pub(crate) lost: u64,
    /// Whether the application limited the flight when the newest segment was sent.
    pub(crate) app_limited: bool,
    /// Segments that this acknowledgement delivers, and that it declares lost.
    pub(crate) newly_delivered: u64,
    pub(crate) newly_lost: u64,
    /// Separate ranges of segments that it declares lost.
    pub(crate) lost_ranges: u64,
    /// Segments delivered since the start (`C.delivered`).
    pub(crate) total_delivered: u64,
    /// Segments in flight before and after it.
    pub(crate) prior_in_flight: u64,
    pub(crate) in_flight: u64,
    /// Whether the window, not the application, limited the flight.
    pub(crate) window_limited: bool,
    /// Whether the sender recovers from losses: in fast recovery or after a timeout.
    pub(crate) recovering: bool,
    /// Earliest departure of the next segment by pacing.
    pub(crate) departs: Instant,
}

/// Counts of a connection (`C` of the draft).
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    lost: u64,
    /// Count of delivered segments up to which samples are limited by the application; 0 if none is.
    app_limited: u64,
    newest: Option<Sent>,
}

impl Delivery {
    pub(crate) const fn new() -> Self {
        Self {
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            lost: 0,
            app_limited: 0,
            newest: None,
        }
    }

    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// Returns the state to keep with a segment that is sent now, with `in_flight` other segments in flight.
    pub(crate) fn sent(&mut self, now: Instant, in_flight: u64, resent: bool) -> Sent {
        if in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Sent {
            at: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            in_flight: u32::try_from(in_flight + 1).unwrap_or(u32::MAX),
            app_limited: self.is_app_limited(),
            resent,
        }
    }

    /// Marks the samples of all segments in flight, and of the next one, as limited by the application.
    pub(crate) fn limit_by_application(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Counts a segment that the current acknowledgement delivers.
    pub(crate) fn delivered(&mut self, now: Instant, sent: &Sent) {
        self.delivered += 1;
        self.delivered_at = now;
        // Segments are passed in the order of their numbers, which breaks ties.
        if self.newest.is_none_or(|newest| sent.at >= newest.at) {
            self.newest = Some(*sent);
        }
    }

    /// Counts a lost segment.
    pub(crate) fn lost(&mut self, sent: &Sent) -> Lost {
        self.lost += 1;
        Lost {
            tx_in_flight: u64::from(sent.in_flight),
            lost: self.lost - sent.lost,
            app_limited: sent.app_limited,
            total_delivered: self.delivered,
        }
    }

    /// Ends an acknowledgement. Returns its sample, where the caller fills in what is not known here; `None` if it
    /// delivered no segment.
    pub(crate) fn sample(&mut self, now: Instant, min_rtt: Duration) -> Option<RateSample> {
        let newest = self.newest.take()?;
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let interval = newest.at.since(newest.first_sent).max(self.delivered_at.since(newest.delivered_at));
        self.first_sent = newest.at;
        let delivered = self.delivered - newest.delivered;
        let valid = !interval.is_zero() && interval >= min_rtt;
        Some(RateSample {
            now,
            rate: valid.then(|| delivered as f64 / interval.as_secs_f64()),
            delivered,
            prior_delivered: newest.delivered,
            rtt: (!newest.resent).then(|| now.since(newest.at)),
            tx_in_flight: u64::from(newest.in_flight),
            lost: self.lost - newest.lost,
            app_limited: newest.app_limited,
            newly_delivered: 0,
            newly_lost: 0,
            lost_ranges: 0,
            total_delivered: self.delivered,
            prior_in_flight: 0,
            in_flight: 0,
            window_limited: false,
            recovering: false,
            departs: now,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rate in segments per ms and the count of each acknowledgement, for segments with these times of
    /// transmission and of acknowledgement in ms.
    fn samples(segments: &[(u64, u64)], min_rtt_ms: u64) -> Vec<(Option<f64>, u64)> {
        let mut events: Vec<_> = segments.iter().enumerate().map(|(n, &(sent, _))| (sent, 1, n)).collect();
        events.extend(segments.iter().enumerate().map(|(n, &(_, acked))| (acked, 0, n)));
        events.sort_unstable();
        let (mut delivery, mut kept, mut in_flight, mut out) = (Delivery::new(), vec![None; segments.len()], 0, vec![]);
        for (ms, is_send, n) in events {
            let now = Instant::from_millis(ms);
            if is_send == 1 {
                kept[n] = Some(delivery.sent(now, in_flight, false));
                in_flight += 1;
            } else {
                in_flight -= 1;
                delivery.delivered(now, &kept[n].unwrap());
                let sample = delivery.sample(now, Duration::from_millis(min_rtt_ms)).unwrap();
                out.push((sample.rate.map(|rate| rate / 1e3), sample.delivered));
            }
        }
        out
    }

    /// Section 4.1 of the draft, computed by hand: ten segments 1 ms apart, delivered every 2 ms after 12 ms, then a
    /// pause of the application, and two more. Each rate is a count over the time since the first segment was sent.
    #[test]
    fn samples_of_a_pause_do_not_include_it() {
        let mut segments: Vec<_> = (0..10).map(|n| (n, 12 + 2 * n)).collect();
        segments.extend([(90, 102), (91, 104)]);
        let expected: Vec<_> = (0..10).map(|n| (n + 1, 12 + 2 * n)).chain([(1, 12), (2, 14)]).collect();
        let rates = samples(&segments, 12);
        for ((rate, delivered), (count, ms)) in rates.into_iter().zip(expected) {
            assert_eq!(delivered, count);
            let exact = count as f64 / ms as f64;
            assert!((rate.unwrap() - exact).abs() < 1e-6, "{rate:?} {exact}");
        }
    }

    /// Section 4.1.2.3: "if (RS.interval < MinRTT(tp)) RS.interval = -1".
    #[test]
    fn a_sample_shorter_than_the_least_round_trip_is_invalid() {
        assert_eq!(samples(&[(0, 10)], 11), [(None, 1)]);
        assert_eq!(samples(&[(0, 10)], 10), [(Some(0.1), 1)]);
    }

    /// Section 4.1.2.4: samples are limited until all segments in flight at the pause are delivered.
    #[test]
    fn the_limit_by_the_application_ends_with_the_flight() {
        let mut delivery = Delivery::new();
        let first = delivery.sent(Instant::ZERO, 0, false);
        delivery.limit_by_application(1);
        let second = delivery.sent(Instant::from_millis(1), 1, false);
        assert!(!first.app_limited && second.app_limited);
        let mut deliver = |ms, sent: &Sent| {
            delivery.delivered(Instant::from_millis(ms), sent);
            let sample = delivery.sample(Instant::from_millis(ms), Duration::ZERO).unwrap();
            (sample.app_limited, delivery.is_app_limited())
        };
        assert_eq!(deliver(10, &first), (false, true));
        assert_eq!(deliver(11, &second), (true, false));
    }

    /// Section 4.5 of the draft: `RS.lost` counts from the transmission of the newest segment.
    #[test]
    fn losses_count_from_the_transmission() {
        let mut delivery = Delivery::new();
        let sent: Vec<_> = (0..4).map(|n| delivery.sent(Instant::from_millis(n), n, false)).collect();
        let lost = delivery.lost(&sent[1]);
        assert_eq!((lost.tx_in_flight, lost.lost), (2, 1));
        let later = delivery.sent(Instant::from_millis(9), 3, false);
        assert_eq!(delivery.lost(&sent[2]).lost, 2);
        delivery.delivered(Instant::from_millis(20), &later);
        assert_eq!(delivery.sample(Instant::from_millis(20), Duration::ZERO).unwrap().lost, 1);
    }
}
