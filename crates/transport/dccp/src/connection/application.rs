//! What the application and the driver of a connection call, apart from [`Connection::handle`], [`Connection::handle_timeout`] and
//! [`Connection::poll_transmit`].

use super::event::{Counters, Event, Status};
use super::feature_slot::Side;
use super::pending::{Control, Due};
use super::state::State;
use super::timers::Timer;
use super::transitions::Cause;
use super::{Connection, ConnectionOptions};
use crate::feature::{Ccid, Feature};
use crate::{Arrivals, DropCode, Path, Ports, Reset, ResetCode, ServiceCode};
use headway_rate::{Judgement, OneWayDelay, Setbacks};
use headway_units::{Duration, Entropy, Instant, Seq48};
use std::sync::Arc;

impl Connection {
    /// A client's end: the Request goes with the first [`Self::poll_transmit`].
    ///
    /// From `random` come the initial sequence number (section 7.2), far from those before a boot (section 7.3), and the numbers
    /// that are passed over (RFC 4342 section 9): where the network can be attacked, nobody can guess its bits.
    #[must_use]
    pub fn connect(
        now: Instant,
        options: &ConnectionOptions,
        ports: Ports,
        service: ServiceCode,
        random: impl Entropy + 'static,
    ) -> Self {
        Self::active(now, Arc::new(options.clone()), ports, service, Box::new(random))
    }

    pub(crate) fn active(
        now: Instant,
        options: Arc<ConnectionOptions>,
        ports: Ports,
        service: ServiceCode,
        mut random: Box<dyn Entropy>,
    ) -> Self {
        let iss = Seq48::new(random.bits() >> 16);
        let mut client = Self::new(now, options, ports, service, random, iss, false);
        client.go(Cause::ActiveOpen);
        client.pending.owe(Due::Request);
        client.pending.begin_wait(client.options.expert.request_timeout);
        let give_up = client.options.expert.request_give_up;
        client.timers.set(Timer::GiveUp, now + give_up);
        client
    }

