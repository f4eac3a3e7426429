//! Endpoints of a flow under attack.

use super::{Flow, MAX_BURST_PACKETS};
use crate::clocks::{Clocks, Meter, local};
use crate::network::Network;
use crate::observe::Observer;
use crate::packet::{Body, Envelope, RawEnd};
use crate::transport::Verdict;
use headway_engine::Moment;
use headway_link::Handle;

/// Effect of a packet that an attacker sent or changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttackOutcome {
    pub(crate) verdict: Verdict,
    /// Number of Syncs, SyncAcks, Resets and Responses sent in reply, and their size in IP bytes.
    pub(crate) answers: u64,
    pub(crate) answer_bytes: u64,
    /// Connections that the server keeps for spoofed addresses.
    pub(crate) connections: u64,
}

impl AttackOutcome {
    fn count(&mut self, envelope: &Envelope) {
        let answers = match &envelope.body {
            Body::Dccp(packet) => {
                use headway_dccp::Body as B;
                matches!(packet.body, B::Sync { .. } | B::SyncAck { .. } | B::Reset { .. } | B::Response { .. })
            }
            // Spoofed addresses receive no other packets.
            Body::Raw(_) => true,
            _ => false,
        };
        self.answers += u64::from(answers);
        self.answer_bytes += if answers { u64::from(envelope.size) } else { 0 };
    }
}

impl Flow {
    /// Handles a packet sent or changed by an attacker, or a reply to a spoofed address, for which it returns `None`.
    #[cold]
    pub(crate) fn on_raw<O: Observer>(
        &mut self,
        now: Moment,
        handle: Handle,
        network: &mut Network<O>,
    ) -> Option<AttackOutcome> {
        let Self { transport, driver } = self;
        let clocks = transport.clocks();
        let ends = transport.ends_mut();
        let packet = network.packet(handle);
        let at_client = local(clocks.sender(), now.at);
        let at_server = local(clocks.receiver(), now.at);
        let (Body::Raw(raw), Some((client, server))) = (&packet.body, ends.connection()) else { return None };
        let (to, ecn) = (raw.to, packet.ecn);
        let (mut goodput, mut trip) = (0, None);
        let verdict = match to {
            RawEnd::Server => {
                let (verdict, payload) = server.handle_bytes(at_server, ecn, raw);
                goodput = payload;
                verdict
            }
            RawEnd::Client => {
                let (verdict, sample) = client.handle_bytes(at_client, ecn, raw);
                trip = sample;
                verdict
            }
            RawEnd::Spoofed => Verdict::Rejected,
        };
        if goodput > 0 {
            let complete = driver.completed_by(ends, packet, network.copies());
            driver.count_frames(ends, now.at, complete, network);
        }
        network.delivered(now.at, handle, goodput);
        if to == RawEnd::Spoofed {
            return None;
        }
        if let Some(trip) = trip {
            network.round_trip(now.at, driver.id, trip);
        }
        let mut outcome = AttackOutcome { verdict, answers: 0, answer_bytes: 0, connections: 0 };
        let (client, server) = ends.connection()?;
        if to == RawEnd::Server {
            while let Some(envelope) = server.poll_transmit(at_server) {
                outcome.count(&envelope);
                network.inject(now, driver.id, driver.reverse, false, envelope);
            }
            if let Some(spoofed_peers) = &mut server.spoofed_peers {
                while let Some(envelope) = spoofed_peers.poll_transmit(at_server) {
                    outcome.count(&envelope);
                    network.inject(now, driver.id, spoofed_peers.route, false, envelope);
                }
                outcome.connections = spoofed_peers.len() as u64;
            }
            driver.answer_at(ends, clocks, now, now.at, network);
        } else {
            for _ in 0..MAX_BURST_PACKETS {
                let mut meter = Meter::by(network.flow_meter(driver.id), clocks.sender());
                let Some(envelope) = client.poll_transmit(at_client, &meter) else { break };
                outcome.count(&envelope);
                client.queue.report(at_client, &mut meter);
                network.inject(now, driver.id, driver.forward, true, envelope);
            }
            // Also reports discarded packets.
            driver.transmit(ends, clocks, now, network);
        }
        Some(outcome)
    }
}
