//! Filters of losses: which of them are the congestion's, judged at the receiver. A TFRC receiver with one counts no others
//! (`loss_filter` of its options), and its sender is as ever.
//!
//! A filter sees each packet of data that is newer than all before, then is asked about each run of lost ones as it is declared lost. A
//! mark is congestion whatever a filter says.

mod contract;
mod counts;
mod gaps;
mod guarded;
mod mbiaz;
mod options;
mod oracle;
mod paces;
mod queueing;
mod spike;
mod standing;
mod uddj;
mod zigzag;

pub use options::{LossFilterKind, UddjAction, UddjOptions, UddjUpdate};

#[cfg(test)]
use contract::seen;
pub(crate) use contract::{LossFilter, Seen};

/// Makes of the lines below the filter that dispatches statically, and how each begins.
macro_rules! filters {
    ($( $Kind:ident($filter:ty) = $begin:expr ),+ $(,)?) => {
        /// A running filter.
        #[derive(Debug)]
        #[expect(clippy::large_enum_variant, reason = "it lies in a box of its own")]
        pub(crate) enum Filter { $( $Kind($filter) ),+ }

        impl Filter {
            pub(crate) fn new(kind: LossFilterKind, uddj: &UddjOptions) -> Self {
                match kind {
                    $( LossFilterKind::$Kind => {
                        let begin: fn(&UddjOptions) -> $filter = $begin;
                        Self::$Kind(begin(uddj))
                    } ),+
                }
            }
        }

        macro_rules! each {
            ($value:expr, $name:ident => $body:expr) => {
                match $value { $( Filter::$Kind($name) => $body ),+ }
            };
        }
    };
}

filters! {
    Uddj(uddj::Uddj) = uddj::Uddj::new,
    Guarded(guarded::Guarded) = |_| Default::default(),
    Zigzag(zigzag::Zigzag) = |_| Default::default(),
    Mbiaz(mbiaz::Mbiaz) = |_| Default::default(),
    Spike(spike::Spike) = |_| Default::default(),
    Oracle(oracle::Oracle) = |_| Default::default(),
}

impl LossFilter for Filter {
    fn on_packet(&mut self, seen: &Seen) {
        each!(self, filter => filter.on_packet(seen));
    }
    fn counts(&mut self, first: u64, last: u64) -> bool {
        each!(self, filter => filter.counts(first, last))
    }
    fn poll_early(&mut self) -> bool {
        each!(self, filter => filter.poll_early())
    }
    fn holds(&self) -> bool {
        each!(self, filter => filter.holds())
    }
    fn on_channel_loss(&mut self, number: u64) {
        each!(self, filter => filter.on_channel_loss(number));
    }
}
