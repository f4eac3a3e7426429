//! Boxes of delivered packets, which later packets use again.

use crate::packet::{DccpPacket, Numbered};
use std::cell::RefCell;
use std::thread::LocalKey;

/// Maximum number of boxes of one kind that are kept.
const MOST_KEPT: usize = 4096;

/// Boxes that are not in use.
pub(crate) type Spare<T> = RefCell<Vec<Box<T>>>;

thread_local! {
    pub(crate) static DCCP: Spare<DccpPacket> = const { RefCell::new(Vec::new()) };
    pub(crate) static NUMBERED: Spare<Numbered> = const { RefCell::new(Vec::new()) };
}

/// Puts a value into a spare box, or into a new one.
#[inline]
pub(crate) fn boxed<T>(spare: &'static LocalKey<Spare<T>>, value: T) -> Box<T> {
    match spare.with_borrow_mut(Vec::pop) {
        Some(mut kept) => {
            *kept = value;
            kept
        }
        None => Box::new(value),
    }
}

/// Keeps a box that is no longer in use.
#[inline]
pub(crate) fn keep<T>(spare: &'static LocalKey<Spare<T>>, unused: Box<T>) {
    spare.with_borrow_mut(|spare| {
        if spare.len() < MOST_KEPT {
            spare.push(unused);
        }
    });
}
