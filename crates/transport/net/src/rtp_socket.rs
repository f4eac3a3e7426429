//! RTP session on UDP sockets.

mod shared;
#[cfg(test)]
mod tests;

use crate::entropy::SystemEntropy;
use crate::unread::Unread;
use crate::{BreakerReason, Clock, EndpointError, Media, PeerError};
use headway_rtp::{Counters, SendError, Session, SessionOptions, Status};
use headway_units::{Bytes, Duration, Entropy as _, OptionError, Random, Rate};
use shared::Shared;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Options of an [`RtpSocket`].
#[derive(Clone, Debug)]
pub struct RtpOptions {
    /// Controller, send queue and RTCP of the session.
    pub session: SessionOptions,
    /// Whether RTP and RTCP share one port (RFC 5761), the default. Otherwise RTP uses an even port, and RTCP the next
    /// one (RFC 3550 section 11), at both ends.
    pub is_multiplexed: bool,
    /// Maximum number of unread datagrams, at least 1; beyond it the oldest are dropped.
    pub unread: usize,
    /// Maximum number of unread events, at least 1; beyond it the oldest are discarded.
    pub events: usize,
    /// Clock of the socket.
    pub clock: Clock,
}

/// UDP socket of an RTP session with one peer, or two sockets, and the threads that serve them.
///
/// A packet that the program [sends](Self::send) waits in the send queue until the controller permits it. Received RTP
/// packets are reported to the peer by congestion control feedback (RFC 8888).
///
/// A circuit breaker (RFC 8083) stops a sender whose packets harm the network or do not arrive, under any controller.
///
/// Packets are neither encrypted nor authenticated. A program with SRTP drives a [`Session`] itself.
///
/// ```
/// use headway_net::rtp::{RtpPacket, SessionOptions};
/// use headway_net::{Duration, Media, RtpKind, RtpOptions, RtpSocket};
///
/// let options = RtpOptions::new(SessionOptions::new("scream2")?);
/// let viewer = RtpSocket::bind("127.0.0.1:0".parse()?, &options)?;
/// let camera = RtpSocket::bind("127.0.0.1:0".parse()?, &options)?;
/// camera.connect(viewer.local_addr())?;
///
/// let mut packet = Vec::new();
/// RtpPacket { payload_type: 96, ssrc: 7, payload: b"picture", ..RtpPacket::default() }.encode(&mut packet)?;
/// camera.send(Media { expires: Some(Duration::from_millis(150)), ..Media::new(&packet) })?;
///
/// let mut received = Vec::new();
/// assert_eq!(viewer.recv(&mut received)?, RtpKind::Rtp);
/// assert_eq!(received, packet);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RtpSocket {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Event of an [`RtpSocket`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RtpEvent {
    /// Event of the session.
    Session(headway_rtp::Event),
    /// The circuit breaker stopped the sender, for good. A program that starts another session must wait at least for
    /// the time that the reason states, and do so only if something has changed (RFC 8083 section 4.5).
    Breaker(BreakerReason),
}

/// Kind of a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtpKind {
    /// One RTP packet.
    Rtp,
    /// One or more RTCP packets. They are received only without a
    /// [canonical name](SessionOptions::cname): by a program that sends its own reports.
    Rtcp,
}

/// The socket has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the RTP socket is closed")]
pub struct RtpClosed;

impl RtpOptions {
    /// Creates options with RTP and RTCP on one port, and 1024 unread datagrams and events.
    #[must_use]
    pub fn new(session: SessionOptions) -> Self {
        Self { session, is_multiplexed: true, unread: 1024, events: 1024, clock: Clock::new() }
    }

    fn check(&self) -> Result<(), OptionError> {
        for (key, value) in [("unread", self.unread), ("events", self.events)] {
            if value == 0 {
                return Err(OptionError::new(key, "0 is out of range; expected at least 1"));
            }
        }
        self.session.check()
    }
}

impl RtpSocket {
    /// Binds the socket to this address and starts its threads. Without [`connect`](Self::connect), the first sender of
    /// a valid RTP packet becomes the peer.
    ///
    /// # Errors
    ///
    /// An option that is out of range, or an address, port, thread or random number that the system refuses. If RTP and
    /// RTCP have two ports, the port of RTP must be even, or 0 for any.
    pub fn bind(local: SocketAddr, options: &RtpOptions) -> Result<Self, EndpointError> {
        options.check()?;
        let random = Random::new(SystemEntropy::new()?.bits(), "rtp");
        let session = Session::new(options.clock.now(), options.session.clone(), random)?;
        let shared = Arc::new(Shared::bind(local, options, session)?);
        let mut socket = Self { shared, threads: Vec::new() };
        for port in 0..socket.shared.ports() {
            let served = Arc::clone(&socket.shared);
            let thread = std::thread::Builder::new().name("headway-rtp".into());
            socket.threads.push(thread.spawn(move || served.serve(port))?);
        }
        Ok(socket)
    }

