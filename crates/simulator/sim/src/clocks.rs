//! Clocks of a flow's endpoints, and conversion between local and true time.

use crate::packet::Data;
use headway_media::{Media, Write};
use headway_record::FlowMeter;
use headway_scenario::{Scenario, Spread};
use headway_units::{Clock, Duration, Instant, Offset, Random, Skew};

/// Clocks of the nodes at both ends of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowClocks {
    /// Clock of the flow's sender.
    pub sender: Clock,
    /// Clock of the flow's receiver.
    pub receiver: Clock,
}

impl FlowClocks {
    /// Returns the clocks of a flow if an endpoint has its own. Without its own clock, the other uses true time.
    pub(crate) fn of(scenario: &Scenario, flow: &headway_scenario::Flow) -> Option<Self> {
        let ends = [flow.from, flow.to].map(|node| clock(scenario, node));
        if ends == [None; 2] {
            return None;
        }
        let [sender, receiver] = ends.map(Option::unwrap_or_default);
        Some(Self { sender, receiver })
    }
}

/// Access to the clocks of a flow's endpoints.
pub(crate) trait Clocks: Copy {
    /// Returns the clock of the sender, unless it shows the true time.
    fn sender(&self) -> Option<&Clock>;
    /// Returns the clock of the receiver, unless it shows the true time.
    fn receiver(&self) -> Option<&Clock>;
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TrueTime;

impl Clocks for TrueTime {
    #[inline(always)]
    fn sender(&self) -> Option<&Clock> {
        None
    }
    #[inline(always)]
    fn receiver(&self) -> Option<&Clock> {
        None
    }
}

impl Clocks for Option<FlowClocks> {
    fn sender(&self) -> Option<&Clock> {
        self.as_ref().map(|clocks| &clocks.sender)
    }
    fn receiver(&self) -> Option<&Clock> {
        self.as_ref().map(|clocks| &clocks.receiver)
    }
}

#[inline(always)]
pub(crate) fn local(clock: Option<&Clock>, at: Instant) -> Instant {
    clock.map_or(at, |clock| clock.read(at))
}

/// Returns the first true time at which a clock shows a deadline. Errors do not accumulate.
#[inline(always)]
pub(crate) fn true_time(clock: Option<&Clock>, due: Option<Instant>) -> Option<Instant> {
    match clock {
        None => due,
        Some(clock) => due.map(|due| clock.when_read(due)),
    }
}

/// Returns the clock of a node, if it has its own. Random offsets and skews are the same for all flows of the node.
fn clock(scenario: &Scenario, node: usize) -> Option<Clock> {
    let options = (*scenario.clocks.get(node)?)?;
    let draw = |what: &str, [first, second]: [i64; 2]| {
        let mut random = Random::new(scenario.seed, &format!("node {} {what}", scenario.nodes[node]));
        first.saturating_add_unsigned(random.below(second.abs_diff(first)))
    };
    let skew = match options.skew {
        Spread::Same(skew) => skew,
        Spread::Uniform { uniform } => Skew::new(draw("skew", uniform.map(Skew::value))),
    };
    let offset = match options.offset {
        Spread::Same(offset) => offset,
        Spread::Uniform { uniform } => Offset::new(draw("offset", uniform.map(Offset::value))),
    };
    Some(Clock::new(offset, skew, options.drift, options.granularity))
}

/// Converts the times of a write to true time. Not inlined, because most runs have no clocks.
#[cold]
#[inline(never)]
fn convert_write(clock: &Clock, write: &mut Write) {
    (write.created, write.expires) = (clock.when(write.created), write.expires.map(|at| clock.when(at)));
}

/// Meter of a flow, as used by its sender. Converts the sender's local times to true time.
#[derive(Debug)]
pub(crate) struct Meter<'a> {
    pub(crate) flow: &'a mut FlowMeter,
    clock: Option<&'a Clock>,
}

impl<'a> Meter<'a> {
    #[inline(always)]
    pub(crate) fn by(flow: &'a mut FlowMeter, clock: Option<&'a Clock>) -> Self {
        Self { flow, clock }
    }

    /// Converts a local time of the sender to true time.
    #[inline]
    pub(crate) fn time(&self, local: Instant) -> Instant {
        self.clock.map_or(local, |clock| clock.when(local))
    }

    /// Converts a local duration that starts at `now` to true time.
    #[inline]
    pub(crate) fn wait(&self, now: Instant, local: Duration) -> Duration {
        self.clock.map_or(local, |clock| clock.when(now + local).since(clock.when(now)))
    }

    /// Converts the times of a write to true time.
    #[inline(always)]
    pub(crate) fn convert_to_true_time(&self, write: &mut Write) {
        if let Some(clock) = self.clock {
            convert_write(clock, write);
        }
    }

    /// Returns the data of a packet, with times in true time.
    #[inline]
    pub(crate) fn data(&self, media: &Media) -> Data {
        let data = Data::from(media);
        let Some(clock) = self.clock else { return data };
        Data { created: clock.when(data.created), deadline: clock.when(data.deadline), ..data }
    }
}
