//! Session with one peer.

use crate::error::{Refused, RefusedFeedback, SendError};
use crate::event::{Counters, Event};
use crate::options::SessionOptions;
use crate::packet::RtpPacket;
use crate::receiver::Receiver;
use crate::reports::Reports;
use crate::rtcp::{RtcpPacket, RtcpPackets, middle_bits};
use crate::sender::{Queued, Sending};
use headway_media::{Media, RtpHeader, Unsent};
use headway_rate::{CcfbPacket, EncoderRate, Status};
use headway_units::{Bytes, Duration, Ecn, Instant, OptionError, Random, Rate};
use std::collections::VecDeque;

/// Maximum number of unread events; beyond it the oldest are discarded.
const MAX_EVENTS: usize = 1024;
/// Maximum number of RTCP datagrams of the program that wait.
const MAX_PROGRAM_REPORTS: usize = 64;
/// Maximum number of RTCP datagrams of the session that wait; beyond it the oldest are discarded. A report has at most
/// 65.
const MAX_OWN_REPORTS: usize = 128;

/// RTP session with one peer: sends streams under a rate controller, and reports the arrival of the peer's streams.
///
/// It has no socket and no clock. The program passes received datagrams and the time to it, and sends what it returns:
///
/// 1. [`handle`](Self::handle) each received datagram, and [`send`](Self::send) packets;
/// 2. [`handle_timeout`](Self::handle_timeout) if the time of [`poll_timeout`](Self::poll_timeout) has come;
/// 3. [`poll_transmit`](Self::poll_transmit) until it returns `None`, and [`poll_event`](Self::poll_event), too;
/// 4. wait for a datagram, or until [`poll_timeout`](Self::poll_timeout).
///
/// RTP and RTCP may share a port (RFC 5761) or use two. SRTP is outside: encrypt after `poll_transmit`, decrypt before
/// `handle`. Without it, an attacker on the path can forge feedback.
#[derive(Debug)]
pub struct Session {
    options: SessionOptions,
    /// Synchronization source of this end in RTCP.
    ssrc: u32,
    sending: Sending,
    receiver: Receiver,
    reports: Option<Reports>,
    /// RTCP datagrams of the program and of the session to send.
    program_reports: VecDeque<Vec<u8>>,
    own_reports: VecDeque<Vec<u8>>,
    /// Whether a datagram was sent.
    has_sent: bool,
    encoder: EncoderRate,
    events: Events,
    counters: Counters,
}

/// Unread events.
#[derive(Debug, Default)]
struct Events {
    waiting: VecDeque<Event>,
    has_refusal: bool,
}

/// Kind and ECN field of a datagram to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Whether the datagram is RTCP and not RTP. It is sent to the peer's RTCP port, if that is a separate one.
    pub is_rtcp: bool,
    /// ECN field to set.
    pub ecn: Ecn,
}

/// Received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled<'a> {
    /// RTP packet for the program.
    Rtp(RtpPacket<'a>),
    /// RTCP datagram, of which the session has used its part: sender reports, congestion control feedback and BYE. A
    /// program with its own RTCP reads the same bytes.
    Rtcp,
}

impl Events {
    fn push(&mut self, event: Event) {
        if self.waiting.len() >= MAX_EVENTS {
            self.pop();
        }
        self.waiting.push_back(event);
    }

    fn refuse(&mut self, reason: RefusedFeedback) {
        if !std::mem::replace(&mut self.has_refusal, true) {
            self.push(Event::RefusedFeedback(reason));
        }
    }

    fn unsent(&mut self, unsent: &Unsent<Queued>) {
        let Unsent { media, cause, lateness } = unsent;
        self.push(Event::Unsent { number: media.payload.number, cause: *cause, lateness: *lateness });
    }

    fn pop(&mut self) -> Option<Event> {
        let event = self.waiting.pop_front()?;
        self.has_refusal &= !matches!(event, Event::RefusedFeedback(_));
        Some(event)
    }
}

impl Session {
    /// Starts a session.
    ///
    /// # Errors
    ///
    /// The first option that is out of range.
    pub fn new(now: Instant, options: SessionOptions, mut random: Random) -> Result<Self, OptionError> {
        options.check()?;
        let (drawn, times) = (random.bits() as u32, Random::new(random.bits(), "reports"));
        let ssrc = options.ssrc.unwrap_or(drawn);
        let reports = options.cname.clone().map(|cname| Reports::new(now, ssrc, cname, times));
        Ok(Self {
            ssrc,
            sending: Sending::new(now, &options, random),
            receiver: Receiver::new(&options),
            reports,
            program_reports: VecDeque::new(),
            own_reports: VecDeque::new(),
            has_sent: false,
            encoder: EncoderRate::new(options.encoder),
            events: Events::default(),
            counters: Counters::default(),
            options,
        })
    }

