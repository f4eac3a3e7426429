//! The sending half of a carrier.

use super::ledger::Ledger;
use crate::contract::{Next, Permit, Scale, SenderHalf, Sending, Setbacks, Stamp, Status};
use crate::kinds::Sender;
use crate::report::{Feedback, Report};
use headway_units::{Bytes, Duration, Instant, Rate};

/// The share of a new sample in the smoothed round trip (RFC 6298 section 2).
const SMOOTHING: u64 = 8;
/// A packet that was held up for longer, or a machine that slept, tells nothing of the path. In TFRC's mean eight hours are an hour of
/// silence.
const LONGEST_TRIP: Duration = Duration::from_secs(64);

/// Drives the sender half of a controller.
///
/// Packets have numbers from 0 on, whether a controller runs yet or not: those of a handshake count too.
#[derive(Debug)]
pub struct Outbound<S = Sender> {
    controller: Option<S>,
    ledger: Ledger,
    pacing: Pacing,
    smoothed: Option<Duration>,
    /// The number behind the newest one that was measured.
    measured: u64,
    news: News,
}

/// No packet waits.
const NOTHING: Next = Next::new(Bytes::new(0));

/// When the controller lets the next packet go.
#[derive(Clone, Copy, Debug)]
struct Pacing {
    /// Far in the future if it waits for something else.
    at: Instant,
    /// Nothing waits to go: then nothing happens at that instant, and the controller is told afterwards that the application had nothing.
    empty: bool,
}

impl Pacing {
    const NONE: Self = Self { at: Instant::FAR_FUTURE, empty: true };
}

/// What the receiver says on any packet, kept for the next that is a report.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    lost_acks: u64,
    slow_receiver: bool,
    receive_buffer_drops: u64,
}

/// What an acknowledgement lets measure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acknowledged {
    /// The packet that it names.
    pub number: u64,
    /// How long its receiver says that it held the acknowledgement back.
    pub held: Option<Duration>,
    /// The acknowledgement went for its own sake, and so at once, although it does not say for how long it was held back.
    pub at_once: bool,
    /// A timestamp of ours came back: how long ago it went, and for how long it was held back.
    pub echoed: Option<(Duration, Duration)>,
    /// Who may lie is believed at most half of the time.
    pub distrusted: bool,
}

/// A round trip that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// This one.
    pub sample: Duration,
    /// The carrier's mean, an eighth of it for the newest.
    pub smoothed: Duration,
    /// The sample includes a silence of the path. The mean ignores it.
    pub silent: bool,
}

impl<S: SenderHalf> Outbound<S> {
    /// A carrier whose ledger holds so many packets at first, and whose controller comes [later](Self::start).
    #[must_use]
    pub fn new(window: u64) -> Self {
        Self {
            controller: None,
            ledger: Ledger::new(window),
            pacing: Pacing::NONE,
            smoothed: None,
            measured: 0,
            news: News::default(),
        }
    }

    /// A controller takes over, from the next packet on.
    pub fn start(&mut self, controller: S) {
        self.controller = Some(controller);
        self.pacing = Pacing::NONE;
    }
    /// No more data goes.
    pub fn stop(&mut self) {
        self.controller = None;
    }
    /// The controller, if one runs.
    #[must_use]
    pub const fn controller(&self) -> Option<&S> {
        self.controller.as_ref()
    }
    /// The controller, if one runs.
    pub const fn controller_mut(&mut self) -> Option<&mut S> {
        self.controller.as_mut()
    }
    /// What went when.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }
    /// What went when.
    pub const fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
    /// The number of the next packet.
    #[must_use]
    pub const fn upcoming(&self) -> u64 {
        self.ledger.upcoming()
    }

