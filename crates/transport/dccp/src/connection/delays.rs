//! One-way delays of the peer's data (RFC 4340 sections 13.1 and 13.3).
//!
//! This endpoint puts a Timestamp on an acknowledgement. The peer echoes it, and from then on puts
//! a Timestamp on each data packet. An Echo on such a packet completes a round trip.

use crate::{DccpOption, OptionWriter, PacketType, Timestamp};
use headway_rate::{ClockTracker, OneWayDelay, Wrapped};
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// Interval between Timestamps on acknowledgements: two in each window of the tracker's minimum filter.
const GAP: Duration = Duration::from_millis(250);
/// Maximum number of Timestamps without an Echo: round trips of up to 4 s.
const MAX_WAITING: usize = 16;
const UNIT: Duration = Duration::from_micros(10);

#[derive(Debug, Default)]
pub(super) struct Delays {
    /// Measurement state; `None` if this endpoint does not measure delays.
    measuring: Option<Box<Measuring>>,
    /// The peer measures delays, so that our data packets carry Timestamps.
    peer_measures: bool,
}

#[derive(Debug)]
struct Measuring {
    tracker: ClockTracker,
    clock: Wrapped,
    /// Our Timestamps without an Echo so far, the newest last.
    waiting: VecDeque<(Timestamp, Instant)>,
    /// Time from which an acknowledgement carries a Timestamp; `None` before data has arrived.
    next: Option<Instant>,
    newest: Option<OneWayDelay>,
}

impl Delays {
    pub(super) fn new(measures: bool) -> Self {
        let measuring = || {
            let (clock, waiting, next, newest) = Default::default();
            Box::new(Measuring { tracker: ClockTracker::new(UNIT), clock, waiting, next, newest })
        };
        Self { measuring: measures.then(measuring), peer_measures: false }
    }

    pub(super) const fn measures(&self) -> bool {
        self.measuring.is_some()
    }

    /// Returns when the newest data packet was sent, by the local clock.
    pub(super) fn sent(&self, now: Instant) -> Option<Instant> {
        let delay = self.newest()?.estimate;
        Some(now.checked_sub(delay).unwrap_or(Instant::ZERO))
    }

    pub(super) const fn on_peer_measures(&mut self) {
        self.peer_measures = true;
    }

    pub(super) const fn stamps_data(&self) -> bool {
        self.peer_measures
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.measuring.as_ref().and_then(|measuring| measuring.next).is_some_and(|next| now >= next)
    }

    /// Writes a Timestamp on data if the peer or the CCID needs it, and on an acknowledgement that
    /// starts a round trip. Handshake packets write theirs elsewhere.
    pub(super) fn write(&mut self, now: Instant, kind: PacketType, by_ccid: bool, writer: &mut OptionWriter<'_>) {
        let begins_trip = matches!(kind, PacketType::Ack | PacketType::DataAck) && self.is_due(now);
        let is_wanted = self.peer_measures && matches!(kind, PacketType::Data | PacketType::DataAck);
        if !begins_trip && !is_wanted && !by_ccid {
            return;
        }
        let timestamp = Timestamp::at(now);
        if writer.push(DccpOption::Timestamp(timestamp)).is_ok()
            && let Some(measuring) = self.measuring.as_mut().filter(|_| begins_trip)
        {
            measuring.next = Some(now + GAP);
            if measuring.waiting.len() == MAX_WAITING {
                measuring.waiting.pop_front();
            }
            measuring.waiting.push_back((timestamp, now));
        }
    }

    /// Records a data packet with its sender's Timestamp and the Echo of one of ours, if present.
    /// `held`: how long the peer held our Timestamp.
    pub(super) fn on_data(&mut self, now: Instant, sent: Option<Timestamp>, echo: Option<(Timestamp, Duration)>) {
        let Some(measuring) = &mut self.measuring else { return };
        measuring.next.get_or_insert(now);
        measuring.newest = sent.and_then(|sent| {
            let trip = echo.and_then(|(echo, held)| measuring.trip(now, echo, held));
            measuring.tracker.on_packet(now, sent.instant(&mut measuring.clock), trip)
        });
    }

    pub(super) fn newest(&self) -> Option<OneWayDelay> {
        self.measuring.as_ref()?.newest
    }

