//! Reuse of the boxes of delivered packets.

use crate::packet::{DccpPacket, Numbered};
use std::cell::RefCell;
use std::thread::LocalKey;

/// Maximum number of unused boxes of one type.
const MAX_KEPT: usize = 4096;

pub(crate) type Spare<T> = RefCell<Vec<Box<T>>>;

thread_local! {
    pub(crate) static DCCP: Spare<DccpPacket> = const { RefCell::new(Vec::new()) };
    pub(crate) static NUMBERED: Spare<Numbered> = const { RefCell::new(Vec::new()) };
}

/// Moves a value into an unused box, or into a new one.
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

#[inline]
pub(crate) fn keep<T>(spare: &'static LocalKey<Spare<T>>, unused: Box<T>) {
    spare.with_borrow_mut(|spare| {
        if spare.len() < MAX_KEPT {
            spare.push(unused);
        }
    });
}
