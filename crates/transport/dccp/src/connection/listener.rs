//! Listening port of a server: RFC 4340 section 8.5 step 3, and refusals (section 8.1.3).
//!
//! Clients that follow the RFC echo Init Cookies; Linux clients do not. By default a Request therefore creates a
//! connection in RESPOND while the backlog has room, which any client can complete. When the backlog is full, it is
//! answered with an Init Cookie, which needs no memory until the handshake ends. During a flood of Requests, clients
//! that follow the RFC are served, and the others after it. [`InitCookies`] changes this.

use super::Connection;
use super::cookie::CookieKeys;
use super::event::{Delivery, Ignored, Outgoing};
use super::handshake::{Kept, follows_response};
use super::options::{ConnectionOptions, InitCookies};
use super::rate_limit::RateLimit;
use super::refusal::refusal;
use super::state::State;
use super::transitions::Cause;
use crate::path::{Path, Peer, Ports};
use crate::{Body, DccpOption, Decoded, Packet, PacketType, Reset, ResetCode, ServiceCode};
use headway_units::{Duration, Ecn, Entropy, Instant, Seq48};
use std::sync::Arc;

/// Maximum ratio of a stateless Response to its Request, in bytes. It limits amplification by forged Requests.
const AMPLIFICATION: usize = 3;

/// How long a key creates cookies. They stay valid for one more lifetime.
const COOKIE_LIFETIME: Duration = Duration::from_secs(240);
/// Maximum number of Resets per second of a listener (RFC 4340 section 8.1.3).
const REFUSALS_PER_SECOND: u32 = 1024;

/// Listening port of a server: accepts and refuses connections (RFC 4340 section 8.5 step 3).
#[derive(Debug)]
pub struct Listener {
    options: Arc<ConnectionOptions>,
    services: Vec<ServiceCode>,
    random: Box<dyn Entropy>,
    keys: CookieKeys,
    /// Reference count of connections in RESPOND.
    backlog: Arc<()>,
    refusals: RateLimit,
    /// Connection of the last Response, if it carried a cookie.
    stateless: Option<Box<Connection>>,
}

/// Result of a packet that belongs to no connection, from [`Listener::handle`] or [`Listener::contest`].
#[derive(Debug)]
pub enum Outcome<'a> {
    /// The packet is ignored.
    Ignored(Ignored),
    /// The driver sends this reply: a Reset, or a Response with an Init Cookie. No state is kept.
    Reply(Outgoing<'a>),
    /// A new connection in RESPOND or OPEN, to which the caller passes further packets of this peer. The connection has
    /// processed this packet; the [`Delivery`] states what to do with the packet's data.
    Accepted(Box<Connection>, Delivery),
}

impl Listener {
    /// Creates a listener for these service codes. `random` supplies the keys for cookies and sequence numbers, and the
    /// random bits of its connections. On a network with attackers it must be unpredictable.
    #[must_use]
    pub fn new(
        now: Instant,
        options: &ConnectionOptions,
        services: &[ServiceCode],
        random: impl Entropy + 'static,
    ) -> Self {
        Self::with(now, options, services, Box::new(random))
    }

    pub(crate) fn with(
        now: Instant,
        options: &ConnectionOptions,
        services: &[ServiceCode],
        mut random: Box<dyn Entropy>,
    ) -> Self {
        let keys = CookieKeys::new(now, COOKIE_LIFETIME, random.stream("cookies"));
        Self {
            options: Arc::new(options.clone()),
            services: services.to_vec(),
            random,
            keys,
            backlog: Arc::new(()),
            refusals: RateLimit::new(REFUSALS_PER_SECOND),
            stateless: None,
        }
    }

    /// Returns the number of this listener's connections in RESPOND, whose handshake is incomplete.
    #[must_use]
    pub fn half_open(&self) -> usize {
        Arc::strong_count(&self.backlog) - 1
    }

