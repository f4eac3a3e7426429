//! Calls of the application and of the driver, except [`Connection::handle`],
//! [`Connection::handle_timeout`] and [`Connection::poll_transmit`].

use super::event::{Counters, Event, Status};
use super::feature_slot::{List, Side};
use super::pending::{Control, Due};
use super::state::State;
use super::timers::Timer;
use super::transitions::Cause;
use super::{Connection, ConnectionOptions};
use crate::feature::{Ccid, Feature};
use crate::{Arrivals, DeliveryOrder, DropCode, Path, Ports, Repair, Reset, ResetCode, ServiceCode};
use headway_rate::{CongestionEvents, LossClassification, OneWayDelay};
use headway_units::{Duration, Entropy, Instant, Registry as _, Seq48};
use std::sync::Arc;

impl Connection {
    /// Creates a client connection. The first [`Self::poll_transmit`] returns the Request.
    ///
    /// `random` supplies the initial sequence number (section 7.2), unrelated to those before a
    /// reboot (section 7.3), and the choice of skipped sequence numbers (RFC 4342 section 9). On a
    /// network with attackers it must be unpredictable.
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
        client.pending.schedule(Due::Request);
        client.pending.begin_wait(client.options.expert.request_timeout);
        let give_up = client.options.expert.request_give_up;
        client.timers.set(Timer::GiveUp, now + give_up);
        client
    }

    /// Returns the next event, if any. Up to 64 events are queued; when the queue is full, newer ones are discarded,
    /// except those that happen once: [`Event::Connected`], [`Event::PeerNotListening`] and [`Event::Closed`].
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn has_events(&self) -> bool {
        self.events.has_some()
    }

    /// Sets the path of the connection's packets, whose lower-layer headers reduce the maximum packet size (RFC 4340
    /// section 14).
    pub(crate) fn set_path(&mut self, path: Path) {
        self.settled = Instant::FAR_FUTURE;
        self.mtu.reserve_headers(path.lower_headers() + self.options.expert.secure_headers.count() as usize);
    }

    /// Returns the newest round-trip time measured since the last call of this method, if any. Samples that include a
    /// silence of the path (a time without acknowledgements) are omitted.
    pub fn take_rtt_sample(&mut self) -> Option<Duration> {
        self.forward.take_rtt_sample()
    }

    /// Returns the one-way delay of the data packet that was [handled](Self::handle) last. `None` unless this endpoint
    /// [measures it](ConnectionOptions::one_way_delays), the peer sends Timestamps, and a round-trip time is known.
    #[must_use]
    #[inline]
    pub fn one_way_delay(&self) -> Option<OneWayDelay> {
        self.delays.newest()
    }

    /// Returns the position, in its stream, of the datagram of the packet that was [handled](Self::handle) last. `None`
    /// unless the peer may send its datagrams again.
    #[must_use]
    #[inline]
    pub const fn order(&self) -> Option<DeliveryOrder> {
        self.peer_order
    }

    /// Returns which packets the data of the packet with this number, [handled](Self::handle) last, can restore, if it is a
    /// repair packet and this endpoint [accepts](ConnectionOptions::receive_repairs) them. Its data is for a
    /// [`Restorer`](crate::Restorer), not for the program.
    #[must_use]
    #[inline]
    pub fn repair(&self, number: Seq48) -> Option<Repair> {
        let (last, repair) = self.peer_repair.as_deref()?;
        (*last == number).then_some(*repair)
    }

    /// Returns the state of the controller of this endpoint's data, or its last one once it has stopped: the field
    /// `sender` of [`status`](Self::status), without the cost of the others.
    #[must_use]
    pub fn sender_status(&self) -> Option<headway_rate::Status> {
        self.forward.last_status()
    }

    /// Returns whether the peer may send repair packets: datagrams from now on are for a [`Restorer`](crate::Restorer).
    #[must_use]
    #[inline]
    pub const fn peer_repairs(&self) -> bool {
        self.agreed.peer_repairs
    }

    /// Asks the peer to accept repair packets ([`Fec`](crate::Fec)), once it is known to be there. A peer that does not
    /// know the feature refuses.
    pub(crate) fn request_repairs(&mut self) {
        if matches!(self.machine.state(), State::PartOpen | State::Open) {
            self.negotiation.request(Side::Local, Feature::SEND_REPAIRS, List::new([1, 0]), false);
        }
    }

    /// Returns the maximum packet size if the peer accepts repair packets.
    pub(crate) fn repair_packet_size(&self) -> Option<usize> {
        self.agreed.we_repair.then(|| self.mtu.mps())
    }

    /// Returns, once, which packets of this endpoint arrived, as reported by the packet [handled](Self::handle) last.
    /// `None` if that had no valid Ack Vector. [`Outgoing::packet`](super::Outgoing::packet) has the sequence number
    /// under which data was sent.
    pub fn take_arrivals(&mut self) -> Option<Arrivals<'_>> {
        self.forward.take_arrivals()
    }

    /// Returns the next classification of a loss, as congestion or not, by the receiver half of the controller of the
    /// peer's data, the oldest first. `None` unless this controller has a loss filter. The numbers are the peer's
    /// sequence numbers. Calling this is optional.
    pub fn poll_loss_classification(&mut self) -> Option<LossClassification> {
        let number = |number| self.windows.received_at(number).value();
        Some(match self.reverse.poll_loss_classification()? {
            LossClassification::Lost { first, last, counts } => {
                LossClassification::Lost { first: number(first), last: number(last), counts }
            }
            LossClassification::Early => LossClassification::Early,
        })
    }

    pub(crate) const fn has_sent_data(&self) -> bool {
        self.counters.sent_data_packets > 0
    }

    /// Probes the peer: the next packet from [`poll_transmit`](Self::poll_transmit) is a Sync, and its SyncAck causes
    /// [`Event::ProbeAnswered`] with the number returned here. `None` unless the connection is OPEN.
    ///
    /// To check whether the peer is reachable at another address, a driver sends that one packet, marked in
    /// [`Outgoing`](super::Outgoing) and [`Transmit`](crate::Transmit), to the new address and all others to the old
    /// one. An answer proves that the host at the new address knows the peer's sequence numbers (RFC 4340 section 7.5.5
    /// on guessing them). Without DTLS any on-path observer knows them. A new probe replaces an unanswered one. Probes
    /// are not retransmitted and the connection does not depend on the answer, so the driver should limit their rate
    /// and set its own timeout.
    pub fn probe(&mut self) -> Option<u64> {
        if self.machine.state() != State::Open {
            return None;
        }
        self.pending.push_first(Control::Probe);
        Some(self.sync_probes.probe())
    }

    /// Returns when [`Self::handle_timeout`] must be called; `None` if no timer runs.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Closes the connection (RFC 4340 section 8.3). No more data is sent. A client sends Close; a server CloseReq, or
    /// Close with [`server_time_wait`](ConnectionOptions::server_time_wait). Before PARTOPEN the connection is aborted.
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

    /// Aborts the connection with a Reset of code 2, "Aborted".
    pub fn abort(&mut self, now: Instant) {
        self.reset(now, Reset { code: ResetCode::ABORTED, data: [0; 3] });
        self.refresh(now);
    }

    /// Aborts the connection with a Reset of code 9, "Too Busy": the server has reached its connection limit (RFC 4340
    /// section 8.1.3).
    pub fn abort_busy(&mut self, now: Instant) {
        self.reset(now, Reset { code: ResetCode::TOO_BUSY, data: [0; 3] });
        self.refresh(now);
    }

    /// Stops delivering data. Data that arrives is dropped and reported to the peer (Drop Code 1, RFC 4340 section
    /// 11.7.2).
    pub const fn stop_receiving(&mut self) {
        self.we_stopped = true;
    }

    /// Sets whether acknowledgements carry the option Slow Receiver: this application cannot keep up (RFC 4340 section
    /// 11.6).
    pub const fn set_slow_receiver(&mut self, slow: bool) {
        self.acknowledge.slow_receiver = slow;
    }

    /// Reports to the peer that the application dropped the data of the received packet `seq` after its delivery, and
    /// why (Data Dropped, RFC 4340 section 11.7).
    pub fn report_dropped(&mut self, now: Instant, seq: Seq48, code: DropCode) {
        let number = self.windows.number_received(seq);
        if seq.is_within(self.windows.swl(), self.windows.gsr()) && self.seen.contains(number) {
            self.acknowledge.on_dropped(seq, code);
            if code.counts_as_mark() {
                self.reverse.on_corrupt(now, number);
            }
            self.refresh(now);
        }
    }

    /// Handles a router's report (ICMP) that a sent packet was too big for a next hop with an MTU of `mtu` bytes, 0 if
    /// unknown (RFC 4340 section 14.1; RFC 6773 section 3.6 for ICMP about the enclosing UDP packet). `quoted` is the
    /// sequence number in the quoted header. A message that quotes a packet not sent recently may be forged, and is
    /// ignored.
    pub fn handle_too_big(&mut self, quoted: Seq48, mtu: usize) {
        self.settled = Instant::FAR_FUTURE;
        if self.windows.is_acknowledgement_valid(quoted) && self.mtu.on_too_big(mtu) {
            // Nothing larger is tried for at least five minutes (RFC 1191 section 3), so the search is suspended.
            self.timers.stop(Timer::MtuProbe);
            self.events.push_back(Event::MaximumPacketSize(self.mtu.mps()));
        }
    }

    /// Starts the search for the path MTU, if [enabled](ConnectionOptions::probe_mtu), at 576 bytes because the path
    /// may not carry 1280 (RFC 8899 section 5.2). To be called before anything is sent.
    pub fn start_with_least_mtu(&mut self) {
        self.settled = Instant::FAR_FUTURE;
        self.mtu.start_at_least();
    }

    /// Returns the smoothed round-trip time, with a gain of 1/8; `None` before the first sample.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.forward.round_trip()
    }

    /// Returns a snapshot of the connection, or its last values once it is closed.
    #[must_use]
    pub fn status(&self) -> Status {
        // Before the handshake ends, the numbers may not be the peer's.
        let numbers = if self.running.is_some() { self.windows.number_received(self.windows.gsr()) + 1 } else { 0 };
        let missing_packets = numbers.saturating_sub(self.counters.received_packets);
        let missing_data_packets = missing_packets.saturating_sub(self.without_data.count());
        let acknowledged_packets = self.windows.acknowledged();
        let (send_ccid, receive_ccid) = (Ccid(self.agreed.send_ccid), Ccid(self.agreed.receive_ccid));
        let controller = |ccid| self.options.row(ccid).map(|row| row.controller.kind());
        Status {
            state: self.machine.state(),
            maximum_packet_size: self.mtu.mps(),
            maximum_packet_size_is_known: self.mtu.is_known(),
            clock_skew: self.delays.skew(),
            rtt: self.forward.round_trip(),
            send_ccid,
            receive_ccid,
            send_controller: controller(send_ccid),
            receive_controller: controller(receive_ccid),
            sender: self.sender_status(),
            slow_receiver: self.forward.slow_receiver(),
            counters: Counters { missing_packets, missing_data_packets, acknowledged_packets, ..self.counters },
            closed: self.events.closed(),
        }
    }

    /// Returns how many loss events and timeouts have reduced the rate of this endpoint's data; zeros if no controller
    /// runs.
    #[must_use]
    pub fn congestion_events(&self) -> CongestionEvents {
        self.forward.congestion_events()
    }

    /// Returns the current values of a feature: that of the feature located at this endpoint, then that of the one at
    /// the peer (RFC 4340 section 6). `None` for a feature that this crate does not implement.
    #[must_use]
    pub fn feature_values(&self, feature: Feature) -> Option<[u64; 2]> {
        feature.initial()?;
        Some([Side::Local, Side::Remote].map(|side| self.negotiation.value(side, feature)))
    }

    /// Returns the service code of the connection, which its client chose.
    #[must_use]
    pub const fn service(&self) -> ServiceCode {
        self.service
    }

    /// Returns the DCCP ports of the connection.
    #[must_use]
    pub const fn ports(&self) -> Ports {
        self.ports
    }

    /// Returns the current state of the connection.
    #[must_use]
    pub const fn state(&self) -> State {
        self.machine.state()
    }
}
