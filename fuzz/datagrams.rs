//! An outbox that sends datagrams in the order in which they were added.

use headway_dccp::Outbox;
use headway_units::Instant;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    pub(crate) waiting: VecDeque<Vec<u8>>,
    taken: Vec<u8>,
}

impl Outbox for Datagrams {
    fn next_len(&mut self, _: Instant) -> Option<usize> {
        self.waiting.front().map(Vec::len)
    }
    fn take(&mut self, _: Instant) -> Option<&[u8]> {
        self.taken = self.waiting.pop_front()?;
        Some(&self.taken)
    }
}
