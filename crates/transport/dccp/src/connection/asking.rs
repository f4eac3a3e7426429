//! Syncs that ask whether the peer is there: when nothing has been heard for long, and when the driver wants to know.
//!
//! "Each valid received DCCP-Sync immediately elicits a DCCP-SyncAck" (RFC 4340 section 5.7), in PARTOPEN and behind, whoever sends it and
//! why: section 14.1 has padded ones measure the path. It takes a number and carries nothing, so that it asks nothing of either
//! controller. What it shows is that both directions of a path carry packets between these two ends.

use super::Connection;
use super::event::Event;
use super::state::State;
use super::timers::Timer;
use super::transmit::Control;
use headway_units::{Duration, Instant, Seq48};

/// The first repetition of a question, unless two round trips are longer; each next one waits twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// What has been asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asking {
    /// How long the last question for the sake of [`keep_alive`](super::ConnectionOptions::keep_alive) waits; nothing while all is well.
    wait: Option<Duration>,
    /// Probes of the driver so far.
    probes: u64,
    /// The last one of them, and the number of its Sync once it has gone.
    probe: Option<(u64, Option<Seq48>)>,
}

impl Asking {
    /// The Sync of the driver's probe goes with this number. Which probe that is.
    pub(super) fn probe_sent(&mut self, seq: Seq48) -> Option<u64> {
        let (id, sent) = self.probe.as_mut()?;
        *sent = Some(seq);
        Some(*id)
    }
}

impl Connection {
    /// Asks the peer whether it is there: the next packet that [`poll_transmit`](Self::poll_transmit) hands out is a Sync, and once its SyncAck
    /// has come, [`Event::ProbeAnswered`] tells the number that this returns. `None` unless the connection is OPEN.
    ///
    /// A driver that wants to know whether the peer is at another address sends that one packet there, which [`Outgoing`](super::Outgoing) and
    /// [`Transmit`](crate::Transmit) mark, and all others where they went before: an answer shows that who has the peer's numbers is there (section 7.5.5 on guessing them), without DTLS that is whoever can
    /// see them. A new probe takes the place of one without an answer. Nothing is repeated, and nothing depends on the answer: who asks
    /// sets a limit, and asks seldom.
    pub fn probe(&mut self) -> Option<u64> {
        if self.machine.state() != State::Open {
            return None;
        }
        let id = self.asking.probes;
        self.asking.probes += 1;
        self.asking.probe = Some((id, None));
        self.pending.push_first(Control::Probe);
        Some(id)
    }

    /// A SyncAck has come, which names our Sync.
    pub(super) fn on_answer(&mut self, ack: Seq48) {
        if let Some((id, _)) = self.asking.probe.take_if(|(_, sent)| *sent == Some(ack)) {
            self.events.push_back(Event::ProbeAnswered(id));
        }
    }

    /// So much time has passed since something came, or since that was asked last. While packets come nothing is said.
    pub(super) fn on_quiet(&mut self, now: Instant) {
        let Some(longest) = self.options.keep_alive else { return };
        let wait = match self.last_valid.map(|heard| heard + longest).filter(|until| *until > now) {
            Some(until) => {
                self.asking.wait = None;
                until.since(now)
            }
            None => {
                self.pending.push(Control::Sync { ack: self.windows.gsr() });
                let first = FIRST_WAIT.max(self.rtt() * 2);
                let wait = self.asking.wait.map_or(first, |wait| wait * 2).min((longest / 2).max(first));
                *self.asking.wait.insert(wait)
            }
        };
        self.timers.set(Timer::KeepAlive, now + wait);
    }
}
