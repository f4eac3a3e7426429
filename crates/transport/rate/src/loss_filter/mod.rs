//! Loss filters: classification of losses as congestion or channel losses at the receiver. A TFRC receiver with a
//! filter (option `loss_filter`) counts only congestion losses; the sender is unchanged.
//!
//! A filter processes each data packet with a greater number than all before, and is queried for each run of packets
//! when it is declared lost. A mark always counts as congestion.

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

/// Generates the filter enum with static dispatch and the constructor of each kind.
macro_rules! filters {
    ($( $Kind:ident($filter:ty) = $begin:expr ),+ $(,)?) => {
        /// Running loss filter.
        #[derive(Debug)]
        #[expect(clippy::large_enum_variant, reason = "the enum is boxed")]
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
    fn revises(&self) -> bool {
        each!(self, filter => filter.revises())
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
