//! The clocks of a flow's ends, and whose time is meant.

use crate::packet::Data;
use headway_media::{Media, Write};
use headway_record::FlowMeter;
use headway_scenario::{Scenario, Spread};
use headway_units::{Clock, Duration, Instant, Offset, Random, Skew};

/// The clocks of a flow's ends.
#[derive(Clone, Copy, Debug)]
pub struct FlowClocks {
    /// Of its sending end.
    pub sender: Clock,
    /// Of its receiving end.
    pub receiver: Clock,
}

impl FlowClocks {
    /// Those of a flow, if one of its ends has a clock of its own. Then the other has the true time since the same epoch.
    pub(crate) fn of(scenario: &Scenario, flow: &headway_scenario::Flow) -> Option<Self> {
        let ends = [flow.from, flow.to].map(|node| clock(scenario, node));
        if ends == [None; 2] {
            return None;
        }
        let [sender, receiver] = ends.map(Option::unwrap_or_default);
        Some(Self { sender, receiver })
    }
}

/// The clocks by which the ends of a flow live.
pub(crate) trait Clocks: Copy {
    /// Returns the clock of the sending end, unless it shows the true time.
    fn sender(&self) -> Option<&Clock>;
    /// Returns the clock of the receiving end, unless it shows the true time.
    fn receiver(&self) -> Option<&Clock>;
}

/// Both ends use the clock of the simulator.
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

/// Returns the time that a clock shows.
#[inline(always)]
pub(crate) fn local(clock: Option<&Clock>, at: Instant) -> Instant {
    clock.map_or(at, |clock| clock.read(at))
}

/// Returns the first true time at which a clock shows a deadline: a function of the deadline alone, so that no error adds up.
#[inline(always)]
pub(crate) fn true_time(clock: Option<&Clock>, due: Option<Instant>) -> Option<Instant> {
    match clock {
        None => due,
        Some(clock) => due.map(|due| clock.when_read(due)),
    }
}

/// A node's own clock. What is drawn is the same for all of the node's flows.
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

/// Out of the way of runs without clocks.
#[cold]
#[inline(never)]
fn in_true_time(clock: &Clock, write: &mut Write) {
    (write.created, write.expires) = (clock.when(write.created), write.expires.map(|at| clock.when(at)));
}

/// A flow's meter as its sending end uses it, which has a time of its own: what is recorded is in true time.
#[derive(Debug)]
pub(crate) struct Meter<'a> {
    pub(crate) flow: &'a mut FlowMeter,
    clock: Option<&'a Clock>,
}

impl<'a> Meter<'a> {
    /// Creates the meter of an end with this clock.
    #[inline(always)]
    pub(crate) fn by(flow: &'a mut FlowMeter, clock: Option<&'a Clock>) -> Self {
        Self { flow, clock }
    }

    /// The true time of an instant of the sender's.
    #[inline]
    pub(crate) fn time(&self, local: Instant) -> Instant {
        self.clock.map_or(local, |clock| clock.when(local))
    }

    /// How long that is in truth, from `now` on.
    #[inline]
    pub(crate) fn wait(&self, now: Instant, local: Duration) -> Duration {
        self.clock.map_or(local, |clock| clock.when(now + local).since(clock.when(now)))
    }

    /// Turns the times of what a source has written into true ones.
    #[inline(always)]
    pub(crate) fn tell_true(&self, write: &mut Write) {
        if let Some(clock) = self.clock {
            in_true_time(clock, write);
        }
    }

    /// What a packet carries, in true time.
    #[inline]
    pub(crate) fn data(&self, media: &Media) -> Data {
        let data = Data::from(media);
        let Some(clock) = self.clock else { return data };
        Data { created: clock.when(data.created), deadline: clock.when(data.deadline), ..data }
    }
}
