//! Where all packets went, and what a link shows of itself.

use super::{Network, Port};
use crate::observe::Observer;
use headway_engine::Moment;
use headway_link::Link;
use headway_record::{ByFlow, LinkLabel, LinkSummary};
use headway_units::{FlowId, Instant};

/// All packets of a run, data and acknowledgements: `sent + copied = delivered + dropped + in_flight`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conservation {
    /// Injected by the flows' ends.
    pub sent: u64,
    /// Copies of them that links have made.
    pub copied: u64,
    /// Handed to the other end.
    pub delivered: u64,
    /// Dropped by a link or a host, or taken away by an attacker.
    pub dropped: u64,
    /// Counted on the links, in hosts that have not delivered them yet, and with attackers who hold packets back.
    pub in_flight: u64,
}

/// What a link shows of itself for the series.
pub(crate) struct LinkSample {
    pub(crate) queue_packets: u64,
    pub(crate) average: Option<f64>,
    pub(crate) arrived_packets: u64,
    pub(crate) dropped_packets: u64,
    pub(crate) sent_bytes: u64,
}

impl<O: Observer> Network<O> {
    pub(crate) fn sample(&mut self, now: Moment, number: usize) -> LinkSample {
        let Port { link, meter } = &mut self.ports[number];
        let common = &self.commons[link.common as usize];
        link.settle(common, &mut self.packets, now);
        LinkSample {
            queue_packets: link.waiting().0,
            average: common.average(),
            arrived_packets: meter.total_arrived_packets(),
            dropped_packets: meter.total_dropped_packets(),
            sent_bytes: meter.total_sent_bytes() - link.bytes_told_ahead(common),
        }
    }

    /// The counts by flow of a link, if it has any.
    pub(crate) fn by_flow(&self, number: usize) -> Option<&ByFlow> {
        self.ports[number].meter.by_flow()
    }

    /// What the meter of a link says, closed at `end`; `cut` if the run was to go on. `names` are those of the flows.
    pub(crate) fn closed_meter(
        &self,
        number: usize,
        label: LinkLabel,
        end: Instant,
        cut: bool,
        names: impl Fn(FlowId) -> String,
    ) -> LinkSummary {
        let Port { link, meter } = &self.ports[number];
        let common = &self.commons[link.common as usize];
        let mut meter = meter.clone();
        for (since, size) in link.unsettled(common, &self.packets) {
            meter.waited(&self.measured, since, end, size.count() as u32);
        }
        if cut {
            for (packet, start, until, size) in link.settled_after(common, &self.packets, end) {
                let bytes = size.count() as u32;
                meter.cut_waiting(&self.measured, end, end, start, bytes);
                meter.cut_transmission(&self.measured, end, start, until);
                if let Some(flows) = meter.by_flow_mut() {
                    flows.cut(&self.measured, end, start, self.packets.get(packet).flow, bytes);
                }
            }
        }
        let flows = meter.by_flow().map(|flows| flows.summary(names)).unwrap_or_default();
        LinkSummary { flows, ..meter.summary(&self.measured, label, end) }
    }

    /// Somebody on a path holds so many packets back.
    pub(crate) fn conservation(&self, held: usize) -> Conservation {
        let elsewhere = held + self.hosts.packets();
        let on_link = |link: &Link| link.on_link(&self.commons[link.common as usize], &self.packets).count();
        let on_links = self.ports.iter().map(|port| on_link(&port.link)).sum::<usize>();
        debug_assert_eq!(self.packets.alive(), on_links + elsewhere, "a packet that is nowhere is freed");
        debug_assert!(self.twins.len() <= self.packets.alive(), "copies of which none is under way are forgotten");
        Conservation {
            sent: self.next_uid,
            copied: self.ended.copied,
            delivered: self.ended.delivered,
            dropped: self.ended.dropped,
            in_flight: (on_links + elsewhere) as u64,
        }
    }
}
