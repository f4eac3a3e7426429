//! Invariants of any bytes that are read as RTCP Congestion Control Feedback (RFC 8888). Shared by the fuzz target and
//! the test that replays `fuzz/corpus`.

use headway_rate::{CcfbBlock, CcfbPacket, NumReports};

pub(crate) fn check(bytes: &[u8]) {
    for reading in [NumReports::Count, NumReports::LastOffset] {
        let packet = match CcfbPacket::decode(bytes, reading) {
            Ok(packet) => packet,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        assert!(packet.blocks.iter().all(|block| block.arrivals.len() <= CcfbBlock::MAX_PACKETS));
        let mut encoded = vec![];
        packet.encode(reading, &mut encoded).expect("a decoded packet can be encoded");
        assert!(encoded.len() <= bytes.len(), "only RTCP padding is left out");
        assert_eq!(encoded[4..8], bytes[4..8], "the SSRC of the sender");
        // Over-range offsets, padding and ignored bits have one form. A second encoding changes nothing.
        let again = CcfbPacket::decode(&encoded, reading).expect("an encoded packet can be decoded");
        assert_eq!(again, packet);
    }
}
