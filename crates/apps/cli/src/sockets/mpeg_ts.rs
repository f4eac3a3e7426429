//! MPEG transport streams: packets of 188 bytes that start with 0x47 (ISO/IEC 13818-1 section 2.4.3.2).

/// Size of a packet, in bytes.
const PACKET: usize = 188;
/// First byte of each packet.
const SYNC: u8 = 0x47;
/// Maximum number of packets of a datagram: the convention of MPEG-TS over UDP, which fits into an Ethernet frame.
const MAX_PACKETS: usize = 7;
/// Number of bytes from which the format of a stream is detected.
pub(super) const HEAD: usize = MAX_PACKETS * PACKET;

/// Returns whether the bytes are packets of a transport stream.
pub(super) fn is_mpeg_ts(bytes: &[u8]) -> bool {
    let mut packets = bytes.chunks(PACKET);
    !bytes.is_empty() && bytes.len().is_multiple_of(PACKET) && packets.all(|packet| packet.first() == Some(&SYNC))
}

/// Returns the size of the datagrams of a transport stream, in bytes: as many packets as fit into `largest` bytes, up to
/// [`MAX_PACKETS`].
pub(super) fn datagram_size(largest: usize) -> usize {
    (largest / PACKET).clamp(1, MAX_PACKETS) * PACKET
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_starts_with_the_sync_byte() {
        let mut stream = vec![0; HEAD];
        stream.iter_mut().step_by(PACKET).for_each(|byte| *byte = SYNC);
        assert!(is_mpeg_ts(&stream) && is_mpeg_ts(&stream[..PACKET]));
        assert!(!is_mpeg_ts(&stream[..HEAD - 1]) && !is_mpeg_ts(&stream[1..]) && !is_mpeg_ts(&[]));
        stream[HEAD - PACKET] = 0;
        assert!(!is_mpeg_ts(&stream));
    }

    #[test]
    fn datagrams_are_whole_packets() {
        for (largest, expected) in [(548, 376), (1128, 1128), (1315, 1128), (1316, 1316), (9000, 1316), (0, 188)] {
            assert_eq!(datagram_size(largest), expected, "{largest}");
        }
    }
}
