//! What an endpoint is told.

use crate::driver::Common;
use crate::encoder::EncoderOptions;
use headway_dccp::{ConnectionOptions, EndpointOptions, ServiceCode};
use headway_media::SendQueueOptions;
use headway_units::{Dialect, OptionError, Options as _, Registry as _};

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
                .map(|row| headway_dccp::CcidController { ack_vectors: true, ..row })
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