    /// The next thing that happened, if any. While nobody asks, 64 events are kept, the oldest, and of the later ones those that
    /// happen once: [`Event::Connected`], [`Event::PeerNotListening`] and [`Event::Closed`] always come.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn has_events(&self) -> bool {
        self.events.has_some()
    }

    /// Its packets go this way: headers below DCCP leave them so much less room (section 14).
    pub(crate) fn set_path(&mut self, path: Path) {
        self.settled = Instant::FAR_FUTURE;
        self.mtu.leave(path.lower_headers() + self.options.expert.secure_headers.count() as usize);
    }

    /// The newest round trip measured since the last call, for statistics.
    pub fn take_rtt_sample(&mut self) -> Option<Duration> {
        self.forward.take_rtt_sample()
    }

    /// Returns the one-way delay of the packet of data that was [handled](Self::handle) last; `None` unless this end
    /// [measures it](ConnectionOptions::one_way_delays), the peer sends Timestamps, and a round trip is known.
    #[must_use]
    #[inline]
    pub fn one_way_delay(&self) -> Option<OneWayDelay> {
        self.delays.newest()
    }

    /// What the packet that was [handled](Self::handle) last told of our packets, once; `None` if it had no Ack Vector that counts. The number
    /// under which data went is in [`Outgoing::packet`](super::Outgoing::packet).
    pub fn take_arrivals(&mut self) -> Option<Arrivals<'_>> {
        self.forward.take_arrivals()
    }

    /// What the controller of the peer's data has made of losses since the last call, the oldest first, if it tells them apart. The numbers are the
    /// peer's sequence numbers. Nobody has to ask.
    pub fn poll_judgement(&mut self) -> Option<Judgement> {
        let number = |number| self.windows.received_at(number).value();
        Some(match self.reverse.poll_judgement()? {
            Judgement::Lost { first, last, counts } => {
                Judgement::Lost { first: number(first), last: number(last), counts }
            }
            Judgement::Early => Judgement::Early,
        })
    }

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
        self.pending.push_first(Control::Probe);
        Some(self.asking.probe())
    }

    /// When [`Self::handle_timeout`] is to be called.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// The application closes (section 8.3): no more data goes. A client sends Close, a server CloseReq.
    pub fn close(&mut self, now: Instant) {
        let cause = if self.is_server && !self.options.server_time_wait {
            Cause::ServerActiveClose
        } else {
            Cause::ActiveClose
        };
        if self.machine.state() < State::PartOpen {
            self.abort(now);
        } else if self.go(cause) {
            self.start_closing(now);
            self.refresh(now);
        }
    }

    /// The application gives the connection up: a Reset goes with code 2, "Aborted".
    pub fn abort(&mut self, now: Instant) {
        self.reset(now, Reset { code: ResetCode::ABORTED, data: [0; 3] });
        self.refresh(now);
    }

    /// Resets the connection with code 9, "Too Busy": a server has as many connections as its application accepts (section 8.1.3).
    pub fn abort_busy(&mut self, now: Instant) {
        self.reset(now, Reset { code: ResetCode::TOO_BUSY, data: [0; 3] });
        self.refresh(now);
    }

    /// The application no longer listens: data that comes is dropped, and the peer is told (Drop Code 1, section 11.7.2).
    pub const fn stop_receiving(&mut self) {
        self.we_stopped = true;
    }

    /// The application cannot keep up, or can again: acknowledgements say so (Slow Receiver, section 11.6).
    pub const fn set_slow_receiver(&mut self, slow: bool) {
        self.acknowledge.slow_receiver = slow;
    }

    /// The application dropped data that was delivered to it, and why: the peer is told (Data Dropped, section 11.7).
    pub fn report_dropped(&mut self, now: Instant, seq: Seq48, code: DropCode) {
        let number = self.windows.number_received(seq);
        if seq.is_within(self.windows.swl(), self.windows.gsr()) && self.seen.has_come(number) {
            self.acknowledge.on_dropped(seq, code);
            if code.counts_as_mark() {
                self.reverse.on_corrupt(now, number);
            }
            self.refresh(now);
        }
    }

    /// A router says that a packet was too big for the next hop of `mtu` bytes, 0 if it does not say (section 14.1; RFC
    /// 6773 section 3.6 for ICMP about the UDP packet around it).
    /// `quoted` is the sequence number in the quoted header: a message about a packet that was not sent recently may be
    /// forged, and is ignored.
    pub fn handle_too_big(&mut self, quoted: Seq48, mtu: usize) {
        self.settled = Instant::FAR_FUTURE;
        if self.windows.is_acknowledgement_valid(quoted) && self.mtu.on_too_big(mtu) {
            // Nothing larger is tried for five minutes at least (RFC 1191 section 3): the search rests.
            self.timers.stop(Timer::MtuProbe);
            self.events.push_back(Event::MaximumPacketSize(self.mtu.mps()));
        }
    }

    /// Starts the search for the path MTU at 576 bytes, if this connection probes: whether the path carries 1280 is in doubt (RFC 8899 section
    /// 5.2). Meant for a connection that has sent nothing.
    pub fn start_with_least_mtu(&mut self) {
        self.settled = Instant::FAR_FUTURE;
        self.mtu.start_at_least();
    }

    /// The smoothed round trip of the controller, if it has measured one.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.forward.round_trip()
    }

    /// What it holds now, and what it held last once it is over.
    #[must_use]
    pub fn status(&self) -> Status {
        // The numbers before the handshake has ended may be nobody's.
        let numbers = if self.running.is_some() { self.windows.number_received(self.windows.gsr()) + 1 } else { 0 };
        let missing_packets = numbers.saturating_sub(self.counters.received_packets);
        let missing_data_packets = missing_packets.saturating_sub(self.without_data.count());
        let acknowledged_packets = self.windows.acknowledged();
        Status {
            state: self.machine.state(),
            maximum_packet_size: self.mtu.mps(),
            maximum_packet_size_is_known: self.mtu.is_known(),
            clock_skew: self.delays.skew(),
            rtt: self.forward.round_trip(),
            send_ccid: Ccid(self.agreed.send_ccid),
            receive_ccid: Ccid(self.agreed.receive_ccid),
            sender: self.forward.last_status(),
            slow_receiver: self.forward.slow_receiver(),
            counters: Counters { missing_packets, missing_data_packets, acknowledged_packets, ..self.counters },
            closed: self.events.closed(),
        }
    }

    /// What has set the rate controller of this end's data back so far; nothing where none runs.
    #[must_use]
    pub fn setbacks(&self) -> Setbacks {
        self.forward.setbacks()
    }

    /// The values of a feature that hold now: this end's, and the peer's (section 6); `None` for a feature that this crate
    /// does not know.
    #[must_use]
    pub fn feature_values(&self, feature: Feature) -> Option<[u64; 2]> {
        feature.initial()?;
        Some([Side::Local, Side::Remote].map(|side| self.negotiation.value(side, feature)))
    }

    /// The service code that the client asked for.
    #[must_use]
    pub const fn service(&self) -> ServiceCode {
        self.service
    }

    /// The ports.
    #[must_use]
    pub const fn ports(&self) -> Ports {
        self.ports
    }

    /// The state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.machine.state()
    }
}
