//! Sending half of a carrier.

use super::ledger::SentPackets;
use crate::contract::{CongestionEvents, Next, Permit, Scale, SenderHalf, Sending, Stamp, Status};
use crate::kinds::Sender;
use crate::report::{Feedback, Report};
use headway_units::{Bytes, Duration, Instant, Rate};

/// Inverse gain of the smoothed round trip (RFC 6298 section 2).
const SMOOTHING: u64 = 8;
/// Longest valid sample. A longer one is due to a delayed packet or a suspended machine, not the path.
const MAX_RTT_SAMPLE: Duration = Duration::from_secs(64);

/// Driver of the sender half of a controller: numbers and records packets, and measures round trips.
///
/// Packets are numbered from 0, with or without a running controller, so packets of a handshake count.
#[derive(Debug)]
pub struct Outbound<S = Sender> {
    controller: Option<S>,
    ledger: SentPackets,
    pacing: Pacing,
    smoothed: Option<Duration>,
    /// Greatest number that was measured plus 1.
    measured: u64,
    pending: PendingSignals,
}

/// Data packet of zero bytes, for queries while the queue is empty.
const EMPTY: Next = Next::new(Bytes::new(0));

/// Time at which the controller permits the next packet.
#[derive(Clone, Copy, Debug)]
struct Pacing {
    /// [`Instant::FAR_FUTURE`] if the controller waits for another event.
    at: Instant,
    /// Whether no packet waits. The time is then not a deadline but the start of an application limit.
    empty: bool,
}

impl Pacing {
    const NONE: Self = Self { at: Instant::FAR_FUTURE, empty: true };
}

/// Signals received on any packet, kept for the next report.
#[derive(Clone, Copy, Debug, Default)]
struct PendingSignals {
    lost_acks: u64,
    slow_receiver: bool,
    receive_buffer_drops: u64,
}

/// Acknowledged packet number, and the holding time or echo from which the round-trip time is measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acknowledged {
    /// Acknowledged packet number.
    pub number: u64,
    /// Time from the arrival of the packet at the receiver to its acknowledgement, as the receiver reports it.
    pub held: Option<Duration>,
    /// Whether the receiver sent the acknowledgement immediately, and therefore does not report how long it was held.
    pub at_once: bool,
    /// Age of the local timestamp that the acknowledgement echoes, and the time from its arrival at the receiver to the
    /// echo.
    pub echoed: Option<(Duration, Duration)>,
    /// Whether the holding time that the receiver reports is untrusted. It then counts as at most half of the time
    /// since the packet was sent.
    pub distrusted: bool,
}

/// Measured round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Round-trip time measured by this acknowledgement.
    pub sample: Duration,
    /// Smoothed round-trip time after this sample, with a gain of 1/8.
    pub smoothed: Duration,
    /// Whether the sample includes a silence of the path, a time without acknowledgements. The smoothed time then
    /// ignores it, unless it is the first sample.
    pub silent: bool,
}

impl<S: SenderHalf> Outbound<S> {
    /// Creates a driver that records the last `window` sent packets. It has no controller until [`start`](Self::start).
    #[must_use]
    pub fn new(window: u64) -> Self {
        Self {
            controller: None,
            ledger: SentPackets::new(window),
            pacing: Pacing::NONE,
            smoothed: None,
            measured: 0,
            pending: PendingSignals::default(),
        }
    }

    /// Starts the sender half of a controller, which controls packets from the next one on.
    pub fn start(&mut self, controller: S) {
        self.controller = Some(controller);
        self.pacing = Pacing::NONE;
    }
    /// Stops the controller; no more data is permitted.
    pub fn stop(&mut self) {
        self.controller = None;
    }
    /// Returns the sender half of the running controller; `None` before [`start`](Self::start) and after
    /// [`stop`](Self::stop).
    #[must_use]
    pub const fn controller(&self) -> Option<&S> {
        self.controller.as_ref()
    }
    /// Returns the sender half of the running controller; `None` before [`start`](Self::start) and after
    /// [`stop`](Self::stop).
    pub const fn controller_mut(&mut self) -> Option<&mut S> {
        self.controller.as_mut()
    }
    /// Returns the record of sent packets.
    #[must_use]
    pub const fn ledger(&self) -> &SentPackets {
        &self.ledger
    }
    /// Returns the record of sent packets.
    pub const fn ledger_mut(&mut self) -> &mut SentPackets {
        &mut self.ledger
    }
    /// Returns the number that the next packet sent will get.
    #[must_use]
    pub const fn upcoming(&self) -> u64 {
        self.ledger.upcoming()
    }

