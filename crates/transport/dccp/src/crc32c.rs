//! CRC-32c (Castagnoli), which the Data Checksum option holds (RFC 4340 section 9.3, RFC 3309).

use crc::{CRC_32_ISCSI, Crc, Table};

/// Sixteen bytes at a time.
static CRC_32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// The CRC-32c of a packet's application data area, as [`DataChecksum`](crate::DccpOption::DataChecksum) holds it;
/// that of no data is 0 (RFC 4340 section 9.3).
#[must_use]
pub fn crc32c(data: &[u8]) -> u32 {
    CRC_32C.checksum(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the CRC's definition, the examples of RFC 3720 appendix B.4, and RFC 4340's rule for no data.
    #[test]
    fn known_values() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    }
}
