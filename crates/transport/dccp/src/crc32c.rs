//! CRC-32c (Castagnoli) of the Data Checksum option (RFC 4340 section 9.3, RFC 3309).

use crc::{CRC_32_ISCSI, Crc, Table};

/// Table for 16 bytes at a time.
static CRC_32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// Returns the CRC-32c of a packet's application data area, as in
/// [`DataChecksum`](crate::DccpOption::DataChecksum); 0 without data (RFC 4340 section 9.3).
#[must_use]
pub fn crc32c(data: &[u8]) -> u32 {
    CRC_32C.checksum(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check value of the CRC's definition, examples of RFC 3720 appendix B.4, and RFC 4340's value for no data.
    #[test]
    fn known_values() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    }
}
