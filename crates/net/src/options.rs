//! What an endpoint is told.

use crate::driver::Common;
use crate::encoder::EncoderOptions;
use headway_dccp::{Ccid, CcidController, ConnectionOptions, EndpointOptions, ServiceCode};
use headway_media::SendQueueOptions;
use headway_rate::ControllerOptions;
use headway_units::{Dialect, OptionError, Options as _, Registry as _};

/// The CCID of each controller that a connection carries. From 248 on they are experiments (RFC 4340 section 19.5), of which both ends must know:
/// 248 to 250 are those of scenarios.
const CCIDS: [(&str, u8); 9] = [
    ("tcp-like", 2),
    ("tfrc", 3),
    ("tfrc-sp", 4),
    ("udpm", 248),
    ("spacing", 249),
    ("tfrc-filtered", 250),
    ("none", 251),
    ("spacing-fixed", 252),
    ("spacing-equation", 253),
];

/// The rules of an endpoint and of all its connections.
///
/// Both ends agree on [`port`](Self::port) and [`service`](Self::service); all else is each end's own business.
#[derive(Clone, Debug)]
pub struct Options {
    /// The protocol's: controllers, windows, timers.
    pub connection: ConnectionOptions,
    /// How many connections there may be, and what refusals.
    pub endpoint: EndpointOptions,
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
    /// Whether events tell what became of each datagram.
    pub follow: bool,
}

impl Options {
    /// Both ways of each connection have this controller, by the name that scenarios give it. `tfrc` is the default; all that no RFC defines
    /// (`none`, `udpm`, `spacing`, ..) are experiments, and both ends must ask for the same.
    ///
    /// # Errors
    ///
    /// If there is none of this name, or a connection cannot give it what it needs.
    pub fn with_controller(mut self, kind: &str) -> Result<Self, OptionError> {
        let number = CCIDS.iter().find(|(known, _)| *known == kind).map(|(_, number)| *number);
        let controller = ControllerOptions::preset(kind, Dialect::Rfc);
        let (Some(number), Some(controller)) = (number, controller) else {
            let known: Vec<&str> = CCIDS.iter().map(|(known, _)| *known).collect();
            return Err(OptionError::new("controller", format!("there is no \"{kind}\": {}", known.join(", "))));
        };
        for need in controller.needs() {
            self.connection.fulfils(need)?;
        }
        self.connection.send_ccids = vec![number];
        self.connection.receive_ccids = vec![number];
        self.connection.controllers = vec![followed(CcidController::new(Ccid(number), controller))];
        Ok(self)
    }

    fn checked(&self) -> Result<(), OptionError> {
        self.connection.check()?;
        self.queue.check()?;
        self.encoder.check()?;
        if self.unread == 0 {
            return Err(OptionError::new("unread", "without room for a datagram none is ever read: it is at least 1"));
        }
        Ok(())
    }

    pub(crate) fn common(&self) -> Result<Common, OptionError> {
        self.checked()?;
        let Self { connection, queue, encoder, service, port, unread, follow, .. } = self.clone();
        Ok(Common { connection, queue, encoder, service, port, unread, follow })
    }
}

/// What became of each packet is told.
fn followed(row: CcidController) -> CcidController {
    CcidController { ack_vectors: true, ..row }
}

impl Default for Options {
    /// TFRC; a send queue by priority and expiry; what real paths need.
    fn default() -> Self {
        let mut queue =
            SendQueueOptions::preset("sfdps2", Dialect::Rfc).unwrap_or(SendQueueOptions::fifo(Dialect::Rfc));
        queue.rules.limit = headway_units::QueueSize::Packets(256);
        let rfc = ConnectionOptions::preset(Dialect::Rfc);
        let connection = ConnectionOptions {
            send_ccids: vec![3],
            receive_ccids: vec![3],
            handshake_data: true,
            sequence_window: 20_000,
            controllers: rfc
                .controllers
                .iter()
                .cloned()
                .map(followed)
                .collect(),
            ..rfc
        };
        Self {
            connection,
            endpoint: EndpointOptions::default(),
            queue,
            encoder: EncoderOptions::default(),
            service: ServiceCode::from_ascii("HDWY").unwrap_or_default(),
            port: 5004,
            unread: 1024,
            follow: true,
        }
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
            match Options::default().with_controller(kind) {
                Ok(options) => assert!(options.checked().is_ok(), "{kind}"),
                // What it needs is said by the key that would give it.
                Err(error) => assert!(["line_rate", "ecn"].contains(&&*error.key), "{kind}: {error:?}"),
            }
            numbers.push(number);
        }
        numbers.dedup();
        assert_eq!(numbers.len(), CCIDS.len());
        let unknown = Options::default().with_controller("cubic").unwrap_err();
        assert!(unknown.message.contains("tfrc-sp"), "{}", unknown.message);
    }
}
