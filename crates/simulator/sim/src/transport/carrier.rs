//! Interface of a transport to its flow.

use super::ends::Ends;
use crate::packet::Envelope;
use headway_media::SourceOptions;
use headway_record::ns2::PacketType;
use headway_scenario::Flow;
use headway_units::{FlowId, Instant, Random};

/// Both endpoints of a flow, created from the scenario.
pub(crate) trait Carrier: Ends + Sized {
    type Options;
    /// Whether the receiver sends packets, as [`Ends::answers`] returns.
    const ANSWERS: bool = true;
    fn new(options: &Self::Options, setup: &Setup<'_>) -> Self;

    /// Returns ns-2's packet types of data and feedback, with this source.
    fn ns2_types(source: &SourceOptions) -> [PacketType; 2];

    /// Returns the bytes per packet number in a capture; 0 if packets are not numbered by segments.
    fn bytes_per_number(_options: &Self::Options) -> u32 {
        0
    }
}

/// Result of polling a write from a source.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
    /// The source has no write.
    Nothing,
    /// The write waits for the window or the rate.
    Queued,
    /// The packet is sent at once.
    Sent(Envelope),
}

/// Parameters of a flow's endpoints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) id: FlowId,
    /// Start times, by the clocks of the sender and the receiver.
    pub(crate) starts: [Instant; 2],
    /// Whether these clocks are the same.
    pub(crate) clocks_agree: bool,
    pub(crate) seed: u64,
}

impl Setup<'_> {
    pub(crate) fn stream(&self, what: &str) -> Random {
        stream(self.seed, self.flow, what)
    }
}

/// Creates one of a flow's random streams, in a scenario with this seed.
pub(crate) fn stream(seed: u64, flow: &Flow, what: &str) -> Random {
    Random::new(seed, &["flow ", &flow.name, " ", what].concat())
}
