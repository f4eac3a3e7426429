//! The waiting packets that a queue may yet mark, where it marks the one of a class that leaves next.

use crate::pool::Handle;
use crate::queue::red::{Class, Classes, OnCongestion};
use headway_units::{Dscp, Ecn};
use std::collections::VecDeque;

/// Of each class that is marked at the head, the waiting packets that bear no mark, in order. What was marked, or waits no more, is not
/// among them.
#[derive(Debug)]
pub(crate) struct Unmarked {
    classes: Classes,
    /// By the number of their class.
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

    /// A packet waits, behind all others.
    #[cold]
    #[inline(never)]
    pub(crate) fn waits(&mut self, packet: Handle, dscp: Dscp, ecn: Ecn) {
        if ecn != Ecn::Ce
            && let Some(waiting) = self.of(dscp)
        {
            waiting.push_back(packet);
        }
    }

    /// The packet that has waited longest waits no more.
    #[cold]
    #[inline(never)]
    pub(crate) fn leaves(&mut self, packet: Handle, dscp: Dscp) {
        if let Some(waiting) = self.of(dscp)
            && waiting.front() == Some(&packet)
        {
            waiting.pop_front();
        }
    }

    /// A packet was taken out from anywhere.
    #[cold]
    #[inline(never)]
    pub(crate) fn evicted(&mut self, packet: Handle, dscp: Dscp) {
        if let Some(waiting) = self.of(dscp)
            && let Some(place) = waiting.iter().position(|other| *other == packet)
        {
            waiting.remove(place);
        }
    }

    /// The one of its class that leaves next is marked.
    #[cold]
    #[inline(never)]
    pub(crate) fn mark(&mut self, class: u8) -> Option<Handle> {
        self.waiting.get_mut(usize::from(class))?.pop_front()
    }
}
