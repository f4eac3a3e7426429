//! What an endpoint is told.

use crate::Clock;
use crate::driver::Common;
use crate::encoder::EncoderOptions;
use crate::secure::{DtlsOptions, Fingerprint, Identity, SecureError, Trust};
use headway_dccp::{Ccid, CcidController, ConnectionOptions, EndpointOptions, ServiceCode};
use headway_media::SendQueueOptions;
use headway_rate::{ControllerOptions, Need};
use headway_units::{Dialect, Duration, OptionError, Options as _, QueueSize, Registry as _};

/// The CCID of each controller that a connection carries. From 248 on they are experiments (RFC 4340 section 19.5), of which both ends must know:
/// 248 to 250 and 252 to 254 are those of scenarios.
const CCIDS: [(&str, u8); 10] = [
    ("tcp-like", 2),
    ("tfrc", 3),
    ("tfrc-sp", 4),
    ("udpm", 248),
    ("spacing", 249),
    ("tfrc-filtered", 250),
    ("none", 251),
    ("spacing-fixed", 252),
    ("spacing-equation", 253),
    ("rap", 254),
];

/// The rules of an endpoint and of all its connections.
///
/// Both ends agree on [`port`](Self::port), [`service`](Self::service) and security; all else is each end's own business.
#[derive(Clone, Debug)]
pub struct Options {
    /// What stands below DCCP; `None`: nothing (RFC 6773).
    pub dtls: Option<DtlsOptions>,
    /// The protocol's: controllers, windows, timers.
    pub connection: ConnectionOptions,
    /// How many connections there may be, and what refusals.
    pub endpoint: EndpointOptions,
    /// Connections of peers at a time, at most; a peer beyond that gets a Reset with the code "Too Busy". `None`: as many as `endpoint` allows.
    pub accepted: Option<usize>,
    /// What waits to be sent, and what is thrown away when it is late.
    pub queue: SendQueueOptions,
    /// How the rate for an encoder follows the controller's.
    pub encoder: EncoderOptions,
    /// What the connections are for (RFC 4340 section 8.1.2).
    pub service: ServiceCode,
    /// The DCCP port of servers: inside of UDP, whose ports say nothing of it.
    pub port: u16,
    /// Datagrams that a connection keeps for a program that does not read them; more are lost.
    pub unread: usize,
    /// Events that a connection keeps for a program that does not read them; of more the oldest go. One that counts what became of each datagram
    /// needs as many as come while it does something else.
    pub events: usize,
    /// Whether events tell what became of each datagram.
    pub follow: bool,
    /// What the endpoint goes by. Only who measures what wrong clocks do needs one that [shows something else](Clock::shown_by).
    pub clock: Clock,
}

fn ccid(kind: &str) -> Result<u8, OptionError> {
    let found = CCIDS.iter().find(|(known, _)| *known == kind);
    found.map(|(_, number)| *number).ok_or_else(|| unknown(kind))
}

fn unknown(kind: &str) -> OptionError {
    let known: Vec<&str> = CCIDS.iter().map(|(known, _)| *known).collect();
    OptionError::new("controller", format!("there is no \"{kind}\": {}", known.join(", ")))
}

impl Options {
    /// DTLS with this identity, and with peers that are trusted.
    #[must_use]
    pub fn new(identity: Identity, trust: Trust) -> Self {
        let connection = ConnectionOptions { handshake_data: true, ..ConnectionOptions::under_dtls() };
        Self::with(Some(DtlsOptions::new(identity, trust)), connection)
    }

