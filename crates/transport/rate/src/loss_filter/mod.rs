//! Filters of losses: which of them are the congestion's, judged at the receiver. A TFRC receiver with one counts no others
//! (`loss_filter` of its options), and its sender is as ever.
//!
//! A filter sees each packet of data that is newer than all before, then is asked about each run of lost ones as it is declared lost. A
//! mark is congestion whatever a filter says.

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

use headway_units::{Duration, Instant};

/// A packet of data that is newer than all before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) number: u64,
    /// By the receiver's clock.
    pub(crate) came: Instant,
    /// By the sender's clock.
    pub(crate) sent: Instant,
    /// Its data, in bytes.
    pub(crate) size: u64,
    /// The sender's round trip.
    pub(crate) rtt: Option<Duration>,
}

impl Seen {
    /// Its one-way delay, in ns: what the two clocks differ by is in it.
    pub(crate) fn delay_ns(&self) -> i64 {
        self.came.as_nanos().wrapping_sub(self.sent.as_nanos()) as i64
    }
}

/// Tells congestion from the channel.
pub(crate) trait LossFilter {
    /// A packet of data has come that is newer than all before.
    fn on_packet(&mut self, seen: &Seen);

    /// Whether the packets `first..=last`, of which none has come, count as lost to congestion.
    fn counts(&mut self, first: u64, last: u64) -> bool;

    /// Whether there is congestion that no loss has told of yet; asked after each packet, answered once.
    fn poll_early(&mut self) -> bool {
        false
    }

    /// Whether the sender is to be held at the rate that arrives now.
    fn holds(&self) -> bool {
        false
    }

    /// The channel has lost this packet: somebody knows.
    fn on_channel_loss(&mut self, _number: u64) {}
}

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

/// A packet of 1000 B by its number, and when it went and came, in us.
#[cfg(test)]
fn seen(number: u64, sent: u64, came: u64) -> Seen {
    let at = |micros| Instant::ZERO + Duration::from_micros(micros);
    Seen { number, came: at(came), sent: at(sent), size: 1000, rtt: None }
}
