//! Sequence numbers in the first bytes of datagrams. Short datagrams contain the lowest bytes of the number.

/// Bytes of a complete number.
const FULL_BYTES: usize = 8;

/// Returns a datagram of `len` bytes with this number, padded with zeros.
pub(crate) fn stamped(number: u64, len: usize) -> Vec<u8> {
    let mut datagram = vec![0; len];
    datagram.iter_mut().zip(number.to_le_bytes()).for_each(|(to, byte)| *to = byte);
    datagram
}

/// Returns the number of a datagram, which is close to `near`; `None` if the datagram is empty.
pub(crate) fn number(datagram: &[u8], near: u64) -> Option<u64> {
    let len = datagram.len().min(FULL_BYTES);
    if len == 0 {
        return None;
    }
    let mut bytes = [0; FULL_BYTES];
    bytes[..len].copy_from_slice(&datagram[..len]);
    let found = u64::from_le_bytes(bytes);
    if len == FULL_BYTES {
        return Some(found);
    }
    let (modulus, mask) = (1u64 << (8 * len), (1u64 << (8 * len)) - 1);
    let ahead = found.wrapping_sub(near) & mask;
    // Numbers below 0 are ahead.
    let behind = modulus - ahead;
    let is_behind = ahead > 0 && behind < ahead && behind <= near;
    Some(if is_behind { near - behind } else { near.wrapping_add(ahead) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_in_the_first_bytes() {
        assert_eq!(stamped(0x0102_0304, 6), [4, 3, 2, 1, 0, 0]);
        assert_eq!(stamped(0x0102, 1), [2]);
        assert_eq!((number(&[], 7), number(&[2], 0x0100), number(&[250], 3)), (None, Some(0x0102), Some(250)));
    }

    proptest! {
        /// One byte identifies numbers that differ by at most 127; eight bytes identify any.
        #[test]
        fn close_numbers_are_identified(near in 0u64..1 << 62, ahead in -127i64..=127, len in 1usize..12) {
            let sent = near.saturating_add_signed(ahead);
            prop_assert_eq!(number(&stamped(sent, len), near), Some(sent));
        }
    }
}
