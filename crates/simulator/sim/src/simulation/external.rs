//! A run under the clock of its caller, with packets of endpoints outside the simulation.

use super::{RunError, Simulation};
use crate::observe::Observer;
use crate::transport::ExternalPacket;
use headway_engine::Moment;
use headway_units::Instant;

impl<O: Observer> Simulation<'_, O> {
    /// Returns the time of the next event of the simulation; `None` if there is none.
    #[must_use]
    pub fn next_event(&mut self) -> Option<Instant> {
        self.network.events().next_at()
    }

    /// Handles all events up to and including the time `now`. Returns whether the end of the run is reached. A time
    /// before that of the last call has no effect.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn advance(&mut self, now: Instant) -> Result<bool, RunError> {
        let until = Moment::after_all(now).min(Moment::before_all(self.end));
        while !self.done && self.network.overflowed().is_none() && self.run_some(until) {}
        if let Some(at) = self.network.overflowed() {
            return Err(RunError::TooManyPackets { at });
        }
        self.now = self.now.max(now.min(self.end));
        if now >= self.end && !self.done {
            self.end();
        }
        Ok(self.done)
    }

    /// Sends a packet of a flow whose endpoints are outside the simulation, into its first link at the time that the
    /// run has [reached](Self::advance). Packets of other flows, and all packets after the end, are ignored.
    pub fn inject(&mut self, packet: ExternalPacket) {
        let flow = self.flows.get(packet.flow).filter(|flow| !self.done && flow.transport.is_external());
        let Some(flow) = flow else { return };
        let place = if packet.forward { flow.driver.forward } else { flow.driver.reverse };
        let now = self.network.events().external_moment(self.now);
        self.network.inject_external(now, place, packet);
    }

    /// Returns the number of packets that are in the network now.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.network.ports.packets.alive()
    }

    /// Removes and returns the packets that have reached endpoints outside the simulation, in order of time.
    pub fn take_delivered(&mut self) -> Vec<ExternalPacket> {
        let flows = &mut self.flows;
        let mut delivered: Vec<_> =
            self.external.iter().flat_map(|flow| flows[*flow].transport.take_delivered()).collect();
        delivered.sort_by_key(|packet| packet.at);
        delivered
    }
}