    /// Handles a packet that belongs to no connection.
    pub fn handle(&mut self, now: Instant, path: Path, ecn: Ecn, packet: &Decoded<'_>) -> Outcome<'_> {
        let Decoded::Long(long) = packet else { return Outcome::Ignored(Ignored::ShortNumbers) };
        let peer = &path.peer(Ports::of_receiver(long));
        match long.body {
            Body::Request { service } => self.request(now, peer, ecn, packet, long, service),
            _ => self.completion(now, peer, ecn, packet, long),
        }
    }

    /// Returns whether the packet may be from a different client than the connection, which is in RESPOND or was reset
    /// there. Such a packet is another Request, or carries a cookie. An attacker who knows a client's port may have
    /// sent the first Request in its name, and the resulting connection must not block the client. The caller passes
    /// such packets to [`Self::contest`] instead of the connection.
    #[must_use]
    #[inline]
    pub fn is_contested(&self, connection: &Connection, packet: &Decoded<'_>) -> bool {
        let Decoded::Long(packet) = packet else { return false };
        self.options.init_cookies != InitCookies::Never
            && connection.is_foreign_in_respond(packet)
            && (packet.kind() == PacketType::Request || follows_response(&packet.body) && !cookie(packet).is_empty())
    }

    /// Handles a packet that [contests](Self::is_contested) an existing connection, like [`Self::handle`]. A Request is
    /// answered with an Init Cookie, and the existing connection remains. If a connection is accepted, it replaces the
    /// existing one.
    pub fn contest(&mut self, now: Instant, path: Path, ecn: Ecn, packet: &Decoded<'_>) -> Outcome<'_> {
        let Decoded::Long(long) = packet else { return Outcome::Ignored(Ignored::ShortNumbers) };
        let peer = &path.peer(Ports::of_receiver(long));
        match long.body {
            Body::Request { service } if self.serves(service) => {
                self.reply_statelessly(now, peer, ecn, packet, long, service)
            }
            Body::Request { .. } => self.refuse(now, long, ResetCode::BAD_SERVICE_CODE),
            _ => self.completion(now, peer, ecn, packet, long),
        }
    }

    fn serves(&self, service: ServiceCode) -> bool {
        service != ServiceCode::INVALID && self.services.contains(&service)
    }

    fn request(
        &mut self,
        now: Instant,
        peer: &Peer,
        ecn: Ecn,
        packet: &Decoded<'_>,
        long: &Packet<'_>,
        service: ServiceCode,
    ) -> Outcome<'_> {
        if !self.serves(service) {
            return self.refuse(now, long, ResetCode::BAD_SERVICE_CODE);
        }
        let full = self.half_open() >= self.options.backlog;
        match self.options.init_cookies {
            InitCookies::Never if full => self.refuse(now, long, ResetCode::TOO_BUSY),
            InitCookies::WhenBusy if full => self.reply_statelessly(now, peer, ecn, packet, long, service),
            InitCookies::Always => self.reply_statelessly(now, peer, ecn, packet, long, service),
            InitCookies::Never | InitCookies::WhenBusy => {
                let iss = self.keys.initial_number(now, peer);
                let mut server = Box::new(self.respond(now, peer, long, service, iss));
                server.opening.join_backlog(&self.backlog);
                let delivery = server.handle(now, ecn, packet);
                if server.state() == State::Closed && !self.refusals.permits(now) {
                    return Outcome::Ignored(Ignored::OptionError);
                }
                Outcome::Accepted(server, delivery)
            }
        }
    }

    fn respond(
        &mut self,
        now: Instant,
        peer: &Peer,
        request: &Packet<'_>,
        service: ServiceCode,
        iss: Seq48,
    ) -> Connection {
        let random = self.random.stream("connection");
        let mut server = Connection::respond(now, Arc::clone(&self.options), request, service, random, iss);
        server.set_path(peer.path());
        server
    }

    fn reply_statelessly(
        &mut self,
        now: Instant,
        peer: &Peer,
        ecn: Ecn,
        packet: &Decoded<'_>,
        long: &Packet<'_>,
        service: ServiceCode,
    ) -> Outcome<'_> {
        let iss = self.keys.response_number(now, peer, long.seq);
        let mut server = Box::new(self.respond(now, peer, long, service, iss));
        server.opening.refuse_data();
        server.handle(now, ecn, packet);
        let mut fits = true;
        if server.state() == State::Respond {
            let limit = long.encoded_len() * AMPLIFICATION;
            fits = self.add_cookie(now, peer, long, &mut server, limit);
            if !fits {
                // Optional features are negotiated later.
                server.negotiation.postpone();
                fits = self.add_cookie(now, peer, long, &mut server, limit);
            }
            server.opening.limit_response(limit);
            server.go(Cause::SndInitCookie);
        } else if !self.refusals.permits(now) {
            // A Reset because of an option counts against the limit of refusals.
            return Outcome::Ignored(Ignored::OptionError);
        }
        if !fits {
            // The Request is too short for the Response that it needs.
            return self.refuse(now, long, ResetCode::TOO_BUSY);
        }
        let reply = self.stateless.insert(server).stateless_reply(now);
        reply.map_or(Outcome::Ignored(Ignored::NoConnection), Outcome::Reply)
    }

