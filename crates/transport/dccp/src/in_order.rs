//! Received datagrams in the order in which the peer first sent them.

use crate::DeliveryOrder;
use headway_units::{Duration, Instant};
use std::collections::BTreeMap;

/// Number of positions of a stream, up to the next one, of which a record is kept: those that an index can mean.
const WINDOW: u64 = 1 << 15;
/// Number of the first position: positions before it exist, too.
const ORIGIN: u64 = 1 << 32;

/// Holds received datagrams back until the earlier ones of their stream have arrived, or the sender has given those up.
/// A stream is the datagrams of one priority.
///
/// The [`DeliveryOrder`] of each datagram states which earlier ones the sender may still send again, so that the
/// receiver waits only for these. It waits at most a set time, and holds a limited number of datagrams. A datagram that
/// arrives after later ones were delivered is delivered at once; duplicates are discarded. Streams do not wait for each
/// other.
///
/// `M` is data of the receiver that it keeps with each datagram.
///
/// ```
/// use headway_dccp::{DeliveryOrder, InOrder};
/// use headway_units::{Duration, Instant};
///
/// let (mut in_order, now) = (InOrder::new(Duration::from_secs(1), 1024), Instant::from_secs(1));
/// let mut delivered = Vec::new();
/// // The second datagram is lost and sent again; the third states that the second one is still awaited.
/// for (index, awaited) in [(0, 0), (2, 1), (1, 0)] {
///     let order = DeliveryOrder { stream: 0, index, awaited };
///     in_order.receive(now, order, &[index as u8], (), &mut |data, ()| delivered.push(data[0]));
/// }
/// assert_eq!(delivered, [0, 1, 2]);
/// ```
#[derive(Debug)]
pub struct InOrder<M> {
    /// Longest time for which a datagram is held.
    wait: Duration,
    /// Maximum number of held datagrams.
    most: usize,
    streams: BTreeMap<u8, Stream<M>>,
    held: usize,
    /// Time when the wait of a held datagram may end.
    due: Option<Instant>,
}

#[derive(Debug)]
struct Stream<M> {
    /// Next position to deliver.
    next: u64,
    held: BTreeMap<u64, Held<M>>,
    /// Whether the datagrams of the positions before the next one were delivered: a bit for each, by the position modulo
    /// [`WINDOW`].
    delivered: Vec<u64>,
}

#[derive(Debug)]
struct Held<M> {
    arrived: Instant,
    data: Vec<u8>,
    meta: M,
}

impl<M> InOrder<M> {
    /// Creates an empty buffer that holds at most `most` datagrams of all streams together, each for at most `wait`.
    #[must_use]
    pub const fn new(wait: Duration, most: usize) -> Self {
        Self { wait, most, streams: BTreeMap::new(), held: 0, due: None }
    }

    /// Receives a datagram, and calls `deliver` for each one that no longer waits, in the order of their stream.
    pub fn receive(
        &mut self,
        now: Instant,
        order: DeliveryOrder,
        data: &[u8],
        meta: M,
        deliver: &mut impl FnMut(&[u8], M),
    ) {
        let awaited = u64::from(order.awaited);
        let first = ORIGIN + u64::from(order.index);
        let stream = self.streams.entry(order.stream).or_insert_with(|| Stream::new(first - awaited));
        let position = stream.position(order.index);
        self.held -= stream.pass(position.saturating_sub(awaited), deliver);
        if position > stream.next {
            let held = stream.held.len();
            let waiting = || Held { arrived: now, data: data.to_vec(), meta };
            stream.held.entry(position).or_insert_with(waiting);
            self.held += stream.held.len() - held;
            self.due.get_or_insert(now + self.wait);
        } else {
            if position == stream.next {
                stream.step(true);
                deliver(data, meta);
            } else if stream.is_new(position) {
                deliver(data, meta);
            }
            self.held -= stream.deliver_next(deliver);
        }
        if self.held > self.most
            && let Some(oldest) = stream.held.keys().next().copied()
        {
            self.held -= stream.pass(oldest, deliver);
        }
        if self.held == 0 {
            self.due = None;
        }
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) must be called; `None` if nothing is held.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// Delivers the datagrams that were held for too long, and those before them.
    pub fn handle_timeout(&mut self, now: Instant, deliver: &mut impl FnMut(&[u8], M)) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        let Self { wait, streams, held, .. } = self;
        for stream in streams.values_mut() {
            let waited = stream.held.iter().filter(|(_, one)| one.arrived + *wait <= now).map(|(place, _)| *place);
            if let Some(last) = waited.last() {
                *held -= stream.pass(last, deliver);
            }
        }
        let arrivals = streams.values().flat_map(|stream| stream.held.values()).map(|one| one.arrived);
        self.due = arrivals.min().map(|arrived| arrived + *wait);
    }

    /// Delivers all held datagrams, at the end of a connection.
    pub fn drain(&mut self, deliver: &mut impl FnMut(&[u8], M)) {
        for (_, stream) in std::mem::take(&mut self.streams) {
            stream.held.into_values().for_each(|Held { data, meta, .. }| deliver(&data, meta));
        }
        (self.held, self.due) = (0, None);
    }
}

