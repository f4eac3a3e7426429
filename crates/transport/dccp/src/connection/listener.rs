//! A server's port: RFC 4340 section 8.5 step 3, and refusals (section 8.1.3).
//!
//! Every client that follows the RFC echoes Init Cookies; Linux's does not know them. So by default a Request gets a
//! connection in RESPOND as long as the backlog has room, which any client can finish, and an Init Cookie once it is full,
//! which costs nothing until the handshake ends: under a flood of Requests the clients that follow the RFC are served, and
//! the others once the flood is over. [`InitCookies`] chooses otherwise.

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

/// A Response that keeps nothing is at most this many times as long as its Request: a forged one gains little by it.
const AMPLIFICATION: usize = 3;

/// How long a key makes cookies, which are valid for twice as long.
const COOKIE_LIFETIME: Duration = Duration::from_secs(240);
/// Resets per second of a listener, at most (RFC 4340 section 8.1.3).
const REFUSALS_PER_SECOND: u32 = 1024;

/// A port on which a server listens.
#[derive(Debug)]
pub struct Listener {
    options: Arc<ConnectionOptions>,
    services: Vec<ServiceCode>,
    random: Box<dyn Entropy>,
    keys: CookieKeys,
    /// Each connection in RESPOND holds a copy.
    backlog: Arc<()>,
    refusals: RateLimit,
    /// The connection whose Response went last, if that went with a cookie.
    stateless: Option<Box<Connection>>,
}

/// What a packet without a connection leads to.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// Nothing.
    Ignored(Ignored),
    /// This goes back: a Reset, or a Response with an Init Cookie. Nothing is kept.
    Reply(Outgoing<'a>),
    /// A connection in RESPOND or OPEN, which from now on gets the packets of this peer. It has processed this packet; the
    /// delivery says what is to be done with its data.
    Accepted(Box<Connection>, Delivery),
}

impl Listener {
    /// Listens for these service codes. From `random` come its keys of cookies and sequence numbers, and all that its connections
    /// draw: where the network can be attacked, nobody can guess its bits.
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

    /// Connections in RESPOND.
    #[must_use]
    pub fn half_open(&self) -> usize {
        Arc::strong_count(&self.backlog) - 1
    }

    /// A packet has come this way for which there is no connection.
    pub fn handle(&mut self, now: Instant, path: Path, ecn: Ecn, packet: &Decoded<'_>) -> Outcome<'_> {
        let Decoded::Long(long) = packet else { return Outcome::Ignored(Ignored::ShortNumbers) };
        let peer = &path.peer(Ports::of_receiver(long));
        match long.body {
            Body::Request { service } => self.request(now, peer, ecn, packet, long, service),
            _ => self.completion(now, peer, ecn, packet, long),
        }
    }

    /// Whether a packet from the peer of a connection in RESPOND, or of one that a Reset has ended there, is not the peer's of that
    /// connection: it is another Request, or brings a cookie. Whoever knows a client's port can have sent the first Request in its
    /// name, and a connection that nobody ends must not keep the client out: the packet goes to [`Self::contest`] instead of the
    /// connection.
    #[must_use]
    #[inline]
    pub fn is_contested(&self, connection: &Connection, packet: &Decoded<'_>) -> bool {
        let Decoded::Long(packet) = packet else { return false };
        self.options.init_cookies != InitCookies::Never
            && connection.is_foreign_in_respond(packet)
            && (packet.kind() == PacketType::Request || follows_response(&packet.body) && !cookie(packet).is_empty())
    }

    /// As [`Self::handle`] for a packet that [contests](Self::is_contested) a connection. A Request is answered with a cookie, and
    /// the connection stays. One that is accepted takes its place.
    pub fn contest(&mut self, now: Instant, path: Path, ecn: Ecn, packet: &Decoded<'_>) -> Outcome<'_> {
        let Decoded::Long(long) = packet else { return Outcome::Ignored(Ignored::ShortNumbers) };
        let peer = &path.peer(Ports::of_receiver(long));
        match long.body {
            Body::Request { service } if self.serves(service) => self.bake(now, peer, ecn, packet, long, service),
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
            InitCookies::WhenBusy if full => self.bake(now, peer, ecn, packet, long, service),
            InitCookies::Always => self.bake(now, peer, ecn, packet, long, service),
            InitCookies::Never | InitCookies::WhenBusy => {
                let iss = self.keys.initial_number(now, peer);
                let mut server = Box::new(self.respond(now, peer, long, service, iss));
                server.opening.take_place(&self.backlog);
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

    /// Answers a Request without keeping anything.
    fn bake(
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
                // What is not Mandatory is negotiated later.
                server.negotiation.put_off();
                fits = self.add_cookie(now, peer, long, &mut server, limit);
            }
            server.opening.limit_response(limit);
            server.go(Cause::SndInitCookie);
        } else if !self.refusals.permits(now) {
            // A Reset for an option's sake is a refusal as any other.
            return Outcome::Ignored(Ignored::OptionError);
        }
        if !fits {
            // A Request that is too short for what its answer must say.
            return self.refuse(now, long, ResetCode::TOO_BUSY);
        }
        let reply = self.stateless.insert(server).last_word(now);
        reply.map_or(Outcome::Ignored(Ignored::NoConnection), Outcome::Reply)
    }

    /// Puts a cookie on a Response, and says whether that keeps to its limit.
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
        let cookies = server.opening.bake(&cookie);
        let options = cookies + server.negotiation.response_len() + server.timing_len();
        PacketType::Response.header_len(true) + options.next_multiple_of(4) <= limit
    }

    /// Not a Request: with a good cookie it completes a handshake.
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
        server.opening.take_place(&self.backlog);
        let delivery = server.handle(now, ecn, packet);
        // A packet that is not valid, or a CloseReq, does not end the handshake.
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
    /// Another connection has [taken its place](Listener::contest): it is over, and says nothing more.
    pub(crate) fn give_way(&mut self, now: Instant) {
        if self.go(Cause::TimeWaitOver) {
            self.timers.stop_all();
        } else {
            self.give_up(now);
        }
        self.pending.forget_answers();
    }
}

/// The packet's cookie, of one option or more.
fn cookie(packet: &Packet<'_>) -> Vec<u8> {
    let mut cookie = Vec::new();
    for option in packet.options.iter().flatten() {
        if let DccpOption::InitCookie(part) = option {
            cookie.extend_from_slice(part);
        }
    }
    cookie
}
