//! Writes the RTCP packets of a session.

use super::{BYE, RECEIVER_REPORT, ReportBlock, SENDER_REPORT, SOURCE_DESCRIPTION, SenderInfo, VERSION};

/// Largest count in a packet, a field of five bits.
pub(crate) const MAX_BLOCKS: usize = 31;
/// Item type of a canonical name (RFC 3550 section 6.5.1), and its largest length in bytes.
const CNAME: u8 = 1;
pub(crate) const MAX_CNAME: usize = 255;
/// Bytes of the first 32 bits of each packet, and of an SSRC.
pub(crate) const HEADER_BYTES: usize = 4;
pub(crate) const SSRC_BYTES: usize = 4;
/// Largest size of a compound datagram of a sender report with one block, a source description with an empty canonical
/// name, and a BYE.
pub(crate) const BYTES_WITHOUT_CNAME: usize =
    report_bytes(true) + ReportBlock::BYTES + HEADER_BYTES + SSRC_BYTES + 2 + 4 + HEADER_BYTES + SSRC_BYTES;

/// Returns the size of a sender or receiver report without blocks.
pub(crate) const fn report_bytes(is_sender: bool) -> usize {
    HEADER_BYTES + SSRC_BYTES + if is_sender { SenderInfo::BYTES } else { 0 }
}

/// Returns the size of the part of a source description about one source with this canonical name.
pub(crate) const fn cname_bytes(name: &str) -> usize {
    SSRC_BYTES + 2 + name.len() + end_bytes(name)
}

/// Returns the number of zeros, one to four, that end the list of items at a multiple of 4 B.
const fn end_bytes(name: &str) -> usize {
    4 - (2 + name.len()) % 4
}

/// Appends a packet of this type, whose contents `write` appends, a multiple of 4 B.
fn write_packet(buffer: &mut Vec<u8>, packet_type: u8, count: usize, write: impl FnOnce(&mut Vec<u8>)) {
    let start = buffer.len();
    buffer.extend([VERSION << 6 | count as u8, packet_type, 0, 0]);
    write(buffer);
    let words = (buffer.len() - start) / 4 - 1;
    if let Some(length) = buffer.get_mut(start + 2..start + 4) {
        length.copy_from_slice(&(words as u16).to_be_bytes());
    }
}

/// Appends a sender report, or a receiver report without `info`, with the first 31 blocks.
pub(crate) fn write_report(buffer: &mut Vec<u8>, ssrc: u32, info: Option<&SenderInfo>, blocks: &[ReportBlock]) {
    let blocks = blocks.get(..MAX_BLOCKS).unwrap_or(blocks);
    let packet_type = if info.is_some() { SENDER_REPORT } else { RECEIVER_REPORT };
    write_packet(buffer, packet_type, blocks.len(), |buffer| {
        buffer.extend(ssrc.to_be_bytes());
        if let Some(info) = info {
            info.write(buffer);
        }
        blocks.iter().for_each(|block| block.write(buffer));
    });
}

/// Appends a source description with the canonical name, at most 255 B, of the first 31 sources.
pub(crate) fn write_cnames(buffer: &mut Vec<u8>, sources: &[u32], name: &str) {
    let sources = sources.get(..MAX_BLOCKS).unwrap_or(sources);
    write_packet(buffer, SOURCE_DESCRIPTION, sources.len(), |buffer| {
        for ssrc in sources {
            buffer.extend(ssrc.to_be_bytes());
            buffer.extend([CNAME, name.len() as u8]);
            buffer.extend(name.as_bytes());
            buffer.extend(std::iter::repeat_n(0, end_bytes(name)));
        }
    });
}

/// Appends a BYE of the first 31 sources.
pub(crate) fn write_bye(buffer: &mut Vec<u8>, sources: &[u32]) {
    let sources = sources.get(..MAX_BLOCKS).unwrap_or(sources);
    write_packet(buffer, BYE, sources.len(), |buffer| {
        buffer.extend(sources.iter().flat_map(|ssrc| ssrc.to_be_bytes()));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp::{RtcpPacket, RtcpPackets};

    /// RFC 3550 section 6.5: each chunk ends with zeros at a multiple of 4 B.
    #[test]
    fn the_layout_of_canonical_names() {
        for (name, chunk) in [
            ("a", &[0, 0, 0, 7, 1, 1, b'a', 0][..]),
            ("ab", &[0, 0, 0, 7, 1, 2, b'a', b'b', 0, 0, 0, 0]),
            ("abcd", &[0, 0, 0, 7, 1, 4, b'a', b'b', b'c', b'd', 0, 0]),
        ] {
            let mut buffer = vec![];
            write_cnames(&mut buffer, &[7], name);
            assert_eq!(buffer, [&[0x81, 202, 0, (chunk.len() / 4) as u8][..], chunk].concat());
            assert_eq!(cname_bytes(name), chunk.len());
        }
        let mut buffer = vec![];
        write_cnames(&mut buffer, &[7; 40], &"n".repeat(255));
        let [Ok(RtcpPacket::Other { packet_type: 202, count: 31, body })] =
            RtcpPackets::new(&buffer).collect::<Vec<_>>()[..]
        else {
            panic!()
        };
        assert_eq!(body.len(), 31 * 264);
    }

    #[test]
    fn reports_and_byes_are_read_as_written() {
        let info = SenderInfo { ntp: u64::MAX - 1, rtp_timestamp: 2, packets: 3, octets: u32::MAX };
        let block = |ssrc, cumulative_lost| ReportBlock {
            ssrc,
            fraction_lost: 255,
            cumulative_lost,
            extended_highest: 4,
            jitter: 5,
            last_sr: 6,
            delay_since_last_sr: 7,
        };
        let blocks = [block(1, -1), block(2, 8_388_607), block(3, -8_388_608), block(4, 9_000_000), block(5, i32::MIN)];
        let mut buffer = vec![];
        write_report(&mut buffer, 9, Some(&info), &blocks);
        write_report(&mut buffer, 10, None, &[block(1, 0); 40]);
        write_bye(&mut buffer, &[9, 10]);
        let packets: Vec<_> = RtcpPackets::new(&buffer).map(Result::unwrap).collect();
        let RtcpPacket::SenderReport { ssrc: 9, info: read, blocks: reported } = packets[0] else { panic!() };
        assert_eq!(read, info);
        let lost: Vec<i32> = reported.map(|block| block.cumulative_lost).collect();
        assert_eq!(lost, [-1, 8_388_607, -8_388_608, 8_388_607, -8_388_608]);
        let RtcpPacket::ReceiverReport { ssrc: 10, blocks } = packets[1] else { panic!() };
        assert_eq!(blocks.collect::<Vec<_>>(), [block(1, 0); 31]);
        assert_eq!(packets[2], RtcpPacket::Bye { sources: &[[0, 0, 0, 9], [0, 0, 0, 10]] });
    }
}
