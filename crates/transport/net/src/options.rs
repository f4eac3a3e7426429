//! Options of an endpoint.

use crate::driver::Common;
use crate::secure::{DtlsOptions, Fingerprint, Identity, SecureError, Trust};
use crate::{Clock, Qlog};
use headway_dccp::{Ccid, CcidController, ConnectionOptions, EndpointOptions, Fec, ServiceCode};
use headway_media::SendQueueOptions;
use headway_rate::EncoderOptions;
use headway_rate::{ControllerOptions, Need};
use headway_units::{Dialect, Duration, OptionError, Options as _, QueueSize, Registry as _};

/// CCID of each controller of connections. CCIDs from 248 on are experimental (RFC 4340 section 19.5), and both ends
/// must agree on them; scenarios use 248 to 250 and 252 to 254 for the same controllers. There are fewer numbers than
/// controllers. `none` and `spacing-fixed`, whose receivers send no reports, share a CCID, and so do `scream2`, `gcc` and
/// `prague`, whose receivers send the same reports: the sender alone decides. `rap` and `nada` share one, too, but a receiver of
/// one does not report what a sender of the other needs.
const CCIDS: [(&str, u8); 14] = [
    ("tcp-like", 2),
    ("tfrc", 3),
    ("tfrc-sp", 4),
    ("udpm", 248),
    ("spacing", 249),
    ("tfrc-filtered", 250),
    ("scream2", 251),
    ("gcc", 251),
    ("prague", 251),
    ("spacing-fixed", 252),
    ("none", 252),
    ("spacing-equation", 253),
    ("rap", 254),
    ("nada", 254),
];

/// Options of an endpoint and all its connections.
///
/// Both ends must set the same [`port`](Self::port), [`service`](Self::service) and security, and the same controller
/// if it is [experimental](Self::with_controller). Each end chooses all other options.
#[derive(Clone, Debug)]
pub struct Options {
    /// DTLS below DCCP; `None`: plain DCCP in UDP (RFC 6773).
    pub dtls: Option<DtlsOptions>,
    /// Protocol options: controllers, windows, timers.
    pub connection: ConnectionOptions,
    /// Limits of the number of connections and of the rate of Resets.
    pub endpoint: EndpointOptions,
    /// Maximum number of simultaneous connections that peers opened; further ones get a Reset with the code "Too Busy".
    /// `None`: only the limit of [`endpoint`](Self::endpoint), which counts connections of both directions.
    pub accepted: Option<usize>,
    /// Send queue: order, expiry, size, and whether lost datagrams are sent again.
    pub queue: SendQueueOptions,
    /// Conversion of the controller's rate to the rate of an encoder.
    pub encoder: EncoderOptions,
    /// Service code of the connections (RFC 4340 section 8.1.2), "HDWY" by default. `headway relay` has "HDWR".
    pub service: ServiceCode,
    /// DCCP port of the server, 5004 by default. It is independent of the UDP port.
    pub port: u16,
    /// Maximum number of unread datagrams of a connection, at least 1; further datagrams are dropped.
    pub unread: usize,
    /// Maximum number of unread events of a connection, at least 1; beyond it the oldest are discarded. A program that
    /// counts outcomes needs at least the number of events between two reads.
    pub events: usize,
    /// Whether [`Event::Media`](crate::Event::Media) reports each transmission and the outcome of each datagram.
    pub follow: bool,
    /// Forward error correction of the data that this endpoint sends, if the peer accepts it; [`Fec::Auto`] by default.
    /// Outcomes of datagrams include those that the peer can restore.
    pub fec: Fec,
    /// Longest time for which a received datagram is held back for earlier ones of its priority that the peer may still
    /// send again, so that the program reads them in order; `None`: each datagram is delivered when it arrives.
    pub order_wait: Option<Duration>,
    /// Whether the endpoint connects again, with the same [`Connection`](crate::Connection#reconnection), when a
    /// connection that it opened is lost after it was established.
    pub reconnect: bool,
    /// Folder of qlog files, one for each connection; `None`: there are none. Datagrams that the send queue drops are
    /// recorded if [`follow`](Self::follow) is set. A log needs the feature `qlog` of this crate.
    pub qlog: Option<Qlog>,
    /// Clock of the endpoint. A clock [with errors](Clock::with_model) is only useful to measure their effects.
    pub clock: Clock,
}