    /// Whether the packet that is `next` may go now; `None` if nothing waits. If it may not, [`Self::poll_timeout`] says when to ask again.
    pub fn may_send(&mut self, now: Instant, next: Option<&Next>) -> bool {
        self.catch_up(now + Duration::from_nanos(1));
        let Some(controller) = &mut self.controller else { return false };
        self.pacing = Pacing::NONE;
        match controller.poll_send(now, next.unwrap_or(&NOTHING)) {
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

    /// Returns whether [`may_send`](Self::may_send) would change nothing where no packet waits.
    #[must_use]
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.pacing.at == Instant::FAR_FUTURE
            && self.controller.as_ref().is_some_and(SenderHalf::is_application_limited)
    }

    /// Nothing may go for now, whatever the controller says.
    pub const fn hold(&mut self) {
        self.pacing = Pacing::NONE;
    }

    /// A packet that might have gone is thrown away, and its permission is used up.
    pub fn on_discard(&mut self, now: Instant) {
        if let Some(controller) = &mut self.controller {
            controller.on_discard(now);
        }
    }

    /// What waited is thrown away, although it might have gone.
    pub fn on_nothing_sent(&mut self, now: Instant) {
        if let Some(controller) = &mut self.controller {
            controller.on_application_limited(now);
        }
    }

    /// The controller is told that the application had nothing when a packet might have gone.
    fn catch_up(&mut self, before: Instant) {
        if self.pacing.empty && self.pacing.at < before {
            self.on_nothing_sent(self.pacing.at);
            self.pacing = Pacing::NONE;
        }
    }

    /// A packet goes, and takes the next number. `data`: the bytes of the application on it, if it carries any. `prompt`: an acknowledgement
    /// follows it closely.
    #[inline(always)]
    pub fn send(&mut self, now: Instant, data: Option<Bytes>, prompt: bool) -> (u64, Option<Stamp>) {
        let number = self.ledger.push(now, data.unwrap_or_default(), prompt);
        let sending = Sending::new(number, data);
        (number, self.controller.as_mut().map(|controller| controller.on_send(now, &sending)))
    }

    /// An acknowledgement has come: the round trip that it lets measure, if any.
    pub fn measure(&mut self, now: Instant, acknowledged: &Acknowledged) -> Option<Trip> {
        let &Acknowledged { number, held, at_once, echoed, distrusted } = acknowledged;
        let (age, held) = match (echoed, held) {
            (Some(echoed), _) => echoed,
            (None, Some(held)) => (self.ledger.age(number, now)?, held),
            (None, None) if at_once && self.ledger.is_prompt(number) => (self.ledger.age(number, now)?, Duration::ZERO),
            // One repeated, that of a packet without data, or one on another packet: nobody knows for how long it was held back.
            (None, None) => return None,
        };
        // Held back for longer than the whole: a lie.
        if held > age {
            return None;
        }
        // Who waited for longer than the next packet was behind would have named that one. So a lie wins the time between
        // two packets at most, and the sample is too long where that one was lost or late.
        let next = self.ledger.until_next(number).filter(|_| echoed.is_none());
        // Who repeats itself for as long has heard of no packet behind: those are lost, and the silence is no round trip.
        if number < self.measured && next.is_some_and(|next| held > next) {
            return None;
        }
        // That is no bound where the next one went late or not at all, as in a handshake and before a pause.
        let held = held.min(next.unwrap_or(held)).min(if distrusted { age / 2 } else { held });
        let sample = age - held;
        if sample > LONGEST_TRIP {
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

    /// Returns whether the round trip of this packet includes a silence of the path.
    #[must_use]
    pub fn measures_silence(&self, now: Instant, number: u64) -> bool {
        self.controller.as_ref().is_some_and(|controller| controller.measures_silence(now, number))
    }

    /// The carrier's smoothed round trip.
    #[must_use]
    pub const fn round_trip(&self) -> Option<Duration> {
        self.smoothed
    }

    /// So many acknowledgements were lost or marked.
    pub const fn on_lost_acks(&mut self, acks: u64) {
        self.news.lost_acks = self.news.lost_acks.saturating_add(acks);
    }
    /// The receiver cannot keep up.
    pub const fn on_slow_receiver(&mut self) {
        self.news.slow_receiver = true;
    }
    /// The receiver had no room for so many packets.
    pub const fn on_receive_buffer_drops(&mut self, packets: u64) {
        self.news.receive_buffer_drops = self.news.receive_buffer_drops.saturating_add(packets);
    }

    /// A report has come.
    pub fn on_report(&mut self, now: Instant, acknowledged: u64, rtt_sample: Option<Duration>, report: Report<'_>) {
        self.catch_up(now);
        let Some(controller) = &mut self.controller else { return };
        let News { lost_acks, slow_receiver, receive_buffer_drops } = std::mem::take(&mut self.news);
        let delivered = match &report {
            Report::Arrivals(runs) => Some(self.ledger.deliver_runs(acknowledged, runs)),
            Report::Timed(report) => Some(self.ledger.deliver_timed(acknowledged, report.arrivals)),
            Report::Tfrc(_) | Report::Own(_) => None,
        };
        let feedback =
            Feedback { acknowledged, rtt_sample, report, delivered, lost_acks, slow_receiver, receive_buffer_drops };
        controller.on_feedback(now, &feedback);
    }

    /// The instant of [`poll_timeout`](Self::poll_timeout) has come: whether it was the controller's own.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        self.catch_up(now);
        if !self.pacing.empty && self.pacing.at <= now {
            self.pacing = Pacing::NONE; // who drains asks again
        }
        let Some(controller) = &mut self.controller else { return false };
        let due = controller.poll_timeout().is_some_and(|at| at <= now);
        if due {
            controller.handle_timeout(now);
        }
        due
    }

    /// When to come back: for the next packet, or for the controller's own sake.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let controller = self.controller.as_ref()?;
        let pacing = if self.pacing.empty { Instant::FAR_FUTURE } else { self.pacing.at };
        let at = controller.poll_timeout().unwrap_or(Instant::FAR_FUTURE).min(pacing);
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    /// When the next packet may go, if one waits and the controller has said when.
    #[must_use]
    pub fn permitted(&self) -> Option<Instant> {
        (!self.pacing.empty).then_some(self.pacing.at)
    }

    /// What the controller holds now.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.controller.as_ref().map(SenderHalf::status)
    }

    /// The rate at which the controller spaces packets, if it does.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.controller.as_ref().and_then(SenderHalf::pacing_rate)
    }

    /// The scale that was announced last, for a controller with a ladder of rates.
    #[must_use]
    pub fn scale(&self) -> Option<Scale> {
        self.controller.as_ref().and_then(SenderHalf::scale)
    }

    /// What has set the controller back so far; nothing where none runs.
    #[must_use]
    pub fn setbacks(&self) -> Setbacks {
        self.controller.as_ref().map_or_else(Setbacks::default, SenderHalf::setbacks)
    }
}

#[cfg(test)]
mod tests;
