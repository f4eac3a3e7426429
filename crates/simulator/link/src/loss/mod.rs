//! Losses of the channel, as opposed to drops by congestion.

pub mod bernoulli;
pub mod gilbert_elliott;
pub mod list;
pub mod periodic;
mod place;
mod recorded;
pub mod trace;

pub use place::Place;
pub use recorded::{LossTrace, LossTraceError, LossTraceProblem};

use headway_units::{Instant, Random, registry};

registry! {
    /// The loss model of the channel and its options.
    options LossOptions;
    /// A running loss model.
    machine Loss;
    what "loss"; dispatch each;
    "bernoulli" => Bernoulli(bernoulli::Options, bernoulli::Bernoulli),
    "gilbert-elliott" => GilbertElliott(gilbert_elliott::Options, gilbert_elliott::GilbertElliott),
    "list" => List(list::Options, list::List),
    "periodic" => Periodic(periodic::Options, periodic::Periodic),
    "trace" => Trace(trace::Options, trace::Trace),
}

impl Loss {
    /// Starts the loss model that the options describe.
    #[must_use]
    pub fn new(options: &LossOptions) -> Self {
        match options {
            LossOptions::Bernoulli(options) => Self::Bernoulli(bernoulli::Bernoulli::new(options)),
            LossOptions::GilbertElliott(options) => Self::GilbertElliott(gilbert_elliott::GilbertElliott::new(options)),
            LossOptions::List(options) => Self::List(list::List::new(options)),
            LossOptions::Periodic(options) => Self::Periodic(periodic::Periodic::new(options)),
            LossOptions::Trace(options) => Self::Trace(trace::Trace::new(options)),
        }
    }

    /// Returns where on the link the loss model loses packets.
    #[must_use]
    pub fn place(&self) -> Place {
        each!(self, loss => loss.place())
    }

    /// Returns whether the packet that passes at `now` is lost.
    pub fn loses(&mut self, now: Instant, random: &mut Random) -> bool {
        match self {
            Self::Bernoulli(loss) => loss.loses(now, random),
            Self::GilbertElliott(loss) => loss.loses(random),
            Self::List(loss) => loss.loses(),
            Self::Periodic(loss) => loss.loses(),
            Self::Trace(loss) => loss.loses(now, random),
        }
    }
}
