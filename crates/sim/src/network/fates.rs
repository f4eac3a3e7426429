//! What links do to packets beside passing them on.

use super::{Network, flow_packet};
use crate::observe::{LinkEvent, Observer, Place};
use headway_link::{Decision, Handle, Offer};
use headway_units::{DropCause, Instant};

impl<O: Observer> Network<O> {
    /// A link has marked or dropped the packet that it was offered, or another.
    #[cold]
    pub(super) fn not_just_accepted(&mut self, now: Instant, number: usize, handle: Handle, offer: Offer) {
        let event = if offer == Offer::Dropped(DropCause::Channel) { LinkEvent::Lost } else { LinkEvent::Drop };
        let (marked, dropped) = match offer {
            Offer::Accepted | Offer::Decided => (false, None),
            Offer::Marked => (true, None),
            Offer::MarkedAhead(ahead) => {
                self.mark(now, number, ahead);
                (false, None)
            }
            Offer::Dropped(cause) => (false, Some((handle, cause))),
            Offer::DroppedMarked(cause) => {
                self.packets.get_mut(handle).mark();
                (false, Some((handle, cause)))
            }
            Offer::Evicted { marked, victim, cause } => (marked, Some((victim, cause))),
        };
        if marked {
            self.mark(now, number, handle);
        }
        if let Some((handle, cause)) = dropped {
            self.drop(now, number, handle, cause, event);
        }
    }

    /// A link's queue has decided about packets that waited.
    #[cold]
    #[inline(never)]
    pub(super) fn decided(&mut self, now: Instant, number: usize) {
        let common = self.ports[number].link.common as usize;
        while let Some(decision) = self.commons[common].poll_decision() {
            match decision {
                Decision::Marked(packet) => self.mark(now, number, packet),
                Decision::Dropped { packet, enqueued, cause } => {
                    let bytes = self.packets.get(packet).size;
                    self.ports[number].meter.waited(&self.measured, enqueued, now, bytes);
                    self.drop(now, number, packet, cause, LinkEvent::Drop);
                }
            }
        }
    }

    /// A link marks a packet.
    #[cold]
    fn mark(&mut self, now: Instant, number: usize, handle: Handle) {
        let (meter, packet) = (&mut self.ports[number].meter, self.packets.get_mut(handle));
        meter.marked(&self.measured, now);
        if let Some(flows) = meter.by_flow_mut() {
            flows.marked(&self.measured, now, packet.flow);
        }
        packet.mark();
        if O::HOPS {
            self.observer.hop_marked(handle.place());
        }
    }

    /// A link has dropped a packet.
    #[cold]
    pub(super) fn drop(&mut self, now: Instant, number: usize, handle: Handle, cause: DropCause, event: LinkEvent) {
        let (meter, packet) = (&mut self.ports[number].meter, self.packets.get(handle));
        meter.dropped(&self.measured, now, cause);
        if let Some(flows) = meter.by_flow_mut() {
            // What the channel takes before the queue is a `Lost`.
            if cause == DropCause::Channel && event == LinkEvent::Drop {
                flows.lost(&self.measured, now, packet.flow, cause);
            } else {
                flows.dropped(&self.measured, now, packet.flow, cause);
            }
        }
        if O::WATCHES {
            self.observer.link_event(now, event, number, packet);
        }
        if O::HOPS {
            self.observer.hop_ended(now, handle.place(), Some(cause));
        }
        self.take(now, Place::Link(number), handle, cause);
    }

    /// A packet goes no further. Where somebody on the path takes it away, the record calls that a loss in the channel.
    pub(crate) fn take(&mut self, now: Instant, place: Place, handle: Handle, cause: DropCause) {
        let packet = self.packets.get(handle);
        self.observer.dropped(now, place, cause, packet);
        // Of what goes back, too, none of several is kept in mind for ever.
        let is_one_of_several = self.copies && self.twins.others(packet.uid);
        if packet.forward && !is_one_of_several {
            self.flow_meters[packet.flow.0 as usize].lost(&flow_packet(packet), cause);
            if self.judges() {
                self.note_loss(handle, cause);
            }
        }
        self.ended.dropped += 1;
        self.packets.remove(handle);
    }
}
