//! What every transport's file says of it.

use super::ends::Ends;
use crate::packet::Envelope;
use headway_media::SourceOptions;
use headway_record::ns2::PacketType;
use headway_scenario::Flow;
use headway_units::{FlowId, Instant, Random};

/// The two ends of a flow, as a scenario describes them.
pub(crate) trait Carrier: Ends + Sized {
    /// The options of the scenario.
    type Options;
    /// Whether the receiving end sends packets, as [`Ends::answers`] returns.
    const ANSWERS: bool = true;
    /// Both ends.
    fn new(options: &Self::Options, setup: &Setup<'_>) -> Self;

    /// ns-2's types of its packets there and back, with this source.
    fn ns2_types(source: &SourceOptions) -> [PacketType; 2];

    /// Bytes that each of its packet's numbers stands for, where they count no bytes and a capture does.
    fn bytes_a_number(_options: &Self::Options) -> u32 {
        0
    }
}

/// What became of what a source has written.
#[derive(Debug)]
pub(crate) enum Taken {
    /// There is nothing.
    Nothing,
    /// It goes when a window or a rate lets it.
    Kept,
    /// It is sent at once.
    Goes(Envelope),
}

/// What a flow's ends are made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) id: FlowId,
    /// When the flow starts, by the clock of its sending end and by that of its receiving end.
    pub(crate) starts: [Instant; 2],
    /// Whether these two clocks show the same.
    pub(crate) clocks_agree: bool,
    /// The scenario's.
    pub(crate) seed: u64,
}

impl Setup<'_> {
    /// One of the flow's random streams.
    pub(crate) fn stream(&self, what: &str) -> Random {
        stream(self.seed, self.flow, what)
    }
}

/// One of a flow's random streams, in a scenario with this seed.
pub(crate) fn stream(seed: u64, flow: &Flow, what: &str) -> Random {
    Random::new(seed, &["flow ", &flow.name, " ", what].concat())
}