    /// A server with an identity that lasts as long as these options, for whatever client. Clients know it by its
    /// [fingerprint](Self::fingerprint), which the program has to tell them.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn server() -> Result<Self, SecureError> {
        Ok(Self::new(Identity::generate()?, Trust::Anyone))
    }

    /// A client of servers that are trusted.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn client(trust: Trust) -> Result<Self, SecureError> {
        Ok(Self::new(Identity::generate()?, trust))
    }

    /// No security: DCCP in UDP as RFC 6773 has it. Whoever sees a packet can read it, and forge the next.
    #[must_use]
    pub fn insecure() -> Self {
        Self::with(None, ConnectionOptions::real())
    }

    fn with(dtls: Option<DtlsOptions>, mut connection: ConnectionOptions) -> Self {
        // A user who waits for a call wants to know sooner than after the three minutes of RFC 4340 section 8.1.1.
        connection.expert.request_give_up = Duration::from_secs(10);
        let mut queue = SendQueueOptions::preset("sfdps2", Dialect::default())
            .unwrap_or(SendQueueOptions::fifo(Dialect::default()));
        queue.rules.limit = QueueSize::Packets(256);
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
            clock: Clock::new(),
        }
    }

    /// What peers have to know to tell this end from others.
    #[must_use]
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.dtls.as_ref().map(|dtls| dtls.identity.fingerprint())
    }

    /// Both ways of each connection have this controller, by the name that scenarios give it. `tfrc` is the default; all that no RFC defines
    /// (`none`, `udpm`, `spacing`, ..) are experiments, and both ends must ask for the same.
    ///
    /// # Errors
    ///
    /// If there is none of this name, or a connection cannot give it what it needs.
    pub fn with_controller(self, kind: &str) -> Result<Self, OptionError> {
        let controller = self.controller_options(kind)?;
        self.with_controller_options(controller)
    }

    /// The options that a controller of this kind has by default on real paths.
    ///
    /// # Errors
    ///
    /// If there is none of this name.
    pub fn controller_options(&self, kind: &str) -> Result<ControllerOptions, OptionError> {
        let number = ccid(kind)?;
        // Those of the RFCs are there, and fit what real paths need.
        let row = self.connection.controllers.iter().find(|row| row.ccid.0 == number);
        let known = row.map(|row| row.controller.clone()).filter(|controller| controller.kind() == kind);
        known.or_else(|| ControllerOptions::preset(kind, Dialect::default())).ok_or_else(|| unknown(kind))
    }

    /// The same as [`with_controller`](Self::with_controller), with options of the controller. Some are
    /// [terms](headway_rate::Terms), which both ends agree on when they connect: the scales of UDPm are those of the sender, and an end whose
    /// rules are not the default accepts no others.
    ///
    /// # Errors
    ///
    /// If a connection cannot give the controller what it needs, or an option has no form in the handshake.
    pub fn with_controller_options(mut self, controller: ControllerOptions) -> Result<Self, OptionError> {
        let number = ccid(controller.kind())?;
        for need in controller.needs() {
            self.connection.fulfils(need)?;
        }
        controller.check_terms()?;
        if controller.judges_losses() && controller.kind() != "tfrc-filtered" {
            let message =
                "a filter needs the sender's clock, which only data of tfrc-filtered carries: expected that controller";
            return Err(OptionError::new("loss_filter", message));
        }
        self.connection.send_ccids = vec![number];
        self.connection.receive_ccids = vec![number];
        if let Some(row) = self.connection.controllers.iter_mut().find(|row| row.ccid.0 == number) {
            row.controller = controller;
        } else {
            let row = CcidController::new(Ccid(number), controller);
            self.connection.controllers = vec![CcidController { ack_vectors: true, ..row }];
            // They may wait for a report each round trip.
            self.connection.expert.report_gap = None;
        }
        Ok(self)
    }

    /// Returns the name of the controller with this CCID, by which a [`Status`](crate::Status) knows it.
    #[must_use]
    pub fn controller_name(ccid: Ccid) -> Option<&'static str> {
        CCIDS.iter().find(|(_, number)| *number == ccid.0).map(|(name, _)| *name)
    }

    /// Returns whether the controller with this CCID must know the rate of its sender's interface.
    #[must_use]
    pub fn needs_line_rate(&self, ccid: Ccid) -> bool {
        let row = self.connection.controllers.iter().find(|row| row.ccid == ccid);
        row.is_some_and(|row| row.controller.needs().any(|need| need == Need::LineRate))
    }

    /// Returns the names of all controllers.
    pub fn controllers() -> impl Iterator<Item = &'static str> + Clone {
        CCIDS.iter().map(|(name, _)| *name)
    }

    fn checked(&self) -> Result<(), OptionError> {
        self.connection.check()?;
        self.queue.check()?;
        self.encoder.check()?;
        if self.unread == 0 {
            return Err(OptionError::new("unread", "without room for a datagram none is ever read: it is at least 1"));
        }
        if self.events == 0 {
            return Err(OptionError::new("events", "nobody would hear of the connection's end: it is at least 1"));
        }
        Ok(())
    }

    pub(crate) fn common(&self) -> Result<Common, OptionError> {
        self.checked()?;
        let Self { connection, queue, encoder, service, port, unread, events, follow, accepted, .. } = self.clone();
        Ok(Common { connection, queue, encoder, service, port, unread, events, follow, accepted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every controller that a connection can carry has a number of its own, and its options are in order.
    #[test]
    fn each_controller_is_known_by_name() {
        let mut numbers = Vec::new();
        for (kind, number) in CCIDS {
            match Options::insecure().with_controller(kind) {
                Ok(options) => assert!(options.checked().is_ok(), "{kind}"),
                // What it needs is said by the key that would give it.
                Err(error) => assert!(["line_rate", "ecn"].contains(&error.key), "{kind}: {error:?}"),
            }
            numbers.push(number);
        }
        numbers.dedup();
        assert_eq!(numbers.len(), CCIDS.len());
        let unknown = Options::insecure().with_controller("cubic").unwrap_err();
        assert!(unknown.message.contains("tfrc-sp"), "{}", unknown.message);
    }
}