impl<M> Stream<M> {
    fn new(next: u64) -> Self {
        Self { next, held: BTreeMap::new(), delivered: vec![0; WINDOW as usize / 64] }
    }

    /// Moves to the next position. `delivered`: whether the datagram at the present one is delivered.
    fn step(&mut self, delivered: bool) {
        let bit = 1 << (self.next % 64);
        if let Some(word) = self.delivered.get_mut((self.next % WINDOW / 64) as usize) {
            *word = if delivered { *word | bit } else { *word & !bit };
        }
        self.next += 1;
    }

    /// Returns whether the datagram at an earlier position was not delivered, and records that it is now.
    fn is_new(&mut self, position: u64) -> bool {
        let bit = 1 << (position % 64);
        let word = self.delivered.get_mut((position % WINDOW / 64) as usize);
        word.is_some_and(|word| {
            let is_new = *word & bit == 0;
            *word |= bit;
            is_new
        })
    }

    /// Returns the position with this index that is closest to the next one.
    fn position(&self, index: u16) -> u64 {
        let next = (self.next & 0xffff) as u16;
        let ahead = index.wrapping_sub(next);
        if ahead < 1 << 15 {
            self.next.saturating_add(u64::from(ahead))
        } else {
            self.next.saturating_sub(u64::from(ahead.wrapping_neg()))
        }
    }

    /// Passes over the missing positions before `to`: delivers what is held before it, and after it without a gap.
    /// Returns the number of datagrams delivered.
    fn pass<'a>(&mut self, to: u64, deliver: &mut (impl FnMut(&[u8], M) + 'a)) -> usize {
        if to <= self.next {
            return 0;
        }
        let mut delivered = 0;
        let later = self.held.split_off(&to);
        for (position, Held { data, meta, .. }) in std::mem::replace(&mut self.held, later) {
            self.skip_to(position);
            self.step(true);
            deliver(&data, meta);
            delivered += 1;
        }
        self.skip_to(to);
        delivered + self.deliver_next(deliver)
    }

    /// Delivers what is held from the next position on, up to a gap. Returns the number of datagrams.
    fn deliver_next(&mut self, deliver: &mut impl FnMut(&[u8], M)) -> usize {
        let mut delivered = 0;
        while let Some(entry) = self.held.first_entry().filter(|entry| *entry.key() == self.next) {
            let Held { data, meta, .. } = entry.remove();
            self.step(true);
            deliver(&data, meta);
            delivered += 1;
        }
        delivered
    }

    /// Passes over the positions before `to`, whose datagrams are missing. An index moves at most half of its range, so
    /// that at most [`WINDOW`] steps are taken.
    fn skip_to(&mut self, to: u64) {
        while self.next < to {
            self.step(false);
        }
    }
}

#[cfg(test)]
mod tests;
