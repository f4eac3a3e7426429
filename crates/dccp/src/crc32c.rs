//! CRC-32c (Castagnoli), which the Data Checksum option holds (RFC 4340 section 9.3, RFC 3309).

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// The CRC-32c of a packet's application data area, as [`DataChecksum`](crate::DccpOption::DataChecksum) holds it;
/// that of no data is 0 (RFC 4340 section 9.3).
#[must_use]
pub fn crc32c(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |crc, byte| TABLE[(crc as u8 ^ byte) as usize] ^ (crc >> 8))
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
