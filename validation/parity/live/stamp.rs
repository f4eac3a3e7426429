//! Which datagram it is, in its own first bytes: its number, as much of it as there is room for.

/// Bytes of a whole number.
const WHOLE: usize = 8;

/// A datagram of so many bytes with this number; the rest are zeroes.
pub(crate) fn stamped(number: u64, len: usize) -> Vec<u8> {
    let mut datagram = vec![0; len];
    datagram.iter_mut().zip(number.to_le_bytes()).for_each(|(to, byte)| *to = byte);
    datagram
}

/// The number of a datagram of which no neighbour's differs much from `near`; nothing if it has no bytes.
pub(crate) fn number(datagram: &[u8], near: u64) -> Option<u64> {
    let len = datagram.len().min(WHOLE);
    if len == 0 {
        return None;
    }
    let mut bytes = [0; WHOLE];
    bytes[..len].copy_from_slice(&datagram[..len]);
    let found = u64::from_le_bytes(bytes);
    if len == WHOLE {
        return Some(found);
    }
    let (circle, mask) = (1u64 << (8 * len), (1u64 << (8 * len)) - 1);
    let ahead = found.wrapping_sub(near) & mask;
    // What would be before the first is ahead.
    let behind = circle - ahead;
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
        /// One byte tells datagrams apart that are up to 127 from one another; eight any.
        #[test]
        fn a_neighbour_is_known(near in 0u64..1 << 62, ahead in -127i64..=127, len in 1usize..12) {
            let sent = near.saturating_add_signed(ahead);
            prop_assert_eq!(number(&stamped(sent, len), near), Some(sent));
        }
    }
}
