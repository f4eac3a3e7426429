//! The transport `dccp`: a connection from a client, which sends the data, to a server.

pub(crate) mod ends;
mod spoofed_peers;
mod wire;

pub(crate) use ends::{SERVICE, Verdict};
pub(crate) use spoofed_peers::SpoofedPeers;

use super::carrier::{Carrier, Setup, WriteOutcome};
use super::ends::{Capabilities, Ends, ReceivingEnd, SendingEnd};
use crate::clocks::Meter;
use crate::observe::{CongestionEvents, RoundTrip};
use crate::packet::{Body, Envelope, Packet};
use crate::send_queue::SendQueue;
use ends::{Client, Server, pair};
use headway_media::{Backlog, Source, SourceOptions, TransportState};
use headway_rate::{LossClassification, Status};
use headway_record::ns2::PacketType;
use headway_scenario::{Controlled, DccpOptions};
use headway_units::{Bytes, Instant};

#[derive(Debug)]
pub(crate) struct Dccp {
    client: Box<Client>,
    server: Box<Server>,
}

impl Carrier for Dccp {
    type Options = Controlled<DccpOptions>;

    fn new(options: &Self::Options, setup: &Setup<'_>) -> Self {
        let (client, server) = pair(options, &setup.flow.send_queue, setup.id, setup.starts, |what| setup.stream(what));
        Self { client: Box::new(client), server: Box::new(server) }
    }

    fn ns2_types(_: &SourceOptions) -> [PacketType; 2] {
        [PacketType::Tfrc, PacketType::TfrcAck]
    }
}

impl Dccp {
    /// Returns what encoders follow. Not inlined: most sources are not encoders.
    #[inline(never)]
    fn transport_state(&self) -> TransportState {
        TransportState {
            target_rate: self.status().and_then(|status| status.target_rate),
            waiting: self.client.queue.bytes(),
        }
    }
}

impl Ends for Dccp {}

impl SendingEnd for Dccp {
    #[inline(always)]
    fn connects(&self) -> bool {
        true
    }

    #[inline]
    fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> WriteOutcome {
        source.follow(|| self.transport_state());
        let Some(write) = source.poll(due) else { return WriteOutcome::Nothing };
        self.client.queue.write(now, &write, meter);
        WriteOutcome::Queued
    }

    fn set_backlog(&mut self, _: Instant, backlog: Backlog) {
        self.client.queue.set_backlog(backlog);
    }

    fn close(&mut self, now: Instant) {
        self.client.close(now);
    }

    #[inline]
    fn on_feedback(&mut self, now: Instant, _: Instant, packet: &Packet) -> Option<RoundTrip> {
        let Body::Dccp(dccp) = &packet.body else { return None };
        self.client.handle(now, packet.ecn, dccp)
    }

    #[inline]
    fn handle_sender_timeout(&mut self, now: Instant) {
        self.client.handle_timeout(now);
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant, meter: &mut Meter<'_>) -> Option<Envelope> {
        let envelope = self.client.poll_transmit(now, meter);
        self.client.queue.report(now, meter);
        envelope
    }

    #[inline]
    fn poll_sender_timeout(&self) -> Option<Instant> {
        self.client.poll_timeout()
    }
}

impl ReceivingEnd for Dccp {
    #[inline]
    fn deliver(&mut self, now: Instant, _: Instant, packet: &Packet) -> u32 {
        let Body::Dccp(dccp) = &packet.body else { return 0 };
        self.server.handle(now, packet.ecn, dccp)
    }

    fn poll_loss_classification(&mut self) -> Option<LossClassification> {
        self.server.poll_loss_classification()
    }

    #[inline]
    fn handle_receiver_timeout(&mut self, now: Instant) {
        self.server.handle_timeout(now);
    }

    #[inline]
    fn poll_answer(&mut self, now: Instant) -> Option<Envelope> {
        self.server.poll_transmit(now)
    }

    #[inline]
    fn poll_aside(&mut self, now: Instant) -> Option<(u32, Envelope)> {
        let spoofed_peers = self.server.spoofed_peers.as_mut()?;
        spoofed_peers.poll_transmit(now).map(|envelope| (spoofed_peers.route, envelope))
    }

    #[inline]
    fn poll_receiver_timeout(&self) -> Option<Instant> {
        self.server.poll_timeout()
    }
}

impl Capabilities for Dccp {
    fn send_queue(&mut self) -> Option<&mut SendQueue> {
        Some(&mut self.client.queue)
    }

    fn status(&self) -> Option<Status> {
        Some(self.client.status())
    }

    fn sent_data(&self) -> Option<Bytes> {
        Some(self.client.queue.sent_bytes())
    }

    fn congestion_events(&self) -> CongestionEvents {
        self.client.congestion_events()
    }

    fn connection(&mut self) -> Option<(&mut Client, &mut Server)> {
        Some((&mut self.client, &mut self.server))
    }

    fn failure(&self) -> Option<String> {
        self.client.failure()
    }
}
