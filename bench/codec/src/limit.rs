//! Lower bound for any codec: copies the bytes, then sums them twice, as for computing and verifying a checksum.

use crate::{Operation, with_buffer};
use std::hint::black_box;

pub(crate) fn cases() -> Vec<(&'static str, Operation)> {
    vec![
        ("limit-16", with_buffer(copy_and_sum::<16>)),
        ("limit-1016", with_buffer(copy_and_sum::<1016>)),
        ("limit-24", with_buffer(copy_and_sum::<24>)),
        ("limit-1024", with_buffer(copy_and_sum::<1024>)),
        ("limit-128", with_buffer(copy_and_sum::<128>)),
    ]
}

fn copy_and_sum<const N: usize>(buffer: &mut [u8]) {
    let to = &mut buffer[..N];
    to.copy_from_slice(black_box(&[7; N]));
    black_box(sum(black_box(to)));
    black_box(sum(black_box(to)));
}

/// Returns the sum of 32-bit words, folded once at the end (RFC 1071 section 2).
fn sum(bytes: &[u8]) -> u16 {
    let (words, _) = bytes.as_chunks::<4>();
    let mut sum: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