    /// Queues an RTP packet and returns its number in events, counted from 0. The controller and the send queue decide
    /// when it is sent. Its kind, priority and expiry are those of `media`; unless `media` has a fragment, the marker
    /// bit ends a frame.
    ///
    /// A sequence number must not be used twice within 16,384 packets.
    ///
    /// # Errors
    ///
    /// See [`SendError`]. A full queue is not an error: it drops a packet by its rules, which [`Event::Unsent`] reports.
    pub fn send(&mut self, now: Instant, media: Media<Vec<u8>>) -> Result<u64, SendError> {
        let (len, largest) = (media.payload.len(), self.options.largest());
        if len > largest {
            return Err(SendError::TooLarge { len, largest });
        }
        if RtpHeader::of(&media.payload, len) == Some(RtpHeader::Rtcp) {
            return Err(SendError::Ambiguous);
        }
        let Self { sending, events, .. } = self;
        sending.push(now, media, &mut |unsent| events.unsent(&unsent))
    }

    /// Queues an RTCP datagram of the program, such as its own reports. It is sent at the next
    /// [`poll_transmit`](Self::poll_transmit), whatever the controller allows: the program follows RFC 3550's limit of
    /// 5 %.
    ///
    /// # Errors
    ///
    /// See [`SendError`].
    pub fn send_rtcp(&mut self, datagram: Vec<u8>) -> Result<(), SendError> {
        let (len, largest) = (datagram.len(), self.options.largest());
        if len > largest {
            return Err(SendError::TooLarge { len, largest });
        }
        if RtpHeader::of(&datagram, len) != Some(RtpHeader::Rtcp) {
            return Err(SendError::Ambiguous);
        }
        if self.program_reports.len() >= MAX_PROGRAM_REPORTS {
            return Err(SendError::TooManyReports);
        }
        self.program_reports.push_back(datagram);
        Ok(())
    }

