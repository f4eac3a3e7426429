//! The system's allocator, which counts by thread: the harness has a thread of its own, which allocates when it likes.
#![allow(dead_code, reason = "shared by test files that use parts of it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

/// Bytes that this thread has allocated and not freed. What it frees for others counts as well.
pub(crate) fn held() -> usize {
    usize::try_from(HELD.get()).unwrap_or(0)
}
/// How often this thread has allocated so far.
pub(crate) fn taken() -> usize {
    TAKEN.get()
}

// SAFETY: the system's allocator does all; here is only counted, in cells that need neither memory nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get().wrapping_add_unsigned(layout.size()));
        TAKEN.set(TAKEN.get() + 1);
        // SAFETY: what the caller promises is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.set(HELD.get().wrapping_sub_unsigned(layout.size()));
        // SAFETY: what the caller promises is passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
