//! What comes: to its connection, or to the listener of its port (RFC 4340 section 8.5 steps 1 to 3; RFC 6773 section 3.8).

use super::{Dropped, Endpoint, Entry};
use crate::connection::refusal;
use crate::path::Ports;
use crate::{
    Closed, Connection, ConnectionHandle, Decoded, Delivery, Event, Ignored, Outbox, Outcome, Packet, PacketType, Path,
    Reset, ResetCode, State,
};
use headway_rate::OneWayDelay;
use headway_units::{Ecn, Instant, Seq48};

/// A datagram for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// On which connection it has come.
    pub handle: ConnectionHandle,
    /// Its packet's number, by which [`Connection::report_dropped`] names it.
    pub seq: Seq48,
    /// Its one-way delay, where the connection measures it ([`Connection::one_way_delay`]).
    pub one_way_delay: Option<OneWayDelay>,
    /// What it says: a part of the bytes that came.
    pub data: &'a [u8],
}

impl<O: Outbox + Default> Endpoint<O> {
    /// Bytes have come this way with this ECN field: the payload of a UDP datagram, whose checksum the system has found right and not
    /// zero (RFC 6773 section 3.3), or of an IP packet. Returns the application's data on them, if any; nothing is copied or kept.
    ///
    /// # Errors
    ///
    /// Says why they go no further. That is never the caller's fault, and needs no answer but those that
    /// [`poll_transmit`](Self::poll_transmit) has.
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
                let one_way_delay = self.slots.get(index).and_then(|entry| entry.connection.one_way_delay());
                Some(Datagram { handle: self.slots.handle(index), seq, one_way_delay, data })
            }
            // No connection takes one.
            Decoded::Short(_) => None,
        })
    }

    /// A packet of a connection that there is: its own, or one that contests it.
    fn known(&mut self, now: Instant, index: u32, ecn: Ecn, packet: &Decoded<'_>) -> Result<(u32, Delivery), Dropped> {
        let is_full = self.is_full();
        let entry = self.slots.get_mut(index).ok_or(Dropped::Ignored(Ignored::NoConnection))?;
        let (path, ports) = (entry.path, entry.connection.ports());
        let contested = self.listeners.get_mut(&ports.local).filter(|one| one.is_contested(&entry.connection, packet));
        let Some(listener) = contested else {
            let delivery = entry.connection.handle(now, ecn, packet);
            entry.outbox.heard(now, &mut entry.connection);
            self.touch(index);
            return Ok((index, delivery));
        };
        if is_full {
            return Err(Dropped::Full);
        }
        match listener.contest(now, path, ecn, packet) {
            Outcome::Ignored(why) => Err(Dropped::Ignored(why)),
            Outcome::Reply(out) => {
                self.waiting.answer(path, &out);
                Err(Dropped::Ignored(Ignored::NoConnection))
            }
            Outcome::Accepted(accepted, delivery) => {
                entry.connection.give_way(now);
                self.touch(index);
                self.admit(now, path, accepted, delivery)
            }
        }
    }

    /// A packet without a connection.
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
            // A client in PARTOPEN asks again, and may then be served; one in REQUEST may look elsewhere.
            if is_request {
                self.refuse(now, path, long, ResetCode::TOO_BUSY);
            }
            return Err(Dropped::Full);
        }
        match listener.handle(now, path, ecn, packet) {
            Outcome::Ignored(why) => Err(Dropped::Ignored(why)),
            Outcome::Reply(out) => {
                self.waiting.answer(path, &out);
                // Nothing is kept.
                Err(Dropped::Ignored(Ignored::NoConnection))
            }
            Outcome::Accepted(accepted, delivery) => self.admit(now, path, accepted, delivery),
        }
    }

    /// A listener has made a connection.
    fn admit(
        &mut self,
        now: Instant,
        path: Path,
        mut accepted: Box<Connection>,
        delivery: Delivery,
    ) -> Result<(u32, Delivery), Dropped> {
        if accepted.state() == State::Closed {
            // An option has ended it before it began: there is no connection, and the program may ask why.
            while let Some(event) = accepted.poll_event() {
                if let Event::Closed(Closed::ByUs(reset)) = event {
                    self.refused = Some((path, reset));
                }
            }
            self.waiting.last_words(now, path, &mut accepted);
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
