//! Timeouts of a connection.

use super::Connection;
use super::event::Event;
use super::pending::{Control, Due};
use super::state::State;
use super::timers::Timer;
use super::transitions::Cause;
use headway_units::{Duration, Instant};

/// Minimum wait for the answer to a padded Sync.
const MIN_PROBE_WAIT: Duration = Duration::from_secs(1);

/// Maximum delay of Data Dropped (RFC 4340 section 11.3).
const DELAYED_ACK: Duration = Duration::from_millis(200);

impl Connection {
    /// Handles the timers that have expired; see [`Self::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        for timer in Timer::ALL {
            if self.timers.take(timer, now) {
                self.fire(now, timer);
            }
        }
        self.refresh(now);
    }

    fn fire(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::Request => self.pending.schedule(Due::Request),
            Timer::GiveUp => self.give_up(now),
            Timer::PartOpen => {
                self.pending.schedule(Due::Ack);
                self.pending.back_off();
                if self.opening.server_is_open() {
                    // It acknowledges, too.
                    self.pending.push(Control::Sync { ack: self.windows.gsr() });
                }
            }
            Timer::Close => self.pending.schedule(Due::Close),
            Timer::TimeWait => {
                self.go(Cause::TimeWaitOver);
            }
            Timer::Change => {
                self.negotiation.retransmit();
                if self.negotiation.changes_due() {
                    self.pending.schedule(Due::Ack);
                }
            }
            Timer::DelayedAck => self.pending.schedule(Due::Ack),
            Timer::TailAck => self.on_tail(now),
            Timer::TailProbe => self.on_tail_probe(now),
            Timer::Sender => {
                if self.forward.handle_timeout(now) {
                    // The window may now be smaller than the ratio, so that no acknowledgement would be sent.
                    self.propose_ack_ratio();
                }
            }
            Timer::Receiver => self.reverse.handle_timeout(now),
            Timer::Idle => self.on_idle(now),
            Timer::KeepAlive => self.on_keep_alive(now),
            Timer::MtuProbe => {
                if self.mtu.on_timer() {
                    self.events.push_back(Event::MaximumPacketSize(self.mtu.mps()));
                }
            }
        }
    }

    pub(super) fn await_tail(&mut self, now: Instant) {
        self.acknowledge.on_data(now);
        let wanted = self.options.expert.tail_ack.filter(|_| self.agreed.we_send_vectors);
        if let Some(longest) = wanted.filter(|_| !self.timers.is_running(Timer::TailAck)) {
            self.timers.set(Timer::TailAck, now + self.tail(longest));
        }
    }

    /// Returns the age at which the last data of a burst is acknowledged. Receivers of rates report when the next
    /// packet arrives, so that the last data would stay unreported. Regular reports within a round trip have priority.
    fn tail(&self, longest: Duration) -> Duration {
        longest.max(self.rtt() * 2)
    }

    fn on_tail(&mut self, now: Instant) {
        let Some((longest, since)) = self.options.expert.tail_ack.zip(self.acknowledge.data_since()) else { return };
        let until = since + self.tail(longest);
        if until > now {
            self.timers.set(Timer::TailAck, until);
        } else {
            self.pending.schedule(Due::Ack);
        }
    }

    /// Starts the wait for a probe of the last datagram, which is sent now.
    pub(super) fn await_tail_probe(&mut self, now: Instant) {
        if self.options.expert.tail_ack.is_none() || !self.agreed.peer_sends_vectors {
            return;
        }
        self.tail_probe.on_data(now);
        // While the timer runs, its expiry finds the last datagram.
        if !self.timers.is_running(Timer::TailProbe)
            && let Some(wait) = self.tail_probe_wait()
        {
            self.timers.set(Timer::TailProbe, now + wait);
        }
    }

    /// Returns the wait for the first probe: two round trips (RFC 8985 section 7.2), and at least twice `tail_ack`.
    pub(super) fn tail_probe_wait(&self) -> Option<Duration> {
        self.options.expert.tail_ack.map(|longest| (self.rtt() * 2).max(longest * 2))
    }

    fn on_tail_probe(&mut self, now: Instant) {
        let Some(wait) = self.tail_probe_wait() else { return };
        let at = self.tail_probe.at(wait);
        if at > now {
            self.timers.set(Timer::TailProbe, at);
        } else {
            self.tail_probe.expire();
        }
    }

    fn on_idle(&mut self, now: Instant) {
        let Some(longest) = self.options.idle_give_up else { return };
        match self.last_valid.map(|last| last + longest).filter(|until| *until > now) {
            Some(until) => self.timers.set(Timer::Idle, until),
            None => self.give_up(now),
        }
    }

    /// Sends a Sync if no valid packet has arrived for `keep_alive`.
    fn on_keep_alive(&mut self, now: Instant) {
        let Some(longest) = self.options.keep_alive else { return };
        let wait = match self.last_valid.map(|last| last + longest).filter(|until| *until > now) {
            Some(until) => {
                self.sync_probes.reset_wait();
                until.since(now)
            }
            None => {
                self.pending.push(Control::Sync { ack: self.windows.gsr() });
                self.sync_probes.next_wait(longest, self.rtt())
            }
        };
        self.timers.set(Timer::KeepAlive, now + wait);
    }

    pub(super) fn refresh(&mut self, now: Instant) {
        self.arm_controllers();
        self.settled = now;
        self.forward.forget_slowness(now);
        if self.mtu.probes() && !self.timers.is_running(Timer::MtuProbe) {
            self.await_mtu_probe(now);
        }
        self.schedule_acknowledgement(now);
    }

    #[inline(never)]
    fn await_mtu_probe(&mut self, now: Instant) {
        let answer = now + MIN_PROBE_WAIT.max(self.rtt() * 2);
        let at = if self.mtu.is_probing() { Some(answer) } else { self.mtu.resting(now) };
        self.timers.arm(Timer::MtuProbe, at.filter(|_| self.machine.state() == State::Open));
    }

    /// Updates the timers after the last packet was sent, like [`refresh`](Self::refresh). If that ran at this time and
    /// no packet was sent since, only the deadlines of the controllers can have changed.
    pub(super) fn settle(&mut self, now: Instant) {
        if self.settled != now || self.negotiation.changes_due() {
            self.refresh(now);
        } else {
            self.arm_controllers();
        }
    }

    #[inline(always)]
    fn arm_controllers(&mut self) {
        if self.forward.take_moved() {
            self.timers.arm(Timer::Sender, self.forward.poll_timeout());
        }
        if self.reverse.take_moved() {
            self.timers.arm(Timer::Receiver, self.reverse.poll_timeout());
        }
    }

    /// Schedules an Ack for Confirms, Changes and Data Dropped that no other packet has carried: at most one per round
    /// trip for negotiation (section 6.6.1), and within the delay of section 11.3 for Data Dropped.
    fn schedule_acknowledgement(&mut self, now: Instant) {
        let state = self.machine.state();
        if !matches!(state, State::PartOpen | State::Open)
            || self.pending.is_scheduled(Due::Ack)
            || self.timers.is_running(Timer::DelayedAck)
        {
            return;
        }
        // PARTOPEN repeats its Confirms by its own timer.
        let confirms = state == State::Open && self.negotiation.confirms_due();
        if confirms || self.negotiation.changes_due() {
            // A Change can wait for the next data packet, unless data waits for the Change.
            let rtt = self.rtt();
            let patient = !confirms && state == State::Open && self.agreed.can_send_data;
            let soonest = if patient { now + rtt } else { now };
            self.timers.set(Timer::DelayedAck, self.pending.negotiate(soonest, rtt));
        } else if self.acknowledge.has_unreported_drops() {
            self.timers.set(Timer::DelayedAck, now + DELAYED_ACK);
        }
        if self.timers.take(Timer::DelayedAck, now) {
            self.pending.schedule(Due::Ack);
        }
    }
}