fn ccid(kind: &str) -> Result<u8, OptionError> {
    let found = CCIDS.iter().find(|(known, _)| *known == kind);
    found.map(|(_, number)| *number).ok_or_else(|| unknown(kind))
}

fn unknown(kind: &str) -> OptionError {
    let known: Vec<&str> = CCIDS.iter().map(|(known, _)| *known).collect();
    OptionError::new("controller", format!("\"{kind}\" is unknown; expected one of {}", known.join(", ")))
}

impl Options {
    /// Creates options with DTLS, this identity and these trusted peers, and defaults otherwise.
    #[must_use]
    pub fn new(identity: Identity, trust: Trust) -> Self {
        let connection = ConnectionOptions { handshake_data: true, ..ConnectionOptions::under_dtls() };
        Self::with(Some(DtlsOptions::new(identity, trust)), connection)
    }

    /// Creates server options with DTLS and a new identity, for clients with any identity. The identity exists only in
    /// these options: unless the program stores it, it differs at the next start. Clients authenticate the server by
    /// its [fingerprint](Self::fingerprint), which the program must pass to them.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn server() -> Result<Self, SecureError> {
        Ok(Self::new(Identity::generate()?, Trust::AnyPeer))
    }

    /// Creates client options with DTLS, a new identity and these trusted servers.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn client(trust: Trust) -> Result<Self, SecureError> {
        Ok(Self::new(Identity::generate()?, trust))
    }

    /// Creates options without security: plain DCCP in UDP (RFC 6773). An attacker on the path can read all packets and
    /// forge others.
    #[must_use]
    pub fn insecure() -> Self {
        Self::with(None, ConnectionOptions::real())
    }

    fn with(dtls: Option<DtlsOptions>, mut connection: ConnectionOptions) -> Self {
        // RFC 4340 section 8.1.1 suggests three minutes; the user of a call waits less.
        connection.expert.request_give_up = Duration::from_secs(10);
        let mut queue = SendQueueOptions::preset("sure-first", Dialect::default())
            .unwrap_or(SendQueueOptions::fifo(Dialect::default()));
        queue.rules.limit = QueueSize::Packets(256);
        queue.rules.resend = true;
        Self {
            dtls,
            connection,
            endpoint: EndpointOptions::default(),
            accepted: None,
            queue,
            encoder: EncoderOptions::default(),
            service: ServiceCode::from_ascii("HDWY").unwrap_or_default(),
            port: 5004,
            unread: 1024,
            events: 1024,
            follow: true,
            fec: Fec::Auto,
            order_wait: Some(Duration::from_secs(1)),
            reconnect: false,
            qlog: None,
            clock: Clock::new(),
        }
    }

    /// Returns the fingerprint by which peers authenticate this endpoint; `None` without DTLS.
    #[must_use]
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.dtls.as_ref().map(|dtls| dtls.identity.fingerprint())
    }

    /// Selects the send queue by its name in scenarios, with the defaults of this kind, except that the limit and the
    /// rule `resend` of these options are kept. The default is `sure-first`.
    ///
    /// # Errors
    ///
    /// If the name is unknown.
    pub fn with_queue(mut self, kind: &str) -> Result<Self, OptionError> {
        let (limit, resend) = (self.queue.rules.limit, self.queue.rules.resend);
        self.queue = SendQueueOptions::preset(kind, Dialect::default()).ok_or_else(|| {
            let known = SendQueueOptions::KINDS.join(", ");
            OptionError::new("queue", format!("\"{kind}\" is unknown; expected one of {known}"))
        })?;
        (self.queue.rules.limit, self.queue.rules.resend) = (limit, resend);
        Ok(self)
    }

    /// Selects the controller of both directions by its name in scenarios. The default is `tfrc-filtered` or, if the
    /// peer does not accept it, `tfrc`, `tcp-like` or `tfrc-sp`. All others (`none`, `udpm`, `spacing`, ...) are
    /// experimental, and both ends must select the same. `none` and `spacing-fixed` count as the same, since the sender
    /// alone decides, and so do `scream2`, `gcc` and `prague`.
    ///
    /// # Errors
    ///
    /// If the name is unknown, or if a connection with these options cannot provide what the controller needs
    /// ([`Need`](headway_rate::Need)).
    pub fn with_controller(self, kind: &str) -> Result<Self, OptionError> {
        let controller = self.controller_options(kind)?;
        self.with_controller_options(controller)
    }

    /// Returns the options of the controller with this name: those that these options have for it, otherwise its
    /// defaults.
    ///
    /// # Errors
    ///
    /// If the name is unknown.
    pub fn controller_options(&self, kind: &str) -> Result<ControllerOptions, OptionError> {
        let number = ccid(kind)?;
        // The preset rows fit the needs of real paths.
        let row = self.connection.controllers.iter().find(|row| row.ccid.0 == number);
        let known = row.map(|row| row.controller.clone()).filter(|controller| controller.kind() == kind);
        known.or_else(|| ControllerOptions::preset(kind, Dialect::default())).ok_or_else(|| unknown(kind))
    }

    /// Selects the controller of both directions with its options. On some options ([`Terms`](headway_rate::Terms))
    /// both ends agree when they connect: the sender decides the rates of `udpm`, and a receiver whose rules are not
    /// the default ones accepts only its own rules.
    ///
    /// # Errors
    ///
    /// If a connection with these options cannot provide what the controller needs ([`Need`](headway_rate::Need)), or
    /// if an option cannot be encoded for the handshake.
    pub fn with_controller_options(mut self, controller: ControllerOptions) -> Result<Self, OptionError> {
        let number = ccid(controller.kind())?;
        for need in controller.needs() {
            self.connection.fulfils(need)?;
        }
        controller.check_terms()?;
        if controller.classifies_losses() && controller.kind() != "tfrc-filtered" {
            let message =
                "a filter needs the sender's clock, which only data of tfrc-filtered carries; expected that controller";
            return Err(OptionError::new("loss_filter", message));
        }
        self.connection.send_ccids = vec![number];
        self.connection.receive_ccids = vec![number];
        if let Some(row) = self.connection.controllers.iter_mut().find(|row| row.ccid.0 == number) {
            row.controller = controller;
        } else {
            let row = CcidController::new(Ccid(number), controller);
            self.connection.controllers = vec![CcidController { ack_vectors: true, ..row }];
            // These controllers may expect a report each round trip.
            self.connection.expert.report_gap = None;
        }
        Ok(self)
    }

    /// Returns whether the controller with this CCID, as configured here, needs the line rate of the sender's interface
    /// ([`ConnectionOptions::line_rate`]).
    #[must_use]
    pub fn needs_line_rate(&self, ccid: Ccid) -> bool {
        let row = self.connection.controllers.iter().find(|row| row.ccid == ccid);
        row.is_some_and(|row| row.controller.needs().any(|need| need == Need::LineRate))
    }

    /// Returns the names of all controllers that connections can use.
    pub fn controllers() -> impl Iterator<Item = &'static str> + Clone {
        CCIDS.iter().map(|(name, _)| *name)
    }

    fn checked(&self) -> Result<(), OptionError> {
        self.connection.check()?;
        self.queue.check()?;
        self.encoder.check()?;
        self.fec.check()?;
        if self.unread == 0 {
            return Err(OptionError::new("unread", "0 drops every datagram; expected at least 1"));
        }
        if self.events == 0 {
            return Err(OptionError::new("events", "0 drops the event of the end; expected at least 1"));
        }
        Ok(())
    }

    pub(crate) fn common(&self) -> Result<Common, OptionError> {
        self.checked()?;
        let Self { mut connection, queue, encoder, service, port, unread, events, qlog, .. } = self.clone();
        connection.receive_repairs = true;
        let Self { follow, fec, accepted, order_wait, reconnect, clock, .. } = *self;
        Ok(Common {
            connection,
            queue,
            encoder,
            service,
            port,
            unread,
            events,
            follow,
            fec,
            accepted,
            order_wait,
            reconnect,
            qlog,
            clock,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Every controller has valid default options. Those with equal reports share a CCID, and `rap` and `nada`.
    #[test]
    fn each_controller_has_a_ccid_and_valid_options() {
        let mut kinds: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
        for (kind, number) in CCIDS {
            match Options::insecure().with_controller(kind) {
                Ok(options) => assert!(options.checked().is_ok(), "{kind}"),
                // A need is reported with the key of the option that meets it.
                Err(error) => assert!(["line_rate", "ecn"].contains(&error.key), "{kind}: {error:?}"),
            }
            kinds.entry(number).or_default().push(kind);
        }
        kinds.retain(|_, kinds| kinds.len() > 1);
        let shared =
            [(251, vec!["scream2", "gcc", "prague"]), (252, vec!["spacing-fixed", "none"]), (254, vec!["rap", "nada"])];
        assert_eq!(kinds, BTreeMap::from(shared));
        let unknown = Options::insecure().with_controller("cubic").unwrap_err();
        assert!(unknown.message.contains("tfrc-sp"), "{}", unknown.message);
    }

    /// RFC 4340 section 10: CCIDs 2, 3 and 4 are those of RFC 4341, RFC 4342 and RFC 5622. Section 19.5: 248 to 254
    /// are experimental.
    #[test]
    fn other_controllers_have_experimental_ccids() {
        let standard = [("tcp-like", 2), ("tfrc", 3), ("tfrc-sp", 4)];
        for row in CCIDS {
            assert!((248..=254).contains(&row.1) || standard.contains(&row), "{row:?}");
        }
    }

    /// Packet spacing sections 2.1 and 2.2: a sender without arrival times in reports needs its line rate.
    #[test]
    fn packet_spacing_needs_the_line_rate() {
        let mut options = Options::insecure();
        options.connection.line_rate = Some(headway_units::Rate::from_bits_per_second(100_000_000));
        let spaced = options.with_controller("spacing").unwrap();
        assert!(spaced.needs_line_rate(Ccid(249)));
        assert!(!spaced.needs_line_rate(Ccid(3)) && !Options::insecure().needs_line_rate(Ccid(3)));
    }

    #[test]
    fn options_out_of_range_are_rejected_with_their_key() {
        for (key, change) in [
            ("unread", (|of| of.unread = 0) as fn(&mut Options)),
            ("events", |of| of.events = 0),
            ("headroom", |of| of.encoder.headroom = 1.0),
            ("limit", |of| of.queue.rules.limit = QueueSize::Packets(0)),
        ] {
            let mut options = Options::insecure();
            change(&mut options);
            assert_eq!(options.common().unwrap_err().key, key);
        }
        let least = Options { unread: 1, events: 1, ..Options::insecure() };
        let common = least.common().unwrap();
        assert_eq!((common.unread, common.events, common.port, common.accepted), (1, 1, least.port, None));
    }

    /// A queue is selected by its name and keeps the limit, and whether lost datagrams are sent again.
    #[test]
    fn queues_are_selected_by_name() {
        let kind = |options: &Options| options.queue.kind().to_owned();
        assert_eq!(kind(&Options::insecure()), "sure-first");
        let options = Options::insecure().with_queue("sfdps2").unwrap();
        assert_eq!((kind(&options).as_str(), options.queue.rules.limit), ("sfdps2", QueueSize::Packets(256)));
        assert!(options.queue.rules.resend);
        let unknown = Options::insecure().with_queue("sfpds2").unwrap_err();
        assert!(unknown.message.contains("sfdps2"), "{}", unknown.message);
    }

    /// Only an end with DTLS has an identity, and each new one is different.
    #[test]
    fn options_with_dtls_have_a_fingerprint() {
        let [one, other] = [(); 2].map(|()| Options::server().unwrap());
        assert!(one.fingerprint().is_some() && one.fingerprint() != other.fingerprint());
        assert_eq!(Options::insecure().fingerprint(), None);
    }
}
