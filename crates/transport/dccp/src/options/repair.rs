//! Packets that a repair packet protects: an experimental option (RFC 4340 section 5.8 reserves types 120 to 126).

/// Place of a repair packet in its block of forward error correction, and the data packets of this block.
///
/// The data of the option is 5 to 20 bytes: `back` in network byte order, `index`, `repairs`, and `protected` in up to 16
/// bytes without trailing zeros. Bit b of byte a of these is that of the packet 8a + b numbers after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Distance from the number of this packet back to that of the first protected packet. Greater than the distance
    /// from the first to the last protected packet.
    pub back: u16,
    /// Protected packets. Bit i is set if the packet i numbers after the first is protected; bit 0 is set.
    pub protected: u128,
    /// Index of this repair packet among those of its block, below `repairs`.
    pub index: u8,
    /// Number of repair packets of the block.
    pub repairs: u8,
}

impl Repair {
    /// Maximum size of the option, in bytes.
    pub(crate) const MAX_LEN: usize = 2 + 20;

    /// Returns the number of protected packets, 1 to 128.
    #[must_use]
    pub const fn datagrams(&self) -> u32 {
        self.protected.count_ones()
    }

    /// Returns the data of the option: the first bytes of the array, and their number.
    pub(crate) fn to_bytes(self) -> ([u8; 20], usize) {
        let mut bytes = [0; 20];
        let (head, bits) = bytes.split_at_mut(4);
        head.copy_from_slice(&[(self.back >> 8) as u8, (self.back & 0xff) as u8, self.index, self.repairs]);
        bits.copy_from_slice(&self.protected.to_le_bytes());
        (bytes, 4 + (128 - self.protected.leading_zeros() as usize).div_ceil(8))
    }

    /// Decodes the data of the option; `None` if its values contradict each other.
    #[must_use]
    pub fn decode(data: &[u8]) -> Option<Self> {
        let ([b, a, index, repairs], bits) = data.split_first_chunk()?;
        let mut protected = [0; 16];
        protected.get_mut(..bits.len())?.copy_from_slice(bits);
        let (back, protected) = (u16::from_be_bytes([*b, *a]), u128::from_le_bytes(protected));
        let last = 127_u32.checked_sub(protected.leading_zeros())?;
        let is_valid = protected & 1 == 1 && bits.last() != Some(&0) && index < repairs && u32::from(back) > last;
        is_valid.then_some(Self { back, protected, index: *index, repairs: *repairs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Three packets of five numbers, the first of them 300 numbers before the repair packet.
    #[test]
    fn the_layout() {
        let repair = Repair { back: 300, protected: 0b1_0101, index: 1, repairs: 2 };
        let (bytes, len) = repair.to_bytes();
        assert_eq!(&bytes[..len], [1, 44, 1, 2, 0b1_0101]);
        assert_eq!(repair.datagrams(), 3);
    }

    #[test]
    fn contradictions_are_rejected() {
        for data in [
            &[0, 9, 0, 1][..],    // no packet
            &[0, 9, 0, 1, 2],     // the first packet is not protected
            &[0, 9, 1, 1, 1],     // an index beyond the number of repair packets
            &[0, 2, 0, 1, 0b101], // the last protected packet is this one
            &[0, 9, 0, 1, 1, 0],  // a longer form than needed
            &[0, 9, 0],           // too short
        ] {
            assert_eq!(Repair::decode(data), None, "{data:?}");
        }
        let mut long = [1; 21];
        long[..4].copy_from_slice(&[1, 0, 0, 1]);
        assert!(Repair::decode(&long).is_none() && Repair::decode(&long[..20]).is_some());
    }

    proptest! {
        #[test]
        fn each_value_is_decoded_as_it_was_encoded(
            back in 128_u16.., protected: u128, index in 0_u8..255, more in 1_u8..,
        ) {
            let repair = Repair { back, protected: protected | 1, index, repairs: index.saturating_add(more) };
            let (bytes, len) = repair.to_bytes();
            prop_assert!(len <= Repair::MAX_LEN - 2);
            prop_assert_eq!(Repair::decode(&bytes[..len]), Some(repair));
        }
    }
}