    pub(super) fn skew(&self) -> Option<f64> {
        self.measuring.as_ref()?.tracker.skew()
    }
}

impl Measuring {
    /// Returns the round-trip time that an Echo completes; `None` if the peer claims to have held
    /// the Timestamp for longer.
    fn trip(&mut self, now: Instant, echo: Timestamp, held: Duration) -> Option<Duration> {
        let at = self.waiting.iter().position(|(timestamp, _)| *timestamp == echo)?;
        let (_, sent) = self.waiting.drain(..=at).next_back()?;
        let whole = now.since(sent);
        (whole >= held).then(|| whole - held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Clock, Drift};

    fn receiving() -> Delays {
        let mut delays = Delays::new(true);
        delays.on_data(Instant::ZERO, None, None);
        delays
    }

    /// A delay-based controller gets the send time of a packet by the receiver's clock. The
    /// sender's clock is 5 hours ahead and 200 ppm fast. Half of the round trip of 60 ms is 30 ms;
    /// before the skew is known it adds at most 500 ppm of 4 s.
    #[test]
    fn controllers_get_the_send_time_without_skew() {
        let sender = Clock::new("5h".parse().unwrap(), "200ppm".parse().unwrap(), Drift::default(), Duration::ZERO);
        let ms = |ms: u64| Instant::from_millis(100_000 + ms);
        let mut delays = receiving();
        let (mut buffer, half) = ([0; 64], Duration::from_millis(30));
        for number in 0..1000 {
            let sent = ms(20 * number);
            let arrived = sent + half;
            let asked = sent.checked_sub(half).unwrap();
            delays.write(asked, PacketType::Ack, false, &mut OptionWriter::new(&mut buffer));
            let echo = Some((Timestamp::at(asked), Duration::ZERO));
            delays.on_data(arrived, Some(Timestamp::at(sender.read(sent))), echo);
            let found = delays.sent(arrived).unwrap();
            let off = found.since(sent).max(sent.since(found));
            assert!(off < Duration::from_micros(if number < 250 { 2000 } else { 100 }), "{number}: {off:?}");
        }
        assert!((delays.skew().unwrap() + 200e-6).abs() < 1e-6);
    }

    /// An Echo without a Timestamp, one older than 16 others and one that claims a longer hold time are ignored.
    #[test]
    fn other_echoes_end_no_round_trip() {
        let at = |ms| Instant::from_secs(1) + Duration::from_millis(ms);
        let mut delays = receiving();
        let mut buffer = [0; 64];
        for number in 0..17 {
            delays.write(at(250 * number), PacketType::Ack, false, &mut OptionWriter::new(&mut buffer));
        }
        let now = at(5000);
        for (echo, held) in [(at(1), 0), (at(0), 0), (at(250), 4751)] {
            let echo = Some((Timestamp::at(echo), Duration::from_millis(held)));
            delays.on_data(now, Some(Timestamp(7)), echo);
            assert_eq!((delays.newest(), delays.sent(now)), (None, None));
        }
        delays.on_data(now, Some(Timestamp(7)), Some((Timestamp::at(at(500)), Duration::from_millis(4400))));
        assert_eq!(delays.newest().unwrap().estimate, Duration::from_millis(50));
    }

    /// Section 13.1: a Timestamp wraps after 11.9 hours. The delay is 30 ms before and after the wrap.
    #[test]
    fn delays_survive_the_wrap_of_timestamps() {
        let mut delays = receiving();
        let mut buffer = [0; 64];
        let start = Instant::from_nanos((10_000 << 32) - 1_000_000_000);
        for number in 0..200 {
            let sent = start + Duration::from_millis(20 * number);
            let asked = sent.checked_sub(Duration::from_millis(30)).unwrap();
            delays.write(asked, PacketType::Ack, false, &mut OptionWriter::new(&mut buffer));
            let echo = Some((Timestamp::at(asked), Duration::ZERO));
            delays.on_data(sent + Duration::from_millis(30), Some(Timestamp::at(sent)), echo);
            let found = delays.newest().unwrap();
            assert!(
                found.estimate.as_secs_f64() < 0.0301 && found.least() < Duration::from_millis(1),
                "{number}: {found:?}"
            );
            assert!(found.estimate >= Duration::from_millis(30), "{number}: {found:?}");
        }
    }
}