    /// Sets the RTP address of the peer, to which packets are sent. Datagrams from other addresses are
    /// [ignored](Self::ignored_datagrams).
    ///
    /// # Errors
    ///
    /// See [`PeerError`].
    pub fn connect(&self, peer: SocketAddr) -> Result<(), PeerError> {
        self.shared.connect(peer)
    }

    /// Returns the address to which the socket of RTP is bound.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.local_addr()
    }

    /// Queues an RTP packet and returns at once. Its number is used in [events](Self::next_event); numbers count from
    /// 0. The marker bit ends a frame.
    ///
    /// # Errors
    ///
    /// See [`SendError`]. A full queue is not an error: it drops a packet by its rules, which an event reports.
    pub fn send(&self, media: Media<'_>) -> Result<u64, SendError> {
        self.shared.with(|now, session| {
            let Media { payload, kind, priority, expires, method } = media;
            let expires = expires.map(|lifetime| now + lifetime);
            let queued = headway_media::Media::new(now, payload.to_vec());
            session.send(now, headway_media::Media { kind, priority, expires, method, ..queued })
        })
    }

    /// Sends an RTCP datagram of the program, such as its own reports.
    ///
    /// # Errors
    ///
    /// See [`SendError`].
    pub fn send_rtcp(&self, datagram: &[u8]) -> Result<(), SendError> {
        self.shared.with(|_, session| session.send_rtcp(datagram.to_vec()))
    }

    /// Waits for a datagram and replaces the contents of `datagram` with it.
    ///
    /// # Errors
    ///
    /// The socket has failed, and all received datagrams are read.
    pub fn recv(&self, datagram: &mut Vec<u8>) -> Result<RtpKind, RtpClosed> {
        let (kind, bytes) = self.shared.received.wait(None, Unread::next).flatten().ok_or(RtpClosed)?;
        *datagram = bytes;
        Ok(kind)
    }

    /// Waits for a datagram as [`recv`](Self::recv) does, for at most `timeout`. Returns `None` after the timeout.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn recv_timeout(&self, datagram: &mut Vec<u8>, timeout: Duration) -> Option<Result<RtpKind, RtpClosed>> {
        let received = self.shared.received.wait(Some(self.shared.after(timeout)), Unread::next)?;
        Some(received.ok_or(RtpClosed).map(|(kind, bytes)| {
            *datagram = bytes;
            kind
        }))
    }

    /// Waits for the next event. Returns `None` if the socket has failed and all events are read.
    #[must_use]
    pub fn next_event(&self) -> Option<RtpEvent> {
        self.shared.events.wait(None, Unread::next)?
    }

    /// Waits for the next event for at most `timeout`. Returns `None` after the timeout, and if the socket has failed
    /// and all events are read.
    #[must_use]
    pub fn event_timeout(&self, timeout: Duration) -> Option<RtpEvent> {
        self.shared.events.wait(Some(self.shared.after(timeout)), Unread::next)?
    }

    /// Returns the rate that the encoder should produce; `None` before the first feedback. Without a limit by the
    /// controller, as under `none`, it is the [ceiling](headway_rate::EncoderOptions::ceiling) of the encoder.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.shared.inspect(Session::rate)
    }

    /// Returns the state of the controller; `None` after the circuit breaker has stopped the sender.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.shared.inspect(Session::status)
    }

    /// Returns the smoothed round-trip time; `None` before the first feedback.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.shared.inspect(Session::round_trip)
    }

    /// Returns the size of all packets in the send queue.
    #[must_use]
    pub fn queued_bytes(&self) -> Bytes {
        self.shared.inspect(Session::queued_bytes)
    }

    /// Returns the counters of the session.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.inspect(Session::counters)
    }

    /// Returns the number of ignored datagrams: from other addresses than the peer's, and RTCP before the peer is known.
    #[must_use]
    pub fn ignored_datagrams(&self) -> u64 {
        self.shared.ignored()
    }
}

impl Drop for RtpSocket {
    /// Drops the packets that wait, and sends a BYE if the session has a [canonical name](SessionOptions::cname).
    fn drop(&mut self) {
        self.shared.close();
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}