    /// Returns whether the packet `next` may be sent now. `next` is `None` if no packet waits; the result is then
    /// false. If a waiting packet may not be sent, ask again after each report and at the time of
    /// [`Self::poll_timeout`].
    pub fn may_send(&mut self, now: Instant, next: Option<&Next>) -> bool {
        self.catch_up(now + Duration::from_nanos(1));
        let Some(controller) = &mut self.controller else { return false };
        self.pacing = Pacing::NONE;
        match controller.poll_send(now, next.unwrap_or(&EMPTY)) {
            Permit::Now => {}
            Permit::At(at) if at <= now => {}
            Permit::At(at) => {
                self.pacing = Pacing { at, empty: next.is_none() };
                return false;
            }
            Permit::Blocked => return false,
        }
        if next.is_none() {
            controller.on_application_limited(now);
        }
        next.is_some()
    }

    /// Returns whether calling [`may_send`](Self::may_send) without a waiting packet would change nothing.
    #[must_use]
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.pacing.at == Instant::FAR_FUTURE
            && self.controller.as_ref().is_some_and(SenderHalf::is_application_limited)
    }

    /// Cancels the deadline of the next packet. For a connection that must not send at present although its controller
    /// may permit it.
    pub const fn hold(&mut self) {
        self.pacing = Pacing::NONE;
    }

    /// Notifies the controller that a permitted packet was discarded and its permission is used up.
    pub fn on_discard(&mut self, now: Instant) {
        if let Some(controller) = &mut self.controller {
            controller.on_discard(now);
        }
    }

    /// Notifies the controller that a packet was permitted but none was sent, for example because the send queue
    /// discarded all packets.
    pub fn on_nothing_sent(&mut self, now: Instant) {
        if let Some(controller) = &mut self.controller {
            controller.on_application_limited(now);
        }
    }

    /// Notifies the controller of a permission before `before` that passed while the application had no data.
    fn catch_up(&mut self, before: Instant) {
        if self.pacing.empty && self.pacing.at < before {
            self.on_nothing_sent(self.pacing.at);
            self.pacing = Pacing::NONE;
        }
    }

    /// Records a packet that is sent now. Returns its number and, if a controller runs, the header fields that the
    /// controller sets. `data` is the number of application bytes, if the packet carries any; `prompt` is whether the
    /// receiver acknowledges the packet immediately, so that the round trip can be measured without a reported holding
    /// time.
    #[inline(always)]
    pub fn send(&mut self, now: Instant, data: Option<Bytes>, prompt: bool) -> (u64, Option<Stamp>) {
        let number = self.ledger.push(now, data.unwrap_or_default(), prompt);
        let sending = Sending::new(number, data);
        (number, self.controller.as_mut().map(|controller| controller.on_send(now, &sending)))
    }

    /// Measures the round-trip time from the timing information of an acknowledgement. `None` if this information does
    /// not suffice or is implausible.
    pub fn measure(&mut self, now: Instant, acknowledged: &Acknowledged) -> Option<Trip> {
        let &Acknowledged { number, held, at_once, echoed, distrusted } = acknowledged;
        let (age, held) = match (echoed, held) {
            (Some(echoed), _) => echoed,
            (None, Some(held)) => (self.ledger.age(number, now)?, held),
            (None, None) if at_once && self.ledger.is_prompt(number) => (self.ledger.age(number, now)?, Duration::ZERO),
            // A duplicate, one of a packet without data, or one on another packet: how long it was held is unknown.
            (None, None) => return None,
        };
        // The reported holding time exceeds the total time and must be false.
        if held > age {
            return None;
        }
        // A receiver that held the acknowledgement beyond the next packet would have acknowledged that one. This bounds
        // a false report by the time between two packets. If the next packet was lost or late, the sample is too long.
        let next = self.ledger.until_next(number).filter(|_| echoed.is_none());
        // A repeated acknowledgement with a longer holding time means lost packets; the silence is not a round trip.
        if number < self.measured && next.is_some_and(|next| held > next) {
            return None;
        }
        // The bound does not apply if the next packet is late or was not sent, as in a handshake and before a pause.
        let held = held.min(next.unwrap_or(held)).min(if distrusted { age / 2 } else { held });
        let sample = age - held;
        if sample > MAX_RTT_SAMPLE {
            return None;
        }
        self.measured = self.measured.max(number.saturating_add(1));
        let silent = self.measures_silence(now, number);
        let smoothed = match self.smoothed {
            Some(mean) if silent => mean,
            Some(mean) => mean * (SMOOTHING - 1) / SMOOTHING + sample / SMOOTHING,
            None => sample,
        };
        self.smoothed = Some(smoothed);
        Some(Trip { sample, smoothed, silent })
    }

    /// Returns whether the round trip of packet `number`, acknowledged at `now`, includes a silence of the path, a time
    /// without acknowledgements.
    #[must_use]
    pub fn measures_silence(&self, now: Instant, number: u64) -> bool {
        self.controller.as_ref().is_some_and(|controller| controller.measures_silence(now, number))
    }

    /// Returns the smoothed round-trip time, with a gain of 1/8; `None` before the first sample.
    #[must_use]
    pub const fn round_trip(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Adds a number of acknowledgements that were lost or marked, for the next report that is passed to the
    /// controller.
    pub const fn on_lost_acks(&mut self, acks: u64) {
        self.pending.lost_acks = self.pending.lost_acks.saturating_add(acks);
    }
    /// Records that the receiver cannot keep up (Slow Receiver, RFC 4340 section 11.6), for the next report to the
    /// controller.
    pub const fn on_slow_receiver(&mut self) {
        self.pending.slow_receiver = true;
    }
    /// Adds a number of packets that the receiver dropped because its buffer was full, for the next report to the
    /// controller.
    pub const fn on_receive_buffer_drops(&mut self, packets: u64) {
        self.pending.receive_buffer_drops = self.pending.receive_buffer_drops.saturating_add(packets);
    }

    /// Passes a received report to the controller, with all pending signals.
    pub fn on_report(&mut self, now: Instant, acknowledged: u64, rtt_sample: Option<Duration>, report: Report<'_>) {
        self.catch_up(now);
        let Some(controller) = &mut self.controller else { return };
        let PendingSignals { lost_acks, slow_receiver, receive_buffer_drops } = std::mem::take(&mut self.pending);
        let delivered = match &report {
            Report::Arrivals(runs) => Some(self.ledger.deliver_runs(acknowledged, runs)),
            Report::Timed(report) => Some(self.ledger.deliver_timed(acknowledged, report.arrivals)),
            Report::Tfrc(_) | Report::Own(_) => None,
        };
        let feedback =
            Feedback { acknowledged, rtt_sample, report, delivered, lost_acks, slow_receiver, receive_buffer_drops };
        controller.on_feedback(now, &feedback);
    }

    /// Handles the timeout of [`poll_timeout`](Self::poll_timeout). Returns whether a timer of the controller expired,
    /// rather than only the wait for the next packet.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        self.catch_up(now);
        if !self.pacing.empty && self.pacing.at <= now {
            self.pacing = Pacing::NONE; // `may_send` sets it again
        }
        let Some(controller) = &mut self.controller else { return false };
        let due = controller.poll_timeout().is_some_and(|at| at <= now);
        if due {
            controller.handle_timeout(now);
        }
        due
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout), for the next packet or for the controller; `None`
    /// if no timer runs.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let controller = self.controller.as_ref()?;
        let pacing = if self.pacing.empty { Instant::FAR_FUTURE } else { self.pacing.at };
        let at = controller.poll_timeout().unwrap_or(Instant::FAR_FUTURE).min(pacing);
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    /// Returns when the waiting packet may be sent, if the controller has set a time for it; `None` if no packet waits
    /// or the controller waits for another event.
    #[must_use]
    pub fn permitted(&self) -> Option<Instant> {
        (!self.pacing.empty).then_some(self.pacing.at)
    }

    /// Returns the state of the controller; `None` without a running controller.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.controller.as_ref().map(SenderHalf::status)
    }

    /// Returns the rate at which the controller paces packets; `None` if it sets none or no controller runs.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.controller.as_ref().and_then(SenderHalf::pacing_rate)
    }

    /// Returns the discrete rate that the receiver announced last; `None` unless the controller has discrete rates, as
    /// `udpm`.
    #[must_use]
    pub fn scale(&self) -> Option<Scale> {
        self.controller.as_ref().and_then(SenderHalf::scale)
    }

    /// Returns the controller's counts of losses and timeouts; zeros without controller.
    #[must_use]
    pub fn congestion_events(&self) -> CongestionEvents {
        self.controller.as_ref().map_or_else(CongestionEvents::default, SenderHalf::congestion_events)
    }
}

#[cfg(test)]
mod tests;
