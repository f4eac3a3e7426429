//! Bounded queue of what a program has not read yet.

use std::collections::VecDeque;

/// Unread events or datagrams. Beyond the maximum number the oldest are discarded.
#[derive(Debug)]
pub(crate) struct Unread<T> {
    waiting: VecDeque<T>,
    capacity: usize,
    is_closed: bool,
}

impl<T> Unread<T> {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { waiting: VecDeque::new(), capacity, is_closed: false }
    }

    pub(crate) fn push(&mut self, new: T) {
        if self.waiting.len() >= self.capacity {
            self.waiting.pop_front();
        }
        self.waiting.push_back(new);
    }

    /// Records that nothing more will be pushed.
    pub(crate) const fn close(&mut self) {
        self.is_closed = true;
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the oldest entry, and `Some(None)` after the last one.
    pub(crate) fn next(&mut self) -> Option<Option<T>> {
        let next = self.waiting.pop_front();
        (next.is_some() || self.is_closed).then_some(next)
    }
}
