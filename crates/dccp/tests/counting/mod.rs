//! The system's allocator, which counts.
#![allow(dead_code, reason = "shared by test files that use parts of it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are allocated now.
pub(crate) fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}
/// How often memory was allocated so far.
pub(crate) fn taken() -> usize {
    TAKEN.load(Ordering::Relaxed)
}

// SAFETY: the system's allocator does all; here is only counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        TAKEN.fetch_add(1, Ordering::Relaxed);
        // SAFETY: what the caller promises is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: what the caller promises is passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