    /// Handles a datagram that arrived at `now` with this ECN field, RTP or RTCP by its first bytes (RFC 5761).
    ///
    /// # Errors
    ///
    /// The reason why the datagram is ignored.
    pub fn handle<'a>(&mut self, now: Instant, datagram: &'a [u8], ecn: Ecn) -> Result<Handled<'a>, Refused> {
        let handled = match RtpHeader::of(datagram, datagram.len()) {
            Some(RtpHeader::Rtp { .. }) => self.handle_rtp(now, datagram, ecn).map(Handled::Rtp),
            Some(RtpHeader::Rtcp) => self.handle_rtcp(now, datagram).map(|()| Handled::Rtcp),
            None => Err(Refused::Unknown),
        };
        self.counters.refused_packets += u64::from(handled.is_err());
        handled
    }

    fn handle_rtp<'a>(&mut self, now: Instant, datagram: &'a [u8], ecn: Ecn) -> Result<RtpPacket<'a>, Refused> {
        let packet = RtpPacket::parse(datagram)?;
        if self.sending.sends(packet.ssrc) {
            return Err(Refused::OwnStream { ssrc: packet.ssrc });
        }
        let clock_rate = self.options.clock_rate(packet.payload_type);
        self.receiver.on_packet(now, &packet, datagram.len(), ecn, clock_rate)?;
        self.counters.received_packets += 1;
        Ok(packet)
    }

    fn handle_rtcp(&mut self, now: Instant, datagram: &[u8]) -> Result<(), Refused> {
        let mut feedback = Vec::new();
        let mut malformed = None;
        for packet in RtcpPackets::new(datagram) {
            match packet {
                Ok(RtcpPacket::SenderReport { ssrc, info, .. }) => {
                    self.receiver.on_sender_report(now, ssrc, middle_bits(info.ntp));
                }
                Ok(RtcpPacket::CongestionFeedback(bytes)) => {
                    match CcfbPacket::decode(bytes, self.options.num_reports) {
                        Ok(packet) => feedback.push(packet),
                        Err(error) => self.refuse(error.into()),
                    }
                }
                Ok(RtcpPacket::Bye { sources }) => {
                    for source in sources {
                        let ssrc = u32::from_be_bytes(*source);
                        if self.receiver.on_bye(ssrc) {
                            self.events.push(Event::Bye(ssrc));
                        }
                    }
                }
                Ok(_) => {}
                Err(error) => malformed = Some(error),
            }
        }
        if !feedback.is_empty() {
            let Self { sending, events, counters, .. } = self;
            counters.feedback += sending.on_feedback(now, &feedback, |reason| {
                counters.refused_feedback += 1;
                events.refuse(reason);
            });
            self.update(now);
        }
        malformed.map_or(Ok(()), |error| Err(error.into()))
    }

    fn refuse(&mut self, reason: RefusedFeedback) {
        self.counters.refused_feedback += 1;
        self.events.refuse(reason);
    }

    /// Publishes what has changed: the rate of the encoder, and a silence of the peer or its end.
    fn update(&mut self, now: Instant) {
        // Before the first feedback, controllers have no rate, or only a first guess.
        if self.round_trip().is_some()
            && let Some(status) = self.status().filter(Status::is_rate_known)
            && let Some(rate) = self.encoder.update(now, status.target_rate)
        {
            self.events.push(Event::Rate(rate));
        }
        if let Some(silence) = self.sending.take_silence(now) {
            self.events.push(Event::FeedbackStopped(silence));
        } else if self.sending.take_resumption() {
            self.events.push(Event::FeedbackResumed);
        }
    }

    /// Handles all timers up to `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.sending.handle_timeout(now);
        self.update(now);
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) and [`poll_transmit`](Self::poll_transmit); `None`
    /// if no timer runs.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let reports = self.reports.as_ref().map(Reports::poll_timeout);
        [self.sending.poll_timeout(), self.receiver.poll_timeout(), reports].into_iter().flatten().min()
    }

    /// Replaces the contents of `datagram` with a datagram to send now, if any.
    pub fn poll_transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<Transmit> {
        self.make_reports(now);
        let Self { sending, events, program_reports, own_reports, .. } = self;
        let transmit = if let Some(report) = program_reports.pop_front().or_else(|| own_reports.pop_front()) {
            *datagram = report;
            Transmit { is_rtcp: true, ecn: Ecn::NotEct }
        } else {
            let ecn = sending.poll_transmit(now, datagram, &mut |unsent| events.unsent(&unsent))?;
            Transmit { is_rtcp: false, ecn }
        };
        self.has_sent = true;
        Some(transmit)
    }

    /// Creates the RTCP datagrams that are due.
    fn make_reports(&mut self, now: Instant) {
        let Self { options, sending, receiver, reports, own_reports, .. } = self;
        if let Some(reports) = reports {
            own_reports.extend(reports.poll(now, options, sending.streams_mut(), receiver));
        }
        own_reports.extend(receiver.feedback(now, self.ssrc, options.num_reports));
        own_reports.drain(..own_reports.len().saturating_sub(MAX_OWN_REPORTS));
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Stops sending RTP, as a circuit breaker does (RFC 8083): drops all waiting packets, without events, and refuses
    /// further ones. Reception and feedback continue.
    pub fn stop(&mut self) {
        self.sending.stop();
    }

    /// Stops sending RTP and, with a [canonical name](SessionOptions::cname), queues a last report with a BYE of all
    /// sent streams, which the next calls of [`poll_transmit`](Self::poll_transmit) return. A session that has sent
    /// nothing sends no BYE (RFC 3550 section 6.3.7).
    pub fn close(&mut self, now: Instant) {
        self.stop();
        let Self { options, sending, receiver, own_reports, .. } = self;
        if let Some(reports) = self.reports.take().filter(|_| self.has_sent) {
            own_reports.extend(reports.bye(now, options, sending.streams_mut(), receiver));
        }
    }

    /// Returns the rate that the encoder should produce, the last [`Event::Rate`]; `None` before the first feedback.
    /// Without a limit by the controller, as under `none`, it is the [ceiling](headway_rate::EncoderOptions::ceiling) of
    /// the encoder.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.encoder.rate()
    }

    /// Returns the state of the controller; `None` after [`stop`](Self::stop).
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.sending.status()
    }

    /// Returns the smoothed round-trip time, measured by feedback; `None` before the first.
    #[must_use]
    pub const fn round_trip(&self) -> Option<Duration> {
        self.sending.round_trip()
    }

    /// Returns the size of all packets in the send queue.
    #[must_use]
    pub fn queued_bytes(&self) -> Bytes {
        self.sending.queued_bytes()
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let [sent_packets, sent_bytes, acknowledged_packets, lost_packets] = self.sending.counts();
        Counters { sent_packets, sent_bytes, acknowledged_packets, lost_packets, ..self.counters }
    }
}
