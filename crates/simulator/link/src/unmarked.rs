//! The waiting packets that a queue may mark, if it marks the packet of a class that departs next.

use crate::pool::Handle;
use crate::queue::red::{Class, Classes, OnCongestion};
use headway_units::{Dscp, Ecn};
use std::collections::VecDeque;

/// The waiting unmarked packets of each class that is marked at the head, in order.
#[derive(Debug)]
pub(crate) struct Unmarked {
    classes: Classes,
    waiting: Vec<VecDeque<Handle>>,
}

impl Unmarked {
    pub(crate) fn new(classes: &[Class]) -> Self {
        Self { waiting: classes.iter().map(|_| VecDeque::new()).collect(), classes: Classes::new(classes) }
    }

    fn of(&mut self, dscp: Dscp) -> Option<&mut VecDeque<Handle>> {
        let (class, on_congestion) = self.classes.of(dscp)?;
        if on_congestion == OnCongestion::MarkHead { self.waiting.get_mut(usize::from(class)) } else { None }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn push(&mut self, packet: Handle, dscp: Dscp, ecn: Ecn) {
        if ecn != Ecn::Ce
            && let Some(waiting) = self.of(dscp)
        {
            waiting.push_back(packet);
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn departed(&mut self, packet: Handle, dscp: Dscp) {
        if let Some(waiting) = self.of(dscp)
            && waiting.front() == Some(&packet)
        {
            waiting.pop_front();
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn remove(&mut self, packet: Handle, dscp: Dscp) {
        if let Some(waiting) = self.of(dscp)
            && let Some(place) = waiting.iter().position(|other| *other == packet)
        {
            waiting.remove(place);
        }
    }

    /// Returns the packet of the class that departs next, which is to be marked.
    #[cold]
    #[inline(never)]
    pub(crate) fn mark(&mut self, class: u8) -> Option<Handle> {
        self.waiting.get_mut(usize::from(class))?.pop_front()
    }
}
