//! Received datagrams: delivery to a connection, or to the listener of the port (RFC 4340 section
//! 8.5 steps 1 to 3; RFC 6773 section 3.8).

use super::{Dropped, Endpoint, Entry};
use crate::connection::refusal;
use crate::path::Ports;
use crate::{
    Body, Closed, Connection, ConnectionHandle, Decoded, Delivery, DeliveryOrder, Event, Ignored, Outbox, Outcome,
    Outgoing, Packet, PacketType, Path, Repair, Reset, ResetCode, State,
};
use headway_rate::OneWayDelay;
use headway_units::{Ecn, Instant, Seq48};

/// Datagram for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Connection that received it.
    pub handle: ConnectionHandle,
    /// Sequence number of its packet, for [`Connection::report_dropped`].
    pub seq: Seq48,
    /// One-way delay, if the connection measures it ([`Connection::one_way_delay`]).
    pub one_way_delay: Option<OneWayDelay>,
    /// Position in its stream, if the peer may send datagrams again; see [`InOrder`](crate::InOrder).
    pub order: Option<DeliveryOrder>,
    /// Whether the peer may send repair packets; see [`Restorer`](crate::Restorer). Only with
    /// [`receive_repairs`](crate::ConnectionOptions::receive_repairs).
    pub is_protected: bool,
    /// Packets that the data can restore, if it is a repair packet; see [`Restorer`](crate::Restorer).
    /// The data is then not for the program.
    pub repair: Option<Repair>,
    /// Data: a part of the received bytes.
    pub data: &'a [u8],
}

impl<O: Outbox + Default> Endpoint<O> {
    /// Handles a received datagram with this path and ECN codepoint: the payload of a UDP datagram
    /// whose checksum is present and was verified (RFC 6773 section 3.3), or of an IP packet.
    /// Returns its application data, if any, without a copy.
    ///
    /// # Errors
    ///
    /// The reason why the datagram was dropped. The caller is not at fault; answers, if any, are
    /// returned by [`poll_transmit`](Self::poll_transmit).
    pub fn handle_datagram<'a>(
        &mut self,
        now: Instant,
        path: Path,
        ecn: Ecn,
        bytes: &'a [u8],
    ) -> Result<Option<Datagram<'a>>, Dropped> {
        let path = path.without_flow();
        let packet = Packet::decode(bytes, path.incoming())?;
        let ports = match &packet {
            Decoded::Long(packet) => Ports::of_receiver(packet),
            Decoded::Short(packet) => Ports::of_receiver(packet),
        };
        let (index, delivery) = match self.names.get(&(path, ports)).copied() {
            Some(index) => self.known(now, index, ecn, &packet)?,
            None => self.unknown(now, path, ports, ecn, &packet)?,
        };
        match delivery {
            Delivery::Data => {}
            Delivery::Nothing => return Ok(None),
            Delivery::Dropped(why) => return Err(Dropped::Ignored(why)),
        }
        Ok(match packet {
            Decoded::Long(Packet { seq, data, .. }) => {
                let Some(Entry { connection, .. }) = self.slots.get(index) else { return Ok(None) };
                Some(Datagram {
                    handle: self.slots.handle(index),
                    seq,
                    one_way_delay: connection.one_way_delay(),
                    order: connection.order(),
                    is_protected: connection.peer_repairs(),
                    repair: connection.repair(seq),
                    data,
                })
            }
            // Connections never accept short packets.
            Decoded::Short(_) => None,
        })
    }

    fn known(&mut self, now: Instant, index: u32, ecn: Ecn, packet: &Decoded<'_>) -> Result<(u32, Delivery), Dropped> {
        let is_full = self.is_full();
        let entry = self.slots.get_mut(index).ok_or(Dropped::Ignored(Ignored::NoConnection))?;
        let (path, ports) = (entry.path, entry.connection.ports());
        let contested = self.listeners.get_mut(&ports.local).filter(|one| one.is_contested(&entry.connection, packet));
        let Some(listener) = contested else {
            let delivery = entry.connection.handle(now, ecn, packet);
            entry.outbox.packet_handled(now, &mut entry.connection);
            self.touch(index);
            return Ok((index, delivery));
        };
        if is_full {
            return Err(Dropped::Full);
        }
        match listener.contest(now, path, ecn, packet) {
            Outcome::Ignored(why) => Err(Dropped::Ignored(why)),
            Outcome::Reply(out) => {
                self.refused = refused(path, packet, &out).or(self.refused);
                self.waiting.answer(path, &out);
                Err(Dropped::Ignored(Ignored::NoConnection))
            }
            Outcome::Accepted(accepted, delivery) => {
                entry.connection.close_silently(now);
                self.touch(index);
                self.admit(now, path, accepted, delivery)
            }
        }
    }

    fn unknown(
        &mut self,
        now: Instant,
        path: Path,
        ports: Ports,
        ecn: Ecn,
        packet: &Decoded<'_>,
    ) -> Result<(u32, Delivery), Dropped> {
        let is_full = self.is_full();
        let Decoded::Long(long) = packet else { return Err(Dropped::Ignored(Ignored::ShortNumbers)) };
        let is_request = long.kind() == PacketType::Request;
        let Some(listener) = self.listeners.get_mut(&ports.local) else {
            let code = if is_request { ResetCode::CONNECTION_REFUSED } else { ResetCode::NO_CONNECTION };
            self.refuse(now, path, long, code);
            return Err(Dropped::Ignored(Ignored::NoConnection));
        };
        if is_full {
            // A client in PARTOPEN retries and may then be accepted; one in REQUEST may try another server.
            if is_request {
                self.refuse(now, path, long, ResetCode::TOO_BUSY);
            }
            return Err(Dropped::Full);
        }
        match listener.handle(now, path, ecn, packet) {
            Outcome::Ignored(why) => Err(Dropped::Ignored(why)),
            Outcome::Reply(out) => {
                self.refused = refused(path, packet, &out).or(self.refused);
                self.waiting.answer(path, &out);
                // No state is kept.
                Err(Dropped::Ignored(Ignored::NoConnection))
            }
            Outcome::Accepted(accepted, delivery) => self.admit(now, path, accepted, delivery),
        }
    }

    fn admit(
        &mut self,
        now: Instant,
        path: Path,
        mut accepted: Box<Connection>,
        delivery: Delivery,
    ) -> Result<(u32, Delivery), Dropped> {
        if accepted.state() == State::Closed {
            // An option has reset it: there is no connection, and the program may query the reason.
            while let Some(event) = accepted.poll_event() {
                if let Event::Closed(Closed::ByUs(reset)) = event {
                    self.refused = Some((path, reset));
                }
            }
            self.waiting.queue_final_packets(now, path, &mut accepted);
            return Err(Dropped::Ignored(Ignored::OptionError));
        }
        let index = self.insert(Entry { announced: false, ..Entry::new(accepted, O::default(), path) });
        Ok((index, delivery))
    }

    fn refuse(&mut self, now: Instant, path: Path, packet: &Packet<'_>, code: ResetCode) {
        if let Some(reset) = refusal(packet, Reset { code, data: [0; 3] })
            && self.refusals.permits(now)
        {
            self.waiting.answer(path, &reset);
        }
    }
}

/// Returns the peer and the reason if a listener answers a Request with a Reset.
fn refused(path: Path, packet: &Decoded<'_>, reply: &Outgoing<'_>) -> Option<(Path, Reset)> {
    match (packet, reply.packet.body) {
        (Decoded::Long(Packet { body: Body::Request { .. }, .. }), Body::Reset { reset, .. }) => Some((path, reset)),
        _ => None,
    }
}