    /// Adds a cookie to a Response. Returns whether the size stays within the limit.
    fn add_cookie(
        &mut self,
        now: Instant,
        peer: &Peer,
        request: &Packet<'_>,
        server: &mut Connection,
        limit: usize,
    ) -> bool {
        let mut features = Vec::new();
        server.negotiation.save(&mut features);
        let iss = self.keys.response_number(now, peer, request.seq);
        let cookie = self.keys.seal(now, peer, iss, request.seq, server.service, &features);
        let cookies = server.opening.set_cookie(&cookie);
        let options = cookies + server.negotiation.response_len() + server.timing_len();
        PacketType::Response.header_len(true) + options.next_multiple_of(4) <= limit
    }

    /// Handles a packet other than a Request. It completes a handshake if it carries a valid cookie.
    fn completion(
        &mut self,
        now: Instant,
        peer: &Peer,
        ecn: Ecn,
        packet: &Decoded<'_>,
        long: &Packet<'_>,
    ) -> Outcome<'_> {
        let allowed = self.options.init_cookies != InitCookies::Never && follows_response(&long.body);
        let cookie = if allowed { cookie(long) } else { Vec::new() };
        let Some(ack) = long.body.ack().filter(|_| !cookie.is_empty()) else {
            return self.refuse(now, long, ResetCode::NO_CONNECTION);
        };
        let Some(opened) = self.keys.open(now, peer, ack, &cookie) else {
            return self.refuse(now, long, ResetCode::BAD_INIT_COOKIE);
        };
        if self.keys.is_spent(&cookie) {
            return self.refuse(now, long, ResetCode::NO_CONNECTION);
        }
        let kept = Kept { iss: ack, isr: opened.isr, response_sent: opened.response_sent, features: opened.features };
        let (options, random) = (Arc::clone(&self.options), self.random.stream("connection"));
        let Some(mut server) = Connection::resume(now, options, long, opened.service, random, kept).map(Box::new)
        else {
            return self.refuse(now, long, ResetCode::BAD_INIT_COOKIE);
        };
        server.set_path(peer.path());
        server.opening.join_backlog(&self.backlog);
        let delivery = server.handle(now, ecn, packet);
        // An invalid packet, or a CloseReq, does not complete the handshake.
        if server.state() == State::Respond {
            if self.half_open() > self.options.backlog {
                return Outcome::Ignored(Ignored::NoConnection);
            }
        } else {
            self.keys.spend(&cookie);
        }
        Outcome::Accepted(server, delivery)
    }

    fn refuse(&mut self, now: Instant, packet: &Packet<'_>, code: ResetCode) -> Outcome<'static> {
        match refusal(packet, Reset { code, data: [0; 3] }) {
            Some(reset) if self.refusals.permits(now) => Outcome::Reply(reset),
            _ => Outcome::Ignored(Ignored::NoConnection),
        }
    }
}

impl Connection {
    /// Closes the connection silently because another one has [replaced it](Listener::contest).
    pub(crate) fn close_silently(&mut self, now: Instant) {
        if self.go(Cause::TimeWaitOver) {
            self.timers.stop_all();
        } else {
            self.give_up(now);
        }
        self.pending.clear_answers();
    }
}

fn cookie(packet: &Packet<'_>) -> Vec<u8> {
    let mut cookie = Vec::new();
    for option in packet.options.iter().flatten() {
        if let DccpOption::InitCookie(part) = option {
            cookie.extend_from_slice(part);
        }
    }
    cookie
}
