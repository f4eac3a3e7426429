#![doc = include_str!("../README.md")]
#![no_std]
#![deny(unsafe_code)]

/// Size of a cache line, in bytes.
pub const LINE: usize = 64;

/// Prefetches all cache lines of the value.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    let first = core::ptr::from_ref(value).cast::<u8>();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        fetch_line(first.wrapping_add(line * LINE));
    }
}

/// Prefetches the first cache line of the value.
#[inline(always)]
pub fn fetch_first<T>(value: &T) {
    fetch_line(core::ptr::from_ref(value).cast());
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(
    unsafe_code,
    reason = "the instruction is part of every x86-64 processor, and a prefetch never faults for any address"
)]
fn fetch_line(address: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: SSE is part of x86-64; the address is only a hint.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_address: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts a value of size zero, the last byte of a page, and a null pointer.
    #[test]
    fn fetch_neither_faults_nor_changes_memory() {
        let large = [7u8; 4096];
        fetch(&large);
        fetch(&());
        fetch_first(&large[4095]);
        fetch_line(core::ptr::null());
        assert_eq!(large, [7; 4096]);
    }
}
