//! One-way delays of the peer's data (RFC 4340 sections 13.1 and 13.3).
//!
//! This end puts a Timestamp on an acknowledgement. The peer echoes it, and from then on puts one on each packet of data. An Echo on such a packet
//! ends a round trip.

use crate::{DccpOption, OptionWriter, PacketType, Timestamp};
use headway_rate::{ClockTracker, OneWayDelay, Wrapped};
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// From one Timestamp on an acknowledgement to the next: two for each stretch of time from which the tracker keeps the shortest round trip.
const GAP: Duration = Duration::from_millis(250);
/// Timestamps that wait for their Echo: round trips of up to 4 s.
const MOST_WAITING: usize = 16;
/// The unit of a Timestamp.
const UNIT: Duration = Duration::from_micros(10);

/// The delays of one direction.
#[derive(Debug, Default)]
pub(super) struct Delays {
    /// `None`: this end does not measure delays.
    measuring: Option<Box<Measuring>>,
    /// The peer measures delays: data of this end carry Timestamps.
    peer_measures: bool,
}

#[derive(Debug)]
struct Measuring {
    tracker: ClockTracker,
    clock: Wrapped,
    /// Timestamps of this end without an Echo so far, the newest last.
    waiting: VecDeque<(Timestamp, Instant)>,
    /// When the next acknowledgement carries a Timestamp; `None` before data has arrived.
    next: Option<Instant>,
    /// The delay of the newest packet of data.
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

    /// When the newest packet of data was sent, by this end's clock.
    pub(super) fn sent(&self, now: Instant) -> Option<Instant> {
        let delay = self.newest()?.estimate;
        Some(now.checked_sub(delay).unwrap_or(Instant::ZERO))
    }

    pub(super) const fn on_peer_measures(&mut self) {
        self.peer_measures = true;
    }

    /// Whether data carries a Timestamp for the peer.
    pub(super) const fn stamps_data(&self) -> bool {
        self.peer_measures
    }

    /// Whether the next acknowledgement carries a Timestamp.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.measuring.as_ref().and_then(|measuring| measuring.next).is_some_and(|next| now >= next)
    }

    /// Writes a Timestamp on data, if the peer or their CCID needs it, and on an acknowledgement that begins a round trip. Handshakes have their own.
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
            if measuring.waiting.len() == MOST_WAITING {
                measuring.waiting.pop_front();
            }
            measuring.waiting.push_back((timestamp, now));
        }
    }

    /// A packet of data has arrived, with the Timestamp of its sender and the Echo of one of this end, if it has them. `held`: how long the peer
    /// kept that one.
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
    /// The round trip that an Echo ends. A peer that claims to have kept the Timestamp for longer than that has no round trip.
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

    /// An end that has received data.
    fn asking() -> Delays {
        let mut delays = Delays::new(true);
        delays.on_data(Instant::ZERO, None, None);
        delays
    }

    /// A delay-based controller gets the time at which a packet left by the receiver's own clock: the sender's is 5 hours ahead and 200 ppm
    /// faster. Half of the round trip of 60 ms is 30 ms, and 500 ppm of 4 s are the most that a skew may add before it is known.
    #[test]
    fn controllers_get_the_time_of_sending_without_skew() {
        let sender = Clock::new("5h".parse().unwrap(), "200ppm".parse().unwrap(), Drift::default(), Duration::ZERO);
        let ms = |ms: u64| Instant::from_millis(100_000 + ms);
        let mut delays = asking();
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

    /// An Echo of nothing, one that is older than 16 others, and one that claims a longer wait than there was end no round trip.
    #[test]
    fn other_echoes_end_no_round_trip() {
        let at = |ms| Instant::from_secs(1) + Duration::from_millis(ms);
        let mut delays = asking();
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

    /// Section 13.1: a Timestamp wraps after 11.9 hours. The delay is 30 ms on both sides of that.
    #[test]
    fn delays_survive_the_wrap_of_timestamps() {
        let mut delays = asking();
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
